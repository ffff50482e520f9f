"""What speaks to a box's tools, with boxes in a cluster: through the API's port-forward, to a real door. The cluster is
kit/cluster.py, its node kit/node.py."""
import hashlib
import json
import os

import pytest
from kit import programs
from kit.box import ok
from kit.cluster import Cluster
from kit.node import Node
from kit.waiting import wait_until


@pytest.fixture
def cluster(tmp_path):
    tmp_path.chmod(0o700)
    started = Cluster(tmp_path).start()
    try:
        yield started
    finally:
        started.stop()


@pytest.fixture
def node(cluster, tmp_path_factory):
    node = Node(cluster, tmp_path_factory.mktemp("node"))
    try:
        yield node
    finally:
        node.stop()


def provision(cluster, *words, state="state", seconds=120.0, **arguments):
    """agentbox-provision with this cluster's kubeconfig, through its port-forward."""
    environment = {**os.environ, "AGENTBOX_STATE_DIR": str(cluster.folder / state), "KUBECONFIG": str(cluster.kubeconfig())}
    environment.pop("HTTPS_PROXY", None)
    return programs.provision(*words, "--port-forward", "--output", "json", seconds=seconds, env=environment, **arguments)


def done(cluster, *words, **arguments):
    return json.loads(ok(provision(cluster, *words, **arguments)).stdout)


def refused(status, cluster, *words, **arguments):
    result = provision(cluster, *words, **arguments)
    assert result.returncode == status, result
    error = json.loads(result.stdout)["error"]
    assert error["message"] and error["next"], error
    return error["message"]


def checks_in(report):
    return {check["name"]: check for check in report["checks"]}


def test_create_proves_a_login_where_the_private_key_is_ours(cluster, node):
    box = done(cluster, "create", "demo")
    assert box["checked"] == ["1 key(s) accepted on the pinned host key, logged in, system_info answered"], box
    assert not box["not_checked"]
    elsewhere = done(cluster, "status", "demo", state="elsewhere")
    assert elsewhere["checked"] == ["1 key(s) accepted on the pinned host key"]


def test_a_box_whose_tools_do_not_answer_is_not_said_to_be_made(cluster, node):
    node.broken.add("demo")
    assert "runs, but" in refused(6, cluster, "create", "demo")


def test_verify_of_an_absent_box_is_the_whole_loop_and_leaves_nothing(cluster, node):
    report = done(cluster, "verify", "demo")
    checks = checks_in(report)
    assert report["ok"] and all(check["ok"] for check in checks.values()), report
    for name in ("create", "list_blobs is empty", "write_random_blob", "suspend", "resume", "read_blob has the same sha256",
                 "pulled over SSH and hashed here", "delete"):
        assert name in checks and not checks[name]["skipped"], (name, report)
    for plural in ("sandboxes", "pods", "secrets", "networkpolicies"):
        assert cluster.names(plural) == []
    assert not list(cluster.folder.glob("state/clusters/*/boxes/boxes/demo"))


def test_verify_of_a_present_box_changes_nothing(cluster, node):
    before = done(cluster, "create", "demo")
    (node.folder / "demo" / "box" / "workspace" / "mine").write_text("kept")
    pod = cluster.get("pods", "demo")["metadata"]["uid"]
    report = done(cluster, "verify", "demo")
    assert "suspend" not in checks_in(report) and "delete" not in checks_in(report)
    assert cluster.get("pods", "demo")["metadata"]["uid"] == pod
    assert [path.name for path in (node.folder / "demo" / "box" / "workspace").iterdir()] == ["mine"]
    assert "suspend" in checks_in(done(cluster, "verify", "demo", "--suspend"))
    after = done(cluster, "status", "demo")
    assert (after["keys"], after["generation"], after["ssh"]) == (before["keys"], before["generation"], before["ssh"])


