"""SSH libraries that people build agents on: each does the same things and must be served the same."""
import json
import os
import subprocess
from pathlib import Path

import pytest
from kit.target import make_key, public_line, run
from kit.waiting import PATIENCE, wait_until

CLIENTS = Path(os.environ["AGENTBOX_TEST_CLIENTS"])
HERE = Path(__file__).parent / "clients"
PYTHON = CLIENTS / "python" / "bin" / "python"


def commands():
    return {
        "paramiko": ([PYTHON, HERE / "paramiko_client.py"], {}),
        "ssh2 for node": (["node", HERE / "ssh2_client.js"], {"NODE_PATH": str(CLIENTS / "node-ssh2" / "node_modules")}),
        "Go's x/crypto/ssh": ([CLIENTS / "go" / "client"], {}),
    }


@pytest.fixture(scope="module", params=commands())
def said(request, shared_door, tmp_path_factory):
    """What one client says of all that it did."""
    door = shared_door
    wait_until("nobody is there", lambda: not door.connections())
    command, environment = commands()[request.param]
    stranger = make_key(tmp_path_factory.mktemp("keys") / "stranger")
    words = [door.target.host, door.port, "agent", door.key, stranger, door.target.known_hosts]
    result = run([*command, *words], seconds=100, env={**os.environ, **environment})
    assert result.returncode == 0, result.stderr.decode()
    wait_until("all its sessions are gone", lambda: not door.sessions() and not door.connections())
    return json.loads(result.stdout)


@pytest.mark.parametrize("how", ["exec", "shell", "subsystem"])
def test_every_way_in_is_the_tool_server(said, how):
    assert said[how] == "agent-box"


def test_twelve_channels_of_one_connection_are_all_served(said):
    assert said["channels"] == 12


def test_many_key_exchanges_in_transfers_both_ways_spoil_nothing(said):
    assert said["transfer"] == {"pieces": 20, "different": 0, "status": 0}


def test_what_is_still_running_at_the_end_of_input_is_answered(said):
    assert said["half_close"] == {"late": True, "status": 0}


def test_the_exit_status_arrives(said):
    assert said["not_mcp"] == 65


def test_a_reader_that_pauses_gets_all(said):
    assert said["slow_reader"] == 12


def test_a_keepalive_is_answered(said):
    assert said["keepalive"] is True


def test_a_wrong_key_is_refused_in_the_clients_own_words(said):
    assert said["wrong_key"] is True


def test_the_words_of_a_command_were_never_run():
    assert not list(Path("/tmp").glob("agentbox-*-client"))


@pytest.mark.parametrize("bits", [384, 521])
def test_other_kinds_of_key_log_in_with_asyncssh(door, tmp_path, bits):
    import asyncio

    import asyncssh

    key = make_key(tmp_path / "ecdsa", "ecdsa", "-b", str(bits))
    door.write_keys(public_line(key))

    async def body():
        async with asyncssh.connect(
            door.target.host, door.port, username="agent", client_keys=[str(key)],
            known_hosts=str(door.target.known_hosts), config=None,
        ) as connection:
            result = await connection.run("x", input='{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            assert json.loads(result.stdout)["result"] == {} and result.exit_status == 0

    asyncio.run(asyncio.wait_for(body(), 60 * PATIENCE))


def test_ssh_audit_finds_nothing_but_the_missing_post_quantum_exchange(shared_door):
    """Debian 12's libssh has none; see README.md."""
    result = subprocess.run(
        [CLIENTS / "python" / "bin" / "ssh-audit", "--json", "--skip-rate-test", "-p", str(shared_door.port), "127.0.0.1"],
        capture_output=True, timeout=120 * PATIENCE, check=False,
    )
    said = json.loads(result.stdout)
    assert said["banner"]["raw"] == "SSH-2.0-agentbox"
    found = []
    for kind in ("kex", "key", "enc", "mac"):
        assert said[kind], said
        for algorithm in said[kind]:
            notes = algorithm.get("notes", {})
            found += [f"{algorithm['algorithm']}: {note}" for level in ("fail", "warn") for note in notes.get(level, [])]
    others = [note for note in found if "quantum" not in note]
    assert not others, others
    # The one thing that libssh 0.10 cannot help, and nothing at all where the library can.
    assert bool(found) == (not any("mlkem" in each["algorithm"] or "sntrup" in each["algorithm"] for each in said["kex"]))
    assert not said.get("cves"), said["cves"]
