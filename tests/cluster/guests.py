"""Images for boxes, made here from next to nothing, and pods that are no boxes."""
import os
import shutil
import subprocess
from pathlib import Path

import node
from archive import write
from cluster import FULL_IMAGE, KINDS, kubectl
from kit.box import ok
from kit.waiting import wait_until

BUSYBOX = Path("/bin/busybox")
LITTLE = "localhost/agentbox-test-busybox:1"
BARE = "localhost/agentbox-test-bare:1"


def give(archive):
    ok(subprocess.run(["ctr", "-a", node.SOCKET, "-n", "k8s.io", "images", "import", archive], capture_output=True))


def busybox_image(folder):
    """As small distributions are: one busybox under all its names, no bash, no C library."""
    root = folder / "busybox"
    (root / "bin").mkdir(parents=True)
    shutil.copy(BUSYBOX, root / "bin/busybox")
    for name in subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=True).stdout.split():
        if name != "busybox":
            (root / "bin" / name).symlink_to("busybox")
    for name in ("etc", "tmp", "home/agent", "workspace", "proc", "sys", "dev", "run/agentbox-out", "agentbox"):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "etc/passwd").write_text("root:x:0:0:root:/:/bin/sh\n")
    write(folder / "busybox.tar", LITTLE, root, "0", ["/bin/sh"])
    give(folder / "busybox.tar")
    return LITTLE


def bare_image(folder):
    """As images without a distribution are: one file, no shell and nothing else that could be run."""
    root = folder / "bare"
    root.mkdir()
    (root / "only").write_text("a file\n")
    write(folder / "bare.tar", BARE, root, "0", ["/only"])
    give(folder / "bare.tar")
    return BARE


class Guest:
    """A pod that is no box: of nobody's policy, with python3 and ssh in it."""

    def __init__(self, namespace, name="guest", labels=None):
        self.namespace = namespace
        self.name = name
        namespace.api.create(KINDS["pods"], {
            "metadata": {"name": name, "namespace": namespace.name, "labels": labels or {}},
            "spec": {
                "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0,
                "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [{
                    "name": "main", "image": FULL_IMAGE, "command": ["sleep", "100000"],
                    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                }]}})
        wait_until("the guest runs", lambda: self.pod().get("status", {}).get("phase") == "Running", 60)

    def pod(self):
        return self.namespace.get("pods", self.name)

    def address(self):
        return self.pod()["status"]["podIP"]

    def command(self, *words):
        """The words that run a command in it."""
        return [node.BIN / "kubectl", f"--kubeconfig={node.KUBECONFIG}", "-n", self.namespace.name, "exec", "-i", self.name,
                "--", *words]

    def run(self, *words, stdin=b"", seconds=30.0):
        return kubectl("-n", self.namespace.name, "exec", "-i", self.name, "--", *words, stdin=stdin, seconds=seconds)

    def put(self, path, data):
        ok(self.run("sh", "-c", f"umask 077 && cat >{path}", stdin=data))

    def reaches(self, host, port):
        return self.run("python3", "-c", KNOCK, host, str(port)).returncode == 0

    def serve(self, port):
        """Something that listens in it."""
        ok(self.run("sh", "-c", f"nohup python3 -m http.server {port} >/tmp/served 2>&1 &"))
        wait_until("it listens", lambda: self.reaches("127.0.0.1", port))


KNOCK = "import socket,sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 3).close()"


def command_in(guest, command):
    """The printed ssh COMMAND as it is run in a pod, with the key and the pin brought there."""
    words = [str(word) for word in command]
    for at, word in enumerate(words):
        for option in ("UserKnownHostsFile=", "IdentityFile="):
            if word.startswith(option):
                path = word.removeprefix(option).strip('"')
                guest.put(f"/tmp/{os.path.basename(path)}", Path(path).read_bytes())
                words[at] = f"{option}/tmp/{os.path.basename(path)}"
        if at and words[at - 1] == "-i":
            guest.put("/tmp/id", Path(word).read_bytes())
            words[at] = "/tmp/id"
    return guest.command(*words)

