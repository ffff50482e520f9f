"""Who gets a place at the door, for how long, and what becomes of the others."""
import contextlib
import os
import select
import signal

import pytest
from kit.mcp import Session
from kit.processes import read_process
from kit.target import make_key, public_line
from kit.waiting import PATIENCE, wait_until
from kit.wire import Proxy, connect, read_to_end, read_version


def silent(door):
    """A connection that has heard the server's version and says nothing."""
    connection = connect(door)
    read_version(connection)
    return connection


def is_open(connection):
    return not select.select([connection], [], [], 0)[0]


def close_all(connections):
    for connection in connections:
        connection.close()


@pytest.mark.parametrize("limit", ["own_unauthenticated: 0, unauthenticated: 5", "own_unauthenticated: 5"])
def test_when_the_places_without_a_login_are_full_the_oldest_goes(new_door, limit):
    door = new_door(f"limits: {{{limit}, login_grace_seconds: 600}}")
    door.start()
    with door.target.session() as session:
        crowd = []
        try:
            for _ in range(8):
                crowd.append(silent(door))
            for gone in crowd[:3]:
                assert read_to_end(gone) == b""
            assert all(is_open(kept) for kept in crowd[3:])
            session.ping()  # who has logged in keeps his place
            with door.target.session() as newcomer:
                newcomer.ping()
            # One by one or, where they came too fast for that, as a number.
            door.await_audit("limit", lambda line: "oldest connection" in line["reason"] or line.get("limit"))
        finally:
            close_all(crowd)
        assert session.finish() == 0


def test_a_crowd_that_is_turned_away_cannot_fill_the_audit(new_door):
    """Past ten a second what strangers cause is summed up: nothing is lost from the count."""
    door = new_door("limits: {own_unauthenticated: 0, unauthenticated: 1, login_grace_seconds: 600}")
    door.start()
    crowd = []
    try:
        for _ in range(150):
            crowd.append(silent(door))
    finally:
        close_all(crowd)
    wait_until("they are forgotten", lambda: not door.connections())

    def counted():
        lines = door.audit("limit")
        single = [line for line in lines if "oldest connection" in line["reason"]]
        return single, len(single) + sum(line.get("limit", 0) for line in lines)

    wait_until("all are counted", lambda: counted()[1] >= 149)
    assert counted()[1] == 149 and len(counted()[0]) < 100


def test_the_last_place_is_kept_for_an_operator(new_door, tmp_path):
    door = new_door("limits: {own_unauthenticated: 0, connections: 2}")
    operator = make_key(tmp_path / "operator")
    door.write_keys(public_line(door.key), f'agentbox-role="operator" {public_line(operator)}')
    door.start()
    wait_until("nobody is there", lambda: not door.connections())
    with door.target.session() as first, door.target.session() as second:
        refused = door.target.run("-T")
        assert refused.returncode == 255 and b"every place is taken" in refused.stderr
        with door.target.with_(identity=operator).session() as kept:
            kept.ping()
            assert kept.finish() == 0
        first.ping()
        second.ping()
    door.await_audit("limit", lambda line: "role operator" in line["reason"])


def test_a_login_without_a_session_ends_when_it_is_idle(new_door):
    door = new_door("limits: {own_unauthenticated: 0, idle_seconds: 1}")
    door.start()
    with door.target.session() as busy:
        assert door.target.run("-N").returncode == 255
        door.await_audit("disconnect", lambda line: line["reason"] == "idle without a session")
        busy.ping()
        assert busy.finish() == 0


def test_the_grace_is_kept_also_where_the_network_child_cannot_keep_it(new_door):
    door = new_door("limits: {own_unauthenticated: 0, login_grace_seconds: 1}")
    door.start()
    wait_until("nobody is there", lambda: not door.connections())
    with silent(door) as connection:
        (stuck,) = door.connections()
        os.kill(stuck, signal.SIGSTOP)
        assert read_to_end(connection) == b""
    wait_until("it is gone", lambda: not door.connections())


def test_a_client_that_no_longer_answers_is_gone_with_its_commands_and_one_that_does_stays(new_door):
    door = new_door("limits: {own_unauthenticated: 0, keepalive_seconds: 1, keepalive_misses: 2}")
    door.start()
    with Proxy(door.port) as proxy, door.target.session() as frozen:
        alias = f"HostKeyAlias=[127.0.0.1]:{door.port}"
        with Session(door.target.with_(port=proxy.port).ssh("-T", "-o", alias)) as idle:
            frozen.start("tools/call", {"name": "shell_exec", "arguments": {"command": "sleep 281"}})
            wait_until("it runs", lambda: any("281" in p.command for p in door.box_processes()))
            before = proxy.sent, proxy.received
            frozen.process.send_signal(signal.SIGSTOP)
            try:
                wait_until("its command is gone", lambda: not any("281" in p.command for p in door.box_processes()), 15)
                door.await_audit("disconnect", lambda line: line["reason"] == "the client no longer answers")
            finally:
                frozen.process.send_signal(signal.SIGCONT)
            # Bytes went both ways meanwhile: what lies between counts neither direction as dead.
            assert proxy.sent > before[0] and proxy.received > before[1]
            idle.ping()
            assert idle.finish() == 0


