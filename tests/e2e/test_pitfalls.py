"""What the SSH library does, does not do or leaves to us (PITFALLS.md): each is a test that fails where we forget it."""
import asyncio
import contextlib
import json
import os
import re
import signal
import struct
import threading

import asyncssh
import paramiko
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from kit import programs
from kit.certificates import Authority, blob_of
from kit.certificates import options as certificate_options
from kit.mcp import CLIENT, Session
from kit.processes import rss
from kit.raw import FAILURE, GONE, PK_OK, SERVICE_ACCEPT, SUCCESS, Blob, RawClient
from kit.target import make_key, public_line, run
from kit.waiting import PATIENCE, wait_until
from kit.wire import Proxy, connect, read_offer, read_to_end
from paramiko.common import cMSG_CHANNEL_OPEN, cMSG_SERVICE_REQUEST

MB = 1 << 20
NOT_LOGGED_IN = (FAILURE, GONE)


def policy(door, section="algorithms"):
    said = json.loads(run([programs.SSHD, "--check", door.config, "--output", "json"]).stdout)
    return {line["what"]: line["gets"] for line in said["policy"] if line["section"] == section}


def assert_offers_what_check_says(door):
    offer, said = read_offer(door), policy(door)
    methods = [name for name in offer["kex"] if name != "ext-info-s"]
    assert methods.count("kex-strict-s-v00@openssh.com") == 1
    methods.remove("kex-strict-s-v00@openssh.com")
    assert ",".join(methods) == said["key exchange"]
    assert offer["host_keys"] == ["ssh-ed25519"]
    for way in ("in", "out"):
        assert ",".join(offer[f"ciphers_{way}"]) == said["ciphers"]
        assert ",".join(offer[f"macs_{way}"]) == said["macs"]
        assert offer[f"compression_{way}"] == ["none"]


@pytest.fixture(scope="module")
def rsa(tmp_path_factory):
    return make_key(tmp_path_factory.mktemp("rsa") / "rsa", "rsa", "-b", "2048")


@pytest.fixture(scope="module")
def patient_door(tmp_path_factory):
    """Its grace is so long that whatever ends sooner has been ended for another reason."""
    from kit.door import Door

    folder = tmp_path_factory.mktemp("patient")
    folder.chmod(0o711)
    door = Door(folder, "limits: {own_unauthenticated: 0, login_grace_seconds: 600}")
    try:
        yield door.start()
    finally:
        door.stop()


def ed25519(door):
    return paramiko.Ed25519Key.from_private_key_file(str(door.key))


def audited(door, client, event="auth"):
    peer = f"127.0.0.1:{client.local_port}"
    return [line for line in door.audit(event) if line.get("peer") == peer]


# What is offered


def test_what_is_offered_is_what_check_says_and_no_more(shared_door):
    assert_offers_what_check_says(shared_door)


def test_the_version_line_names_no_library(shared_door):
    assert read_offer(shared_door)["version"] == b"SSH-2.0-agentbox\r\n"


def test_the_librarys_version_is_the_one_that_runs(shared_door):
    assert re.match(r"0\.[0-9]+\.[0-9]+", policy(shared_door, "library")["libssh"])


def test_every_connection_draws_its_own_randomness(shared_door):
    """They are forks of one process: what that one drew before, none may use."""
    assert len({read_offer(shared_door)["cookie"] for _ in range(20)}) == 20


@pytest.mark.skipif(not programs.AS_ROOT, reason="only root can lay another folder over /etc/ssh")
def test_the_systems_configuration_of_the_library_is_not_read(new_door, tmp_path):
    for name in ("libssh_server_config", "libssh_client_config", "ssh_config", "sshd_config"):
        (tmp_path / name).write_text("KexAlgorithms ecdh-sha2-nistp256\nCiphers aes128-ctr\nMACs hmac-sha2-256\n")
    door = new_door()
    tmp_path.chmod(0o755)
    door.in_mounts_of_its_own(f"mount --bind {tmp_path} /etc/ssh")
    door.start()
    assert_offers_what_check_says(door)


