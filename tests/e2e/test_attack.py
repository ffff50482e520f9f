"""The front door under attack: what no polite client would send, at every stage of a connection.

Each row costs its sender a connection at most. Afterwards an honest client that was there all the time goes on, the
door has as many processes and descriptors as before, the audit tells of nobody who got in, and nothing has crashed.
"""
import contextlib
import json
import struct
from concurrent.futures import ThreadPoolExecutor

import paramiko
import pytest
from kit.attacker import (
    CHACHA, CHANNEL_FAILURE, CHANNEL_SUCCESS, CLOSE, CURVE, CURVE_OLD_NAME, DATA, DEBUG, DISCONNECT, ECDH_INIT, ECDH_REPLY,
    EOF, EXTENDED, GLOBAL_REQUEST, GONE, IGNORE, KEXINIT, NEWKEYS, OPEN, OPEN_CONFIRMATION, OPEN_FAILURE, REQUEST,
    REQUEST_FAILURE, SERVICE_ACCEPT, SERVICE_REQUEST, UNIMPLEMENTED, USERAUTH_FAILURE, USERAUTH_PK_OK,
    USERAUTH_REQUEST, USERAUTH_SUCCESS, WINDOW, Attacker, byte, kexinit, number, string,
)
from kit.door import Door
from kit.target import make_key, public_line
from kit.waiting import PATIENCE, wait_until

GRACE = int(3 * PATIENCE)


@pytest.fixture(scope="module")
def besieged(tmp_path_factory):
    """A door with an honest session open on it."""
    folder = tmp_path_factory.mktemp("besieged")
    folder.chmod(0o711)
    keepalive = f"keepalive_seconds: {int(PATIENCE)}, keepalive_misses: 2"
    door = Door(folder, f"limits: {{own_unauthenticated: 0, login_grace_seconds: {GRACE}, idle_seconds: {GRACE}, {keepalive}}}")
    door.operator = make_key(folder / "client" / "operator")
    door.stranger = paramiko.Ed25519Key.from_private_key_file(str(make_key(folder / "client" / "stranger")))
    door.write_keys(public_line(door.key), f'agentbox-role="operator" {public_line(door.operator)}')
    try:
        door.start()
        wait_until("nobody else is there", lambda: not door.connections())
        with door.target.session() as honest:
            honest.ping()
            wait_until("it has settled", lambda: len(door.connections()) == 1 and not door.keepers())
            door.honest, door.base = honest, door.footprint()
            yield door
            assert honest.finish() == 0
    finally:
        door.stop()


def lines_of(door, attacker, event):
    with open(door.audit_log, "rb") as audit:
        audit.seek(attacker.since)
        said = [json.loads(line) for line in audit.read().splitlines(keepends=True) if line.endswith(b"\n")]
    return [line for line in said if line["event"] == event and line.get("peer") == attacker.peer]


def assert_unharmed(door):
    door.honest.ping()
    door.await_footprint(door.base)
    assert "crash" not in door.log.read_text()
    assert "runtime error" not in door.log.read_text() and "AddressSanitizer" not in door.log.read_text()


def assert_not_in(door, attacker):
    """Nobody was let in. That strangers came and went is told too, but past ten a second by their number alone."""
    assert_unharmed(door)
    assert not [line for line in lines_of(door, attacker, "auth") if line["result"] == "accepted"]
    assert not lines_of(door, attacker, "session_start")


# Before there are keys: everything of this ends the connection


def spoiled(data, at, bit=1):
    return data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]


def keys_of_size(size, fill=b"\x09"):
    def attack(client):
        client.version().begin_exchange().say_public(fill * size)

    return attack


def too_early(*payloads):
    def attack(client):
        client.version()
        client.say(*payloads)

    return attack


def spoiled_after_keys(at):
    def attack(client):
        client.exchange()
        client.raw(spoiled(client.sealed(byte(SERVICE_REQUEST) + string("ssh-userauth")), at))

    return attack


