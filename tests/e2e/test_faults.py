"""Every kind of process is killed at random moments while clients write: nobody loses what was acknowledged, nobody is
disturbed that need not be, and nothing is left over.

AGENTBOX_TEST_FAULT_SECONDS=120 is the long form. AGENTBOX_TEST_FAULT_SEED repeats the choices of an earlier run.
"""
import asyncio
import contextlib
import hashlib
import itertools
import os
import random
import signal
import time
from collections import Counter

import asyncssh
from kit.crowd import Line, connect
from kit.processes import descendants
from kit.waiting import PATIENCE, wait_until

SECONDS = float(os.environ.get("AGENTBOX_TEST_FAULT_SECONDS", "5"))
WRITERS = 6
CONTENT_BYTES = 40_000
# Each of these ends no more than one session; the last three none at all.
ONE_SESSION = ["client", "network child", "agent-box"]
NO_SESSION = ["listener", "job keeper", "command keeper"]
EVERYBODY = ["spawner", "monitor"]


def content_of(name):
    return hashlib.sha256(name.encode()).hexdigest() * (CONTENT_BYTES // 64)


class Writer:
    """Writes file after file, starts a job and runs a command now and then; logs in anew where it was cut off."""

    def __init__(self, world, number):
        self.world, self.number = world, number
        self.names = itertools.count()
        self.acknowledged = []
        self.connection = None

    async def live(self):
        while not self.world.over:
            opened, era = False, self.world.era
            try:
                self.connection = await connect(self.world.door)
                line = await Line.open(self.connection)
                opened = True
                while not self.world.over:
                    await self.turn(line)
            except (ConnectionError, asyncssh.Error):  # a call that is not answered at all is no such thing
                if opened:
                    self.world.lost(self.number, era)
                await asyncio.sleep(0.05)
            finally:
                if self.connection:
                    self.connection.abort()

    async def turn(self, line):
        name = f"{self.number}-{next(self.names)}"
        await line.call("write_file", {"path": name, "content": content_of(name)}, 60)
        self.acknowledged.append(name)
        chance = self.world.chance.random()
        if chance < 0.05:
            await self.tolerant(line, "process_start", {"command": "sleep 1234", "name": f"job-{name}"})
        elif chance < 0.3:
            result = await self.tolerant(line, "shell_exec", {"command": f"sleep 0.1; echo {name}"})
            assert result.get("isError") or result["structuredContent"]["stdout"] in (f"{name}\n", ""), result

    @staticmethod
    async def tolerant(line, tool, arguments):
        """Its keeper may be killed: then it says so, as an error or as a command that was ended."""
        return await line.request("tools/call", {"name": tool, "arguments": arguments}, 60)


class World:
    def __init__(self, door, seed):
        self.door = door
        self.chance = random.Random(seed)
        self.over = False
        self.era = 0  # of one monitor and one spawner; between two there is one of neither
        self.disturbed = []
        self.kills = Counter()
        self.writers = [Writer(self, number) for number in range(WRITERS)]

    def lost(self, number, era):
        if era == self.era:
            self.disturbed.append(number)

    def victims(self, kind):
        door = self.door
        if kind == "network child":
            return door.connections()
        if kind == "listener":
            return [door.listener()]
        if kind == "agent-box":
            return door.sessions()
        if kind == "job keeper":
            return door.keepers()
        sessions = set(door.sessions())
        return [process.pid for process in door.box_processes() if process.parent in sessions]

    async def kill(self, kind):
        if kind in EVERYBODY:
            await self.kill_half(kind)
        elif kind == "client":
            victim = self.chance.choice(self.writers).connection
            if victim:
                victim.abort()
                self.kills[kind] += 1
        elif pids := await asyncio.to_thread(self.victims, kind):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.chance.choice(pids), signal.SIGKILL)
                self.kills[kind] += 1

    async def kill_half(self, kind):
        """Both ends of every session end with either; whoever supervises the door starts what is gone anew."""
        self.era += 1
        door = self.door
        self.kills[kind] += 1
        getattr(door, kind).kill()
        await asyncio.to_thread(door.spawner.wait, 20 * PATIENCE)
        if kind == "monitor":
            await asyncio.to_thread(door.monitor.wait, 20 * PATIENCE)
            await asyncio.to_thread(door.start_monitor)
        door.start_spawner()
        await asyncio.to_thread(door.await_session, 30)
        self.era += 1

    async def go_wild(self):
        """Every kind at least once, then as long as there is time."""
        until = time.monotonic() + SECONDS
        kinds = [*ONE_SESSION, *NO_SESSION] * 2 + EVERYBODY
        while True:
            self.chance.shuffle(kinds)
            for kind in kinds:
                await asyncio.sleep(self.chance.random() * 0.25)
                await self.kill(kind)
            if time.monotonic() > until:
                return

    async def run(self):
        working = asyncio.gather(*(writer.live() for writer in self.writers))
        wild = asyncio.ensure_future(self.go_wild())
        await asyncio.wait([working, wild], return_when=asyncio.FIRST_COMPLETED)
        self.over = True
        await working
        await wild


def end_jobs(door):
    with door.target.session() as session:
        for job in session.call("process_list", {"all": True})["processes"]:
            if job["status"] == "running":
                session.call("process_kill", {"name": job["name"], "force": True})
        assert session.finish() == 0


def assert_nothing_lost(door, acknowledged):
    workspace = door.folder / "box" / "workspace"
    for name in acknowledged:
        assert (workspace / name).read_text(encoding="utf-8") == content_of(name), name
    for path in workspace.iterdir():  # what nobody was told of is whole or not there
        assert path.name.startswith(".agentbox-tmp-") or path.stat().st_size == CONTENT_BYTES, path


def assert_audit_is_whole(door, acknowledged):
    lines = door.audit()  # each of them parses
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    written = sum(line["event"] == "tool_call" and line["tool"] == "write_file" for line in lines)
    assert written >= len(acknowledged)


def test_kills_at_random_moments_under_writes(door):
    seed = int(os.environ.get("AGENTBOX_TEST_FAULT_SEED", random.randrange(1 << 32)))
    print(f"seed {seed}")  # pytest shows it where the test fails
    wanted = door.quiet_footprint()
    world = World(door, seed)
    asyncio.run(world.run())
    acknowledged = [name for writer in world.writers for name in writer.acknowledged]
    print(f"{len(acknowledged)} writes, kills: {dict(world.kills)}, sessions that were cut off: {len(world.disturbed)}")
    assert all(writer.acknowledged for writer in world.writers)
    assert_nothing_lost(door, acknowledged)
    assert len(world.disturbed) <= sum(world.kills[kind] for kind in ONE_SESSION), (world.disturbed, world.kills)
    end_jobs(door)
    door.await_footprint(wanted)
    assert not [process for process in descendants(os.getpid()) if "1234" in process.command]
    assert_audit_is_whole(door, acknowledged)
    # What a killed write left unfinished goes with the next start of the box's side.
    door.spawner.kill()
    door.spawner.wait()
    door.start_spawner()
    workspace = door.folder / "box" / "workspace"
    wait_until("no unfinished file is left", lambda: not list(workspace.glob(".agentbox-tmp-*")))
    door.await_session()
