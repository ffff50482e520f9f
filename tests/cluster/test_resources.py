"""Code in the box that takes all it can get: the door answers an operator meanwhile, and the box is back afterwards."""
import threading

import pytest
from cluster import FULL_IMAGE, Clock
from kit.waiting import wait_until


@pytest.fixture
def box(own_namespace):
    box = own_namespace.box("greedy", image=FULL_IMAGE, memory="256Mi", size="64Mi")
    box.create()
    yield box
    box.delete()


class Operator:
    """Logs in anew again and again, and remembers how long it took."""

    def __init__(self, box):
        self.box = box
        self.times = []
        self.failures = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._knock)

    def _knock(self):
        while not self._over.is_set():
            with Clock() as clock:
                try:
                    with self.box.session() as session:
                        session.ping(30)
                    self.times.append(clock.so_far())
                except (AssertionError, OSError) as error:
                    self.failures.append(str(error))
            self._over.wait(0.2)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


def restarts(box, container):
    found = [each for each in box.pod()["status"]["containerStatuses"] if each["name"] == container]
    return found[0]["restartCount"]


def attack(box, code, seconds=20):
    """Runs CODE in the box until it ends, or its session does; a session that dies of it is part of it."""
    session = box.session()
    try:
        return session.request("tools/call", {"name": "shell_exec", "arguments": {
            "command": code, "timeout_ms": seconds * 1000}}, seconds + 20)
    except (AssertionError, OSError) as error:
        return str(error)
    finally:
        session.kill()


def comes_back(box):
    def works():
        try:
            with box.session() as session:
                return session.shell("echo fine", seconds=10)["stdout"] == "fine\n"
        except (AssertionError, OSError):
            return False
    wait_until("the box works", works, 90)


def test_memory_bomb(box, measured):
    code = "python3 -c 'b = []\nwhile True: b.append(bytearray(8 << 20))'"
    with Operator(box) as operator:
        attack(box, code)
        comes_back(box)
    assert restarts(box, "door") == 0
    assert operator.times, operator.failures
    measured(f"memory bomb: {len(operator.times)} logins, slowest {max(operator.times):.1f} s, "
             f"{len(operator.failures)} without a box side, its container restarted {restarts(box, 'box')} times")


def test_fork_bomb(box, measured):
    code = "python3 -c 'import os, time\nwhile True:\n try: os.fork()\n except OSError: time.sleep(0.01)'"
    with Operator(box) as operator:
        attack(box, code, 10)
        comes_back(box)
    assert restarts(box, "door") == 0
    assert operator.times, operator.failures
    measured(f"fork bomb: {len(operator.times)} logins, slowest {max(operator.times):.1f} s, "
             f"{len(operator.failures)} without a box side, its container restarted {restarts(box, 'box')} times")


def test_full_volume(box):
    """ENOSPC is said, nothing that was there is lost, and nobody is evicted."""
    with box.session() as session:
        session.call("write_file", {"path": "dear.txt", "content": "dear\n"})
        filled = session.shell("head -c 200000000 /dev/zero >/workspace/big", seconds=40)
        assert filled["exit_code"] != 0 and "No space left" in filled["stderr"]
        # What little the file system still has is taken as well.
        session.shell("i=0; while echo x >/workspace/small-$i 2>/dev/null; do i=$((i + 1)); [ $i -lt 20000 ] || break; done",
                      seconds=60)
        message = session.refused("write_file", {"path": "dear.txt", "content": "x" * 1_000_000}, "ENOSPC")
        assert message
        assert session.shell("cat /workspace/dear.txt")["stdout"] == "dear\n"
    with box.session() as session:
        session.ping()
        session.shell("rm /workspace/big /workspace/small-*", seconds=60)
        session.call("write_file", {"path": "dear.txt", "content": "new\n"})
    assert restarts(box, "door") == 0 and restarts(box, "box") == 0
    # The door's own folder of that volume is usable: a change of keys is remembered there.
    assert box.done("rotate")["proven"] is True


def test_busy_loops(box, measured):
    """Every processor is asked for by code in the box; the door has a share of its own."""
    with box.session() as session:
        jobs = [session.call("process_start", {"command": "while :; do :; done"})["process_id"] for _ in range(8)]
        with Operator(box) as operator:
            wait_until("ten logins", lambda: len(operator.times) >= 10 or operator.failures, 120)
        assert not operator.failures
        for job in jobs:
            session.call("process_kill", {"name": job, "force": True})
    measured(f"eight busy loops: slowest of ten logins {max(operator.times):.1f} s")
