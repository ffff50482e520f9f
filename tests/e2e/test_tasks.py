"""Calls that run as tasks: both dialects of the protocol over one engine, and tasks that outlive their session."""
import os

import pytest
from kit.bare import bare_session
from kit.waiting import wait_until

EXTENSION = "io.modelcontextprotocol/tasks"


def envelope(**extensions):
    return {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"extensions": extensions} if extensions else {},
        }
    }


def allowed(**params):
    """Parameters of a request whose client knows the extension."""
    return {**params, **envelope(**{EXTENSION: {}})}


def result(session, method, params, seconds=60.0):
    return session.request(method, params, seconds)


def error(session, method, params):
    return session.reply(session.start(method, params), 60.0)["error"]


def create(session, command, ttl=None, **arguments):
    task = {} if ttl is None else {"ttl": ttl}
    params = {"name": "shell_exec", "arguments": {"command": command, **arguments}, "task": task}
    return result(session, "tools/call", params)["task"]


def running(door, word):
    return [process for process in door.box_processes() if word in process.command]


@pytest.fixture
def bare(tmp_path):
    with bare_session(tmp_path) as session:
        yield session


def test_core_a_task_is_created_polled_and_its_result_fetched(bare):
    task = create(bare, "echo one; echo two >&2; exit 3", ttl=60_000)
    assert task["status"] == "working" and task["ttl"] == 60_000 and task["pollInterval"] > 0
    final = result(bare, "tasks/result", {"taskId": task["taskId"]})
    assert final["structuredContent"]["exit_code"] == 3
    assert final["structuredContent"]["stdout"] == "one\n" and final["structuredContent"]["stderr"] == "two\n"
    assert final["_meta"]["io.modelcontextprotocol/related-task"] == {"taskId": task["taskId"]}
    assert result(bare, "tasks/get", {"taskId": task["taskId"]})["status"] == "completed"
    # A second time the same.
    assert result(bare, "tasks/result", {"taskId": task["taskId"]}) == final


def test_core_only_this_revision_offers_tasks_and_says_for_which_tools(bare):
    tools = {tool["name"]: tool for tool in result(bare, "tools/list", {})["tools"]}
    assert tools["shell_exec"]["execution"] == {"taskSupport": "optional"}
    assert "execution" not in tools["read_file"]
    modern = result(bare, "tools/list", envelope())["tools"]
    assert not any("execution" in tool for tool in modern)
    refused = error(bare, "tools/call", {"name": "read_file", "arguments": {"path": "x"}, "task": {}})
    assert refused["code"] == -32601
    found = result(bare, "server/discover", envelope())["capabilities"]
    assert found["extensions"] == {EXTENSION: {}} and "tasks" not in found


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18"])
def test_core_an_older_revision_ignores_the_wish_for_a_task(tmp_path, version):
    with bare_session(tmp_path, handshake=False) as session:
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        assert "tasks" not in result(session, "initialize", params)["capabilities"]
        answer = result(session, "tools/call", {"name": "shell_exec", "arguments": {"command": "true"}, "task": {}})
        assert "task" not in answer and "exit_code: 0" in answer["content"][0]["text"]
        assert error(session, "tasks/get", {"taskId": "0" * 32})["code"] == -32601


def test_core_a_result_that_is_an_error_makes_a_failed_task(bare):
    params = {"name": "search_files", "arguments": {"pattern": "("}, "task": {}}
    task = result(bare, "tools/call", params)["task"]
    final = result(bare, "tasks/result", {"taskId": task["taskId"]})
    assert final["isError"] and "BAD_PATTERN" in final["content"][0]["text"]
    assert result(bare, "tasks/get", {"taskId": task["taskId"]})["status"] == "failed"


def test_core_arguments_are_checked_before_there_is_a_task(bare):
    refused = error(bare, "tools/call", {"name": "shell_exec", "arguments": {"comand": "x"}, "task": {}})
    assert refused["code"] == -32602 and "command" in refused["message"]
    assert result(bare, "tasks/list", {})["tasks"] == []


def test_core_cancelling_a_task_kills_its_whole_tree_and_is_final(shared_door):
    with shared_door.target.session() as session:
        task = create(session, "setsid sleep 731 & sleep 731")
        wait_until("both run", lambda: len(running(shared_door, "731")) >= 2)
        assert result(session, "tasks/cancel", {"taskId": task["taskId"]})["status"] == "cancelled"
        wait_until("none is left", lambda: not running(shared_door, "731"))
        assert error(session, "tasks/cancel", {"taskId": task["taskId"]})["code"] == -32602
        assert error(session, "tasks/result", {"taskId": task["taskId"]})["code"] == -32603
        assert result(session, "tasks/get", {"taskId": task["taskId"]})["status"] == "cancelled"


