"""The link is cut in the middle of a call of every tool there is: nothing of the call stays, and each file is old or new, whole."""
import asyncio
import itertools
import socket
import struct

import pytest
from kit.crowd import Line, connect
from kit.waiting import wait_until

OLD, NEW = "old line\n" * 30_000, "new line\n" * 30_000
MANY = 300  # files that a call goes through
# When the link goes, in seconds after the call was sent: before it began, within it, and where it is a quick one, after.
MOMENTS = [0.0, 0.004, 0.02]
# A call of each tool that takes as long as its tool can be made to; {n} is another number in each call.
CALLS = {
    "shell_exec": {"command": "touch mark-{n}; echo; sleep 4321"},
    "process_start": {"command": "sleep 4322", "name": "job-{n}", "wait_for": "never", "wait_seconds": 30},
    "process_list": {"system": True},
    "process_output": {"process_id": "cat", "pattern": "never", "wait_seconds": 30},
    "process_input": {"process_id": "cat", "data": "x" * 100_000, "wait_for_pattern": "never", "wait_seconds": 30},
    "process_kill": {"name": "stubborn-{n}", "grace_seconds": 30},
    "process_resize": {"process_id": "terminal", "cols": 100, "rows": 30},
    "read_file": {"path": "old", "limit": 270_000},
    "read_media": {"path": "blob"},
    "write_file": {"path": "written", "content": NEW},
    "edit_file": {"path": "edited", "old_string": "old", "new_string": "new", "replace_all": True},
    "apply_edits": {"operations": [
        {"op": "write", "path": "written", "content": NEW},
        {"op": "edit", "path": "edited", "edits": [{"old_string": "old", "new_string": "new", "replace_all": True}]}]},
    "apply_patch": {"patch": "*** Begin Patch\n*** Add File: patched-{n}\n" + "+x\n" * 100_000 + "*** End Patch\n"},
    "list_directory": {"depth": 20, "limit": 10_000},
    "move_file": {"source": "from-{n}", "destination": "to-{n}"},
    "copy_file": {"source": "many", "destination": "copy-{n}", "recursive": True},
    "delete_file": {"path": "tree-{n}", "recursive": True},
    "tail_log": {"path": "old", "follow_seconds": 60},
    "watch_files": {"path": "many", "wait_seconds": 50},
    "file_info": {"path": "old", "sha256": True},
    "create_directory": {"path": "folder-{n}/a/b/c"},
    "read_files": {"paths": [f"many/{number}" for number in range(50)]},
    "glob_files": {"pattern": "**", "limit": 5000},
    "search_files": {"pattern": "line|needle"},
    "download_chunk": {"path": "old", "length": 2 << 20, "file_sha256": True},
    "upload_chunk": {"path": "up-{n}", "data": "AAAA" * 1_000_000, "total_size": 3_000_000},
    "code_execute": {"code": "import subprocess; subprocess.run(['sleep', '4323'])"},
    "code_context_create": {"name": "context-{n}", "language": "bash"},
    "code_context_list": {},
    "code_context_delete": {"context_id": "context"},
    "set_permissions": {"path": "many", "mode": "0644", "recursive": True},
    "list_ports": {"protocol": "all"},
    "list_blobs": {},
    "write_random_blob": {"name": "blob-{n}", "size_bytes": 10_000_000},
    "read_blob": {"name": "blob"},
    "system_info": {},
}
numbers = itertools.count(1)


def numbered(value, number):
    if isinstance(value, dict):
        return {name: numbered(each, number) for name, each in value.items()}
    return value.replace("{n}", str(number)) if isinstance(value, str) else value


def workspace(door):
    return door.folder / "box" / "workspace"


def sleepers(door):
    return [process for process in door.box_processes() if {"4321", "4322", "4323"} & set(process.command)]


def end_contexts(session, wanted):
    for context in session.call("code_context_list")["contexts"]:
        if wanted(context):
            session.call("code_context_delete", {"context_id": context["context_id"]})


