"""`agentbox-provision audit`: a sound box has no finding, a weakened one has that weakness, in every form."""
import contextlib
import json
import os
import re
import shutil
import subprocess
import time

import jsonschema
import pytest
from kit import programs
from kit.box import LocalBox, ok
from kit.target import make_key

# A sanitizer build is a weakness by itself.
ALWAYS = {"AB009"} if programs.SANITIZED else set()
SOME_KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIIquIIVQS9DbJJOsnmQlAybEx2RWlnBYtCMTPHhX8nYS"
EVIL = '"><script>alert(1)</script>'

FINDING = {
    "type": "object",
    "required": ["rule", "severity", "title", "subject", "detail", "why", "fix", "reference", "path"],
    "properties": {"severity": {"enum": ["error", "warning"]}, "path": {"type": ["string", "null"]}},
}
REPORT = {
    "type": "object",
    "required": ["schema", "time", "version", "sound", "counts", "boxes"],
    "properties": {
        "schema": {"const": "agentbox-audit/1"},
        "sound": {"type": "boolean"},
        "boxes": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "state", "live", "counts", "findings", "sections"],
                "properties": {
                    "findings": {"type": "array", "items": FINDING},
                    "sections": {
                        "type": "array",
                        "minItems": 10,
                        "items": {
                            "type": "object",
                            "required": ["id", "title", "columns", "rows", "note"],
                            "properties": {"rows": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}},
                        },
                    },
                },
            },
        },
    },
}
# What SARIF 2.1.0 (OASIS) asks of the parts that are used here.
TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "additionalProperties": False,
                "properties": {
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "invocations": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["executionSuccessful"],
                            "properties": {
                                "executionSuccessful": {"type": "boolean"},
                                "endTimeUtc": {"pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$"},
                            },
                        },
                    },
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name", "rules"],
                                "properties": {
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "required": ["id"],
                                            "properties": {
                                                "shortDescription": TEXT,
                                                "fullDescription": TEXT,
                                                "help": TEXT,
                                                "defaultConfiguration": {
                                                    "properties": {"level": {"enum": ["none", "note", "warning", "error"]}}
                                                },
                                                "properties": {
                                                    "properties": {
                                                        "tags": {"type": "array", "uniqueItems": True, "items": {"type": "string"}}
                                                    }
                                                },
                                            },
                                        },
                                    }
                                },
                            }
                        },
                    },
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message", "ruleId", "level", "locations"],
                            "properties": {
                                "message": TEXT,
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "locations": {
                                    "type": "array",
                                    "minItems": 1,
                                    "items": {
                                        "type": "object",
                                        "required": ["physicalLocation"],
                                        "properties": {
                                            "physicalLocation": {
                                                "type": "object",
                                                "required": ["artifactLocation"],
                                                "properties": {
                                                    "artifactLocation": {
                                                        "type": "object",
                                                        "required": ["uri"],
                                                        "properties": {"uri": {"pattern": r"^file:///[!-~]*$"}},
                                                    },
                                                    "region": {"properties": {"startLine": {"type": "integer", "minimum": 1}}},
                                                },
                                            },
                                            "logicalLocations": {"type": "array", "items": {"type": "object"}},
                                        },
                                    },
                                },
                                "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
                            },
                        },
                    },
                },
            },
        },
    },
}


def audit(box, *words, status=0):
    result = box.run("audit", box.name, "--format", "json", *words)
    assert result.returncode == status, result
    report = json.loads(result.stdout)
    jsonschema.validate(report, REPORT)
    (told,) = report["boxes"]
    assert report["sound"] is (told["findings"] == [])
    return told


def rules(told):
    return {finding["rule"] for finding in told["findings"]}


def section(told, name):
    (found,) = [each for each in told["sections"] if each["id"] == name]
    return [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]


# A sound box


def test_a_sound_box_has_no_finding_also_when_each_refusal_is_tried(box):
    told = audit(box, "--live")
    assert rules(told) == ALWAYS, told["findings"]
    trials = section(told, "trials")
    assert len(trials) >= 15 and {trial["outcome"] for trial in trials} == {"held"}, trials
    text = ok(programs.provision("audit", box.name, "--fail-on", "error" if ALWAYS else "warning")).stdout.decode()
    assert "sound: nothing was found" in text or ALWAYS
    log = (box.folder() / "local/door/audit.log").read_text(encoding="utf-8")
    for kind in ("pty-req", "env", "subsystem"):
        assert f'"{kind}"' in log, kind