def test_a_client_that_shares_no_host_key_type_is_sent_away(shared_door):
    result = shared_door.target.run("-T", "-o", "HostKeyAlgorithms=rsa-sha2-512")
    assert result.returncode == 255 and b"no matching host key type" in result.stderr
    shared_door.await_session()


def test_an_rsa_host_key_serves_clients_that_know_nothing_newer(new_door):
    door = new_door()
    for path in (door.folder / "door").glob("host_key*"):
        path.unlink()
    host = make_key(door.folder / "door" / "host_key", "rsa", "-b", "3072")
    programs.give_to("agentbox-door", door.folder / "door")
    door.target.known_hosts.write_text(f"[127.0.0.1]:{door.port} {public_line(host)}\n")
    door.start()
    assert read_offer(door)["host_keys"] == ["rsa-sha2-512", "rsa-sha2-256"]
    assert door.target.run("-T", "-o", "HostKeyAlgorithms=ssh-ed25519").returncode == 255


@pytest.mark.parametrize("what", ["missing", "damaged", "short", "ecdsa", "open to all"])
def test_a_host_key_that_cannot_be_used_stops_the_start(new_door, what):
    door = new_door()
    path = door.folder / "door" / "host_key"
    if what == "open to all":
        path.chmod(0o644)
    else:
        path.unlink()
        path.with_name("host_key.pub").unlink()
    if what == "damaged":
        path.write_text("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n")
    elif what in ("short", "ecdsa"):
        make_key(path, *(("rsa", "-b", "2048") if what == "short" else ("ecdsa",)))
    programs.give_to("agentbox-door", door.folder / "door")
    with pytest.raises(AssertionError, match="the door ended"):
        door.start()
    assert "host_key" in door.log.read_text()
    assert door.monitor.wait(10) == 1


def test_the_host_key_is_in_memory_alone_once_the_door_is_up(new_door):
    """Logins and key exchanges go on when its file is gone."""
    door = new_door()
    door.start()
    (door.folder / "door" / "host_key").unlink()
    with door.target.session("-T", "-o", "RekeyLimit=64K") as session:
        for _ in range(4):
            session.shell("head -c 100000 /dev/zero | tr '\\0' x")
        assert session.finish() == 0


# Before the login


def test_gssapi_is_answered_by_us_and_never_by_kerberos(shared_door):
    with RawClient(shared_door.target) as client:
        client.begin_login()
        oid = bytes.fromhex("06092a864886f712010202")
        client.ask("gssapi-with-mic", 1, Blob(oid))
        assert client.answer() == FAILURE
        wait_until("it is audited", lambda: any(l["method"] == "gssapi-with-mic" for l in audited(shared_door, client)))


@pytest.mark.parametrize("method", ["password", "keyboard-interactive", "hostbased", "no-such-method"])
def test_other_methods_are_refused_in_the_protocols_own_words(shared_door, method):
    with RawClient(shared_door.target) as client:
        client.begin_login()
        client.ask(method, *((False, "secret") if method == "password" else ("", "")))
        assert client.answer() == FAILURE


def test_an_offer_that_is_liked_is_no_login(shared_door):
    """The library calls the same function for an offer and for a proof."""
    key = ed25519(shared_door)
    with RawClient(shared_door.target) as client:
        client.begin_login()
        client.offer("ssh-ed25519", key.asbytes())
        assert client.answer() == PK_OK
        client.send(cMSG_CHANNEL_OPEN, "session", 0, 1 << 20, 1 << 15)
        with contextlib.suppress(EOFError, OSError):  # the door may have ended it by now
            client.ask("publickey", False, "ssh-ed25519", Blob(key.asbytes()))
        assert client.answer() in (PK_OK, GONE)
        assert not audited(shared_door, client, "session_start")
        assert not any(line["result"] == "accepted" for line in audited(shared_door, client))
        assert not shared_door.sessions()


