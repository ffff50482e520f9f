"""Where the audit goes, when it goes nowhere: replies wait, nobody new enters, and no line is lost."""
import asyncio
import fcntl
import json
import os
import re
import stat
import threading

import asyncssh
import pytest
from kit import programs
from kit.target import run
from kit.waiting import PATIENCE, wait_until

MB = 1 << 20


def numbers(lines):
    return [line["seq"] for line in lines]


def assert_whole(lines):
    """Valid, in order, and none missing."""
    assert numbers(lines) == list(range(lines[0]["seq"], lines[0]["seq"] + len(lines)))


def fill_workspace_mark(session, name):
    return session.start("tools/call", {"name": "shell_exec", "arguments": {"command": f"touch {name}"}})


def assert_stalls(door, session, call):
    """The call has run, the session lives, and its reply does not come."""
    wait_until("the command ran", (door.folder / "box" / "workspace" / call["mark"]).exists)
    session.ping()
    with pytest.raises(AssertionError, match="no reply in time"):
        session.reply(call["id"], 1.0 / PATIENCE)
    session.ping()


def assert_nobody_new(door):
    refused = door.target.run("-T")
    assert refused.returncode == 75 and b"audit log takes nothing" in refused.stderr, refused


class Reader:
    """Reads the audit from a pipe, where it is told to."""

    def __init__(self):
        self.read_end, self.write_end = os.pipe()
        self.data = b""
        self._go = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        while self._go.wait():
            piece = os.read(self.read_end, 65536)
            if not piece:
                return
            self.data += piece

    def go_on(self):
        self._go.set()

    def close(self):
        self.go_on()
        os.close(self.write_end)
        self._thread.join(10)
        os.close(self.read_end)

    def lines(self):
        whole = self.data[: self.data.rfind(b"\n") + 1]
        return [json.loads(line) for line in whole.splitlines() if line]


def test_an_audit_pipe_that_nobody_reads_stalls_the_replies_and_loses_nothing(new_door):
    door = new_door()
    reader = Reader()
    door.config.write_text(re.sub(r"audit: .*", "audit: {sink: stdout}", door.config.read_text()), encoding="utf-8")
    door.start_arguments = {"stdout": reader.write_end}
    try:
        door.start()
        with door.target.session() as session:
            session.shell("true")
            # The door has made it non-blocking, for everybody who holds it: what it has room for is filled.
            assert fcntl.fcntl(reader.write_end, fcntl.F_GETFL) & os.O_NONBLOCK
            for size in (4096, 1):
                try:
                    while True:
                        os.write(reader.write_end, b"\n" * size)
                except BlockingIOError:
                    pass
            call = {"mark": "stalled", "id": fill_workspace_mark(session, "stalled")}
            assert_stalls(door, session, call)
            assert_nobody_new(door)
            second = {"mark": "again", "id": fill_workspace_mark(session, "again")}
            assert_stalls(door, session, second)
            reader.go_on()
            for each in (call, second):
                assert session.reply(each["id"])["result"]["structuredContent"]["exit_code"] == 0
            door.await_session()
            assert session.finish() == 0
        wait_until("the end is there", lambda: sum(line["event"] == "session_end" for line in reader.lines()) >= 2)
        lines = reader.lines()
        assert_whole(lines)
        assert lines[0]["event"] == "listen" and all(line["stream"] == "audit" for line in lines)
        assert sum(line["event"] == "tool_call" for line in lines) == 3
    finally:
        door.stop()
        reader.close()


@pytest.mark.skipif(not programs.AS_ROOT, reason="a small disk of one's own needs root")
def test_a_full_disk_stalls_the_replies_and_leaves_whole_lines(new_door):
    door = new_door()
    disk = door.folder / "door" / "disk"
    disk.mkdir()
    owner = programs.account("agentbox-door")
    options = f"size=64k,mode=0700,uid={owner['user']},gid={owner['group']}"
    run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", disk]).check_returncode()
    try:
        door.audit_log = disk / "audit.log"
        door.config.write_text(
            re.sub(r"audit: .*", f"audit: {{sink: {door.audit_log}}}", door.config.read_text()), encoding="utf-8"
        )
        door.start()
        with door.target.session() as session:
            # One byte of room is left, and then none: a line that begins must not stay.
            with open(disk / "ballast", "wb", buffering=0) as ballast:
                with pytest.raises(OSError):
                    while True:
                        ballast.write(b"x" * 4096)
            size = door.audit_log.stat().st_size
            calls = []
            for number in range(40):  # until the last page of the log is full
                mark = f"disk{number}"
                calls.append({"mark": mark, "id": fill_workspace_mark(session, mark)})
            wait_until("all ran", (door.folder / "box" / "workspace" / "disk39").exists)
            assert_stalls(door, session, calls[-1])
            assert_nobody_new(door)
            text = door.audit_log.read_bytes()
            assert size <= len(text) and text.endswith(b"\n")
            (disk / "ballast").unlink()
            for call in calls:
                assert session.reply(call["id"])["result"]["structuredContent"]["exit_code"] == 0
            door.await_session()
            assert session.finish() == 0
        lines = door.audit()
        assert_whole(lines)
        assert sum(line["event"] == "tool_call" for line in lines) == 40
    finally:
        door.stop()
        run(["umount", disk]).check_returncode()


