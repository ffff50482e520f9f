"""What a node makes of the pods of kit/cluster.py: for each a real door and a real spawner, with the keys and the host
key that the cluster's objects give it, and folders that outlive the pod as its volume does."""
import base64

from kit.door import Door
from kit.waiting import wait_until

PREFIX = "agentbox.internal/"
FILES = {"authorized-keys": "authorized_keys", "keys-generation": "generation", "revoked": "revoked", "user-ca": "user_ca"}


class Node:
    def __init__(self, cluster, folder):
        folder.chmod(0o711)
        self.cluster = cluster
        self.folder = folder
        self.doors = {}
        self.running = set()
        self.broken = set()  # pods whose box side does not start
        cluster.kubelet = self.sync
        cluster.pod_gone = self.end
        cluster.port_of = lambda pod: self.doors[pod].port if pod in self.running else None
        cluster.log_of = self.log_of

    def sync(self, pod):
        name = pod["metadata"]["name"]
        secret = self.cluster.get("secrets", f"{name}-hostkey")
        if secret is None:
            return  # a volume that cannot be mounted: the pod waits
        door = self.doors.get(name) or self.new_door(name)
        self.write_keys(door, pod)
        if name in self.running:
            return
        (door.folder / "door" / "host_key").write_bytes(base64.b64decode(secret["data"]["ssh_host_ed25519_key"]))
        door.start_monitor()
        self.running.add(name)
        wait_until("the door listens", door.listens)
        if name not in self.broken:
            door.start_spawner()

    def new_door(self, name):
        folder = self.folder / name
        folder.mkdir(mode=0o711)
        self.doors[name] = Door(folder)
        return self.doors[name]

    @staticmethod
    def write_keys(door, pod):
        texts = {file: pod["metadata"]["annotations"].get(PREFIX + key, "") for key, file in FILES.items()}
        keys = texts.pop("authorized_keys").splitlines()
        door.write_keys(*keys, box_name=pod["metadata"]["name"], **texts)

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