def test_a_task_survives_its_session_and_another_one_fetches_its_result(shared_door):
    with shared_door.target.session() as first:
        task = create(first, "while [ ! -e go-732 ]; do sleep 0.05; done; cat go-732")
        assert first.finish() == 0
    wait_until("no session is left", lambda: not shared_door.sessions())
    with shared_door.target.session() as second:
        assert result(second, "tasks/get", {"taskId": task["taskId"]})["status"] == "working"
        assert task["taskId"] in [one["taskId"] for one in result(second, "tasks/list", {})["tasks"]]
        waiting = second.start("tasks/result", {"taskId": task["taskId"]})
        # Nothing else waits for it.
        second.ping()
        second.call("write_file", {"path": "go-732", "content": "gone on"})
        assert second.reply(waiting, 60.0)["result"]["structuredContent"]["stdout"] == "gone on"


def test_a_cancelled_request_for_a_result_leaves_the_task_alone(bare):
    task = create(bare, "while [ ! -e go ]; do sleep 0.05; done; echo done")
    waiting = bare.start("tasks/result", {"taskId": task["taskId"]})
    bare.notify("notifications/cancelled", {"requestId": waiting})
    bare.ping()
    assert result(bare, "tasks/get", {"taskId": task["taskId"]})["status"] == "working"
    bare.call("write_file", {"path": "go", "content": ""})
    assert result(bare, "tasks/result", {"taskId": task["taskId"]})["structuredContent"]["stdout"] == "done\n"


def test_a_task_whose_process_dies_has_failed_and_says_so(shared_door):
    with shared_door.target.session() as session:
        task = create(session, "sleep 733")
        wait_until("it runs", lambda: running(shared_door, "733"))
        host = running(shared_door, "task-host")[0]  # below it is its command's keeper, with the same words
        shared_door.kill(host.pid)
        assert error(session, "tasks/result", {"taskId": task["taskId"]})["code"] == -32603
        state = result(session, "tasks/get", {"taskId": task["taskId"]})
        assert state["status"] == "failed" and "process" in state["statusMessage"]
        wait_until("nothing of it is left", lambda: not running(shared_door, "733"))


def test_a_task_does_not_show_among_processes(bare):
    task = create(bare, "sleep 30")
    assert bare.call("process_list", {})["processes"] == []
    refused = bare.request("tools/call", {"name": "process_kill", "arguments": {"name": task["taskId"]}})
    assert refused["isError"] and "UNKNOWN_PROCESS" in refused["content"][0]["text"]
    result(bare, "tasks/cancel", {"taskId": task["taskId"]})


def test_a_task_is_forgotten_when_its_time_is_over_and_ended_if_it_still_runs(shared_door):
    with shared_door.target.session() as session:
        for wrong in ("60000", [1], {}, True, -1):
            refused = error(session, "tools/call", {"name": "shell_exec", "arguments": {"command": "true"}, "task": {"ttl": wrong}})
            assert refused["code"] == -32602 and "milliseconds" in refused["message"], refused
        task = create(session, "sleep 734", ttl=1)
        assert task["ttl"] == 1000
        wait_until("it is ended", lambda: not running(shared_door, "734"), 30.0)
        wait_until(
            "nobody knows it",
            lambda: "error" in session.reply(session.start("tasks/get", {"taskId": task["taskId"]})),
            30.0,
        )
        assert create(session, "true", ttl=10**15)["ttl"] == 24 * 3600 * 1000


def test_tasks_are_listed_newest_first_on_pages_that_hold_each_once(bare):
    made = [create(bare, "true")["taskId"] for _ in range(3)]
    for task in made:
        result(bare, "tasks/result", {"taskId": task})
    listed = result(bare, "tasks/list", {})
    assert [task["taskId"] for task in listed["tasks"]] == made[::-1] and "nextCursor" not in listed
    for cursor in ("", "x", "1.x", "1." + "0" * 31, 7, "9" * 40 + "." + "0" * 32):
        assert error(bare, "tasks/list", {"cursor": cursor})["code"] == -32602


@pytest.mark.parametrize("task", ["", "x", "../../etc", "0" * 32, 7, None])
def test_an_unknown_task_is_no_task(bare, task):
    for method in ("tasks/get", "tasks/result", "tasks/cancel"):
        assert error(bare, method, {"taskId": task})["code"] == -32602
    assert error(bare, "tasks/get", {})["code"] == -32602