def test_a_long_log_is_turned_over_and_no_line_is_cut_or_lost(new_door):
    door = new_door()
    for name, size in (("audit.log", 64 * MB - 400), ("audit.log.1", 10), ("audit.log.3", 30)):
        with open(door.folder / "door" / name, "wb") as file:
            file.truncate(size)
            file.seek(size - 1)
            file.write(b"\n")
    programs.give_to("agentbox-door", door.folder / "door")
    door.start()
    with door.target.session() as session:
        for _ in range(5):
            session.shell("true")
        assert session.finish() == 0
    wait_until("the end is there", lambda: door.audit("session_end"))
    folder = door.folder / "door"
    assert sorted(path.name for path in folder.glob("audit.log*")) == ["audit.log", "audit.log.1", "audit.log.2", "audit.log.3"]
    assert (folder / "audit.log.1").stat().st_size <= 64 * MB
    assert (folder / "audit.log.2").stat().st_size == 10
    assert stat.S_IMODE(door.audit_log.stat().st_mode) == 0o600
    with open(folder / "audit.log.1", "rb") as file:
        file.seek(64 * MB - 400)
        before = [json.loads(line) for line in file.read().splitlines() if line]
    assert_whole(before + door.audit())


def test_a_line_that_a_crash_cut_short_is_closed_before_the_next(new_door):
    door = new_door()
    door.audit_log.write_text('{"stream":"audit","seq":1}\n{"stream":"au', encoding="utf-8")
    programs.give_to("agentbox-door", door.folder / "door")
    door.start()
    lines = door.audit_log.read_text(encoding="utf-8").splitlines()
    assert lines[1] == '{"stream":"au'
    assert all(json.loads(line) for line in lines[2:])


NASTY = [
    b'"}\n{"event":"forged"}', b"\xff\xfe\x00\xc0\x80", b"\x1b]0;title\x07\r\n", b"\\u0000\\n\\", b"\xe2\x80\xae txet",
    b"a" * 20_000, b"",
]


@pytest.mark.parametrize("nasty", NASTY, ids=range(len(NASTY)))
def test_whatever_a_client_puts_in_a_field_one_event_is_one_line(shared_door, nasty):
    async def body():
        target = shared_door.target
        options = dict(known_hosts=str(target.known_hosts), config=None, client_keys=[str(target.identity)])
        name = nasty.decode("utf-8", "surrogateescape")
        try:
            async with asyncssh.connect(target.host, target.port, username=name[:200] or " ", **options):
                raise AssertionError("logged in")
        except (asyncssh.Error, OSError, ValueError):
            pass
        async with asyncssh.connect(target.host, target.port, username="agent", **options) as connection:
            channel, _ = await connection.create_session(asyncssh.SSHClientSession, "first", encoding=None)
            word = asyncssh.packet.String
            for kind, arguments in {
                b"exec": [word(nasty)], b"subsystem": [word(nasty)], b"env": [word(nasty), word(nasty)],
                b"pty-req": [word(nasty), *[asyncssh.packet.UInt32(1)] * 4, word(nasty)],
            }.items():
                assert not await channel._make_request(kind, *arguments), kind
            channel.close()

    before = len(shared_door.audit())
    asyncio.run(asyncio.wait_for(body(), 30 * PATIENCE))
    wait_until("it is over", lambda: not shared_door.connections())
    data = shared_door.audit_log.read_bytes()
    assert not any(byte < 0x20 and byte != 0x0A or byte > 0x7E for byte in data)
    lines = shared_door.audit()
    assert_whole(lines)
    assert len(lines) > before + 4
    assert not any(line["event"] == "forged" for line in lines)


@pytest.mark.parametrize(
    "line, weakening",
    [
        ("", None),
        ("keys_trust: any", "keys_trust: any"),
        ("pass_env: [DEMO_TOKEN]", "pass_env: DEMO_TOKEN"),
    ],
)
def test_check_names_each_weakening_as_data(shared_door, tmp_path, line, weakening):
    config = tmp_path / "config.yaml"
    config.write_text(shared_door.config.read_text() + line + "\n", encoding="utf-8")
    result = run([programs.SSHD, "--check", config, "--output", "json"])
    assert result.returncode == 0, result
    said = [each["what"] for each in json.loads(result.stdout)["policy"] if each["section"] == "weakening"]
    wanted = [weakening] if weakening else []
    wanted += ["sanitizer build"] if programs.SANITIZED else []
    assert said == (wanted or ["none"])
