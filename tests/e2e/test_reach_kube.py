"""What speaks to a box's tools, with boxes in a cluster: through the API's port-forward, to a real door. The cluster is
kit/cluster.py, its node kit/node.py."""
import hashlib
import json
import os
import signal
import socket

import pytest
from kit import programs
from kit.box import ok
from kit.cluster import Cluster
from kit.node import Node
from kit.processes import descendants
from kit.target import make_key, public_line
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


NETWORK = ["the cluster's API cannot be reached from inside", "the cloud's metadata cannot be reached from inside",
           "the kubelet cannot be reached from inside", "another box cannot be reached from inside"]


def test_verify_tries_the_network_from_inside(cluster, node):
    checks = checks_in(done(cluster, "verify", "demo"))
    assert [checks[name]["skipped"] for name in NETWORK] == [False, False, False, True]
    assert "192.0.2.10 port 10250: unreachable" in checks[NETWORK[2]]["detail"], checks[NETWORK[2]]
    assert "169.254.169.254" in checks[NETWORK[1]]["detail"]
    done(cluster, "create", "other")
    checks = checks_in(done(cluster, "verify", "demo"))
    assert "192.0.2.20 port 2222: unreachable" in checks[NETWORK[3]]["detail"]


def test_a_network_without_a_policy_is_said_to_be_one(cluster, node):
    cluster.node_address = "127.0.0.77"
    node.open.add("demo")
    with socket.create_server(("127.0.0.77", 10250)):
        result = provision(cluster, "verify", "demo")
    assert result.returncode == 6
    checks = checks_in(json.loads(result.stdout))
    kubelet = checks[NETWORK[2]]
    assert not kubelet["ok"] and "127.0.0.77 port 10250: open" in kubelet["detail"], kubelet
    assert "enforce NetworkPolicy" in kubelet["next"]
    assert checks["delete"]["ok"] and cluster.names("sandboxes") == []


def test_what_the_egress_allows_is_no_hole(cluster, node, tmp_path):
    cluster.node_address = "127.0.0.77"
    node.open.add("demo")
    (tmp_path / "spec.yaml").write_text("kubernetes: {egress: list, egress_to: [127.0.0.0/8]}\n")
    with socket.create_server(("127.0.0.77", 10250)):
        result = provision(cluster, "verify", "demo", "-f", tmp_path / "spec.yaml")
    kubelet = checks_in(json.loads(result.stdout))[NETWORK[2]]
    assert kubelet["ok"] and "its egress allows it" in kubelet["detail"], result


def test_an_eviction_replaces_the_pod_and_the_host_key(cluster, node):
    box = done(cluster, "create", "demo")
    fingerprint = box["keys"][0]["fingerprint"]
    door = node.doors["demo"]
    rotated = done(cluster, "rotate", "demo")
    old = rotated["keys"][0]["fingerprint"]
    assert old != fingerprint
    job = done(cluster, "call", "demo", "process_start", '{"command": "sleep 1000"}')
    assert not job.get("isError"), job
    pod = cluster.get("pods", "demo")["metadata"]["uid"]
    secret = cluster.get("secrets", "demo-hostkey")
    spawner = door.spawner
    gone = done(cluster, "revoke", "demo", "--key", old, "--evict")
    assert gone["evicted"] and gone["changed"] and gone["proven"] and gone["gone"] == [old], gone
    assert spawner.poll() is not None and door.spawner.pid != spawner.pid
    assert cluster.get("pods", "demo")["metadata"]["uid"] != pod
    assert gone["ssh"]["host_key_fingerprint"] != box["ssh"]["host_key_fingerprint"]
    after = cluster.get("secrets", "demo-hostkey")
    assert after["data"] != secret["data"]
    pinned = cluster.get("sandboxes", "demo")["metadata"]["annotations"]["agentbox.internal/host-key"]
    assert after["metadata"]["annotations"]["agentbox.internal/host-key"] == pinned
    assert open(gone["ssh"]["known_hosts_file"]).read() == f"agentbox-demo {pinned}\n"
    new = done(cluster, "rotate", "demo")
    assert new["proven"]
    assert done(cluster, "call", "demo", "system_info")
    assert done(cluster, "create", "demo")["keys"] == new["keys"]
    assert not any(b"PRIVATE" in one[3] for one in cluster.made())


@pytest.mark.parametrize("step", range(3))
def test_an_eviction_cut_short_is_finished_by_the_next(cluster, node, step):
    box = done(cluster, "create", "demo")
    fingerprint = box["keys"][0]["fingerprint"]
    steps = ["secrets/demo-hostkey", "sandboxes/demo.*agentbox-hostkey", "sandboxes/demo.*agentbox-mode"]
    faults = [lambda handler: handler.reply(403, {"kind": "Status", "message": "no"})]
    if step == 2:  # the second change of mode is the one that starts it again
        done_once = []

        def pass_once(handler):
            if not done_once:
                done_once.append(True)
                return handler.answer(json.loads(cluster.made()[-1][3]))
            return faults[0](handler)

        cluster.fail("PATCH", steps[2], pass_once, times=2)
    else:
        cluster.fail("PATCH", steps[step], faults[0])
    refused(7, cluster, "revoke", "demo", "--key", fingerprint, "--evict")
    assert "demo" not in node.running
    done(cluster, "revoke", "demo", "--key", fingerprint, "--evict")
    assert done(cluster, "resume", "demo")["state"] == "running"
    rotated = done(cluster, "rotate", "demo")
    assert rotated["proven"] and rotated["ssh"]["host_key_fingerprint"] != box["ssh"]["host_key_fingerprint"]


