"""What a leaked key cannot do: every other request is refused, and gains nothing."""
import asyncio
import json
import os
import socket
import threading

import asyncssh
import pytest
from kit.door import free_port
from kit.target import run
from kit.waiting import wait_until


class Canary:
    """A listener that must never be reached; counts those who did."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.reached = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        try:
            while True:
                self.socket.accept()[0].close()
                self.reached += 1
        except OSError:
            pass


@pytest.fixture
def canary():
    canary = Canary()
    yield canary
    canary.socket.close()
    assert canary.reached == 0


def nobody_listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def environment_of(session):
    return session.shell("env")["stdout"]


def test_a_local_forward_reaches_nothing(shared_door, canary):
    port = free_port()
    with shared_door.target.session("-T", "-L", f"{port}:127.0.0.1:{canary.port}") as session:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.settimeout(10)
            assert connection.recv(1) == b""
        wait_until("ssh says why", lambda: b"open failed" in session.stderr)
        session.ping()
        assert session.finish() == 0


def test_a_local_forward_to_a_unix_socket_reaches_nothing(shared_door):
    port = free_port()
    link = shared_door.folder / "link" / "door.sock"
    with shared_door.target.session("-T", "-L", f"{port}:{link}") as session:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.settimeout(10)
            assert connection.recv(1) == b""
        session.ping()
        assert session.finish() == 0


def test_a_dynamic_forward_reaches_nothing(shared_door, canary):
    port = free_port()
    with shared_door.target.session("-T", "-D", f"{port}") as session:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.settimeout(10)
            connection.sendall(b"\x05\x01\x00")
            assert connection.recv(2) == b"\x05\x00"  # the client's own greeting
            connection.sendall(b"\x05\x01\x00\x01\x7f\x00\x00\x01" + canary.port.to_bytes(2, "big"))
            answer = connection.recv(16)
            assert answer == b"" or answer[1:2] != b"\x00", answer
        session.ping()
        assert session.finish() == 0


def test_a_remote_forward_listens_nowhere(shared_door, canary):
    port = free_port()
    with shared_door.target.session("-T", "-R", f"{port}:127.0.0.1:{canary.port}") as session:
        wait_until("ssh says why", lambda: b"remote port forwarding failed" in session.stderr)
        assert nobody_listens(port)
        session.ping()
        assert session.finish() == 0


def test_forwards_that_must_work_end_the_client(shared_door):
    result = shared_door.target.run(
        "-N", "-o", "ExitOnForwardFailure=yes", "-R", f"{free_port()}:127.0.0.1:1"
    )
    assert result.returncode == 255
    assert b"remote port forwarding failed" in result.stderr


def test_stdio_forward_is_refused(shared_door, canary):
    result = shared_door.target.run("-W", f"127.0.0.1:{canary.port}")
    assert result.returncode == 255
    assert b"stdio forwarding failed" in result.stderr
    assert result.stdout == b""


@pytest.fixture
def agent(tmp_path):
    """An ssh-agent with a socket of its own."""
    import subprocess

    path = tmp_path / "agent"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.DEVNULL)
    wait_until("ssh-agent is there", path.exists)
    yield path
    process.terminate()
    process.wait()


def test_the_agent_is_not_forwarded(shared_door, agent):
    with shared_door.target.session(
        "-T", "-A", "-o", f"ForwardAgent={agent}", env={**os.environ, "SSH_AUTH_SOCK": str(agent)}
    ) as session:
        assert "SSH_AUTH_SOCK" not in environment_of(session)
        assert session.finish() == 0


def test_x11_is_not_forwarded(shared_door):
    with shared_door.target.session(
        "-T", "-X", "-o", "XAuthLocation=/nonexistent", env={**os.environ, "DISPLAY": ":77"}
    ) as session:
        assert "DISPLAY" not in environment_of(session)
        assert session.finish() == 0


def test_a_terminal_asked_for_is_not_given(shared_door):
    # ssh asks for none where its own stdin is no terminal; the session is what it always is.
    with shared_door.target.session("-t") as session:
        assert session.shell("test -t 0 || echo no terminal")["stdout"] == "no terminal\n"
        assert session.finish() == 0


def test_a_terminal_insisted_on_is_refused_in_words(shared_door):
    # Refused, OpenSSH's client gives up with 255 of its own accord: what counts is that nothing else happens.
    result = shared_door.target.run("-tt", stdin=b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert b"PTY allocation request failed" in result.stderr
    assert result.stdout[:1] in (b"", b"{")
    assert result.returncode in (0, 255)
    wait_until("its session is gone", lambda: not shared_door.sessions())


def test_client_environment_does_not_arrive(shared_door):
    with shared_door.target.session(
        "-T", "-o", "SendEnv=LC_WISH", "-o", "SetEnv=LD_PRELOAD=/tmp/evil.so",
        env={**os.environ, "LC_WISH": "granted"},
    ) as session:
        seen = environment_of(session)
        assert "LC_WISH" not in seen and "LD_PRELOAD" not in seen
        assert session.finish() == 0


def test_the_words_of_a_command_are_never_run(shared_door, tmp_path):
    marks = [tmp_path / name for name in ("exec", "substitution", "quoted")]
    for words in (
        [f"touch {marks[0]}"],
        [f"$(touch {marks[1]}); `touch {marks[1]}`"],
        [f"'; touch {marks[2]} #"],
        ["touch", "/tmp/x"],
    ):
        with shared_door.target.session("-T", words=words) as session:
            session.ping()
            assert session.finish() == 0
    assert not any(mark.exists() for mark in marks)
    assert not os.path.exists("/tmp/x")
    assert not (shared_door.folder / "box" / "tmp" / "x").exists()


@pytest.mark.parametrize("subsystem", ["sftp", "netconf", "MCP", "mcp ", "mcp\nsftp"])
def test_other_subsystems_are_refused(shared_door, subsystem):
    result = shared_door.target.run("-s", words=[subsystem])
    assert result.returncode == 255
    assert b"subsystem request failed" in result.stderr
    assert result.stdout == b""


def test_sftp_is_refused(shared_door):
    target = shared_door.target
    result = run(["sftp", "-b", "-", *target.options(), "-P", target.port, target.host], b"ls /\n")
    assert result.returncode != 0
    assert result.stdout == b""
    assert b"subsystem request failed" in result.stderr


def scp(target, *options, source, destination):
    return run(
        ["scp", *options, *target.options(), "-P", target.port, source, destination], seconds=60
    )


@pytest.mark.parametrize("option", ["-s", "-O"], ids=["sftp protocol", "old protocol"])
def test_scp_up_writes_nothing_and_ends(shared_door, tmp_path, option):
    source = tmp_path / "freight"
    source.write_text("freight\n" * 10, encoding="utf-8")
    result = scp(shared_door.target, option, source=source, destination=f"{shared_door.target.host}:/tmp/")
    assert result.returncode != 0
    assert result.stderr != b""
    assert not (shared_door.folder / "box" / "tmp" / "freight").exists()
    assert not os.path.exists("/tmp/freight")


@pytest.mark.parametrize("option", ["-s", "-O"], ids=["sftp protocol", "old protocol"])
def test_scp_down_reads_nothing_and_ends(shared_door, tmp_path, option):
    result = scp(
        shared_door.target, option, source=f"{shared_door.target.host}:/etc/hostname", destination=tmp_path / "got"
    )
    assert result.returncode != 0
    assert not (tmp_path / "got").exists()


def test_an_editor_that_feeds_a_script_is_told_what_this_is(shared_door):
    script = b"#!/bin/sh\necho boot\n" + b"touch /tmp/agentbox-editor\n" * 4000
    result = shared_door.target.run("-T", words=["bash"], stdin=script)
    assert result.returncode == 65
    assert all("error" in json.loads(line) for line in result.stdout.splitlines())
    lines = [line for line in result.stderr.decode().splitlines() if "MCP" in line]
    assert len(lines) == 1, result.stderr
    assert not os.path.exists("/tmp/agentbox-editor")


# Requests that no option of OpenSSH's client makes.


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

    asyncio.run(asyncio.wait_for(run_it(), 60))


def test_other_kinds_of_channel_are_refused(shared_door, canary):
    async def body(connection):
        attempts = {
            "direct-tcpip": lambda: connection.open_connection("127.0.0.1", canary.port),
            "direct-streamlocal": lambda: connection.open_unix_connection("/run/docker.sock"),
            "tun layer 2": lambda: connection.open_tap(),
            "tun layer 3": lambda: connection.open_tun(),
        }
        for name, attempt in attempts.items():
            with pytest.raises(asyncssh.ChannelOpenError):
                await attempt()
                pytest.fail(f"{name} was opened")
        with pytest.raises(asyncssh.ChannelListenError):
            await connection.forward_remote_port("", 0, "127.0.0.1", canary.port)
        with pytest.raises(asyncssh.ChannelListenError):
            await connection.forward_remote_path("/tmp/agentbox-remote", "/nonexistent")

    with_connection(shared_door, body)


def test_a_second_request_on_a_channel_is_refused(shared_door):
    async def body(connection):
        channel, _ = await connection.create_session(asyncssh.SSHClientSession, "first")
        word = asyncssh.packet.String
        for kind, arguments in {
            b"exec": [word("second")],
            b"shell": [],
            b"subsystem": [word("mcp")],
            b"env": [word("A"), word("b")],
            b"auth-agent-req@openssh.com": [],
            b"never-heard-of@example.com": [],
        }.items():
            assert not await channel._make_request(kind, *arguments), kind
        channel.close()
        await channel.wait_closed()

    with_connection(shared_door, body)


def test_asking_to_authenticate_again_changes_nothing(shared_door):
    """The protocol lets a server ignore such a request; ending the connection is as good."""

    async def body(connection):
        word = asyncssh.packet.String
        connection.send_packet(
            asyncssh.constants.MSG_USERAUTH_REQUEST, word("root"), word("ssh-connection"), word("none")
        )
        try:
            channel, _ = await connection.create_session(asyncssh.SSHClientSession, "still here")
        except asyncssh.ChannelOpenError:
            return
        assert "root" not in str(shared_door.audit("session_start"))
        channel.close()
        await channel.wait_closed()

    with_connection(shared_door, body)


def test_after_all_that_a_session_still_works(shared_door):
    with shared_door.target.session() as session:
        session.ping()
        assert session.finish() == 0
