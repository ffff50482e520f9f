"""What went wrong with file tools in the field, each as it was told and with others of its kind; CASES.md lists them."""
import base64
import contextlib
import hashlib
import os
import socket
import subprocess
import threading
import time

import pytest
from kit.bare import bare_session, peak_memory
from kit.programs import SANITIZED

MIB = 1 << 20


@pytest.fixture
def here(tmp_path):
    return tmp_path / "ws"


@pytest.fixture
def session(tmp_path):
    with bare_session(tmp_path) as opened:
        yield opened


def errors(session, calls):
    """The code of each call's error, None where it succeeds."""
    codes = []
    for tool, arguments in calls:
        result = session.request("tools/call", {"name": tool, "arguments": arguments}, 60)
        codes.append(result["_meta"]["agentbox/error"]["code"] if result["isError"] else None)
    return codes


def edited(session, path, old, new):
    """Ways to make one replacement, each of another tool."""
    return {
        "edit_file": {"path": path, "old_string": old, "new_string": new},
        "apply_edits": {"operations": [{"op": "edit", "path": path, "edits": [{"old_string": old, "new_string": new}]}]},
    }


# H3-021: links


def test_links_that_lead_out_are_refused_and_those_that_stay_work(session, here):
    vault = here.parent / "home"
    (vault / "pin.txt").write_text("1234")
    (vault / "motd").write_text("hello")
    (here / "a").symlink_to(vault / "pin.txt")
    (here / "d").symlink_to(vault)
    (here / "real").mkdir()
    (here / "real/f").write_text("mine")
    (here / "inside").symlink_to("real")
    (here / "absolute").symlink_to(here / "real/f")
    (here / "back").symlink_to("../ws/real")
    (here / "round").symlink_to("round")
    out = [
        ("read_file", {"path": "a"}), ("read_file", {"path": "d/pin.txt"}), ("list_directory", {"path": "d"}),
        ("edit_file", {"path": "d/motd", "old_string": "hello", "new_string": "x"}),
        ("apply_edits", {"operations": [{"op": "write", "path": "d/new", "content": "x"}]}),
        ("apply_patch", {"patch": "*** Begin Patch\n*** Add File: d/new\n+x\n*** End Patch\n"}),
        ("upload_chunk", {"path": "d/new", "data": "AA==", "total_size": 1}), ("download_chunk", {"path": "a"}), ("glob_files", {"path": "d", "pattern": "*"}),
        ("search_files", {"path": "d", "pattern": "."}), ("create_directory", {"path": "d/new"}), ("file_info", {"path": "a", "follow": True}),
        ("file_info", {"path": "d/pin.txt"}), ("shell_exec", {"command": "true", "cwd": "d"}), ("process_start", {"command": "true", "cwd": "d"}),
        ("move_file", {"source": "real/f", "destination": "d/f"}), ("tail_log", {"path": "a", "start_offset": 0, "follow_seconds": 0}),
    ]
    assert errors(session, out) == ["ESCAPE"] * len(out)
    read = session.call("read_files", {"paths": ["a", "d/motd"]})
    assert [each["error_code"] for each in read["files"]] == ["ESCAPE", "ESCAPE"]
    assert errors(session, [("read_file", {"path": "round"}), ("write_file", {"path": "round", "content": ""})]) == ["ELOOP", "ELOOP"]
    assert {path.name for path in vault.iterdir()} == {"pin.txt", "motd"} and (vault / "motd").read_text() == "hello"
    for way in ("inside/f", "absolute"):
        assert session.call("read_file", {"path": way})["content"] == "mine"
    about = session.call("file_info", {"path": "a"})
    assert (about["type"], about["target"]) == ("symlink", f"{vault}/pin.txt")


# H3-025: line ends