def doctor(cluster, status=0, name="demo"):
    result = provision(cluster, "doctor", name)
    assert result.returncode == status, result
    return checks_in(json.loads(result.stdout))


def failing(checks):
    return {name: check["detail"] for name, check in checks.items() if not check["ok"]}


def test_doctor_finds_a_healthy_box_well(cluster, node):
    done(cluster, "create", "demo")
    before = len(cluster.made("PATCH")) + len(cluster.made("POST", "namespaces"))
    checks = doctor(cluster)
    assert not failing(checks)
    assert [name for name, check in checks.items() if check["skipped"]] == [NETWORK[3]]
    assert len(cluster.made("PATCH")) + len(cluster.made("POST", "namespaces")) == before
    refused(3, cluster, "doctor", "nobody")


def test_doctor_of_a_suspended_box(cluster, node):
    done(cluster, "create", "demo")
    done(cluster, "suspend", "demo")
    checks = doctor(cluster)
    assert checks["the pod runs"]["skipped"] and checks["the door answers with the pinned host key"]["skipped"]


def break_label(cluster, node):
    def change(pod):
        pod["metadata"]["labels"] = {"app": "other"}

    cluster.edit("pods", "demo", change)


def break_port(cluster, node):
    cluster.edit("networkpolicies", "agentbox-demo", lambda policy: policy["spec"].update(
        ingress=[{"ports": [{"protocol": "TCP", "port": 22}]}]))


def break_policy(cluster, node):
    cluster.edit("networkpolicies", "agentbox-demo", lambda policy: policy["spec"].update(policyTypes=["Ingress"]))


def break_image(cluster, node):
    cluster.edit("pods", "demo", lambda pod: pod["status"].update(phase="Pending", containerStatuses=[
        {"name": "box", "image": "tools:2", "restartCount": 0,
         "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image\x1b[2J"}}}]))


def break_pod(cluster, node):
    cluster.edit("pods", "demo", lambda pod: pod["status"].update(containerStatuses=[
        {"name": "door", "image": "x", "restartCount": 9,
         "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}}]))


def break_keys(cluster, node):
    cluster.edit("pods", "demo", lambda pod: pod["metadata"]["annotations"].update(
        {"agentbox.internal/keys-generation": "0"}))


def break_pin(cluster, node):
    key = make_key(node.folder / "stranger")
    cluster.edit("sandboxes", "demo", lambda box: box["metadata"]["annotations"].update(
        {"agentbox.internal/host-key": " ".join(public_line(key).split()[:2])}))


def break_host_key(cluster, node):
    done(cluster, "create", "other")
    cluster.port_of = lambda pod: node.doors["other"].port


def break_list(cluster, node):
    node.doors["demo"].write_keys("", generation="1")


def break_identity(cluster, node):
    identity = next(cluster.folder.glob("state/clusters/*/boxes/boxes/demo/id_ed25519"))
    make_key(node.folder / "another")
    identity.write_bytes((node.folder / "another").read_bytes())


def break_tools(cluster, node):
    for process in descendants(node.doors["demo"].spawner.pid):
        os.kill(process.pid, signal.SIGKILL)
    node.doors["demo"].spawner.wait()


def break_webhook(cluster, node):
    cluster.edit("pods", "demo", lambda pod: pod["spec"]["containers"].append({"name": "sidecar", "image": "x"}))


def break_controller(cluster, node):
    cluster.controller = False
    cluster.edit("sandboxes", "demo", lambda box: box.update(status={"conditions": [
        {"type": "Ready", "status": "False", "reason": "ReconcilerError", "message": "no quota"}]}))


def break_rights(cluster, node):
    cluster.forbidden.add(("get", "networkpolicies"))


def break_forward(cluster, node):
    cluster.forbidden.add(("create", "pods/portforward"))


@pytest.mark.parametrize("change, check, words", [
    (break_label, "the network policy selects the pod and lets the door's port in", "agentbox.internal/box"),
    (break_port, "the network policy selects the pod and lets the door's port in", "port 2222"),
    (break_policy, "the network policy selects the pod and lets the door's port in", "what goes out"),
    (break_image, "the images are there", "container box: ImagePullBackOff: no such image\\x1b[2J (tools:2)"),
    (break_pod, "the pod runs", "container door: CrashLoopBackOff"),
    (break_keys, "the pod has the newest keys", "the pod has generation 0, the Sandbox generation 1"),
    (break_pin, "the host key is the one that is pinned here", "another host key"),
    (break_host_key, "the door answers with the pinned host key", "host key"),
    (break_list, "keys", "which the Sandbox lists"),
    (break_identity, "keys", "none of the box's keys"),
    (break_tools, "a session opens and its tools answer", ""),
    (break_webhook, "the pod is what was asked for", "containers sidecar"),
    (break_controller, "the controller acts on the Sandbox", "no quota"),
    (break_rights, "we may look at the box", "get networkpolicies"),
    (break_forward, "we may look at the box", "create pods/portforward"),
], ids=lambda value: getattr(value, "__name__", ""))
def test_doctor_names_the_hop_that_fails(cluster, node, change, check, words):
    done(cluster, "create", "demo")
    change(cluster, node)
    wrong = failing(doctor(cluster, 6))
    assert check in wrong and words in wrong[check], wrong
