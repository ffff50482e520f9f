"""Many calls of all kinds at once, some of them cancelled: each is answered once, or cancelled and silent."""
import json
import os
import random
import time
from collections import Counter

from kit.bare import bare_session
from kit.processes import alive, descendants
from kit.waiting import wait_until

# Long enough to meet each pair of kinds; set it to 120 for a hunt, best in a build of preset tsan.
SECONDS = float(os.environ.get("AGENTBOX_TEST_MIXED_SECONDS", "8"))
IN_FLIGHT = 32


def some_file(chance):
    return f"f{chance.randrange(4)}"


def some_job(chance):
    return f"job{chance.randrange(3)}"


# For each tool, calls that may be made of it: a list of arguments, made anew each time. All share a few names, so that they meet.
CALLS = {
    "shell_exec": lambda chance: [
        {"command": "echo $$; cat /dev/null"},
        {"command": f"sleep {chance.random() * 0.3:.2f} & sleep {chance.random() * 0.3:.2f}"},
        {"command": "seq 1 20000; sleep 5", "timeout_seconds": 0.2},
        {"command": "setsid sleep 30 & exec cat", "stdin": "x" * 1000},
        {"command": "echo on a terminal; sleep 0.2", "tty": True, "yield_seconds": 0.1},
    ],
    "process_start": lambda chance: [
        {"command": "echo up; cat", "name": some_job(chance), "wait_seconds": 0.1},
        {"command": "seq 1 2000; exit 3", "wait_seconds": 0},
        {"command": "trap '' TERM; sleep 3", "name": some_job(chance), "wait_for": "never", "wait_seconds": 0.1},
    ],
    "process_list": lambda _: [{}, {"all": False, "system": True}],
    "process_output": lambda chance: [
        {"process_id": some_job(chance)}, {"process_id": some_job(chance), "cursor": 1, "wait_seconds": 0.2, "wait_for": "exit"},
        {"process_id": some_job(chance), "tail_lines": 3}],
    "process_input": lambda chance: [
        {"process_id": some_job(chance), "data": "tea\n", "wait_seconds": 0.1}, {"process_id": some_job(chance), "eof": True, "wait_seconds": 0}],
    "process_kill": lambda chance: [
        {"name": some_job(chance), "force": True}, {"name": some_job(chance), "grace_seconds": 0.1}, {"name": some_job(chance), "signal": "SIGCONT"}],
    "process_resize": lambda chance: [{"process_id": some_job(chance), "cols": 80, "rows": 24}],
    "write_file": lambda chance: [
        {"path": some_file(chance), "content": f"{chance.random()}\n" * 50, "fsync": False},
        {"path": f"d/{some_file(chance)}", "content": "one two\n", "append": True}],
    "read_file": lambda chance: [{"path": some_file(chance)}, {"path": f"d/{some_file(chance)}", "tail": 3}, {"path": "../outside"}],
    "read_files": lambda chance: [{"paths": ["f0", "f1", "nope", "d/f2", "../outside"]}],
    "edit_file": lambda chance: [{"path": some_file(chance), "old_string": "0.", "new_string": "1.", "replace_all": True}],
    "apply_edits": lambda chance: [{"operations": [
        {"op": "write", "path": some_file(chance), "content": "0.5\n"}, {"op": "mkdir", "path": "d/e"},
        {"op": "move", "path": some_file(chance), "destination": f"d/e/{some_file(chance)}"}]}],
    "apply_patch": lambda chance: [{"patch": f"*** Begin Patch\n*** Update File: {some_file(chance)}\n@@\n-0.5\n+0.25\n*** End Patch\n"}],
    "list_directory": lambda _: [{"depth": 3}],
    "search_files": lambda _: [{"pattern": "0\\.[1-5]"}],
    "glob_files": lambda _: [{"pattern": "**/f*"}],
    "read_media": lambda chance: [{"path": some_file(chance)}, {"path": f"blob{chance.randrange(2)}"}],
    "file_info": lambda chance: [{"path": some_file(chance), "sha256": True}],
    "create_directory": lambda chance: [{"path": f"d/{chance.randrange(3)}/x"}],
    "move_file": lambda chance: [{"source": some_file(chance), "destination": f"d/{some_file(chance)}"}],
    "copy_file": lambda chance: [
        {"source": some_file(chance), "destination": f"d/{some_file(chance)}", "overwrite": True}, {"source": "d", "destination": "e", "recursive": True}],
    "set_permissions": lambda chance: [{"path": some_file(chance), "mode": "0600"}, {"path": "d", "mode": "0755", "recursive": True}],
    "delete_file": lambda chance: [{"path": f"d/{some_file(chance)}"}, {"path": "d", "recursive": True}],
    "tail_log": lambda chance: [{"path": some_file(chance), "follow_seconds": 0.2}, {"path": some_file(chance), "start_offset": 0, "follow_seconds": 0}],
    "watch_files": lambda chance: [
        {"wait_seconds": 0}, {"path": "d", "wait_seconds": 0.2, "debounce_ms": 0}, {"path": some_file(chance), "wait_seconds": 0.3}],
    "download_chunk": lambda chance: [{"path": some_file(chance), "file_sha256": True}],
    "upload_chunk": lambda chance: [
        {"path": some_file(chance), "data": "MC41Cg==", "total_size": 4}, {"path": f"d/{some_file(chance)}", "data": "MC41Cg=="}],
    "code_execute": lambda chance: [
        {"code": "x = globals().get('x', 0) + 1; x"}, {"code": "while True: pass", "timeout_seconds": 0.3},
        {"code": "sleep 0.2; echo $$", "language": "bash", "yield_seconds": 0.1}, {"code": "", "language": "bash", "yield_seconds": 0.1},
        {"code": "exit 3", "context_id": f"c{chance.randrange(2)}"}],
    "code_context_create": lambda chance: [{"name": f"c{chance.randrange(2)}", "language": "bash"}],
    "code_context_list": lambda _: [{}],
    "code_context_delete": lambda chance: [{"context_id": f"c{chance.randrange(2)}"}, {"context_id": "c0", "interrupt": True}],
    "list_ports": lambda _: [{"protocol": "all"}],
    "list_blobs": lambda _: [{}],
    "write_random_blob": lambda chance: [{"name": f"blob{chance.randrange(2)}", "size_bytes": 100_000}],
    "read_blob": lambda chance: [{"name": f"blob{chance.randrange(2)}"}],
    "system_info": lambda _: [{}],
}
# Half of all calls are of these: they run long enough to be cancelled.
OFTEN = ["shell_exec", "write_file", "search_files", "process_start"]