@pytest.mark.parametrize("tool", ["edit_file", "apply_edits"])
@pytest.mark.parametrize("before, old, new, after", [
    ("a\r\nb\r\nc\r\n", "a\nb", "a\nB1\nB2", "a\r\nB1\r\nB2\r\nc\r\n"), ("a\r\nb\r\nc", "b\nc", "b\nC\nd", "a\r\nb\r\nC\r\nd"),
    ("a\r\nb\r\n", "b\n", "b\nc\n", "a\r\nb\r\nc\r\n"), ("a\r\nb\nc\r\n", "b", "B\nB2", "a\r\nB\nB2\nc\r\n"),
    ("\ufeffa\r\nb\r\n", "a\nb", "x\ny", "\ufeffx\r\ny\r\n"), ("a\nb", "b", "b\n", "a\nb\n"), ("a\n\n\nb\n", "a\n\n\nb", "a\nb", "a\nb\n"),
    ("a\tb\u00a0c\n", "b\u00a0c", "bc", "a\tbc\n"), ("é\n", "é", "e", "e\n"), ("e\u0301\n", "e\u0301", "é", "é\n"),
])
def test_an_edit_keeps_the_line_ends_of_its_file(session, here, tool, before, old, new, after):
    (here / "f").write_bytes(before.encode())
    arguments = edited(session, "f", old, new)[tool]
    dry = session.call(tool, {**arguments, "dry_run": True})
    assert (here / "f").read_bytes() == before.encode()
    done = session.call(tool, arguments)
    assert (here / "f").read_bytes() == after.encode()
    digest = hashlib.sha256(after.encode()).hexdigest()
    assert (dry.get("sha256") or dry["results"][0]["sha256"]) == (done.get("sha256") or done["results"][0]["sha256"]) == digest


@pytest.mark.parametrize("patch", [
    "*** Begin Patch\n*** Update File: f\n@@\n a\n-b\n+B1\n+B2\n*** End Patch\n", "--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n a\n-b\n+B1\n+B2\n c\n",
    "--- a/f\r\n+++ b/f\r\n@@ -1,3 +1,4 @@\r\n a\r\n-b\r\n+B1\r\n+B2\r\n c\r\n",
])
def test_a_patch_keeps_the_line_ends_of_its_file(session, here, patch):
    (here / "f").write_bytes(b"a\r\nb\r\nc\r\n")
    session.call("apply_patch", {"patch": patch})
    assert (here / "f").read_bytes() == b"a\r\nB1\r\nB2\r\nc\r\n"


# H3-027: what a file has beside its content

CHANGES = {
    "write_file": lambda path: {"path": path, "content": "new\n"},
    "edit_file": lambda path: {"path": path, "old_string": "old", "new_string": "new"},
    "apply_edits": lambda path: {"operations": [{"op": "edit", "path": path, "edits": [{"old_string": "old", "new_string": "new"}]}]},
    "apply_patch": lambda path: {"patch": f"*** Begin Patch\n*** Update File: {path}\n@@\n-old\n+new\n*** End Patch\n"},
    "upload_chunk": lambda path: {"path": path, "data": base64.b64encode(b"new\n").decode(), "total_size": 4},
}


@pytest.mark.parametrize("tool", CHANGES)
@pytest.mark.parametrize("mode", [0o2750, 0o600, 0o755, 0o444, 0o640])
def test_a_change_keeps_mode_and_owner(session, here, tool, mode):
    (here / "run.sh").write_text("old\n")
    os.chmod(here / "run.sh", mode)
    before = os.stat(here / "run.sh")
    session.call(tool, CHANGES[tool]("run.sh"))
    after = os.stat(here / "run.sh")
    assert (here / "run.sh").read_text() == "new\n"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


def test_a_new_file_obeys_the_umask_and_a_mode_that_was_asked_for_does_not_stay_behind_it(session, here):
    session.call("write_file", {"path": "plain", "content": ""})
    session.call("write_file", {"path": "open", "content": "", "mode": "0777"})
    mask = int(session.shell("umask")["stdout"], 8)
    assert (here / "plain").stat().st_mode & 0o777 == 0o644 & ~mask
    assert (here / "open").stat().st_mode & 0o777 in (0o777, 0o777 & ~mask)


# H3-029: other names of a file, and who follows it


@pytest.mark.parametrize("tool", CHANGES)
def test_a_change_reaches_every_name_of_a_file_and_who_follows_it(session, here, tool):
    (here / "a.txt").write_text("old\n")
    os.link(here / "a.txt", here / "b.txt")
    inode = os.stat(here / "a.txt").st_ino
    with open(here / "b.txt", encoding="utf-8") as follower:
        session.call(tool, CHANGES[tool]("a.txt"))
        assert follower.read() == "new\n"
    assert os.stat(here / "a.txt").st_ino == os.stat(here / "b.txt").st_ino == inode
    assert (here / "b.txt").read_text() == "new\n"


