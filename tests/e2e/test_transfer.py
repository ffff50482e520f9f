"""Files in pieces: over a link that is cut, over sessions that are killed, and what is left of them."""
import base64
import hashlib
import os
import subprocess

import pytest
from kit import programs
from kit.bare import bare_session
from kit.processes import of_this_world
from kit.waiting import wait_until

PIECE = 3 << 20
TEMPORARY = ".agentbox-tmp-"


def sum_of(data):
    return hashlib.sha256(data).hexdigest()


def network_children():
    return {process.pid for process in of_this_world("agentbox-sshd")}


def start(box, *words, **pipes):
    """A command of the operator's on BOX, and the network child that it talks to."""
    before = network_children()
    process = subprocess.Popen([programs.PROVISION, *words], stderr=subprocess.PIPE, **pipes)
    (child,) = wait_until("it is connected", lambda: network_children() - before)
    return process, child


def unfinished(folder):
    return [path for path in folder.rglob("*") if path.name.startswith(TEMPORARY)]


def test_a_push_whose_link_is_cut_goes_on_where_it_was(box):
    data = os.urandom(3 * PIECE + 17)
    workspace = box.folder() / "local/box/workspace"
    process, child = start(box, "push", box.name, "-", "cut/push", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        # It reads one piece ahead, so the first is sent and the second waits for more.
        process.stdin.write(data[: 2 * PIECE])
        process.stdin.flush()
        wait_until("a piece has arrived", lambda: [p for p in unfinished(workspace) if p.stat().st_size == PIECE])
        os.kill(child, 9)
        process.stdin.write(data[2 * PIECE :])
        process.stdin.close()
        words = process.stderr.read()
        assert process.wait(60) == 0, words
    finally:
        programs.kill_quietly(process)
    assert b"dialling again" in words
    assert (workspace / "cut/push").read_bytes() == data
    assert not unfinished(workspace)


def test_a_pull_whose_link_is_cut_goes_on_where_it_was(box, tmp_path):
    data = os.urandom(16 << 20)
    source = box.folder() / "local/box/workspace/pull"
    source.write_bytes(data)
    source.chmod(0o644)
    process, child = start(box, "pull", box.name, "pull", "-", stdout=subprocess.PIPE)
    try:
        got = process.stdout.read(1 << 20)  # it has come this far, and waits for us
        os.kill(child, 9)
        got += process.stdout.read()
        words = process.stderr.read()
        assert process.wait(60) == 0, words
    finally:
        programs.kill_quietly(process)
    assert b"dialling again" in words and got == data


def test_a_push_that_fails_leaves_nothing(box, tmp_path):
    workspace = box.folder() / "local/box/workspace"
    process, _ = start(box, "push", box.name, "-", "half/push", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        process.stdin.write(os.urandom(2 * PIECE))
        process.stdin.flush()
        wait_until("a piece has arrived", lambda: unfinished(workspace))
        with box.session() as session:
            session.shell("rm half/.agentbox-tmp-*")
        process.stdin.close()
        assert process.wait(60) == 1
    finally:
        programs.kill_quietly(process)
    assert not (workspace / "half").exists()


# A session by itself, killed at will


def send(session, data=b"", **arguments):
    if data:
        arguments["data"] = base64.b64encode(data).decode()
    return session.call("upload_chunk", arguments)


@pytest.mark.parametrize("times", [1, 5])
def test_an_upload_outlives_every_session_that_is_killed(tmp_path, times):
    data = os.urandom(times * 100_000)
    with bare_session(tmp_path) as session:
        upload = send(session, path="big", total_size=len(data))["upload_id"]
    for at in range(0, len(data), 100_000):
        with bare_session(tmp_path) as session:
            assert send(session, upload_id=upload)["received_bytes"] == at
            assert not (tmp_path / "ws/big").exists()
            said = send(session, data[at : at + 100_000], upload_id=upload, offset=at)
            session.process.kill()
    assert said["complete"] is True and said["sha256"] == sum_of(data)
    assert (tmp_path / "ws/big").read_bytes() == data
    with bare_session(tmp_path) as session:  # who missed the answer asks again
        assert send(session, upload_id=upload)["complete"] is True
        assert session.call("list_directory", {"include_hidden": True})["entry_count"] == 1


def test_pieces_of_one_upload_sent_at_once_are_taken_one_after_another(tmp_path):
    with bare_session(tmp_path) as session:
        upload = send(session, path="f", total_size=8)["upload_id"]
        call = {"upload_id": upload, "offset": 0, "data": base64.b64encode(b"abcd").decode()}
        numbers = [session.start("tools/call", {"name": "upload_chunk", "arguments": call}) for _ in range(16)]
        for number in numbers:
            said = session.reply(number)["result"]
            assert said["isError"] is False and said["structuredContent"]["received_bytes"] == 4
        assert send(session, b"efgh", upload_id=upload, offset=4)["complete"] is True
        assert (tmp_path / "ws/f").read_bytes() == b"abcdefgh"
