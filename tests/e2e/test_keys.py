"""Keys come and go while the door runs, in the way a projected volume changes."""
import contextlib

import paramiko
import pytest
from kit import programs
from kit.mcp import gets_in
from kit.raw import GONE, RawClient
from kit.target import make_key, public_line
from kit.waiting import wait_until


@pytest.fixture
def second(door, tmp_path):
    return door.target.with_(identity=make_key(tmp_path / "second"))


def may_enter(target):
    return gets_in(target.ssh("-T"))


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


def test_options_that_widen_give_nothing(door, second):
    door.write_keys(
        'pty,port-forwarding,agent-forwarding,X11-forwarding,permitopen="*:*",permitlisten="*:*",tunnel="0",'
        f'command="/bin/sh",environment="LD_PRELOAD=/tmp/x.so" {public_line(second.identity)}'
    )
    with second.session("-T", words=["id"]) as session:
        assert "LD_PRELOAD" not in session.shell("env")["stdout"]
        assert session.finish() == 0
    refused = second.run("-W", "127.0.0.1:22")
    assert refused.returncode == 255 and b"stdio forwarding failed" in refused.stderr
    refused = second.run("-N", "-o", "ExitOnForwardFailure=yes", "-R", "0:127.0.0.1:1")
    assert refused.returncode == 255 and b"remote port forwarding failed" in refused.stderr


def test_quotes_in_an_option_hide_no_key_and_no_end(door, second):
    door.write_keys(
        f'command="echo \\"ssh-ed25519 AAAA\\" # x",restrict {public_line(second.identity)} "label with spaces" # not a comment',
        f'command="echo ssh-ed25519 {public_line(door.key)}',
    )
    assert may_enter(second) and not may_enter(door.target)
    wait_until("the log names the line", lambda: '"line":"2"' in door.log.read_text())


@pytest.mark.skipif(not programs.AS_ROOT, reason="mounting needs root")
def test_keys_that_others_could_write_are_trusted_where_they_are_mounted_read_only(new_door):
    door = new_door()
    keys = door.folder / "door" / "keys"
    for path in (keys, (keys / "..data").resolve()):
        path.chmod(0o777)
    ((keys / "..data") / "authorized_keys").chmod(0o666)
    with pytest.raises(AssertionError, match="the door ended"):
        door.start()
    door.in_mounts_of_its_own(f"mount --bind {keys} {keys} && mount -o remount,bind,ro {keys}")
    door.start()


@pytest.mark.parametrize("mode", [0o400, 0o440])
def test_a_host_key_that_its_group_may_read_is_taken_and_stays_the_same(new_door, mode):
    from kit.wire import read_offer

    door = new_door()
    (door.folder / "door" / "host_key").chmod(mode)
    door.start()
    door.monitor.terminate()
    assert door.monitor.wait(20) == 0
    wait_until("the box side ends too", door.ended)
    door.start()  # and the pinned host key is the one that answers
    assert read_offer(door)["host_keys"] == ["ssh-ed25519"]
    assert len({line["host_key"] for line in door.audit("listen")}) == 1


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


def test_a_key_that_was_removed_since_its_connection_began_starts_no_session(door, second):
    """The connection's own process read the keys as it began; the monitor asks the keys of now."""
    key = paramiko.Ed25519Key.from_private_key_file(str(door.key))
    with RawClient(door.target) as client:
        door.write_keys(public_line(second.identity))
        wait_until("the key is gone", lambda: not may_enter(door.target))
        started = len(door.audit("session_start"))
        client.begin_login()
        client.log_in("ssh-ed25519", key.asbytes(), lambda data: key.sign_ssh_data(data).asbytes()[-64:])
        client.answer()
        with contextlib.suppress(paramiko.SSHException, EOFError, OSError):  # it may have been sent away already
            client.transport.open_session(timeout=5).exec_command("anything")
        wait_until("it is sent away", lambda: client.answer(0.2) == GONE)
    assert len(door.audit("session_start")) == started


def fingerprint(key):
    import subprocess

    said = subprocess.run(["ssh-keygen", "-lf", f"{key}.pub"], capture_output=True, text=True, check=True)
    return said.stdout.split()[1]


def test_a_revoked_key_stays_out_though_authorized_keys_names_it(door, second):
    lines = (public_line(door.key), public_line(second.identity))
    door.write_keys(*lines)
    with second.session() as open_session:
        door.write_keys(*lines, revoked=f"serial:7\nid:anna\n{fingerprint(second.identity)}\n")
        assert open_session.wait(10) != 0
    assert not may_enter(second) and may_enter(door.target)
    assert door.await_audit("keys_loaded", lambda line: line.get("revoked") == 3)


@pytest.mark.parametrize("text", ["serial:x\n", "SHA256:AAAA\n", "seriel:7\n"])
def test_a_revoked_file_that_cannot_be_understood_lets_nobody_in(door, text):
    door.write_keys(public_line(door.key), revoked=text)
    assert not may_enter(door.target)
    refusals = door.await_audit("keys_loaded", lambda line: "refused" in line)
    assert "revoked: line 1" in refusals[-1]["refused"]
    door.write_keys(public_line(door.key))
    door.await_session()


def restart(door):
    door.stop()
    door.start_monitor()
    door.start_spawner()


def test_an_older_generation_is_refused_also_after_a_restart(door, second):
    door.write_keys(public_line(door.key), generation="7\n")
    door.await_audit("keys_loaded", lambda line: line.get("generation") == 7)
    restart(door)
    door.await_session()
    door.write_keys(public_line(second.identity), generation="6\n")
    assert not may_enter(second)
    door.stop()
    seen = len(door.audit("keys_loaded"))
    door.start_monitor()
    door.start_spawner()
    assert not may_enter(second) and not may_enter(door.target)
    refusal = door.audit("keys_loaded")[seen]
    assert "generation 6 is older than 7" in refusal["refused"], refusal
    door.write_keys(public_line(door.key), generation="8\n")
    door.await_session()


def test_audit_numbers_go_on_over_a_kill_and_the_start_says_from_where(door):
    door.kill(door.monitor.pid)
    door.monitor.wait()
    last = door.audit()[-1]
    restart(door)
    door.await_session()
    starts = [line for line in door.audit("listen") if "before_seq" in line]
    assert starts[-1]["before_seq"] == last["seq"] and len(starts[-1]["before_sha256"]) == 64
    numbers = [line["seq"] for line in door.audit()]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("name", ["keys_generation", "audit_head"])
def test_state_that_cannot_be_read_stops_the_start_and_says_so(door, name):
    door.stop()
    (door.folder / "door" / "state" / name).write_text("rubbish", encoding="utf-8")
    with pytest.raises(AssertionError, match="the door ended"):
        door.start_monitor()
    assert name in door.log.read_text() and "state_dir" in door.log.read_text()
