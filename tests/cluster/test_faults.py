"""What goes wrong in a cluster is said in seconds, in words that name it; and what was begun can be finished."""
import json
import os
import signal
import subprocess
import threading

import node
import pytest
from cluster import DOOR_IMAGE, Clock, Namespace, kubectl
from kit import programs
from kit.box import ok
from kit.mcp import gets_in
from kit.target import run
from kit.waiting import wait_until
from rights import Operator, kubeconfig

# A pod that the strictest of Kubernetes' own standards takes.
PROPER = {
    "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
    "containers": [{"name": "main", "image": DOOR_IMAGE, "securityContext": {
        "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}]}

SOON = 40  # seconds, on a machine that does much else; judged only as "not the five minutes of a wait"


def refused(namespace, status, *words, **arguments):
    with Clock() as clock:
        message = namespace.refused(status, *words, **arguments)
    assert clock.seconds < SOON, message
    return message


def cleared(namespace, name):
    assert namespace.done("delete", name)["changed"] is True
    assert namespace.names("pods") == [] and namespace.names("secrets") == []


def test_an_image_that_is_not_there(own_namespace):
    spec = own_namespace.spec(image="localhost/agentbox-nobody-has:this")
    message = refused(own_namespace, 1, "create", "lost", "-f", spec)
    assert "container box" in message and "agentbox-nobody-has:this" in message and "Pull" in message, message
    cleared(own_namespace, "lost")


def test_no_node_with_room(own_namespace):
    """And once there is room the same command goes on."""
    ok(kubectl("cordon", node.NODE))
    try:
        message = refused(own_namespace, 1, "create", "later", "-f", own_namespace.spec())
        assert "no node takes its pod" in message and "unschedulable" in message.lower(), message
    finally:
        ok(kubectl("uncordon", node.NODE))
    assert own_namespace.done("create", "later", "-f", own_namespace.spec())["state"] == "running"
    cleared(own_namespace, "later")


def test_a_quota_that_is_used_up(own_namespace):
    own_namespace.apply({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "little"},
                         "spec": {"hard": {"requests.memory": "64Mi"}}})
    message = refused(own_namespace, 5, "create", "much", "-f", own_namespace.spec())
    assert "exceeded quota: little" in message, message
    cleared(own_namespace, "much")


def test_a_standard_for_pods_that_none_meets(own_namespace):
    """A policy that wants what no pod of ours has, as clusters with one for all namespaces do."""
    name = f"only-root-{own_namespace.name}"
    scope = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": own_namespace.name}}}
    own_namespace.apply(
        {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name},
         "spec": {"failurePolicy": "Fail",
                  "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"],
                                                          "operations": ["CREATE"]}]},
                  "validations": [{"expression": "has(object.spec.runtimeClassName)",
                                   "message": "pods of this cluster need a runtimeClassName"}]}},
        {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
         "metadata": {"name": name},
         "spec": {"policyName": name, "validationActions": ["Deny"], "matchResources": scope}})
    try:
        wait_until("the policy is in force", lambda: b"runtimeClassName" in kubectl(
            "-n", own_namespace.name, "run", "probe", f"--image={DOOR_IMAGE}", "--dry-run=server",
            "--overrides", json.dumps({"spec": PROPER})).stderr, 30)
        message = refused(own_namespace, 5, "create", "plain", "-f", own_namespace.spec())
        assert "pods of this cluster need a runtimeClassName" in message, message
        cleared(own_namespace, "plain")
    finally:
        for kind in ("validatingadmissionpolicybinding", "validatingadmissionpolicy"):
            ok(kubectl("delete", kind, name))


def test_a_namespace_whose_standard_refuses_the_pod(tmp_path_factory):
    """An image's volume that the strictest standard does not take stands for whatever a rule of a namespace forbids."""
    with Namespace("strict-boxes", tmp_path_factory.mktemp("strict")) as namespace:
        sandbox = {"apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox", "metadata": {"name": "root"},
                   "spec": {"podTemplate": {"spec": {"containers": [{"name": "main", "image": DOOR_IMAGE}]}}}}
        namespace.apply(sandbox)

        def reason():
            conditions = namespace.get("sandboxes", "root").get("status", {}).get("conditions", [])
            return [each["message"] for each in conditions if each["type"] == "Ready" and each["status"] == "False"
                    and "violates PodSecurity" in each["message"]]

        assert wait_until("the refusal", reason, 30)
        assert "did not make it" in namespace.refused(4, "status", "root")
        namespace.delete("sandboxes", "root")


def test_no_such_right(own_namespace):
    operator = Operator(own_namespace, "reader", own_namespace.done("rbac", "list"))
    message = refused(own_namespace, 7, "create", "mine", "-f", own_namespace.spec(), kubeconfig=operator.kubeconfig)
    assert "cannot" in message and "rbac COMMAND" in message, message
    assert own_namespace.names("networkpolicies") == []


@pytest.mark.parametrize("which", ["a certificate whose time is over", "a token that is none"])
def test_credentials_that_do_not_count(own_namespace, which):
    path = own_namespace.folder / "bad.kubeconfig"
    if which == "a token that is none":
        kubeconfig(path, "abc.def.ghi")
    else:
        folder = own_namespace.folder
        run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", folder / "late.key"])
        run(["openssl", "req", "-new", "-key", folder / "late.key", "-subj", "/O=system:masters/CN=late",
             "-out", folder / "late.csr"])
        ok(run(["openssl", "x509", "-req", "-in", folder / "late.csr", "-CA", node.PKI / "ca.crt", "-CAkey",
                node.PKI / "ca.key", "-set_serial", "77", "-days", "-1", "-out", folder / "late.crt"]))
        node.write_kubeconfig(path, {"client-certificate": str(folder / "late.crt"), "client-key": str(folder / "late.key")})
    assert "401" in refused(own_namespace, 7, "list", kubeconfig=path)


