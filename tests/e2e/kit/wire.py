"""What goes over the wire, below any client: the server's first packet, and a proxy that can spoil a byte."""
import contextlib
import socket
import struct
import threading

from kit.waiting import PATIENCE

LISTS = (
    "kex", "host_keys", "ciphers_in", "ciphers_out", "macs_in", "macs_out", "compression_in", "compression_out",
)


def connect(door):
    connection = socket.create_connection(("127.0.0.1", door.port), 20)
    connection.settimeout(20 * PATIENCE)
    return connection


def read_exactly(connection, count):
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        assert piece, f"the connection ended after {len(data)} of {count} bytes"
        data += piece
    return data


def read_to_end(connection):
    """What still comes; a reset counts as the end."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while piece := connection.recv(65536):
            received += piece
    return received


def read_version(connection):
    line = b""
    while not line.endswith(b"\n"):
        line += read_exactly(connection, 1)
    return line


def read_offer(door):
    """The server's version line and its KEXINIT: the cookie and the lists by name."""
    with connect(door) as connection:
        connection.sendall(b"SSH-2.0-test\r\n")
        version = read_version(connection)
        length, padding = struct.unpack(">IB", read_exactly(connection, 5))
        payload = read_exactly(connection, length - 1)[: length - 1 - padding]
    assert payload[0] == 20
    offer, at = {"version": version, "cookie": payload[1:17]}, 17
    for name in LISTS:
        (size,) = struct.unpack(">I", payload[at : at + 4])
        offer[name] = payload[at + 4 : at + 4 + size].decode().split(",")
        at += 4 + size
    return offer


class Proxy:
    """A TCP proxy to a port of this machine; counts what passes, and spoils one bit where told to."""

    def __init__(self, port):
        self.target = port
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.sent = self.received = 0  # by the client; by the client
        self._spoil = False
        self._open = []
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listening.close()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def spoil(self):
        """One bit in the middle of what the client sends next arrives as another."""
        self._spoil = True

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client = self.listening.accept()[0]
                server = socket.create_connection(("127.0.0.1", self.target))
                self._open += [client, server]
                for ends in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self._pump, args=ends, daemon=True).start()

    def _pump(self, source, sink, upward):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if upward:
                    self.sent += len(data)
                    if self._spoil:
                        self._spoil = False
                        middle = len(data) // 2
                        data = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
                else:
                    self.received += len(data)
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)