def spoiled_exchange(client):
    """What was spoiled on the way is in neither side's hash but differently: the keys are no longer the same."""
    client.version()
    client.own_init = kexinit(CURVE)
    client.raw(spoiled(client.sealed(client.own_init), 10))
    client.say_public()
    assert client.end_exchange()
    client.say(byte(SERVICE_REQUEST) + string("ssh-userauth"))


def guesses(count, right):
    """CVE-2023-1667: a guessed first packet, again and again."""

    def attack(client):
        client.version()
        methods = CURVE if right else f"ecdh-sha2-nistp521,{CURVE}"
        for _ in range(count):
            client.say(kexinit(methods, follows=True), byte(ECDH_INIT) + string(bytes(133)))

    return attack


def no_method_in_common(client):
    client.version().begin_exchange("diffie-hellman-group1-sha1")


def no_cipher_in_common(client):
    client.version()
    client.say(kexinit(CURVE, ciphers="none,arcfour"))


def raw(data):
    return lambda client: client.raw(data)


AUTH = byte(USERAUTH_REQUEST) + string("agent") + string("ssh-connection") + string("none")
SESSION = byte(OPEN) + string("session") + number(0) + number(1 << 20) + number(1 << 15)
EARLY = {
    "version 1": raw(b"SSH-1.99-old\r\n" * 3),
    "two versions": raw(b"SSH-2.0-a\r\nSSH-2.0-b\r\n"),
    "a version without an end": raw(b"SSH-2.0-" + b"x" * 70_000),
    "a packet of 4 GiB": raw(b"SSH-2.0-a\r\n" + b"\xff" * 64),
    "a packet of nothing": raw(b"SSH-2.0-a\r\n" + bytes(64)),
    "all padding": raw(b"SSH-2.0-a\r\n" + struct.pack(">IB", 12, 12) + bytes(11)),
    "no padding": raw(b"SSH-2.0-a\r\n" + struct.pack(">IBB", 12, 0, KEXINIT) + bytes(10)),
    "an unaligned packet": raw(b"SSH-2.0-a\r\n" + struct.pack(">IBB", 13, 4, KEXINIT) + bytes(64)),
    "new keys at once": too_early(byte(NEWKEYS)),
    "new keys without an exchange": too_early(kexinit(CURVE), byte(NEWKEYS)),
    "the server's reply": too_early(kexinit(CURVE), byte(ECDH_REPLY) + string(b"") * 3),
    "a service before the keys": too_early(byte(SERVICE_REQUEST) + string("ssh-userauth")),
    "a service in the exchange": too_early(kexinit(CURVE), byte(SERVICE_REQUEST) + string("ssh-userauth")),
    "a login before the keys": too_early(AUTH),
    "a login in the exchange": too_early(kexinit(CURVE), AUTH),
    "success before the keys": too_early(byte(USERAUTH_SUCCESS), SESSION),
    "a channel before the keys": too_early(SESSION, byte(REQUEST) + number(43) + string("shell") + byte(1)),
    "two offers": too_early(kexinit(CURVE), kexinit(CURVE)),
    "an offer cut short": too_early(kexinit(CURVE)[:40]),
    "an offer of lists without end": too_early(byte(KEXINIT) + bytes(16) + number(0xFFFFFFFF) + bytes(64)),
    "an offer of 30,000 names": too_early(kexinit(",".join(["x"] * 15_000))),
    "a long unknown list": too_early(kexinit("x" * 30_000)),
    "no method in common": no_method_in_common,
    "no cipher in common": no_cipher_in_common,
    "a public key of zeros": keys_of_size(32, b"\0"),
    "no public key": keys_of_size(0),
    "a short public key": keys_of_size(31),
    "a long public key": keys_of_size(33),
    "a public key of 30 kB": keys_of_size(30_000),
    "1,000 wrong guesses": guesses(1000, right=False),
    "1,000 right guesses": guesses(1000, right=True),
    "a spoiled exchange": spoiled_exchange,
    "a spoiled packet": spoiled_after_keys(6),
    "a spoiled tag": spoiled_after_keys(-1),
}


