"""Runs inside a box, as the agent's code does: tries to reach what must be out of reach, and prints what came of each.

attacks.py '{"pids": [...], "port": N, "files": [...]}'
"""
import ctypes
import errno
import json
import os
import resource
import signal
import socket
import sys

libc = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206
SYS_PIDFD_OPEN = 434


def call(function, *arguments):
    if function(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def attempt(action):
    try:
        action()
        return "done"
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))


def read(path):
    with open(path, "rb") as file:
        file.read(1)


def write(path):
    with open(path, "ab") as file:
        file.write(b"x")


def on_processes(pids):
    for pid in pids:
        yield "kill", lambda p=pid: os.kill(p, signal.SIGKILL)
        yield "stop", lambda p=pid: os.kill(p, signal.SIGSTOP)
        yield "prlimit", lambda p=pid: resource.prlimit(p, resource.RLIMIT_NOFILE, (4, 4))
        yield "priority", lambda p=pid: os.setpriority(os.PRIO_PROCESS, p, 19)
        yield "affinity", lambda p=pid: os.sched_setaffinity(p, {0})
        yield "attach", lambda p=pid: call(libc.ptrace, PTRACE_ATTACH, p, None, None)
        yield "seize", lambda p=pid: call(libc.ptrace, PTRACE_SEIZE, p, None, None)
        yield "pidfd", lambda p=pid: call(libc.syscall, SYS_PIDFD_OPEN, p, 0)
        for name in ("mem", "environ", "maps", "root", "fd", "cmdline"):
            yield f"/proc {name}", lambda p=pid, n=name: os.stat(f"/proc/{p}/{n}")


def on_files(files):
    for path in files:
        yield f"read {path}", lambda p=path: read(p)
        yield f"write {path}", lambda p=path: write(p)
        yield f"chmod {path}", lambda p=path: os.chmod(p, 0o777)
        yield f"unlink {path}", lambda p=path: os.unlink(p)
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/usr/bin/env", "/etc/passwd"):
        yield f"write {path}", lambda p=path: write(p)
    yield "replace the link", lambda: os.rename("/agentbox/link/door.sock", "/agentbox/link/x")
    yield "plant a link", lambda: os.symlink("/tmp/mine", "/agentbox/link/door.sock2")
    yield "terminal", lambda: read("/dev/tty")
    yield "memory device", lambda: read("/dev/mem")


def on_port(port):
    """Every way to the port of the door's own address; what else can be bound is nobody's way in."""
    for address in ("127.0.0.1", "0.0.0.0", "::"):
        for shared in (False, True):
            def take(a=address, s=shared):
                with socket.socket(socket.AF_INET6 if ":" in a else socket.AF_INET) as thief:
                    thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    if s:
                        thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                    thief.bind((a, port))
                    thief.listen()

            yield f"take {address}{' shared' if shared else ''}", take


def dial(times):
    """How often the link answered anything at all."""
    answered = 0
    for _ in range(times):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as caller:
            caller.settimeout(10)
            try:
                caller.connect("/agentbox/link/door.sock")
                caller.send(b"\x01\x0e\x01\x00x")
                answered += caller.recv(100) != b""
            except OSError:
                pass
    return answered


def main(wanted):
    said = {}
    for group in (on_processes(wanted["pids"]), on_files(wanted["files"]), on_port(wanted["port"])):
        for name, action in group:
            said[name] = attempt(action)
    said["link answers"] = dial(wanted["dials"])
    print(json.dumps(said))


main(json.loads(sys.argv[1]))
