"""The runtime interface that the Agent Sandbox project proposes (KEP-539.2), as its methods are offered here. Tests are named by the
number of what they cover: run, streams, write and read, list, stat, delete, escape, watch, contexts, health and metadata."""
import base64
import contextlib
import hashlib
import json
import os
import re
import socket
import threading
import time

import pytest
from kit.door import Door
from kit.programs import give_to
from kit.target import public_line
from kit.waiting import wait_until

RFC3339_UTC = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A door that passes variables on, some of them for all to see."""
    folder = tmp_path_factory.mktemp("door")
    folder.chmod(0o711)
    door = Door(folder, "limits: {own_unauthenticated: 0}\npass_env: [SANDBOX_REGION, SANDBOX_EMPTY, DEMO_TOKEN]")
    os.environ.update(SANDBOX_REGION="somewhere; $(x)", SANDBOX_EMPTY="", SANDBOX_UNNAMED="no", DEMO_TOKEN="otter-42")
    try:
        yield door.start()
    finally:
        for name in ("SANDBOX_REGION", "SANDBOX_EMPTY", "SANDBOX_UNNAMED", "DEMO_TOKEN"):
            del os.environ[name]
        door.stop()


@pytest.fixture(scope="module")
def session(served):
    with served.target.session() as opened:
        yield opened


@pytest.fixture
def here(served, session, request):
    """A folder of the test's own in the workspace, and the prefix of its paths."""
    name = re.sub(r"\W", "_", request.node.name)
    session.call("create_directory", {"path": name})
    return served.folder / "box" / "workspace" / name


def at(here, name):
    return f"{here.name}/{name}"


def names_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


# 1. Run


@pytest.mark.parametrize("command, status, out, err", [
    ("true", 0, "", ""), ("echo out; echo err >&2; exit 3", 3, "out\n", "err\n"), ("printf x", 0, "x", ""), ("exit 255", 255, "", ""),
])
def test_1_run_splits_the_streams_and_tells_the_exit_code(session, command, status, out, err):
    said = session.shell(command)
    assert (said["status"], said["exit_code"], said["stdout"], said["stderr"]) == ("exited", status, out, err)
    assert (said["stdout_bytes"], said["stderr_bytes"], said["truncated"]) == (len(out), len(err), False)


def test_1_run_returns_bytes_that_are_no_text(session):
    said = session.shell("i=0; while [ $i -lt 256 ]; do printf \"\\\\$(printf %03o $i)\"; i=$((i+1)); done")
    assert (said["stdout_encoding"], base64.b64decode(said["stdout"])) == ("base64", bytes(range(256)))


def test_1_run_of_what_is_not_there_is_127_in_a_shell_and_an_error_without(session):
    said = session.shell("no-such-program-here")
    assert said["exit_code"] == 127 and "no-such-program-here" in said["stderr"]
    session.refused("shell_exec", {"command": "no-such-program-here", "args": []}, "SPAWN_FAILED")
    assert session.shell("/etc/passwd")["exit_code"] == 126


@pytest.mark.parametrize("number, name", [(9, "SIGKILL"), (11, "SIGSEGV"), (15, "SIGTERM")])
def test_1_run_names_the_signal_that_ended_it(session, number, name):
    said = session.shell(f"kill -{number} $$")
    assert (said["status"], said["exit_code"], said["signal"]) == ("killed", -1, name)


def test_1_run_takes_words_variables_and_a_folder(session, here):
    said = session.shell("printf", args=["%s|%s", "a b", "$HOME;`x`"], env={"A": "1 2"})
    assert said["stdout"] == "a b|$HOME;`x`"
    assert session.shell('echo "$A"; pwd', env={"A": "1 2"}, cwd=here.name)["stdout"] == f"1 2\n{here}\n"
    for cwd, code in (("../..", "ESCAPE"), ("/", "ESCAPE"), (at(here, "nope"), "ENOENT")):
        session.refused("shell_exec", {"command": "pwd", "cwd": cwd}, code)
    session.refused("shell_exec", {}, "INVALID_ARGUMENT")


# 2. Streams of a process


@pytest.fixture
def job(session):
    """Starts jobs and ends them with the test."""
    started = []

    def start(command, **arguments):
        said = session.call("process_start", {"command": command, "wait_seconds": 0, **arguments})
        started.append(said["process_id"])
        return said["process_id"]

    yield start
    for number in started:
        session.call("process_kill", {"name": number, "force": True})


