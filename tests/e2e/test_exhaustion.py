"""No processes, no descriptors, no memory: each part says so clearly, disturbs nobody else, and goes on when there is room."""
import asyncio
import contextlib
import os
import re
import signal
import subprocess
from pathlib import Path

import asyncssh
import pytest
from kit import programs
from kit.crowd import Line, gather_in_turn, login
from kit.crowd import connect as connect_to
from kit.processes import alive, all_processes, descriptors, read_process
from kit.waiting import wait_until
from kit.wire import connect, read_to_end

needs_other_users = pytest.mark.skipif(
    not programs.AS_ROOT, reason="a limit on processes counts all of a user's: the door and the box need users of their own"
)


def soft_limit(pid, what, value=None):
    """The soft limit of process PID alone, and sets it. As its own user: root itself may lack the right."""
    account = programs.account("agentbox-door" if read_process(pid).program == "agentbox-sshd" else "agentbox")
    change = f"={value}:" if value is not None else ""
    command = ["prlimit", "--pid", str(pid), f"--{what}{change}", "--output", "SOFT", "--noheadings"]
    return subprocess.run(command, check=True, capture_output=True, text=True, **account).stdout.strip()


@contextlib.contextmanager
def limited(pid, what, value):
    before = soft_limit(pid, what)
    soft_limit(pid, what, value)
    try:
        yield
    finally:
        if alive(pid):
            soft_limit(pid, what, before)


def no_more_processes(pid):
    return limited(pid, "nproc", 1)


def no_more_descriptors(pid):
    """The next one would get the lowest free number."""
    return limited(pid, "nofile", min(set(range(1000)) - set(descriptors(pid))))


def assert_sleeps(pid):
    """A process that asks again and again never does."""
    wait_until("it sleeps", lambda: read_process(pid).state == "S")


def virtual_bytes(pid):
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[0]) * os.sysconf("SC_PAGE_SIZE")


def failure(session, tool, arguments):
    """The text of a tool's error."""
    result = session.request("tools/call", {"name": tool, "arguments": arguments})
    assert result.get("isError"), result
    return result["content"][0]["text"]


# The door


@needs_other_users
def test_a_listener_that_can_start_no_process_closes_and_says_so_and_recovers(door):
    with door.target.session() as session:
        wanted = len(door.connections())
        with no_more_processes(door.listener()):
            for _ in range(5):
                with connect(door) as connection:
                    assert read_to_end(connection) == b""
            assert "no process for a connection" in door.log.read_text(encoding="utf-8")
            session.shell("true")
        door.await_audit("disconnect", lambda line: line["reason"] == "connection process ended")
        assert len(door.connections()) == wanted
        door.await_session()
        assert session.finish() == 0
    door.await_session()


@needs_other_users
def test_a_monitor_that_can_start_no_listener_tries_again(door):
    with door.target.session() as session:
        old = door.listener()
        with no_more_processes(door.monitor.pid):
            door.kill(old)
            wait_until("the log says so", lambda: "the listener cannot start" in door.log.read_text(encoding="utf-8"))
            session.shell("true")
        wait_until("another listens", lambda: door._listener() not in (None, old), 15)
        door.await_session()
        assert session.finish() == 0


@pytest.mark.skipif(programs.SANITIZED, reason="a sanitizer's check of a virtual call wants a descriptor of its own")
def test_a_listener_without_descriptors_waits_for_one_and_does_not_spin(door):
    with door.target.session() as session:
        listener = door.listener()
        with no_more_descriptors(listener), connect(door) as waiting:
            wait_until("the log says so", lambda: "no connection can be taken" in door.log.read_text(encoding="utf-8"))
            assert_sleeps(listener)
            session.shell("true")
            waiting.settimeout(0.1)
            with pytest.raises(TimeoutError):
                waiting.recv(1)
        door.await_session()
        assert session.finish() == 0
    assert door.listener() == listener


def test_a_monitor_without_descriptors_turns_away_and_keeps_who_is_there(door):
    with door.target.session() as session:
        with no_more_descriptors(door.monitor.pid):
            for _ in range(100):  # more than can wait for an answer at once
                with connect(door) as connection:
                    assert read_to_end(connection) == b""
            session.shell("true")
            assert_sleeps(door.monitor.pid)
        assert door.await_audit("limit", lambda line: "no room for a connection" in line["reason"])
        door.await_session()
        assert session.finish() == 0
    door.await_session()


