"""Strangers at a door, each kind in its turn and so many a second; says as JSON what became of them.

garbage.py HOST PORT PER-SECOND SECONDS WRONG-KEY...

A process of its own: what the tests measure beside it must not wait for it. It ends when the last of its connections has.
"""
import asyncio
import contextlib
import json
import os
import sys
import time

import asyncssh

VERSION = b"SSH-2.0-OpenSSH_9.2p1\r\n"
HTTP = b"GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: curl/8.1\r\nAccept: */*\r\n\r\n"


class Stranger:
    """One connection; .reader and .writer are its bytes."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    async def say(self, data):
        self.writer.write(data)
        await self.writer.drain()

    async def hear_to_the_end(self):
        while await self.reader.read(65536):
            pass


async def random_bytes(stranger):
    await stranger.say(os.urandom(4096))
    await stranger.hear_to_the_end()


async def http(stranger):
    await stranger.say(HTTP)
    await stranger.hear_to_the_end()


async def half_a_version(stranger):
    await stranger.say(VERSION[:9])
    await stranger.hear_to_the_end()


async def version_and_garbage(stranger):
    await stranger.say(VERSION + os.urandom(2048))
    await stranger.hear_to_the_end()


async def offer_and_silence(stranger):
    """A right KEXINIT, the door's own, and then nothing."""
    await stranger.say(VERSION)
    await stranger.reader.readuntil(b"\n")
    head = await stranger.reader.readexactly(4)
    await stranger.say(head + await stranger.reader.readexactly(int.from_bytes(head, "big")))
    await stranger.hear_to_the_end()


async def connect_and_close(_):
    pass


async def slow_bytes(stranger):
    for byte in VERSION * 100:
        await stranger.say(bytes([byte]))
        await asyncio.sleep(0.1)


async def wrong_keys(host, port, keys):
    with contextlib.suppress(asyncssh.Error):
        async with asyncssh.connect(
            host, port, username="agent", client_keys=keys, known_hosts=None, config=None, agent_path=None
        ):
            sys.exit("a stranger's key was let in")


BARE = [
    random_bytes, http, half_a_version, version_and_garbage, offer_and_silence, connect_and_close, slow_bytes,
]


class Crowd:
    def __init__(self, host, port, keys):
        self.host, self.port, self.keys = host, port, keys
        self.counts = {kind.__name__: 0 for kind in [*BARE, wrong_keys]}
        self.refused = 0

    async def one(self, number):
        kinds = [*BARE, wrong_keys]
        kind = kinds[number % len(kinds)]
        self.counts[kind.__name__] += 1
        try:
            if kind is wrong_keys:
                await wrong_keys(self.host, self.port, self.keys)
                return
            reader, writer = await asyncio.open_connection(self.host, self.port)
        except ConnectionRefusedError:
            self.refused += 1
            return
        except OSError:
            return
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await kind(Stranger(reader, writer))
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    async def come(self, per_second, seconds):
        began = time.monotonic()
        tasks = []
        while (passed := time.monotonic() - began) < seconds:
            while len(tasks) < passed * per_second:
                tasks.append(asyncio.create_task(self.one(len(tasks))))
            await asyncio.sleep(0.01)
        took = time.monotonic() - began
        await asyncio.gather(*tasks)
        return {"counts": self.counts, "refused": self.refused, "per_minute": round(len(tasks) / took * 60)}


def main(words):
    host, port, per_second, seconds = words[0], int(words[1]), float(words[2]), float(words[3])
    keys = [asyncssh.read_private_key(path) for path in words[4:]]
    print(json.dumps(asyncio.run(Crowd(host, port, keys).come(per_second, seconds))))


if __name__ == "__main__":
    main(sys.argv[1:])
