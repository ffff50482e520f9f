#!/usr/bin/env python3
"""Volumes for the test cluster: each claim gets a file system of its own, as large as it asks for and no larger, so
that a full volume is really full. It is a `local` volume, for which kubelet honours fsGroup, and goes with its claim."""
import os
import subprocess
import threading
from pathlib import Path

import node
from api import Api, Resource, Watched, Work

CLAIMS = Resource("v1", "persistentvolumeclaims", "PersistentVolumeClaim")
VOLUMES = Resource("v1", "persistentvolumes", "PersistentVolume", namespaced=False)
CLASS = "test"
# The scheduler's word that a pod of this claim has a node.
SELECTED = "volume.kubernetes.io/selected-node"
UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "k": 10**3, "M": 10**6, "G": 10**9, "": 1}
# What ext4 needs to be one.
LEAST = 4 * 2**20


def bytes_of(amount):
    for unit in sorted(UNITS, key=len, reverse=True):
        if amount.endswith(unit):
            return int(float(amount[:len(amount) - len(unit)]) * UNITS[unit])
    raise ValueError(amount)


def make_file_system(name, size):
    """A mounted folder with SIZE bytes of room. The file behind it has holes where nothing was written."""
    folder, image = node.VOLUMES / name, node.VOLUMES / f"{name}.ext4"
    folder.mkdir(exist_ok=True)
    if not os.path.ismount(folder):
        with open(image, "wb") as file:
            file.truncate(max(size, LEAST))
        subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, folder], check=True)
        (folder / "lost+found").rmdir()
    return folder


def remove_file_system(name):
    folder = node.VOLUMES / name
    if os.path.ismount(folder):
        subprocess.run(["umount", folder], check=True)
    if folder.exists():
        folder.rmdir()
    (node.VOLUMES / f"{name}.ext4").unlink(missing_ok=True)


class Provisioner:
    def __init__(self):
        self.api = Api()
        self.work = Work(self.settle, workers=2)
        self.claims = Watched(self.api, CLAIMS, lambda claim: self.work.add(("claim", claim["metadata"]["uid"])))
        self.volumes = Watched(self.api, VOLUMES, lambda volume: self.work.add(
            ("claim", volume["metadata"]["name"].removeprefix("volume-"))))

    def settle(self, key):
        uid = key[1]
        if not (self.claims.listed.is_set() and self.volumes.listed.is_set()):
            self.work.add_later(key, 0.1)
            return
        claim = next((each for each in self.claims.all() if each["metadata"]["uid"] == uid), None)
        name = f"volume-{uid}"
        volume = self.volumes.get(None, name)
        if claim is None and volume is not None and volume["metadata"].get("deletionTimestamp") is None:
            self.api.delete(VOLUMES, None, name)
        elif claim is None and volume is None:
            remove_file_system(name)
        elif claim is not None and volume is None and claim["spec"].get("storageClassName") == CLASS \
                and SELECTED in claim["metadata"].get("annotations", {}):
            self.provide(claim, name)

    def provide(self, claim, name):
        amount = claim["spec"]["resources"]["requests"]["storage"]
        folder = make_file_system(name, bytes_of(amount))
        metadata = claim["metadata"]
        self.api.create(VOLUMES, {
            "metadata": {"name": name},
            "spec": {
                "capacity": {"storage": amount}, "accessModes": claim["spec"]["accessModes"],
                "persistentVolumeReclaimPolicy": "Retain", "storageClassName": CLASS,
                "volumeMode": "Filesystem", "local": {"path": str(folder)},
                "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": metadata["namespace"],
                             "name": metadata["name"], "uid": metadata["uid"]},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                    {"key": "kubernetes.io/hostname", "operator": "In", "values": [node.NODE]}]}]}},
            }})


if __name__ == "__main__":
    Path(node.VOLUMES).mkdir(exist_ok=True)
    Provisioner()
    threading.Event().wait()