def whole(session, number, cursor=0):
    """All the output of a process to its end, and what was said of the end."""
    output = ""
    for _ in range(100):
        piece = session.call("process_output", {"process_id": number, "cursor": cursor, "wait_seconds": 0.5, "wait_for": "exit"}, 40)
        assert piece["cursor"] == cursor
        output, cursor = output + piece["output"], piece["next_cursor"]
        if piece["eof"]:
            return output, piece
    raise AssertionError(f"it does not end: {piece}")


def test_2_output_comes_in_order_and_the_exit_after_it(session, job):
    output, end = whole(session, job("for i in $(seq 1 3000); do echo out $i; echo err $i >&2; done; exit 7"))
    assert output == "".join(f"out {number}\nerr {number}\n" for number in range(1, 3001))
    assert (end["status"], end["exit_code"], end["eof"]) == ("exited", 7, True)


def test_2_input_is_echoed_and_ends(session, job):
    number = job("cat; echo over")
    session.call("process_input", {"process_id": number, "data": "piped-through"})
    session.call("process_input", {"process_id": number, "data": base64.b64encode(b" \xc3\xa4").decode(), "encoding": "base64"})
    session.call("process_input", {"process_id": number, "eof": True})
    output, end = whole(session, number)
    assert (output, end["exit_code"]) == ("piped-through äover\n", 0)
    session.refused("process_input", {"process_id": number, "data": "x"}, "PROCESS_EXITED")


def test_2_a_terminal_is_one_and_changes_its_size(session, job):
    number = job("tty; stty size; trap 'stty size; exit 5' WINCH; while :; do sleep 0.05; done", tty={"cols": 80, "rows": 24})
    seen = session.call("process_output", {"process_id": number, "cursor": 0, "pattern": "24 80", "wait_seconds": 20}, 40)
    assert seen["matched"] and seen["output"].startswith("/dev/pts/")
    session.call("process_resize", {"process_id": number, "cols": 132, "rows": 50})
    output, end = whole(session, number)
    assert output.replace("\r", "").endswith("\n50 132\n") and end["exit_code"] == 5
    plain = job("sleep 600")
    session.refused("process_resize", {"process_id": plain, "cols": 80, "rows": 24}, "NOT_A_TTY")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_2_a_signal_reaches_all_of_a_process(session, job, name):
    def script(who, then):
        trap = "" if name == "SIGKILL" else f"trap 'echo {who} got it; exit 0' {name[3:]}; "
        return f"{trap}echo {who} up; {then}"

    loop = "while :; do sleep 0.05; done"
    number = job("sh", args=["-c", script("parent", 'sh -c "$CHILD"; exit 3')], env={"CHILD": script("child", loop)})
    up = session.call("process_output", {"process_id": number, "cursor": 0, "pattern": "child up", "wait_seconds": 20}, 40)
    assert up["matched"]
    session.call("process_kill", {"name": number, "signal": name})
    output, end = whole(session, number)
    if name == "SIGKILL":
        assert (end["status"], end["signal"]) == ("killed", "SIGKILL")
    else:
        assert re.findall(r"\w+ got it", output) == ["child got it", "parent got it"] and end["exit_code"] == 0


def test_2_an_unknown_process_is_named_as_such_by_each_tool(session):
    for tool, arguments in (
        ("process_output", {"process_id": "424242"}), ("process_input", {"process_id": "424242", "data": "x"}), ("process_kill", {"name": "424242"}),
        ("process_kill", {"name": "424242", "signal": "SIGTERM"}), ("process_resize", {"process_id": "424242", "cols": 80, "rows": 24}),
    ):
        assert "424242" in session.refused(tool, arguments, "UNKNOWN_PROCESS")
    session.refused("process_kill", {"name": "424242", "signal": "SIGNAL_UNSPECIFIED"}, "INVALID_ARGUMENT")


# 3. Write and read


@pytest.mark.parametrize("content", [b"", b"x", b"\x00", b"\xff\xfe\x00", bytes(range(256)) * 40, "grüße\r\n".encode()])
def test_3_what_was_written_is_read(session, here, content):
    done = session.call("write_file", {"path": at(here, "f"), "content": base64.b64encode(content).decode(), "encoding": "base64"})
    assert (here / "f").read_bytes() == content
    read = session.call("read_file", {"path": at(here, "f"), "encoding": "base64"})
    assert base64.b64decode(read["content"]) == content
    assert done["sha256"] == read["sha256"] == hashlib.sha256(content).hexdigest()


