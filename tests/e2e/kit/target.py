"""Where and how to log in: what a test needs to reach a door with the real OpenSSH client."""
import os
import subprocess
from dataclasses import dataclass, replace

from kit.mcp import Session
from kit.waiting import PATIENCE


def make_key(path, kind="ed25519", *options):
    """A key pair at path, path.pub; returns path."""
    subprocess.run(
        ["ssh-keygen", "-q", "-t", kind, *options, "-N", "", "-C", path.name, "-f", path], check=True
    )
    return path


def public_line(key):
    return key.with_name(key.name + ".pub").read_text(encoding="utf-8").strip()


@dataclass(frozen=True)
class Target:
    host: str
    port: int
    user: str
    identity: os.PathLike
    known_hosts: os.PathLike

    def with_(self, **changed):
        return replace(self, **changed)

    def options(self):
        """What every program of OpenSSH takes: pinned host, this key alone, nothing of the machine's."""
        pairs = {
            "BatchMode": "yes",
            "IdentitiesOnly": "yes",
            "IdentityAgent": "none",
            "IdentityFile": self.identity,
            "UserKnownHostsFile": self.known_hosts,
            "GlobalKnownHostsFile": "none",
            "StrictHostKeyChecking": "yes",
            "ControlPath": "none",
            "EscapeChar": "none",
            "User": self.user,
            "LogLevel": "INFO",
        }
        words = ["-F", "none"]
        for name, value in pairs.items():
            words += ["-o", f"{name}={value}"]
        return words

    def ssh(self, *options, words=()):
        """The argv of ssh; options that are given come first and so win."""
        return ["ssh", *map(str, options), *self.options(), "-p", str(self.port), "--", self.host, *words]

    def session(self, *options, words=(), **arguments):
        return Session(self.ssh(*(options or ("-T",)), words=words), **arguments)

    def run(self, *options, words=(), stdin=b"", seconds=30.0):
        """Runs ssh to its end with this stdin."""
        return run(self.ssh(*options, words=words), stdin, seconds)


def run(command, stdin=b"", seconds=30.0, **arguments):
    return subprocess.run(
        [str(word) for word in command],
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=seconds * PATIENCE,
        check=False,
        **arguments,
    )