# To the server these are the beginning of something longer.
UNFINISHED = {
    "a packet for a version": raw(struct.pack(">IB", 12, 6) + bytes(12)),
    "a version with a zero": raw(b"SSH-2.0-\0\r\n\0\0\0\0"),
    "a spoiled length": spoiled_after_keys(1),
    "a spoiled low bit of a length": spoiled_after_keys(3),
}


@pytest.mark.parametrize("row", EARLY)
def test_nonsense_before_the_keys_ends_its_connection(besieged, row):
    with Attacker(besieged) as client:
        EARLY[row](client)
        assert client.is_ended(GRACE * 3)
    assert_not_in(besieged, client)


def test_nonsense_that_could_be_the_beginning_of_more_is_ended_with_the_grace(besieged):
    """Side by side, as each waits for as long as it is let."""

    def attack(row):
        with Attacker(besieged) as client:
            UNFINISHED[row](client)
            return row, client, client.is_ended(GRACE * 3)

    with ThreadPoolExecutor(len(UNFINISHED)) as pool:
        outcomes = list(pool.map(attack, UNFINISHED))
    assert not [row for row, _, ended in outcomes if not ended]
    for _, client, _ in outcomes:
        assert_not_in(besieged, client)


SLIPPED_IN = {
    "nothing": (),
    "ignore": (byte(IGNORE) + string("x"),),
    "debug": (byte(DEBUG) + byte(0) + string("x") + string(""),),
    "unimplemented": (byte(UNIMPLEMENTED) + number(0),),
    "three": (byte(IGNORE) + string("x"),) * 3,
}


def first_packet_is_heard(door, slipped_in, strict, count, before_offer=False):
    """Who sits between client and server slips packets in before the keys; the client's first packet under the keys
    has the number COUNT. Whether the server takes it for what it is."""
    with Attacker(door) as client:
        client.version()
        client.say(*(slipped_in if before_offer else ()))
        client.begin_exchange(strict=strict, cipher=CHACHA)
        client.say(*(() if before_offer else slipped_in))
        if not client.say_public().end_exchange(count):
            return False
        client.say(byte(SERVICE_REQUEST) + string("ssh-userauth"))
        return client.hear_kind(SERVICE_ACCEPT) != GONE


@pytest.mark.parametrize("what", SLIPPED_IN)
def test_packets_slipped_in_before_the_keys_hide_none_that_were_lost_after_them(besieged, what):
    """Terrapin (CVE-2023-48795): strict ordering numbers packets anew with the first keys. As many as were slipped in
    are missing behind them, and that shows. Without strict ordering it would not: the old way numbers on."""
    slipped_in = SLIPPED_IN[what]
    sent_before = 3 + len(slipped_in)  # the offer, the public key, the new keys
    assert first_packet_is_heard(besieged, slipped_in, strict=False, count=sent_before)
    assert not first_packet_is_heard(besieged, slipped_in, strict=True, count=sent_before)
    for lost in range(1, len(slipped_in) + 1):
        for before_offer in (True, False):
            assert not first_packet_is_heard(besieged, slipped_in, strict=True, count=lost, before_offer=before_offer)
    if not slipped_in:
        assert first_packet_is_heard(besieged, slipped_in, strict=True, count=0)
    assert_unharmed(besieged)


# With keys and without a login


def says(*payloads):
    def attack(client):
        client.exchange().service()
        client.say(*payloads)

    return attack


def claims_success(before_service, after_failure=False):
    """CVE-2018-10933: the client says that the server has let it in."""

    def attack(client):
        client.exchange()
        if not before_service:
            client.service()
        if after_failure:
            client.ask("none")
            assert client.verdict() == USERAUTH_FAILURE
        client.say(byte(USERAUTH_SUCCESS), SESSION, byte(REQUEST) + number(43) + string("exec") + byte(1) + string("x"))

    return attack


def tries(make):
    def attack(client):
        client.exchange().service()
        client.say(make(client))
        assert client.verdict() in (USERAUTH_FAILURE, GONE)

    return attack


