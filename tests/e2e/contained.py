#!/usr/bin/env python3
"""Runs one command in a world of its own and fails if anything of it remains.

    contained.py COMMAND [ARGUMENT...]

The command gets a fresh HOME, TMPDIR, XDG folders and AGENTBOX_STATE_DIR below one new folder
(AGENTBOX_TEST_WORLD). This process is the subreaper of all it starts, so whatever detaches itself,
be it by two forks or by a session of its own, stays a descendant of this process. Once the command
has ended, no descendant, no socket, no lock and no temporary file may be left; what is left is
named, and ended.
"""
import ctypes
import errno
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from kit.processes import descendants, locks_below, sockets_below

PR_SET_CHILD_SUBREAPER = 36
# What ends by itself gets this long to do so.
SETTLE_SECONDS = 10.0 * float(os.environ.get("AGENTBOX_TEST_PATIENCE", "1"))


def reap():
    """Collects what has ended; false where there is no child at all."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        return False
    return True


def run(command, environment):
    """Runs the command to its end, reaping everything that becomes a child meanwhile."""
    child = os.posix_spawnp(command[0], command, environment)
    while True:
        try:
            pid, status = os.waitpid(-1, 0)
        except InterruptedError:
            continue
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def settle():
    """Waits for the last descendants; returns those that stay."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while reap() and time.monotonic() < deadline:
        time.sleep(0.02)
    return descendants(os.getpid())


def leftovers(world):
    found = [f"process {process}" for process in settle()]
    found += [f"socket {path}" for path in sockets_below(world)]
    found += [f"lock on {path}" for path in locks_below(world)]
    found += [f"temporary file {path}" for path in sorted((world / "tmp").rglob("*"))]
    boxes = world / "state" / "boxes"
    if boxes.is_dir():
        found += [f"box {path}" for path in sorted(boxes.iterdir())]
    return found


def end_all():
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        remaining = descendants(os.getpid())
        if not remaining:
            return
        for process in remaining:
            try:
                os.kill(process.pid, signal.SIGKILL)
            except OSError as error:
                if error.errno != errno.ESRCH:
                    raise
        reap()
        time.sleep(0.02)


def make_world():
    world = Path(tempfile.mkdtemp(prefix="agentbox-test-", dir="/tmp"))
    # As root the door and the box run as users of their own: they pass through, they cannot list.
    world.chmod(0o711)
    for name in ("home", "tmp", "state"):
        (world / name).mkdir(mode=0o755)
    (world / "run").mkdir(mode=0o700)
    (world / "tmp").chmod(0o1777)
    return world


def main(command):
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    world = make_world()
    environment = {
        **{name: os.environ[name] for name in os.environ if not name.startswith("XDG_")},
        "AGENTBOX_TEST_WORLD": str(world),
        "PYTEST_ADDOPTS": f"--basetemp={world}/pytest",
        "AGENTBOX_STATE_DIR": str(world / "state"),
        "HOME": str(world / "home"),
        "TMPDIR": str(world / "tmp"),
        "XDG_RUNTIME_DIR": str(world / "run"),
    }
    environment.pop("SSH_AUTH_SOCK", None)
    try:
        status = run(command, environment)
        found = leftovers(world)
    finally:
        end_all()
        shutil.rmtree(world, ignore_errors=True)
    for one in found:
        print(f"left behind: {one}", file=sys.stderr)
    return status or (1 if found else 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