def test_a_server_that_is_not_there(own_namespace):
    gone = kubeconfig(own_namespace.folder / "gone.kubeconfig", "x", server=f"https://127.0.0.1:{node.API_PORT + 1}")
    refused(own_namespace, 5, "list", kubeconfig=gone)


def in_background(namespace, *words):
    results = []
    thread = threading.Thread(target=lambda: results.append(namespace.provision(*words, "--namespace", namespace.name)))
    thread.start()
    return thread, results


def test_the_api_server_dies_and_comes_back_while_a_box_is_made(own_namespace, parts):
    thread, results = in_background(own_namespace, "create", "brave", "-f", own_namespace.spec())
    wait_until("the Sandbox", lambda: own_namespace.get("sandboxes", "brave"), 30)
    parts.kill("kube-apiserver")
    thread.join()
    assert json.loads(ok(results[0]).stdout)["state"] == "running"
    cleared(own_namespace, "brave")


def test_sessions_need_no_api_server(own_namespace, parts):
    box = own_namespace.box("alone")
    box.create()
    address = box.address()
    command = [address if word == box.state["ssh"]["host"] else word for word in box.state["ssh"]["command"]]
    with box.session() as session:
        parts.kill("kube-apiserver", stay_down=True)
        session.ping()
        assert session.shell("echo on")["stdout"] == "on\n"
        assert gets_in(command)
        message = own_namespace.refused(5, "status", "alone", seconds=300)
        assert message
    parts.release("kube-apiserver")
    wait_until("the API server answers", lambda: kubectl("get", "--raw", "/readyz").returncode == 0, 60)
    box.delete()


def test_sessions_need_no_kubelet(own_namespace, parts):
    box = own_namespace.box("alone")
    box.create()
    with box.session() as session:
        parts.kill("kubelet", stay_down=True)
        session.ping()
        with box.session() as another:
            another.ping()
        parts.release("kubelet")
        wait_until("kubelet is back", lambda: parts.number("kubelet"), 30)
        wait_until("the node is ready", lambda: kubectl(
            "wait", "--for=condition=Ready", f"node/{node.NODE}", "--timeout=1s").returncode == 0, 90)
        session.ping()
    # The box's name is there again once kubelet has found its pod ready.
    wait_until("a change of keys is proven", lambda: box.done("rotate")["proven"], 60)
    box.delete()


def test_the_boxs_first_process_is_killed(own_namespace):
    """Code in the box ends its own side; the door stays, and the container starts again."""
    box = own_namespace.box("doomed")
    box.create()
    session = box.session()
    session.notify("tools/call", {"name": "shell_exec", "arguments": {"command": "kill -9 1; kill -9 -1"}})
    session.kill()

    def works():
        try:
            with box.session() as again:
                return again.shell("echo fine", seconds=5)["stdout"] == "fine\n"
        except (AssertionError, OSError):
            return False
    wait_until("the box works", works, 60)
    door = next(each for each in box.pod()["status"]["containerStatuses"] if each["name"] == "door")
    assert door["restartCount"] == 0
    box.delete()



@pytest.mark.parametrize("verb, seen", [
    ("create", lambda namespace: namespace.names("networkpolicies")),
    ("create", lambda namespace: namespace.names("secrets")),
    ("create", lambda namespace: namespace.names("sandboxes")),
    ("create", lambda namespace: namespace.all("secrets") and namespace.all("secrets")[0]["metadata"].get("ownerReferences")),
    ("create", lambda namespace: namespace.names("pods")),
], ids=["policy", "secret", "sandbox", "owner", "pod"])
def test_a_create_that_is_killed_is_finished_by_the_next(own_namespace, verb, seen):
    """Killed as soon as the cluster shows a step done; wherever that finds it, the next run ends well."""
    environment = {**os.environ, "AGENTBOX_STATE_DIR": str(own_namespace.folder / "state"),
                   "KUBECONFIG": str(node.KUBECONFIG)}
    words = [programs.PROVISION, verb, "cut", "-f", own_namespace.spec(), "--namespace", own_namespace.name]
    process = subprocess.Popen([str(word) for word in words], env=environment, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        wait_until("the step", lambda: seen(own_namespace) or process.poll() is not None, 60)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    box = own_namespace.box("cut")
    box.create()
    assert box.state["state"] == "running" and len(box.state["keys"]) == 1
    with box.session() as session:
        session.ping()
    cleared(own_namespace, "cut")


def test_a_delete_that_is_killed_is_finished_by_the_next(own_namespace):
    box = own_namespace.box("cut")
    box.create()
    environment = {**os.environ, "AGENTBOX_STATE_DIR": str(own_namespace.folder / "state"),
                   "KUBECONFIG": str(node.KUBECONFIG)}
    words = [programs.PROVISION, "delete", "cut", "--namespace", own_namespace.name]
    process = subprocess.Popen([str(word) for word in words], env=environment, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        wait_until("the Sandbox is going", lambda: not own_namespace.get("sandboxes", "cut"), 60)
    finally:
        process.kill()
        process.wait()
    own_namespace.done("delete", "cut")
    wait_until("nothing is left", lambda: not any(own_namespace.names(plural) for plural in (
        "sandboxes", "pods", "networkpolicies", "secrets", "services", "persistentvolumeclaims")), 60)