def offers_one_and_signs_another(client):
    """CVE-2024-45337: what was offered is not what was proven."""
    client.exchange().service()
    client.offer()
    assert client.verdict() == USERAUTH_PK_OK
    client.say(client.signed(client.door.stranger))
    assert client.verdict() == USERAUTH_FAILURE
    client.offer()
    assert client.verdict() == USERAUTH_PK_OK
    client.say(SESSION)


def signs_with_another_key(client):
    """The blob is of a key that is let in, the signature of one that is not."""
    good = client.signed(client.door.stranger)
    return good.replace(string(client.door.stranger.asbytes()), string(client.key.asbytes()))


def cut_requests(client):
    client.exchange().service()
    whole = client.signed()
    for size in range(1, len(whole) - 70, 5):
        client.say(whole[:size])


BEFORE_LOGIN = {
    "success, and no service": claims_success(before_service=True),
    "success": claims_success(before_service=False),
    "success after a failure": claims_success(before_service=False, after_failure=True),
    "every message of a server's": says(*(byte(kind) for kind in (6, 7, 31, 51, 52, 53, 60, 61, 66, 81, 82, 91, 92, 99, 100))),
    "a session": says(SESSION),
    "all of a session": says(SESSION, byte(REQUEST) + number(43) + string("exec") + byte(0) + string("x"),
                             byte(DATA) + number(43) + string("{}\n"), byte(EOF) + number(43), byte(CLOSE) + number(43)),
    "a forward": says(byte(GLOBAL_REQUEST) + string("tcpip-forward") + byte(1) + string("0.0.0.0") + number(0)),
    "new keys": says(byte(NEWKEYS)),
    "half an exchange": says(kexinit(CURVE)),
    "gssapi out of order": says(*(byte(kind) + string(b"\x06\x01\x2a") for kind in range(61, 67))),
    "unknown messages": says(*(byte(kind) + bytes(8) for kind in (0, 10, 19, 40, 49, 70, 79, 110, 127, 191, 192, 200, 255))),
    "an empty message": says(b""),
    "login requests cut short": cut_requests,
    "a text without an end": says(byte(USERAUTH_REQUEST) + number(0xFFFFFFFF) + b"agent"),
    "a user of 30 kB": tries(lambda client: client.signed(user="a" * 30_000)),
    "a user with a zero": tries(lambda client: client.signed(user="agent\0root")),
    "another user": tries(lambda client: client.signed(user="root")),
    "another service": tries(lambda client: client.signed(service="ssh-nothing")),
    "a stranger": tries(lambda client: client.signed(client.door.stranger)),
    "another key's signature": tries(signs_with_another_key),
    "another session's signature": tries(lambda client: client.signed(session_id=bytes(32))),
    "a spoiled signature": tries(lambda client: spoiled(client.signed(), -1)),
    "half a signature": tries(lambda client: client.signed()[:-32]),
    "no signature": tries(lambda client: client.signed()[: -(4 + 83)]),
    "an offer for a proof": offers_one_and_signs_another,
}


@pytest.mark.parametrize("row", BEFORE_LOGIN)
def test_nothing_but_a_good_signature_is_a_login(besieged, row):
    with Attacker(besieged) as client:
        BEFORE_LOGIN[row](client)
        client.say(byte(DISCONNECT) + number(11) + string("") * 2)
        assert client.is_ended(GRACE * 3)
    assert_not_in(besieged, client)


def test_who_has_entered_is_who_has_signed(besieged):
    """CVE-2024-45337 again: an offer of an operator's key lends nothing to an agent's login."""
    operator = paramiko.Ed25519Key.from_private_key_file(str(besieged.operator))
    with Attacker(besieged) as client:
        client.exchange().service()
        for key in (operator, client.key, operator):
            client.offer(key)
            assert client.verdict() == USERAUTH_PK_OK
        client.say(client.signed())
        assert client.verdict() == USERAUTH_SUCCESS
        client.start(client.open())
        (line,) = wait_until("it has a session", lambda: lines_of(besieged, client, "session_start"))
        (login,) = [line for line in lines_of(besieged, client, "auth") if line["result"] == "accepted"]
        assert line["role"] == "agent" and line["key"] == login["key"]
    assert_unharmed(besieged)


