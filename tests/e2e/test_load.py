"""Many at once: every honest call is answered right, a crowd of strangers changes nothing of that, and what
the door is made of stays as large as it was and is afterwards what it was before.

How long a call took is told and never judged: the machine of the tests is everybody's. AGENTBOX_TEST_LOAD_SECONDS=60
is the long form, with 2,000 strangers a minute for a minute; AGENTBOX_TEST_LOAD_REPORT names a file for the figures.
"""
import asyncio
import json
import os
import statistics
import subprocess
import sys
import threading
from pathlib import Path

from kit import programs
from kit.crowd import Line, connect, gather_in_turn
from kit.processes import descriptors, rss
from kit.target import make_key
from kit.waiting import PATIENCE, wait_until

SECONDS = float(os.environ.get("AGENTBOX_TEST_LOAD_SECONDS", "4"))
MB = 1 << 20
# Under a sanitizer each process of the door costs tens of MiB and ten times the processor: what is shown there is
# that nothing is misused, with a crowd that the machine can carry.
STRANGERS_PER_SECOND = 5 if programs.SANITIZED else 2000 / 60
# (connections, channels on each)
CROWDED = [(4, 16), (16, 1)] if programs.SANITIZED else [(26, 16), (84, 1)]
HONEST = 20
PAUSE = 0.2  # between two calls of a client
CALLS_A_LOGIN = 20
GRACE_SECONDS = 2
GROWTH = {"bytes": MB, "descriptors": 15}


# Five hundred sessions


async def open_lines(door, channels):
    connection = await connect(door)
    return connection, [await Line.open(connection) for _ in range(channels)]


async def work(line, number):
    """Each of the kinds of call, with an answer that is this session's alone."""
    name, content = f"of-{number}", f"{number}\n" * 100
    assert (await line.call("write_file", {"path": name, "content": content, "fsync": False}))["created"]
    said = await line.call("shell_exec", {"command": f"cat {name} | wc -c; echo {number}"}, 120)
    assert said["stdout"].split() == [str(len(content)), str(number)]
    assert (await line.call("read_file", {"path": name}))["content"] == content
    assert await line.request("ping") == {}


async def crowd_works(door):
    wanted = [channels for count, channels in CROWDED for _ in range(count)]
    opened = await gather_in_turn([open_lines(door, channels) for channels in wanted], 20)
    lines = [line for _, each in opened for line in each]
    try:
        assert len(door.sessions()) == len(lines) == sum(wanted)
        assert len(door.connections()) == len(opened)
        await asyncio.gather(*(work(line, number) for number, line in enumerate(lines)))
        # Whoever comes now is served as well.
        await asyncio.to_thread(door.await_session, 30)
    finally:
        for connection, _ in opened:
            connection.abort()
    return len(lines)


def test_hundreds_of_sessions_at_once_work_and_leave_nothing(door):
    wanted = door.quiet_footprint()
    asyncio.run(crowd_works(door))
    door.await_footprint(wanted, 60)
    door.await_session()


# Strangers beside honest clients


class Watch:
    """Looks from time to time at how large the door's parts are."""

    def __init__(self, door):
        self.parts = {"monitor": door.monitor.pid, "listener": door.listener(), "spawner": door.spawner.pid}
        self.samples = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def _run(self):
        while not self._over.wait(0.1):
            self.samples.append(
                {f"{name}: bytes": rss(pid) for name, pid in self.parts.items()}
                | {f"{name}: descriptors": len(descriptors(pid)) for name, pid in self.parts.items()}
            )

    def growth(self):
        """By what each figure's mean in the second half is above that in the first."""
        half = len(self.samples) // 2
        return {
            name: statistics.mean(sample[name] for sample in self.samples[half:])
            - statistics.mean(sample[name] for sample in self.samples[:half])
            for name in self.samples[0]
        }


