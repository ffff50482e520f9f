"""sandbox_reset: all that belongs to the box ends, and on request the workspace is empty after."""
import os

import pytest
from kit.bare import bare_session
from kit.processes import descendants
from kit.waiting import wait_until


@pytest.fixture
def admin(tmp_path):
    with bare_session(tmp_path, role="admin") as session:
        yield session


def reset(session, **arguments):
    return session.call("sandbox_reset", {"confirm": "RESET", **arguments}, 60.0)


def test_everything_that_belongs_to_the_box_ends(admin, tmp_path):
    admin.call("process_start", {"command": "sleep 741", "name": "job"})
    task = {"name": "shell_exec", "arguments": {"command": "sleep 742"}, "task": {}}
    admin.request("tools/call", task)
    admin.call("code_execute", {"language": "bash", "code": "x=1"})
    admin.call("watch_files", {"wait_seconds": 0})
    upload = admin.call("upload_chunk", {"path": "part", "data": "eA==", "offset": 0, "total_size": 2})
    admin.call("write_file", {"path": "kept", "content": "kept"})
    done = reset(admin)
    assert done["processes_killed"] == 2 and done["contexts_closed"] == 1 and done["uploads_dropped"] == 1
    assert done["files_deleted"] == 0
    assert admin.call("read_file", {"path": "kept"})["content"] == "kept"
    assert admin.call("process_list", {})["processes"] == []
    assert admin.call("code_context_list", {})["contexts"] == []
    assert admin.request("tasks/list", {})["tasks"] == []
    refused = admin.request("tools/call", {"name": "upload_chunk", "arguments": {"upload_id": upload["upload_id"]}})
    assert refused["isError"] and "UNKNOWN_UPLOAD" in refused["content"][0]["text"]
    left = [name for name in os.listdir(tmp_path / "ws") if name != "kept"]
    assert left == []
    sleeping = lambda: [one for one in descendants(admin.process.pid) if {"741", "742"} & set(one.command)]
    wait_until("nothing of it runs", lambda: not sleeping())
    # A second time there is nothing to do, and the box works on.
    assert not any(reset(admin).values())
    assert admin.shell("echo on")["stdout"] == "on\n"


def test_wiping_empties_the_workspace_and_nothing_behind_a_link(admin, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept", encoding="utf-8")
    ws = tmp_path / "ws"
    (ws / "deep" / "er").mkdir(parents=True)
    (ws / "deep" / "er" / "file").write_text("x", encoding="utf-8")
    (ws / "deep").chmod(0o500)
    (ws / "link").symlink_to(outside)
    (ws / ".hidden").write_text("x", encoding="utf-8")
    os.mkfifo(ws / "fifo")
    with open(os.fsencode(ws) + b"/\xff", "w", encoding="utf-8"):
        pass
    assert reset(admin, wipe=True)["files_deleted"] == 5
    assert os.listdir(ws) == [] and (outside / "kept").read_text(encoding="utf-8") == "kept"


@pytest.mark.parametrize("role", ["agent", "operator", "reader"])
def test_only_an_admin_s_key_may_reset(tmp_path, role):
    with bare_session(tmp_path, role=role) as session:
        assert "sandbox_reset" not in [tool["name"] for tool in session.request("tools/list", {})["tools"]]
        refused = session.request("tools/call", {"name": "sandbox_reset", "arguments": {"confirm": "RESET", "wipe": True}})
        assert refused["isError"] and "FORBIDDEN" in refused["content"][0]["text"]


@pytest.mark.parametrize("confirm", ["reset", "", "yes", None, True])
def test_the_word_must_be_right(admin, tmp_path, confirm):
    (tmp_path / "ws" / "kept").write_text("kept", encoding="utf-8")
    refused = admin.request("tools/call", {"name": "sandbox_reset", "arguments": {"confirm": confirm, "wipe": True}})
    assert refused["isError"] and "INVALID_ARGUMENT" in refused["content"][0]["text"]
    assert (tmp_path / "ws" / "kept").exists()