def test_3_sixteen_mebibytes_go_in_and_out(session, here):
    content = os.urandom(16 << 20)
    step, upload = 4 << 20, None
    for offset in range(0, len(content), step):
        piece = {"data": base64.b64encode(content[offset : offset + step]).decode(), "offset": offset}
        more = {"upload_id": upload} if upload else {"path": at(here, "f"), "total_size": len(content), "mode": "0600"}
        upload = (said := session.call("upload_chunk", {**piece, **more}, 60))["upload_id"]
    digest = hashlib.sha256(content).hexdigest()
    assert said["complete"] and said["sha256"] == digest and (here / "f").stat().st_mode & 0o7777 == 0o600
    got, etag = b"", None
    while len(got) < len(content):
        said = session.call("download_chunk", {"path": at(here, "f"), "offset": len(got), "length": 2 << 20}, 60)
        assert etag in (None, said["etag"])
        etag = said["etag"]
        got += base64.b64decode(said["data"])
    assert said["eof"] and hashlib.sha256(got).hexdigest() == digest


def test_3_modes_are_set_and_bad_ones_refused(session, here):
    for mode in ("0600", "0755", "0444", "644"):
        session.call("write_file", {"path": at(here, f"f{mode}"), "content": "x", "mode": mode})
        assert (here / f"f{mode}").stat().st_mode & 0o7777 == int(mode, 8)
    for mode in ("999", "0999", "abcd", "", "-1", "0o644", "64", "0644 ", "rw-r--r--", "100644"):
        session.refused("write_file", {"path": at(here, "bad"), "content": "x", "mode": mode}, "INVALID_ARGUMENT")
    assert not (here / "bad").exists()


def test_3_folders_on_the_way_are_made_and_a_folder_is_not_overwritten(session, here):
    session.call("write_file", {"path": at(here, "a/b/c/f"), "content": "x"})
    session.refused("write_file", {"path": at(here, "a/b"), "content": "x"}, "EISDIR")
    session.refused("write_file", {"path": at(here, "a/b/c/f/g"), "content": "x"}, "ENOTDIR")
    session.refused("write_file", {"path": at(here, "no/f"), "content": "x", "create_dirs": False}, "ENOENT")
    assert names_below(here) == ["a", "a/b", "a/b/c", "a/b/c/f"]


def test_3_readers_see_the_old_or_the_new_and_nothing_between(session, served, here):
    versions = [f"{letter}" * 100_000 for letter in "ab"]
    session.call("write_file", {"path": at(here, "f"), "content": versions[0]})
    over, seen, torn = threading.Event(), set(), []

    def read():
        while not over.is_set():
            text = (here / "f").read_text()
            (seen.add if text in versions else torn.append)(text[:1])
            time.sleep(0.001)  # lets the others have their turn

    reader = threading.Thread(target=read)
    reader.start()
    try:
        with served.target.session() as other:
            for number in range(16):
                session.call("write_file", {"path": at(here, "f"), "content": versions[number % 2], "fsync": False})
                assert other.call("read_file", {"path": at(here, "f"), "limit": 524288})["content"] in versions
            wait_until("the reader saw both", lambda: seen == {"a", "b"} or session.call(
                "write_file", {"path": at(here, "f"), "content": versions[0]}) and len(seen) > 1)
    finally:
        over.set()
        reader.join()
    assert not torn and os.listdir(here) == ["f"]


# 4. List


def test_4_a_listing_has_each_entry_with_its_metadata(session, here):
    (here / "file").write_bytes(b"abc")
    os.chmod(here / "file", 0o640)
    (here / "folder").mkdir()
    (here / "link").symlink_to("file")
    (here / "out").symlink_to("/etc")
    listed = {entry["name"]: entry for entry in session.call("list_directory", {"path": here.name})["entries"]}
    assert {name: entry["type"] for name, entry in listed.items()} == {
        "file": "file", "folder": "directory", "link": "symlink", "out": "symlink"}
    assert (listed["file"]["size"], listed["file"]["mode"], listed["link"]["target"]) == (3, "0640", "file")
    assert all(RFC3339_UTC.fullmatch(entry["mtime"]) for entry in listed.values())
    session.refused("list_directory", {"path": at(here, "file")}, "ENOTDIR")
    session.refused("list_directory", {"path": at(here, "nope")}, "ENOENT")
    session.refused("list_directory", {"path": at(here, "out")}, "ESCAPE")
    (here / "empty").mkdir()
    assert session.call("list_directory", {"path": at(here, "empty")})["entries"] == []


# 5. Stat