def test_a_monitor_without_descriptors_refuses_one_more_channel_and_says_so(door):
    async def body():
        connection = await connect_to(door)
        line = await Line.open(connection)
        with no_more_descriptors(door.monitor.pid):
            refused = await connection.run("x", input="")
            assert refused.exit_status == 75 and "could not take the session" in refused.stderr, refused
            await line.call("shell_exec", {"command": "true"})
        await Line.open(connection)
        connection.abort()

    asyncio.run(body())


def test_a_caller_of_the_link_that_cannot_be_taken_now_is_taken_later(door):
    """The box's side dials while the monitor has no descriptor for it: neither gives up, and neither spins."""
    door.spawner.kill()
    door.spawner.wait()
    wait_until("the monitor has noticed", lambda: "the box's side is gone" in door.log.read_text(encoding="utf-8"))
    with no_more_descriptors(door.monitor.pid):
        door.start_spawner()
        wait_until("it has dialled", lambda: any("socket:" in held for held in descriptors(door.spawner.pid).values()))
        assert_sleeps(door.monitor.pid)
    door.await_session()


@pytest.mark.skipif(programs.SANITIZED, reason="needs more network children than a sanitizer leaves memory for")
def test_a_listener_that_takes_no_records_holds_up_nobody(new_door):
    """Stopped, its queue is full after some 280 of them: who has a session must not notice, and nothing may be lost."""
    door = new_door("limits: {own_unauthenticated: 0, unauthenticated: 500, login_grace_seconds: 120}")
    door.start()
    count, listener = 330, door.listener()
    crowd = [connect(door) for _ in range(count)]
    try:
        wait_until("all have a network child", lambda: len(door.connections()) >= count, 60)

        async def log_in(connection):
            connection.setblocking(False)
            return await asyncssh.connect(**login(door), sock=connection)

        async def log_all_in():
            opened = await gather_in_turn(map(log_in, crowd), 20)
            await asyncio.to_thread(session.shell, "true")
            for each in opened:
                each.abort()

        with door.target.session() as session:
            os.kill(listener, signal.SIGSTOP)
            asyncio.run(log_all_in())
            os.kill(listener, signal.SIGCONT)
            door.await_session()
            assert session.finish() == 0
        assert door.listener() == listener
    finally:
        os.kill(listener, signal.SIGCONT)
        for connection in crowd:
            connection.close()


# The box


@needs_other_users
@pytest.mark.parametrize("what", ["processes", "descriptors"])
def test_a_spawner_that_can_start_nothing_refuses_and_keeps_who_is_there(door, what):
    with door.target.session() as session:
        job = session.call("process_start", {"command": "sleep 1000", "name": "kept"})
        assert job["status"] == "running"
        with {"processes": no_more_processes, "descriptors": no_more_descriptors}[what](door.spawner.pid):
            refused = door.target.run("-T")
            assert refused.returncode not in (0, 255), refused
            assert refused.stderr.strip(), refused
            said = failure(session, "process_start", {"command": "true", "name": "one-more"})
            assert "SPAWN_FAILED" in said, said
            session.shell("true")
        assert session.call("process_start", {"command": "true", "name": "one-more"})
        door.await_session()
        session.call("process_kill", {"name": "kept", "force": True})
        assert session.finish() == 0


def session_of_its_own(door):
    """A session and the process id of its agent-box."""
    before = set(door.sessions())
    session = door.target.session()
    (pid,) = set(door.sessions()) - before
    return session, pid


def many_files(session, count=400):
    session.shell(f"mkdir -p many; cd many; for i in $(seq {count}); do echo needle $i > $i; done")


@needs_other_users
def test_a_session_that_can_start_no_process_says_so_and_answers(door):
    session, pid = session_of_its_own(door)
    with session, door.target.session() as other:
        many_files(session)
        with no_more_processes(pid):
            session.ping()
            for arguments in ({}, {"tty": True, "yield_seconds": 0.1}, {"stdin": "x"}):
                said = failure(session, "shell_exec", {"command": "true", **arguments})
                assert "SPAWN_FAILED" in said and "too many processes" in said, said
            # What needs no process works, if slower.
            found = session.call("search_files", {"pattern": "needle", "output_mode": "count", "max_results": 1000})
            assert found["file_count"] == 400, found
            other.shell("true")
        assert session.shell("echo again")["stdout"] == "again\n"
        assert session.finish() == 0
        assert other.finish() == 0