def test_the_processes_are_told_as_the_door_and_the_audit_read_them(box):
    told = audit(box)
    processes = section(told, "processes")
    by_door = {row["process"]: row for row in processes if row["read by"] == "the door"}
    assert {"monitor", "listener", "network", "box"} <= by_door.keys(), processes
    network = by_door["network"]
    assert network["no new privileges"] == "yes" and network["call filter"] == "yes"
    assert "connection" in network["held before its lock"] and "monitor" in network["held before its lock"]
    assert {row["can be inspected"] for row in by_door.values() if row["process"] != "box"} == {"no"}
    by_audit = {row["process"]: row for row in processes if row["read by"] == "this audit"}
    assert by_audit["monitor"]["pid"] == by_door["monitor"]["pid"]
    if programs.AS_ROOT:
        spaces = [row for row in section(told, "wall") if row["what"].endswith("namespace")]
        assert len(spaces) >= 5 and {row["how it is"] for row in spaces} == {"of its own"}
        assert by_door["box"]["user"] != by_door["monitor"]["user"]


def test_system_info_shows_the_same_without_a_path_or_a_pid(box):
    with box.session() as session:
        info = session.call("system_info")
    said = info["isolation"]
    for role in ("monitor: ", "listener: ", "network: "):
        assert role in said, said
    assert "system call filter" in said and "and 0 other" in said and "/" not in said


@pytest.mark.skipif(not programs.AS_ROOT, reason="only root can become another user")
def test_the_box_of_an_ordinary_user_is_sound_too():
    box = LocalBox("plain")
    box.run_as("nobody")
    box.create()
    try:
        told = audit(box, "--live")
        assert rules(told) == ALWAYS, told["findings"]
    finally:
        box.delete()


# Weakened boxes


@contextlib.contextmanager
def mode(path, bits):
    before = path.stat().st_mode & 0o7777
    path.chmod(bits)
    try:
        yield
    finally:
        path.chmod(before)


@contextlib.contextmanager
def text(path, change):
    """The file's text changed in place: owner and mode stay."""
    before = path.read_bytes()
    path.write_bytes(change(before.decode()).encode())
    try:
        yield
    finally:
        path.write_bytes(before)


def config(old, new):
    return lambda folder: text(folder / "local/door/etc/agentbox-sshd.yaml", lambda was: was.replace(old, new))


def opened(place, bits):
    return lambda folder: mode(folder / place, bits)


def listed(line):
    return lambda folder: text(folder / "local/door/keys/..data/authorized_keys", lambda was: was + line + "\n")


def reading(old, new):
    return lambda folder: text(folder / "local/door/state/isolation.json", lambda was: was.replace(old, new))


@contextlib.contextmanager
def old_key(folder):
    path = folder / "id_ed25519"
    before = path.stat()
    then = time.time() - 2 * 366 * 86400
    os.utime(path, (then, then))
    try:
        yield
    finally:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@contextlib.contextmanager
def changed_line(folder):
    """Byte for byte in its place: the door goes on writing behind it."""
    with open(folder / "local/door/own/audit.log", "r+b", buffering=0) as log:
        at = log.read().index(b'"seq":2,')
        os.pwrite(log.fileno(), b'"seq":9,', at)
        try:
            yield
        finally:
            os.pwrite(log.fileno(), b'"seq":2,', at)


def key_file(name, change):
    return lambda folder: text(folder / "local/door/keys/..data" / name, change)


@contextlib.contextmanager
def no_revoked_file(folder):
    """Nothing says any more who is locked out, and the record knows of somebody."""
    path = folder / "local/door/keys/..data/revoked"
    kept = folder / "kept"
    with text(folder / "box.json", serials):
        os.replace(path, kept)
        try:
            yield
        finally:
            os.replace(kept, path)


def serials(record):
    said = json.loads(record)
    said["revoked_serials"] = [7]
    return json.dumps(said)


