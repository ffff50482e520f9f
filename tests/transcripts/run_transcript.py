#!/usr/bin/env python3
"""Plays one written conversation against a real agent-box and checks every line of its answers.

    tests/transcripts/run_transcript.py AGENT-BOX FILE.mcp

A transcript is plain text. Lines that begin with none of the marks below are prose.

    env NAME=VALUE    a variable of the server's environment (before the first line is sent)
    > TEXT            send TEXT and a line end
    >e TEXT           send TEXT with its \\n \\r \\t \\0 \\xHH \\\\ decoded, and nothing after it
    >* N TEXT         send TEXT N times, and nothing after it
    < JSON            the next line that comes must match JSON
    <? JSON           the same, but lines marked so in a row may come in any order
    eof               end the input
    term              send SIGTERM to the server
    hang up           close the connection
    silent            after the end: nothing more may have come (always checked after eof or term)
    = CODE            the server must end with this exit code (0 unless said)
    error: REGEX      a line of the server's stderr must match

In JSON "$any" matches anything, "$str" a string, "$int" an integer, "$re:REGEX" a string that the
expression matches whole, an object with the key "$rest" may have more members than are written, and
a list that ends with "$rest" more items.
${ws} stands for the workspace, in both directions.

After the server has ended, no process that it started may be left.
"""
import ctypes
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Longer than anything here takes; reached only by a broken server.
PATIENCE_S = 30
PR_SET_CHILD_SUBREAPER = 36


class Failure(Exception):
    pass


def matches(expected, got):
    if isinstance(expected, str) and expected.startswith("$"):
        if expected == "$any":
            return True
        if expected == "$str":
            return isinstance(got, str)
        if expected == "$int":
            return isinstance(got, int) and not isinstance(got, bool)
        if expected.startswith("$re:"):
            return isinstance(got, str) and re.fullmatch(expected[4:], got, re.DOTALL) is not None
        raise Failure(f"unknown placeholder {expected}")
    if isinstance(expected, dict) and isinstance(got, dict):
        wanted = {key: value for key, value in expected.items() if key != "$rest"}
        if "$rest" not in expected and wanted.keys() != got.keys():
            return False
        return all(key in got and matches(value, got[key]) for key, value in wanted.items())
    if isinstance(expected, list) and isinstance(got, list):
        if expected[-1:] == ["$rest"]:
            expected, got = expected[:-1], got[: len(expected) - 1]
        return len(expected) == len(got) and all(map(matches, expected, got))
    return type(expected) is type(got) and expected == got


def decode(text):
    plain = {"n": b"\n", "r": b"\r", "t": b"\t", "0": b"\0", "\\": b"\\"}
    return re.sub(
        rb"\\(x[0-9a-fA-F]{2}|.)",
        lambda found: (
            bytes.fromhex(found[1][1:].decode()) if found[1][:1] == b"x" else plain[found[1].decode()]
        ),
        text.encode(),
    )


class Server:
    """agent-box on a socket pair, as its spawner starts it."""

    def __init__(self, program, folder, environment):
        for name in ("ws", "home", "tmp", "out"):
            (folder / name).mkdir()
        self.end, theirs = socket.socketpair()
        self.end.settimeout(PATIENCE_S)
        self.errors = tempfile.TemporaryFile()
        variables = {
            "PATH": os.environ["PATH"],
            "AGENTBOX_WORKSPACE": str(folder / "ws"),
            "AGENTBOX_HOME": str(folder / "home"),
            "AGENTBOX_TMP": str(folder / "tmp"),
            "AGENTBOX_OUT": str(folder / "out"),
        }
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
            if name in os.environ:
                variables[name] = os.environ[name]
        with theirs:
            self.process = subprocess.Popen(
                [program], stdin=theirs, stdout=theirs, stderr=self.errors,
                env=variables | environment, cwd="/",
            )
        self.buffer = b""

    def send(self, data):
        try:
            self.end.sendall(data)
        except BrokenPipeError:
            pass  # the server may have ended; what it said tells

    def read_line(self):
        """The next line, or None where the server has closed its end."""
        while b"\n" not in self.buffer:
            try:
                piece = self.end.recv(1 << 20)
            except ConnectionResetError:
                piece = b""  # it ended with our bytes unread
            except TimeoutError:
                raise Failure(f"nothing came for {PATIENCE_S} s") from None
            if not piece:
                if self.buffer:
                    raise Failure(f"the last line has no end: {self.buffer[:200]!r}")
                return None
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode("utf-8")  # bad UTF-8 fails the test

    def errors_text(self):
        self.errors.seek(0)
        return self.errors.read().decode("utf-8", "replace")


