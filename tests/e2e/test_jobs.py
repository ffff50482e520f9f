"""Jobs of process_start belong to the box: sessions come and go, jobs stay, until somebody ends them."""
import hashlib
import os
import signal

import pytest
from kit.processes import alive, read_process
from kit.target import make_key, public_line
from kit.waiting import wait_until


@pytest.fixture(autouse=True)
def clean(request):
    """Ends the jobs of a test that shares its door."""
    yield
    if "shared_door" in request.fixturenames:
        door = request.getfixturevalue("shared_door")
        with door.target.session() as session:
            for job in jobs(session, all=False):
                session.call("process_kill", {"name": job["process_id"], "force": True})


def start(session, command, **arguments):
    return session.call("process_start", {"command": command, **arguments})


def jobs(session, **arguments):
    return session.call("process_list", arguments)["processes"]


def job_named(session, name):
    (found,) = jobs(session, name=name)
    return found


def output(session, name, seconds=70.0, **arguments):
    return session.call("process_output", {"process_id": name, **arguments}, seconds)


def kill(session, name, **arguments):
    return session.call("process_kill", {"name": name, **arguments}, 60)


def running(door, word):
    return [process for process in door.box_processes() if word in process.command]


LISTENER = """
import socket, time
with socket.create_server(("127.0.0.1", 0)) as server:
    print("port", server.getsockname()[1], flush=True)
    time.sleep(712)
"""


def test_the_port_of_a_server_is_listed_with_the_job_it_belongs_to(shared_door):
    with shared_door.target.session() as session:
        started = start(session, "python3", args=["-c", LISTENER], name="server", wait_for=r"port \d+\n", wait_seconds=20)
        port = int(output(session, "server", cursor=0)["output"].split()[1])
        (found,) = [each for each in session.call("list_ports")["ports"] if each["port"] == port]
        assert found["protocol"] == "tcp" and found["address"] == "127.0.0.1", found
        assert found["process_id"] == started["process_id"] and found["pid"] == started["pid"], found
        assert "socket.create_server" in found["command"], found
        kill(session, "server", force=True)
        assert not [each for each in session.call("list_ports")["ports"] if each["port"] == port]
        assert session.finish() == 0


def test_a_job_survives_its_session_and_a_later_one_lists_reads_and_stops_it(shared_door):
    """Containarium forgets its processes at every reconnect, and so do others."""
    with shared_door.target.session() as first:
        started = start(first, "echo ready; exec sleep 711", name="dev", wait_for="ready", wait_seconds=10)
        assert started["lifetime"] == "box" and started["matched"]
        assert first.finish() == 0
    wait_until("no session is left", lambda: not shared_door.sessions())
    assert running(shared_door, "711")
    with shared_door.target.session() as second:
        found = job_named(second, "dev")
        assert found["status"] == "running" and found["pid"] == started["pid"]
        assert found["started_by"].startswith("SHA256:")
        assert output(second, "dev")["output"] == "ready\n"
        stopped = kill(second, "dev")
        assert stopped["exited"] and not running(shared_door, "711")
    with shared_door.target.session() as third:
        assert job_named(third, "dev")["status"] == "killed"


def test_a_job_that_puts_itself_in_the_background_runs_until_its_work_ends(shared_door):
    with shared_door.target.session() as session:
        start(session, "(sleep 712; date > done.txt) & echo launched", name="launcher", wait_for="launched", wait_seconds=10)
        wait_until("its own process has ended", lambda: not running(shared_door, "launched"))
        found = job_named(session, "launcher")
        assert found["status"] == "running" and running(shared_door, "712"), found
        assert kill(session, "launcher")["exited"]
        assert not running(shared_door, "712")
        assert session.shell("test -e done.txt; echo $?")["stdout"] == "1\n"


def test_the_exit_code_of_a_job_that_ended_while_nobody_was_there_is_kept(shared_door):
    with shared_door.target.session() as session:
        started = start(session, "sleep 0.3; exit 9", wait_seconds=0)
    with shared_door.target.session() as session:
        end = output(session, started["process_id"], wait_for="exit", wait_seconds=20)
        assert (end["status"], end["exit_code"], end["eof"]) == ("exited", 9, True)
        assert started["process_id"] in [job["process_id"] for job in jobs(session)]


