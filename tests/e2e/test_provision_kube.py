"""agentbox-provision with a cluster: credentials, conversation, boxes. The cluster is kit/cluster.py."""
import base64
import json
import os
import re
import stat
import threading

import pytest
from kit import programs
from kit.box import ok
from kit.cluster import NAMESPACE, TOKEN, Authority, Cluster
from kit.door import Door
from kit.target import make_key, public_line, run
from kit.waiting import wait_until


@pytest.fixture
def folder(tmp_path):
    tmp_path.chmod(0o700)
    return tmp_path


@pytest.fixture
def cluster(folder):
    started = Cluster(folder).start()
    try:
        yield started
    finally:
        started.stop()


def provision(cluster, *words, kubeconfig=None, state="state", seconds=60.0):
    """agentbox-provision with this cluster's kubeconfig and a state folder of the test's own."""
    environment = {**os.environ, "AGENTBOX_STATE_DIR": str(cluster.folder / state),
                   "KUBECONFIG": str(kubeconfig or cluster.kubeconfig())}
    environment.pop("HTTPS_PROXY", None)
    result = programs.provision(*words, "--output", "json", seconds=seconds, env=environment)
    assert TOKEN.encode() not in result.stdout + result.stderr
    return result


def done(cluster, *words, **arguments):
    return json.loads(ok(provision(cluster, *words, **arguments)).stdout)


def refused(status, cluster, *words, **arguments):
    result = provision(cluster, *words, **arguments)
    assert result.returncode == status, result
    error = json.loads(result.stdout)["error"]
    assert error["message"] and error["next"], error
    return error["message"]


def create(cluster, name="demo", *words, **arguments):
    return done(cluster, "create", name, "--kubernetes", *words, **arguments)


def changes(cluster):
    """Requests that could change something for good."""
    return [one for one in cluster.made() if one[0] != "GET" and "dryRun=All" not in one[1]
            and "accessreviews" not in one[1]]


def annotation(cluster, name, key="authorized-keys"):
    sandbox = cluster.get("sandboxes", name)
    return sandbox["spec"]["podTemplate"]["metadata"]["annotations"][f"agentbox.internal/{key}"]


def public_half(private):
    return ok(run(["ssh-keygen", "-y", "-f", private])).stdout.decode().strip()


# The way in


def test_preflight_says_what_a_cluster_has(cluster):
    report = done(cluster, "preflight")
    assert report["ok"] and [check["ok"] for check in report["checks"]] == [True] * 6, report
    assert not changes(cluster)
    cluster.forbidden.add(("create", "secrets"))
    cluster.served = ["v1alpha1"]
    result = provision(cluster, "preflight")
    assert result.returncode == 6
    report = json.loads(result.stdout)
    assert [check["ok"] for check in report["checks"]] == [True, False, False, False], report
    assert not report["checks"][3]["needed"]
    assert "create (create secrets)" in report["checks"][3]["detail"] and "status" not in report["checks"][3]["detail"]
    assert "v1alpha1" in report["checks"][1]["detail"] and "create secrets" in report["checks"][2]["detail"]


def test_nothing_is_sent_to_a_server_that_cannot_prove_who_it_is(cluster, folder):
    (folder / "ca.pem").write_text(Authority("somebody else").pem())
    assert "nothing was sent" in refused(4, cluster, "preflight")
    assert cluster.made() == []


def test_a_server_of_another_name_is_refused_unless_the_kubeconfig_names_it(folder):
    cluster = Cluster(folder).start("api.inner.example")
    try:
        assert "nothing was sent" in refused(4, cluster, "preflight")
        assert cluster.made() == []
        named = cluster.kubeconfig(**{"tls-server-name": "api.inner.example"})
        assert done(cluster, "preflight", kubeconfig=named)["ok"]
        assert cluster.made()[0][2]["Host"] == f"127.0.0.1:{cluster.port}"
    finally:
        cluster.stop()


def test_a_client_certificate_from_memory(cluster):
    certificate, key = cluster.authority.issue("anna")
    user = {"client-certificate-data": base64.b64encode(certificate.encode()).decode(),
            "client-key-data": base64.b64encode(key.encode()).decode()}
    assert done(cluster, "preflight", kubeconfig=cluster.kubeconfig(user=user))["ok"]
    assert "Authorization" not in cluster.made()[0][2]


@pytest.mark.parametrize("change", [
    {"server": "http://127.0.0.1:1"},
    {"insecure-skip-tls-verify": True},
    {"proxy-url": "ftp://127.0.0.1:1"},
])
def test_a_kubeconfig_that_would_give_the_credential_away_is_refused(cluster, change):
    refused(4, cluster, "preflight", kubeconfig=cluster.kubeconfig(**change))
    assert cluster.made() == []


