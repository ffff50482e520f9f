"""What `agentbox-provision audit-log` finds in a real door's log that somebody has worked on."""

import hashlib
import json
import os
import re
import subprocess
from xml.etree import ElementTree

import pytest
from kit import programs
from kit.box import fails, ok
from kit.waiting import wait_until


def audit_log(*words, code=0, **arguments):
    result = programs.provision("audit-log", *words, "--output", "json", **arguments)
    assert result.returncode == code, (result.stdout, result.stderr)
    return json.loads(result.stdout)


def found(*words):
    """The kind and line of each finding."""
    said = audit_log("verify", *words, code=6)
    assert said["whole"] is False
    return [(each["kind"], each["line"]) for each in said["findings"]]


@pytest.fixture(scope="module")
def written(shared_door):
    """The lines of a door that has had a session."""
    with shared_door.target.session() as session:
        session.shell("true")
        assert session.finish() == 0
    wait_until("the session's end", lambda: shared_door.audit("session_end"))
    shared_door.stop()
    return shared_door.audit_log.read_bytes().splitlines(keepends=True)


@pytest.fixture
def log(tmp_path, written):
    class Log:
        path = tmp_path / "audit.log"
        lines = list(written)
        head = json.loads(written[-1])["chain"]
        newest = json.loads(written[-1])["seq"]

        def write(self):
            self.path.write_bytes(b"".join(self.lines))
            return str(self.path)

    made = Log()
    made.write()
    return made


def chained_anew(lines):
    """As somebody forges it who knows how the chain is made."""
    head, done = "0" * 64, []
    for line in lines:
        body = re.sub(rb',"chain":"[0-9a-f]{64}"}\n$', b"", line)
        head = hashlib.sha256(head.encode() + body).hexdigest()
        done.append(body + b',"chain":"' + head.encode() + b'"}\n')
    return done


def test_an_honest_log_is_whole_and_its_head_proves_the_end(log):
    assert log.newest >= 6 and chained_anew(log.lines) == log.lines
    said = audit_log("verify", str(log.path))
    assert said["whole"] and not said["tail_proven"] and said["head"] == {"seq": log.newest, "hash": log.head}
    assert f"the tail after line {log.newest} is unproven" in said["remarks"][0]
    for head in (log.head, f"{log.newest}:{log.head}"):
        said = audit_log("verify", str(log.path), "--head", head)
        assert said["tail_proven"] and said["remarks"] == []


def test_every_line_that_is_changed_taken_out_doubled_or_moved_is_named(log):
    for index in range(len(log.lines) - 1):
        number = index + 1
        honest = list(log.lines)
        flipped = bytearray(honest[index])
        flipped[flipped.index(b'"time":"20') + 9] ^= 1
        log.lines[index] = bytes(flipped)
        assert found(log.write()) == [("changed", number)]
        log.lines = honest[:index] + honest[index + 1 :]
        assert found(log.write()) == [("missing", number)] if index else audit_log("verify", log.write())["first"] == 2
        log.lines = honest[: number] + honest[index:]
        assert found(log.write()) == [("repeated", number)]
        log.lines = honest[:index] + [honest[index + 1], honest[index]] + honest[index + 2 :]
        assert found(log.write()) == [("misplaced", number)]
        log.lines = honest


def test_lines_taken_off_the_end_show_with_the_head_alone(log):
    newest = log.newest
    log.lines = log.lines[:-2]
    assert audit_log("verify", log.write())["whole"]
    assert found(str(log.path), "--head", f"{newest}:{log.head}") == [("head", newest)]
    assert found(str(log.path), "--head", log.head) == [("head", newest - 2)]
    log.lines = []
    assert found(log.write()) == [("empty", 0)]
    assert found(str(log.path), "--head", log.head) == [("head", 0)]


def test_a_forged_line_whose_chain_was_made_anew_shows_with_the_head_alone(log):
    index = next(i for i, line in enumerate(log.lines) if b'"event":"tool_call"' in line)
    log.lines[index] = log.lines[index].replace(b'"outcome":"ok"', b'"outcome":"no"')
    log.lines = chained_anew(log.lines)
    assert audit_log("verify", log.write())["whole"]
    assert found(str(log.path), "--head", f"{log.newest}:{log.head}") == [("head", log.newest)]


def test_files_that_the_door_has_turned_over_are_read_first(log):
    honest = list(log.lines)
    for suffix, part in ((".2", honest[:2]), (".1", honest[2:4]), ("", honest[4:])):
        (log.path.parent / f"audit.log{suffix}").write_bytes(b"".join(part))
    assert audit_log("verify", str(log.path), "--head", log.head)["lines"] == len(honest)
    (log.path.parent / "audit.log.1").unlink()
    assert found(str(log.path)) == [("missing", 3)]
    (log.path.parent / "audit.log.2").unlink()
    said = audit_log("verify", str(log.path), "--head", log.head)
    assert said["first"] == 5 and said["remarks"][0].startswith("all before line 5 is unproven")
    assert b"whole from line 5 on" in ok(programs.provision("audit-log", "verify", str(log.path))).stdout


