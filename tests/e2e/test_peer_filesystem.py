"""What clients of the MCP reference filesystem server are used to, restated for our tools: the same is possible, and where
that server would change something else than was asked for, ours says no and changes nothing."""
import os
import threading
import time

import pytest
from kit.bare import bare_session


@pytest.fixture
def here(tmp_path):
    return tmp_path / "ws"


@pytest.fixture
def session(tmp_path):
    with bare_session(tmp_path) as opened:
        yield opened


def edits(*pairs):
    """With the names that clients of that server use."""
    return [{"oldText": old, "newText": new} for old, new in pairs]


# Edits


def test_an_edit_takes_the_other_servers_names_and_answers_with_the_difference(session, here):
    (here / "f").write_text("line1\nline2\nline3\n")
    done = session.call("edit_file", {"path": "f", "edits": edits(("line2", "modified line2"))})
    assert (here / "f").read_text() == "line1\nmodified line2\nline3\n"
    assert "-line2\n+modified line2\n" in done["diff"] and done["replacements"] == 1
    assert os.listdir(here) == ["f"]


@pytest.mark.parametrize("new", ["price=$$; match=$&; before=$`; after=$'", r"\1 \g<0> \\ %s {0}", "```diff\n+x\n```", "line2"[:0]])
def test_a_replacement_means_itself(session, here, new):
    (here / "f").write_text("line1\nline2\nline3\n")
    session.call("edit_file", {"path": "f", "edits": edits(("line2", new))})
    assert (here / "f").read_text() == f"line1\n{new}\nline3\n"


def test_a_dry_run_shows_the_difference_and_writes_nothing(session, here):
    (here / "f").write_text("line1\nline2\n")
    before = os.stat(here / "f")
    shown = session.call("edit_file", {"path": "f", "edits": edits(("line2", "x")), "dry_run": True})
    after = os.stat(here / "f")
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    real = session.call("edit_file", {"path": "f", "edits": edits(("line2", "x"))})
    assert (shown["diff"], shown["sha256"]) == (real["diff"], real["sha256"])
    text = session.refused("edit_file", {"path": "f", "edits": edits(("x", "y")), "dryRun": True}, "INVALID_ARGUMENT")
    assert "dry_run" in text and (here / "f").read_text() == "line1\nx\n"


def test_edits_are_made_one_after_another_and_all_or_none(session, here):
    (here / "f").write_text("line1\nline2\nline3\n")
    session.call("edit_file", {"path": "f", "edits": edits(("line1", "first"), ("first\nline2", "second"), ("line3", "third"))})
    assert (here / "f").read_text() == "second\nthird\n"
    session.refused("edit_file", {"path": "f", "edits": edits(("second", "2"), ("nowhere", "x"))}, "NOT_FOUND_TEXT")
    assert (here / "f").read_text() == "second\nthird\n"


def test_a_text_that_differs_by_white_space_is_pointed_at_and_never_guessed(session, here):
    source = "function f() {\n        do_it();\n    return true;\n}\n"
    (here / "f").write_text(source)
    text = session.refused("edit_file", {"path": "f", "edits": edits(("  do_it();\n  return true;", "x"))}, "NOT_FOUND_TEXT")
    assert "white" in text and "2" in text, text
    assert (here / "f").read_text() == source
    session.call("edit_file", {"path": "f", "edits": edits(("do_it();", "do_it();\n        and_that();"))})
    assert (here / "f").read_text() == source.replace("do_it();", "do_it();\n        and_that();")


def test_the_first_of_several_places_is_not_taken_for_the_one_that_was_meant(session, here):
    (here / "f").write_text("a\nb\na\n")
    text = session.refused("edit_file", {"path": "f", "edits": edits(("a", "c"))}, "AMBIGUOUS")
    assert "1, 3" in text and (here / "f").read_text() == "a\nb\na\n"


@pytest.mark.parametrize("end", ["\r\n", "\n", "\r"])
def test_line_ends_of_a_file_stay_as_they_are(session, here, end):
    """That server makes every CRLF of an edited file an LF."""
    (here / "f").write_bytes(end.join(["line1", "line2", "line3", ""]).encode())
    session.call("edit_file", {"path": "f", "edits": edits(("line2", "modified"))})
    assert (here / "f").read_bytes() == end.join(["line1", "modified", "line3", ""]).encode()