@contextlib.contextmanager
def ca_key(folder, bits, name="user_ca"):
    ca = folder.parent.parent / "ca"
    there = ca.exists()
    ok(programs.provision("ca", "init"))
    ok(programs.provision("ca", "sign", "--box", folder.name))
    try:
        with mode(ca / name.format(box=folder.name), bits):
            yield
    finally:
        if not there:
            shutil.rmtree(ca)


@contextlib.contextmanager
def other_program(folder):
    path = folder / "local/programs/agent-box"
    kept = folder / "kept"
    shutil.copy2(path, kept)
    path.unlink()  # the one that runs is not touched
    path.write_bytes(b"#!/bin/sh\n")
    path.chmod(0o711)
    try:
        yield
    finally:
        os.replace(kept, path)


@contextlib.contextmanager
def other_owner(folder):
    path = folder / "local/door/etc/agentbox-sshd.yaml"
    os.chown(path, programs.uid_of("agentbox"), -1)
    try:
        yield
    finally:
        os.chown(path, 0, 0)


def key_text(folder, *words):
    key = folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-N", "", "-C", "x", *words, "-f", key], check=True, timeout=60)
    return key.with_suffix(".pub").read_text(encoding="utf-8").strip()


WEAKNESSES = {
    "anybody's key files": ("AB002", config("keys_trust: strict", "keys_trust: any")),
    "a secret for every command": ("AB003", config("pass_env: []", "pass_env: [GITHUB_TOKEN]")),
    "a variable for every command": ("AB004", config("pass_env: []", "pass_env: [LANG]")),
    "open to the network": ("AB005", config('"127.0.0.1"', '"0.0.0.0"')),
    "ten minutes to log in": ("AB006", config("limits:\n", "limits:\n  login_grace_seconds: 600\n")),
    "a policy that is none": ("AB001", config("keys_trust: strict", "keys_trust: perhaps")),
    "an acknowledgement of another libssh": ("AB012", config("pass_env: []", 'pass_env: []\nlibssh_backports_acknowledged: "0.1"')),
    "key file that others can write": ("AB030", opened("local/door/keys/..data/authorized_keys", 0o666)),
    "key files that the door refuses": ("AB021", opened("local/door/keys/..data/authorized_keys", 0o666)),
    "host key that others can read": ("AB030", opened("local/door/hostkey", 0o644)),
    "audit log that others can read": ("AB030", opened("local/door/own/audit.log", 0o644)),
    "state folder that others can enter": ("AB030", opened("local/door/state", 0o755)),
    "configuration that others can write": ("AB030", opened("local/door/etc/agentbox-sshd.yaml", 0o666)),
    "private key that others can read": ("AB030", opened("id_ed25519", 0o644)),
    "program that others can write": ("AB033", opened("local/programs/agentbox-sshd", 0o777)),
    "another program in its place": ("AB034", other_program),
    "key of two years": ("AB025", old_key),
    "line that is no key": ("AB020", listed("not-a-key")),
    "network child that is not locked": ("AB043", reading('"filter": 2', '"filter": 0')),
    "network child that holds more": ("AB044", reading('"descriptors": [\n        "', '"descriptors": [\n        "77 socket:[1]",\n        "')),
    "processes with every right": ("AB042", reading('"effective": "0000000000000000"', '"effective": "000001ffffffffff"')),
    "another reading than the kernel's": ("AB048", reading('"effective": "0000000000000000"', '"effective": "000001ffffffffff"')),
    "a CA that was added by hand": ("AB029", key_file("user_ca", lambda was: was + "ssh-ed25519 " + SOME_KEY + " mine\n")),
    "CAs that are none": ("AB029", key_file("user_ca", lambda was: "garbage\n")),
    "name of another box": ("AB029", key_file("box_name", lambda was: "other\n")),
    "generation that is older": ("AB029", key_file("generation", lambda was: "0\n")),
    "revocation that was taken out": ("AB029", lambda folder: text(folder / "box.json", serials)),
    "no revocations": ("AB029", no_revoked_file),
    "CA key that others can read": ("AB030", lambda folder: ca_key(folder, 0o644)),
    "signed key that others can read": ("AB030", lambda folder: ca_key(folder, 0o640, "key-{box}")),
    "folder of the CA that others can write": ("AB030", lambda folder: ca_key(folder, 0o777, ".")),
    "folder of the configuration that others can write": ("AB030", opened("local/door/etc", 0o777)),
    "audit that goes elsewhere": ("AB014", config("own/audit.log", "own/other.log")),
    "another user as the box": ("AB014", config("box_uid: ", "box_uid: 1")),
    "certificates that never end": ("AB014", config("pass_env: []", "certificate_expiry: optional\npass_env: []")),
    "pin of a CA": ("AB036", lambda folder: text(folder / "known_hosts", lambda was: was + "@cert-authority * ssh-ed25519 AAAA\n")),
    "keys that the door cannot read": ("AB035", opened("local/door/keys/..data/authorized_keys", 0o200)),
    "program that cannot be run": ("AB035", opened("local/programs/agent-box", 0o600)),
    "no reading at all": ("AB041", reading('"processes"', '"nothing"')),
    "audit log that was changed": ("AB060", changed_line),
}


