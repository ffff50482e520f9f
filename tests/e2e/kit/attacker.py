"""An SSH client of our own, which says what it is told to and nothing else: out of order, cut short, or never.

It knows curve25519-sha256 with aes256-gcm@openssh.com and, one way, chacha20-poly1305@openssh.com, and believes any host
key: what it attacks is its own door.
"""
import contextlib
import hashlib
import socket
import struct

import paramiko
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.poly1305 import Poly1305
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from kit.waiting import PATIENCE

DISCONNECT, IGNORE, UNIMPLEMENTED, DEBUG, SERVICE_REQUEST, SERVICE_ACCEPT = 1, 2, 3, 4, 5, 6
KEXINIT, NEWKEYS, ECDH_INIT, ECDH_REPLY = 20, 21, 30, 31
USERAUTH_REQUEST, USERAUTH_FAILURE, USERAUTH_SUCCESS, USERAUTH_PK_OK = 50, 51, 52, 60
GLOBAL_REQUEST, REQUEST_SUCCESS, REQUEST_FAILURE = 80, 81, 82
OPEN, OPEN_CONFIRMATION, OPEN_FAILURE, WINDOW, DATA, EXTENDED, EOF, CLOSE = 90, 91, 92, 93, 94, 95, 96, 97
REQUEST, CHANNEL_SUCCESS, CHANNEL_FAILURE = 98, 99, 100
GONE = "gone"
CURVE, CURVE_OLD_NAME = "curve25519-sha256", "curve25519-sha256@libssh.org"


def number(value):
    return struct.pack(">I", value)


def string(value):
    value = value.encode() if isinstance(value, str) else value
    return number(len(value)) + value


def byte(value):
    return bytes([value])


def mpint(value):
    value = value.lstrip(b"\0")
    return string(b"\0" + value if value and value[0] & 0x80 else value)


def take_string(data):
    (size,) = struct.unpack(">I", data[:4])
    return data[4 : 4 + size], data[4 + size :]


GCM, CHACHA = "aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com"


def kexinit(methods, strict=False, follows=False, ciphers=GCM, ciphers_back=None):
    lists = [",".join([methods, *(["kex-strict-c-v00@openssh.com"] if strict else [])]), "ssh-ed25519,rsa-sha2-512"]
    lists += [ciphers, ciphers_back or ciphers] + ["hmac-sha2-256-etm@openssh.com"] * 2 + ["none"] * 2 + [""] * 2
    return byte(KEXINIT) + bytes(16) + b"".join(map(string, lists)) + byte(follows) + number(0)


class GcmKey:
    """RFC 5647: it counts for itself, so that what was lost or slipped in before it is nothing to it."""

    def __init__(self, derived):
        self.key, self.iv = AESGCM(derived(32)), derived(12, iv=True)

    def _next(self):
        iv, count = self.iv, struct.unpack(">Q", self.iv[4:])[0]
        self.iv = iv[:4] + struct.pack(">Q", (count + 1) & (2**64 - 1))
        return iv

    def seal(self, length, body):
        return length + self.key.encrypt(self._next(), body, length)

    def unseal(self, length, body):
        return self.key.decrypt(self._next(), body, length)


class ChachaKey:
    """PROTOCOL.chacha20poly1305: the number of the packet is all that it counts by."""

    def __init__(self, derived, count):
        both = derived(64)
        self.body_key, self.length_key, self.count = both[:32], both[32:], count

    def _stream(self, key, block, data):
        nonce = struct.pack("<Q", block) + struct.pack(">Q", self.count)
        return Cipher(algorithms.ChaCha20(key, nonce), mode=None).encryptor().update(data)

    def seal(self, length, body):
        sealed = self._stream(self.length_key, 0, length) + self._stream(self.body_key, 1, body)
        tag = Poly1305.generate_tag(self._stream(self.body_key, 0, bytes(32)), sealed)
        self.count += 1
        return sealed + tag