def test_a_log_that_a_write_replaced_is_followed_into_the_new_file(session, here):
    (here / "log").write_text("one\n")
    waiting = session.start("tools/call", {"name": "tail_log", "arguments": {"path": "log", "start_offset": 0, "follow_seconds": 30, "until": "three"}})
    session.call("write_file", {"path": "log", "content": "two\n"})
    session.call("write_file", {"path": "log", "content": "three\n", "append": True})
    said = session.reply(waiting, 60)["result"]["structuredContent"]
    assert said["matched"] and said["content"].endswith("three\n")


# H3-030: temporary names


def test_planted_links_never_turn_a_write_aside(session, here):
    (here / "victim").write_text("untouched")
    over = threading.Event()

    def plant():
        while not over.is_set():
            for name in ("f.tmp", f".f.{session.process.pid}.tmp", "f~", ".f.swp", ".agentbox-tmp-f", "f.new"):
                with contextlib.suppress(FileExistsError):
                    (here / name).symlink_to("victim")
            time.sleep(0.001)  # lets the others have their turn

    planter = threading.Thread(target=plant)
    planter.start()
    try:
        for number in range(200):
            session.call("write_file", {"path": "f", "content": f"{number}", "fsync": False})
        session.call("edit_file", {"path": "f", "old_string": "199", "new_string": "edited 199"})
    finally:
        over.set()
        planter.join()
    assert (here / "victim").read_text() == "untouched" and (here / "f").read_text() == "edited 199"
    assert not (here / "f").is_symlink()


# H3-032: binary content


def test_base64_is_exact_or_refused(session, here):
    content = os.urandom(3_100_000)
    encoded = base64.b64encode(content).decode()
    done = session.call("write_file", {"path": "f", "content": encoded, "encoding": "base64"})
    assert (here / "f").read_bytes() == content and done["sha256"] == hashlib.sha256(content).hexdigest()
    wrong = ["AA", "AA=", "AAA", "A===", "AA==AA==", "AAAA\nAAAA", "AAAA\r\n", " AAAA", "AAAA ", "AA_-", "__==", "AAAA!", "=", "====", "AB==", "é", "AAAA\0"]
    for text in wrong:
        for tool, arguments in (
            ("write_file", {"path": "bad", "content": text, "encoding": "base64"}), ("upload_chunk", {"path": "bad", "data": text, "total_size": 3}),
            ("shell_exec", {"command": "cat > bad", "stdin": text, "stdin_encoding": "base64"}),
        ):
            code = errors(session, [(tool, arguments)])
            assert code == ["INVALID_ENCODING"], (text, tool, code)
    assert not (here / "bad").exists()
    assert errors(session, [("write_file", {"path": "empty", "content": "", "encoding": "base64"})]) == [None]
    # The limit counts what is decoded.
    most = base64.b64encode(b"x" * (4 * MIB)).decode()
    more = base64.b64encode(b"x" * (4 * MIB + 1)).decode()
    assert errors(session, [("write_file", {"path": name, "content": text, "encoding": "base64"}) for name, text in (("most", most), ("more", more))]) \
        == [None, "TOO_LARGE"]
    assert (here / "most").stat().st_size == 4 * MIB and not (here / "more").exists()


def test_binary_input_reaches_a_process_as_it_is(session, here):
    content = bytes(range(256)) * 40
    encoded = base64.b64encode(content).decode()
    session.shell("cat > from-exec", stdin=encoded, stdin_encoding="base64")
    session.call("process_start", {"name": "cat", "command": "cat > from-job"})
    session.call("process_input", {"process_id": "cat", "data": encoded, "encoding": "base64", "eof": True})
    session.call("process_output", {"process_id": "cat", "wait_seconds": 20, "wait_for": "exit"}, 40)
    assert (here / "from-exec").read_bytes() == (here / "from-job").read_bytes() == content


