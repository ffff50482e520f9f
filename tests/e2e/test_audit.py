"""The audit: one line of JSON for each thing that counts, and never what a client said or wrote."""
import json
import stat

import pytest
from kit.target import make_key
from kit.waiting import wait_until

SECRETS = ["s3cr3t-otter", "hunter2-badger", "touch-this-word", "file-content-heron"]


@pytest.fixture(scope="module")
def story(shared_door, tmp_path_factory):
    """One login with calls, one refused key, one refused user; then the audit lines."""
    door = shared_door
    with door.target.session("-T", words=[f"touch-this-word '{SECRETS[0]}'"]) as session:
        session.shell(f"echo {SECRETS[1]}")
        session.call("write_file", {"path": "note.txt", "content": SECRETS[3]})
        session.request("tools/call", {"name": "read_file", "arguments": {"path": "no-such-file"}})
        assert session.finish() == 0
    stranger = make_key(tmp_path_factory.mktemp("keys") / "stranger")
    door.target.with_(identity=stranger).run("-T")
    door.target.with_(user="root").run("-T")
    door.target.run("-s", words=["sftp"])
    door.await_audit("session_end", lambda line: True)
    wait_until("the refusals are there", lambda: len(door.audit("auth")) >= 3)
    return door


def test_every_line_is_one_json_object_with_the_common_fields(story):
    lines = story.audit()
    assert lines
    for line in lines:
        assert {"time", "seq", "event"} <= set(line), line
        assert line["event"] in {
            "listen", "connect", "auth", "request", "session_start", "session_end", "tool_call",
            "keys_loaded", "limit", "disconnect",
        }, line
    assert [line["seq"] for line in lines] == sorted({line["seq"] for line in lines})


def test_a_session_can_be_followed_from_connect_to_end(story):
    by_event = {}
    for line in story.audit():
        by_event.setdefault(line["event"], []).append(line)
    for event in ("listen", "connect", "auth", "request", "session_start", "tool_call", "session_end"):
        assert by_event.get(event), f"no {event} among {sorted(by_event)}"
    session = by_event["tool_call"][0]["session"]
    (started,) = [line for line in by_event["session_start"] if line["session"] == session]
    connection = started["connection"]
    assert [line for line in by_event["connect"] if line["connection"] == connection]
    assert [line for line in by_event["auth"] if line["connection"] == connection]
    (ended,) = [line for line in by_event["session_end"] if line["session"] == session]
    assert "SHA256:" in json.dumps(started)
    assert ended["seq"] > started["seq"]
    tools = [line["tool"] for line in by_event["tool_call"] if line["session"] == session]
    assert tools == ["shell_exec", "write_file", "read_file"]


def test_a_refused_key_is_audited_with_its_fingerprint(story):
    refused = [line for line in story.audit("auth") if "SHA256:" in json.dumps(line) and "refuse" in json.dumps(line)]
    assert refused, story.audit("auth")


def test_the_clients_words_are_there_by_length_and_hash_alone(story):
    import hashlib

    words = f"touch-this-word '{SECRETS[0]}'"
    digest = hashlib.sha256(words.encode()).hexdigest()
    (line,) = [line for line in story.audit("request") if digest in json.dumps(line)]
    assert str(len(words)) in json.dumps(line)


def test_no_secret_is_in_audit_or_log(story):
    for path in (story.audit_log, story.log, story.box_log):
        text = path.read_text(encoding="utf-8")
        for secret in [*SECRETS, "PRIVATE KEY"]:
            assert secret not in text, (path, secret)


def test_the_audit_is_its_owners_alone(story):
    assert stat.S_IMODE(story.audit_log.stat().st_mode) == 0o600


def test_control_characters_of_a_client_are_escaped(story):
    story.target.with_(user="a\x1b[31mb").run("-T")
    story.target.run("-T", words=["\x1b]0;title\x07\nline two"])
    for path in (story.audit_log, story.log):
        data = path.read_bytes()
        assert not any(byte < 0x20 and byte != 0x0A for byte in data), path
