"""What an operator does to a box that lives: new keys, a leaked key, files, a look at its health and its audit."""
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time

import pytest
from kit import programs
from kit.box import LocalBox, fails, ok
from kit.mcp import Session
from kit.processes import all_processes
from kit.target import make_key
from kit.waiting import PATIENCE, wait_until


def print_of(key):
    said = subprocess.run(["ssh-keygen", "-lf", f"{key}.pub"], capture_output=True, text=True, check=True)
    return said.stdout.split()[1]


def command_with(status, key):
    """The printed command, with this private key."""
    words = [word for word in status["ssh"]["command"]]
    at = [i for i, word in enumerate(words) if word.startswith("IdentityFile=")]
    if at:
        words[at[0]] = f"IdentityFile={key}"
        return words
    return [words[0], "-o", f"IdentityFile={key}", *words[1:]]


def enters(status, key):
    session = Session(command_with(status, key), handshake=False)
    try:
        session.start("ping")
        return session.reply(1) is not None
    except (AssertionError, OSError):
        session.wait()
        assert b"Permission denied (publickey)" in session.stderr, session.stderr
        return False
    finally:
        session.kill()


@pytest.fixture
def team(tmp_path):
    """A box of two keys whose private halves it does not know."""
    keys = [make_key(tmp_path / name) for name in ("anna", "bert")]
    box = LocalBox("team")
    box.create("--key", f"{keys[0]}.pub", "--key", f"{keys[1]}.pub")
    yield box, keys
    box.delete()


# Rotation


def test_rotate_gives_a_new_key_in_the_old_ones_place_and_the_old_is_refused(box, tmp_path):
    before = box.status()
    old = shutil.copy(before["ssh"]["identity_file"], tmp_path / "old")
    with box.session() as session:
        said = box.provision("rotate")
        assert session.wait(10) != 0
    assert said["changed"] is True and said["proven"] is True
    assert said["gone"] == [before["keys"][0]["fingerprint"]] and said["sessions_ended"] == 1
    assert said["keys"][0]["fingerprint"] == said["added"][0] != said["gone"][0]
    assert said["generation"] > before["generation"]
    assert said["ssh"] == before["ssh"]  # clients go on with what they were given
    assert not enters(said, old) and box.session_works()
    assert box.create()["state"] == "running"  # an equal box: one key, made here
    names = {path.name for path in box.folder().iterdir()}
    assert not any(name.endswith(".next") for name in names), names


def test_rotate_to_given_keys_leaves_these_alone_and_no_private_key_behind(box, tmp_path):
    old = shutil.copy(box.status()["ssh"]["identity_file"], tmp_path / "old")
    keys = [make_key(tmp_path / name) for name in ("one", "two")]
    words = [word for key in keys for word in ("--key", f"{key}.pub")]
    said = box.provision("rotate", *words)
    assert sorted(key["fingerprint"] for key in said["keys"]) == sorted(map(print_of, keys))
    assert said["ssh"]["identity_file"] is None and not (box.folder() / "id_ed25519").exists()
    assert all(enters(said, key) for key in keys) and not enters(said, old)
    again = box.provision("rotate", *words)
    assert again["changed"] is False and again["generation"] == said["generation"]
    assert box.provision("rotate")["gone"] != [] and box.session_works()


