"""What the door's processes have given up, seen from outside: /proc, and the sockets themselves."""
import ctypes
import os
import socket

import pytest
from kit import programs
from kit.processes import descriptors
from kit.waiting import wait_until
from kit.wire import connect, read_version

SYS_PIDFD_GETFD = 438
MB = 1 << 20


def status(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def limits(pid):
    with open(f"/proc/{pid}/limits", encoding="utf-8") as file:
        return {line[:26].strip(): line[26:].split()[:2] for line in file.readlines()[1:]}


def network_child(door):
    (pid,) = door.connections()
    return pid


@pytest.fixture(params=["before the login", "with a session"])
def network(request, shared_door):
    """A network child, from its first moment on."""
    wait_until("nobody is there", lambda: not shared_door.connections())
    if request.param == "with a session":
        with shared_door.target.session() as session:
            session.ping()
            yield network_child(shared_door)
    else:
        with connect(shared_door) as connection:
            read_version(connection)
            yield network_child(shared_door)


def test_no_process_of_the_door_can_be_read_traced_or_dumped(shared_door):
    with shared_door.target.session() as session:
        session.ping()
        for pid in (shared_door.monitor.pid, shared_door.listener(), network_child(shared_door), shared_door.spawner.pid):
            # A process that is not dumpable has its files in /proc owned by root.
            assert os.stat(f"/proc/{pid}/environ").st_uid == 0, pid
            if not programs.AS_ROOT:
                with pytest.raises(PermissionError):
                    os.readlink(f"/proc/{pid}/exe")
        for pid in (shared_door.monitor.pid, shared_door.listener(), network_child(shared_door)):
            assert limits(pid)["Max core file size"] == ["0", "0"]


def test_the_monitor_may_hold_all_the_descriptors_it_needs(new_door):
    """The usual first limit is far below connections times sessions."""
    door = new_door()
    door.wrapper = ["prlimit", "--nofile=256:8192", "--"]
    door.start()
    assert limits(door.monitor.pid)["Max open files"] == ["8192", "8192"]


def test_no_process_of_the_door_has_a_right_that_its_user_lacks(shared_door):
    if programs.AS_ROOT:
        for pid in (shared_door.monitor.pid, shared_door.listener()):
            assert int(status(pid)["CapEff"], 16) == 0
            assert status(pid)["Uid"].split() == [str(programs.uid_of("agentbox-door"))] * 4


def test_a_network_child_is_locked_before_it_speaks(network):
    said = status(network)
    assert said["NoNewPrivs"] == "1"
    assert said["Seccomp"] == "2"
    assert limits(network)["Max processes"] == ["0", "0"]
    if not programs.SANITIZED:
        assert limits(network)["Max address space"] == [str(512 * MB)] * 2


@pytest.mark.skipif(not programs.AS_ROOT, reason="nobody but root may look into it")
def test_a_network_child_holds_its_own_connection_and_nothing_else(network, shared_door):
    held = descriptors(network)
    files = {target for target in held.values() if not target.startswith(("socket:", "pipe:", "anon_inode:"))}
    assert files <= {"/dev/null", str(shared_door.log)}, files
    assert shared_door._listening_inode() not in held.values()
    assert not any("memfd" in target for target in held.values())


class Borrowed:
    """A copy of another process's socket."""

    def __init__(self, pid, number):
        pidfd = os.pidfd_open(pid)
        copy = ctypes.CDLL(None, use_errno=True).syscall(SYS_PIDFD_GETFD, pidfd, number, 0)
        os.close(pidfd)
        assert copy >= 0, os.strerror(ctypes.get_errno())
        self.socket = socket.socket(fileno=copy)

    def option(self, level, name):
        return self.socket.getsockopt(level, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


def sockets_of_the_wire(pid, port):
    for number, target in descriptors(pid).items():
        if target.startswith("socket:"):
            with Borrowed(pid, number) as borrowed:
                if borrowed.socket.family in (socket.AF_INET, socket.AF_INET6) and borrowed.socket.getsockname()[1] == port:
                    yield borrowed


@pytest.mark.skipif(not programs.AS_ROOT, reason="nobody but root may borrow its sockets")
def test_a_connections_socket_waits_for_no_acknowledgement_and_notices_a_dead_link(network, shared_door):
    found = list_options(network, shared_door.port, {
        "no delay": (socket.IPPROTO_TCP, socket.TCP_NODELAY),
        "keepalive": (socket.SOL_SOCKET, socket.SO_KEEPALIVE),
        "user timeout": (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT),
    })
    assert found and all(each == {"no delay": 1, "keepalive": 1, "user timeout": 180_000} for each in found), found
    for borrowed in sockets_of_the_wire(network, shared_door.port):
        assert not os.get_blocking(borrowed.socket.fileno())


@pytest.mark.skipif(not programs.AS_ROOT, reason="nobody but root may borrow its sockets")
def test_the_port_is_shared_with_nobody(shared_door):
    (found,) = list_options(shared_door.listener(), shared_door.port, {"shared": (socket.SOL_SOCKET, socket.SO_REUSEPORT)})
    assert found == {"shared": 0}


def list_options(pid, port, wanted):
    return [
        {name: borrowed.option(*where) for name, where in wanted.items()} for borrowed in sockets_of_the_wire(pid, port)
    ]


def test_one_socket_serves_both_families(new_door):
    door = new_door()
    door.config.write_text(door.config.read_text().replace('"127.0.0.1"', '"::"'), encoding="utf-8")
    door.start()
    if not os.path.exists("/proc/net/if_inet6"):
        pytest.skip("no IPv6 here")
    with socket.create_connection(("::1", door.port), 20) as connection:
        assert read_version(connection) == b"SSH-2.0-agentbox\r\n"
    with connect(door) as connection:
        assert read_version(connection) == b"SSH-2.0-agentbox\r\n"
    # The address of an IPv4 client is its own, not one that is wrapped in IPv6.
    door.await_audit("connect", lambda line: line["peer"].startswith("127.0.0.1:"))
