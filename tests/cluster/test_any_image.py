"""A box's container may be any Linux image, and any user: an init container brings what it needs."""
import base64
from pathlib import Path

import guests
from cluster import kubectl
from kit.target import Target, make_key, public_line
from kit.waiting import wait_until


def test_an_image_of_busybox_alone(own_namespace, tmp_path):
    box = own_namespace.box("little", image=guests.busybox_image(tmp_path))
    box.create()
    with box.session() as session:
        done = session.shell("busybox | head -1; echo $0; ls /bin | wc -l")
        assert done["exit_code"] == 0 and "BusyBox" in done["stdout"]
        session.call("write_file", {"path": "a.txt", "content": "text\n"})
        assert session.shell("cat a.txt")["stdout"] == "text\n"
        job = session.call("process_start", {"command": "echo up; sleep 60", "wait_for": "up", "wait_seconds": 10})
        session.call("process_kill", {"name": job["process_id"]})
    box.delete()


def test_an_image_without_a_shell(own_namespace, tmp_path):
    """Files work; a command says that there is no shell, and goes on being answered."""
    box = own_namespace.box("bare", image=guests.bare_image(tmp_path))
    box.create()
    with box.session() as session:
        session.call("write_file", {"path": "a.txt", "content": "text\n"})
        assert "text" in session.text("read_file", {"path": "a.txt"})
        message = session.refused("shell_exec", {"command": "ls"}, "SPAWN_FAILED")
        assert "no shell in this box" in message and "args" in message, message
        program = session.call("shell_exec", {"command": "/agentbox/bin/agent-box", "args": ["--version"]})
        assert program["stdout"].startswith("agent-box ")
        assert [each["name"] for each in session.call("list_directory", {"path": "."})["entries"]] == ["a.txt"]
    box.delete()


def test_any_users_may_be_the_doors_and_the_boxs(own_namespace):
    """Some clusters give each namespace a range of users of its own, which no passwd has. The manifests that `render`
    prints are changed for that by hand; the host key's file is then root's, and the group's to read."""
    folder, name = own_namespace.folder, "strangers"
    door_user, box_user = 1_000_680_001, 1_000_680_002
    host_key, key = make_key(folder / "host"), make_key(folder / "agent")
    items = own_namespace.done("render", name, "-f", own_namespace.spec(), "--key", f"{key}.pub")["items"]
    secret = next(each for each in items if each["kind"] == "Secret")
    secret["data"] = {"ssh_host_ed25519_key": base64.b64encode(host_key.read_bytes()).decode()}
    sandbox = next(each for each in items if each["kind"] == "Sandbox")
    config = (Path(__file__).resolve().parents[2] / "config/agentbox-sshd.yaml").read_text()
    items.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "door"},
                  "data": {"door.yaml": config.replace("box_uid: 1000 ", f"box_uid: {box_user} ")}})
    pod = sandbox["spec"]["podTemplate"]["spec"]
    pod["volumes"].append({"name": "config", "configMap": {"name": "door"}})
    for container in [*pod["containers"], *pod["initContainers"]]:
        user = box_user if container["name"] == "box" else door_user
        container["securityContext"].update(runAsUser=user, runAsGroup=user)
        if container["name"] == "door":
            container["args"] = ["--config", "/config/door.yaml"]
            container["volumeMounts"].append({"name": "config", "mountPath": "/config", "readOnly": True})
    own_namespace.apply(*items)
    wait_until("the pod is ready", lambda: kubectl("-n", own_namespace.name, "wait", "--for=condition=Ready", f"pod/{name}",
                                                   "--timeout=1s").returncode == 0, 60)
    known_hosts = folder / "known"
    host = own_namespace.get("pods", name)["status"]["podIP"]
    known_hosts.write_text(f"[{host}]:2222 {public_line(host_key)}\n")
    with Target(host, 2222, "agent", key, known_hosts).session() as session:
        assert session.shell("id -u; touch /workspace/a /home/agent/a /tmp/a")["stdout"].split() == [str(box_user)]
        assert session.shell("whoami")["exit_code"] != 0