def test_output_read_over_many_reconnects_is_the_same_to_the_byte(shared_door):
    lines = 200_000
    script = "i=0; while [ $i -lt 40 ]; do seq -f 'line %.0f' $((i*5000+1)) $((i*5000+5000)); sleep 0.05; i=$((i+1)); done; exit 4"
    wanted = "".join(f"line {number}\n" for number in range(1, lines + 1)).encode()
    with shared_door.target.session() as session:
        job = start(session, script, wait_seconds=0)["process_id"]
    got, cursor, over, cuts = b"", 0, False, 0
    while not over:
        with shared_door.target.session() as session:
            for _ in range(3):
                piece = output(
                    session, job, cursor=cursor, max_bytes=50_000, wait_for="output", wait_seconds=20, strip_ansi=False
                )
                assert piece["cursor"] == cursor and "dropped_bytes" not in piece
                got += piece["output"].encode()
                cursor, over = piece["next_cursor"], piece["eof"]
            cuts += 1
            session.process.kill()
    assert cuts >= 10
    assert hashlib.sha256(got).digest() == hashlib.sha256(wanted).digest()
    with shared_door.target.session() as session:
        assert job_named(session, job)["exit_code"] == 4


def test_reading_past_the_end_waits_and_then_says_there_is_nothing(shared_door):
    with shared_door.target.session() as session:
        job = start(session, "echo x; exec sleep 712", wait_for="x", wait_seconds=10)["process_id"]
        piece = output(session, job, cursor=1000, wait_seconds=0.2)
        assert (piece["output"], piece["next_cursor"], piece["eof"]) == ("", 1000, False)


def test_a_killed_agent_box_leaves_the_job_alone(shared_door):
    with shared_door.target.session() as session:
        start(session, "exec sleep 713", name="j713")
        (pid,) = shared_door.sessions()
        shared_door.kill(pid)
        session.wait()
    assert running(shared_door, "713")
    with shared_door.target.session() as session:
        assert job_named(session, "j713")["status"] == "running"
        assert kill(session, "j713")["exited"]


def test_a_killed_keeper_leaves_nothing_of_its_job_and_disturbs_nobody(shared_door):
    with shared_door.target.session() as session:
        start(session, "setsid sleep 714 & (sleep 714 & exec sleep 714) & exec sleep 714", name="j714")
        start(session, "exec sleep 715", name="j715")
        keeper = read_process(job_named(session, "j714")["pid"]).parent
        assert keeper in shared_door.keepers()
        shared_door.kill(keeper)
        wait_until("its job is gone", lambda: not running(shared_door, "714"))
        assert job_named(session, "j714")["status"] == "lost"
        assert running(shared_door, "715")
        session.ping()


def test_forkers_that_respawn_in_sessions_of_their_own_all_end_with_process_kill(shared_door):
    """Fifty that fork, detach twice over and die, again and again. Each generation leaves one byte."""
    script = (
        "import os, time\n"
        "beats = os.open('beats', os.O_WRONLY | os.O_CREAT | os.O_APPEND)\n"
        "def detach():\n"
        "    if os.fork(): os._exit(0)\n"
        "    os.setsid()\n"
        "    if os.fork(): os._exit(0)\n"
        "for _ in range(50):\n"
        "    if os.fork() == 0:\n"
        "        while True:\n"
        "            detach()\n"
        "            os.write(beats, b'.')\n"
        "            time.sleep(0.01)\n"
        "time.sleep(600)\n"
    )
    beats = shared_door.folder / "box" / "workspace" / "beats"
    with shared_door.target.session() as session:
        idle = len(shared_door.box_processes())
        start(session, "python3", args=["-c", script], name="forkers")
        wait_until("ten generations have lived", lambda: beats.exists() and beats.stat().st_size > 500, 30)
        assert kill(session, "forkers", grace_seconds=0.1)["exited"]
        last = beats.stat().st_size
        wait_until("its keeper has followed", lambda: len(shared_door.box_processes()) <= idle)
        assert job_named(session, "forkers")["status"] == "killed"
        assert beats.stat().st_size == last


