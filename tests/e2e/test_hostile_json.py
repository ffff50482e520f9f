"""Lines of sixteen MiB made to hurt a parser: each is answered once, in bounded memory, and another
session on the same connection does not feel it."""
import contextlib
import json
import statistics
import threading
import time

import pytest
from kit import programs
from kit.bare import bare_session, peak_memory
from kit.waiting import PATIENCE, wait_until

MIB = 1 << 20
LINE = 16 * MIB - 1024
# The line, what is built of it, and a copy of each; far from what an unbounded parser would take.
MOST_MEMORY = 10 * 16 * MIB


def filled(begin, piece, end):
    """begin, as many of piece as fit a line, end."""
    return begin + piece * ((LINE - len(begin) - len(end)) // len(piece)) + end


CALL = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"list_blobs","arguments":'
SHAPES = {
    "nested arrays": filled(b'{"jsonrpc":"2.0","id":7,"method":"ping","params":', b"[", b""),
    "nested objects": filled(CALL, b'{"a":', b""),
    "many small arrays": filled(CALL + b'{"a":[', b"[],", b"0]}}}"),
    "many numbers": filled(CALL + b'{"a":[', b"0,", b"0]}}}"),
    "many keys": filled(CALL + b"{", b'"k":0,', b'"z":0}}}'),
    "one long string": filled(CALL + b'{"a":"', b"x", b'"}}}'),
    "a long string of escapes": filled(CALL + b'{"a":"', b"\\u0000", b'"}}}'),
    "a string that never ends": filled(CALL + b'{"a":"', b"\\\\", b""),
    "one long name": filled(CALL + b'{"', b"x", b'":0}}}'),
    "one long number": filled(CALL + b'{"a":', b"9", b"}}}"),
    "a long method": filled(b'{"jsonrpc":"2.0","id":7,"method":"', b"x", b'"}'),
    "a long id": filled(b'{"jsonrpc":"2.0","method":"ping","id":"', b"x", b'"}'),
    "a long token": filled(CALL + b'{},"_meta":{"progressToken":"', b"x", b'"}}}'),
    "white space": filled(b"{", b" ", b'"jsonrpc":"2.0","id":7,"method":"ping"}'),
    "bytes that are no UTF-8": filled(CALL + b'{"a":"', b"\xff", b'"}}}'),
    "a batch": filled(b"[", b'{"jsonrpc":"2.0","id":7,"method":"ping"},', b"0]"),
    "a list as text": filled(
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_files","arguments":{"paths":"[',
        b"0,",
        b'0]"}}}',
    ),
}


# Those that cost a parser most; each crosses the connection whole.
WORST = ("nested arrays", "many numbers", "many keys", "a long string of escapes", "one long number", "a list as text")


class Pinger:
    """Pings a session without pause on a thread of its own and keeps how long each took."""

    def __init__(self, session):
        self.session = session
        self.times = []
        self.failure = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        while not self._stop.is_set():
            begun = time.monotonic()
            try:
                self.session.ping(60)
            except Exception as failure:  # to be told on the main thread
                self.failure = failure
                return
            self.times.append(time.monotonic() - begun)
            time.sleep(0.005)  # some hundred a second are enough

    @contextlib.contextmanager
    def running(self):
        self._thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            self._thread.join()


def answer_of(session, line):
    """The one answer to a hostile line; its id may be null, then it is found by being new."""
    seen = len(session.lines)
    session.send(line + b"\n")
    session.send({"jsonrpc": "2.0", "id": "after", "method": "ping"})
    assert session.reply("after", 120)["result"] == {}
    deadline = time.monotonic() + 60 * PATIENCE
    while True:
        answers = [one for one in session.lines[seen:] if one.get("id") != "after"]
        if answers or time.monotonic() > deadline:
            return answers
        time.sleep(0.01)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_hostile_line_is_answered_once_in_bounded_memory(tmp_path, shape):
    with bare_session(tmp_path) as session:
        session.ping()
        before = peak_memory(session.process.pid)
        answers = answer_of(session, SHAPES[shape])
        assert len(answers) == 1, answers
        assert len(json.dumps(answers[0])) < MIB
        if not programs.SANITIZED:  # they keep what was freed
            assert peak_memory(session.process.pid) - before < MOST_MEMORY
        session.ping()
        assert session.finish() == 0


def test_hostile_lines_are_not_felt_on_another_channel(shared_door, tmp_path):
    control = tmp_path / "control"
    master = ["-T", "-M", "-o", f"ControlPath={control}"]
    follower = ["-T", "-o", f"ControlPath={control}"]
    with contextlib.ExitStack() as stack:
        honest = stack.enter_context(shared_door.target.session(*master))
        wait_until("the master is there", control.exists)
        hostile = stack.enter_context(shared_door.target.session(*follower))
        with Pinger(honest).running() as quiet:
            time.sleep(2 * PATIENCE)  # the baseline is a span of time, not a wait for something
        # The same bytes as one harmless line: what moving them costs is no fault of a parser.
        harmless = filled(b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"', b"x", b'"}}')
        with Pinger(honest).running() as moving:
            assert len(answer_of(hostile, harmless)) == 1
        with Pinger(honest).running() as hurt:
            for shape in WORST:
                assert len(answer_of(hostile, SHAPES[shape])) == 1, shape
        for pinger in (quiet, moving, hurt):
            assert pinger.failure is None
            assert len(pinger.times) > 3
        baseline = max(statistics.median(quiet.times), statistics.median(moving.times))
        assert statistics.median(hurt.times) < 10 * baseline
        hostile.ping()
        assert hostile.finish() == 0
        honest.ping()
        assert honest.finish() == 0
