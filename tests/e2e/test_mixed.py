"""Many calls of all kinds at once, some of them cancelled: each is answered once, or cancelled and silent."""
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


def some_call(chance):
    """A tool and its arguments; all calls share a few files, so that they meet."""
    name = f"f{chance.randrange(4)}"
    return chance.choice(
        [
            ("shell_exec", {"command": "echo $$; cat /dev/null"}),
            ("shell_exec", {"command": f"sleep {chance.random() * 0.3:.2f} & sleep {chance.random() * 0.3:.2f}"}),
            ("shell_exec", {"command": "seq 1 20000; sleep 5", "timeout_seconds": 0.2}),
            ("shell_exec", {"command": "setsid sleep 30 & exec cat", "stdin": "x" * 1000}),
            ("write_file", {"path": name, "content": f"{chance.random()}\n" * 50, "fsync": False}),
            ("write_file", {"path": f"d/{name}", "content": "one two\n", "append": True}),
            ("read_file", {"path": name}),
            ("edit_file", {"path": name, "old_string": "0.", "new_string": "1.", "replace_all": True}),
            ("list_directory", {"depth": 3}),
            ("search_files", {"pattern": "0\\.[1-5]"}),
            ("glob_files", {"pattern": "**/f*"}),
            ("read_file", {"path": "../outside"}),
            ("no_such_tool", {}),
        ]
    )


class Caller:
    def __init__(self, session, seed):
        self.session = session
        self.chance = random.Random(seed)
        self.open = set()
        self.cancelled = set()
        self.started = []
        self.seen = 0

    def take_answers(self):
        lines = self.session.lines
        while self.seen < len(lines):
            self.open.discard(lines[self.seen].get("id"))
            self.seen += 1

    def turn(self):
        self.take_answers()
        while len(self.open) < IN_FLIGHT:
            tool, arguments = some_call(self.chance)
            number = self.session.start("tools/call", {"name": tool, "arguments": arguments})
            self.started.append(number)
            self.open.add(number)
            if self.chance.random() < 0.15:
                self.cancel(self.chance.choice(sorted(self.open)))

    def cancel(self, number):
        self.session.notify("notifications/cancelled", {"requestId": number, "reason": "test"})
        self.cancelled.add(number)
        self.open.discard(number)


def test_each_of_many_mixed_calls_is_answered_once_or_cancelled(tmp_path):
    (tmp_path / "outside").write_text("secret", encoding="utf-8")
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")  # pytest shows it where the test fails
    with bare_session(tmp_path) as session:
        caller = Caller(session, seed)
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            caller.turn()
            time.sleep(0.001)  # lets the reader have its turn
        wait_until("all that was not cancelled is answered", lambda: caller.take_answers() or not caller.open, 60)
        session.ping()
        left = descendants(session.process.pid)  # what commands left behind ends with the session
        answers = Counter(message["id"] for message in session.lines if "id" in message)
        assert session.finish() == 0
    assert not [process for process in left if alive(process.pid)]
    twice = [number for number, times in answers.items() if times > 1]
    unanswered = [number for number in caller.started if number not in answers and number not in caller.cancelled]
    assert not twice and not unanswered, (seed, twice, unanswered)
    assert "Sanitizer" not in session.stderr.decode(errors="replace"), session.stderr
    assert len(caller.started) > IN_FLIGHT and caller.cancelled