def test_verify_says_where_a_suspended_box_still_answers(cluster, node):
    done(cluster, "create", "demo")
    cluster.pod_gone = lambda name: None
    result = provision(cluster, "verify", "demo", "--suspend")
    assert result.returncode == 6
    suspended = checks_in(json.loads(result.stdout))["suspend"]
    assert not suspended["ok"] and "still answers" in suspended["detail"]


def test_call_pull_and_push(cluster, node, tmp_path):
    done(cluster, "create", "demo")
    said = done(cluster, "call", "demo", "shell_exec", '{"command": "echo hello"}')
    assert said["structuredContent"]["stdout"] == "hello\n"
    data = os.urandom(5 << 20)
    (tmp_path / "there").write_bytes(data)
    pushed = done(cluster, "push", "demo", tmp_path / "there", "big.bin")
    assert pushed["sha256"] == hashlib.sha256(data).hexdigest() and pushed["verified"]
    pulled = done(cluster, "pull", "demo", "big.bin", tmp_path / "back")
    assert pulled["sha256"] == pushed["sha256"] and (tmp_path / "back").read_bytes() == data
    refused(3, cluster, "call", "nobody", "system_info")


def test_a_transfer_goes_on_when_its_link_is_lost(cluster, node, tmp_path):
    done(cluster, "create", "demo")
    data = os.urandom(24 << 20)
    (tmp_path / "there").write_bytes(data)
    links = []

    def cut_the_first(pod):
        links.append(pod)
        return cluster.budgets.append(9 << 20 if len(links) == 1 else None) or node.doors[pod].port

    cluster.port_of = cut_the_first
    pushed = done(cluster, "push", "demo", tmp_path / "there", "big.bin")
    assert len(links) > 1, "the link was not cut"
    assert pushed["sha256"] == hashlib.sha256(data).hexdigest()
    assert (node.folder / "demo" / "box" / "workspace" / "big.bin").read_bytes() == data


def test_another_host_key_gets_no_login(cluster, node):
    done(cluster, "create", "demo")
    other = done(cluster, "create", "other")
    assert other["state"] == "running"
    cluster.port_of = lambda pod: node.doors["other"].port
    assert "host key" in refused(4, cluster, "call", "demo", "system_info")
    before = len(node.doors["other"].audit("auth"))
    node.doors["other"].await_audit("connect")
    assert len(node.doors["other"].audit("auth")) == before


def test_a_barred_port_forward_is_a_missing_right(cluster, node):
    done(cluster, "create", "demo")
    cluster.forbidden.add(("create", "pods/portforward"))
    assert "403" in refused(7, cluster, "call", "demo", "system_info")


def test_a_suspended_box_is_said_to_be_one(cluster, node):
    done(cluster, "create", "demo")
    done(cluster, "suspend", "demo")
    assert "suspended" in refused(5, cluster, "call", "demo", "system_info")
    assert "suspended" in refused(5, cluster, "verify", "demo")
    wait_until("the door is gone", lambda: not node.running)


def test_logs_are_those_of_the_pod_and_escaped(cluster, node):
    done(cluster, "create", "demo")
    done(cluster, "call", "demo", "system_info")
    node.doors["demo"].await_audit("session_end")
    with open(node.doors["demo"].box_log, "ab") as log:
        log.write(b"\x1b[2Jhello\n")
    shown = done(cluster, "logs", "demo", "--lines", "40")
    assert any('"session_end"' in line for line in shown["audit"]) and all('"stream":"audit"' in line for line in shown["audit"])
    assert shown["door"] and not any('"stream":"audit"' in line for line in shown["door"])
    assert shown["box"][-1] == "\\x1b[2Jhello"
    asked = cluster.made("GET", "/pods/demo/log")
    assert all("tailLines=" in one[1] and "limitBytes=" in one[1] for one in asked)
    one = done(cluster, "logs", "demo", "--lines", "1")
    assert [len(one[title]) for title in ("door", "box", "audit")] == [1, 1, 1]
    done(cluster, "suspend", "demo")
    assert "404" in refused(5, cluster, "logs", "demo")
