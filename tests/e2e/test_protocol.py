"""What the protocol asks of any server (PROTOCOL.md), where it takes the whole program to see it."""
import json
import os

import pytest
from kit.bare import bare_session
from kit.waiting import wait_until

MIB = 1 << 20
# What a client's parser was seen to take; a longer line ends its connection.
LONGEST_LINE = 8 * MIB
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


@pytest.fixture
def session(tmp_path):
    with bare_session(tmp_path) as opened:
        yield opened


def line(message):
    return json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode() + b"\n"


def test_a_message_may_be_split_at_any_byte(session):
    """Within a character, an escape, a number, or between CR and LF."""
    text = "grüße 🙂 \\u00e9"
    asked = line({"id": "é", "method": "tools/call", "params": {
        "name": "write_file", "arguments": {"path": "f", "content": text, "fsync": False}}})[:-1] + b"\r\n"
    written = 0
    for at in range(1, len(asked)):
        session.send(asked[:at])
        session.send(asked[at:])
        reply = session.reply("é")
        written += reply["result"]["structuredContent"]["bytes_written"]
    assert written == (len(asked) - 1) * len(text.encode())
    session.check_stdout()


def test_bytes_that_no_message_has_are_answered_as_such_and_the_session_goes_on(session):
    wrong = [
        b"\0\n", b"{\"jsonrpc\":\"2.0\",\0\"id\":1,\"method\":\"ping\"}\n",
        b'{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}\n', b'{"jsonrpc":"2.0","id":1,"method":"ping"\n',
        b"\xff\xfe{\0}\0\n", b'{"jsonrpc":"2.0","id":1,"method":"pi\xffng"}\n', b'{"jsonrpc":"2.0","id":01,"method":"ping"}\n', b"NaN\n", b"'x'\n",
        b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}\n',
    ]
    for data in wrong:
        seen = len(session.lines)
        session.send(data)
        session.ping()
        (error,) = session.lines[seen:-1]
        assert "error" in error and error["error"]["code"] in (-32700, -32600, -32601), (data, error)


