"""The bytes of a session: many channels, half-closes, slow readers, order, exit status."""
import json
import subprocess
import time

from kit.mcp import CLIENT
from kit.waiting import PATIENCE, wait_until


def line(message):
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def call(number, tool, **arguments):
    return line({"id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})


HELLO = line({"id": 0, "method": "initialize", "params": CLIENT}) + line({"method": "notifications/initialized"})


def replies(result):
    assert result.stdout[:1] == b"{", result
    return {message["id"]: message for message in map(json.loads, result.stdout.splitlines()) if "id" in message}


def test_requests_piped_in_are_all_answered_before_the_end(shared_door):
    asked = HELLO + call(1, "shell_exec", command="sleep 2; echo late") + line({"id": 2, "method": "ping"})
    result = shared_door.target.run("-T", stdin=asked)
    answered = replies(result)
    assert set(answered) == {0, 1, 2}
    assert answered[1]["result"]["structuredContent"]["stdout"] == "late\n"
    assert result.returncode == 0
    assert list(answered).index(2) < list(answered).index(1)


def test_a_call_that_outlasts_the_grace_is_answered_shutting_down(shared_door):
    asked = HELLO + call(1, "shell_exec", command="sleep 300")
    result = shared_door.target.run("-T", stdin=asked, seconds=40)
    answered = replies(result)
    assert "SHUTTING_DOWN" in json.dumps(answered[1])
    assert result.returncode == 0
    wait_until("its command is gone", lambda: not any("sleep 300" in str(p) for p in shared_door.box_processes()))


def test_nothing_asked_nothing_said(shared_door):
    result = shared_door.target.run("-T")
    assert (result.returncode, result.stdout) == (0, b"")


def test_ping_overtakes_a_running_call(shared_door):
    with shared_door.target.session() as session:
        slow = session.start("tools/call", {"name": "shell_exec", "arguments": {"command": "sleep 3; echo done"}})
        session.ping(1)
        listed = session.call("list_directory", {"path": "."}, 1)
        assert "entries" in listed
        assert session.reply(slow)["result"]["structuredContent"]["stdout"] == "done\n"
        assert session.finish() == 0


def test_cancel_ends_the_whole_tree_and_sends_no_reply(shared_door):
    with shared_door.target.session() as session:
        command = "sh -c 'sleep 297 & sleep 297'"
        slow = session.start("tools/call", {"name": "shell_exec", "arguments": {"command": command}})

        def sleepers():
            return [process for process in shared_door.box_processes() if "297" in process.command]

        wait_until("both sleep", lambda: len(sleepers()) == 2)
        session.notify("notifications/cancelled", {"requestId": slow, "reason": "test"})
        wait_until("none sleeps", lambda: not sleepers(), 3)
        session.ping()
        assert session.finish() == 0
        assert not any(message.get("id") == slow for message in session.lines)


def test_lines_that_are_not_requests_get_their_error_and_the_session_goes_on(shared_door):
    with shared_door.target.session() as session:
        for wrong in (b"{not json\n", b"[]\n", b"42\n", b"\xff\xfe\n", b"[" * 100_000 + b"\n"):
            before = len(session.lines)
            session.send(wrong)
            wait_until("an answer", lambda before=before: len(session.lines) == before + 1)
            assert session.lines[-1]["error"]["code"] in (-32700, -32600), session.lines[-1]
        session.send(b"\r\n   \n")
        session.ping()
        assert session.finish() == 0


def test_big_replies_come_whole_through_a_slow_reader(shared_door):
    """Several replies of 200 kB and more, read 16 KiB at a time, from a client that stops for a while."""
    text = "0123456789abcdef" * 16_000  # 256 kB
    with shared_door.target.session() as session:
        session.call("write_file", {"path": "big.txt", "content": text})
        assert session.finish() == 0
    asked = HELLO + b"".join(call(number, "read_file", path="big.txt", limit=300_000) for number in range(1, 9))
    process = subprocess.Popen(
        shared_door.target.ssh("-T"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
    )
    try:
        process.stdin.write(asked)
        # A reader that pauses is the thing under test, not a wait for something to happen.
        time.sleep(1)
        received = bytearray()
        while received.count(b"\n") < 9:
            piece = process.stdout.read(16_384)
            assert piece, bytes(received[-200:])
            received += piece
            time.sleep(0.002)
        # The pipe was never closed, so the session is alive and answers.
        process.stdin.write(line({"id": 99, "method": "ping"}))
        process.stdin.close()
        while piece := process.stdout.read(65_536):
            received += piece
        assert process.wait(20 * PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    messages = {message["id"]: message for message in map(json.loads, bytes(received).splitlines())}
    assert set(messages) == {*range(9), 99}
    for number in range(1, 9):
        assert messages[number]["result"]["structuredContent"]["content"] == text


def test_a_big_request_arrives_whole(shared_door):
    text = "request" * 100_000  # 700 kB
    with shared_door.target.session() as session:
        assert session.call("write_file", {"path": "big-in.txt", "content": text})["bytes_written"] == len(text)
        assert session.shell("wc -c < big-in.txt")["stdout"].strip() == str(len(text))
        assert session.finish() == 0


def test_bytes_that_are_not_text_stay_valid_json(shared_door):
    with shared_door.target.session() as session:
        assert session.shell("printf '\\377\\376\\300\\200'")["stdout_bytes"] == 4
        session.shell("printf x > \"$(printf 'fo\\377o')\"")
        session.call("list_directory", {"path": "."})
        session.shell("rm -f fo*")
        assert session.finish() == 0


def test_rekeying_often_loses_nothing(shared_door):
    text = "0123456789abcdef" * 16_000
    with shared_door.target.session("-T", "-o", "RekeyLimit=1M") as session:
        session.call("write_file", {"path": "rekey.txt", "content": text})
        for _ in range(16):
            assert session.call("read_file", {"path": "rekey.txt", "limit": 300_000})["content"] == text
        assert session.finish() == 0


def test_many_channels_of_one_connection_are_sessions_of_their_own(shared_door, tmp_path):
    control = tmp_path / "control"
    target = shared_door.target
    master = ["-T", "-M", "-o", f"ControlPath={control}"]
    follower = ["-T", "-o", f"ControlPath={control}"]
    with target.session(*master) as first:
        wait_until("the master is there", control.exists)
        followers = [target.session(*follower) for _ in range(6)]
        try:
            assert len(shared_door.connections()) == 1
            assert len(shared_door.sessions()) == 7
            slow = followers[0].start(
                "tools/call", {"name": "shell_exec", "arguments": {"command": "sleep 2; echo still here"}}
            )
            followers[1].process.kill()
            assert followers[2].finish() == 0
            wait_until("both are gone", lambda: len(shared_door.sessions()) == 5)
            assert followers[0].reply(slow)["result"]["structuredContent"]["stdout"] == "still here\n"
            for session in (first, *followers[3:]):
                session.ping()
            assert all(session.finish() == 0 for session in (followers[0], *followers[3:]))
            assert first.finish() == 0
        finally:
            for session in followers:
                session.kill()


def test_a_message_that_arrives_in_pieces_is_one_message(shared_door):
    with shared_door.target.session() as session:
        whole = line({"id": "cut", "method": "ping"})
        for start in range(0, len(whole), 7):
            session.send(whole[start : start + 7])
        assert session.reply("cut")["result"] == {}
        assert session.finish() == 0


def test_many_requests_at_once_are_each_answered_once(shared_door):
    with shared_door.target.session() as session:
        numbers = [
            session.start("tools/call", {"name": "shell_exec", "arguments": {"command": f"echo {number}"}})
            for number in range(60)
        ]
        for expected, number in enumerate(numbers):
            assert session.reply(number)["result"]["structuredContent"]["stdout"] == f"{expected}\n"
        assert session.finish() == 0


def test_a_sessions_commands_hold_none_of_its_descriptors(shared_door):
    with shared_door.target.session() as session:
        held = session.shell("ls -l /proc/self/fd | awk '{print $9, $11}'")["stdout"]
        assert "socket:" not in held, held
        assert session.shell("cat")["stdout"] == ""
        session.ping()
        assert session.finish() == 0


def test_a_command_that_leaves_a_child_returns_at_once_and_the_child_dies_with_the_session(shared_door):
    with shared_door.target.session() as session:
        result = session.shell("sleep 296 & echo started", 5)
        assert result["stdout"] == "started\n"
        assert any("296" in process.command for process in shared_door.box_processes())
        assert session.finish() == 0
    wait_until("it died", lambda: not any("296" in process.command for process in shared_door.box_processes()))