def test_an_edit_of_a_file_that_is_no_utf8_keeps_every_other_byte(session, here):
    (here / "f").write_bytes(b"caf\xe9\nname\n\xff\xfe\n")
    session.call("edit_file", {"path": "f", "edits": edits(("name", "noun"))})
    assert (here / "f").read_bytes() == b"caf\xe9\nnoun\n\xff\xfe\n"


# The beginning and the end of a file


@pytest.mark.parametrize("text, count, head, tail", [
    ("", 5, "", ""),
    ("a\nb\nc\n", 2, "a\nb\n", "b\nc\n"),
    ("a\nb\nc", 2, "a\nb\n", "b\nc"),
    ("a\nb\n", 9, "a\nb\n", "a\nb\n"),
    ("a\r\nb\r\nc\r\n", 1, "a\r\n", "c\r\n"),
    ("\n\n\n", 2, "\n\n", "\n\n"),
    ("ä" * 1023 + "\n" + "ö" * 5000 + "\nz\n", 2, "ä" * 1023 + "\n" + "ö" * 5000 + "\n", "ö" * 5000 + "\nz\n"),
])
def test_head_and_tail_are_the_files_own_lines(session, here, text, count, head, tail):
    (here / "f").write_bytes(text.encode())
    assert session.call("read_file", {"path": "f", "head": count})["content"] == head
    assert session.call("read_file", {"path": "f", "tail": count})["content"] == tail
    text = session.refused("read_file", {"path": "f", "head": 1, "tail": 1}, "INVALID_ARGUMENT")
    assert "head" in text and "tail" in text


# Several files at once


def test_one_file_that_fails_does_not_fail_the_others(session, here):
    (here / "a").write_text("1\n")
    (here / "d").mkdir()
    os.symlink("/etc/passwd", here / "out")
    os.mkfifo(here / "fifo")
    (here / "b").write_text("2\n")
    wanted = ["a", "nope", "d", "out", "fifo", "../x", "b", "a"]
    read = session.call("read_files", {"paths": wanted})
    assert [each.get("content", each.get("error_code")) for each in read["files"]] == [
        "1\n", "ENOENT", "EISDIR", "ESCAPE", "INVALID_ARGUMENT", "ESCAPE", "2\n", "1\n"]
    assert read["errors"] == 5
    assert "root:" not in session.text("read_files", {"paths": wanted})


# Moves


def test_a_move_keeps_content_and_mode_and_makes_folders_on_the_way(session, here):
    (here / "f").write_text("x")
    os.chmod(here / "f", 0o750)
    inode = os.stat(here / "f").st_ino
    moved = session.call("move_file", {"source": "f", "destination": "a/b/g"})
    assert moved["replaced"] is False and not (here / "f").exists()
    about = os.stat(here / "a/b/g")
    assert (about.st_ino, about.st_mode & 0o7777) == (inode, 0o750)


def test_a_move_onto_what_is_there_is_refused_where_asked_and_told_where_not(session, here):
    """That server's page says the move fails; its rename overwrites without a word."""
    (here / "f").write_text("new")
    (here / "g").write_text("old")
    session.refused("move_file", {"source": "f", "destination": "g", "overwrite": False}, "EEXIST")
    assert (here / "f").read_text() == "new" and (here / "g").read_text() == "old"
    assert session.call("move_file", {"source": "f", "destination": "g"})["replaced"] is True
    assert (here / "g").read_text() == "new"


@pytest.mark.parametrize("source, destination, code", [
    ("nope", "x", "ENOENT"), ("f", "../x", "ESCAPE"), ("../x", "f2", "ESCAPE"), ("f", "f/x", "ENOTDIR"), ("d", "d/inside", "INVALID_ARGUMENT"),
    ("d", "f", "ENOTDIR"), ("f", "d", "EISDIR"), ("d", "full", "NOT_EMPTY"), (".", "x", "ROOT_REFUSED"), ("f", ".", "ROOT_REFUSED"),
])
def test_a_move_that_cannot_be_changes_nothing(session, here, source, destination, code):
    (here / "f").write_text("x")
    (here / "d").mkdir()
    (here / "full").mkdir()
    (here / "full/it").write_text("y")
    session.refused("move_file", {"source": source, "destination": destination}, code)
    assert sorted(str(path.relative_to(here)) for path in here.rglob("*")) == ["d", "f", "full", "full/it"]