# After a login: the connection goes on where that is a promise, and gains nothing


def refused_channels(*kinds):
    def attack(client):
        for kind in kinds:
            client.say(byte(OPEN) + string(kind) + number(7) + number(1 << 20) + number(1 << 15) + string("127.0.0.1")
                       + number(22) + string("127.0.0.1") + number(1))
            assert client.hear_kind(OPEN_CONFIRMATION, OPEN_FAILURE)[0] == OPEN_FAILURE

    return attack


def refused_globals(*names):
    def attack(client):
        for name in names:
            client.say(byte(GLOBAL_REQUEST) + string(name) + byte(1) + string("127.0.0.1") + number(0))
            assert client.hear_kind(81, REQUEST_FAILURE)[0] == REQUEST_FAILURE

    return attack


def to_no_channel(client):
    for channel in (number(0), number(44), number(0xFFFFFFFF)):
        client.say(byte(DATA) + channel + string("x"), byte(EXTENDED) + channel + number(1) + string("x"),
                   byte(WINDOW) + channel + number(1), byte(EOF) + channel, byte(CLOSE) + channel,
                   byte(REQUEST) + channel + string("shell") + byte(0))


def environment_flood(count):
    def attack(client):
        channel = client.open()
        for _ in range(count // 100):
            client.say(*[byte(REQUEST) + channel + string("env") + byte(0) + string("LANG") + string("x")] * 100)

    return attack


def odd_requests(client):
    channel = client.open()
    pixels = number(80) * 4
    for name, rest in {
        "x11-req": byte(0) + string("MIT-MAGIC-COOKIE-1") + string("x") + number(0),
        "auth-agent-req@openssh.com": b"",
        "pty-req": string("xterm") + pixels + string(""),
        "subsystem": string("sftp"),
        "break": number(1000),
        "eow@openssh.com": b"",
        "": b"",
    }.items():
        client.say(byte(REQUEST) + channel + string(name) + byte(1) + rest)
        assert client.hear_kind(CHANNEL_SUCCESS, CHANNEL_FAILURE)[0] == CHANNEL_FAILURE, name


def many_exchanges(client):
    """CVE-2021-3634: the first exchange's sizes are not the later ones'."""
    channel = client.open()
    client.start(channel)
    for count in range(50):
        client.exchange(CURVE if count % 2 else CURVE_OLD_NAME)
        client.ping(channel)


def exchange_without_method(client):
    client.begin_exchange("ecdh-sha2-nistp521")


def guesses_in_a_later_exchange(client):
    for _ in range(100):
        client.say(kexinit(f"ecdh-sha2-nistp521,{CURVE}", follows=True), byte(ECDH_INIT) + string(bytes(133)))


def windows_without_end(client):
    channel = client.open(window=0)
    client.start(channel)
    client.say(*[byte(WINDOW) + channel + number(0xFFFFFFFF)] * 20)
    client.ping(channel)


def cut(head, whole):
    """Every length of one message."""

    def attack(client):
        channel = client.open()
        for size in range(1, len(whole) + 1):
            client.say(head + channel + whole[:size] if head else whole[:size])

    return attack


def channels_without_end(client):
    for _ in range(200):
        client.say(SESSION)
    kinds = [client.hear_kind(OPEN_CONFIRMATION, OPEN_FAILURE)[0] for _ in range(200)]
    assert kinds.count(OPEN_CONFIRMATION) == 16


def odd_order(client):
    """Data before there is a session, an end before data, and a channel closed twice."""
    channel = client.open()
    client.say(byte(DATA) + channel + string("x" * 1000), byte(EXTENDED) + channel + number(1) + string("x"),
               byte(EOF) + channel, byte(DATA) + channel + string("y"), byte(EOF) + channel,
               byte(CLOSE) + channel, byte(CLOSE) + channel, byte(DATA) + channel + string("z"))
    assert client.hear_kind(CLOSE) != GONE


def success_again(client):
    client.say(byte(USERAUTH_SUCCESS), byte(USERAUTH_FAILURE) + string("none") + byte(0), AUTH)


def asks_for_a_service(name):
    """The library would disconnect, and free the channels that we still have."""

    def attack(client):
        client.open()
        client.say(byte(SERVICE_REQUEST) + string(name))

    return attack


def messages_of_a_server(client):
    client.say(*(byte(kind) + number(43) * 4 for kind in (OPEN_CONFIRMATION, OPEN_FAILURE, CHANNEL_SUCCESS, CHANNEL_FAILURE, 81, 82)))


# What it does; how many sessions it gets; whether the connection must go on.
AFTER_LOGIN = {
    "forwards (CVE-2025-14282)": (refused_channels(
        "direct-tcpip", "direct-streamlocal@openssh.com", "forwarded-tcpip", "forwarded-streamlocal@openssh.com", "x11",
        "auth-agent@openssh.com", "tun@openssh.com"), 0, True),
    "100 unknown channels": (refused_channels(*(f"kind-{count}" for count in range(100))), 0, True),
    "listening (CVE-2025-14282)": (refused_globals(
        "tcpip-forward", "streamlocal-forward@openssh.com", "cancel-tcpip-forward"), 0, True),
    "100 unknown global requests": (refused_globals(*(f"kind-{count}" for count in range(100))), 0, True),
    "no such channel": (to_no_channel, 0, None),
    "1,000 variables": (environment_flood(1000), 0, True),
    "odd requests": (odd_requests, 0, True),
    "50 exchanges of keys (CVE-2021-3634)": (many_exchanges, 1, True),
    "another method": (exchange_without_method, 0, False),
    "wrong guesses (CVE-2023-1667)": (guesses_in_a_later_exchange, 0, False),
    "new keys without an exchange": (lambda client: client.say(byte(NEWKEYS)), 0, False),
    "a window past its size": (windows_without_end, 1, True),
    "channels cut short": (cut(b"", byte(OPEN) + string("session") + number(1) + number(9) + number(99)), 0, None),
    "requests cut short": (cut(byte(REQUEST), string("env") + byte(1) + string("LANG") + string("C")), 0, None),
    "data cut short": (cut(byte(DATA), string("x" * 20)), 0, None),
    "global requests cut short": (cut(b"", byte(GLOBAL_REQUEST) + string("tcpip-forward") + byte(1) + string("::") + number(1)), 0, None),
    "200 channels": (channels_without_end, 0, None),
    "data in odd order": (odd_order, 0, True),
    "success again": (success_again, 0, None),
    "a server's messages": (messages_of_a_server, 0, None),
    "the login's service again": (asks_for_a_service("ssh-userauth"), 0, False),
    "another service over a channel": (asks_for_a_service("ssh-connection"), 0, False),
    "a spoiled bit": (lambda client: client.raw(spoiled(client.sealed(SESSION), 8)), 0, False),
    "10,100 variables": (environment_flood(10_100), 0, False),
}


@pytest.mark.parametrize("row", AFTER_LOGIN)
def test_nothing_after_a_login_gains_more_than_a_session(besieged, row):
    attack, sessions, goes_on = AFTER_LOGIN[row]
    with Attacker(besieged) as client:
        client.log_in()
        attack(client)
        if goes_on:
            channel = client.open()
            client.start(channel)
            client.ping(channel)
            sessions += 1
        elif goes_on is False:
            assert client.is_ended()
    wait_until("its end is audited", lambda: lines_of(besieged, client, "disconnect"))
    assert len(lines_of(besieged, client, "session_start")) == sessions
    assert_unharmed(besieged)


# Cut short, or silent, at each stage


def after_version(client):
    client.version()


def after_offer(client):
    client.version().begin_exchange()


def after_public(client):
    client.version().begin_exchange().say_public()


def after_keys(client):
    client.exchange()


def after_service(client):
    client.exchange().service()


def after_failure(client):
    client.exchange().service()
    client.ask("none")
    assert client.verdict() == USERAUTH_FAILURE


def after_offered_key(client):
    client.exchange().service()
    client.offer()
    assert client.verdict() == USERAUTH_PK_OK


def after_login(client):
    client.log_in()


def after_channel(client):
    client.log_in().open()


def after_session(client):
    client.log_in()
    client.start(client.open())


def in_a_later_exchange(client):
    client.log_in()
    client.begin_exchange()


STAGES = {
    "connecting": lambda client: None,
    "the version": after_version,
    "the offer": after_offer,
    "the public key": after_public,
    "the keys": after_keys,
    "the service": after_service,
    "a failed login": after_failure,
    "an offered key": after_offered_key,
    "the login": after_login,
    "a channel": after_channel,
    "a session": after_session,
    "a later offer": in_a_later_exchange,
}


def half(client):
    """The first half of what could come next: a version or a packet that never ends."""
    if client.said_version:
        client.say_half(byte(IGNORE) + string("x" * 200))
    else:
        client.raw(b"SSH-2.0-ha")


def test_who_thinks_about_the_host_key_has_the_whole_grace(besieged):
    """Longer than a request for a login may stay without an answer: nothing has been asked yet."""
    stages = ("the offer", "the public key", "the keys")
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Attacker(besieged)) for _ in stages]
        for stage, client in zip(stages, clients):
            STAGES[stage](client)
        for client in clients:
            assert client.is_ended(GRACE * 4)
    for client in clients:
        (line,) = wait_until("its end is audited", lambda c=client: lines_of(besieged, c, "disconnect"))
        assert line["reason"] == END_OF_THE_GRACE
        assert not lines_of(besieged, client, "auth")
    assert_unharmed(besieged)