def test_a_job_that_ignores_sigterm_is_killed_and_its_exit_still_listed(shared_door):
    """Containarium says exited: false and then has no process of that name."""
    with shared_door.target.session() as session:
        start(session, "trap '' TERM; echo up; while :; do sleep 716; done", name="j716", wait_for="up", wait_seconds=10)
        stopped = kill(session, "j716", grace_seconds=0.2)
        assert stopped["exited"] and stopped["signal"] == "SIGKILL"
        assert not running(shared_door, "716")
    with shared_door.target.session() as session:
        listed = job_named(session, "j716")
        assert (listed["status"], listed["signal"], listed["ended_by"]) == ("killed", "SIGKILL", "process_kill")
        assert kill(session, "j716", force=True)["exited"]


def test_an_ended_job_is_not_marked_as_running(shared_door):
    """Containarium shows the green mark for whatever ended, and no exit code."""
    with shared_door.target.session() as session:
        start(session, "exit 5", name="ended", wait_seconds=10)
        result = session.request("tools/call", {"name": "process_list", "arguments": {"name": "ended"}})
        text = result["content"][0]["text"]
        assert "🟢" not in text and "exited, exit code 5" in text


def test_input_terminal_and_size_reach_a_job_from_a_later_session(shared_door):
    shell = "tty -s && echo terminal; while read line; do echo \"[$line]\"; stty size; done"
    with shared_door.target.session() as first:
        start(first, shell, name="term", tty={"cols": 90, "rows": 30}, wait_for="terminal", wait_seconds=10)
        start(first, "while read line; do echo \"<$line>\"; done; echo end", name="pipe")
    with shared_door.target.session() as second:
        second.call("process_resize", {"process_id": "term", "cols": 100, "rows": 50})
        answer = second.call(
            "process_input",
            {"process_id": "term", "data": "hello", "keys": ["enter"], "wait_for_pattern": "50 100", "wait_seconds": 10},
        )
        assert answer["matched"] and "[hello]" in answer["output"]
        typed = second.call(
            "process_input", {"process_id": "pipe", "data": "über\n", "wait_for_pattern": "<über>", "wait_seconds": 10}
        )
        assert typed["matched"]
    with shared_door.target.session() as third:
        third.call("process_input", {"process_id": "pipe", "eof": True})
        end = output(third, "pipe", cursor=0, wait_for="exit", wait_seconds=10)
        assert end["output"] == "<über>\nend\n" and end["exit_code"] == 0


def test_two_sessions_see_the_same_jobs_at_the_same_time(shared_door):
    with shared_door.target.session() as one, shared_door.target.session() as other:
        start(one, "exec sleep 717", name="shared")
        assert job_named(other, "shared")["status"] == "running"
        refused = other.request("tools/call", {"name": "process_start", "arguments": {"command": "true", "name": "shared"}})
        assert refused["isError"] and "EEXIST" in refused["content"][0]["text"]
        waiting = one.start(
            "tools/call",
            {"name": "process_output", "arguments": {"process_id": "shared", "wait_for": "exit", "wait_seconds": 30}},
        )
        assert kill(other, "shared")["exited"]
        assert one.reply(waiting)["result"]["structuredContent"]["eof"]


def test_a_dev_server_started_in_one_session_serves_and_is_killed_from_another(shared_door, tmp_path):
    server = (
        "import http.server, socketserver\n"
        "s = socketserver.TCPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n"
        "print('port', s.server_address[1], flush=True)\n"
        "s.serve_forever()\n"
    )
    with shared_door.target.session() as session:
        started = start(session, "python3", args=["-c", server], name="http", wait_for="port [0-9]+", wait_seconds=20)
        port = int(started["output"].split()[1])
    fetch = f"import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:{port}/').status)"
    with shared_door.target.session() as session:
        assert session.shell("python3", args=["-c", fetch])["stdout"] == "200\n"
        assert kill(session, "http")["exited"]
        assert session.shell("python3", args=["-c", fetch])["exit_code"] == 1


def test_what_shell_exec_leaves_running_ends_with_its_session_and_no_job_does(shared_door):
    with shared_door.target.session() as session:
        yielded = session.shell("sleep 718", yield_seconds=0.2)
        assert (yielded["status"], yielded["lifetime"]) == ("running", "session")
        left = session.shell("sleep 718 & echo started")
        names = {job["process_id"] for job in jobs(session)}
        assert {yielded["process_id"], left["process_id"]} <= names
        start(session, "exec sleep 719", name="j719")
        assert session.finish() == 0
    wait_until("the session's commands are gone", lambda: not running(shared_door, "718"))
    assert running(shared_door, "719")


