"""Keys come and go while the door runs, in the way a projected volume changes."""
import pytest
from kit.mcp import Session
from kit.target import make_key, public_line
from kit.waiting import wait_until


@pytest.fixture
def second(door, tmp_path):
    return door.target.with_(identity=make_key(tmp_path / "second"))


def may_enter(target):
    session = Session(target.ssh("-T"), handshake=False)
    try:
        session.start("ping")
        return session.reply(1) is not None
    except AssertionError:
        assert b"Permission denied (publickey)" in session.stderr, session.stderr
        return False
    finally:
        session.kill()


def test_a_new_key_enters_and_the_old_one_does_not(door, second):
    assert may_enter(door.target) and not may_enter(second)
    door.write_keys(public_line(second.identity))
    assert may_enter(second) and not may_enter(door.target)


def test_the_open_session_of_a_removed_key_ends_and_others_stay(door, second):
    door.write_keys(public_line(door.key), public_line(second.identity))
    with door.target.session() as removed, second.session() as kept:
        running = removed.start("tools/call", {"name": "shell_exec", "arguments": {"command": "sleep 288"}})
        wait_until("it runs", lambda: any("288" in process.command for process in door.box_processes()))
        door.write_keys(public_line(second.identity))
        assert removed.wait(10) != 0
        wait_until("its command is gone", lambda: not any("288" in p.command for p in door.box_processes()))
        assert not any(message.get("id") == running and "result" in message for message in removed.lines)
        kept.ping()
        assert kept.finish() == 0


def test_without_a_keys_file_nobody_enters_and_the_door_lives(door):
    keys = door.folder / "door" / "keys"
    (keys / "..data").unlink()
    assert not may_enter(door.target)
    assert door.monitor.poll() is None
    door.write_keys(public_line(door.key))
    door.await_session()


@pytest.mark.parametrize(
    "line",
    [
        "garbage",
        "ssh-ed25519 AAAA",
        'no-such-option {key}',
        'command="id {key}',
        "from=\"10.9.9.9\" {key}",
        'expiry-time="20200101" {key}',
        "cert-authority {key}",
        "# {key}",
    ],
)
def test_a_line_that_does_not_let_in_takes_no_other_along(door, second, line):
    door.write_keys(line.format(key=public_line(second.identity)), public_line(door.key))
    assert not may_enter(second)
    assert may_enter(door.target)


def test_restrictive_options_are_taken_as_already_true(door, second):
    line = f"restrict,no-pty,no-port-forwarding {public_line(second.identity)}"
    door.write_keys(line)
    assert may_enter(second)


@pytest.mark.parametrize("special", ["fifo", "folder", "device", "huge"])
def test_a_special_file_in_the_keys_place_lets_nobody_in_and_hangs_nobody(door, special):
    import os

    path = door.folder / "door" / "keys" / "..data" / "authorized_keys"
    path.unlink()
    if special == "fifo":
        os.mkfifo(path)
    elif special == "folder":
        path.mkdir()
    elif special == "device":
        path.symlink_to("/dev/zero")
    else:
        with open(path, "wb") as file:
            file.truncate(2 << 30)
    assert not may_enter(door.target)
    door.write_keys(public_line(door.key))
    door.await_session()


def test_keys_that_others_can_write_are_not_trusted_at_the_start(tmp_path_factory):
    from kit.door import Door

    folder = tmp_path_factory.mktemp("loose")
    folder.chmod(0o711)
    loose = Door(folder)
    try:
        (folder / "door" / "keys").chmod(0o777)
        with pytest.raises(AssertionError, match="the door ended"):
            loose.start()
        assert "keys" in loose.log.read_text()
    finally:
        loose.stop()
