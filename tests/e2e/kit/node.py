"""What a node makes of the pods of kit/cluster.py: for each a real door and a real spawner, with the keys and the host
key that the cluster's objects give it, and folders that outlive the pod as its volume does. The spawner sees what a
container does, and no network but the door's port: a policy that holds."""
import base64
import os
import sys

from kit import programs
from kit.door import Door
from kit.waiting import wait_until

PREFIX = "agentbox.internal/"
FILES = {"authorized-keys": "authorized_keys", "keys-generation": "generation", "revoked": "revoked", "user-ca": "user_ca"}
# In a pod the door's port is open from inside as well: both containers have one network. Where the port is taken it is
# open already.
LISTEN = """
import os, socket, sys
listener = socket.socket()
try:
    listener.bind(("127.0.0.1", 2222))
    listener.listen()
except OSError:
    pass
if os.fork() == 0:
    os.execv(sys.argv[1], sys.argv[1:])
os.wait()
"""


class PodDoor(Door):
    closed = True  # no network from inside

    def start_spawner(self):
        # It ends with its link, that is with the door: a thread of the cluster's starts it, whose end means nothing.
        box = self.folder / "box"
        program = programs.reachable_copy(programs.BOX, programs.WORLD / "bin")
        command = ["bwrap", "--unshare-pid", "--proc", "/proc", "--dev", "/dev"]
        command += ["--unshare-net"] if self.closed else []
        for name in ("usr", "etc"):
            command += ["--ro-bind", f"/{name}", f"/{name}"]
        for name in ("bin", "lib", "lib64", "sbin"):
            command += ["--symlink", f"usr/{name}", f"/{name}"]
        for name, place in (("workspace", "/workspace"), ("home", "/home/agent"), ("tmp", "/tmp"), ("out", "/run/agentbox-out")):
            command += ["--bind", box / name, place]
        command += ["--ro-bind", self.folder / "link", "/agentbox/link", "--ro-bind", program, "/agentbox/bin/agent-box"]
        command += ["--", os.path.realpath(sys.executable), "-c", LISTEN]
        command += ["/agentbox/bin/agent-box", "spawner", "--link", "/agentbox/link/door.sock"]
        self.spawner = programs.start(command, self.box_log, cwd="/", **programs.account("agentbox"))


class Node:
    def __init__(self, cluster, folder):
        folder.chmod(0o711)
        self.cluster = cluster
        self.folder = folder
        self.doors = {}
        self.owners = {}
        self.running = set()
        self.broken = set()  # pods whose box side does not start
        self.open = set()  # pods that no policy shuts in
        cluster.kubelet = self.sync
        cluster.pod_gone = self.end
        cluster.port_of = lambda pod: self.doors[pod].port if pod in self.running else None
        cluster.log_of = self.log_of

    def sync(self, pod):
        name = pod["metadata"]["name"]
        makes_its_own = "--generate-host-key" in pod["spec"]["containers"][0].get("args", [])
        secret = self.cluster.get("secrets", f"{name}-hostkey")
        if secret is None and not makes_its_own:
            return  # a volume that cannot be mounted: the pod waits
        owner = pod["metadata"]["ownerReferences"][0]["uid"]
        if self.owners.get(name) != owner:  # another Sandbox has another volume
            self.new_door(name)
            self.owners[name] = owner
        door = self.doors[name]
        self.write_keys(door, pod)
        if name in self.running:
            return
        if makes_its_own:
            (door.folder / "door" / "host_key").unlink(missing_ok=True)
            door.arguments = ["--generate-host-key"]
        else:
            (door.folder / "door" / "host_key").write_bytes(base64.b64decode(secret["data"]["ssh_host_ed25519_key"]))
        door.start_monitor()
        self.running.add(name)
        wait_until("the door listens", door.listens)
        if name not in self.broken:
            door.closed = name not in self.open
            door.start_spawner()

    def new_door(self, name):
        folder = self.folder / (name if name not in self.doors else f"{name}-{len(list(self.folder.iterdir()))}")
        folder.mkdir(mode=0o711)
        self.doors[name] = PodDoor(folder)

    @staticmethod
    def write_keys(door, pod):
        texts = {file: pod["metadata"]["annotations"].get(PREFIX + key, "") for key, file in FILES.items()}
        keys = texts.pop("authorized_keys").splitlines()
        door.write_keys(*keys, box_name=pod["metadata"]["name"], box_namespace=pod["metadata"]["namespace"], **texts)

    def end(self, name):
        if name in self.running:
            self.running.discard(name)
            self.doors[name].stop()

    def log_of(self, pod, container):
        if pod not in self.running:
            return None
        door = self.doors[pod]
        if container == "box":
            return door.box_log.read_bytes()
        return door.log.read_bytes() + door.audit_log.read_bytes()  # a pod's door has one stream for both

    def stop(self):
        for name in list(self.running):
            self.end(name)