# H3-033, H3-034: large trees


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A session whose workspace holds 3,000 files, twelve folders deep in places, with a loop of links."""
    folder = tmp_path_factory.mktemp("large")
    with bare_session(folder) as opened:
        here = folder / "ws"
        deep = here / "deep"
        for level in range(12):
            deep = deep / f"level{level}"
            deep.mkdir(parents=True)
            for number in range(250):
                (deep / f"f{number}").touch()
            (deep / "back").symlink_to("..")
        first = here / "aa"
        first.mkdir()
        for number in range(25):
            (first / f"f{number}").write_text("needle\n")
        yield opened


def test_a_deep_listing_is_bounded_and_paged_to_its_end(large):
    page = large.call("list_directory", {"depth": 20})
    assert page["entry_count"] == 1000 and page["truncated"] and page["total"] == 1 + 12 * 252 + 1 + 25
    seen = {entry["name"] for entry in page["entries"]}
    while "next_cursor" in page:
        page = large.call("list_directory", {"depth": 20, "limit": 10_000, "cursor": page["next_cursor"]})
        names = {entry["name"] for entry in page["entries"]}
        assert not names & seen
        seen |= names
    assert len(seen) == page["total"] and not [name for name in seen if "back/" in name]
    assert large.call("list_directory", {"depth": 2})["total"] == 2 + 25 + 1
    assert len(large.text("list_directory", {"depth": 20})) < 200_000


def test_a_search_stops_where_it_has_enough(large):
    found = large.call("search_files", {"pattern": "needle", "max_results": 20})
    assert len(found["matches"]) == 20 and found["truncated"] and found["files_searched"] < 1000
    rest = large.call("search_files", {"pattern": "needle", "max_results": 20, "offset": found["next_offset"]})
    assert len(rest["matches"]) == 5 and not rest["truncated"]
    paths = [match["path"] for match in found["matches"] + rest["matches"]]
    assert len(set(paths)) == 25
    names = large.call("glob_files", {"pattern": "**", "limit": 10})
    assert len(names["matches"]) == 10 and names["truncated"] and names["total"] == 3_025


def test_a_search_has_a_time_of_its_own_and_says_that_it_was_over(large, tmp_path):
    found = large.call("search_files", {"pattern": "nowhere", "timeout_seconds": 0.1, "path": "deep"})
    assert found["match_count"] == 0 and (found.get("timed_out") is True) == found["truncated"]
    number = large.start("tools/call", {"name": "search_files", "arguments": {"pattern": "x*y*z*nowhere"}})
    large.notify("notifications/cancelled", {"requestId": number})
    large.ping()


# H3-036: what is no file


@pytest.fixture
def odd(session, here):
    """Everything that is no regular file and would hold up or mislead who opens it."""
    os.mkfifo(here / "fifo")
    with socket.socket(socket.AF_UNIX) as bound, contextlib.chdir(here):
        bound.bind("socket")
        (here / "proc").symlink_to("/proc")
        (here / "zero").symlink_to("/dev/zero")
        (here / "self").symlink_to("/proc/self/environ")
        with open(here / "sparse", "wb") as sparse:
            sparse.truncate(3 << 30)
        (here / "todo.txt").write_text("todo\n")
        yield here


def test_a_search_passes_over_what_is_no_file(session, odd):
    for more in ({}, {"path": "."}, {"multiline": True}, {"max_filesize": 1 << 30}, {"include_hidden": True, "respect_gitignore": False}):
        found = session.call("search_files", {"pattern": "todo", **more}, 60)
        assert [match["path"] for match in found["matches"]] == ["todo.txt"]
        assert found["files_skipped"] >= 1
    if not SANITIZED:
        assert peak_memory(session.process.pid) < 100 * MIB
    assert set(session.call("glob_files", {"pattern": "*"})["matches"]) == {"sparse", "todo.txt"}


def test_no_tool_waits_for_what_is_no_file(session, odd):
    for path in ("fifo", "socket"):
        calls = [
            ("read_file", {"path": path}), ("write_file", {"path": path, "content": "x"}), ("write_file", {"path": path, "content": "x", "append": True}),
            ("edit_file", {"path": path, "old_string": "a", "new_string": "b"}), ("tail_log", {"path": path, "follow_seconds": 0}),
            ("download_chunk", {"path": path}), ("upload_chunk", {"path": path, "data": "AA==", "total_size": 1}), ("read_blob", {"name": path}),
            ("search_files", {"path": path, "pattern": "x"}),
            ("apply_edits", {"operations": [{"op": "edit", "path": path, "edits": [{"old_string": "a", "new_string": "b"}]}]}),
            ("apply_patch", {"patch": f"*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n*** End Patch\n"}),
            ("write_random_blob", {"name": path, "size_bytes": 1}), ("list_directory", {"path": path}), ("shell_exec", {"command": "true", "cwd": path}),
            ("create_directory", {"path": path}), ("create_directory", {"path": f"{path}/x"}),
        ]
        for (tool, arguments), code in zip(calls, errors(session, calls)):
            assert code, (tool, arguments)
        assert "sha256" not in session.call("file_info", {"path": path, "sha256": True})
    for path in ("proc/self/environ", "zero", "self"):
        assert errors(session, [("read_file", {"path": path}), ("tail_log", {"path": path, "follow_seconds": 0})]) == ["ESCAPE", "ESCAPE"]
    assert session.call("file_info", {"path": "fifo"})["type"] == "fifo" and session.call("file_info", {"path": "socket"})["type"] == "socket"
    session.call("move_file", {"source": "fifo", "destination": "moved"})
    session.call("delete_file", {"path": "moved"})
    session.call("delete_file", {"path": "socket"})


def test_a_huge_sparse_file_is_read_in_parts_and_edited_not_at_all(session, odd):
    assert session.call("read_file", {"path": "sparse", "offset": (3 << 30) - 3, "limit": 10, "encoding": "base64"})["content"] == "AAAA"
    assert session.call("download_chunk", {"path": "sparse", "offset": 2 << 30, "length": 3})["data"] == "AAAA"
    assert errors(session, [
        ("edit_file", {"path": "sparse", "old_string": "a", "new_string": "b"}),
        ("apply_edits", {"operations": [{"op": "edit", "path": "sparse", "edits": [{"old_string": "a", "new_string": "b"}]}]}),
        ("apply_patch", {"patch": "*** Begin Patch\n*** Update File: sparse\n@@\n-a\n+b\n*** End Patch\n"}),
    ]) == ["TOO_LARGE"] * 3
    tail = session.call("read_file", {"path": "sparse", "tail": 1, "sha256": False, "encoding": "base64"})
    assert tail["bytes_returned"] <= 524_288
    if not SANITIZED:
        assert peak_memory(session.process.pid) < 100 * MIB


# Their kin: edits that grow without end, texts that are hard to search, files that change meanwhile


def test_edits_that_multiply_a_file_are_stopped(session, here):
    (here / "f").write_text("a" * 65_536)
    doubling = [{"old_string": "a", "new_string": "aa", "replace_all": True}] * 200
    (here / "many").write_text("a" * 65_536)
    huge = {"old_string": "a", "new_string": "b" * 100_000, "replace_all": True}
    assert errors(session, [
        ("edit_file", {"path": "f", "edits": doubling}), ("edit_file", {"path": "many", **huge}),
        ("apply_edits", {"operations": [{"op": "edit", "path": "many", "edits": [huge]}]}),
    ]) == ["TOO_LARGE"] * 3
    assert (here / "f").read_text() == "a" * 65_536 and (here / "many").read_text() == "a" * 65_536
    if not SANITIZED:
        assert peak_memory(session.process.pid) < 700 * MIB


def test_the_largest_edits_answer_in_bounded_memory(session, here):
    """Files of one line, of nothing but line ends, and of many lines that all change or nearly match."""
    (here / "line").write_text("ab" * (4 * MIB))
    (here / "list").write_text("ab," * 200_000)
    (here / "places").write_text("ab" * 200_000)
    (here / "ends").write_text("\n" * (2 * MIB) + "x")
    (here / "rows").write_text("".join(f"row {number}\n" for number in range(200_000)))
    session.call("edit_file", {"path": "list", "old_string": "ab", "new_string": "c", "replace_all": True}, 60)
    session.call("edit_file", {"path": "list", "old_string": ",", "new_string": ",\n", "replace_all": True}, 60)
    session.call("edit_file", {"path": "ends", "old_string": "x", "new_string": "y"}, 60)
    session.call("edit_file", {"path": "rows", "old_string": "row ", "new_string": "line ", "replace_all": True}, 60)
    assert errors(session, [
        ("edit_file", {"path": "line", "old_string": "ab" * MIB + "c", "new_string": "x"}),
        ("edit_file", {"path": "rows", "old_string": "".join(f"row {number} \n" for number in range(50_000)), "new_string": "x"}),
        ("edit_file", {"path": "places", "old_string": "a", "new_string": "x"}),
    ]) == ["NOT_FOUND_TEXT", "NOT_FOUND_TEXT", "AMBIGUOUS"]
    if not SANITIZED:
        assert peak_memory(session.process.pid) < 400 * MIB


def test_a_line_without_an_end_is_shown_in_part(session, here):
    (here / "bundle.js").write_text("x" * 3_000_000 + "needle" + "y" * 3_000_000)
    found = session.call("search_files", {"pattern": "needle"})
    (match,) = found["matches"]
    assert "needle" in match["text"] and len(match["text"]) < 1000 and match["column"] == 3_000_001
    for mode in ({"head": 1}, {"tail": 1}, {"start_line": 1}):
        piece = session.call("read_file", {"path": "bundle.js", **mode})
        assert piece["bytes_returned"] <= 131_072 and piece["truncated"]
    cut = session.call("read_file", {"path": "bundle.js", "head": 1, "max_line_chars": 100})
    assert len(cut["content"]) < 300 and cut["truncated"]


def test_an_edit_of_a_file_that_somebody_else_writes_meanwhile_loses_nothing(session, here):
    """A counter raised by edits from four sides: each rise that was said to be made is there."""
    (here / "n").write_text("0\n")

    def raise_it(times):
        done = 0
        while done < times:
            read = session.call("read_file", {"path": "n"})
            value = int(read["content"])
            result = session.request("tools/call", {"name": "write_file", "arguments": {
                "path": "n", "content": f"{value + 1}\n", "if_sha256": read["sha256"], "fsync": False}})
            done += not result["isError"]

    numbers = threading.Lock()
    start = session.start

    def one_at_a_time(*arguments):
        with numbers:
            return start(*arguments)

    session.start = one_at_a_time
    sides = [threading.Thread(target=raise_it, args=(25,)) for _ in range(4)]
    for side in sides:
        side.start()
    for side in sides:
        side.join()
    assert (here / "n").read_text() == "100\n"


def test_appends_from_many_sides_are_all_there_and_whole(session, here):
    pending = [session.start("tools/call", {"name": "write_file", "arguments": {
        "path": "log", "content": f"{number} {'x' * 500}\n", "append": True, "fsync": False}}) for number in range(200)]
    for number in pending:
        result = session.reply(number, 60)["result"]
        assert not result["isError"], result
    lines = (here / "log").read_text().splitlines()
    assert sorted(lines) == sorted(f"{number} {'x' * 500}" for number in range(200))


@pytest.mark.parametrize("text", ["\ufeffname = 1\n", "name = 1", "\nname = 1\n\n\n", "\x0cname = 1\x1b[0m\n", "name = 1\u2028x\u0085y\n"])
def test_bytes_that_editors_like_to_tidy_stay(session, here, text):
    (here / "f").write_bytes(text.encode())
    session.call("edit_file", {"path": "f", "old_string": "name = 1", "new_string": "name = 2"})
    assert (here / "f").read_bytes() == text.replace("1", "2", 1).encode()
    assert session.call("read_file", {"path": "f"})["content"].encode() == (here / "f").read_bytes()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "latin-1", "shift_jis"])
def test_a_text_of_another_encoding_is_never_changed_by_looking_at_it(session, here, encoding):
    content = "größe = 1 " .encode(encoding, "replace") if encoding != "shift_jis" else "設定 = 1\n".encode(encoding)
    (here / "f").write_bytes(content)
    read = session.call("read_file", {"path": "f"})
    got = base64.b64decode(read["content"]) if read["encoding"] == "base64" else read["content"].encode()
    assert got == content
    lossy = session.call("read_file", {"path": "f", "encoding": "utf-8"})
    assert lossy.get("lossy") is True or content.isascii() or b"\0" in content
    result = session.request("tools/call", {"name": "edit_file", "arguments": {"path": "f", "old_string": "größe", "new_string": "x"}})
    assert result["isError"] and (here / "f").read_bytes() == content


def test_a_read_only_folder_and_a_running_program_are_written_as_they_can_be(session, here):
    """As anybody but root the folder takes no new file: then the file itself is written, and the answer says so."""
    (here / "d").mkdir()
    (here / "d/f").write_text("old")
    os.chmod(here / "d", 0o555)
    try:
        done = session.call("write_file", {"path": "d/f", "content": "new"})
        assert (here / "d/f").read_text() == "new" and (os.geteuid() == 0 or done["in_place"])
    finally:
        os.chmod(here / "d", 0o755)
    subprocess.run(["cp", "/bin/sleep", here / "program"], check=True)
    session.call("process_start", {"name": "runs", "command": "exec ./program 600"})
    session.call("write_file", {"path": "program", "content": "#!/bin/sh\necho replaced\n"})
    assert session.shell("./program")["stdout"] == "replaced\n"