class Honest:
    """A client that works, and logs in anew now and then. Whatever goes wrong for it fails the test."""

    def __init__(self, door, number):
        self.door, self.number = door, number
        self.calls, self.logins = [], []

    async def live(self, over):
        while not over.is_set():
            began = asyncio.get_running_loop().time()
            connection = await connect(self.door)
            try:
                line = await Line.open(connection)
                self.logins.append(asyncio.get_running_loop().time() - began)
                line.times.clear()
                for turn in range(CALLS_A_LOGIN):
                    await self.call(line, turn)
                    if over.is_set():
                        break
                    await asyncio.sleep(PAUSE)
                self.calls += line.times
            finally:
                connection.abort()

    async def call(self, line, turn):
        name, content = f"honest-{self.number}", f"{self.number} {turn}\n" * 50
        kind = turn % 4
        if kind == 0:
            await line.call("write_file", {"path": name, "content": content, "fsync": False})
        elif kind == 1:
            said = (await line.call("read_file", {"path": name}))["content"]
            assert said == f"{self.number} {turn - 1}\n" * 50
        elif kind == 2:
            assert (await line.call("shell_exec", {"command": f"echo {turn}"}))["stdout"] == f"{turn}\n"
        else:
            assert await line.request("ping") == {}


async def honest_clients(door, seconds):
    """Until the time is over, or what SECONDS awaits is."""
    over = asyncio.Event()
    clients = [Honest(door, number) for number in range(HONEST)]
    working = [asyncio.ensure_future(client.live(over)) for client in clients]
    everybody = asyncio.gather(*working)
    awaited = asyncio.ensure_future(seconds() if callable(seconds) else asyncio.sleep(seconds))
    await asyncio.wait([everybody, awaited], return_when=asyncio.FIRST_COMPLETED)
    over.set()
    await everybody
    return clients, await awaited


def figures(clients):
    def of(times):
        cuts = statistics.quantiles(times, n=100)
        return {"count": len(times), "p50_ms": round(cuts[49] * 1000, 1), "p99_ms": round(cuts[98] * 1000, 1)}

    return {
        "calls": of([time for client in clients for time in client.calls]),
        "logins": of([time for client in clients for time in client.logins]),
    }


def start_strangers(door, keys):
    script = Path(__file__).parent / "clients" / "garbage.py"
    words = [door.target.host, door.port, STRANGERS_PER_SECOND, SECONDS + GRACE_SECONDS, *keys]
    return subprocess.Popen(
        [sys.executable, script, *map(str, words)], stdout=subprocess.PIPE, start_new_session=True, text=True
    )


def report(told):
    text = json.dumps(told, indent=2)
    print(text)
    if path := os.environ.get("AGENTBOX_TEST_LOAD_REPORT"):
        Path(path).write_text(text + "\n", encoding="utf-8")


def test_a_crowd_of_strangers_beside_honest_clients(new_door, tmp_path):
    door = new_door(f"limits: {{own_unauthenticated: 0, login_grace_seconds: {GRACE_SECONDS}}}")
    door.start()
    keys = [make_key(tmp_path / f"wrong-{number}") for number in range(5)]
    wanted = door.quiet_footprint()
    idle, _ = asyncio.run(honest_clients(door, SECONDS / 2))
    strangers = start_strangers(door, keys)

    async def crowd():
        await asyncio.sleep(GRACE_SECONDS)  # until as many go as come
        with Watch(door) as watch:
            await asyncio.sleep(SECONDS)
        return watch

    try:
        loaded, watch = asyncio.run(honest_clients(door, crowd))
        said = json.loads(strangers.communicate(timeout=60 * PATIENCE)[0])
    finally:
        programs.kill_quietly(strangers)
    wait_until("all strangers are gone", lambda: not door.connections(), GRACE_SECONDS + 10)
    door.await_footprint(wanted)
    report({"idle": figures(idle), "loaded": figures(loaded), "strangers": said, "growth": watch.growth()})
    assert strangers.returncode == 0 and said["refused"] == 0 and min(said["counts"].values()) > 0
    assert watch.parts["listener"] == door.listener(), "a network child crashed"
    for name, growth in watch.growth().items():
        kind = name.split(": ")[1]
        if kind == "descriptors" or not programs.SANITIZED:  # a sanitizer keeps what was freed
            assert growth <= GROWTH[kind], (name, growth)
    log = door.log.read_text(encoding="utf-8")
    assert "crashed" not in log and "broke the record protocol" not in log
    door.await_session()