class Attacker:
    """Connected, and has said nothing yet. A context manager."""

    VERSION = b"SSH-2.0-attacker"
    cipher = GCM
    said_version = False

    def __init__(self, door):
        self.door = door
        self.since = door.audit_log.stat().st_size  # before it are lines of others that had our port
        self.socket = socket.create_connection(("127.0.0.1", door.port), 20 * PATIENCE)
        self.local_port = self.socket.getsockname()[1]
        self.peer = f"127.0.0.1:{self.local_port}"
        self.input = b""
        self.out_key = self.in_key = None
        self.session_id = None
        self.server_version = None
        self.key = paramiko.Ed25519Key.from_private_key_file(str(door.key))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    # Bytes and packets

    def raw(self, data):
        """As they are. What the other side no longer takes is lost."""
        with contextlib.suppress(OSError):
            self.socket.sendall(data)

    def sealed(self, payload, padding=0):
        """The bytes of one packet under the keys that hold now."""
        block, counted = (16, 1) if self.out_key else (8, 5)
        pad = block - (counted + len(payload)) % block
        pad += (block if pad < 4 else 0) + padding
        body = byte(pad) + payload + bytes(pad)
        length = number(len(body))
        if not self.out_key:
            return length + body
        return self.out_key.seal(length, body)

    def say(self, *payloads):
        self.raw(b"".join(self.sealed(payload) for payload in payloads))

    def say_half(self, payload):
        data = self.sealed(payload)
        self.raw(data[: len(data) // 2])

    def _read(self, count):
        while len(self.input) < count:
            piece = self.socket.recv(65536)
            if not piece:
                raise ConnectionError("the other side has ended")
            self.input += piece
        data, self.input = self.input[:count], self.input[count:]
        return data

    def hear(self, seconds=20.0):
        """The next payload; GONE where the server has ended the connection."""
        self.socket.settimeout(seconds * PATIENCE)
        try:
            if self.server_version is None:
                self.hear_version()
            length = self._read(4)
            (size,) = struct.unpack(">I", length)
            assert 2 <= size <= 1 << 18, "that is no packet"
            body = self._read(size + (16 if self.in_key else 0))
            if self.in_key:
                body = self.in_key.unseal(length, body)
            return body[1 : size - body[0]]
        except ConnectionError:
            return GONE
        except InvalidTag:
            return GONE  # it is under keys that we do not share, and of no use to us

    def hear_version(self):
        line = b""
        while not line.endswith(b"\n"):
            line += self._read(1)
        self.server_version = line.rstrip(b"\r\n")

    def hear_kind(self, *kinds):
        """The next payload of one of these kinds, others passed over; GONE at the end."""
        while (payload := self.hear()) != GONE and payload[0] not in kinds:
            pass
        return payload

    def is_ended(self, seconds=20.0):
        """Whether the server ends the connection, whatever it says before that."""
        self.socket.settimeout(seconds * PATIENCE)
        with contextlib.suppress(ConnectionError):
            try:
                while self.socket.recv(65536):
                    pass
            except TimeoutError:
                return False
        return True

    # Stages, each after the one before

    def version(self):
        self.raw(self.VERSION + b"\r\n")
        self.said_version = True
        return self

    def begin_exchange(self, methods=CURVE, strict=False, follows=False, cipher=GCM):
        self.cipher = cipher
        self.own_init = kexinit(methods, strict, follows, cipher, GCM)
        self.say(self.own_init)
        return self

    def say_public(self, public=None):
        self.secret = X25519PrivateKey.generate()
        self.public = self.secret.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw) if public is None else public
        self.say(byte(ECDH_INIT) + string(self.public))
        return self

    def end_exchange(self, count=0):
        """True once both sides have changed their keys. COUNT is the number of our next packet then."""
        init = self.hear_kind(KEXINIT)
        reply = self.hear_kind(ECDH_REPLY) if init != GONE else GONE
        if reply == GONE or self.hear_kind(NEWKEYS) == GONE:
            return False
        host, rest = take_string(reply[1:])
        theirs, _ = take_string(rest)
        shared = mpint(self.secret.exchange(X25519PublicKey.from_public_bytes(theirs)))
        parts = (self.VERSION, self.server_version, self.own_init, init, host, self.public, theirs)
        digest = hashlib.sha256(b"".join(map(string, parts)) + shared).digest()
        self.session_id = self.session_id or digest

        def of(key_letter, iv_letter):
            def derived(size, iv=False):
                stream = hashlib.sha256(shared + digest + (iv_letter if iv else key_letter) + self.session_id).digest()
                while len(stream) < size:
                    stream += hashlib.sha256(shared + digest + stream).digest()
                return stream[:size]

            return derived

        self.say(byte(NEWKEYS))
        self.out_key = GcmKey(of(b"C", b"A")) if self.cipher == GCM else ChachaKey(of(b"C", b"A"), count)
        self.in_key = GcmKey(of(b"D", b"B"))
        return True

    def exchange(self, methods=CURVE, strict=False):
        """An exchange of keys as it should be."""
        if not self.session_id:
            self.version()
        assert self.begin_exchange(methods, strict).say_public().end_exchange(), "no exchange of keys"
        return self

    def service(self):
        self.say(byte(SERVICE_REQUEST) + string("ssh-userauth"))
        assert self.hear_kind(SERVICE_ACCEPT) != GONE
        return self

    def ask(self, method, *parts, user="agent", service="ssh-connection"):
        self.say(byte(USERAUTH_REQUEST) + string(user) + string(service) + string(method) + b"".join(parts))

    def offer(self, key=None, algorithm="ssh-ed25519"):
        self.ask("publickey", byte(0), string(algorithm), string((key or self.key).asbytes()))

    def signed(self, key=None, user="agent", service="ssh-connection", algorithm="ssh-ed25519", session_id=None):
        """A request to log in; it is good where nothing is said otherwise."""
        key = key or self.key
        request = byte(USERAUTH_REQUEST) + string(user) + string(service) + string("publickey") + byte(1)
        request += string(algorithm) + string(key.asbytes())
        signature = key.sign_ssh_data(string(session_id or self.session_id) + request).asbytes()
        return request + string(signature)

    def verdict(self):
        """What becomes of a request to log in: its message's kind, or GONE."""
        answer = self.hear_kind(USERAUTH_FAILURE, USERAUTH_SUCCESS, USERAUTH_PK_OK)
        return answer if answer == GONE else answer[0]

    def log_in(self):
        self.exchange().service()
        self.say(self.signed())
        assert self.verdict() == USERAUTH_SUCCESS
        return self

    def open(self, window=1 << 21, packet=1 << 15):
        """A session channel; the server's number of it."""
        self.say(byte(OPEN) + string("session") + number(0) + number(window) + number(packet))
        answer = self.hear_kind(OPEN_CONFIRMATION, OPEN_FAILURE)
        assert answer[0] == OPEN_CONFIRMATION
        return answer[5:9]

    def start(self, channel):
        self.say(byte(REQUEST) + channel + string("exec") + byte(1) + string("x"))
        assert self.hear_kind(CHANNEL_SUCCESS, CHANNEL_FAILURE)[0] == CHANNEL_SUCCESS

    def ping(self, channel):
        """Asks the tool server of a channel that was started, and has its answer."""
        self.say(byte(DATA) + channel + string(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'))
        heard = b""
        while b'"result"' not in heard:
            payload = self.hear_kind(DATA, CLOSE)
            assert payload != GONE and payload[0] == DATA, "no answer"
            heard += take_string(payload[5:])[0]
