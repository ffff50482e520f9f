"""Many sessions from one process, on asyncssh: a thread and an ssh client for each would be the test's own load."""
import asyncio
import itertools
import json
import time

import asyncssh

from kit.mcp import CLIENT
from kit.waiting import PATIENCE


def login(door, key=None):
    """What asyncssh needs to log in at DOOR, and nothing of this machine's."""
    return dict(
        host=door.target.host, port=door.port, username="agent", client_keys=[str(key or door.key)],
        known_hosts=str(door.target.known_hosts), config=None, agent_path=None,
    )


class Line:
    """One MCP session on a channel of a connection. One request at a time; times[] has how long each took."""

    def __init__(self, process):
        self.process = process
        self.times = []
        self._ids = itertools.count(1)

    @classmethod
    async def open(cls, connection):
        line = cls(await connection.create_process("x", encoding=None))
        await line.request("initialize", CLIENT)
        line.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return line

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    async def request(self, method, params=None, seconds=30.0):
        number = next(self._ids)
        began = time.monotonic()
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}})
        while True:
            line = await asyncio.wait_for(self.process.stdout.readline(), seconds * PATIENCE)
            if not line:
                raise ConnectionError(f"the session ended at request {number}")
            message = json.loads(line)
            if message.get("id") == number:
                break
        self.times.append(time.monotonic() - began)
        assert "result" in message, message
        return message["result"]

    async def call(self, tool, arguments, seconds=30.0):
        result = await self.request("tools/call", {"name": tool, "arguments": arguments}, seconds)
        assert not result.get("isError"), result
        return result["structuredContent"]


async def connect(door, key=None):
    return await asyncio.wait_for(asyncssh.connect(**login(door, key)), 30 * PATIENCE)


async def gather_in_turn(tasks, at_once):
    """Their results, never more than AT_ONCE of them under way."""
    gate = asyncio.Semaphore(at_once)

    async def one(task):
        async with gate:
            return await task

    return await asyncio.gather(*map(one, tasks))
