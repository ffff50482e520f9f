"""The printed ssh command on a machine whose own SSH set-up is hostile, and with awkward paths in every format."""
import json
import os
import pwd
import shlex
import socket
import subprocess
import threading
import tomllib
from pathlib import Path

import pytest
from kit import programs
from kit.box import ok
from kit.mcp import Session
from kit.target import make_key, public_line, run

HOME = Path(pwd.getpwuid(os.geteuid()).pw_dir)  # ssh asks the user database, not $HOME


class Machine:
    """This machine with another ~/.ssh and /etc/ssh, as a command prefix."""

    def __init__(self, folder, config):
        self.marks = folder / "marks"
        self.user, self.system = folder / "user", folder / "system"
        for each in (self.marks, self.user, self.system):
            each.mkdir()
        text = config.format(marks=self.marks, user=self.user)
        (self.user / "config").write_text(f"Include {self.user}/included\n")
        (self.user / "included").write_text(text)
        (self.system / "ssh_config").write_text(text)
        for path in (self.user / "config", self.user / "included"):
            path.chmod(0o600)

    def wrap(self, command):
        return [
            "bwrap", "--dev-bind", "/", "/", "--tmpfs", str(HOME), "--ro-bind", str(self.user), f"{HOME}/.ssh",
            "--ro-bind", str(self.system), "/etc/ssh", "--", *command,
        ]  # fmt: skip

    def effective(self, command):
        """What ssh would go by, name to values."""
        said = run(self.wrap([command[0], "-G", *command[1:]]))
        assert said.returncode == 0, said
        pairs = {}
        for line in said.stdout.decode().splitlines():
            name, _, value = line.partition(" ")
            pairs.setdefault(name, []).append(value)
        return pairs


