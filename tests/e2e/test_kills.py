"""Killing any one part: who goes on, who ends, and that nothing stays behind."""
import os
import signal

import pytest
from kit import programs
from kit.processes import alive, descendants
from kit.waiting import wait_until


@pytest.fixture
def open_sessions(door):
    """Three sessions on connections of their own, each with a command that runs."""
    sessions = []
    try:
        for _ in range(3):
            sessions.append(door.target.session())
        yield sessions
    finally:
        for session in sessions:
            session.kill()


def start_sleep(session, seconds):
    return session.start("tools/call", {"name": "shell_exec", "arguments": {"command": f"sleep {seconds}"}})


def sleeping(door, seconds):
    return [process for process in door.box_processes() if str(seconds) in process.command]


def assert_others_go_on(door, sessions):
    for session in sessions:
        session.ping()
        assert session.shell("echo alive")["stdout"] == "alive\n"
        assert session.finish() == 0
    door.await_session()


def test_a_killed_client_takes_its_command_along(door, open_sessions):
    victim, *others = open_sessions
    start_sleep(victim, 291)
    wait_until("it runs", lambda: sleeping(door, 291))
    victim.process.kill()
    wait_until("its command is gone", lambda: not sleeping(door, 291), 5)
    assert_others_go_on(door, others)


def test_a_killed_network_child_disturbs_nobody_else(door, open_sessions):
    victim, *others = open_sessions
    before = set(door.connections())
    with door.target.session() as doomed:
        (pid,) = set(door.connections()) - before
        start_sleep(doomed, 292)
        wait_until("it runs", lambda: sleeping(door, 292))
        door.kill(pid)
        assert doomed.wait() == 255
        wait_until("its command is gone", lambda: not sleeping(door, 292), 5)
    assert_others_go_on(door, open_sessions)


def test_a_stopped_and_continued_network_child_goes_on(door, open_sessions):
    for pid in door.connections():
        door.kill(pid, signal.SIGSTOP)
        door.kill(pid, signal.SIGCONT)
    assert_others_go_on(door, open_sessions)


def test_a_killed_listener_is_replaced_and_sessions_live_on(door, open_sessions):
    old = door.listener()
    door.kill(old)
    wait_until("another listens", lambda: door.listener() not in (None, old))
    assert_others_go_on(door, open_sessions)


def test_a_killed_agent_box_ends_its_own_session_only(door, open_sessions):
    before = set(door.sessions())
    with door.target.session() as doomed:
        (pid,) = set(door.sessions()) - before
        start_sleep(doomed, 293)
        wait_until("it runs", lambda: sleeping(door, 293))
        door.kill(pid)
        status = doomed.wait()
        assert status not in (0, None)
        wait_until("its command is gone", lambda: not sleeping(door, 293), 5)
        ended = door.await_audit("session_end", lambda line: "293" not in str(line))
        assert ended
    assert_others_go_on(door, open_sessions)


def test_a_stopped_agent_box_outlives_its_client_by_seconds_only(door, open_sessions):
    """Code in the box can stop it: then it never sees that its client has left."""
    before = set(door.sessions())
    with door.target.session() as doomed:
        (pid,) = set(door.sessions()) - before
        start_sleep(doomed, 290)
        wait_until("it runs", lambda: sleeping(door, 290))
        door.kill(pid, signal.SIGSTOP)
    wait_until("it is gone", lambda: pid not in door.sessions() and not sleeping(door, 290), 30)
    assert_others_go_on(door, open_sessions)


def whole_tree(door):
    trees = descendants(door.monitor.pid) + door.box_processes()
    return [door.monitor.pid, door.spawner.pid, *(process.pid for process in trees)]


@pytest.mark.parametrize("part", ["monitor", "spawner"])
def test_a_killed_half_ends_the_box_side_clean(door, open_sessions, part):
    for number, session in enumerate(open_sessions):
        start_sleep(session, 294 + number)
    wait_until("they run", lambda: all(sleeping(door, 294 + number) for number in range(3)))
    everything = whole_tree(door)
    getattr(door, part).kill()
    getattr(door, part).wait()
    for session in open_sessions:
        session.wait()

    def gone():
        door.monitor.poll()
        door.spawner.poll()
        kept = {door.monitor.pid, door._listener()} if part == "spawner" else set()
        return not any(alive(pid) for pid in everything if pid not in kept)

    wait_until("all that depended on it is gone", gone)


def test_a_new_spawner_serves_after_the_old_one_was_killed(door):
    door.spawner.kill()
    door.spawner.wait()
    door.start_spawner()
    door.await_session()


def test_a_second_spawner_is_not_taken_while_the_first_serves(door):
    first = door.spawner
    with door.target.session() as session:
        door.start_spawner()
        second = door.spawner
        door.spawner = first
        try:
            session.ping()
            with door.target.session() as another:
                another.ping()
                assert len(door.sessions()) == 2
        finally:
            second.terminate()
            try:
                second.wait(10)
            except Exception:
                programs.kill_quietly(second)
        session.ping()
        assert session.finish() == 0


def test_sigterm_finishes_running_calls_and_ends_zero(door):
    with door.target.session() as session:
        running = start_sleep(session, 2)
        wait_until("it runs", lambda: sleeping(door, 2))
        door.monitor.send_signal(signal.SIGTERM)
        assert session.reply(running)["result"]["structuredContent"]["exit_code"] == 0
        session.wait()
    assert door.monitor.wait(30) == 0
    wait_until("the box side ends too", door.ended)


def test_sighup_takes_a_new_configuration_and_keeps_the_old_where_it_is_bad(door):
    good = door.config.read_text()
    with door.target.session() as session:
        door.config.write_text(good + "listn: 1\n")
        door.monitor.send_signal(signal.SIGHUP)
        wait_until("the log says so", lambda: "listn" in door.log.read_text())
        door.await_session()
        session.ping()
        door.config.write_text(good)
        door.monitor.send_signal(signal.SIGHUP)
        door.await_session()
        session.ping()
        assert session.finish() == 0


def test_two_hundred_sessions_dropped_three_ways_leave_nothing(door):
    """By end of input, by a killed client, by a killed link: a third each, in waves of twenty."""
    door.await_session()
    wait_until("idle", lambda: not door.sessions() and not door.connections())
    wanted = door.quiet_footprint()
    for _ in range(10):
        sessions = [door.target.session(handshake=False) for _ in range(20)]
        try:
            for session in sessions:
                session.start("tools/call", {"name": "shell_exec", "arguments": {"command": "sleep 0.3"}})
                session.ping()
            wait_until("all are there", lambda: len(door.sessions()) == 20)
            for number, session in enumerate(sessions):
                if number % 3 == 0:
                    session.process.stdin.close()
                elif number % 3 == 1:
                    session.process.kill()
            for pid in door.connections()[:6]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        finally:
            for session in sessions:
                session.kill()
    door.await_footprint(wanted)
    door.await_session()
