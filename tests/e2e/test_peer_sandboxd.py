"""The reference daemon of the runtime interface, and the example server of its examples: what they do well is done here, and where
they lose or leak something, ours does not. (That an unknown tool is an error of the protocol is for the transcripts.)"""
import base64
import hashlib
import json
import os
import re

import pytest
from kit.bare import bare_session, peak_memory
from kit.programs import SANITIZED


@pytest.fixture
def here(tmp_path):
    return tmp_path / "ws"


@pytest.fixture
def session(tmp_path):
    with bare_session(tmp_path) as opened:
        yield opened


# Files of the daemon


def test_deleting_a_link_deletes_the_link(session, here):
    """There DELETE of a link removes what it leads to, and leaves the link."""
    (here / "real").write_text("kept")
    (here / "link").symlink_to("real")
    (here / "dangling").symlink_to("nowhere")
    (here / "out").symlink_to("/etc/passwd")
    for name in ("link", "dangling", "out"):
        assert session.call("delete_file", {"path": name})["type"] == "symlink"
    assert os.listdir(here) == ["real"] and (here / "real").read_text() == "kept"


def test_writing_a_link_keeps_it_and_writes_no_further_than_the_workspace(session, here):
    (here / "real").write_text("old")
    (here / "link").symlink_to("real")
    outside = here.parent / "home" / "theirs"
    outside.write_text("theirs")
    (here / "out").symlink_to(outside)
    (here / "new-out").symlink_to(here.parent / "home" / "new")
    session.call("write_file", {"path": "link", "content": "new"})
    assert (here / "link").is_symlink() and (here / "real").read_text() == "new"
    for name in ("out", "new-out"):
        session.refused("write_file", {"path": name, "content": "planted"}, "ESCAPE")
    assert outside.read_text() == "theirs" and os.listdir(here.parent / "home") == ["theirs"]


def test_a_write_on_a_condition_is_one(session, here):
    """There If-Match is not looked at."""
    old = session.call("write_file", {"path": "f", "content": "old", "if_absent": True})["sha256"]
    assert old == hashlib.sha256(b"old").hexdigest()
    session.refused("write_file", {"path": "f", "content": "x", "if_absent": True}, "EEXIST")
    session.call("write_file", {"path": "f", "content": "new", "if_sha256": old})
    for tool, more in (("write_file", {"content": "x"}), ("edit_file", {"old_string": "new", "new_string": "x"}), ("delete_file", {})):
        text = session.refused(tool, {"path": "f", "if_sha256": old, **more}, "PRECONDITION_FAILED")
        assert text.startswith(f"{tool}: PRECONDITION_FAILED: ")
    session.refused("move_file", {"source": "f", "destination": "g", "if_sha256": old}, "PRECONDITION_FAILED")
    session.refused("write_file", {"path": "absent", "content": "x", "if_sha256": old}, "PRECONDITION_FAILED")
    assert os.listdir(here) == ["f"] and (here / "f").read_text() == "new"


def test_a_range_is_that_range(session, here):
    content = bytes(range(256)) * 16
    (here / "f").write_bytes(content)
    for offset, length in ((0, 1), (100, 200), (4095, 1), (4000, 5000)):
        said = session.call("download_chunk", {"path": "f", "offset": offset, "length": length})
        assert base64.b64decode(said["data"]) == content[offset : offset + length]
        assert (said["size"], said["eof"]) == (4096, offset + length >= 4096)
    assert session.call("download_chunk", {"path": "f", "offset": 4096, "length": 1})["eof"] is True
    session.refused("download_chunk", {"path": "f", "offset": 4097, "length": 1}, "RANGE")


@pytest.mark.parametrize("path", ["%2E%2E/%2E%2E/etc/passwd", "dir%2Fsub%2Ffile", "a%00b", "+", "a?recursive=true"])
def test_nothing_is_decoded_in_a_path(session, here, path):
    """That is for URLs: here such a name is a name, and leads nowhere else."""
    session.call("write_file", {"path": path, "content": "x"})
    assert (here / path).read_text() == "x"
    session.call("delete_file", {"path": path.split("/")[0], "recursive": True})
    assert os.listdir(here) == []


# Processes of the daemon