def test_a_proof_counts_for_its_own_key_and_user_alone(shared_door, tmp_path):
    key = ed25519(shared_door)
    stranger = paramiko.Ed25519Key.from_private_key_file(str(make_key(tmp_path / "stranger")))
    sign = lambda each: lambda data: each.sign_ssh_data(data).asbytes()[-64:]  # noqa: E731
    with RawClient(shared_door.target) as client:
        client.begin_login()
        client.offer("ssh-ed25519", key.asbytes())
        assert client.answer() == PK_OK
        client.log_in("ssh-ed25519", stranger.asbytes(), sign(stranger))
        assert client.answer() == FAILURE
        client.log_in("ssh-ed25519", key.asbytes(), sign(key), user="root")
        assert client.answer() == FAILURE
        client.log_in("ssh-ed25519", key.asbytes(), sign(key))
        assert client.answer() == SUCCESS


def test_only_the_login_service_is_offered(shared_door):
    with RawClient(shared_door.target) as client:
        client.send(cMSG_SERVICE_REQUEST, "ssh-connection")
        assert client.answer() == GONE
    with RawClient(shared_door.target) as client:
        client.send(cMSG_SERVICE_REQUEST, "ssh-userauth")
        assert client.answer() == SERVICE_ACCEPT


def rsa_with_sha1(client, key):
    def sign(data):
        return key.key.sign(data, padding.PKCS1v15(), hashes.SHA1())

    client.log_in("ssh-rsa", key.asbytes(), sign)


@pytest.mark.parametrize("what", ["bad signature", "no key", "sk key", "certificate", "sha-1"])
def test_what_the_library_never_answers_ends_long_before_the_grace(patient_door, rsa, tmp_path, what):
    door, key = patient_door, ed25519(patient_door)
    door.write_keys(public_line(door.key), public_line(rsa))
    with RawClient(door.target) as client:
        client.begin_login()
        if what == "bad signature":
            client.log_in("ssh-ed25519", key.asbytes(), lambda data: bytes(64))
        elif what == "no key":
            client.offer("ssh-ed25519", b"\0\0\0\x0bssh-ed25519\0\0\0\x03abc")
        elif what == "sk key":
            name = b"sk-ssh-ed25519@openssh.com"
            blob = b"\0\0\0" + bytes([len(name)]) + name + b"\0\0\0\x20" + bytes(32) + b"\0\0\0\x04ssh:"
            client.offer(name.decode(), blob)
        elif what == "certificate":
            client.offer("ssh-ed25519-cert-v01@openssh.com", blob_of(Authority(tmp_path).sign(door.key)))
        else:
            rsa_with_sha1(client, paramiko.RSAKey.from_private_key_file(str(rsa)))
        assert client.answer(20) in NOT_LOGGED_IN
        assert not any(line["result"] == "accepted" for line in audited(door, client))
        wait_until("it is audited", lambda: any(line["result"] == "refused" for line in audited(door, client)))


def test_what_is_never_answered_is_noticed_also_behind_what_was(patient_door):
    key = ed25519(patient_door)
    with RawClient(patient_door.target) as client:
        client.begin_login()
        for _ in range(3):
            client.offer("ssh-ed25519", key.asbytes())
        client.log_in("ssh-ed25519", key.asbytes(), lambda data: bytes(64))
        answers = [client.answer(20) for _ in range(4)]
        assert answers == [PK_OK, PK_OK, PK_OK, GONE]