END_OF_THE_GRACE = "no login within the grace time"
ENDS_OF_A_LOGIN = ("idle without a session", "the client no longer answers")


def test_silence_at_each_stage_and_in_the_middle_of_each_packet_is_ended(besieged):
    """All at once: each would wait for as long as it is let, and none keeps the others waiting."""

    def wait_silently(stage, cut_short):
        with Attacker(besieged) as client:
            STAGES[stage](client)
            if cut_short:
                half(client)
            return stage, cut_short, client, client.is_ended(GRACE * 4)

    everything = [(stage, cut_short) for stage in STAGES for cut_short in (False, True)]
    with ThreadPoolExecutor(len(everything)) as pool:
        waiting = [pool.submit(wait_silently, *each) for each in everything]
        for _ in range(10):
            besieged.honest.ping()
        outcomes = [each.result() for each in waiting]
    assert not [each[:2] for each in outcomes if not each[3]]
    assert_unharmed(besieged)
    logged_in = list(STAGES)[list(STAGES).index("the login") :]
    for stage, cut_short, client, _ in outcomes:
        lines = lines_of(besieged, client, "disconnect")
        assert lines or stage not in logged_in  # past ten a second strangers are told by their number
        for line in lines:
            ends = ENDS_OF_A_LOGIN if stage in logged_in else (END_OF_THE_GRACE,)
            assert line["reason"] in ends, (stage, cut_short)


@pytest.mark.parametrize("how", ["ended", "reset"])
def test_a_connection_may_break_at_each_stage_and_in_the_middle_of_each_packet(besieged, how):
    for stage, begin in STAGES.items():
        for cut_short in (False, True):
            with Attacker(besieged) as client:
                begin(client)
                if cut_short:
                    half(client)
                if how == "ended":
                    with contextlib.suppress(OSError):
                        client.socket.shutdown(1)
                    assert client.is_ended(), (stage, cut_short)
                else:
                    client.socket.setsockopt(1, 13, struct.pack("ii", 1, 0))  # SO_LINGER: close() resets
    assert_unharmed(besieged)
