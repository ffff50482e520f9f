"""One box in a real cluster, from create to delete."""
import json

from cluster import DOOR_IMAGE, Clock
from kit.waiting import wait_until


def security_of(pod, name):
    return next(each for each in pod["spec"]["containers"] if each["name"] == name)["securityContext"]


def test_the_pod_is_what_was_rendered(box):
    rendered = box.namespace.done("render", box.name, "-f", box.namespace.spec(**box.spec))
    wanted = next(each for each in rendered["items"] if each["kind"] == "Sandbox")["spec"]["podTemplate"]["spec"]
    pod = box.pod()
    is_now = pod["spec"]
    assert [each["name"] for each in is_now["containers"]] == [each["name"] for each in wanted["containers"]]
    assert [each["name"] for each in is_now["initContainers"]] == [each["name"] for each in wanted["initContainers"]]
    for mine, live in zip(wanted["containers"] + wanted["initContainers"], is_now["containers"] + is_now["initContainers"]):
        assert live["securityContext"] == mine["securityContext"] and live["volumeMounts"] == mine["volumeMounts"]
        assert live["image"] == DOOR_IMAGE
    assert security_of(pod, "door")["runAsUser"] == 1001 and security_of(pod, "box")["runAsUser"] == 1000
    assert is_now["automountServiceAccountToken"] is False
    assert is_now["securityContext"] == wanted["securityContext"]
    assert {each["name"] for each in is_now["volumes"]} == {each["name"] for each in wanted["volumes"]} | {"data"}


def test_two_users_share_one_volume_and_nothing_else(box):
    with box.session() as session:
        assert session.shell("id -u; id -g")["stdout"].split() == ["1000", "1000"]
        for folder in ("/workspace", "/home/agent", "/tmp", "/run/agentbox-out"):
            assert session.shell(f"touch {folder}/mine && stat -c '%u %g' {folder}/mine && rm {folder}/mine")["exit_code"] == 0
        seen = session.shell("ls /agentbox /agentbox/link; cat /proc/*/comm")["stdout"]
    assert "keys" not in seen and "hostkey" not in seen and "state" not in seen and "agentbox-sshd" not in seen


def test_the_printed_command_opens_a_session(box):
    assert box.state["backend"] == "kubernetes" and box.state["state"] == "running"
    assert box.state["ssh"]["host"] == f"{box.name}.{box.namespace.name}.svc.cluster.local"
    with box.session() as session:
        assert session.greeting["serverInfo"]["name"]
        session.ping()
        assert session.finish() == 0


def test_data_and_host_key_outlive_a_pod(box, measured):
    with box.session() as session:
        session.shell("mkdir -p /workspace/deep && head -c 100000 /dev/urandom >/workspace/deep/blob")
        digest = session.shell("sha256sum /workspace/deep/blob")["stdout"].split()[0]
    before = box.pod()["metadata"]["uid"]
    secret = box.namespace.get("secrets", f"{box.name}-hostkey")
    assert box.done("suspend")["state"] == "suspended"
    assert box.pod() is None and box.namespace.names("persistentvolumeclaims") == [f"data-{box.name}"]
    with Clock() as clock:
        assert box.done("resume")["state"] == "running"
        with box.session() as session:
            session.ping()
            measured(f"resume to first reply: {clock.so_far():.1f} s")
            assert session.shell("sha256sum /workspace/deep/blob")["stdout"].split()[0] == digest
    assert box.pod()["metadata"]["uid"] != before
    assert box.namespace.get("secrets", f"{box.name}-hostkey")["data"] == secret["data"]


def test_verify_is_this_loop_in_one_command(own_namespace, measured):
    with Clock() as clock:
        report = own_namespace.done("verify", "looped", "-f", own_namespace.spec())
    assert report["ok"] is True, report
    measured(f"verify, create to delete: {clock.seconds:.1f} s")
    assert own_namespace.names("sandboxes") == [] and own_namespace.names("pods") == []


def test_tools_are_called_from_the_operators_side(box, tmp_path):
    told = box.done("call", "shell_exec", '{"command": "echo from here"}')
    assert "from here" in json.dumps(told)
    (tmp_path / "there").write_bytes(bytes(range(256)) * 1000)
    box.done("push", tmp_path / "there", "/workspace/pushed")
    box.done("pull", "/workspace/pushed", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == (tmp_path / "there").read_bytes()


def test_delete_leaves_nothing(own_namespace, measured):
    box = own_namespace.box("short")
    with Clock() as clock:
        box.create()
        with box.session() as session:
            session.ping()
            measured(f"create to first reply: {clock.so_far():.1f} s")
    assert box.delete()["changed"] is True
    for plural in ("sandboxes", "pods", "networkpolicies", "secrets"):
        assert own_namespace.names(plural) == [], plural
    # What belongs to the Sandbox is removed by the cluster, after it.
    wait_until("the end of its service and volume",
               lambda: not own_namespace.all("services") and not own_namespace.all("persistentvolumeclaims"), 60)
    assert box.delete()["changed"] is False
    assert not (own_namespace.folder / "state").exists() or not list((own_namespace.folder / "state").rglob("id_ed25519"))