class Player:
    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        self.environment = {}
        self.server = None
        self.any_order = []
        self.hung_up = False
        self.exit_code = 0
        self.error_patterns = []

    def started(self):
        if self.server is None:
            self.server = Server(self.program, self.folder, self.environment)
        return self.server

    def expect(self, texts):
        """Reads as many lines as TEXTS and pairs them in any order."""
        wanted = [json.loads(text) for text in texts]
        while wanted:
            line = self.started().read_line()
            if line is None:
                raise Failure(f"the server closed before it said {json.dumps(wanted[0])}")
            got = json.loads(line)
            found = next((one for one in wanted if matches(one, got)), None)
            if found is None:
                shown = "\n     or ".join(json.dumps(one) for one in wanted)
                raise Failure(f"wanted {shown}\n  came {line[:2000]}")
            wanted.remove(found)

    def play_line(self, line):
        text = line.replace("${ws}", str(self.folder / "ws"))
        if self.any_order and not line.startswith("<? "):
            self.expect(self.any_order)
            self.any_order = []
        if text.startswith("env "):
            name, _, value = text[4:].partition("=")
            self.environment[name] = value
        elif text.startswith("> "):
            self.started().send(text[2:].encode() + b"\n")
        elif text.startswith(">e "):
            self.started().send(decode(text[3:]))
        elif text.startswith(">* "):
            _, count, piece = text.split(" ", 2)
            self.started().send(piece.encode() * int(count))
        elif text.startswith("< "):
            self.expect([text[2:]])
        elif text.startswith("<? "):
            self.any_order.append(text[3:])
        elif text == "eof":
            self.started().end.shutdown(socket.SHUT_WR)
        elif text == "term":
            self.started().process.send_signal(signal.SIGTERM)
        elif text == "hang up":
            self.hung_up = True
            self.started().end.close()
        elif text.startswith("= "):
            self.exit_code = int(text[2:])
        elif text.startswith("error: "):
            self.error_patterns.append(text[7:])

    def finish(self):
        server = self.started()
        if self.any_order:
            self.expect(self.any_order)
        if not self.hung_up:
            line = server.read_line()
            if line is not None:
                raise Failure(f"more came than was wanted: {line[:2000]}")
        code = server.process.wait(PATIENCE_S)
        if code != self.exit_code:
            raise Failure(f"exit code {code}, wanted {self.exit_code}")
        for pattern in self.error_patterns:
            if re.search(pattern, server.errors_text()) is None:
                raise Failure(f"stderr has no line like {pattern}")
        expect_no_children()
        left = [path.name for path in (self.folder / "ws").iterdir() if "agentbox" in path.name]
        if left:
            raise Failure(f"temporary files were left behind: {left}")


def expect_no_children():
    """We are subreaper, so whatever the server left would be ours now. A keeper needs a moment."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            if time.monotonic() > deadline:
                raise Failure("processes were left behind")
            time.sleep(0.01)


def main():
    program, transcript = sys.argv[1:]
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("can't become subreaper")
    lines = Path(transcript).read_text(encoding="utf-8").splitlines()
    with tempfile.TemporaryDirectory(prefix="agentbox-transcript-") as folder:
        player = Player(program, Path(folder))
        number = 0
        try:
            for number, line in enumerate(lines, 1):
                player.play_line(line)
            player.finish()
        except Failure as failure:
            print(f"{transcript}:{number}: {failure}")
            if player.server is not None:
                player.server.process.kill()
                print(player.server.errors_text(), end="")
            sys.exit(1)


if __name__ == "__main__":
    main()
