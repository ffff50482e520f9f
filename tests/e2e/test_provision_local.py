"""agentbox-provision on this machine: repeated, interrupted, side by side, refused, with awkward names."""
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import threading
import time
import tomllib
from pathlib import Path

import pytest
from kit import programs
from kit.box import LocalBox, ok
from kit.mcp import Session
from kit.processes import alive, all_processes, of_this_world
from kit.target import make_key, public_line, run
from kit.waiting import PATIENCE, wait_until


def error_of(result):
    return json.loads(result.stdout)["error"]


def refused(status, *words, **arguments):
    """The error that agentbox-provision WORDS ends with; its exit code must be status."""
    result = programs.provision(*words, "--output", "json", **arguments)
    assert result.returncode == status, result
    error = error_of(result)
    assert error["message"] and error["next"], error
    return error


@pytest.fixture
def other():
    """A box of the test's own, deleted after."""
    boxes = []

    def make(name, *words):
        boxes.append(LocalBox(name))
        return boxes[-1].create(*words)

    yield make
    for each in boxes:
        each.delete()


@pytest.fixture
def open_folder(tmp_path_factory):
    """A folder in which the box's user can work."""
    folder = tmp_path_factory.mktemp("work")
    folder.chmod(0o777)
    return folder


# Repeating


def test_another_spec_for_the_same_name_is_refused_with_the_difference(box, open_folder, tmp_path):
    before = box.lasting()
    key = make_key(tmp_path / "key")
    error = refused(4, "create", box.name, "--workspace", str(open_folder), "--key", f"{key}.pub")
    assert "workspace is one made here" in error["message"] and str(open_folder) in error["message"], error
    assert "keys is one made here" in error["message"], error
    assert "isolation is bubblewrap" in refused(4, "create", box.name, "--no-isolation")["message"]
    assert box.lasting() == before


def pids(program):
    return {process.pid for process in of_this_world(program)}


