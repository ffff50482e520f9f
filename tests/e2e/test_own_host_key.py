"""A door that nobody gave a host key, as in a pod of a warm pool: it makes its own, and its audit is where it is told."""
import stat

import pytest
from kit.mcp import gets_in
from kit.target import public_line
from kit.waiting import wait_until


def identity(name, namespace="boxes"):
    return {"box_namespace": namespace, "box_name": name}


@pytest.fixture
def warm(new_door):
    """A warm pod's door: it has no keys, and the configuration's host key is not there."""
    door = new_door()
    (door.folder / "door" / "host_key").unlink()
    door.arguments = ["--generate-host-key"]
    door.write_keys(**identity("pool-x9f2"))
    return door


def told(door):
    """The newest keys_loaded event."""
    return wait_until("the keys are told", lambda: door.audit("keys_loaded"))[-1]


def trust(door):
    door.target.known_hosts.write_text(f"[127.0.0.1]:{door.port} {told(door)['host_key']}\n")


def give_keys(door, generation):
    door.write_keys(public_line(door.key), generation=str(generation), **identity("pool-x9f2"))
    door.await_audit("keys_loaded", lambda line: line["generation"] == generation and line["keys"] == 1)


def test_a_door_without_keys_listens_tells_its_host_key_and_lets_nobody_in(warm):
    warm.start_monitor()
    line = told(warm)
    assert (line["generation"], line["keys"]) == (0, 0) and line["host_key"].startswith("ssh-ed25519 ")
    trust(warm)
    assert not gets_in(warm.target.ssh("-T"))
    key = warm.folder / "door" / "state" / "ssh_host_ed25519_key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_keys_that_come_later_are_told_with_the_same_host_key(warm):
    warm.start_monitor()
    before = told(warm)["host_key"]
    trust(warm)
    give_keys(warm, 1)
    warm.start_spawner()
    warm.await_session()
    assert [line["host_key"] for line in warm.audit("keys_loaded")] == [before] * 2


def test_the_host_key_outlives_a_restart_and_not_a_move_to_another_box(warm):
    warm.start_monitor()
    first = told(warm)["host_key"]
    give_keys(warm, 7)
    warm.stop()
    warm.start_monitor()
    assert told(warm)["host_key"] == first
    warm.stop()
    warm.write_keys(public_line(warm.key), generation="1", **identity("pool-b7k1"))
    warm.start_monitor()
    line = told(warm)
    assert line["host_key"] != first and (line["generation"], line["keys"]) == (1, 1)


def test_the_listener_that_is_started_again_and_a_new_configuration_keep_the_key(warm):
    warm.start_monitor()
    first = told(warm)["host_key"]
    warm.kill(warm.listener())
    wait_until("it is told again", lambda: len(warm.audit("keys_loaded")) > 1)
    before = len(warm.audit("listen"))
    warm.config.write_text(warm.config.read_text() + "pass_env: []\n")
    warm.monitor.send_signal(1)
    wait_until("the listener is a new one", lambda: len(warm.audit("listen")) > before)
    wait_until("it listens", warm.listens)
    assert {line["host_key"] for line in warm.audit("keys_loaded")} == {first}


def test_a_host_key_that_is_broken_stops_the_start(warm):
    warm.start_monitor()
    told(warm)
    warm.stop()
    key = warm.folder / "door" / "state" / "ssh_host_ed25519_key"
    key.write_text("-----BEGIN NONSENSE-----\n")
    with pytest.raises(AssertionError, match="not an unencrypted private key"):
        warm.start_monitor()
    assert key.read_text() == "-----BEGIN NONSENSE-----\n"


def test_a_log_that_keeps_its_newest_part_alone_still_tells_the_host_key(warm):
    warm.start_monitor()
    trust(warm)
    give_keys(warm, 1)
    warm.start_spawner()
    warm.await_session()
    told_so_far = warm.audit("keys_loaded")[-1]["seq"]
    with warm.target.session() as session:
        for _ in range(20):
            numbers = [session.start("tools/call", {"name": "file_info", "arguments": {"path": "."}}) for _ in range(50)]
            assert all("result" in session.reply(number) for number in numbers)
    line = warm.await_audit("keys_loaded", lambda line: line["seq"] > told_so_far)[-1]
    assert line["host_key"] == told(warm)["host_key"] and line["generation"] == 1


def test_without_the_option_a_missing_host_key_stops_the_start(warm):
    warm.arguments = []
    with pytest.raises(AssertionError, match="host_key"):
        warm.start_monitor()