def some_call(chance, tools):
    """A tool and its arguments."""
    tool = chance.choice(OFTEN if len(tools) > 1 and chance.random() < 0.5 else tools)
    return (tool, chance.choice(CALLS[tool](chance))) if tool in CALLS else (tool, {})


class Caller:
    def __init__(self, session, tools, seed):
        self.session = session
        self.tools = [*tools, "no_such_tool"]
        self.never_called = list(self.tools)
        self.chance = random.Random(seed)
        self.open = set()
        self.cancelled = set()
        self.started = {}  # number of a call to its tool
        self.asked = {}  # the same to its tool and arguments
        self.seen = 0

    def take_answers(self):
        lines = self.session.lines
        while self.seen < len(lines):
            self.open.discard(lines[self.seen].get("id"))
            self.seen += 1

    def turn(self):
        self.take_answers()
        while len(self.open) < IN_FLIGHT:
            tool, arguments = some_call(self.chance, [self.never_called.pop()] if self.never_called else self.tools)
            number = self.session.start("tools/call", {"name": tool, "arguments": arguments})
            self.started[number] = tool
            self.asked[number] = (tool, arguments)
            self.open.add(number)
            if self.chance.random() < 0.15:
                self.cancel(self.chance.choice(sorted(self.open)))

    def cancel(self, number):
        self.session.notify("notifications/cancelled", {"requestId": number, "reason": "test"})
        self.cancelled.add(number)
        self.open.discard(number)


def test_each_of_many_mixed_calls_is_answered_once_or_cancelled(tmp_path):
    (tmp_path / "outside").write_text("our secret", encoding="utf-8")
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")  # pytest shows it where the test fails
    with bare_session(tmp_path) as session:
        tools = [tool["name"] for tool in session.request("tools/list")["tools"]]
        assert sorted(tools) == sorted(CALLS), "each tool has its calls in CALLS, and no other"
        caller = Caller(session, tools, seed)
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            caller.turn()
            time.sleep(0.001)  # lets the reader have its turn
        try:
            wait_until("all that was not cancelled is answered", lambda: caller.take_answers() or not caller.open or session.process.poll() is not None, 60)
            assert session.process.poll() is None
        except AssertionError as late:
            said = session.stderr.decode(errors="replace")
            raise AssertionError([caller.asked[number] for number in sorted(caller.open)], said) from late
        session.ping()
        left = descendants(session.process.pid)  # what commands left behind ends with the session
        answers = Counter(message["id"] for message in session.lines if "id" in message)
        assert session.finish() == 0
    wait_until("all that it started is gone", lambda: not [process for process in left if alive(process.pid)])
    secret = [message for message in session.lines if "our secret" in json.dumps(message)]
    assert not secret, secret
    twice = [(number, caller.started.get(number)) for number, times in answers.items() if times > 1]
    unanswered = [(number, tool) for number, tool in caller.started.items() if number not in answers and number not in caller.cancelled]
    assert not twice and not unanswered, (seed, twice, unanswered)
    assert "Sanitizer" not in session.stderr.decode(errors="replace"), session.stderr
    assert caller.cancelled and set(caller.started.values()) >= {*tools, "no_such_tool"}