def test_texts_that_went_through_other_programs(log):
    honest = b"".join(log.lines)
    log.path.write_bytes(honest.replace(b"\n", b"\r\n"))
    said = audit_log("verify", str(log.path), "--head", log.head)
    assert said["whole"] and "CR LF" in said["remarks"][0]
    log.path.write_bytes(honest[:-20])
    said = audit_log("verify", str(log.path))
    assert said["whole"] and said["head"]["seq"] == log.newest - 1
    assert any("ends within a line" in remark for remark in said["remarks"])
    assert found(str(log.path), "--head", log.head) == [("head", log.newest - 1)]
    log.path.write_bytes(b"")
    assert found(str(log.path)) == [("empty", 0)]
    nothing = audit_log("verify", "-", code=6, stdin=b"")  # as of a `kubectl logs` that failed
    assert not nothing["whole"] and "proves nothing" in nothing["findings"][0]["text"]
    log.path.write_bytes(b"dear diary\n" * 5)
    assert found(str(log.path)) == [("strange", 0)]
    log.path.write_bytes(b"\0" * 1_000_000 + b"\n" + honest)
    assert found(str(log.path)) == [("strange", 0)]
    fails(1, "audit-log", "verify", str(log.path.parent / "absent"))
    fails(2, "audit-log", "verify", str(log.path), "--head", "17")


def test_a_pods_log_is_one_stream_with_the_doors_own_lines_in_it(log):
    own = json.dumps({"stream": "log", "level": "info", "message": "listening"}).encode() + b"\n"
    told = {"stream": "log", "level": "info", "message": "audit head", "seq": str(log.newest), "chain": log.head}
    mixed = [line for pair in zip([own] * len(log.lines), log.lines) for line in pair] + [json.dumps(told).encode() + b"\n"]
    said = audit_log("verify", "-", "--head", log.head, stdin=b"".join(mixed))
    assert said["whole"] and said["lines"] == len(log.lines)
    del mixed[-2]  # the newest line of the audit: the door's own line still tells of it
    said = audit_log("verify", "-", code=6, stdin=b"".join(mixed))
    assert [(each["kind"], each["line"]) for each in said["findings"]] == [("missing", log.newest)]


def test_a_log_of_many_lines_is_read_in_little_memory(log):
    count = int(os.environ.get("AGENTBOX_TEST_AUDIT_LINES", "60000"))
    head, peer = "0" * 64, "1" * 200
    with open(log.path, "wb") as file:
        for number in range(1, count + 1):
            body = f'{{"stream":"audit","time":"2026-11-30T06:31:00.123Z","seq":{number},"event":"connect","peer":"{peer}"'
            head = hashlib.sha256((head + body).encode()).hexdigest()
            file.write(f'{body},"chain":"{head}"}}\n'.encode())
    limit = ["prlimit", f"--data={48 << 20}", programs.PROVISION, "audit-log"]
    for words in (["verify", log.path, "--head", head], ["timeline", log.path], ["show", log.path, "--lines", "10"]):
        if os.environ.get("AGENTBOX_TEST_SANITIZED"):
            words = [programs.PROVISION, "audit-log", *words]
        else:
            words = [*limit, *words]
        result = subprocess.run(list(map(str, words)), capture_output=True, check=False)
        assert result.returncode == 0, result.stderr
        assert f"whole: {count} lines".encode() in result.stdout


def test_the_doors_log_tells_the_head_at_a_sessions_end_and_at_its_own(door):
    with door.target.session() as session:
        session.shell("true")
        assert session.finish() == 0
    wait_until("the head is told", lambda: "audit head" in door.log.read_text())
    door.stop()
    told = [line for line in door.log.read_text().splitlines() if "audit head" in line]
    newest = door.audit()[-1]
    assert str(newest["seq"]) in told[-1] and newest["chain"] in told[-1], told
    assert audit_log("verify", str(door.audit_log), "--head", newest["chain"])["tail_proven"]


def test_a_timeline_shows_each_session_and_what_was_refused(log):
    said = audit_log("timeline", str(log.path), "--head", log.head)
    assert said["whole"] and said["sessions"][-1]["calls"] == 1 and said["sessions"][-1]["how"] == "exited 0"
    text = ok(programs.provision("audit-log", "timeline", str(log.path))).stdout.decode()
    assert "1 call" in text and "exited 0" in text and "#" in text
    svg = ok(programs.provision("audit-log", "timeline", str(log.path), "--format", "svg")).stdout
    bars = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}rect")
    assert len(list(bars)) >= len(said["sessions"])
    log.lines[2] = log.lines[2].replace(b"20", b"21", 1)
    page = programs.provision("audit-log", "timeline", log.write(), "--format", "html")
    assert page.returncode == 6 and b"NOT WHOLE: line 3" in page.stdout and b"default-src 'none'" in page.stdout
    as_json = programs.provision("audit-log", "timeline", str(log.path), "--format", "json")
    assert json.loads(as_json.stdout)["whole"] is False


def test_a_time_or_an_event_that_cannot_be_is_refused(log):
    for since in ("2026-13-30", "2026-02-31", "2026-11-30T25:61"):
        fails(2, "audit-log", "show", str(log.path), "--since", since)
    assert "session_start" in fails(2, "audit-log", "show", str(log.path), "--event", "sesion_start")["next"]
    assert audit_log("show", str(log.path), "--event", "session_start")["events"]