def test_a_kubeconfig_that_others_can_write_is_refused(cluster):
    path = cluster.kubeconfig()
    path.chmod(0o666)
    assert "can be written by others" in refused(4, cluster, "preflight", kubeconfig=path)


def test_impersonation_reaches_the_cluster(cluster):
    user = {"token": TOKEN, "as": "joe", "as-groups": ["a", "b"]}
    done(cluster, "preflight", kubeconfig=cluster.kubeconfig(user=user))
    assert cluster.made()[0][2]["Impersonate-User"] == "joe"


def test_an_exec_plugin_is_asked_again_once_its_token_is_refused(cluster, folder):
    cluster.tokens.clear()
    plugin = folder / "plugin"
    plugin.write_text(
        "#!/bin/sh\ncount=$(cat count 2>/dev/null || echo 0)\necho $((count + 1)) >count\n"
        'printf \'{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",'
        '"status":{"token":"t%s"}}\' "$count"\n'.replace("count 2", f"{folder}/count 2").replace(">count", f">{folder}/count"))
    plugin.chmod(0o700)
    cluster.tokens.add("t1")
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin",
                     "interactiveMode": "Never"}}
    kubeconfig = cluster.kubeconfig(user=user)
    assert done(cluster, "preflight", kubeconfig=kubeconfig)["ok"]
    assert (folder / "count").read_text().strip() == "2"
    assert "does not allow" in refused(4, cluster, "preflight", "--exec-plugins", "deny", kubeconfig=kubeconfig)


def test_a_refused_credential_and_a_missing_right_are_told_apart(cluster):
    cluster.tokens.clear()
    assert "401" in refused(7, cluster, "list", "--kubernetes")
    cluster.tokens.add(TOKEN)
    cluster.forbidden.add(("list", "sandboxes"))
    assert "cannot list" in refused(7, cluster, "list", "--kubernetes")


def test_a_missing_right_to_watch_is_not_made_up_for(cluster):
    cluster.forbidden.add(("watch", "sandboxes"))
    cluster.controller = False
    assert "cannot watch" in refused(7, cluster, "create", "demo", "--kubernetes")


# The conversation


def test_a_busy_cluster_is_asked_again(cluster):
    busy = {"kind": "Status", "message": "too many requests", "code": 429}
    cluster.fail("GET", "/version", lambda handler: handler.reply(429, busy, [("Retry-After", "0")]), times=3)
    cluster.fail("GET", "/apis/agents", lambda handler: handler.reply(503, b"etcd is gone"), times=1)
    assert done(cluster, "preflight")["ok"]
    assert len(cluster.made("GET", "/version")) == 4


def test_a_redirect_is_not_followed(cluster):
    cluster.fail("GET", "/version", lambda handler: handler.reply(302, b"", [("Location", "https://127.0.0.1:1/")]))
    refused(1, cluster, "preflight")
    assert len(cluster.made()) == 1


def test_a_connection_that_breaks_is_made_anew(cluster):
    def cut(handler):
        handler.close_connection = True
        handler.connection.close()

    cluster.fail("GET", "/version", cut, times=2)
    assert done(cluster, "preflight")["ok"]


def test_an_unreachable_cluster_is_said_to_be_one(cluster):
    gone = cluster.kubeconfig(server="https://127.0.0.1:9")
    refused(5, cluster, "list", "--kubernetes", kubeconfig=gone, seconds=90)


def stream(handler, *pieces):
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    for piece in pieces:
        handler.send_piece(piece.encode())


def event(kind, **value):
    return json.dumps({"type": kind, "object": value}) + "\n"


def test_watches_that_end_expire_or_break_do_not_end_the_wait(cluster):
    cluster.controller = False
    watch = r"sandboxes.*watch=1"

    def end(handler):
        stream(handler, event("BOOKMARK", metadata={"resourceVersion": str(cluster.version)}))
        handler.end_stream()

    def expire(handler):
        stream(handler, event("ERROR", kind="Status", code=410, reason="Expired", message="too old"))
        handler.end_stream()

    def gone(handler):
        handler.reply(410, {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})

    def cut(handler):
        stream(handler, event("ADDED", metadata={})[:20])
        handler.close_connection = True
        handler.connection.close()

    def nonsense(handler):
        stream(handler, "<html>\n")
        handler.end_stream()

    for fault in (end, expire, gone, cut, nonsense):
        cluster.fail("GET", watch, fault)
    results = []
    thread = threading.Thread(target=lambda: results.append(provision(cluster, "create", "demo", "--kubernetes")))
    thread.start()
    try:
        wait_until("six watches", lambda: len(cluster.made("GET", watch)) >= 6, 30)
    finally:
        with cluster.changed:
            cluster.controller = True
            if cluster.get("sandboxes", "demo"):
                cluster._reconcile(NAMESPACE, "demo")
        thread.join()
    assert json.loads(ok(results[0]).stdout)["state"] == "running"


