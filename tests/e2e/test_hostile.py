"""What strangers and broken clients send to the port: each costs its sender a connection and nobody else anything."""
import asyncio
import contextlib
import os
import time

import asyncssh
import pytest
from kit.target import make_key
from kit.waiting import PATIENCE, wait_until
from kit.wire import connect, read_to_end


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: box\r\n\r\n",
        b"\x00" * 4096,
        b"SSH-1.5-old\r\n",
        b"SSH-2.0-" + b"x" * 300 + b"\r\n",
        b"SSH-2.0-ok\r\n" + b"\xff\xff\xff\xff" * 16,
        os.urandom(8192),
    ],
    ids=["http", "zeros", "protocol 1", "long banner", "huge packet", "random"],
)
def test_what_is_not_ssh_is_closed_at_once(shared_door, sent):
    with connect(shared_door) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(sent)
        started = time.monotonic()
        read_to_end(connection)
        assert time.monotonic() - started < 5 * PATIENCE


def test_a_silent_connection_is_closed_after_the_grace(shared_door):
    with connect(shared_door) as connection:
        started = time.monotonic()
        assert read_to_end(connection).startswith(b"SSH-2.0-")
        assert 5 < time.monotonic() - started < 15 * PATIENCE


def test_silent_connections_do_not_keep_an_honest_client_out(door):
    crowd = []
    try:
        for _ in range(300):
            crowd.append(connect(door))
        with door.target.session() as session:
            session.ping()
            assert session.finish() == 0
    finally:
        for connection in crowd:
            connection.close()
    wait_until("the crowd is forgotten", lambda: not door.connections(), 15)


def test_offering_keys_without_end_is_cut_off(door, tmp_path):
    options = []
    for number in range(40):
        options += ["-o", f"IdentityFile={make_key(tmp_path / f'key{number}')}"]
    stranger = door.target.with_(identity=make_key(tmp_path / "stranger"))
    result = stranger.run("-T", *options)
    assert result.returncode == 255
    assert b"Permission denied" not in result.stderr, "all forty were heard"
    refused = [line for line in door.audit("auth") if line["result"] not in ("accepted", "offered")]
    assert 0 < len(refused) <= 20


def with_connection(door, body):
    async def run_it():
        async with asyncssh.connect(
            door.target.host,
            door.target.port,
            username=door.target.user,
            client_keys=[str(door.target.identity)],
            known_hosts=str(door.target.known_hosts),
            config=None,
        ) as connection:
            await body(connection)

    with contextlib.suppress(asyncssh.Error, OSError, asyncio.TimeoutError):
        asyncio.run(asyncio.wait_for(run_it(), 20 * PATIENCE))


@pytest.mark.parametrize("size", [0, 1, 9, 10, 11])
def test_a_tiny_packet_size_harms_its_own_connection_alone(door, size):
    """libssh's writer subtracts ten from it; at ten it would write empty packets for ever."""

    async def body(connection):
        channel, _ = await connection.create_session(asyncssh.SSHClientSession, encoding=None, max_pktsize=size)
        channel.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        await asyncio.sleep(1)

    with_connection(door, body)
    with door.target.session() as session:
        session.ping()
        assert session.finish() == 0
    wait_until("its network child is gone", lambda: not door.connections(), 15)


def test_requests_without_end_end_their_connection(door):
    async def body(connection):
        too_many = {f"NAME{number}": "value" for number in range(2100)}
        await connection.create_session(asyncssh.SSHClientSession, env=too_many)
        await connection.wait_closed()

    with_connection(door, body)
    assert door.await_audit("limit", lambda line: "requests on one connection" in line["reason"])
    with door.target.session() as session:
        session.ping()


def test_a_first_message_that_never_comes_ends_the_session(shared_door):
    """Ten lines that cannot be JSON end it with 65 and one line on stderr; MCP is named."""
    result = shared_door.target.run("-T", stdin=b"hello\n" * 10 + b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert result.returncode == 65
    assert b"MCP" in result.stderr
    assert not any(b'"result"' in line for line in result.stdout.splitlines())
