"""One MCP session, spoken raw over the stdin and stdout of a process (mostly an ssh client)."""
import json
import subprocess
import threading

from kit.waiting import PATIENCE

CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "e2e", "version": "1"}}


class Session:
    """Use as a context manager: it never outlives the block."""

    def __init__(self, command, handshake=True, **popen):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **popen
        )
        self.raw = b""
        self.stderr = b""
        self.lines = []
        self._replies = {}
        self._next_id = 1
        self._stdout_ended = False
        self._changed = threading.Condition()
        self._readers = [
            threading.Thread(target=self._read_stdout, daemon=True),
            threading.Thread(target=self._read_stderr, daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        if handshake:
            self.greeting = self.request("initialize", CLIENT)
            self.notify("notifications/initialized")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def _read_stdout(self):
        for line in self.process.stdout:
            with self._changed:
                self.raw += line
                try:
                    message = json.loads(line)
                except ValueError:
                    message = {"not JSON": repr(line[:200])}
                self.lines.append(message)
                if isinstance(message, dict) and "id" in message:
                    self._replies[message["id"]] = message
                self._changed.notify_all()
        with self._changed:
            self._stdout_ended = True
            self._changed.notify_all()

    def _read_stderr(self):
        for line in self.process.stderr:
            with self._changed:
                self.stderr += line
                self._changed.notify_all()

    def send(self, data):
        """Bytes as they are, or a message as one line."""
        if not isinstance(data, bytes):
            data = json.dumps(data).encode() + b"\n"
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def notify(self, method, params=None):
        message = {"jsonrpc": "2.0", "method": method}
        self.send({**message, "params": params} if params is not None else message)

    def start(self, method, params=None):
        """Sends a request and returns its id."""
        number = self._next_id
        self._next_id += 1
        message = {"jsonrpc": "2.0", "id": number, "method": method}
        self.send({**message, "params": params} if params is not None else message)
        return number

    def reply(self, number, seconds=20.0):
        """The whole reply to request number."""
        with self._changed:
            there = self._changed.wait_for(
                lambda: number in self._replies or self._stdout_ended, seconds * PATIENCE
            )
            if number in self._replies:
                return self._replies.pop(number)
        if there:
            self.wait()  # its last words may come after its last line
        why = "no reply in time" if not there else f"the session ended: {self.process.poll()}"
        raise AssertionError(f"request {number}: {why}; stderr: {self.stderr.decode(errors='replace')}")

    def request(self, method, params=None, seconds=20.0):
        message = self.reply(self.start(method, params), seconds)
        assert "result" in message, message
        return message["result"]

    def ping(self, seconds=20.0):
        assert self.request("ping", seconds=seconds) == {}

    def call(self, tool, arguments=None, seconds=20.0):
        """The structured result of a tool that succeeds."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments or {}}, seconds)
        assert not result.get("isError"), result
        return result["structuredContent"]

    def text(self, tool, arguments=None, seconds=20.0):
        """The text of a tool that succeeds."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments or {}}, seconds)
        assert not result.get("isError"), result
        return result["content"][0]["text"]

    def refused(self, tool, arguments, code, seconds=20.0):
        """The text of a tool's error, whose code must be this: complete, and with nothing structured beside it."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments}, seconds)
        assert result.get("isError") and "structuredContent" not in result, result
        assert result["_meta"]["agentbox/error"]["code"] == code, result
        return result["content"][0]["text"]

    def shell(self, command, seconds=20.0, **arguments):
        return self.call("shell_exec", {"command": command, **arguments}, seconds)

    def finish(self, seconds=20.0):
        """Closes stdin, waits for the end, checks that stdout held nothing but messages."""
        self.process.stdin.close()
        status = self.wait(seconds)
        self.check_stdout()
        return status

    def wait(self, seconds=20.0):
        status = self.process.wait(seconds * PATIENCE)
        for reader in self._readers:
            reader.join(5)
        return status

    def check_stdout(self):
        assert self.raw == b"" or self.raw[:1] == b"{", self.raw[:200]
        for message in self.lines:
            assert isinstance(message, dict) and message.get("jsonrpc") == "2.0", message

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for reader in self._readers:
            reader.join(5)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                pipe.close()
            except OSError:
                pass


def gets_in(command):
    """Whether an ssh COMMAND is let in and served; where not, it must have been for its key."""
    session = Session(command, handshake=False)
    try:
        session.start("ping")
        return session.reply(1) is not None
    except AssertionError:
        assert b"Permission denied (publickey)" in session.stderr, session.stderr
        return False
    finally:
        session.kill()