def test_a_first_line_without_an_end_ends_the_session(shared_door):
    result = shared_door.target.run("-T", stdin=b"x" * 70_000)
    assert result.returncode == 65 and b"MCP" in result.stderr


def test_a_stop_waits_for_running_calls_no_longer_than_it_says(new_door):
    door = new_door("limits: {own_unauthenticated: 0, drain_seconds: 1}")
    door.start()
    with door.target.session() as session:
        session.start("tools/call", {"name": "shell_exec", "arguments": {"command": "sleep 282"}})
        wait_until("it runs", lambda: any("282" in p.command for p in door.box_processes()))
        everything = [door.monitor.pid, door.spawner.pid, *(p.pid for p in door.box_processes())]
        door.monitor.send_signal(signal.SIGTERM)
        session.wait()
        assert not any("result" in line for line in session.lines if line.get("id") == 2)
    assert door.monitor.wait(20 * PATIENCE) == 0
    wait_until("all is gone", lambda: door.ended() and not any(read_process(pid) for pid in everything[2:]))


def test_a_stop_lets_nobody_in_any_more(new_door):
    door = new_door("limits: {own_unauthenticated: 0, drain_seconds: 600}")
    door.start()
    with door.target.session() as session:
        session.start("tools/call", {"name": "shell_exec", "arguments": {"command": "sleep 2"}})
        wait_until("it runs", lambda: any("sleep" in p.command for p in door.box_processes()))
        door.monitor.send_signal(signal.SIGTERM)
        wait_until("the port is free", lambda: not door.listens_at_all())
        assert door.target.run("-T").returncode == 255
        session.wait()
    assert door.monitor.wait(20 * PATIENCE) == 0


def test_new_limits_count_for_new_connections_and_old_sessions_go_on(new_door):
    door = new_door("limits: {own_unauthenticated: 0, unauthenticated: 50}")
    door.start()
    old = door.listener()
    with door.target.session() as session:
        door.config.write_text(door.config.read_text().replace("unauthenticated: 50", "unauthenticated: 1"))
        door.monitor.send_signal(signal.SIGHUP)
        wait_until("a new listener is there", lambda: door.listener() not in (None, old))
        door.await_session()
        with silent(door) as first:
            with silent(door):
                assert read_to_end(first) == b""
        session.ping()
        assert session.finish() == 0


def where_it_lies(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            return next(line.split("-")[0] for line in maps if "agentbox-sshd" in line)
    return pid  # not ours to read


def test_three_crashes_of_network_children_bring_a_listener_with_another_layout(door):
    """Whoever crashes them may be learning where things are; what he learnt is then worth nothing."""
    old = door.listener()
    layout = where_it_lies(old)
    with door.target.session() as session:
        (ours,) = door.connections()
        for _ in range(3):
            assert door.listener() == old
            with silent(door) as victim:
                (pid,) = set(door.connections()) - {ours}
                os.kill(pid, signal.SIGABRT)  # as a check that fails does; sanitizers catch other signals themselves
                read_to_end(victim)
                wait_until("it is gone", lambda: door.connections() == [ours])
        wait_until("another listens", lambda: door.listener() not in (None, old))
        assert where_it_lies(door.listener()) != layout
        session.ping()
        assert session.finish() == 0
    door.await_session()


def test_killing_network_children_oneself_is_no_attack(door):
    old = door.listener()
    for _ in range(5):
        with silent(door) as victim:
            (pid,) = door.connections()
            os.kill(pid, signal.SIGKILL)
            read_to_end(victim)
            wait_until("it is gone", lambda: not door.connections())
    door.await_session()
    assert door.listener() == old


@pytest.mark.parametrize("reuse", [False, True], ids=["plain", "SO_REUSEPORT"])
def test_nobody_takes_the_port_while_the_listener_is_killed_again_and_again(door, reuse):
    import socket

    for _ in range(5):
        old = door.listener()
        os.kill(old, signal.SIGKILL)
        for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
            with socket.socket(family) as thief, pytest.raises(OSError):
                thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if reuse:
                    thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                thief.bind((address, door.port))
                thief.listen()
        wait_until("another listens", lambda old=old: door.listener() not in (None, old))
    door.await_session()