def test_rsa_keys_log_in_with_sha2_and_never_with_sha1(door, rsa):
    door.write_keys(public_line(rsa))
    key = paramiko.RSAKey.from_private_key_file(str(rsa))
    with RawClient(door.target) as client:
        client.begin_login()
        rsa_with_sha1(client, key)
        assert client.answer() in NOT_LOGGED_IN
    for algorithm, digest in (("rsa-sha2-256", hashes.SHA256()), ("rsa-sha2-512", hashes.SHA512())):
        with RawClient(door.target) as client:
            client.begin_login()
            client.log_in(algorithm, key.asbytes(), lambda data, d=digest: key.key.sign(data, padding.PKCS1v15(), d))
            assert client.answer() == SUCCESS
    refused = door.target.with_(identity=rsa).run("-T", "-o", "PubkeyAcceptedAlgorithms=ssh-rsa")
    assert refused.returncode == 255


def test_short_rsa_keys_are_no_keys(door, tmp_path):
    path = make_key(tmp_path / "short", "rsa", "-b", "1024")
    door.write_keys(public_line(door.key), public_line(path))
    result = door.target.with_(identity=path).run("-T", "-o", "RequiredRSASize=1024")
    assert result.returncode == 255
    wait_until("the log names the line and why", lambda: '"line":"2"' in door.log.read_text() and "2048" in door.log.read_text())


def test_the_client_is_told_which_signatures_count(shared_door):
    told = shared_door.target.run("-T", "-vv").stderr.decode()
    (line,) = [line for line in told.splitlines() if "server-sig-algs=" in line]
    assert set(line[line.index("<") + 1 : line.index(">")].split(",")) == set(policy(shared_door)["user keys"].split(","))


def test_without_a_ca_certificates_are_refused_and_the_plain_key_behind_one_is_not(door, tmp_path):
    ca = Authority(tmp_path)
    certificate = ca.sign(door.key)
    with door.target.session(*certificate_options(certificate)) as session:
        session.ping()
        assert session.finish() == 0
    assert not any(line["result"] == "accepted" and "ca" in line for line in door.audit("auth"))
    door.write_keys(f"cert-authority {ca.line}", ca.line)
    assert door.target.run(*certificate_options(certificate)).returncode == 255


def test_security_keys_and_their_certificates_are_not_among_what_counts(shared_door):
    names = policy(shared_door)["user keys"].split(",")
    assert not [name for name in names if name.startswith(("sk-", "ssh-rsa", "ssh-dss"))]
    assert {name.removesuffix("-cert-v01@openssh.com") for name in names if "cert" in name} == {name for name in names if "cert" not in name}


@pytest.mark.parametrize("what", ["key exchanges", "packets that ask for nothing"])
def test_neither_keys_nor_packets_are_exchanged_without_end_before_a_login(patient_door, what):
    """The library itself ends a second key exchange; of the other packets it would take any number."""
    with RawClient(patient_door.target) as client:
        with contextlib.suppress(paramiko.SSHException, EOFError, OSError):
            for _ in range(20_000):
                if what == "key exchanges":
                    client.transport.renegotiate_keys()
                else:
                    client.transport.send_ignore(10)
        assert client.answer() == GONE
        wait_until("it is audited", lambda: audited(patient_door, client, "disconnect"))
        (line,) = audited(patient_door, client, "disconnect")
        assert what == "key exchanges" or "too many packets before a login" in line["reason"], line
        assert line["bytes_in"] < 600_000, line


def packet(payload):
    pad = 8 - (len(payload) + 5) % 8 + 8
    return struct.pack(">IB", len(payload) + 1 + pad, pad) + payload + bytes(pad)


def test_wrong_guesses_of_a_key_exchange_are_thrown_away_and_never_add_up(patient_door):
    """A client may guess the method and send its first packet along; a guess that is wrong is not to be read."""
    lists = [b"ecdh-sha2-nistp521,curve25519-sha256", b"ssh-ed25519", b"aes256-ctr", b"aes256-ctr",
             b"hmac-sha2-256-etm@openssh.com", b"hmac-sha2-256-etm@openssh.com", b"none", b"none", b"", b""]
    init = b"\x14" + bytes(16) + b"".join(struct.pack(">I", len(each)) + each for each in lists) + b"\x01" + bytes(4)
    guess = packet(b"\x1e" + struct.pack(">I", 133) + bytes(133))
    with connect(patient_door) as connection:
        connection.sendall(b"SSH-2.0-guesser\r\n" + packet(init))
        with contextlib.suppress(OSError):
            for _ in range(5000):
                connection.sendall(guess)
        read_to_end(connection)
    patient_door.await_session()
    assert "crashed" not in patient_door.log.read_text()