# Boxes


def test_a_box_is_made_in_the_right_order_and_no_private_key_of_the_agent_leaves(cluster):
    box = create(cluster)
    assert box["backend"] == "kubernetes" and box["state"] == "running" and box["generation"] == 1
    assert box["namespace"] == NAMESPACE and box["egress"] == "none"
    assert box["ssh"]["host"] == f"demo.{NAMESPACE}.svc.cluster.local" and box["ssh"]["port"] == 2222
    assert box["mcpServers"]["demo"]["command"] == "ssh"
    assert box["not_checked"] and not box["checked"]  # the name means nothing on this machine
    plurals = [re.search(r"/namespaces/boxes/(\w+)", one[1])[1] for one in changes(cluster)]
    assert plurals == ["networkpolicies", "secrets", "sandboxes", "secrets", "sandboxes"], plurals
    managers = [re.search(r"fieldManager=([\w-]+)", one[1])[1] for one in changes(cluster)]
    assert managers == ["agentbox-provision"] * 4 + ["agentbox-keys"]
    assert all("fieldValidation=Strict" in one[1] and "force" not in one[1] for one in changes(cluster))
    identity = cluster.folder / box["ssh"]["identity_file"]
    assert stat.S_IMODE(identity.stat().st_mode) == 0o600
    private = identity.read_text().split("\n")[1:-2]
    sent = b"".join(one[3] for one in cluster.made()).decode()
    assert not any(line in sent for line in private)
    assert annotation(cluster, "demo").split()[:2] == public_half(identity).split()[:2]


def test_the_host_key_is_pinned_before_the_first_byte(cluster, folder):
    box = create(cluster)
    secret = cluster.get("secrets", "demo-hostkey")
    sandbox = cluster.get("sandboxes", "demo")
    pinned = sandbox["metadata"]["annotations"]["agentbox.internal/host-key"]
    private = base64.b64decode(secret["data"]["ssh_host_ed25519_key"])
    (folder / "host").write_bytes(private)
    (folder / "host").chmod(0o600)
    assert public_half(folder / "host").split()[:2] == pinned.split()
    assert open(box["ssh"]["known_hosts_file"]).read() == f"agentbox-demo {pinned}\n"
    owner = secret["metadata"]["ownerReferences"][0]
    assert owner["kind"] == "Sandbox" and owner["uid"] == sandbox["metadata"]["uid"]


def test_create_again_changes_nothing(cluster):
    first = create(cluster)
    before = len(changes(cluster))
    assert create(cluster) == first
    assert len(changes(cluster)) == before


def test_another_spec_is_refused_with_the_difference(cluster, folder):
    create(cluster)
    before = len(changes(cluster))
    key = make_key(folder / "key")
    assert 'asked for is "tools:2"' in refused(4, cluster, "create", "demo", "--kubernetes", "--image", "tools:2")
    (folder / "spec.yaml").write_text("kubernetes: {egress: internet}\n")
    assert 'asked for is "internet"' in refused(4, cluster, "create", "demo", "--kubernetes", "-f", folder / "spec.yaml")
    assert "its keys are" in refused(4, cluster, "create", "demo", "--kubernetes", "--key", f"{key}.pub")
    assert len(changes(cluster)) == before


def test_somebody_elses_sandbox_is_left_alone(cluster):
    cluster.controller = False
    cluster.put("sandboxes", {"metadata": {"name": "demo"}, "spec": {"podTemplate": {"spec": {"containers": []}}}})
    for verb in ("create", "status", "suspend", "delete"):
        assert "did not make it" in refused(4, cluster, verb, "demo", "--kubernetes")
    assert not changes(cluster)


@pytest.mark.parametrize("served, words", [([], "not installed"), (["v1alpha1"], "only as v1alpha1")])
def test_a_cluster_without_the_right_sandboxes_is_refused_first(cluster, served, words):
    cluster.served = served
    assert words in refused(4, cluster, "create", "demo", "--kubernetes")
    assert not changes(cluster)


def test_a_box_that_the_clusters_policy_refuses_leaves_nothing(cluster):
    denied = {"kind": "Status", "code": 422, "reason": "Invalid", "message": "policy: needs runtimeClassName"}
    cluster.fail("PATCH", "sandboxes/demo.*dryRun=All", lambda handler: handler.reply(422, denied))
    assert "needs runtimeClassName" in refused(4, cluster, "create", "demo", "--kubernetes")
    assert not changes(cluster)


