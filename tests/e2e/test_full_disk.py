"""A disk that is full: every tool says so, what was there before stays as it was, and all works again when there is room."""
import re

import pytest
from kit import programs
from kit.bare import bare_session
from kit.target import public_line, run
from kit.waiting import wait_until

pytestmark = pytest.mark.skipif(not programs.AS_ROOT, reason="a small disk of one's own needs root")


@pytest.fixture
def disk(tmp_path):
    """Makes small disks; tmp_path/NAME is each one's folder."""
    mounted = []

    def make(folder, size, owner=None):
        folder.mkdir(parents=True, exist_ok=True)
        who = f",uid={owner['user']},gid={owner['group']}" if owner else ""
        run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700{who}", "tmpfs", folder]).check_returncode()
        mounted.append(folder)
        return folder

    yield make
    for folder in reversed(mounted):
        run(["umount", "--lazy", folder]).check_returncode()


def fill(folder):
    """To the last byte."""
    with open(folder / "ballast", "wb", buffering=0) as ballast:
        for size in (1 << 16, 4096):
            with pytest.raises(OSError):
                while True:
                    ballast.write(b"x" * size)


def empty(folder):
    (folder / "ballast").unlink()


def failure(session, tool, arguments):
    result = session.request("tools/call", {"name": tool, "arguments": arguments})
    assert result.get("isError"), result
    return result["content"][0]["text"]


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


CHANGES = [
    ("write_file", {"path": "new", "content": "x" * 100_000}),
    ("write_file", {"path": "new/deep/er", "content": "x" * 100_000}),
    ("write_file", {"path": "old", "content": "x" * 100_000}),
    ("write_file", {"path": "old", "content": "x" * 100_000, "fsync": False}),
    ("write_file", {"path": "old", "content": "x" * 100_000, "append": True}),
    ("write_file", {"path": "linked", "content": "x" * 100_000}),
    ("write_file", {"path": "linked", "content": "x" * 100_000, "append": True}),
    ("edit_file", {"path": "old", "old_string": "o", "new_string": "x" * 1000, "replace_all": True}),
    ("edit_file", {"path": "brand-new", "old_string": "", "new_string": "x" * 100_000}),
]


def test_a_full_workspace_changes_nothing_and_says_so(disk, tmp_path):
    workspace = disk(tmp_path / "ws", "2m")
    with bare_session(tmp_path) as session:
        session.call("write_file", {"path": "old", "content": "one\ntwo\n" * 100})
        session.shell("cp old linked; ln linked second-name; mkdir folder")
        fill(workspace)
        before = {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()}
        listed = names(workspace)
        for tool, arguments in CHANGES:
            said = failure(session, tool, arguments)
            assert "ENOSPC" in said and "disk is full" in said, (tool, arguments, said)
            assert [path for path in before if path.read_bytes() != before[path]] == [], (tool, arguments)
            assert names(workspace) == listed, (tool, arguments)
        assert "No space left" in failure(session, "write_random_blob", {"name": "blob", "size_bytes": 1_000_000})
        assert names(workspace) == listed
        # What needs no room works: to look, and above all to make room.
        assert session.call("read_file", {"path": "old"})["content"] == "one\ntwo\n" * 100
        session.call("move_file", {"source": "old", "destination": "moved"})
        assert session.shell("cat moved | wc -l")["stdout"].strip() == "200"
        session.call("delete_file", {"path": "ballast"})
        session.call("write_file", {"path": "moved", "content": "x" * 100_000})
        assert (workspace / "moved").read_bytes() == b"x" * 100_000
        assert session.finish() == 0


def test_a_move_to_a_full_disk_leaves_the_source(disk, tmp_path):
    """Another file system below the workspace: a move is a copy, which must be whole before the source goes."""
    workspace = tmp_path / "ws"
    other = disk(workspace / "other", "1m")
    with bare_session(tmp_path) as session:
        session.call("write_file", {"path": "source", "content": "y" * 100_000})
        fill(other)
        failure(session, "move_file", {"source": "source", "destination": "other/target"})
        assert (workspace / "source").read_bytes() == b"y" * 100_000
        assert names(other) == ["ballast"]
        assert session.finish() == 0


def test_commands_and_jobs_go_on_where_their_output_has_no_room(disk, tmp_path):
    out = disk(tmp_path / "out", "1m")
    with bare_session(tmp_path) as session:
        burst = "burst) seq 100000; touch burst-is-over;;"
        command = f"while read x; do case $x in {burst} *) echo $x;; esac; done; echo end"
        job = session.call("process_start", {"command": command, "name": "early"})
        fill(out)
        said = session.shell("seq 100000; echo done", max_output_bytes=1000)
        assert said["exit_code"] == 0 and said["stdout"].endswith("done\n"), said
        assert "SPAWN_FAILED" in (said := failure(session, "process_start", {"command": "true", "name": "late"})), said
        assert "No space left" in said
        # A job that runs neither ends nor blocks: more than its pipe holds has been taken.
        session.call("process_input", {"process_id": "early", "data": "burst\n", "wait_seconds": 0})
        wait_until("all is written", (tmp_path / "ws" / "burst-is-over").exists)
        empty(out)
        # With the room its log goes on, and says what is missing.
        said = session.call(
            "process_input", {"process_id": "early", "data": "after\n", "wait_for_pattern": "^after$", "wait_seconds": 10}
        )
        read = session.call("process_output", {"process_id": "early", "cursor": 0, "max_bytes": 262_144})["output"]
        assert "bytes of output are not here: the disk was full]\n" in read and "after\n" in read, (said, read[-200:])
        session.call("process_input", {"process_id": "early", "eof": True, "wait_seconds": 0})
        ended = session.call("process_output", {"process_id": "early", "wait_for": "exit", "wait_seconds": 10})
        assert ended["status"] == "exited" and ended["exit_code"] == 0, ended
        assert job["status"] == "running"
        assert session.call("process_start", {"command": "true", "name": "late"})
        assert session.finish() == 0


def test_a_full_state_folder_keeps_the_door_open_and_old_keys_out(disk, new_door):
    """What the door must remember cannot be written: newer keys hold all the same, and are kept when there is room."""
    door = new_door()
    state = disk(door.folder / "door" / "state", "64k", programs.account("agentbox-door"))
    door.start()
    with door.target.session() as session:
        fill(state)
        door.write_keys(public_line(door.key), generation="7\n")
        door.await_audit("keys_loaded", lambda line: line.get("generation") == 7)
        wait_until("the log says so", lambda: "cannot be kept" in door.log.read_text(encoding="utf-8"))
        session.shell("true")
        door.await_session()
        door.write_keys(public_line(door.key), generation="6\n")
        door.await_audit("keys_loaded", lambda line: "refused" in line and "6 is older than 7" in line["refused"])
        empty(state)
        wait_until("it is kept", lambda: re.search(r"\b7\b", (state / "keys_generation").read_text(encoding="utf-8")))
        session.shell("true")
        assert session.finish() == 0
    door.monitor.kill()
    door.monitor.wait()
    door.stop()
    door.start_monitor()
    door.start_spawner()
    door.write_keys(public_line(door.key), generation="7\n")
    door.await_session()
    assert [line["seq"] for line in door.audit()] == list(range(1, len(door.audit()) + 1))