def test_half_a_handshake_keeps_nobody_else_waiting_and_ends_with_the_grace(new_door):
    door = new_door("limits: {own_unauthenticated: 0, login_grace_seconds: 3}")
    door.start()
    with connect(door) as half:
        half.sendall(b"SSH-2.0-half\r\n\0\0\x05\x14\x06\x14" + bytes(100))
        with door.target.session() as session:
            session.ping()
            assert session.finish() == 0
        assert read_to_end(half).startswith(b"SSH-2.0-agentbox")
    door.await_audit("disconnect", lambda line: "grace" in line["reason"])


# Channels


def test_channels_past_the_limit_are_refused_and_the_others_go_on(shared_door):
    async def body():
        target = shared_door.target
        async with asyncssh.connect(
            target.host, target.port, username="agent", client_keys=[str(target.identity)],
            known_hosts=str(target.known_hosts), config=None,
        ) as connection:
            open_ones = [await connection.create_process("x", encoding=None) for _ in range(16)]
            with pytest.raises(asyncssh.ChannelOpenError):
                await connection.create_process("one more", encoding=None)
            open_ones[0].close()
            await open_ones[0].wait_closed()
            for process in [*open_ones[1:], await connection.create_process("now", encoding=None)]:
                process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
                assert json.loads(await process.stdout.readline())["result"] == {}
                process.stdin.write_eof()
                assert (await process.wait()).exit_status == 0

    asyncio.run(asyncio.wait_for(body(), 60 * PATIENCE))


@pytest.fixture
def stalled(door):
    """A session whose agent-box is stopped: it reads nothing."""
    with door.target.session() as session:
        session.ping()
        (pid,) = door.sessions()
        (network,) = door.connections()
        os.kill(pid, signal.SIGSTOP)
        try:
            yield session, network
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def assert_small(pid, base):
    """Memory while something waits: what the window lets in and what one pass moves."""
    if not programs.SANITIZED:
        assert rss(pid) < base + 8 * MB, (rss(pid), base)


def test_a_session_that_reads_nothing_stalls_its_client_and_fills_no_memory(door, stalled):
    session, network = stalled
    base, sent = rss(network), [0]
    note = json.dumps({"jsonrpc": "2.0", "method": "notifications/x", "params": {"text": "x" * 60_000}}).encode() + b"\n"

    def write():
        for _ in range(600):  # 36 MB
            session.send(note)
            sent[0] += 1

    writer = threading.Thread(target=write)
    writer.start()

    def stuck():
        before = sent[0]
        writer.join(0.5)
        return sent[0] == before and before > 0

    wait_until("the client waits", stuck, 20)
    assert writer.is_alive() and sent[0] < 300
    assert_small(network, base)
    with door.target.session() as other:
        other.ping()
    os.kill(door.sessions()[0], signal.SIGCONT)
    writer.join(60 * PATIENCE)
    assert not writer.is_alive()
    session.ping()
    assert session.finish() == 0
    assert_small_or_gone(network, base)


def assert_small_or_gone(pid, base):
    with contextlib.suppress(OSError):
        assert_small(pid, base)


