"""A newcomer's box: agentbox-provision with the local backend, and what its wall hides."""
import json
import os
import signal
import stat
from pathlib import Path

import pytest
from kit import programs
from kit.box import LocalBox, ok
from kit.mcp import Session
from kit.processes import of_this_world
from kit.target import make_key, run
from kit.waiting import wait_until

HANDOFF_FIELDS = {"name", "backend", "state", "keys", "generation", "ssh", "mcpServers"}
SSH_FIELDS = {"host", "port", "user", "identity_file", "known_hosts_file", "host_key_fingerprint", "command"}


def test_create_says_all_that_a_client_needs(box):
    said = box.create()
    assert HANDOFF_FIELDS <= set(said), said
    assert SSH_FIELDS <= set(said["ssh"]), said["ssh"]
    assert (said["backend"], said["state"], said["ssh"]["user"]) == ("local", "running", "agent")
    assert said.items() <= box.status().items()
    assert said["mcpServers"][box.name] == {"command": said["ssh"]["command"][0], "args": said["ssh"]["command"][1:]}


def test_the_printed_command_as_it_stands_opens_a_session(box):
    with Session(box.status()["ssh"]["command"]) as session:
        assert session.shell("pwd")["stdout"] == "/workspace\n"
        assert session.finish() == 0


def test_the_printed_command_pins_everything(box):
    command = box.status()["ssh"]["command"]
    text = " ".join(command)
    assert command[:4] == ["ssh", "-F", "none", "-T"], command
    for option in (
        "BatchMode=yes", "IdentitiesOnly=yes", "IdentityAgent=none", "GlobalKnownHostsFile=none",
        "StrictHostKeyChecking=yes", "HostKeyAlgorithms=", "HostKeyAlias=", "ControlPath=none",
        "EscapeChar=none", "ServerAliveInterval=", "ClearAllForwardings=yes",
    ):
        assert option in text, option
    assert command[command.index("--") + 1] == "127.0.0.1"


def test_creating_again_changes_nothing(box):
    before = box.lasting()
    assert box.create() == before
    assert len(of_this_world("agentbox-sshd")) >= 2
    with box.session() as session:
        session.ping()


def test_list_has_the_box(box):
    listed = json.loads(ok(programs.provision("list", "--output", "json")).stdout)
    assert [each["name"] for each in listed["boxes"]] == [box.name]


def test_verify_proves_the_loop_and_leaves_no_blob(box):
    with box.session() as session:
        before = session.call("list_blobs")
    ok(programs.provision("verify", box.name, seconds=120))
    with box.session() as session:
        assert session.call("list_blobs") == before
    assert box.status()["state"] == "running"


def test_files_survive_suspend_and_resume(box):
    with box.session() as session:
        written = session.call("write_random_blob", {"name": "kept.bin", "size_bytes": 65536})
    before = box.lasting()
    ok(programs.provision("suspend", box.name))
    assert box.status()["state"] == "suspended"
    assert not of_this_world("agentbox-sshd") and not of_this_world("bwrap") and not of_this_world("agent-box")
    assert run(before["ssh"]["command"]).returncode == 255
    ok(programs.provision("suspend", box.name))
    ok(programs.provision("resume", box.name))
    after = box.lasting()
    assert after == before
    with box.session() as session:
        assert session.call("read_blob", {"name": "kept.bin"})["sha256"] == written["sha256"]
        session.shell("rm kept.bin")
    ok(programs.provision("resume", box.name))


def test_call_runs_one_tool(box):
    result = ok(programs.provision("call", box.name, "shell_exec", '{"command": "echo from call"}'))
    assert b"from call" in result.stdout
    failed = programs.provision("call", box.name, "no_such_tool", "{}")
    assert failed.returncode == 1, failed


def test_handoff_for_claude_is_a_command_line_and_json_is_json(box):
    line = ok(programs.provision("handoff", box.name, "--format", "claude")).stdout.decode()
    assert line.startswith("claude mcp add ") and line.count("\n") == 1, line
    said = json.loads(ok(programs.provision("handoff", box.name, "--format", "json")).stdout)
    assert said["mcpServers"][box.name]["command"] == "ssh"


# What the wall hides


def in_box(box, command, **arguments):
    with box.session() as session:
        return session.shell(command, **arguments)["stdout"]