def test_a_session_without_descriptors_says_so_and_answers(door):
    session, pid = session_of_its_own(door)
    with session:
        session.call("write_file", {"path": "kept", "content": "kept"})
        with no_more_descriptors(pid):
            for tool, arguments in (
                ("shell_exec", {"command": "true"}), ("read_file", {"path": "kept"}),
                ("write_file", {"path": "kept", "content": "new"}), ("process_start", {"command": "true"}),
            ):
                assert re.search("RATE_LIMITED|SPAWN_FAILED", failure(session, tool, arguments)), tool
            session.ping()
        assert session.call("read_file", {"path": "kept"})["content"] == "kept"
        session.shell("true")
        assert session.finish() == 0


@needs_other_users
def test_a_box_full_of_processes_says_so_and_can_be_emptied_from_within(door):
    """Every place that the box's user has is taken; the limit is what a container has, or a pids cgroup."""

    def running():
        return sum(process.uid == programs.uid_of("agentbox") for process in all_processes())

    soft_limit(door.spawner.pid, "nproc", running() + 40)  # for the sessions to come
    with door.target.session() as session, door.target.session() as other:
        other.call("list_directory")
        crowd = session.call("shell_exec", {"command": "(for i in $(seq 60); do sleep 1000 & done)"})
        assert "fork" in crowd["stderr"].lower(), crowd
        while "SPAWN_FAILED" not in (said := start_one_more(session)):
            assert "running" in said
        for each in (session, other):
            each.ping()
            assert "too many processes" in failure(each, "shell_exec", {"command": "true"})
        listed = other.call("process_list")["processes"]
        assert listed == [], "sessions show what is their own"
        for process in session.call("process_list")["processes"]:
            session.call("process_kill", {"name": process["name"], "force": True})
        wait_until("the crowd is gone", lambda: not any("1000" in p.command for p in door.box_processes()))
        session.shell("true")
        other.shell("true")
        assert session.finish() == 0
        assert other.finish() == 0


def start_one_more(session):
    result = session.request(
        "tools/call", {"name": "shell_exec", "arguments": {"command": "exec sleep 1000", "yield_seconds": 0.1}}
    )
    return str(result)


@pytest.mark.skipif(programs.SANITIZED, reason="a sanitizer reserves all the memory there is")
def test_a_session_without_memory_loses_nothing_and_nobody_else(door):
    session, pid = session_of_its_own(door)
    workspace = door.folder / "box" / "workspace"
    with session, door.target.session() as other:
        session.call("write_file", {"path": "kept", "content": "kept"})
        with limited(pid, "as", virtual_bytes(pid) + (1 << 20)):
            answered = []
            try:
                for _ in range(3):
                    number = session.start(
                        "tools/call", {"name": "write_file", "arguments": {"path": "kept", "content": "x" * 3_000_000}}
                    )
                    answered.append(session.reply(number))
            except (AssertionError, OSError) as error:
                assert "in time" not in str(error)  # it may end, it must not hang
            other.shell("true")
            with door.target.session() as third:
                third.shell("true")
        size = (workspace / "kept").stat().st_size
        written = any(not answer.get("result", {}).get("isError", True) for answer in answered)
        assert size == (3_000_000 if written else 4), (size, answered)
        assert other.finish() == 0


@pytest.fixture
def little_memory(door):
    """A memory cgroup of the box's side alone."""
    group = Path(f"/sys/fs/cgroup/memory/agentbox-test-{os.getpid()}")
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no memory cgroup (version 1) can be made here: {error}")
    try:
        (group / "memory.limit_in_bytes").write_text(str(512 << 20), encoding="utf-8")
        (group / "cgroup.procs").write_text(str(door.spawner.pid), encoding="utf-8")
        yield door
    finally:
        door.stop()
        wait_until("its processes are gone", lambda: not (group / "cgroup.procs").read_text(encoding="utf-8"))
        group.rmdir()


def test_a_command_that_eats_all_memory_ends_alone(little_memory):
    """Who is killed for it is the command, not the processes that look after it."""
    door = little_memory
    with door.target.session() as session, door.target.session() as other:
        job = session.call("process_start", {"command": "sleep 1000", "name": "kept"})
        parts = {door.spawner.pid, *door.sessions(), *door.keepers()}
        bomb = "head -c 1500M /dev/zero | tail -c 1400M > /dev/null; echo status $?"
        assert session.shell(bomb, seconds=60)["stdout"] == "status 137\n"
        assert all(alive(pid) for pid in parts)
        other.shell("true")
        assert [each["status"] for each in other.call("process_list")["processes"] if each["name"] == "kept"] == [job["status"]]
        session.call("process_kill", {"name": "kept", "force": True})
        assert session.finish() == 0
        assert other.finish() == 0
