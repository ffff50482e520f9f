"""What a client was told is written stays written, whichever process is killed at whatever moment."""
import hashlib
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from kit.processes import of_this_world
from kit.waiting import wait_until

ROUNDS = 3


def of_box(program, *words):
    """The box's processes that run program and have all words on their command lines."""
    return [process for process in of_this_world(program) if all(word in process.command for word in words)]


def victims(kind, session):
    """What is killed, by the name of its part; never more than one part at once."""
    doors = of_box("agentbox-sshd")
    (monitor,) = [process.pid for process in doors if "--config" in process.command]
    if kind == "client":
        return [session.process.pid]
    if kind == "monitor":
        return [monitor]
    if kind == "door but its monitor":
        return [process.pid for process in doors if process.pid != monitor]
    if kind == "spawner":
        return [process.pid for process in of_box("agent-box", "spawner")]
    sessions = [process for process in of_box("agent-box") if "spawner" not in process.command]
    parents = {process.pid for process in of_box("agent-box", "spawner")}
    is_keeper = [process.parent not in parents for process in sessions]
    return [process.pid for process, keeper in zip(sessions, is_keeper) if keeper == (kind == "keeper")]


def write_until_it_ends(session, names, moment, kill):
    """Sends one write after the other, kills at the moment; the names and contents that were acknowledged."""
    name, content = next(names), os.urandom(20000).hex()
    session.call("write_file", {"path": name, "content": content})
    asked, acknowledged, killed = {}, {name: content}, False
    until = time.monotonic() + moment
    try:
        session.start("tools/call", {"name": "shell_exec", "arguments": {"command": "sleep 60"}})
        while len(asked) < 400:
            name, content = next(names), os.urandom(20000).hex()
            number = session.start("tools/call", {"name": "write_file", "arguments": {"path": name, "content": content}})
            asked[number] = (name, content)
            if not killed and time.monotonic() > until:
                killed = True
                kill()
    except OSError:
        pass
    if not killed:
        kill()
    try:
        session.process.wait(1)  # for replies that are on their way; where only a command was killed it goes on
    except subprocess.TimeoutExpired:
        pass
    session.kill()
    for message in session.lines:
        if message.get("id") in asked and not message.get("result", {}).get("isError", True):
            name, content = asked[message["id"]]
            acknowledged[name] = content
    return acknowledged


def kill_all(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


@pytest.mark.parametrize("kind", ["client", "agent-box", "keeper", "spawner", "monitor", "door but its monitor"])
def test_no_acknowledged_write_is_lost(box, kind):
    names = (f"{kind.replace(' ', '-')}-{i}" for i in range(100_000))
    acknowledged = {}
    for _ in range(ROUNDS):
        wait_until("the box works", box.session_works, 30)
        with box.session() as session:
            moment = random.random() * 0.3
            acknowledged |= write_until_it_ends(session, names, moment, lambda: kill_all(victims(kind, session)))
    wait_until("the box works", box.session_works, 30)
    workspace = Path(box.status()["workspace"])
    assert len(acknowledged) >= ROUNDS
    for name, content in acknowledged.items():
        there = (workspace / name).read_bytes()
        assert hashlib.sha256(there).digest() == hashlib.sha256(content.encode()).digest(), name
    # A name is whole or not there: what was not acknowledged may be either.
    for path in workspace.glob(f"{kind.replace(' ', '-')}-*"):
        assert path.stat().st_size == 40000, path


def test_no_temporary_file_is_left(box):
    box.provision("suspend")
    box.provision("resume")
    workspace = Path(box.status()["workspace"])
    wait_until("the start has cleared the workspace", lambda: not list(workspace.glob(".agentbox-tmp-*")))