@pytest.mark.parametrize("step", range(5))
def test_a_create_cut_short_at_any_step_is_taken_up_by_the_next(cluster, step):
    steps = [("PATCH", "networkpolicies/agentbox-demo.fieldManager=agentbox-provision&fieldValidation=Strict$"),
             ("POST", "secrets"), ("PATCH", "sandboxes/demo.fieldManager=agentbox-provision&fieldValidation=Strict$"),
             ("PATCH", "secrets/demo-hostkey"), ("PATCH", "fieldManager=agentbox-keys")]
    cluster.fail(*steps[step], lambda handler: handler.reply(403, {"kind": "Status", "message": "no"}))
    refused(7, cluster, "create", "demo", "--kubernetes")
    secret = cluster.get("secrets", "demo-hostkey")
    box = create(cluster)
    assert box["state"] == "running" and len(box["keys"]) == 1
    after = cluster.get("secrets", "demo-hostkey")
    assert secret is None or after["data"] == secret["data"]
    assert after["metadata"]["annotations"]["agentbox.internal/host-key"] in open(box["ssh"]["known_hosts_file"]).read()
    assert after["metadata"]["ownerReferences"]


def test_a_conflict_is_shown_whole_and_never_forced(cluster):
    cluster.objects.clear()
    other = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "agentbox-demo"},
             "spec": {"policyTypes": ["Ingress"]}}
    cluster.apply("networkpolicies", NAMESPACE, "agentbox-demo", other, {"fieldManager": "kubectl"})
    message = refused(4, cluster, "create", "demo", "--kubernetes")
    assert 'conflict with "kubectl": .spec.policyTypes' in message
    assert not any("force" in one[1] for one in cluster.made())
    assert cluster.get("networkpolicies", "agentbox-demo")["spec"] == {"policyTypes": ["Ingress"]}


def set_ready(cluster, status, reason, message=""):
    """The Sandbox's word on its readiness, and whether there is a Sandbox that has one."""
    if not cluster.get("sandboxes", "demo"):
        return False
    cluster.edit("sandboxes", "demo", lambda value: value.update(status={
        "conditions": [{"type": "Ready", "status": status, "reason": reason, "message": message}],
        "serviceFQDN": f"demo.{NAMESPACE}.svc.cluster.local"}))
    return True


def create_meanwhile(cluster):
    """A create that has begun to wait, and what it will have answered."""
    results = []
    thread = threading.Thread(target=lambda: results.append(provision(cluster, "create", "demo", "--kubernetes")))
    thread.start()
    wait_until("the keys", lambda: cluster.made("PATCH", "agentbox-keys"), 30)
    return thread, results


def test_a_pod_that_fails_is_not_waited_for_long(cluster):
    cluster.controller = False
    thread, results = create_meanwhile(cluster)
    assert set_ready(cluster, "False", "PodFailed", "exit code 1\x1b[2J")
    thread.join()
    assert results[0].returncode == 1
    message = json.loads(results[0].stdout)["error"]["message"]
    assert "PodFailed: exit code 1\\x1b[2J" in message


def test_a_pod_that_ends_because_another_follows_it_is_waited_for(cluster):
    cluster.controller = False
    thread, results = create_meanwhile(cluster)
    assert set_ready(cluster, "False", "PodSucceeded")
    wait_until("a second look", lambda: len(cluster.made("GET", "sandboxes.fieldSelector")) > 4, 30)
    with cluster.changed:
        cluster.controller = True
        cluster._reconcile(NAMESPACE, "demo")
    thread.join()
    assert json.loads(ok(results[0]).stdout)["state"] == "running"