def test_a_rotation_killed_at_any_moment_can_be_run_again(box, tmp_path):
    first = box.status()
    old = shutil.copy(first["ssh"]["identity_file"], tmp_path / "old")
    for delay in (0.01, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5):
        process = subprocess.Popen(
            [programs.PROVISION, "rotate", box.name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(delay * PATIENCE)  # the moment is what is tried here
        process.kill()
        process.wait()
        assert box.session_works(), f"after a kill at {delay} s the printed command no longer enters"
    said = box.provision("rotate")
    assert len(said["keys"]) == 1 and said["proven"] is True
    assert box.session_works() and not enters(said, old)


def test_a_suspended_box_is_rotated_too_and_resume_proves_it(box, tmp_path):
    old = shutil.copy(box.status()["ssh"]["identity_file"], tmp_path / "old")
    box.provision("suspend")
    said = box.provision("rotate")
    assert said["state"] == "suspended" and said["proven"] is False and said["changed"] is True
    resumed = box.provision("resume")
    assert resumed["keys"] == said["keys"]
    assert not enters(resumed, old) and box.session_works()


def test_keys_that_cannot_be_used_are_refused_and_change_nothing(box, tmp_path):
    before = box.lasting()
    key = make_key(tmp_path / "key")
    assert "private key" in fails(4, "rotate", box.name, "--key", str(key))["message"]
    fails(1, "rotate", box.name, "--key", str(tmp_path / "missing.pub"))
    fails(3, "rotate", "no-such-box")
    fails(3, "revoke", "no-such-box", "--key", print_of(key))
    assert "does not know" in fails(4, "revoke", box.name, "--key", print_of(key))["message"]
    fails(2, "revoke", box.name)
    assert box.lasting() == before


# Revocation


def test_a_revoked_key_is_out_at_once_and_for_good_and_the_other_stays(team):
    box, (anna, bert) = team
    status = box.status()
    with Session(command_with(status, anna)) as hers, Session(command_with(status, bert)) as his:
        said = box.provision("revoke", "--key", f"{anna}.pub")
        assert hers.wait(10) != 0
        his.ping()
    assert said["gone"] == [print_of(anna)] and said["sessions_ended"] == 1
    assert said["evicted"] is False and said["proven"] is True
    assert not enters(said, anna) and enters(said, bert)
    text = ok(programs.provision("revoke", box.name, "--key", print_of(anna))).stdout.decode()
    assert "evicted    no" in text and "already" in text
    assert "was revoked" in fails(4, "rotate", box.name, "--key", f"{anna}.pub")["message"]
    ok(programs.provision("suspend", box.name))
    resumed = box.provision("resume")
    assert not enters(resumed, anna) and enters(resumed, bert)


def test_the_last_key_can_be_revoked_and_a_new_one_made(box, tmp_path):
    status = box.status()
    old = shutil.copy(status["ssh"]["identity_file"], tmp_path / "old")
    said = box.provision("revoke", "--key", status["keys"][0]["fingerprint"])
    assert said["keys"] == [] and said["ssh"]["identity_file"] is None
    assert any("last key" in warning for warning in said["warnings"])
    assert not enters(status, old)
    ok(programs.provision("suspend", box.name))
    assert box.provision("resume")["keys"] == []  # none is made behind the operator's back
    box.provision("rotate")
    assert box.session_works() and not enters(status, old)


def test_evict_ends_all_that_runs_and_makes_a_new_host_key_on_the_same_port(team):
    box, (anna, bert) = team
    before = box.status()
    with Session(command_with(before, bert)) as his:
        his.shell("echo kept > kept; echo gone > /tmp/gone; (sleep 7.0913 &) ")
        said = box.provision("revoke", "--key", print_of(anna), "--evict")
        his.wait(10)
    assert not any(process.command == ("sleep", "7.0913") for process in all_processes())
    assert said["evicted"] is True and said["state"] == "running"
    assert said["ssh"]["port"] == before["ssh"]["port"]
    assert said["ssh"]["host_key_fingerprint"] != before["ssh"]["host_key_fingerprint"]
    assert not enters(said, anna)
    with Session(command_with(said, bert)) as his:  # the same command: known_hosts was written anew
        assert his.shell("cat kept; ls /tmp")["stdout"] == "kept\n"


def test_an_eviction_killed_at_any_moment_can_be_run_again(team):
    box, (anna, bert) = team
    for delay in (0.05, 0.2, 0.35, 0.5, 0.7, 0.9):
        process = subprocess.Popen(
            [programs.PROVISION, "revoke", box.name, "--key", print_of(anna), "--evict"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        time.sleep(delay * PATIENCE)  # the moment is what is tried here
        process.kill()
        process.wait()
    said = box.provision("revoke", "--key", print_of(anna), "--evict")
    assert said["state"] == "running" and not enters(said, anna) and enters(said, bert)


# Files


def sum_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@pytest.mark.parametrize("size", [0, 1, 512 * 1024, 3 << 20, (6 << 20) + 17])
def test_files_go_in_and_out_byte_for_byte(box, tmp_path, size):
    source = tmp_path / "source"
    source.write_bytes(os.urandom(size))
    said = box.provision("push", str(source), "deep/er/täst file")
    assert said["bytes"] == size and said["sha256"] == sum_of(source) and said["verified"] is True
    target = tmp_path / "target"
    said = box.provision("pull", "deep/er/täst file", str(target))
    assert said["sha256"] == sum_of(source) == sum_of(target)
    names = sorted(os.listdir(tmp_path)), sorted(os.listdir(box.folder() / "local/box/workspace/deep/er"))
    assert names == (["source", "target"], ["täst file"])


def test_standard_input_and_output_and_the_mode_of_the_file(box, tmp_path):
    ok(programs.provision("push", box.name, "-", "note", stdin=b"from a pipe\x00\n"))
    result = ok(programs.provision("pull", box.name, "note", "-"))
    assert result.stdout == b"from a pipe\x00\n" and b"sha256" in result.stderr
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\necho ran\n")
    script.chmod(0o755)
    box.provision("push", str(script), "script")
    with box.session() as session:
        assert session.shell("./script")["stdout"] == "ran\n"


def test_what_is_no_file_is_refused_and_nothing_is_left(box, tmp_path):
    with box.session() as session:
        session.shell("mkdir -p folder; echo old > folder/file; ln -sf /etc/passwd outside")
    (tmp_path / "here").mkdir()
    (tmp_path / "file").write_text("kept")
    before = sorted(os.listdir(tmp_path))
    fails(4, "pull", box.name, "folder/file", str(tmp_path / "here"))
    fails(4, "pull", box.name, "folder/file", "/dev/null")
    fails(1, "pull", box.name, "no-such-file", str(tmp_path / "file"))
    fails(1, "pull", box.name, "folder", str(tmp_path / "file"))
    fails(1, "pull", box.name, "outside", str(tmp_path / "file"))
    fails(1, "pull", box.name, "/etc/passwd", str(tmp_path / "file"))
    fails(1, "pull", box.name, "folder/file", str(tmp_path / "missing" / "file"))
    fails(2, "pull", box.name, "folder/", str(tmp_path / "file"))
    fails(1, "push", box.name, str(tmp_path / "file"), "folder")
    fails(1, "push", box.name, str(tmp_path / "file"), "/etc/passwd")
    fails(4, "push", box.name, str(tmp_path), "x")
    fails(4, "push", box.name, "/dev/null", "x")
    assert sorted(os.listdir(tmp_path)) == before and (tmp_path / "file").read_text() == "kept"
    with box.session() as session:
        assert ".agentbox-tmp-" not in session.shell("ls -a . folder")["stdout"]


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_transfer_that_is_interrupted_leaves_nothing(box, tmp_path, stop):
    workspace = box.folder() / "local/box/workspace"
    process = subprocess.Popen(
        [programs.PROVISION, "push", box.name, "-", "cut"], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdin.write(b"x" * (7 << 20))
    process.stdin.flush()
    wait_until("a part is there", lambda: list(workspace.glob(".agentbox-tmp-*")))
    process.send_signal(stop)
    assert process.wait(30) == 1 and b"interrupted" in process.stderr.read()
    process.stdin.close()
    process.stderr.close()
    assert not list(workspace.glob(".agentbox-tmp-*")) and not (workspace / "cut").exists()
    with open(workspace / "large", "wb") as file:
        file.truncate(1 << 30)
    os.chmod(file.name, 0o644)
    process = subprocess.Popen([programs.PROVISION, "pull", box.name, "large", str(tmp_path / "here")])
    wait_until("a part is here", lambda: list(tmp_path.glob("here.agentbox-*")))
    process.send_signal(stop)
    assert process.wait(30) == 1
    assert os.listdir(tmp_path) == []
    os.unlink(file.name)


def test_a_verify_that_is_interrupted_takes_its_file_away(box):
    workspace = box.folder() / "local/box/workspace"
    process = subprocess.Popen([programs.PROVISION, "verify", box.name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    wait_until("its file is there", lambda: list(workspace.glob("agentbox-verify-*")))
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[0]
    assert not list(workspace.glob("agentbox-verify-*"))
    # It may have been through by then.
    assert process.returncode == (6 if b"interrupted" in said else 0), said


def test_a_resume_that_was_cut_short_is_told_and_can_be_run_again(box):
    record = box.folder() / "box.json"
    kept = record.read_text()
    wrong = json.loads(kept)
    wrong["phase"] = "suspended"  # as a resume has it until the keys are proven
    record.write_text(json.dumps(wrong))
    status = box.status()
    assert status["state"] == "failed" and "run it again" in status["reason"], status
    assert box.provision("resume")["state"] == "running"


def test_what_to_do_next_names_the_box(box):
    said = ok(programs.provision("suspend", box.name))
    assert b"20 s to end" in said.stderr
    port = box.status()["ssh"]["port"]
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", port))
        taken.listen()
        error = fails(4, "resume", box.name)
        assert f"port {port}" in error["message"] and "ss -ltnp" in error["next"]
    assert box.status()["state"] == "suspended"
    error = fails(5, "call", box.name, "system_info")
    assert box.name in error["next"] and "NAME" not in error["next"], error
    ok(programs.provision("resume", box.name))


def test_a_large_file_takes_no_more_memory_than_a_small_one(box, tmp_path):
    def peak(path, size):
        with open(box.folder() / "local/box/workspace" / path, "wb") as file:
            file.truncate(size)
        os.chmod(file.name, 0o644)
        process = subprocess.Popen(
            [programs.PROVISION, "pull", box.name, path, "-"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        got = 0
        while chunk := process.stdout.read(1 << 20):
            got += len(chunk)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close()
        assert process.returncode == 0 and got == size
        return usage.ru_maxrss

    large, small = peak("large", 24 << 20), peak("small", 2 << 20)
    assert programs.SANITIZED or large < small + (12 << 10)  # a sanitizer keeps what was freed


# Health


def checks_of(box, status=0):
    result = programs.provision("doctor", box.name, "--output", "json")
    assert result.returncode == status, result
    return {check["name"]: check for check in json.loads(result.stdout)["checks"]}


def test_a_healthy_box_passes_every_check_and_nothing_is_changed(box):
    before = box.lasting()
    checks = checks_of(box)
    assert all(check["ok"] and not check["skipped"] for check in checks.values()), checks
    assert box.lasting() == before
    text = ok(programs.provision("doctor", box.name)).stdout.decode()
    assert text.endswith(f"box {box.name} is well\n")


def failed(checks):
    return {name: check for name, check in checks.items() if not check["ok"]}


def test_what_is_wrong_is_named_with_what_to_do(box):
    key = box.folder() / "id_ed25519"
    key.chmod(0o644)
    assert "open to others" in failed(checks_of(box, 6))["state folder is closed to others"]["detail"]
    key.chmod(0o600)
    pin = box.folder() / "known_hosts"
    text = pin.read_text()
    pin.write_text(f"{text}* {text.split(maxsplit=1)[1]}")
    wrong = failed(checks_of(box, 6))
    assert list(wrong) == ["known_hosts holds the pin and nothing else"] and wrong[list(wrong)[0]]["next"]
    pin.write_text(text)
    fails(3, "doctor", "no-such-box")


def test_a_box_that_does_not_run_is_looked_at_from_outside(box):
    ok(programs.provision("suspend", box.name))
    checks = checks_of(box)
    assert checks["programs"]["skipped"] is False and checks["keys"]["skipped"] is True
    assert "suspended" in checks["both sides run"]["detail"]
    ok(programs.provision("resume", box.name))


def test_a_wall_that_does_not_hold_is_found_from_inside():
    box = LocalBox("open")
    box.create("--no-isolation")
    try:
        checks = checks_of(box)
        assert "no-isolation" in checks["the box sees nothing of the operator's"]["detail"]
        record = json.loads((box.folder() / "box.json").read_text())
        record["spec"]["isolation"] = "bubblewrap"  # it runs without, and says it does not
        (box.folder() / "box.json").write_text(json.dumps(record))
        wrong = failed(checks_of(box, 6))
        assert "it sees" in wrong["the box sees nothing of the operator's"]["detail"], wrong
    finally:
        box.delete()


# Audit


def test_the_audit_can_be_searched_and_says_whether_it_is_whole(box):
    with box.session() as session:
        session.shell("true")
        session.finish()
    key = box.status()["keys"][0]["fingerprint"]
    said = box.audit_log("--event", "tool_call", "--key", key)
    assert said["whole"] is True and said["events"][-1]["tool"] == "shell_exec"
    assert {event["event"] for event in said["events"]} == {"tool_call"}
    assert len(box.audit_log("--since", "1h", "--lines", "2")["events"]) == 2
    assert box.audit_log("--since", "2999-01-01")["events"] == []
    fails(2, "audit-log", "show", "--box", box.name, "--since", "yesterday")
    fails(2, "audit-log", "show", "--box", box.name, "--key", "anna")
    ok(programs.provision("suspend", box.name))
    ok(programs.provision("resume", box.name))
    said = box.audit_log()
    assert said["whole"] is True and said["tail_proven"] is True and said["head"]["seq"] == said["lines"]
    ok(programs.provision("suspend", box.name))
    assert box.status()["audit_head"] == box.audit_log()["head"]
    assert box.status()["audit_head"]["hash"] in ok(programs.provision("status", box.name)).stdout.decode()
    ok(programs.provision("resume", box.name))


def test_a_log_that_lost_its_end_is_told_by_the_doors_state(box):
    ok(programs.provision("suspend", box.name))
    log = box.folder() / "local/door/own/audit.log"
    whole = log.read_bytes()
    log.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
    result = programs.provision("audit-log", "verify", "--box", box.name, "--output", "json")
    assert result.returncode == 6 and json.loads(result.stdout)["findings"][0]["kind"] == "head"
    log.write_bytes(whole)
    ok(programs.provision("resume", box.name))


def test_a_line_taken_out_of_the_audit_is_missed(box):
    ok(programs.provision("suspend", box.name))
    log = box.folder() / "local/door/own/audit.log"
    lines = log.read_bytes().splitlines(keepends=True)
    with open(log, "r+b") as file:
        file.writelines(lines[:3] + lines[4:])
        file.truncate()
    result = programs.provision("audit-log", "show", "--box", box.name, "--output", "json")
    assert result.returncode == 6
    assert [each["text"] for each in json.loads(result.stdout)["findings"]] == ["line 4 is missing"]
    assert "the audit log is whole" in failed(checks_of(box, 6))
    ok(programs.provision("resume", box.name))


# The command line itself


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_are_scripts_that_their_shell_reads(shell):
    script = ok(programs.provision("completion", shell)).stdout
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    options = ["--no-execute"] if shell == "fish" else ["-n"]
    subprocess.run([shell, *options], input=script, check=True)


def completed(*words):
    """What bash would offer for the last of WORDS."""
    script = ok(programs.provision("completion", "bash")).stdout.decode()
    script += f'\nCOMP_WORDS=(agentbox-provision {" ".join(repr(word) for word in words)}); COMP_CWORD={len(words)}\n'
    script += '_agentbox_provision; printf "%s\\n" "${COMPREPLY[@]}"\n'
    environment = {**os.environ, "PATH": f"{programs.BIN}:{os.environ['PATH']}"}
    said = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, env=environment)
    return said.stdout.split()


def test_bash_completes_commands_boxes_options_and_choices(box):
    assert completed("rot") == ["rotate"]
    assert box.name in completed("status", "")
    assert box.name in completed("audit-log", "show", "--box", "")
    assert completed("revoke", box.name, "--ev") == ["--evict"]
    assert completed("handoff", box.name, "--format", "c") == ["claude", "codex", "cursor"]
    assert completed("--output", "json", "completion", "f") == ["fish"]


def test_the_manual_names_every_command_and_is_read_without_a_complaint():
    page = ok(programs.provision("manual")).stdout
    help_text = ok(programs.provision("--help")).stdout.decode()
    listed = help_text.split("Subcommands:")[1].split("Exit codes:")[0]
    commands = [line.split()[0] for line in listed.splitlines() if line[2:3].isalpha()]
    assert "rotate" in commands
    for command in commands:
        assert f".SS {command}\n".replace("-", r"\-").encode() in page, command
    if shutil.which("groff"):
        said = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=page, capture_output=True, check=True)
        assert said.stderr == b"", said.stderr