def test_a_job_is_no_task(bare):
    job = bare.call("process_start", {"command": "sleep 30"})
    assert error(bare, "tasks/get", {"taskId": job["process_id"]})["code"] == -32602


def test_extension_a_call_that_ends_soon_is_answered_as_one(bare):
    answer = result(bare, "tools/call", allowed(name="shell_exec", arguments={"command": "echo soon"}))
    assert answer["resultType"] == "complete" and answer["structuredContent"]["stdout"] == "soon\n"
    assert result(bare, "tasks/list", {})["tasks"] == []


def test_extension_a_long_call_becomes_a_task_whose_result_comes_with_its_state(bare):
    command = "while [ ! -e go ]; do sleep 0.05; done; echo late"
    made = result(bare, "tools/call", allowed(name="shell_exec", arguments={"command": command}), 60.0)
    assert made["resultType"] == "task" and made["status"] == "working" and "content" not in made
    assert made["ttlMs"] > 0 and made["pollIntervalMs"] > 0
    task = made["taskId"]
    assert "result" not in result(bare, "tasks/get", allowed(taskId=task))
    assert result(bare, "tasks/update", allowed(taskId=task, inputResponses={}))["resultType"] == "complete"
    bare.call("write_file", {"path": "go", "content": ""})
    wait_until("it is complete", lambda: result(bare, "tasks/get", allowed(taskId=task))["status"] == "completed", 30.0)
    state = result(bare, "tasks/get", allowed(taskId=task))
    assert state["result"]["structuredContent"]["stdout"] == "late\n"
    # Its end can't be undone.
    result(bare, "tasks/cancel", allowed(taskId=task))
    assert result(bare, "tasks/get", allowed(taskId=task))["status"] == "completed"


def test_extension_is_for_those_who_declare_it_with_the_request(bare):
    answer = result(bare, "tools/call", {"name": "shell_exec", "arguments": {"command": "true"}, "task": {}, **envelope()})
    assert answer["resultType"] == "complete" and "taskId" not in answer
    refused = error(bare, "tasks/get", {"taskId": "0" * 32, **envelope()})
    assert refused["code"] == -32021
    assert EXTENSION in refused["data"]["requiredCapabilities"]["extensions"]
    for method in ("tasks/list", "tasks/result"):
        assert error(bare, method, allowed(taskId="0" * 32))["code"] == -32601


def test_extension_a_cancelled_call_leaves_no_task(shared_door):
    with shared_door.target.session() as session:
        call = session.start("tools/call", allowed(name="shell_exec", arguments={"command": "sleep 735"}))
        wait_until("it runs", lambda: running(shared_door, "735"))
        session.notify("notifications/cancelled", {"requestId": call})
        wait_until("nothing of it is left", lambda: not running(shared_door, "735"), 30.0)


def test_a_reader_can_make_no_task_that_changes_anything_and_cancel_none(tmp_path):
    with bare_session(tmp_path, role="reader") as session:
        refused = error(session, "tools/call", {"name": "shell_exec", "arguments": {"command": "true"}, "task": {}})
        assert "FORBIDDEN" in refused["message"]
        assert "FORBIDDEN" in error(session, "tasks/cancel", {"taskId": "0" * 32})["message"]
        searched = result(session, "tools/call", {"name": "search_files", "arguments": {"pattern": "x"}, "task": {}})
        assert searched["task"]["status"] == "working"


def test_what_agent_code_writes_into_a_task_s_folder_misleads_nobody_but_itself(tmp_path):
    with bare_session(tmp_path) as session:
        task = create(session, "true")["taskId"]
        result(session, "tasks/result", {"taskId": task})
        folder = tmp_path / "out" / "jobs" / task
        good = (folder / "result.json").read_bytes()
        for broken in (b"", b"{}", b"[" * 100_000, b'{"content":7}'):
            (folder / "result.json").write_bytes(broken)
            assert error(session, "tasks/result", {"taskId": task})["code"] == -32603
        (folder / "result.json").write_bytes(good)
        for broken in (b"", b"{}", b"[" * 1000, b" " * 10_000_000, b'{"cancelled":false,"ended_ms":1}'):
            (folder / "end.json").write_bytes(broken)
            assert result(session, "tasks/get", {"taskId": task})["status"] == "failed"
        (folder / "task.json").unlink()
        (folder / "task.json").symlink_to("/etc/passwd")
        assert error(session, "tasks/get", {"taskId": task})["code"] == -32602
        (folder / "task.json").unlink()
        os.mkfifo(folder / "task.json")
        assert error(session, "tasks/get", {"taskId": task})["code"] == -32602
