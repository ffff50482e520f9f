"""An SSH client that sends what no honest one does: packets of the test's own making, on paramiko's transport."""
import queue
import socket

import paramiko
from paramiko.common import cMSG_SERVICE_REQUEST, cMSG_USERAUTH_REQUEST
from paramiko.message import Message

from kit.waiting import PATIENCE

SERVICE_ACCEPT, FAILURE, SUCCESS, PK_OK = 6, 51, 52, 60
CHANNEL_CONFIRMATION, CHANNEL_FAILURE = 91, 92
GONE = "gone"


class _Listening:
    """Stands where paramiko keeps its own state of a login, and keeps what the server answers."""

    def __init__(self, received):
        self._handler_table = {kind: self._keeper(kind, received) for kind in (6, *range(50, 80))}

    @staticmethod
    def _keeper(kind, received):
        return lambda message: received.put((kind, message.asbytes()))

    def is_authenticated(self):
        return True

    def abort(self):
        pass


class Blob(bytes):
    """Bytes that are sent as an SSH string."""


class RawClient:
    """After the key exchange; nothing has been asked yet. A context manager."""

    def __init__(self, target, **transport):
        self.received = queue.Queue()
        connection = socket.create_connection((target.host, target.port), 20)
        self.local_port = connection.getsockname()[1]
        self.transport = paramiko.Transport(connection, **transport)
        self.transport.start_client(timeout=20 * PATIENCE)
        self.transport.auth_handler = _Listening(self.received)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.transport.close()

    def send(self, *parts):
        """One packet: bytes as they are, str as an SSH string, bool as a byte, int as four."""
        message = Message()
        for part in parts:
            if isinstance(part, (str, Blob)):
                message.add_string(part)
            elif isinstance(part, bytes):
                message.add_bytes(part)
            elif isinstance(part, bool):
                message.add_boolean(part)
            else:
                message.add_int(part)
        self.transport._send_message(message)

    def answer(self, seconds=20.0):
        """The kind of the next answer, GONE where the connection has ended; None where neither comes."""
        for _ in range(int(seconds * PATIENCE / 0.05)):
            try:
                return self.received.get(timeout=0.05)[0]
            except queue.Empty:
                if not self.transport.is_active():
                    return GONE
        return None

    def begin_login(self):
        self.send(cMSG_SERVICE_REQUEST, "ssh-userauth")
        assert self.answer() == SERVICE_ACCEPT

    def ask(self, method, *parts, user="agent", service="ssh-connection"):
        self.send(cMSG_USERAUTH_REQUEST, user, service, method, *parts)

    def offer(self, algorithm, blob):
        self.ask("publickey", False, algorithm, Blob(blob))

    def log_in(self, algorithm, blob, sign, user="agent", signed_as=None):
        """Asks to log in with a signature of this connection that sign(data) makes. signed_as is its name where that
        is not the key's: a certificate is signed for with the plain key."""
        data = Message()
        data.add_string(self.transport.session_id)
        data.add_byte(cMSG_USERAUTH_REQUEST)
        for text in (user, "ssh-connection", "publickey"):
            data.add_string(text)
        data.add_boolean(True)
        data.add_string(algorithm)
        data.add_string(blob)
        signature = Message()
        signature.add_string(signed_as or algorithm)
        signature.add_string(sign(data.asbytes()))
        self.ask("publickey", True, algorithm, Blob(blob), Blob(signature.asbytes()), user=user)