@pytest.mark.parametrize("name", WEAKNESSES)
def test_each_weakness_is_found(box, name):
    rule, weaken = WEAKNESSES[name]
    with weaken(box.folder()):
        told = audit(box, "--fail-on", "warning", status=6)
    assert rule in rules(told), told["findings"]


def test_only_an_error_fails_a_pipeline_that_asks_for_errors(box):
    for name, status in (("key of two years", 0), ("a secret for every command", 6)):
        with WEAKNESSES[name][1](box.folder()):
            audit(box, "--fail-on", "error", status=status)


def test_no_fix_locks_anybody_out(box):
    keys = box.folder() / "local/door/keys/..data/authorized_keys"
    wanted = "0644" if programs.AS_ROOT else "0600"
    with mode(keys, 0o666):
        doctor = box.run("doctor", box.name, "--output", "json")
        (check,) = [each for each in json.loads(doctor.stdout)["checks"] if "closed to others" in each["name"]]
        assert f"chmod {wanted} " in check["detail"] and "go-rwx" not in check["next"], check
        found = {each["rule"]: each for each in audit(box)["findings"]}
        assert f"chmod it to {wanted}" in found["AB030"]["detail"]
        assert "keys_trust" not in found.get("AB021", {"detail": ""})["detail"]
    with mode(box.folder() / "local/programs/agent-box", 0o666):
        (found,) = [each for each in audit(box)["findings"] if each["rule"] == "AB033"]
        assert "chmod it to 0711" in found["detail"], found
    assert "--box" in {each["rule"]: each for each in changed_log(box)["findings"]}["AB060"]["fix"]


def changed_log(box):
    with WEAKNESSES["audit log that was changed"][1](box.folder()):
        return audit(box)


def test_a_message_of_the_door_is_escaped_once(box):
    with config("pass_env: []", "bogus: 1")(box.folder()):
        said = ok(programs.provision("audit", box.name)).stdout.decode()
    assert "bogus" in said and "\\n" not in said, said


def test_doctor_names_what_was_not_written_by_us(box):
    with WEAKNESSES["a CA that was added by hand"][1](box.folder()):
        doctor = box.run("doctor", box.name, "--output", "json")
    (check,) = [each for each in json.loads(doctor.stdout)["checks"] if "what was written" in each["name"]]
    assert not check["ok"] and "user_ca: line 1 was added" in check["detail"], check


@pytest.mark.parametrize("form", ["json", "sarif"])
def test_a_report_on_standard_output_is_the_report_alone(box, form):
    said = programs.provision("audit", box.name, "--format", form, "--out", "-")
    assert json.loads(said.stdout) and b"standard output" in said.stderr, said


def test_what_was_mended_is_found_no_more(box):
    assert rules(audit(box)) == ALWAYS


@pytest.mark.skipif(not programs.AS_ROOT, reason="only root can give a file away")
def test_a_file_of_another_user_is_found(box):
    with other_owner(box.folder()):
        assert "AB031" in rules(audit(box))