def test_5_stat_tells_of_what_is_there_and_of_what_is_not(session, here):
    (here / "f").write_text("one\n")
    about = session.call("file_info", {"path": at(here, "f")})
    assert (about["exists"], about["type"], about["size"]) == (True, "file", 4) and RFC3339_UTC.fullmatch(about["mtime"])
    assert "one" not in session.text("file_info", {"path": at(here, "f")})
    for path in ("nope", "nope/deeper", "f/below"):
        assert session.call("file_info", {"path": at(here, path)}) == {"path": f"{here}/{path}", "exists": False}
    session.refused("file_info", {"path": "../x"}, "ESCAPE")


# 6. Delete


def test_6_deleting_takes_what_was_named_and_nothing_else(session, here):
    for name in ("f", "kept", "full/x", "tree/a/b"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text("x")
    (here / "empty").mkdir()
    (here / "link").symlink_to("kept")
    (here / "folder-link").symlink_to("full")
    (here / "tree/a/link").symlink_to("../../full")
    give_to("agentbox", here)
    session.call("delete_file", {"path": at(here, "f")})
    session.refused("delete_file", {"path": at(here, "f")}, "ENOENT")
    session.refused("delete_file", {"path": at(here, "full")}, "NOT_EMPTY")
    session.refused("delete_file", {"path": at(here, "f"), "recursive": "banana"}, "INVALID_ARGUMENT")
    for name, more in (("link", {}), ("folder-link", {"recursive": True}), ("tree", {"recursive": True}), ("empty", {})):
        session.call("delete_file", {"path": at(here, name), **more})
    assert names_below(here) == ["full", "full/x", "kept"]
    for root in (".", "", "/", f"{here.name}/..", str(here.parent)):
        result = session.request("tools/call", {"name": "delete_file", "arguments": {"path": root, "recursive": True}})
        assert result["isError"], root
    assert names_below(here) == ["full", "full/x", "kept"]


# 7. Escape


@pytest.mark.parametrize("path", [
    "..", "../secret", "{h}/../../secret", "/etc/passwd", "{h}/out/secret", "{h}/file-out", "{h}/chain", "/proc/self/root/etc/passwd",
    "{h}/proc/self/root/etc/passwd", "{h}/out/", "../", "/", "{h}/proc/self/fd/0", "{h}/up/../secret",
])
def test_7_no_path_leads_out(session, served, here, path):
    outside = served.folder / "box" / "home"
    (outside / "secret").write_text("theirs")
    (here / "out").symlink_to(outside)
    (here / "file-out").symlink_to(outside / "secret")
    (here / "chain").symlink_to("out/secret")
    (here / "proc").symlink_to("/proc")
    (here / "up").symlink_to("../..")
    path = path.format(h=here.name)
    for tool, more in (("read_file", {}), ("write_file", {"content": "planted"}), ("list_directory", {}), ("tail_log", {"follow_seconds": 0})):
        assert "theirs" not in session.refused(tool, {"path": path, **more}, "ESCAPE")
    assert (outside / "secret").read_text() == "theirs" and os.listdir(outside) == ["secret"]


@pytest.mark.parametrize("path, code", [
    ("%2e%2e/%2e%2e/etc/passwd", "ENOENT"), ("..%2fsecret", "ENOENT"), ("a\0b", "INVALID_ARGUMENT"), ("x/" * 2047, "ENOENT"),
    ("x" * 5000, "INVALID_ARGUMENT"), ("x" * 300, "ENAMETOOLONG"),
])
def test_7_odd_paths_are_only_names(session, path, code):
    session.refused("read_file", {"path": path}, code)


def test_7_a_slash_at_the_end_asks_for_a_folder(session, here):
    (here / "f").write_text("x")
    (here / "d").mkdir()
    assert session.call("list_directory", {"path": at(here, "d/")})["entries"] == []
    assert session.call("read_file", {"path": at(here, "f")})["content"] == "x"
    result = session.request("tools/call", {"name": "write_file", "arguments": {"path": at(here, "new/"), "content": "x"}})
    assert result["isError"] or (here / "new").is_file()


def test_7_a_link_swapped_for_a_folder_all_the_while_leads_nowhere(session, served, here):
    outside = served.folder / "box" / "tmp" / "outside"
    outside.mkdir()
    (outside / "f").write_text("theirs")
    (here / "d").mkdir()
    (here / "d/f").write_text("mine")
    (here / "l").symlink_to(outside)
    over = threading.Event()

    def swap():
        while not over.is_set():
            for one, other in (("d", "x"), ("l", "d"), ("d", "l"), ("x", "d")):
                os.rename(here / one, here / other)
            time.sleep(0.0002)  # lets the others have their turn

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        pending = [session.start("tools/call", {"name": tool, "arguments": {"path": at(here, "d/f"), **more}})
                   for _ in range(30) for tool, more in (
                       ("read_file", {}), ("write_file", {"content": "mine", "fsync": False, "create_dirs": False}), ("delete_file", {}))]
        replies = [session.reply(number, 60)["result"] for number in pending]
    finally:
        over.set()
        swapper.join()
    assert "theirs" not in {reply.get("structuredContent", {}).get("content") for reply in replies}
    assert (outside / "f").read_text() == "theirs" and os.listdir(outside) == ["f"]


def test_7_a_second_name_of_a_file_is_that_file(session, here):
    """A hard link is no way out: agent code can only link what it could reach itself, and a write says that it went in place."""
    (here / "one").write_text("x")
    os.link(here / "one", here / "two")
    give_to("agentbox", here)
    assert session.call("file_info", {"path": at(here, "two")})["nlink"] == 2
    assert session.call("write_file", {"path": at(here, "two"), "content": "y"})["in_place"] is True
    assert (here / "one").read_text() == "y"


# 10. Health and metadata


def test_10_ready_once_keys_are_loaded_and_closed_at_the_end(tmp_path_factory):
    """Without keys the door is up and lets nobody in; told to stop it takes nobody any more."""
    folder = tmp_path_factory.mktemp("door")
    folder.chmod(0o711)
    door = Door(folder)
    (folder / "door" / "keys" / "..data").unlink()
    try:
        door.start_monitor()
        door.start_spawner()
        assert not door.session_works() and "Permission denied" in door.last_refusal
        door.write_keys(public_line(door.key))
        door.await_session()
        with door.target.session() as running:
            call = running.start("tools/call", {"name": "shell_exec", "arguments": {"command": "touch begun; until [ -e go ]; do sleep 0.05; done"}})
            wait_until("the call runs", (folder / "box/workspace/begun").exists)
            door.monitor.terminate()

            def closed():
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", door.port), 2) as probe:
                    return probe.recv(4) == b""
                return True

            wait_until("nobody is taken any more", closed)
            (folder / "box/workspace/go").touch()
            assert running.reply(call)["result"]["structuredContent"]["exit_code"] == 0
        assert door.monitor.wait(60) == 0
    finally:
        door.stop()


def test_10_metadata_is_what_was_named_and_begins_with_sandbox(session):
    about = session.call("system_info")
    assert about["metadata"] == {"SANDBOX_REGION": "somewhere; $(x)", "SANDBOX_EMPTY": ""}
    assert "otter-42" not in session.text("system_info")
    assert session.shell("echo $DEMO_TOKEN/$SANDBOX_REGION/$SANDBOX_UNNAMED")["stdout"] == "otter-42/somewhere; $(x)/\n"


# The claim


def test_what_the_status_claims_is_what_is_there(session):
    """Of what it says of the interface each part is tried: a watch that sees a change, and a context of each language that answers."""
    (content,) = session.request("resources/read", {"uri": "agentbox://status"})["contents"]
    claim = json.loads(content["text"])["kep539_2"]
    tools = {tool["name"] for tool in session.request("tools/list")["tools"]}
    core = {"shell_exec", "process_start", "process_output", "process_input", "process_kill", "read_file", "write_file", "list_directory", "file_info"}
    assert claim["core"] is (core <= tools)
    assert claim["watch"] is ("watch_files" in tools)
    if claim["watch"]:
        session.call("create_directory", {"path": "claimed"})
        cursor = session.call("watch_files", {"path": "claimed", "wait_seconds": 0})["next_cursor"]
        session.call("write_file", {"path": "claimed/f", "content": "x"})
        seen = session.call("watch_files", {"path": "claimed", "cursor": cursor, "wait_seconds": 20}, 40)
        assert [event["path"] for event in seen["events"]][-1:] == ["claimed/f"] or "f" in str(seen["events"])
    assert bool(claim["contexts"]) is ("code_execute" in tools)
    code = {"python": "print(6 * 7)", "node": "console.log(6 * 7)", "bash": "echo $((6 * 7))"}
    for language in claim["contexts"]:
        said = session.request("tools/call", {"name": "code_execute", "arguments": {"language": language, "code": code[language]}}, 60)
        assert not said["isError"] and "42" in said["content"][0]["text"], said