def test_a_create_killed_at_any_moment_is_taken_up_by_the_next():
    box = LocalBox("killed")
    before = {program: pids(program) for program in ("agentbox-provision", "agentbox-sshd", "bwrap")}
    try:
        for delay in (0.01, 0.03, 0.06, 0.09, 0.12, 0.16, 0.2, 0.3):
            process = subprocess.Popen(
                [programs.PROVISION, "create", box.name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            time.sleep(delay * PATIENCE)  # the moment is what is tried here
            process.kill()
            process.wait()
        said = box.create()
        assert said["state"] == "running"
        with box.session() as session:
            session.ping()
        assert len(pids("agentbox-provision") - before["agentbox-provision"]) == 1
    finally:
        box.delete()
    assert all(pids(program) <= those for program, those in before.items())


def test_what_a_killed_create_left_says_what_to_do_and_can_be_deleted():
    box = LocalBox("half")
    folder = box.folder()
    folder.mkdir(parents=True)
    folder.parent.chmod(0o711)
    assert programs.provision("status", box.name).returncode == 3
    said = json.loads(ok(programs.provision("delete", box.name, "--output", "json")).stdout)
    assert said["changed"] is True
    assert not folder.exists()


def test_commands_side_by_side_leave_one_whole_box():
    box = LocalBox("crowd")
    box.create()
    try:
        commands = [("suspend",), ("resume",), ("create",), ("resume",), ("status",), ("suspend",), ("verify",), ("resume",)]
        running = [
            subprocess.Popen([programs.PROVISION, *words, box.name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            for words in commands
        ]
        said = [(process.communicate(timeout=120 * PATIENCE)[0], process.returncode) for process in running]
        # verify and status may meet a box that another command is just stopping.
        for (text, status), words in zip(said, commands):
            assert status == 0 or words[0] in ("verify", "status"), (words, said)
        ok(programs.provision("resume", box.name))
        assert box.status()["state"] == "running"
        assert box.session_works()
    finally:
        box.delete()


def test_boxes_made_at_once_get_ports_of_their_own():
    boxes = [LocalBox(f"many-{number}") for number in range(4)]
    try:
        running = [
            subprocess.Popen([programs.PROVISION, "create", box.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for box in boxes
        ]
        for process in running:
            said = process.communicate(timeout=120 * PATIENCE)
            assert process.returncode == 0, said
        statuses = [box.status() for box in boxes]
        assert len({status["ssh"]["port"] for status in statuses}) == len(boxes)
        assert len({status["ssh"]["host_key_fingerprint"] for status in statuses}) == len(boxes)
    finally:
        for box in boxes:
            box.delete()


# Suspend and resume


def test_a_long_last_reply_is_whole_before_a_suspend_hangs_up(box):
    """More than one pass of the relay: the end of the session must not overtake its output."""
    with box.session() as session:
        arguments = {"command": "sleep 1.0423; head -c 250000 /dev/zero | tr '\\0' x", "max_output_bytes": 262144}
        call = session.start("tools/call", {"name": "shell_exec", "arguments": arguments})
        wait_until("the call runs", lambda: any(process.command == ("sleep", "1.0423") for process in all_processes()))
        ok(programs.provision("suspend", box.name))
        assert session.reply(call, 10)["result"]["structuredContent"]["stdout"] == "x" * 250000
    ok(programs.provision("resume", box.name))


def test_home_is_kept_and_temporary_files_are_not(box):
    with box.session() as session:
        session.shell("echo kept > ~/kept; echo gone > /tmp/gone; echo gone > /run/agentbox-out/gone")
    ok(programs.provision("suspend", box.name))
    ok(programs.provision("resume", box.name))
    with box.session() as session:
        assert session.shell("cat ~/kept; ls /tmp /run/agentbox-out")["stdout"].split()[0] == "kept"
        assert "gone" not in session.shell("ls -R /tmp /run/agentbox-out")["stdout"]


def test_a_missing_or_damaged_host_key_is_never_replaced_by_a_new_one(box):
    before = box.lasting()
    ok(programs.provision("suspend", box.name))
    key = box.folder() / "local/door/hostkey"
    text = key.read_bytes()
    key.unlink()
    assert "host key" in refused(1, "resume", box.name)["message"]
    assert not key.exists()
    key.write_bytes(b"-----BEGIN OPENSSH PRIVATE KEY-----\nrubbish\n")
    assert "damaged" in refused(1, "resume", box.name)["next"]
    strange = make_key(box.folder() / "strange")
    key.write_bytes(strange.read_bytes())
    assert "pinned" in refused(1, "resume", box.name)["message"]
    key.write_bytes(text)
    key.chmod(0o600)
    if programs.AS_ROOT:
        os.chown(key, programs.uid_of("agentbox-door"), -1)
    ok(programs.provision("resume", box.name))
    assert box.lasting() == before


def test_a_port_that_somebody_took_meanwhile_is_named_and_not_changed(box):
    port = box.status()["ssh"]["port"]
    ok(programs.provision("suspend", box.name))
    with socket.create_server(("127.0.0.1", port)):
        error = refused(4, "resume", box.name)
        assert str(port) in error["message"], error
        assert box.status()["state"] == "suspended"
    ok(programs.provision("resume", box.name))
    assert box.status()["ssh"]["port"] == port


def test_running_calls_are_finished_before_a_suspend(box):
    with box.session() as session:
        call = session.start("tools/call", {"name": "shell_exec", "arguments": {"command": "sleep 2.0417; echo done"}})
        wait_until("the call runs", lambda: any(process.command == ("sleep", "2.0417") for process in all_processes()))
        ok(programs.provision("suspend", box.name))
        assert "done" in json.dumps(session.reply(call, 10))
    ok(programs.provision("resume", box.name))


def test_a_log_that_grew_too_long_is_turned_over(box):
    ok(programs.provision("suspend", box.name))
    log = box.folder() / "local/door/door.log"
    with open(log, "ab") as out:
        out.write(b"x" * 99 + b"\n")
        out.truncate(9 << 20)
    ok(programs.provision("resume", box.name))
    wait_until("the log is short again", lambda: log.stat().st_size < 1 << 20)
    assert log.with_name("door.log.1").stat().st_size == 8 << 20


# Keys


def test_several_keys_all_enter_and_without_the_private_half_no_call_is_made(other, tmp_path):
    keys = [make_key(tmp_path / f"key {number}") for number in range(3)]
    both = tmp_path / "both.pub"
    both.write_text(f"# team\n{public_line(keys[1])}\r\n\n{public_line(keys[2])}")
    said = other("team", "--key", f"{keys[0]}.pub", "--key", str(both))
    assert len(said["keys"]) == 3 and said["ssh"]["identity_file"] is None
    command = said["ssh"]["command"]
    assert "-i" not in command and "IdentityFile" not in " ".join(command)
    for key in keys:
        quoted = str(key).replace("%", "%%")
        with Session([*command[:1], "-o", f'IdentityFile="{quoted}"', *command[1:]]) as session:
            session.ping()
    assert "private key" in refused(4, "call", "team", "list_blobs")["message"]
    verified = json.loads(programs.provision("verify", "team", "--output", "json").stdout)
    assert verified["checks"][0]["ok"] is True and "no login was tried" in verified["checks"][0]["detail"]


def test_where_the_profile_lacks_a_tool_that_is_said(other):
    other("slim", "--profile", "core")
    result = programs.provision("verify", "slim")
    assert result.returncode == 6 and b"does not offer list_blobs" in result.stdout, result
    assert b"does not offer download_chunk" in programs.provision("pull", "slim", "x", "-").stderr


def test_a_key_has_the_role_that_its_line_gives_it(other, tmp_path):
    agent, reader = make_key(tmp_path / "agent"), make_key(tmp_path / "reader")
    listed = tmp_path / "listed.pub"
    listed.write_text(f'agentbox-role="reader" {public_line(reader)}\n')
    said = other("roles", "--key", f"{agent}.pub", "--key", str(listed))
    assert sorted(key["role"] for key in said["keys"]) == ["agent", "reader"]
    command = said["ssh"]["command"]
    tools = {}
    for key in (agent, reader):
        with Session([*command[:1], "-i", str(key), *command[1:]]) as session:
            tools[key] = {tool["name"] for tool in session.request("tools/list")["tools"]}
    assert "write_file" in tools[agent] and "write_file" not in tools[reader] and "read_file" in tools[reader]
    assert "roles" in refused(4, "rotate", "roles")["message"]
    listed.write_text(f"{public_line(reader)}\n")
    rotated = json.loads(ok(programs.provision("rotate", "roles", "--key", str(listed), "--output", "json")).stdout)
    assert [key["role"] for key in rotated["keys"]] == ["agent"]


@pytest.mark.parametrize("kind, options", [("rsa", ("-b", "2048")), ("rsa", ("-b", "3072")), ("ecdsa", ())], ids=["rsa-2048", "rsa-3072", "ecdsa"])
def test_other_kinds_of_key_are_proven_like_the_usual_one(tmp_path, kind, options):
    """The library would sign for an RSA key with SHA-1 where it has not read yet what the server takes."""
    key = make_key(tmp_path / kind, kind, *options)
    box = LocalBox("kinds")
    try:
        said = box.create("--identity", key)
        assert said["state"] == "running"
        with box.session() as session:
            session.ping()
        lines = [json.loads(line) for line in (box.folder() / "local/door/audit.log").read_text(encoding="utf-8").splitlines()]
        assert not [line for line in lines if line["event"] == "auth" and line["result"] == "refused"]
    finally:
        box.delete()


def test_keys_that_cannot_be_used_are_refused_before_anything_happens(tmp_path):
    key = make_key(tmp_path / "key")
    short = make_key(tmp_path / "short", "rsa", "-b", "1024")
    with_options = tmp_path / "options.pub"
    with_options.write_text(f'command="id" {public_line(key)}\n')
    open_key = make_key(tmp_path / "open")
    open_key.chmod(0o644)
    locked = tmp_path / "locked"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", locked], check=True)
    pem = tmp_path / "pem"
    pem.write_text("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n")
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for words, said in [
        (("--key", str(key)), "private key"),
        (("--key", str(pem)), "private key"),
        (("--key", f"{short}.pub"), "2048"),
        (("--key", str(with_options)), "not a public key"),
        (("--key", "/dev/null"), "regular file"),
        (("--key", str(fifo)), "regular file"),
        (("--identity", f"{key}.pub"), "public key"),
        (("--identity", str(open_key)), "read by others"),
        (("--identity", str(locked)), "passphrase"),
        (("--key", str(tmp_path / "missing.pub")), "missing.pub"),
    ]:
        result = programs.provision("create", "never", *words, "--output", "json")
        assert result.returncode in (1, 4), (words, result)
        assert said in error_of(result)["message"], (words, result)
        assert not LocalBox("never").folder().exists(), words


def test_no_secret_stands_in_a_command_line(box):
    """While agentbox-provision and a command with a secret in its environment run."""
    seen, stop = set(), threading.Event()

    def look():
        while not stop.is_set():
            seen.update(word for process in all_processes() for word in process.command)

    looker = threading.Thread(target=look)
    looker.start()
    try:
        arguments = {"command": "sleep 1; echo $S", "env": {"S": "otter-42"}}
        result = ok(programs.provision("call", box.name, "shell_exec", "-", stdin=json.dumps(arguments).encode()))
        assert b"otter-42" in result.stdout
        ok(programs.provision("suspend", box.name))
        ok(programs.provision("resume", box.name))
    finally:
        stop.set()
        looker.join()
    assert any("shell_exec" in word for word in seen)
    private = (box.folder() / "id_ed25519").read_text().splitlines()
    for secret in ("otter-42", *private[1:3]):
        assert not any(secret in word for word in seen), secret


# Where the agent works


def test_workspaces_that_would_show_the_keys_or_the_home_are_refused(tmp_path):
    state = programs.WORLD / "state"
    for folder in (Path("/"), programs.WORLD, state, state / "boxes", programs.WORLD / "home"):
        if folder.exists():
            error = refused(4, "create", "never", "--workspace", str(folder))
            assert "see" in error["message"], error
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    if programs.AS_ROOT:
        closed.chmod(0o700)
    assert "cannot" in refused(4, "create", "never", "--workspace", str(closed))["message"]
    refused(4, "create", "never", "--workspace", str(tmp_path / "missing"))
    assert not LocalBox("never").folder().exists()


def test_a_kept_workspace_outlives_its_box(other):
    other("keeper")
    with LocalBox("keeper").session() as session:
        session.shell("echo work > result.txt")
    said = json.loads(ok(programs.provision("delete", "keeper", "--keep-workspace", "--output", "json")).stdout)
    assert (Path(said["workspace"]) / "result.txt").read_text() == "work\n"


def test_what_the_agent_locked_can_still_be_deleted(other):
    other("locked")
    with LocalBox("locked").session() as session:
        session.shell("mkdir -p a/b && touch a/b/c && chmod 0 a/b a; mkdir ~/x && chmod 0 ~/x")
    ok(programs.provision("delete", "locked"))
    assert not LocalBox("locked").folder().exists()


# What clients are told


def test_every_format_is_what_its_client_reads_and_opens_a_session(box):
    def said(form):
        return ok(programs.provision("handoff", box.name, "--format", form)).stdout.decode()

    command = box.status()["ssh"]["command"]
    words = shlex.split(said("claude"))
    assert words[:5] == ["claude", "mcp", "add", box.name, "--"] and words[5:] == command
    codex = tomllib.loads(said("codex"))["mcp_servers"][box.name]
    assert [codex["command"], *codex["args"]] == command
    for form in ("cursor", "gemini", "json"):
        server = json.loads(said(form))["mcpServers"][box.name]
        assert [server["command"], *server["args"]] == command, form
    vscode = json.loads(said("vscode"))["servers"][box.name]
    assert vscode["type"] == "stdio" and [vscode["command"], *vscode["args"]] == command
    assert json.loads(said("opencode"))["mcp"][box.name]["command"] == command
    config = programs.WORLD / "tmp" / "ssh-config"
    config.write_text(said("ssh-config"))
    try:
        with Session(["ssh", "-F", str(config), f"agentbox-{box.name}"]) as session:
            session.ping()
    finally:
        config.unlink()


def test_paths_with_spaces_percent_and_quotes_reach_the_client_whole(tmp_path_factory):
    state = tmp_path_factory.mktemp("100% \"mine\" it's #1 %h")
    state.chmod(0o711)
    environment = {**os.environ, "AGENTBOX_STATE_DIR": str(state)}
    try:
        said = json.loads(ok(programs.provision("create", "odd", "--output", "json", env=environment)).stdout)
        assert str(state) in said["ssh"]["identity_file"]
        with Session(said["ssh"]["command"]) as session:
            session.ping()
        line = ok(programs.provision("handoff", "odd", "--format", "claude", env=environment)).stdout.decode()
        with Session(["sh", "-c", "exec " + line.removeprefix("claude mcp add odd -- ")]) as session:
            session.ping()
        config = state / "config"
        config.write_bytes(ok(programs.provision("handoff", "odd", "--format", "ssh-config", env=environment)).stdout)
        with Session(["ssh", "-F", str(config), "agentbox-odd"]) as session:
            session.ping()
    finally:
        ok(programs.provision("delete", "odd", env=environment))


@pytest.mark.parametrize("name", ["a\nb", "${HOME}", "a\x1b[31m"])
def test_a_state_folder_that_cannot_be_printed_safely_is_refused(name):
    environment = {**os.environ, "AGENTBOX_STATE_DIR": f"/tmp/{name}"}
    refused(2, "create", "never", env=environment)


def test_the_pin_holds_when_another_host_key_answers(box, tmp_path):
    command = list(box.status()["ssh"]["command"])
    pin = tmp_path / "known_hosts"
    strange = make_key(tmp_path / "strange")
    pin.write_text(f"agentbox-{box.name} {' '.join(public_line(strange).split()[:2])}\n")
    index = next(i for i, word in enumerate(command) if word.startswith("UserKnownHostsFile="))
    command[index] = f"UserKnownHostsFile={pin}"
    result = run(command)
    assert result.returncode == 255 and b"verification failed" in result.stderr, result


# The wall


def test_where_no_wall_can_be_made_create_refuses_and_says_what_to_do():
    no_namespaces = ["bwrap", "--unshare-user", "--disable-userns", "--dev-bind", "/", "/", "--"]
    no_bubblewrap = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", "/dev/null", "/usr/bin/bwrap", "--"]
    if programs.AS_ROOT:
        no_namespaces = ["setpriv", f"--reuid={programs.uid_of('agentbox')}", "--clear-groups", *no_namespaces]
    for wrapper, said in [(no_namespaces, "cannot make the box's wall"), (no_bubblewrap, "not installed")]:
        state = programs.WORLD / "tmp" / "no-wall"
        environment = {**os.environ, "AGENTBOX_STATE_DIR": str(state), "AGENTBOX_PROGRAMS": str(programs.BIN)}
        program = programs.reachable_copy(programs.PROVISION, programs.WORLD / "bin")
        for each in (programs.SSHD, programs.BOX):
            programs.reachable_copy(each, programs.WORLD / "bin")
        environment["AGENTBOX_PROGRAMS"] = str(programs.WORLD / "bin")
        result = run([*wrapper, program, "create", "never", "--output", "json"], env=environment)
        assert result.returncode == 4, result
        error = error_of(result)
        assert said in error["message"] and "--no-isolation" in error["next"], error
        assert not state.exists()


def test_abstract_sockets_of_this_machine_are_out_of_reach(box):
    log = (box.folder() / "local/door/door.log").read_text()
    if "cannot keep the box from abstract" in log:
        pytest.skip("this kernel has no scopes")
    name = f"agentbox-test-{os.getpid()}"
    script = (
        "import socket\n"
        "s = socket.socket(socket.AF_UNIX)\n"
        "try:\n"
        f"  s.connect(chr(0) + '{name}'); print('reached')\n"
        "except PermissionError:\n"
        "  print('refused')\n"
    )
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0" + name)
        server.listen()
        with box.session() as session:
            assert session.shell(f"python3 -c \"{script}\"")["stdout"] == "refused\n"


def test_the_box_knows_its_user_and_none_of_this_machine(box):
    with box.session() as session:
        assert session.shell("id -un; id -gn; hostname")["stdout"].split() == ["agent", "agent", box.name]
        users = session.shell("cut -d: -f1 /etc/passwd")["stdout"].split()
        assert users == ["agent", "root", "nobody"]
        for path in ("/etc/shadow", "/etc/ssh", "/etc/environment", "/etc/machine-id", "/sys", "/boot", "/opt", "/srv", "/var/lib"):
            assert session.shell(f"test -e {path} && echo seen || echo hidden")["stdout"] == "hidden\n", path


# Proofs


def test_verify_of_an_absent_box_is_the_whole_loop_and_leaves_nothing():
    said = json.loads(ok(programs.provision("verify", "loop", "--output", "json", seconds=120)).stdout)
    assert said["ok"] is True
    names = [check["name"] for check in said["checks"]]
    for step in ("create", "list_blobs is empty", "write_random_blob", "suspend", "resume", "read_blob has the same sha256",
                 "pulled over SSH and hashed here", "delete"):
        assert step in names, names
    sums = {re.search("[0-9a-f]{64}", check["detail"])[0] for check in said["checks"] if "sha256" in check["detail"]}
    assert len(sums) == 1
    assert not LocalBox("loop").folder().exists()


def test_verify_keeps_the_box_where_asked_without_its_blob():
    box = LocalBox("kept")
    try:
        ok(programs.provision("verify", box.name, "--keep", seconds=120))
        with box.session() as session:
            assert session.call("list_blobs") == {"result": []}
    finally:
        box.delete()


def test_verify_says_which_check_failed(box):
    with box.session() as session:
        before = session.call("list_blobs")
    workspace = box.folder() / "local/box/workspace"
    owner, mode = workspace.stat().st_uid, workspace.stat().st_mode
    workspace.chmod(0o500)
    if programs.AS_ROOT:
        os.chown(workspace, 0, 0)
        workspace.chmod(0o555)
    try:
        result = programs.provision("verify", box.name, "--output", "json")
    finally:
        os.chown(workspace, owner, -1)
        workspace.chmod(mode)
    assert result.returncode == 6, result
    said = json.loads(result.stdout)
    assert [check["name"] for check in said["checks"] if not check["ok"]] == ["write_random_blob"], said
    with box.session() as session:
        assert session.call("list_blobs") == before


def test_a_box_that_cannot_start_says_why_and_leaves_nothing_running(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    folder.chmod(0o755)
    programs.reachable_copy(programs.SSHD, folder)
    shutil.copy("/bin/false", folder / "agent-box")
    box = LocalBox("broken")
    before = pids("agentbox-sshd")
    try:
        error = refused(5, "create", box.name, "--programs", str(folder), seconds=90)
        assert "exit code 1" in error["message"], error
        assert pids("agentbox-sshd") <= before  # a connection of an earlier test may end meanwhile
        status = box.status()
        assert status["state"] == "failed" and "run create again" in status["reason"]
        assert any("box ended" in line for line in json.loads(ok(programs.provision("logs", box.name, "--output", "json")).stdout)["door"])
        assert box.create()["state"] == "running"
    finally:
        box.delete()


def test_logs_show_all_three_and_no_control_character(box):
    with open(box.folder() / "local/door/door.log", "ab") as log:
        log.write(b"a line with \x1b[31mcolour\n")
    said = json.loads(ok(programs.provision("logs", box.name, "--output", "json")).stdout)
    assert "a line with \\x1b[31mcolour" in said["door"]
    events = [json.loads(line)["event"] for line in said["audit"]]
    assert "tool_call" in events
    short = ok(programs.provision("logs", box.name, "--lines", "1")).stdout
    assert b"\x1b" not in short and short.count(b"\n") <= 6


def test_a_supervisor_is_told_to_stop_by_a_signal_alone(box):
    """SIGTERM from anybody who may send it is a suspend that nobody asked for: state stopped."""
    note = json.loads((box.folder() / "local/supervisor.json").read_text())
    os.kill(note["pid"], signal.SIGTERM)
    wait_until("nothing of the box runs", lambda: not any(alive(pid) for pid in (note["pid"], note["door"]["pid"], note["box"]["pid"])))
    status = box.status()
    assert status["state"] == "stopped" and "resume" in status["reason"]
    assert box.create()["state"] == "running"


def test_output_goes_where_it_belongs(box):
    result = programs.provision("suspend", box.name, "--output", "json")
    assert json.loads(result.stdout)["state"] == "suspended"
    result = programs.provision("resume", box.name, "--output", "json")
    assert json.loads(result.stdout)["state"] == "running" and b"starting the box" in result.stderr
    result = programs.provision("delete", "no-such-box", "--output", "json")
    assert (result.returncode, json.loads(result.stdout)) == (0, {"name": "no-such-box", "changed": False})
    assert programs.provision("list", stdin=b"").stderr == b""


@pytest.fixture
def box_of_my_own():
    box = LocalBox("my-own")
    try:
        box.create()
        yield box
    finally:
        box.delete()


@pytest.mark.parametrize("command", [("verify",), ("call", "system_info"), ("push", __file__, "there")], ids=lambda words: words[0])
def test_a_suspended_box_is_named_as_such_with_the_way_back(box_of_my_own, command):
    ok(programs.provision("suspend", box_of_my_own.name))
    error = refused(5, command[0], box_of_my_own.name, *command[1:])
    assert "suspended" in error["message"] and f"resume {box_of_my_own.name}" in error["next"], error


def test_a_box_whose_supervisor_was_killed_is_not_well(box_of_my_own):
    (supervisor,) = [process for process in of_this_world("agentbox-provision") if box_of_my_own.name in process.command]
    os.kill(supervisor.pid, signal.SIGKILL)
    wait_until("it is stopped", lambda: box_of_my_own.status()["state"] == "stopped")
    result = programs.provision("doctor", box_of_my_own.name)
    assert result.returncode == 6 and f"resume {box_of_my_own.name}" in result.stdout.decode(), result
    assert f"resume {box_of_my_own.name}" in refused(5, "verify", box_of_my_own.name)["next"]


def test_a_record_that_cannot_be_read_hides_no_other_box(box_of_my_own):
    broken = box_of_my_own.folder().parent / "broken"
    broken.mkdir(mode=0o700)
    try:
        (broken / "box.json").write_text("{", encoding="utf-8")
        result = ok(programs.provision("list", "--output", "json"))
        assert box_of_my_own.name in [box["name"] for box in json.loads(result.stdout)["boxes"]]
        assert b"broken" in result.stderr
    finally:
        shutil.rmtree(broken)


@pytest.mark.parametrize("folder", ["/", "/etc", "/usr/share", "/home", "/proc/self", "/tmp"])
def test_a_folder_of_the_systems_is_no_workspace(folder):
    error = refused(4, "create", "misplaced", "--workspace", folder)
    assert "setfacl" not in error["next"] and "folder" in error["message"], error


def test_an_empty_name_of_a_workspace_is_a_mistake():
    assert "--workspace" in refused(2, "create", "misplaced", "--workspace", "")["message"]