def test_the_operators_side_cannot_be_seen_from_inside(box):
    state = box.folder()
    home = os.environ["HOME"]
    (programs.WORLD / "home" / "operators-secret").write_text("secret", encoding="utf-8")
    private = box.status()["ssh"]["identity_file"]
    for path in (programs.WORLD, state, home, private, state / "local/door/hostkey", "/root", Path(__file__), "/var/lib/agentbox"):
        assert in_box(box, f"test -e '{path}' && echo seen || echo hidden") == "hidden\n", path
    found = in_box(box, "find / -xdev \\( -name '*hostkey*' -o -name 'id_ed25519*' -o -name 'authorized_keys' -o -name box.json -o -name operators-secret \\) 2>/dev/null; true")
    assert found == "", found


def test_processes_outside_cannot_be_seen_or_signalled(box):
    seen = in_box(box, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    assert "agentbox-sshd" not in seen and "supervise" not in seen and "pytest" not in seen, seen
    door = {process.pid for process in of_this_world("agentbox-sshd")}
    assert door
    for pid in sorted(door):
        if in_box(box, f"test -e /proc/{pid} && echo seen || echo unseen") == "unseen\n":
            in_box(box, f"kill -9 {pid} 2>/dev/null; true")
    # Those of the connections above have ended by themselves; the monitor and the listener must not.
    assert len(door & {process.pid for process in of_this_world("agentbox-sshd")}) >= 2


def test_system_folders_and_the_link_are_read_only(box):
    for path in ("/usr", "/etc", "/agentbox/link", "/agentbox/bin", "/"):
        assert in_box(box, f"touch {path}/agentbox-probe 2>/dev/null && echo written || echo refused") == "refused\n", path
    assert in_box(box, "rm -f /agentbox/link/door.sock 2>/dev/null; ls /agentbox/link/door.sock") == "/agentbox/link/door.sock\n"


def test_the_environment_holds_nothing_of_the_operators(box):
    names = {line.split("=", 1)[0] for line in in_box(box, "env").splitlines()}
    assert not any(name.startswith(("AGENTBOX_", "SSH_", "XDG_", "KUBE")) for name in names), names
    assert in_box(box, "echo $HOME") == "/home/agent\n"


def test_what_the_box_can_write_is_its_own(box):
    for path in ("/workspace", "/home/agent", "/tmp"):
        assert in_box(box, f"echo x > {path}/mine && cat {path}/mine && rm {path}/mine") == "x\n", path


def test_the_link_takes_no_second_caller_from_inside(box):
    script = (
        "import socket,sys\n"
        "s=socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
        "s.settimeout(5)\n"
        "try:\n"
        " s.connect('/agentbox/link/door.sock'); s.send(b'x'*100); print('answer', s.recv(100))\n"
        "except OSError as e: print('refused')\n"
    )
    said = in_box(box, f"test -x /usr/bin/python3 || {{ echo refused; exit 0; }}; python3 -c \"{script}\"")
    assert said in ("refused\n", "answer b''\n"), said
    with box.session() as session:
        session.ping()


# Killing and leftovers


@pytest.mark.parametrize("victim", ["agentbox-sshd", "bwrap", "agent-box"])
def test_a_killed_half_comes_back_by_itself(box, victim):
    before = {process.pid for process in of_this_world(victim)}
    for pid in before:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    wait_until("the box works again", box.session_works, 30)
    assert not before & {process.pid for process in of_this_world(victim)}
    assert box.status()["state"] == "running"


def test_a_killed_supervisor_leaves_nothing_and_resume_starts_anew(box):
    (supervisor,) = [process for process in of_this_world("agentbox-provision") if "supervise" in process.command]
    os.kill(supervisor.pid, signal.SIGKILL)
    wait_until(
        "nothing of the box runs",
        lambda: not any(of_this_world(name) for name in ("agentbox-sshd", "bwrap", "agent-box", "agentbox-provision")),
    )
    assert box.status()["state"] == "stopped"
    ok(programs.provision("resume", box.name))
    with box.session() as session:
        session.ping()


def test_agent_code_cannot_break_the_door(box):
    """kill -9 -1 from inside ends the box side at most; it comes back, the door never went."""
    door = {process.pid for process in of_this_world("agentbox-sshd")}
    with box.session() as session:
        session.start("tools/call", {"name": "shell_exec", "arguments": {"command": "kill -9 -1; kill -9 1; exit 0"}})
        wait_until("a session works", box.session_works, 30)
    assert door & {process.pid for process in of_this_world("agentbox-sshd")}


def test_a_hog_in_the_box_does_not_keep_the_door_from_answering(box):
    with box.session() as hog:
        hog.start("tools/call", {"name": "shell_exec", "arguments": {"command": "for i in 1 2 3 4; do while :; do :; done & done; wait"}})
        with box.session() as session:
            session.ping(5)
            assert session.finish() == 0


# The command line


def test_delete_removes_the_box_and_says_so_again(tmp_path):
    other = LocalBox("short-lived")
    other.create()
    folder = other.folder()
    assert folder.exists()
    ok(programs.provision("delete", other.name))
    assert not folder.exists()
    again = json.loads(ok(programs.provision("delete", other.name, "--output", "json")).stdout)
    assert again["changed"] is False


def test_a_workspace_of_the_operators_is_used_and_kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    folder.chmod(0o777)
    (folder / "readme.txt").write_text("mine\n", encoding="utf-8")
    other = LocalBox("with-workspace")
    try:
        other.create("--workspace", str(folder))
        assert in_box(other, "cat readme.txt; echo theirs > made.txt") == "mine\n"
    finally:
        other.delete()
    assert (folder / "made.txt").read_text() == "theirs\n"


def test_a_key_of_ones_own_is_taken_and_its_private_half_is_not(tmp_path):
    key = make_key(tmp_path / "own key")
    other = LocalBox("own-key")
    try:
        refused = programs.provision("create", other.name, "--key", key)
        assert refused.returncode in (2, 4), refused
        assert b"private" in refused.stderr.lower()
        assert not other.folder().exists()
        said = other.create("--key", f"{key}.pub", "--identity", str(key))
        assert said["ssh"]["identity_file"] == str(key)
        assert len(said["keys"]) == 1
        with Session(said["ssh"]["command"]) as session:
            session.ping()
        state = b"".join(path.read_bytes() for path in other.folder().rglob("*") if path.is_file() and not path.is_symlink())
        secret = key.read_bytes().splitlines()[2]
        assert secret not in state
    finally:
        other.delete()


def test_private_files_are_the_owners_alone(box):
    folder = box.folder()
    for path in (folder / "id_ed25519", *(folder / "local/door").glob("hostkey*"), *(folder / "local/door/hostkey").glob("*")):
        if path.is_file() and not path.name.endswith(".pub"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


@pytest.mark.parametrize(
    "words, status",
    [
        (("status", "no-such-box"), 3),
        (("handoff", "no-such-box", "--format", "json"), 3),
        (("suspend", "no-such-box"), 3),
        (("call", "no-such-box", "ping", "{}"), 3),
        (("create", "Bad_Name"), 2),
        (("create", "a" * 53), 2),
        (("no-such-command",), 2),
        (("create",), 2),
        (("handoff", "x", "--format", "no-such-format"), 2),
    ],
)
def test_exit_codes_say_what_went_wrong(words, status):
    result = programs.provision(*words)
    assert result.returncode == status, result
    assert result.stdout == b"" and result.stderr != b""


def test_errors_as_json_have_code_message_and_next():
    result = programs.provision("status", "no-such-box", "--output", "json")
    error = json.loads(result.stdout or result.stderr)["error"]
    assert error["code"] and error["message"] and error["next"]


def test_two_creates_at_once_make_one_box():
    import subprocess

    other = LocalBox("twins")
    command = [str(programs.PROVISION), "create", other.name, "--output", "json"]
    try:
        both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
        said = [process.communicate(timeout=120) for process in both]
        assert [process.returncode for process in both] == [0, 0], said
        assert json.loads(said[0][0]) == json.loads(said[1][0])
    finally:
        other.delete()


def test_no_isolation_is_loud_and_works():
    other = LocalBox("no-wall")
    try:
        result = ok(programs.provision("create", other.name, "--no-isolation"))
        assert b"no isolation" in (result.stdout + result.stderr).lower().replace(b"-", b" ")
        with other.session() as session:
            session.ping()
    finally:
        other.delete()