def test_keys_that_nobody_let_in_that_are_short_or_over_are_found(box, tmp_path):
    for kind, rule in ((["-t", "rsa", "-b", "2048"], "AB023"), (["-t", "ed25519"], "AB024")):
        folder = tmp_path / rule
        folder.mkdir()
        line = ('expiry-time="20200101" ' if rule == "AB024" else "") + key_text(folder, *kind)
        with listed(line)(box.folder()):
            assert {rule, "AB026"} <= rules(audit(box))


@pytest.fixture(scope="module")
def weak(box):
    """A second box: no wall, the first one's key, and a label that means harm."""
    other = LocalBox("weak")
    key = programs.WORLD / "shared.pub"
    public = subprocess.run(
        ["ssh-keygen", "-y", "-f", box.status()["ssh"]["identity_file"]], capture_output=True, text=True, check=True
    ).stdout.split()
    key.write_text(f"{public[0]} {public[1]} {EVIL}\n", encoding="utf-8")
    other.create("--key", str(key), "--no-isolation")
    yield other
    other.delete()


def test_a_box_without_a_wall_and_a_key_of_two_boxes_are_found(box, weak):
    assert {"AB040", "AB022"} <= rules(audit(weak))
    assert "AB022" in rules(audit(box))


def test_the_host_key_of_another_box_is_found_where_the_door_has_it(box, weak):
    other = (weak.folder() / "local/door/hostkey").read_text(encoding="ascii")
    with text(box.folder() / "local/door/hostkey", lambda _: other):
        found = {each["rule"]: each for each in audit(box)["findings"]}
    assert {"AB027", "AB028"} <= found.keys() and weak.name in found["AB028"]["detail"], found


def test_what_cannot_be_tried_is_said_so(weak):
    told = audit(weak, "--live")
    assert "AB051" in rules(told) and "AB050" not in rules(told)
    assert {trial["outcome"] for trial in section(told, "trials")} == {"held", "not tried"}


def test_sarif_is_what_its_specification_asks_for(weak):
    sarif = json.loads(ok(programs.provision("audit", weak.name, "--format", "sarif")).stdout)
    jsonschema.validate(sarif, SARIF)
    (run,) = sarif["runs"]
    assert run["results"]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    again = json.loads(ok(programs.provision("audit", weak.name, "--format", "sarif")).stdout)
    assert [each["partialFingerprints"] for each in again["runs"][0]["results"]] == [
        each["partialFingerprints"] for each in run["results"]
    ]


def test_the_page_loads_nothing_and_a_label_is_no_markup(box, weak, tmp_path):
    page = tmp_path / "report.html"
    said = ok(programs.provision("audit", "--format", "html", "--out", str(page)))  # every box
    assert b"the report is in" in said.stdout and page.stat().st_mode & 0o777 == 0o600
    text_of_page = page.read_text(encoding="ascii")
    assert "<script" not in text_of_page and "&lt;script&gt;" in text_of_page
    assert "default-src &#39;none&#39;" in text_of_page or "default-src 'none'" in text_of_page
    assert not re.search(r"""(src|href)\s*=|url\(|@import|https?:|style=""", text_of_page)
    assert f"Box {box.name}" in text_of_page and f"Box {weak.name}" in text_of_page


def test_one_box_that_cannot_be_read_hides_no_other(box, weak):
    with text(weak.folder() / "box.json", lambda _: "{"):
        report = json.loads(ok(programs.provision("audit", "--format", "json")).stdout)
        assert programs.provision("audit", weak.name).returncode == 1
    found = {each["name"]: rules(each) for each in report["boxes"]}
    assert found[weak.name] == {"AB001"} and "AB001" not in found[box.name]


def test_nothing_to_audit_is_not_sound(tmp_path):
    empty = programs.provision("audit", env={**os.environ, "AGENTBOX_STATE_DIR": str(tmp_path)})
    assert empty.returncode == 3, empty


def test_a_box_that_sleeps_is_audited_as_far_as_it_goes(weak):
    weak.provision("suspend")
    told = audit(weak)
    assert told["state"] == "suspended" and "AB040" in rules(told) and "AB041" not in rules(told)
    assert programs.provision("audit", "no-such-box").returncode == 3