def test_the_log_of_a_job_is_bounded_and_says_what_is_gone(shared_door):
    with shared_door.target.session() as session:
        job = start(session, "head -c 110000000 /dev/zero | tr '\\0' 'x'; echo END", wait_seconds=0)["process_id"]
        end = output(session, job, cursor=0, max_bytes=1000, wait_for="exit", wait_seconds=50)
        assert end["dropped_bytes"] == end["cursor"] and end["cursor"] % (32 << 20) == 0
        assert job_named(session, job)["log_bytes"] == 110_000_004
        last = output(session, job, tail_lines=1, max_bytes=10)
        assert last["output"].endswith("END\n")
        folder = shared_door.folder / "box" / "out" / "jobs" / job
        assert sum(path.lstat().st_size for path in folder.iterdir()) <= (64 << 20) + 10_000


def test_jobs_end_when_their_key_is_revoked_and_those_of_other_keys_stay(door, tmp_path):
    second = door.target.with_(identity=make_key(tmp_path / "second"))
    door.write_keys(public_line(door.key), public_line(second.identity))
    with door.target.session() as session:
        start(session, "setsid sleep 720 & exec sleep 720", name="revoked")
    with second.session() as session:
        start(session, "exec sleep 721", name="kept")
    door.write_keys(public_line(second.identity))
    wait_until("the job of the revoked key is gone", lambda: not running(door, "720"))
    with second.session() as session:
        listed = job_named(session, "revoked")
        assert listed["status"] == "killed" and "revocation" in listed["ended_by"]
        assert job_named(session, "kept")["status"] == "running"


@pytest.mark.parametrize("part", ["monitor", "spawner"])
def test_the_end_of_either_half_takes_every_job_along(door, part):
    with door.target.session() as session:
        start(session, "setsid sleep 722 & exec sleep 722")
        start(session, "trap '' TERM; while :; do sleep 722; done")
    wait_until("they run", lambda: len(running(door, "722")) == 3)
    everything = [process.pid for process in door.box_processes()]
    getattr(door, part).kill()
    getattr(door, part).wait()
    wait_until("nothing of them is left", lambda: not any(alive(pid) for pid in everything))


def test_a_stopping_door_lets_jobs_put_their_house_in_order(door):
    note = door.folder / "box" / "workspace" / "note"
    with door.target.session() as session:
        start(session, "trap 'echo tidy > note; exit' TERM; echo up; while :; do sleep 0.05; done", wait_for="up", wait_seconds=10)
    door.monitor.send_signal(signal.SIGTERM)
    wait_until("both halves end", door.ended, 20)
    assert note.read_text(encoding="utf-8") == "tidy\n"


def test_no_more_jobs_than_the_limit_and_a_place_is_free_again_after_an_end(door):
    with door.target.session() as session:
        limit = session.call("system_info")["limits"]["jobs"]
        for number in range(limit):
            start(session, "exec sleep 723", name=f"j{number}", wait_seconds=0)
        refused = session.request("tools/call", {"name": "process_start", "arguments": {"command": "true"}})
        assert refused["isError"] and "TOO_MANY_PROCESSES" in refused["content"][0]["text"]
        assert kill(session, "j0")["exited"]
        start(session, "exec sleep 723", name="again", wait_seconds=0)


def test_jobs_hold_no_descriptor_of_ours_and_leave_none_behind(door):
    wait_until("idle", lambda: not door.sessions())
    wanted = door.quiet_footprint()
    with door.target.session() as session:
        for number in range(10):
            job = start(session, "ls /proc/self/fd | tr '\\n' ' '", wait_seconds=10)
            assert job["output"] == "0 1 2 3 "
    door.await_footprint(wanted)


def test_a_keeper_that_agent_code_stopped_blocks_nobody(door):
    with door.target.session() as session:
        start(session, "exec sleep 724", name="frozen")
        keeper = read_process(job_named(session, "frozen")["pid"]).parent
        os.kill(keeper, signal.SIGSTOP)
        with door.target.session() as other:
            other.ping(5)
            assert start(other, "true", wait_seconds=10)["exit_code"] == 0
        assert kill(session, "frozen", force=True)["exited"]
        assert not running(door, "724")