# One hostile setting each, the name under which ssh -G shows it, and what shows that it is in force.
HOSTILE = {
    "ProxyCommand": ("ProxyCommand touch {marks}/proxy; exit 1", "proxycommand", "touch"),
    "ProxyJump": ("ProxyJump other.example", "proxyjump", "other.example"),
    "ControlMaster": ("ControlMaster auto\nControlPath {user}/control", "controlpath", "control"),
    "LocalCommand": ("PermitLocalCommand yes\nLocalCommand touch {marks}/local", "localcommand", "touch"),
    "KnownHostsCommand": ("KnownHostsCommand /usr/bin/touch {marks}/known", "knownhostscommand", "touch"),
    "RemoteCommand": ("RemoteCommand touch /tmp/remote", "remotecommand", "touch"),
    "RequestTTY": ("RequestTTY force", "requesttty", "force"),
    "LocalForward": ("LocalForward 127.0.0.1:47119 127.0.0.1:22", "localforward", "47119"),
    "ForwardAgent": ("ForwardAgent yes", "forwardagent", "yes"),
    "SetEnv": ("SetEnv HOSTILE=1", "setenv", "HOSTILE=1"),
    "HostName": ("HostName 192.0.2.1\nConnectTimeout 2", "hostname", "192.0.2.1"),
    "Port": ("Port 9", "port", "9"),
    "StrictHostKeyChecking": ("StrictHostKeyChecking no", "stricthostkeychecking", "false"),
    "UserKnownHostsFile": ("UserKnownHostsFile {user}/strange", "userknownhostsfile", "strange"),
    "IdentityFile": ("IdentityFile {user}/strange", "identityfile", "strange"),
    "EscapeChar": ("EscapeChar {{", "escapechar", "{"),
    "SessionType": ("SessionType none", "sessiontype", "none"),
    "StdinNull": ("StdinNull yes", "stdinnull", "yes"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_setting_of_the_machines_reaches_the_session(box, tmp_path, name):
    config, shown, sign = HOSTILE[name]
    machine = Machine(tmp_path, f"Host *\n  {config.replace(chr(10), chr(10) + '  ')}\n")
    command = box.status()["ssh"]["command"]
    # Where nothing keeps it out it is in force: else this test would show nothing.
    assert sign in " ".join(machine.effective(["ssh", "some-host"]).get(shown, []))
    ours = " ".join(machine.effective(command).get(shown, []))
    assert name == "Port" or sign not in ours, ours
    with Session(machine.wrap(command)) as session:
        session.ping()
        assert "HOSTILE" not in session.shell("env")["stdout"]
        assert session.finish() == 0
    assert os.listdir(machine.marks) == []


def test_a_match_that_runs_a_program_runs_none(box, tmp_path):
    machine = Machine(tmp_path, 'Match exec "touch {marks}/ran"\n  ForwardAgent yes\n')
    machine.effective(["ssh", "some-host"])
    assert os.listdir(machine.marks) == ["ran"]
    (machine.marks / "ran").unlink()
    with Session(machine.wrap(box.status()["ssh"]["command"])) as session:
        session.ping()
    assert os.listdir(machine.marks) == []


def test_keys_and_hosts_that_the_machine_knows_take_no_part(box, tmp_path):
    """Strange host keys for our names, other private keys where ssh looks, an agent that holds more."""
    machine = Machine(tmp_path, "")
    strange = make_key(machine.user / "id_ed25519")
    line = " ".join(public_line(strange).split()[:2])
    status = box.status()
    names = [f"agentbox-{box.name}", "127.0.0.1", f"[127.0.0.1]:{status['ssh']['port']}", "*"]
    for path in (machine.user / "known_hosts", machine.system / "ssh_known_hosts"):
        path.write_text("".join(f"{name} {line}\n" for name in names))
    pin = Path(status["ssh"]["known_hosts_file"])
    before = pin.read_bytes()
    seen = len(box.audit_log("--event", "auth")["events"])
    asked = []
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(str(tmp_path / "agent"))
        agent.listen()

        def answer():
            try:
                while True:
                    connection, _ = agent.accept()
                    asked.append(connection.recv(64))
                    connection.close()
            except OSError:
                pass

        threading.Thread(target=answer, daemon=True).start()
        environment = {
            **os.environ, "SSH_AUTH_SOCK": str(tmp_path / "agent"), "SSH_ASKPASS": "/bin/false",
            "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0",
        }  # fmt: skip
        with Session(machine.wrap(status["ssh"]["command"]), env=environment) as session:
            session.ping()
            assert session.finish() == 0
        agent.shutdown(socket.SHUT_RDWR)
    assert asked == []
    assert pin.read_bytes() == before  # nothing is learnt from the other side either
    offered = {event["key"] for event in box.audit_log("--event", "auth")["events"][seen:]}
    assert offered == {status["keys"][0]["fingerprint"]}


def test_a_strange_host_key_ends_the_command_whatever_the_machine_trusts(box, tmp_path):
    """The machine trusts the real host key under every name; the pin holds another one."""
    status = box.status()
    machine = Machine(tmp_path, "Host *\n  StrictHostKeyChecking no\n")
    real = Path(status["ssh"]["known_hosts_file"]).read_text().split(maxsplit=1)[1]
    for path in (machine.user / "known_hosts", machine.system / "ssh_known_hosts"):
        path.write_text(f"* {real}")
    strange = make_key(tmp_path / "strange")
    pin = tmp_path / "pin"
    pin.write_text(f"agentbox-{box.name} {' '.join(public_line(strange).split()[:2])}\n")
    command = [
        f"UserKnownHostsFile={pin}" if word.startswith("UserKnownHostsFile=") else word
        for word in status["ssh"]["command"]
    ]
    result = run(machine.wrap(command))
    assert result.returncode == 255 and b"verification failed" in result.stderr, result


# Awkward paths


def commands_of(name, environment):
    """The command of each format, as the client of that format takes it apart."""

    def said(form):
        return ok(programs.provision("handoff", name, "--format", form, env=environment)).stdout.decode()

    by_format = {}
    line = said("claude")
    words = subprocess.run(
        ["sh", "-c", f"claude() {{ printf '%s\\0' \"$@\"; }}; {line}"], capture_output=True, check=True, text=True
    ).stdout.split("\0")[:-1]
    assert words[:4] == ["mcp", "add", name, "--"] and words == shlex.split(line)[1:]
    by_format["claude"] = words[4:]
    codex = tomllib.loads(said("codex"))["mcp_servers"][name]
    by_format["codex"] = [codex["command"], *codex["args"]]
    for form in ("cursor", "gemini", "json"):
        server = json.loads(said(form))["mcpServers"][name]
        by_format[form] = [server["command"], *server["args"]]
    server = json.loads(said("vscode"))["servers"][name]
    by_format["vscode"] = [server["command"], *server["args"]]
    by_format["opencode"] = json.loads(said("opencode"))["mcp"][name]["command"]
    return by_format, said("ssh-config")


@pytest.mark.parametrize("folder", ["with space $HOME `id` $(id)", "it's \"100%\" %h #1", "back\\slash ~ é {a} [b] *;&|<>!"])
def test_a_state_folder_of_any_name_is_whole_in_every_format(tmp_path_factory, folder):
    state = tmp_path_factory.mktemp("state") / folder
    state.mkdir(mode=0o711)
    state.parent.chmod(0o711)
    environment = {**os.environ, "AGENTBOX_STATE_DIR": str(state)}
    try:
        said = json.loads(ok(programs.provision("create", "odd", "--output", "json", env=environment)).stdout)
        by_format, config = commands_of("odd", environment)
        for form, command in by_format.items():
            assert command == said["ssh"]["command"], form
        with Session(said["ssh"]["command"]) as session:
            session.ping()
        (state / "config").write_text(config)
        with Session(["ssh", "-F", str(state / "config"), "agentbox-odd"]) as session:
            session.ping()
        ok(programs.provision("rotate", "odd", env=environment))
        assert json.loads(ok(programs.provision("doctor", "odd", "--output", "json", env=environment)).stdout)["ok"]
    finally:
        ok(programs.provision("delete", "odd", env=environment))


# One file for all


@pytest.fixture
def odd_temporary(tmp_path):
    folder = tmp_path / "100% it's \"tmp\" $x"
    folder.mkdir()
    return folder


def test_a_bundle_opens_a_session_with_a_key_that_it_is_given(box, odd_temporary, tmp_path):
    bundle = tmp_path / "box.sh"
    said = box.provision("handoff", "--bundle", str(bundle))
    assert said["holds_private_key"] is False and bundle.stat().st_mode & 0o777 == 0o700
    assert "PRIVATE KEY" not in bundle.read_text()
    identity = Path(box.status()["ssh"]["identity_file"])
    (odd_temporary / "key %h").write_bytes(identity.read_bytes())
    (odd_temporary / "key %h").chmod(0o600)
    environment = {**os.environ, "TMPDIR": str(odd_temporary)}
    with Session([bundle, "key %h"], env=environment, cwd=odd_temporary) as session:
        session.ping()
        assert session.finish() == 0
    assert os.listdir(odd_temporary) == ["key %h"]
    result = run([bundle], env=environment)
    assert result.returncode == 64 and b"usage" in result.stderr
    assert run([bundle, make_key(tmp_path / "strange")], env=environment).returncode == 255
    assert os.listdir(odd_temporary) == ["key %h"]


def test_a_bundle_holds_the_private_key_only_where_it_was_asked_for(box, odd_temporary, tmp_path):
    bundle = tmp_path / "box.sh"
    box.provision("handoff", "--bundle", str(bundle), "--with-identity")
    private = Path(box.status()["ssh"]["identity_file"]).read_text()
    assert private in bundle.read_text() and bundle.stat().st_mode & 0o777 == 0o700
    with Session([bundle], env={**os.environ, "TMPDIR": str(odd_temporary)}) as session:
        session.ping()
        assert session.finish() == 0
    assert os.listdir(odd_temporary) == []
    for words in (["--bundle", str(tmp_path)], ["--bundle", "/dev/null"], ["--with-identity", "--format", "json"], []):
        result = programs.provision("handoff", box.name, *words)
        assert result.returncode in (2, 4), (words, result)