def test_output_of_any_length_is_held_in_a_bounded_memory(session):
    said = session.call("shell_exec", {"command": "head -c 300000000 /dev/zero; head -c 50000000 /dev/zero >&2"}, 120)
    assert (said["stdout_bytes"], said["stderr_bytes"], said["truncated"]) == (300_000_000, 50_000_000, True)
    if not SANITIZED:
        assert peak_memory(session.process.pid) < 64 << 20
    session.ping()


def test_a_process_goes_on_when_who_started_it_asks_no_more(session):
    """There a process dies with the stream that started it, and nothing lists it."""
    started = session.call("process_start", {"command": "echo up; read l; echo got $l", "name": "on", "wait_for": "up", "wait_seconds": 20}, 40)
    number = session.start("tools/call", {"name": "process_output", "arguments": {"process_id": "on", "pattern": "never", "wait_seconds": 50}})
    session.notify("notifications/cancelled", {"requestId": number})
    (listed,) = session.call("process_list", {"name": "on"})["processes"]
    assert (listed["status"], listed["pid"]) == ("running", started["pid"])
    session.call("process_input", {"process_id": "on", "data": "tea\n", "wait_for_pattern": "got tea", "wait_seconds": 20}, 40)
    end = session.call("process_output", {"process_id": "on", "cursor": 0, "wait_seconds": 20, "wait_for": "exit"}, 40)
    assert (end["output"], end["exit_code"]) == ("up\ngot tea\n", 0)


# The example server


def test_blobs_answer_in_both_forms_that_its_client_reads(session, here):
    assert session.request("tools/call", {"name": "list_blobs"})["content"] == []
    assert session.call("list_blobs") == {"result": []}
    written = session.request("tools/call", {"name": "write_random_blob", "arguments": {"name": "b", "size_bytes": "7"}})
    digest = hashlib.sha256((here / "b").read_bytes()).hexdigest()
    assert written["structuredContent"] == {"path": f"{here}/b", "bytes_written": 7, "sha256": digest}
    assert written["content"][0]["text"] == json.dumps(written["structuredContent"], indent=2)
    read = session.request("tools/call", {"name": "read_blob", "arguments": {"name": "b"}})
    assert read["structuredContent"] == {"path": f"{here}/b", "size_bytes": 7, "sha256": digest}
    assert read["content"][0]["text"] == json.dumps(read["structuredContent"], indent=2)
    (here / "a").write_text("")
    (here / "d").mkdir()
    listed = session.request("tools/call", {"name": "list_blobs", "arguments": {}})
    assert [block["text"] for block in listed["content"]] == listed["structuredContent"]["result"] == ["a", "b"]


def test_errors_of_blobs_are_worded_as_its_client_knows_them(session, here):
    (here / "d").mkdir()
    for name, words in (("../x", "path escapes workspace: '../x'"), ("nope", f"[Errno 2] No such file or directory: '{here}/nope'"),
                        ("d", f"[Errno 21] Is a directory: '{here}/d'")):
        result = session.request("tools/call", {"name": "read_blob", "arguments": {"name": name}})
        assert (result["isError"], result["content"][0]["text"]) == (True, f"Error executing tool read_blob: {words}")
    for size in (-1, (16 << 20) + 1):
        result = session.request("tools/call", {"name": "write_random_blob", "arguments": {"name": "b", "size_bytes": size}})
        assert result["isError"] and result["content"][0]["text"].endswith("size_bytes must be in [0, 16 MiB]"), result


@pytest.mark.parametrize("tool, arguments, words", [
    ("write_random_blob", {"name": "b", "size_bytes": "many"}, ["size_bytes", "integer"]), ("write_random_blob", {"name": "b"}, ["size_bytes", "missing"]),
    ("read_file", {"path": 7}, ["path", "string"]), ("read_file", {"path": "f", "limit": [1]}, ["limit", "integer"]),
])
def test_a_bad_argument_is_told_in_words_of_its_own(session, tool, arguments, words):
    """There it is a validation library's dump, with an address to read on at."""
    text = session.refused(tool, arguments, "INVALID_ARGUMENT")
    assert all(word in text for word in words), text
    assert not re.search(r"https?://|pydantic|input_value|Traceback", text)
