"""The programs under test, and the users they run as."""
import os
import pwd
import shutil
import subprocess
from pathlib import Path

BIN = Path(os.environ["AGENTBOX_BIN"])
WORLD = Path(os.environ["AGENTBOX_TEST_WORLD"])
SSHD = BIN / "agentbox-sshd"
BOX = BIN / "agent-box"
PROVISION = BIN / "agentbox-provision"
# Sanitized programs weaken what a sanitizer cannot live with; --check names it.
SANITIZED = os.environ.get("AGENTBOX_TEST_SANITIZED") == "1"

AS_ROOT = os.geteuid() == 0


def account(name):
    """The popen arguments that start a program as this user; none where we are not root."""
    if not AS_ROOT:
        return {}
    entry = pwd.getpwnam(name)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def uid_of(name):
    return pwd.getpwnam(name).pw_uid if AS_ROOT else os.geteuid()


def give_to(name, *paths):
    """Makes paths, with all below them, this user's."""
    if not AS_ROOT:
        return
    entry = pwd.getpwnam(name)
    for path in paths:
        for each in [path, *path.rglob("*")]:
            os.chown(each, entry.pw_uid, entry.pw_gid, follow_symlinks=False)


def reachable_copy(program, folder):
    """A copy that any user can run: the build may lie in a folder that only its owner can enter."""
    folder.mkdir(mode=0o755, exist_ok=True)
    copy = folder / program.name
    if not copy.exists():
        shutil.copy(program, copy)
        copy.chmod(0o755)
    return copy


def provision(*words, seconds=60.0, **arguments):
    """agentbox-provision to its end."""
    from kit.target import run

    return run([PROVISION, *words], seconds=seconds, **arguments)


def kill_quietly(process):
    if process.poll() is None:
        process.kill()
    process.wait()


def start(command, log, **arguments):
    """A program in the background, its output in the file log."""
    with open(log, "ab") as out:
        settings = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": out, **arguments}
        return subprocess.Popen([str(word) for word in command], **settings)