def test_a_client_that_sends_past_the_window_is_cut_off_before_it_fills_memory(door, stalled):
    async def body():
        target = door.target
        async with asyncssh.connect(
            target.host, target.port, username="agent", client_keys=[str(target.identity)],
            known_hosts=str(target.known_hosts), config=None,
        ) as connection:
            known = set(door.sessions())
            channel, _ = await connection.create_session(asyncssh.SSHClientSession, encoding=None)
            (pid,) = await asyncio.to_thread(wait_until, "its agent-box", lambda: set(door.sessions()) - known)
            os.kill(pid, signal.SIGSTOP)
            channel._send_window = 1 << 40
            most = 0
            try:
                for _ in range(64):
                    channel.write(b"x" * MB)
                    await asyncio.sleep(0.02)
                    most = max([most, *map(rss, door.connections())])
                await connection.wait_closed()
            finally:
                os.kill(pid, signal.SIGCONT)
            return most

    base = rss(stalled[1])
    most = 0
    with contextlib.suppress(asyncssh.Error, OSError, ConnectionError):
        most = asyncio.run(asyncio.wait_for(body(), 60 * PATIENCE))
    assert programs.SANITIZED or most < base + 16 * MB, (most, base)
    door.await_audit("disconnect", lambda line: "ignores the channel window" in line["reason"])


def big_replies(count, text_bytes=256_000):
    lines = [{"id": 0, "method": "initialize", "params": CLIENT}, {"method": "notifications/initialized"}]
    lines.append({"id": 1, "method": "tools/call", "params": {"name": "write_file", "arguments": {"path": "big.txt", "content": "0123456789abcdef" * (text_bytes // 16)}}})
    return lines, [
        {"id": 10 + number, "method": "tools/call", "params": {"name": "read_file", "arguments": {"path": "big.txt", "limit": text_bytes}}}
        for number in range(count)
    ]


def as_lines(messages):
    return b"".join(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n" for message in messages)


@pytest.fixture
def unread(door):
    """An ssh that asked for 10 MB of replies and whose output nobody reads; its master's options."""
    import subprocess

    process = subprocess.Popen(
        door.target.ssh("-T", "-M", "-o", f"ControlPath={door.folder}/client/control"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
    )
    try:
        first, rest = big_replies(40)
        process.stdin.write(as_lines(first))
        for _ in range(2):
            line = b""
            while not line.endswith(b"\n"):
                line += process.stdout.read(1)
        process.stdin.write(as_lines(rest))
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def test_a_client_that_reads_nothing_costs_a_bounded_memory_and_nobody_else_anything(door, unread):
    (network,) = door.connections()
    base = rss(network)
    with door.target.session() as other:
        for _ in range(20):
            other.ping()
        assert other.finish() == 0
    assert_small(network, base)
    # And another channel of the very same connection.
    with door.target.session("-T", "-o", f"ControlPath={door.folder}/client/control") as sibling:
        sibling.ping()
        assert len(door.connections()) == 1
        assert sibling.finish() == 0
    assert_small(network, base)


def test_all_that_was_said_comes_before_the_exit_status(door, unread):
    unread.stdin.close()
    replies = unread.stdout.read().splitlines()
    assert len(replies) == 40 and all("result" in json.loads(line) for line in replies)
    assert unread.wait(20 * PATIENCE) == 0


@pytest.mark.parametrize(
    "cipher", ["chacha20-poly1305@openssh.com", "aes256-gcm@openssh.com", "aes128-gcm@openssh.com", "aes256-ctr"]
)
def test_one_spoiled_bit_ends_the_connection_and_is_never_acted_on(shared_door, cipher):
    mark = shared_door.folder / "box" / "workspace" / "spoiled"
    with Proxy(shared_door.port) as proxy:
        alias = f"HostKeyAlias=[127.0.0.1]:{shared_door.port}"
        target = shared_door.target.with_(port=proxy.port)
        with Session(target.ssh("-T", "-c", cipher, "-o", alias)) as session:
            session.ping()
            proxy.spoil()
            session.start("tools/call", {"name": "shell_exec", "arguments": {"command": "touch spoiled"}})
            assert session.wait() == 255
            assert not any("id" in line and line["id"] > 2 for line in session.lines)
    wait_until("its session is gone", lambda: not shared_door.sessions())
    assert not mark.exists()