# Names that are looked for


def test_names_are_found_at_every_depth_and_left_out_by_pattern(session, here):
    for name in ("test.txt", "test.log", "src/test.js", "src/deep/er/test.md", "node_modules/test.txt", "src/node_modules/test.js", ".test"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text("")

    def found(**arguments):
        return set(session.call("glob_files", {"sort": "name", **arguments})["matches"])

    assert found(pattern="**/*test*", exclude=["*.log", "**/node_modules/**"]) == {"test.txt", "src/test.js", "src/deep/er/test.md"}
    assert found(pattern="*test*") == {"test.txt", "test.log"}
    assert found(pattern="*test*", include_hidden=True) == {"test.txt", "test.log", ".test"}
    assert found(pattern="**/test.*", path="src", exclude=["deep/**"]) == {"src/test.js", "src/node_modules/test.js"}
    assert found(pattern="**/test.{md,js}", exclude=["**/node_modules/*"]) == {"src/test.js", "src/deep/er/test.md"}
    assert found(pattern="nothing*") == set()


def test_a_search_goes_on_past_what_it_may_not_enter(session, here):
    (here / "ok").write_text("needle\n")
    os.symlink("/", here / "out")
    os.symlink(".", here / "round")
    os.symlink("nowhere", here / "dangling")
    assert session.call("glob_files", {"pattern": "**", "type": "file"})["matches"] == ["ok"]
    assert [match["path"] for match in session.call("search_files", {"pattern": "needle"})["matches"]] == ["ok"]


def test_a_listing_tells_sizes_and_can_be_ordered_by_them(session, here):
    for name, size in (("small", 1), ("large", 3000), ("empty", 0)):
        (here / name).write_bytes(b"x" * size)
    (here / "d").mkdir()
    listed = session.call("list_directory", {"sort": "size"})["entries"]
    files = [(entry["name"], entry["size"]) for entry in listed if entry["type"] == "file"]
    assert files == [("large", 3000), ("small", 1), ("empty", 0)]


# Paths


@pytest.mark.parametrize("path", [
    "..", "../x", "a/../../x", "./../x", "a/b/../../../x", "/etc/passwd", "/", "//etc/passwd", "/tmp/x", "../ws-sibling/x",
    "link/x", "a/link/x", "chain/x", "\x00", "a\x00b",
])
def test_a_path_that_leads_out_is_refused_by_every_tool(session, here, path):
    outside = here.parent / "ws-sibling"
    outside.mkdir()
    (outside / "x").write_text("theirs")
    (here / "a/b").mkdir(parents=True)
    os.symlink(outside, here / "link")
    os.symlink(outside, here / "a/link")
    os.symlink("link", here / "chain")
    code = "INVALID_ARGUMENT" if "\x00" in path else "ESCAPE"
    for tool, more in (
        ("read_file", {}), ("write_file", {"content": "planted"}), ("edit_file", {"old_string": "theirs", "new_string": "planted"}),
        ("delete_file", {"recursive": True}), ("create_directory", {}), ("tail_log", {"follow_seconds": 0}), ("download_chunk", {}),
        ("upload_chunk", {"data": "AA==", "total_size": 1}),
    ):
        text = session.refused(tool, {"path": path, **more}, code)
        assert "theirs" not in text
    for words in ({"source": path, "destination": "mine"}, {"source": "a", "destination": path}):
        session.refused("move_file", words, code)
    assert (outside / "x").read_text() == "theirs" and os.listdir(outside) == ["x"]
    assert sorted(os.listdir(here)) == ["a", "chain", "link"]


def test_the_roots_own_full_name_is_a_way_in_and_its_namesakes_is_none(session, here):
    """A root of /box/ws must not let /box/ws-evil or /box/wsx in."""
    (here / "f").write_text("mine")
    for twin in ("ws-evil", "wsx"):
        (here.parent / twin).mkdir()
        (here.parent / twin / "f").write_text("theirs")
        session.refused("read_file", {"path": f"{here.parent}/{twin}/f"}, "ESCAPE")
    for way in (f"{here}/f", f"{here}//f", f"{here}/./f", f"{here}/", str(here)):
        about = session.call("file_info", {"path": way})
        assert about["exists"] and about["path"].startswith(str(here))


@pytest.mark.parametrize("name", [
    "with space", " leading", "trailing ", "100%", "%2e%2e", "..%2f..", "...", "..data", "a..b", "~", "~root", "$HOME", "`id`", "*", "?", "[a]", "{a,b}",
    "-rf", "#hash", "semi;colon", "quote'd", 'double"d', "back\\slash", "tab\there", "new\nline", "日本語", "e\u0301", "\u00e9", "🙂", "C:\\x", "\u202efdp.exe",
])
def test_any_name_is_a_name_and_nothing_more(session, here, name):
    """Written, listed, found, read, moved and deleted by the name as it was given and as it was listed."""
    session.call("write_file", {"path": f"./{name}", "content": "x\n"})
    assert os.listdir(here) == [name]
    (entry,) = session.call("list_directory", {"include_hidden": True})["entries"]
    assert entry["name"] == name
    shown = session.text("list_directory", {"include_hidden": True}).splitlines()[-1].split("\t", 3)[3]
    for way in (f"./{name}", f"{here}/{name}", shown if shown.startswith('"') else f"./{shown}"):
        assert session.call("read_file", {"path": way})["content"] == "x\n", way
    (match,) = session.call("glob_files", {"pattern": "*", "include_hidden": True})["matches"]
    session.call("move_file", {"source": match if shown.startswith('"') else f"./{name}", "destination": f"./{name}.2"})
    assert os.listdir(here) == [f"{name}.2"]
    session.call("delete_file", {"path": f"./{name}.2"})
    assert os.listdir(here) == []


def test_a_name_of_any_length_is_taken_or_refused_in_words(session, here):
    session.call("write_file", {"path": "x" * 255, "content": ""})
    session.refused("write_file", {"path": "x" * 256, "content": ""}, "ENAMETOOLONG")
    deep = "/".join(["d" * 100] * 30)
    session.call("write_file", {"path": f"{deep}/f", "content": "deep"})
    assert session.call("read_file", {"path": f"{deep}/f"})["content"] == "deep"
    session.refused("read_file", {"path": "p/" * 3000}, "INVALID_ARGUMENT")
    assert not list(here.glob(".agentbox*"))


def test_a_link_that_changes_between_look_and_use_leads_nowhere_outside(session, here):
    """That server looks first and opens then. Somebody swaps a folder for a link all the while."""
    outside = here.parent / "outside"
    outside.mkdir()
    (outside / "f").write_text("theirs")
    (here / "d").mkdir()
    (here / "d/f").write_text("mine")
    os.symlink(outside, here / "l")
    over = threading.Event()

    def swap():
        while not over.is_set():
            for one, other in (("d", "x"), ("l", "d"), ("d", "l"), ("x", "d")):
                os.rename(here / one, here / other)
            time.sleep(0.0002)  # lets the others have their turn

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        seen = set()
        for number in range(200):
            tool, more = [("read_file", {}), ("write_file", {"content": "mine", "create_dirs": False, "fsync": False})][number % 2]
            result = session.request("tools/call", {"name": tool, "arguments": {"path": "d/f", **more}})
            seen.add(result["_meta"]["agentbox/error"]["code"] if result["isError"] else result["structuredContent"].get("content"))
    finally:
        over.set()
        swapper.join()
    assert "theirs" not in seen and (outside / "f").read_text() == "theirs" and os.listdir(outside) == ["f"]


# New folders


def test_a_folder_is_made_with_its_parents_and_again_without_an_error(session, here):
    assert session.call("create_directory", {"path": "a/b/c"})["created"] is True
    assert session.call("create_directory", {"path": "a/b/c"})["created"] is False
    (here / "f").write_text("")
    session.refused("create_directory", {"path": "f"}, "EEXIST")
    session.refused("create_directory", {"path": "f/x"}, "ENOTDIR")