@pytest.mark.parametrize("sent", [
    {"method": "notifications/initialized"}, {"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}, {"method": "ping"},
    {"method": "notifications/roots/list_changed"}, {"method": "notifications/no/such/thing", "params": {"a": 1}}, {"method": "tools/list"},
    {"method": "tools/call", "params": {"name": "write_file", "arguments": {"path": "planted", "content": "x"}}}, {"method": ""},
    {"method": "notifications/cancelled", "params": []}, {"method": "notifications/cancelled", "params": {"requestId": None}}, {"method": "initialize"},
    {"id": 99, "result": {}}, {"id": 99, "error": {"code": 1, "message": "x"}},
])
def test_what_has_no_id_or_answers_nothing_is_not_answered(session, tmp_path, sent):
    seen = len(session.lines)
    session.send(line(sent))
    session.ping()
    assert len(session.lines) == seen + 1 and not (tmp_path / "ws/planted").exists()


def test_the_list_of_tools_is_the_same_bytes_in_each_connection(shared_door):
    def lists():
        with shared_door.target.session() as session:
            session.request("tools/list")
            session.request("tools/list", {"_meta": MODERN})
            session.finish()
            return session.raw.splitlines()[1:]

    first = lists()
    assert lists() == first
    for text in first:
        tools = json.loads(text)["result"]
        assert "nextCursor" not in tools and len({tool["name"] for tool in tools["tools"]}) == len(tools["tools"])


def test_no_reply_is_longer_than_clients_take(session, tmp_path):
    """Content that takes the most room as JSON, asked for in the largest pieces that each tool gives."""
    here = tmp_path / "ws"
    (here / "ones").write_bytes(b"\x01" * (3 * MIB))
    (here / "lines").write_text("\x01\n" * 300_000)
    (here / "quotes").write_text('"\\' * MIB + "\n")
    for number in range(50):
        (here / f"n{number}").write_bytes(b"\x01" * 262_144)
    name = "\x01" * 60
    (here / "names").mkdir()
    for number in range(3000):
        (here / "names" / f"{name}{number}").touch()
    session.call("process_start", {"name": "loud", "command": "cat ones", "wait_seconds": 20}, 40)
    calls = [
        ("read_file", {"path": "ones", "limit": 524_288}), ("read_file", {"path": "lines", "head": 100_000, "line_numbers": True, "limit": 524_288}),
        ("read_files", {"paths": [f"n{number}" for number in range(50)], "limit_per_file": 262_144}),
        ("shell_exec", {"command": "cat ones; cat ones >&2", "max_output_bytes": 262_144}),
        ("shell_exec", {"command": "cat quotes; cat ones >&2", "max_output_bytes": 262_144}),
        ("process_output", {"process_id": "loud", "cursor": 0, "max_bytes": 262_144}),
        ("tail_log", {"path": "ones", "start_offset": 0, "follow_seconds": 0}), ("download_chunk", {"path": "ones", "length": 2 * MIB}),
        ("list_directory", {"path": "names", "limit": 10_000}), ("glob_files", {"path": "names", "pattern": "*", "limit": 5000}),
        ("search_files", {"pattern": ".", "max_results": 10_000, "max_line_chars": 10_000, "before": 100, "after": 100}),
        ("search_files", {"path": "lines", "pattern": ".", "max_results": 10_000, "before": 100, "after": 100}),
        ("edit_file", {"path": "lines", "old_string": "\x01", "new_string": "\x02", "replace_all": True}),
        ("edit_file", {"path": "quotes", "old_string": "nowhere" * 1000, "new_string": "\x02"}),
        ("read_file", {"path": "\x01" * 4000}), ("shell_exec", {"command": "\x01" * 100_000}), ("process_start", {"command": "\x01" * 100_000}),
        ("process_list", {"system": True}), ("nope" * MIB, {}), ("read_file", {"path": "f", "x" * 3 * MIB: 1}),
    ]
    for tool, arguments in calls:
        session.reply(session.start("tools/call", {"name": tool, "arguments": arguments}), 60)
    longest = max(len(text) for text in session.raw.splitlines())
    assert 3 * MIB < longest < LONGEST_LINE
    assert session.finish() == 0


@pytest.mark.parametrize("token", ["", "7", 0, 2**53])
def test_progress_grows_has_its_token_and_ends_with_the_reply(session, token):
    arguments = {"command": "for i in 1 2 3 4; do echo $i; sleep 0.4; done"}
    number = session.start("tools/call", {"name": "shell_exec", "arguments": arguments, "_meta": {"progressToken": token}})
    quiet = session.start("tools/call", {"name": "shell_exec", "arguments": arguments})
    session.reply(number)
    session.reply(quiet)
    session.ping()
    progress = [message["params"] for message in session.lines if message.get("method") == "notifications/progress"]
    assert len(progress) >= 2
    assert all(type(each["progressToken"]) is type(token) and each["progressToken"] == token for each in progress)
    values = [each["progress"] for each in progress]
    assert values == sorted(set(values))
    ids = [message.get("id") for message in session.lines]
    last = max(at for at, message in enumerate(session.lines) if message.get("method") == "notifications/progress")
    assert last < ids.index(number)


def test_a_token_that_is_none_brings_no_progress(session):
    call = {"name": "shell_exec", "arguments": {"command": "echo x; sleep 1.2; echo y"}}
    numbers = [session.start("tools/call", {**call, "_meta": {"progressToken": token}}) for token in (None, True, 1.5, {}, [])]
    for number in numbers:
        session.reply(number)
    assert not [message for message in session.lines if message.get("method") == "notifications/progress"]


def test_a_cancelled_calls_processes_are_gone_and_nothing_more_is_said_of_it(session, tmp_path):
    """Those that ignore signals, that made a session of their own and that lost their parent too."""
    command = (
        "trap '' TERM INT HUP; (setsid sh -c 'trap \"\" TERM; echo $$ >> pids; while :; do sleep 1; done' &); sleep 600 & echo $! >> pids; "
        "echo $$ >> pids; touch ready; while :; do echo more; sleep 0.2; done"
    )
    pids = tmp_path / "ws/pids"
    number = session.start("tools/call", {"name": "shell_exec", "arguments": {"command": command}, "_meta": {"progressToken": 1}})
    wait_until("all run", lambda: (tmp_path / "ws/ready").exists() and len(pids.read_text().split()) == 3)
    session.notify("notifications/cancelled", {"requestId": number})
    wait_until("all are gone", lambda: not [pid for pid in pids.read_text().split() if os.path.exists(f"/proc/{pid}")], 15)
    seen = len(session.lines)
    session.ping()
    assert [message.get("id") for message in session.lines[seen:]] == [session._next_id - 1]
    assert number not in [message.get("id") for message in session.lines]


@pytest.mark.parametrize("method", [
    "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/list", "tasks/result", "no/such", "",
    "notifications/initialized",
])
def test_what_the_newest_revision_dropped_is_not_found_in_it(session, method):
    reply = session.reply(session.start(method, {"level": "debug", "uri": "file:///x", "_meta": MODERN}))
    assert reply["error"]["code"] == -32601, reply


@pytest.mark.parametrize("cursor", ["x", "", "MTA=", 7, None])
def test_a_cursor_that_nobody_gave_is_refused(session, cursor):
    for meta in ({}, {"_meta": MODERN}):
        reply = session.reply(session.start("tools/list", {"cursor": cursor, **meta}))
        assert reply.get("error", {}).get("code") == -32602 or cursor is None, reply


def test_pages_of_a_listing_are_its_whole_without_doubles(session, tmp_path):
    for number in range(105):
        (tmp_path / "ws" / f"f{number}").touch()
    seen, cursor = [], {}
    while True:
        page = session.call("list_directory", {"limit": 10, **cursor})
        seen += [entry["name"] for entry in page["entries"]]
        if "next_cursor" not in page:
            break
        assert page["next_cursor"]
        cursor = {"cursor": page["next_cursor"]}
    assert len(seen) == len(set(seen)) == 105