@pytest.fixture(scope="module")
def stage(shared_door):
    """What the calls find: files, trees, and jobs that outlive every session."""
    with shared_door.target.session() as session:
        session.shell(
            f"mkdir many; for i in $(seq 0 {MANY}); do echo needle $i > many/$i; done\n"
            f"for i in $(seq 0 {3 * len(CALLS)}); do mkdir -p tree-$i/a/b; echo x > tree-$i/a/b/c; echo $i > from-$i; done"
        )
        for name in ("old", "written", "edited"):
            session.call("write_file", {"path": name, "content": OLD})
        session.call("write_random_blob", {"name": "blob", "size_bytes": 1_000_000})
        session.call("process_start", {"name": "cat", "command": "cat > /dev/null"})
        session.request("tools/call", {"name": "code_execute", "arguments": {"code": "1"}})  # the default context
        session.call("process_start", {"name": "terminal", "command": "sleep 1000", "tty": {"cols": 80}})
        # What holds the watches of the box outlives the calls, as a job does.
        session.call("watch_files", {"path": "many", "wait_seconds": 0})
        assert session.finish() == 0
    yield shared_door
    with shared_door.target.session() as session:
        end_contexts(session, lambda context: True)
        for name in ("cat", "terminal"):
            session.request("tools/call", {"name": "process_kill", "arguments": {"name": name, "force": True}})
        assert session.finish() == 0


def published_tools(door):
    with door.target.session() as session:
        return [tool["name"] for tool in session.request("tools/list")["tools"]]


def test_there_is_a_call_for_every_tool(stage):
    assert sorted(published_tools(stage)) == sorted(CALLS)


async def cut(door, tool, number, moment):
    connection = await connect(door)
    line = await Line.open(connection)
    line.send({"jsonrpc": "2.0", "id": 99, "method": "tools/call",
               "params": {"name": tool, "arguments": numbered(CALLS[tool], number)}})
    await asyncio.sleep(moment)
    # A reset, as from a machine between that has forgotten the connection.
    wire = connection.get_extra_info("socket")
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.abort()


def reset_files(door):
    for name in ("written", "edited"):
        path = workspace(door) / name
        assert path.read_text(encoding="utf-8") in (OLD, NEW), name
        path.write_text(OLD, encoding="utf-8")


def assert_nothing_stays(door, tool, number):
    """No session, no command, no unfinished file; a job is there as a whole or not at all."""
    wait_until(f"{tool}: its connection is gone", lambda: not door.connections(), 15)
    wait_until(f"{tool}: its session is gone", lambda: not door.sessions(), 15)
    if tool != "process_start":
        wait_until(f"{tool}: its command is gone", lambda: not sleepers(door))
    here = workspace(door)
    assert not list(here.rglob(".agentbox-tmp-*")), tool
    for gone, come in ((f"from-{number}", f"to-{number}"),):
        assert (here / gone).exists() != (here / come).exists(), tool
    for path in here.glob(f"tree-{number}/a/b/c"):
        assert path.read_text(encoding="utf-8") == "x\n", tool
    for path in here.glob(f"copy-{number}"):
        assert len(list(path.iterdir())) == MANY + 1, tool
    blob = [path for path in here.rglob(f"blob-{number}")]
    assert all(path.stat().st_size == 10_000_000 for path in blob), tool


def start_its_job(door, number):
    """One that does not end when it is told to, so that the call that tells it takes long."""
    with door.target.session() as session:
        session.call("process_start", {"name": f"stubborn-{number}", "command": "trap '' TERM; while :; do sleep 1; done"})
        assert session.finish() == 0
    wait_until("the session is gone", lambda: not door.sessions() and not door.connections())


def end_its_job(door, number, keepers):
    """A job outlives its session: whoever comes next sees it and can end it."""
    with door.target.session() as session:
        for job in session.call("process_list", {"all": False})["processes"]:
            if job["name"] in (f"job-{number}", f"stubborn-{number}"):
                session.call("process_kill", {"name": job["name"], "force": True})
        end_contexts(session, lambda context: context.get("name") == f"context-{number}")
        assert session.finish() == 0
    wait_until("no job is left that nobody knows of", lambda: sorted(door.keepers()) == keepers and not sleepers(door))


@pytest.mark.parametrize("tool", sorted(CALLS))
def test_a_link_cut_in_the_middle_of(stage, tool):
    keepers = sorted(stage.keepers())
    for moment in MOMENTS:
        number = next(numbers)
        if tool == "process_kill":
            start_its_job(stage, number)
        asyncio.run(cut(stage, tool, number, moment))
        assert_nothing_stays(stage, tool, number)
        if tool in ("process_start", "process_kill", "code_context_create"):
            end_its_job(stage, number, keepers)
        reset_files(stage)
    assert sorted(stage.keepers()) == keepers
    stage.await_session()
