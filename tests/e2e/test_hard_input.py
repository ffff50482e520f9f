"""What tool servers of this kind were seen to fail at, each on an agent-box by itself."""
import base64
import json
import os
import threading

from kit import programs
from kit.bare import bare_session, peak_memory
from kit.mcp import CLIENT
from kit.processes import descendants
from kit.waiting import wait_until

MIB = 1 << 20


def shell(session, command, **arguments):
    return session.start("tools/call", {"name": "shell_exec", "arguments": {"command": command, **arguments}})


def commands(session):
    """What runs below the session and is no process of ours."""
    return [process for process in descendants(session.process.pid) if process.program != "agent-box"]


def test_a_timeout_ends_a_whole_pipeline(tmp_path):
    with bare_session(tmp_path) as session:
        said = session.shell("sleep 120 | cat", timeout_seconds=0.5)
        assert said["status"] == "timed_out" and said["duration_ms"] < 120_000
        wait_until("its processes are gone", lambda: not commands(session))


def test_hanging_calls_keep_no_other_waiting(tmp_path):
    with bare_session(tmp_path) as session:
        hanging = [shell(session, "sleep 120") for _ in range(40)]
        session.call("list_directory")
        answered = {message.get("id") for message in session.lines}
        assert not answered & set(hanging)


def test_a_ping_overtakes_a_long_queue(tmp_path):
    with bare_session(tmp_path) as session:
        queued = [shell(session, "sleep 1") for _ in range(130)]
        session.ping()
        answered = {message.get("id") for message in session.lines}
        assert set(queued) - answered, "the queue was over before the ping was tried"
        for number in queued:
            assert session.reply(number, 60)["result"]["isError"] is False


def test_a_line_of_64_mib_is_refused_in_bounded_memory(tmp_path):
    with bare_session(tmp_path) as session:
        before = peak_memory(session.process.pid)
        head = b'{"jsonrpc":"2.0","id":900,"method":"ping","params":{"x":"'
        session.send(head + b"y" * (64 * MIB) + b'"}}\n')
        session.ping()
        error = [message for message in session.lines if "error" in message]
        assert len(error) == 1 and error[0]["id"] is None, error
        if not programs.SANITIZED:  # they keep what was freed
            assert peak_memory(session.process.pid) - before < 40 * MIB


def test_replies_that_nobody_reads_do_not_pile_up(tmp_path):
    with bare_session(tmp_path) as session:
        (tmp_path / "ws" / "page").write_text("z" * (256 << 10), encoding="utf-8")
        wanted = [{"name": "read_file", "arguments": {"path": "page", "limit": 256 << 10}}] * 300  # as many as are queued
        lines = b"".join(
            json.dumps({"jsonrpc": "2.0", "id": 1000 + i, "method": "tools/call", "params": call}).encode() + b"\n"
            for i, call in enumerate(wanted)
        )
        # The reader is held up by its own lock, so the pipe fills and the server has to wait.
        with session._changed:
            writer = threading.Thread(target=session.send, args=(lines,))
            writer.start()
            writer.join(3)
            peak = peak_memory(session.process.pid)
        writer.join(60)
        for i in range(len(wanted)):
            assert session.reply(1000 + i, 60)["result"]["isError"] is False
        # Each reply has the page twice; all of them would be 150 MiB.
        assert programs.SANITIZED or peak < 75 * MIB, peak


def test_a_client_with_roots_of_its_own_works_in_the_box(tmp_path):
    with bare_session(tmp_path, handshake=False) as session:
        capabilities = {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {}}
        session.request("initialize", CLIENT | {"capabilities": capabilities})
        session.notify("notifications/initialized")
        session.call("write_file", {"path": str(tmp_path / "ws" / "a"), "content": "x"})
        assert session.call("list_directory")["entry_count"] == 1
        # The server asks the client for nothing.
        assert not [message for message in session.lines if "method" in message and "id" in message]


def test_binary_output_comes_whole(tmp_path):
    data = bytes(range(256))
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "binary").write_bytes(data)
    with bare_session(tmp_path) as session:
        said = session.shell("cat binary")
        assert said["stdout_encoding"] == "base64" and base64.b64decode(said["stdout"]) == data
        read = session.call("read_file", {"path": "binary"})
        assert read["encoding"] == "base64" and base64.b64decode(read["content"]) == data


def test_the_environment_of_a_command_holds_nothing_of_ours(tmp_path):
    with bare_session(tmp_path) as session:
        names = {line.split("=")[0] for line in session.shell("env")["stdout"].splitlines()}
        assert not [name for name in names if name.startswith("AGENTBOX_")], names
        assert {"PATH", "HOME", "LANG"} <= names and os.environ["HOME"] != session.shell("echo $HOME")["stdout"].strip()
