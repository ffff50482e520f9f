"""The key files change and break while clients log in: who is in every version is never refused, who is in none is not let in."""
import asyncio
import os
import shutil
import threading

import asyncssh
import pytest
from kit.crowd import Line, connect
from kit.target import make_key, public_line
from kit.waiting import wait_until

SWAPS = 200


def folder_of(door):
    return door.folder / "door" / "keys"


class Client:
    """Logs in again and again, each time with a call that is answered."""

    def __init__(self, door, key):
        self.door, self.key = door, key
        self.entered, self.refused = 0, 0

    async def live(self, over):
        while not over.is_set():
            try:
                connection = await connect(self.door, self.key)
            except asyncssh.PermissionDenied:
                self.refused += 1
                continue
            try:
                line = await Line.open(connection)
                assert await line.request("ping") == {}
                self.entered += 1
            finally:
                connection.abort()


class Tolerant:
    """A client whose key may go at any moment: to be cut off is one more way to be refused."""

    def __init__(self, client):
        self.client = client

    async def live(self, over):
        while not over.is_set():
            try:
                await self.client.live(over)
            except (ConnectionError, asyncssh.Error):
                self.client.refused += 1


def while_clients_log_in(clients, body):
    """Runs body() on a thread while the clients live; all of it has ended when this returns."""

    async def run():
        over = threading.Event()
        living = asyncio.gather(*(client.live(over) for client in clients))
        done = asyncio.ensure_future(asyncio.to_thread(body))
        await asyncio.wait([living, done], return_when=asyncio.FIRST_COMPLETED)
        over.set()
        await living
        await done

    asyncio.run(run())


@pytest.fixture
def other(tmp_path):
    return make_key(tmp_path / "other")


def test_two_hundred_swaps_refuse_nobody_who_is_in_each(door, other):
    """As a projected volume does it, the old version going at once; beside it another key comes and goes."""
    honest, stranger = [Client(door, door.key) for _ in range(3)], Client(door, other)

    def swap():
        for turn in range(SWAPS):
            before = (folder_of(door) / "..data").resolve()
            extra = [public_line(other)] if turn % 2 else []
            door.write_keys(*extra, public_line(door.key), generation=f"{turn + 1}\n")
            shutil.rmtree(before)
            if turn % 5 == 0:  # not all of it between two logins
                wait_until("somebody came", has_seen_more([*honest, stranger], 1), 20)

    with door.target.session() as session:
        while_clients_log_in([*honest, Tolerant(stranger)], swap)
        session.shell("true")  # its key was in each version: it goes on
        assert session.finish() == 0
    assert [client.refused for client in honest] == [0, 0, 0]
    assert all(client.entered for client in honest)


def broken(kind, path, text):
    """What becomes of the file at PATH, whose right text is TEXT."""
    if path.is_dir():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "link to nowhere":
        path.symlink_to("nowhere")
    elif kind == "cut short":
        path.write_text(text[: len(text) // 2], encoding="utf-8")
    elif kind == "empty":
        path.write_text("", encoding="utf-8")
    elif kind == "rubbish":
        path.write_bytes(os.urandom(3000))
    elif kind == "anybody's":
        path.write_text(text, encoding="utf-8")
        path.chmod(0o666)
    elif kind == "nobody's":
        path.write_text(text, encoding="utf-8")
        path.chmod(0)


KINDS = ["folder", "fifo", "link to nowhere", "cut short", "empty", "rubbish", "anybody's", "nobody's", "gone"]


def test_each_way_to_break_the_file_ends_sessions_and_is_over_when_it_is_right_again(door, other):
    """Fails closed, says so, hangs nobody; the door lives."""
    text = f"{public_line(door.key)}\n"
    for kind in KINDS:
        path = (folder_of(door) / "..data").resolve() / "authorized_keys"
        with door.target.session() as session:
            session.shell("true")
            broken(kind, path, text)
            assert session.wait(10) != 0, kind
        refused = door.target.run("-T")
        assert refused.returncode == 255 and b"Permission denied" in refused.stderr, (kind, refused)
        assert door.monitor.poll() is None, kind
        door.write_keys(public_line(door.key))
        door.await_session()


def test_a_file_that_breaks_and_heals_under_logins_lets_nobody_else_in(door, other):
    honest, stranger = [Client(door, door.key) for _ in range(3)], Client(door, other)
    text = f"{public_line(door.key)}\n"

    def wreck():
        for kind in KINDS * 3:
            path = (folder_of(door) / "..data").resolve() / "authorized_keys"
            broken(kind, path, text)
            wait_until("somebody was there", has_seen_more(honest, 4))
            door.write_keys(public_line(door.key))
            wait_until("somebody is in", has_entered_more(honest), 20)

    while_clients_log_in([Tolerant(client) for client in honest] + [Tolerant(stranger)], wreck)
    assert stranger.entered == 0 and stranger.refused > 0
    door.await_session()


def has_seen_more(clients, times):
    before = sum(client.entered + client.refused for client in clients)
    return lambda: sum(client.entered + client.refused for client in clients) >= before + times


def has_entered_more(clients):
    before = sum(client.entered for client in clients)
    return lambda: sum(client.entered for client in clients) > before
