"""The same things some hundreds of times: what the door is made of afterwards is what it was made of before."""
import asyncio
import contextlib
import itertools
import os
import socket

import asyncssh
import pytest
from kit import programs
from kit.crowd import login
from kit.processes import rss
from kit.raw import RawClient
from kit.target import make_key
from kit.waiting import PATIENCE, wait_until
from kit.wire import connect, read_version

MB = 1 << 20
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'


async def session(door, _):
    async with asyncssh.connect(**login(door, door.key)) as connection:
        result = await connection.run("x", input=PING.decode())
        assert result.exit_status == 0


async def many_channels(door, _):
    async with asyncssh.connect(**login(door, door.key)) as connection:
        results = await asyncio.gather(*(connection.run("x", input=PING.decode()) for _ in range(8)))
        assert all(result.exit_status == 0 for result in results)


async def cut_in_a_write(door, _):
    """The link goes while the server is in the middle of a reply, and the client of a request."""
    connection = await asyncssh.connect(**login(door, door.key))
    process = await connection.create_process("x", encoding=None)
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"shell_exec","arguments":{"command":"head -c 200000 /dev/zero"}}}\n'
    process.stdin.write(PING + call * 3)
    await process.stdout.readline()
    process.stdin.write(b'{"jsonrpc":"2.0","id":2,"method":"x","params":"' + b"y" * 300_000)
    connection.abort()


async def refused_key(door, stranger):
    with contextlib.suppress(asyncssh.Error):
        async with asyncssh.connect(**login(door, stranger)):
            raise AssertionError("logged in")


async def refused_request(door, _):
    async with asyncssh.connect(**login(door, door.key)) as connection:
        with pytest.raises(asyncssh.ChannelOpenError):
            await connection.open_connection("127.0.0.1", 9)
        with pytest.raises(asyncssh.ChannelOpenError):
            await connection.create_process(subsystem="sftp")


async def login_alone(door, _):
    async with asyncssh.connect(**login(door, door.key)):
        pass


async def banner_alone(door, _):
    def body():
        with connect(door) as connection:
            read_version(connection)

    await asyncio.to_thread(body)


async def reset(door, _):
    def body():
        with connect(door) as connection:
            connection.sendall(b"SSH-2.0-x\r\n\0\0\0\xff")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    await asyncio.to_thread(body)


async def handshake_alone(door, _):
    def body():
        with RawClient(door.target) as client:
            client.begin_login()

    await asyncio.to_thread(body)


KINDS = [
    session, many_channels, cut_in_a_write, refused_key, refused_request, login_alone, banner_alone, reset, handshake_alone,
]


async def round_of_all(door, stranger, times):
    """Each kind so many times, six at once."""
    gate = asyncio.Semaphore(6)

    async def one(kind):
        async with gate:
            await asyncio.wait_for(kind(door, stranger), 60 * PATIENCE)

    await asyncio.gather(*(one(kind) for kind in itertools.chain.from_iterable([KINDS] * times)))


def settled(door):
    wait_until("all is quiet", lambda: not door.sessions() and not door.connections(), 30)


def test_hundreds_of_connections_of_every_kind_leave_the_door_as_it_was(door, tmp_path):
    stranger = make_key(tmp_path / "stranger")
    wanted = door.quiet_footprint()
    parts = {"monitor": door.monitor.pid, "listener": door.listener(), "spawner": door.spawner.pid}
    # What grows once, to its working size, has grown after the first rounds.
    asyncio.run(round_of_all(door, stranger, 12))
    settled(door)
    base = {name: rss(pid) for name, pid in parts.items()}
    asyncio.run(round_of_all(door, stranger, 28))
    settled(door)
    door.await_footprint(wanted)
    assert door.listener() == parts["listener"], "a network child crashed"
    if not programs.SANITIZED:  # a sanitizer keeps what was freed
        for name, pid in parts.items():
            assert rss(pid) <= base[name] + MB, (name, rss(pid), base[name])
    log = door.log.read_text(encoding="utf-8")
    assert "crashed" not in log and "broke the record protocol" not in log
    assert os.path.exists(f"/proc/{parts['spawner']}")
    door.await_session()
