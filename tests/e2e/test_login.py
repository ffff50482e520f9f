"""One key opens one thing: whatever a client asks for at login becomes the tool server, or nothing."""
import json
import re

import pytest
from kit import programs
from kit.door import free_port
from kit.mcp import CLIENT
from kit.target import make_key, public_line, run

HELLO = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": CLIENT}).encode() + b"\n"


@pytest.mark.parametrize(
    "options, words",
    [
        (("-T",), ()),
        (("-T",), ("uname", "-a")),
        (("-T",), ("agent-box",)),
        (("-T", "-s"), ("mcp",)),
    ],
    ids=["shell", "exec", "exec of our own name", "subsystem mcp"],
)
def test_every_way_in_is_the_tool_server(shared_door, options, words):
    with shared_door.target.session(*options, words=words) as session:
        assert "serverInfo" in session.greeting
        names = [tool["name"] for tool in session.request("tools/list")["tools"]]
        assert {"shell_exec", "read_file", "write_file", "list_directory"} <= set(names)
        assert session.finish() == 0


def test_the_first_byte_on_stdout_is_a_brace(shared_door):
    result = shared_door.target.run("-T", stdin=HELLO)
    assert result.stdout[:1] == b"{"
    assert len(result.stdout.splitlines()) == 1
    assert result.returncode == 0


def test_both_eras_shake_hands(shared_door):
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "e2e", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    with shared_door.target.session(handshake=False) as session:
        found = session.request("server/discover", {"_meta": meta})
        assert "2026-07-28" in found["supportedVersions"]
        session.request("tools/list", {"_meta": meta})
        assert session.finish() == 0
    with shared_door.target.session() as session:
        assert session.greeting["protocolVersion"] == "2025-11-25"
        assert session.finish() == 0


def test_a_wrong_key_is_refused(shared_door, tmp_path):
    stranger = shared_door.target.with_(identity=make_key(tmp_path / "stranger"))
    result = stranger.run("-T", stdin=HELLO)
    assert result.returncode == 255
    assert b"Permission denied (publickey)" in result.stderr
    assert result.stdout == b""


@pytest.mark.parametrize("user", ["root", "Agent", "agentbox", "nobody", "agent:x"])
def test_only_the_user_agent_is_let_in(shared_door, user):
    result = shared_door.target.with_(user=user).run("-T", stdin=HELLO)
    assert result.returncode == 255
    assert result.stdout == b""


@pytest.mark.parametrize("method", ["password", "keyboard-interactive", "hostbased", "gssapi-with-mic", "none"])
def test_no_other_way_to_authenticate_is_offered(shared_door, method):
    result = shared_door.target.run(
        "-T", "-o", f"PreferredAuthentications={method}", "-o", "PubkeyAuthentication=no", stdin=HELLO
    )
    assert result.returncode == 255
    assert b"Permission denied (publickey)" in result.stderr


def test_a_key_is_found_among_the_many_that_a_client_offers(shared_door, tmp_path):
    options = []
    for number in range(8):
        options += ["-o", f"IdentityFile={make_key(tmp_path / f'other{number}')}"]
    with shared_door.target.session("-T", *options) as session:
        session.ping()
        assert session.finish() == 0


@pytest.mark.parametrize("kind, options", [("ecdsa", ("-b", "256")), ("rsa", ("-b", "2048"))])
def test_other_kinds_of_key_log_in(door, tmp_path, kind, options):
    key = make_key(tmp_path / kind, kind, *options)
    door.write_keys(public_line(key))
    with door.target.with_(identity=key).session() as session:
        session.ping()
        assert session.finish() == 0


def test_check_prints_the_effective_policy(shared_door):
    result = run([programs.SSHD, "--check", shared_door.config])
    assert result.returncode == 0, result.stderr
    text = result.stdout.decode()
    assert str(shared_door.port) in text
    weakened = "none" not in next(line for line in text.splitlines() if line.startswith("weakening"))
    assert weakened == programs.SANITIZED, text


def test_check_names_the_line_of_a_mistake(shared_door, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text(shared_door.config.read_text() + "listn: 3\n", encoding="utf-8")
    line = len(config.read_text().splitlines())
    result = run([programs.SSHD, "--check", config])
    assert result.returncode != 0
    said = (result.stdout + result.stderr).decode()
    assert f"config.yaml: line {line}: unknown key listn" in said


def test_health_is_asked_without_a_key(shared_door):
    well = run([programs.SSHD, "--health", f"127.0.0.1:{shared_door.port}"])
    assert well.returncode == 0, well
    ill = run([programs.SSHD, "--health", f"127.0.0.1:{free_port()}"])
    assert ill.returncode not in (0, None) and ill.stderr, ill


LIBRARIES = {
    "agentbox-sshd": ["libssh", "OpenSSL", "libseccomp", "glibc"],
    "agent-box": ["OpenSSL", "glibc"],
    "agentbox-provision": ["libssh", "libcurl", "OpenSSL", "glibc"],
}


@pytest.mark.parametrize("program", [programs.SSHD, programs.BOX, programs.PROVISION], ids=lambda path: path.name)
def test_programs_say_their_version_and_help(program):
    version = run([program, "--version"])
    assert version.returncode == 0, version
    first, *libraries = version.stdout.decode().splitlines()
    assert re.fullmatch(rf"{program.name} [0-9]+\.[0-9]+\.[0-9]+", first)
    assert [line.split()[0] for line in libraries] == LIBRARIES[program.name]
    assert all(re.match(r"\S+ [0-9]+\.[0-9]+", line) for line in libraries), libraries
    usage = run([program, "--help"])
    assert usage.returncode == 0 and program.name.encode() in usage.stdout, usage