def test_what_keeps_a_pod_from_running_is_said_in_seconds(cluster):
    cluster.controller = False
    waiting = {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "nobody/has:it"'}
    cluster.put("pods", {"metadata": {"name": "demo"}, "status": {
        "phase": "Pending", "containerStatuses": [{"name": "box", "state": {"waiting": waiting}}]}})
    message = refused(1, cluster, "create", "demo", "--kubernetes")
    assert 'container box: ImagePullBackOff: Back-off pulling image "nobody/has:it"' in message


def test_a_pod_with_something_put_into_it_is_suspended(cluster):
    cluster.webhook = lambda pod: pod["spec"]["containers"].append({"name": "sidecar", "image": "x"})
    message = refused(4, cluster, "create", "demo", "--kubernetes")
    assert "containers sidecar" in message
    assert cluster.get("sandboxes", "demo")["spec"]["operatingMode"] == "Suspended"
    assert cluster.names("pods") == []


def test_suspend_and_resume_keep_keys_pin_and_name(cluster):
    before = create(cluster)
    assert done(cluster, "suspend", "demo", "--kubernetes")["state"] == "suspended"
    assert cluster.names("pods") == []
    assert done(cluster, "suspend", "demo", "--kubernetes")["state"] == "suspended"
    assert done(cluster, "status", "demo", "--kubernetes")["state"] == "suspended"
    after = done(cluster, "resume", "demo", "--kubernetes")
    assert after["state"] == "running"
    assert (after["ssh"], after["keys"]) == (before["ssh"], before["keys"])
    pod = cluster.get("pods", "demo")
    assert pod["metadata"]["annotations"]["agentbox.internal/keys-generation"] == "1"
    assert create(cluster)["state"] == "running"


def test_create_of_a_suspended_box_does_not_start_it(cluster):
    create(cluster)
    done(cluster, "suspend", "demo", "--kubernetes")
    assert create(cluster)["state"] == "suspended"
    assert cluster.names("pods") == []


def test_rotate_puts_a_new_private_key_in_the_place_of_the_old(cluster):
    before = create(cluster)
    identity = before["ssh"]["identity_file"]
    old = public_half(identity)
    after = done(cluster, "rotate", "demo", "--kubernetes")
    assert after["ssh"]["identity_file"] == identity and after["ssh"]["host_key_fingerprint"] == before["ssh"]["host_key_fingerprint"]
    assert public_half(identity) != old
    assert annotation(cluster, "demo").split()[:2] == public_half(identity).split()[:2]
    assert cluster.get("pods", "demo")["metadata"]["annotations"]["agentbox.internal/keys-generation"] == "3"
    assert after["proven"] is False and after["not_checked"] and after["sessions_ended"] is None
    assert done(cluster, "suspend", "demo", "--kubernetes")["generation"] == 3
    assert create(cluster)["keys"] == after["keys"]


def test_a_rotation_cut_short_is_taken_up_by_the_next(cluster):
    create(cluster)
    cluster.fail("PATCH", "agentbox-keys", lambda handler: handler.reply(403, {"kind": "Status", "message": "no"}))
    refused(7, cluster, "rotate", "demo", "--kubernetes")
    after = done(cluster, "rotate", "demo", "--kubernetes")
    assert len(after["keys"]) == 1 and len(after["gone"]) == 1
    assert annotation(cluster, "demo").split()[:2] == public_half(after["ssh"]["identity_file"]).split()[:2]


def test_revoke_writes_an_empty_list_rather_than_none(cluster):
    fingerprint = create(cluster)["keys"][0]["fingerprint"]
    after = done(cluster, "revoke", "demo", "--kubernetes", "--key", fingerprint)
    assert after["keys"] == [] and annotation(cluster, "demo") == ""
    assert after["ssh"]["identity_file"] is None
    again = done(cluster, "revoke", "demo", "--kubernetes", "--key", fingerprint)
    assert again["changed"] is False
    assert create(cluster)["keys"] == []


def test_a_ca_and_revoked_certificates_are_annotations_of_their_own(cluster):
    ca = make_key(cluster.folder / "ca")
    first = create(cluster, "demo", "--user-ca", f"{ca}.pub")
    assert annotation(cluster, "demo", "user-ca") == f"{public_line(ca)}\n"
    done(cluster, "revoke", "demo", "--kubernetes", "--serial", "7")
    two = done(cluster, "revoke", "demo", "--kubernetes", "--serial", "8")
    assert annotation(cluster, "demo", "revoked") == "serial:7\nserial:8\n" and two["generation"] == first["generation"] + 2
    assert done(cluster, "revoke", "demo", "--kubernetes", "--serial", "8")["changed"] is False
    other = make_key(cluster.folder / "other-ca")
    done(cluster, "ca", "trust", "--box", "demo", "--kubernetes", "--ca", f"{other}.pub")
    assert annotation(cluster, "demo", "user-ca") == f"{public_line(ca)}\n{public_line(other)}\n"
    done(cluster, "revoke", "demo", "--kubernetes", "--key", f"{ca}.pub")
    assert annotation(cluster, "demo", "user-ca") == f"{public_line(other)}\n"
    assert len(annotation(cluster, "demo", "revoked").splitlines()) == 3
    assert first["keys"] == done(cluster, "status", "demo", "--kubernetes")["keys"]


def test_delete_leaves_nothing_and_the_policy_goes_last(cluster):
    create(cluster)
    create(cluster, "other")
    before = len(changes(cluster))
    assert done(cluster, "delete", "demo", "--kubernetes") == {"name": "demo", "changed": True}
    deleted = [one[1] for one in changes(cluster)[before:] if one[0] == "DELETE"]
    assert "sandboxes/demo" in deleted[0] and "networkpolicies" in deleted[-1]
    for plural in ("sandboxes", "pods"):
        assert cluster.names(plural) == ["other"]
    assert cluster.names("secrets") == ["other-hostkey"] and cluster.names("networkpolicies") == ["agentbox-other"]
    assert done(cluster, "delete", "demo", "--kubernetes") == {"name": "demo", "changed": False}
    assert not list(cluster.folder.glob("state/clusters/*/boxes/boxes/demo"))


def test_delete_leaves_what_only_looks_like_ours(cluster):
    cluster.put("networkpolicies", {"metadata": {"name": "agentbox-demo"}, "spec": {}})
    cluster.put("secrets", {"metadata": {"name": "demo-hostkey"}, "data": {}})
    assert done(cluster, "delete", "demo", "--kubernetes")["changed"] is False
    assert cluster.names("secrets") == ["demo-hostkey"]
    assert cluster.names("networkpolicies") == ["agentbox-demo"]


def test_a_box_is_seen_from_another_machine_with_its_pin_and_without_its_key(cluster):
    first = create(cluster)
    seen = done(cluster, "status", "demo", "--kubernetes", state="elsewhere")
    assert seen["ssh"]["identity_file"] is None and "IdentityFile" not in " ".join(seen["ssh"]["command"])
    assert open(seen["ssh"]["known_hosts_file"]).read() == open(first["ssh"]["known_hosts_file"]).read()
    assert done(cluster, "list", "--kubernetes")["boxes"][0]["name"] == "demo"
    cluster.edit("sandboxes", "demo", lambda value: value["metadata"]["annotations"].update(
        {"agentbox.internal/host-key": seen["keys"] and annotation(cluster, "demo").rsplit(" ", 1)[0]}))
    changed = done(cluster, "status", "demo", "--kubernetes")
    assert changed["state"] == "failed" and "host key" in changed["reason"] and changed["ssh"] is None
    refused(4, cluster, "handoff", "demo", "--kubernetes", "--format", "claude")


def test_handoff(cluster):
    create(cluster)
    line = done(cluster, "handoff", "demo", "--kubernetes", "--format", "claude")["text"]
    assert line.startswith("claude mcp add demo -- ssh -F none -T ") and f"demo.{NAMESPACE}.svc.cluster.local" in line
    assert "StrictHostKeyChecking=yes" in line


def write_keys(door, value):
    """What the kubelet makes of a pod's annotations."""
    door.write_keys(value["metadata"]["annotations"]["agentbox.internal/authorized-keys"])


@pytest.fixture
def pod(cluster, tmp_path_factory):
    """The box demo, and a real door with what the cluster's objects give its pod."""
    create(cluster)
    folder = tmp_path_factory.mktemp("pod")
    folder.chmod(0o711)
    door = Door(folder)
    secret = cluster.get("secrets", "demo-hostkey")
    (folder / "door" / "host_key").write_bytes(base64.b64decode(secret["data"]["ssh_host_ed25519_key"]))
    write_keys(door, cluster.get("pods", "demo"))
    cluster.kubelet = lambda value: write_keys(door, value)
    cluster.port_of = lambda name: door.port
    try:
        door.start_monitor()
        yield door
    finally:
        door.stop()


def test_keys_are_proven_through_a_port_forward(cluster, pod):
    box = create(cluster, "demo", "--port-forward")
    assert box["checked"] == ["1 key(s) accepted on the pinned host key"], (box, pod.logs())
    assert not box["not_checked"]
    pod.write_keys("")
    wait_until("the door has forgotten the key", lambda: "refuses its key" in done(
        cluster, "status", "demo", "--kubernetes", "--port-forward").get("reason", ""))


def test_rotate_and_revoke_are_proven_through_a_port_forward(cluster, pod):
    old = done(cluster, "status", "demo", "--kubernetes")["keys"]
    rotated = done(cluster, "rotate", "demo", "--port-forward")
    assert rotated["proven"] and rotated["changed"] and rotated["generation"] == 3, rotated
    assert rotated["gone"] == [old[0]["fingerprint"]] and rotated["keys"] != old
    assert "1 refused" in rotated["proofs"][-1]
    key = make_key(pod.folder / "second")
    two = done(cluster, "rotate", "demo", "--port-forward", "--key", f"{key}.pub")
    fingerprint = two["keys"][0]["fingerprint"]
    revoked = done(cluster, "revoke", "demo", "--port-forward", "--key", f"{key}.pub")
    assert revoked["proven"] and revoked["keys"] == [] and revoked["gone"] == [fingerprint], revoked
    assert annotation(cluster, "demo", "revoked") == f"{fingerprint}\n"
    assert "was revoked" in refused(4, cluster, "rotate", "demo", "--kubernetes", "--key", f"{key}.pub")


def test_another_host_key_behind_the_port_is_noticed(cluster, pod):
    pod.stop()
    make_key(pod.folder / "other")
    (pod.folder / "door" / "host_key").write_bytes((pod.folder / "other").read_bytes())
    pod.start_monitor()
    seen = done(cluster, "status", "demo", "--kubernetes", "--port-forward")
    assert seen["state"] == "failed" and "host key" in seen["reason"], seen


def test_a_port_forward_that_is_refused_is_said(cluster):
    assert create(cluster, "demo", "--port-forward")["not_checked"]
    cluster.forbidden.add(("create", "pods/portforward"))
    seen = done(cluster, "status", "demo", "--kubernetes", "--port-forward")
    assert "403" in seen["not_checked"][0], seen


def test_no_such_box(cluster):
    for verb in ("status", "suspend", "resume"):
        refused(3, cluster, verb, "nobody", "--kubernetes")


def test_commands_that_do_not_know_clusters_say_so(cluster):
    refused(2, cluster, "audit-log", "show", "--box", "demo", "--kubernetes")
    refused(2, cluster, "create", "demo", "--kubernetes", "--no-isolation")
    assert cluster.made() == []


def test_render_and_rbac_need_no_cluster(folder):
    rendered = ok(programs.provision("render", "demo", "--namespace", "boxes")).stdout.decode()
    assert rendered.count("\n---\n") == 2 and "PRIVATE" not in rendered
    objects = json.loads(ok(programs.provision("render", "demo", "--output", "json")).stdout)["items"]
    assert [item["kind"] for item in objects] == ["NetworkPolicy", "Secret", "Sandbox"]
    role = json.loads(ok(programs.provision("rbac", "status", "--output", "json")).stdout)
    assert role["kind"] == "Role" and role["rules"][0]["verbs"] == ["get"]
    assert programs.provision("rbac", "fly").returncode == 2


# What a box is made with


def test_a_dry_run_asks_the_cluster_and_changes_nothing(cluster):
    said = create(cluster, "demo", "--dry-run", "--retain-data")
    assert said["dry_run"] and not said["exists"] and said["namespace"] == NAMESPACE
    assert [one["kind"] for one in said["objects"]] == ["NetworkPolicy", "Secret", "PersistentVolumeClaim", "Sandbox"]
    tried = [one for one in cluster.made() if one[0] in ("POST", "PATCH")]
    assert len(tried) == 4 and all("dryRun=All" in one[1] for one in tried)
    assert not cluster.objects and not list(cluster.folder.glob("state/**/box.json"))
    cluster.fail("POST", "secrets.*dryRun=All", lambda handler: handler.reply(403, {"kind": "Status", "message": "quota"}))
    assert "quota" in refused(7, cluster, "create", "demo", "--kubernetes", "--dry-run")
    create(cluster)
    before = len(changes(cluster))
    assert create(cluster, "demo", "--dry-run")["exists"]
    assert "another one" in refused(4, cluster, "create", "demo", "--kubernetes", "--dry-run", "--image", "x:1")
    assert len(changes(cluster)) == before


def test_labels_and_annotations_of_a_users_own(cluster, folder):
    create(cluster, "demo", "--label", "team=blue", "--annotation", "example.org/why=a test, mostly")
    sandbox, pod = cluster.get("sandboxes", "demo"), cluster.get("pods", "demo")
    for value in (sandbox, sandbox["spec"]["podTemplate"], pod):
        assert value["metadata"]["labels"]["team"] == "blue"
        assert value["metadata"]["labels"]["agentbox.internal/box"] == "demo"
    assert sandbox["metadata"]["annotations"]["example.org/why"] == "a test, mostly"
    assert annotation(cluster, "demo")
    before = len(cluster.made())
    for words in (("--annotation", "agents.x-k8s.io/pod-name=billing-0"), ("--label", "agents.x-k8s.io/x=y"),
                  ("--label", "agentbox.internal/box=other"), ("--annotation", "agentbox.internal/authorized-keys=x"),
                  ("--label", "app.kubernetes.io/managed-by=me"), ("--label", "x")):
        refused(2, cluster, "create", "next", "--kubernetes", *words)
    (folder / "spec.yaml").write_text('kubernetes: {labels: ["agents.x-k8s.io/x=y"]}\n')
    refused(2, cluster, "create", "next", "--kubernetes", "-f", folder / "spec.yaml")
    assert len(cluster.made()) == before


def test_a_volume_that_outlives_its_box(cluster):
    create(cluster, "demo", "--retain-data", "--size", "2Gi")
    claim = cluster.get("persistentvolumeclaims", "demo-data")
    assert claim["spec"]["resources"]["requests"]["storage"] == "2Gi" and not claim["metadata"].get("ownerReferences")
    sandbox = cluster.get("sandboxes", "demo")
    assert "volumeClaimTemplates" not in sandbox["spec"]
    assert {"name": "data", "persistentVolumeClaim": {"claimName": "demo-data"}} in sandbox["spec"]["podTemplate"]["spec"]["volumes"]
    gone = done(cluster, "delete", "demo", "--kubernetes", "--keep-workspace")
    assert gone["changed"] and "demo-data" in gone["workspace"]
    assert gone["to_remove"] == f"kubectl --namespace {NAMESPACE} delete pvc demo-data"
    assert cluster.names("persistentvolumeclaims") == ["demo-data"] and cluster.names("sandboxes") == []
    create(cluster, "demo", "--retain-data", "--size", "2Gi")
    assert "to_remove" in done(cluster, "delete", "demo", "--kubernetes")
    create(cluster, "other")
    assert "--retain-data" in refused(2, cluster, "delete", "other", "--kubernetes", "--keep-workspace")
    assert cluster.names("sandboxes") == ["other"]


def test_flags_of_egress_and_runtime_class(cluster):
    create(cluster, "demo", "--runtime-class", "gvisor", "--egress-to", "192.0.2.0/24", "--egress-to", "2001:db8::/32")
    assert cluster.get("sandboxes", "demo")["spec"]["podTemplate"]["spec"]["runtimeClassName"] == "gvisor"
    rules = cluster.get("networkpolicies", "agentbox-demo")["spec"]["egress"]
    assert [peer["ipBlock"]["cidr"] for peer in rules[-1]["to"]] == ["192.0.2.0/24", "2001:db8::/32"]
    assert create(cluster, "two", "--egress", "dns")["egress"] == "dns"
    refused(2, cluster, "create", "three", "--kubernetes", "--egress", "dns", "--egress-to", "192.0.2.0/24")
    refused(2, cluster, "create", "three", "--egress", "dns")


def policy_of(name, made, label=None):
    return {"metadata": {"name": f"agentbox-{name}", "creationTimestamp": made, "labels": {
        "app.kubernetes.io/managed-by": "agentbox-provision", "agentbox.internal/box": label or name}}, "spec": {}}


def secret_of(name, **labels):
    return {"metadata": {"name": f"{name}-hostkey", "labels": {
        "app.kubernetes.io/managed-by": "agentbox-provision", "agentbox.internal/box": name, **labels}}, "data": {}}


def test_gc_removes_what_no_box_has_any_more(cluster):
    create(cluster)
    cluster.edit("networkpolicies", "agentbox-demo", lambda value: value["metadata"].update(creationTimestamp="2020-01-01T00:00:00Z"))
    old = "2020-01-01T00:00:00Z"
    for name in ("left", "running", "fresh", "foreign"):
        cluster.put("networkpolicies", policy_of(name, "2999-01-01T00:00:00Z" if name == "fresh" else old))
        cluster.put("secrets", secret_of(name))
    cluster.put("networkpolicies", policy_of("strange", old, label="left"))
    cluster.put("secrets", {"metadata": {"name": "foreign-hostkey"}, "data": {}})
    cluster.put("pods", {"metadata": {"name": "running", "labels": policy_of("running", old)["metadata"]["labels"]}, "spec": {}})
    before = len(changes(cluster))
    seen = done(cluster, "gc", "--dry-run")
    assert [one for one in changes(cluster)[before:] if one[0] != "PATCH"] == []
    assert done(cluster, "gc")["removed"] == seen["removed"] == [
        "NetworkPolicy agentbox-foreign", "Secret left-hostkey", "NetworkPolicy agentbox-left"]
    assert seen["too_young"] == 1
    assert cluster.names("networkpolicies") == ["agentbox-demo", "agentbox-fresh", "agentbox-running", "agentbox-strange"]
    assert cluster.names("secrets") == ["demo-hostkey", "foreign-hostkey", "fresh-hostkey", "running-hostkey"]
    assert done(cluster, "gc")["removed"] == []
    refused(2, cluster, "gc", "--older-than", "soon")


def test_a_guard_is_rendered_without_a_cluster(folder):
    made = json.loads(ok(programs.provision("render", "--guard", "boxes:provisioner", "--output", "json")).stdout)["items"]
    assert {one["kind"] for one in made} == {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
    assert "system:serviceaccount:boxes:provisioner" in json.dumps(made)
    assert programs.provision("render", "--guard", "it's").returncode == 2
