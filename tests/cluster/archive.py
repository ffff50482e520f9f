#!/usr/bin/env python3
"""Writes an image archive from a folder, with no builder: the same bytes for the same files.

    archive.py OUT.tar NAME:TAG FOLDER USER [WORD...]    the words are what a container of it runs
"""
import hashlib
import io
import json
import sys
import tarfile
from pathlib import Path


def plain(entry):
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = 0
    return entry


def write(out, name, folder, user, words=()):
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w", format=tarfile.GNU_FORMAT) as files:
        for path in sorted(Path(folder).iterdir()):
            files.add(path, arcname=path.name, filter=plain)
    digest = hashlib.sha256(layer.getvalue()).hexdigest()
    config = json.dumps({
        "architecture": "amd64", "os": "linux",
        "config": {"User": user, "Entrypoint": list(words), "Env": ["PATH=/usr/bin:/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        "history": [{"created_by": "archive.py"}],
    }).encode()
    config_name = hashlib.sha256(config).hexdigest() + ".json"
    manifest = json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": [f"{digest}.tar"]}]).encode()
    with tarfile.open(out, "w") as archive:
        for path, data in ((f"{digest}.tar", layer.getvalue()), (config_name, config), ("manifest.json", manifest)):
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    write(*sys.argv[1:5], sys.argv[5:])
