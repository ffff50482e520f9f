"""Somebody sets the date, far ahead and far back, while sessions are open: dates change, and nothing else does.

The machine's clock stays as it is: the door's monitor, who judges dates and writes them, is given another one. The box's side takes the
date for stamps alone; tests/check_layers.py says which files may ask for it at all.
"""
import datetime
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from kit import programs
from kit.target import make_key, public_line
from kit.waiting import wait_until

DAY = 86_400
pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="there is no compiler for the clock that is preloaded")


@pytest.fixture
def clock(new_door, tmp_path):
    """A door, not started, and what sets its monitor's date by so many seconds."""
    door = new_door("limits: {own_unauthenticated: 0, idle_seconds: 2, login_grace_seconds: 2, keepalive_seconds: 1}")
    library, offset = door.folder / "clock.so", door.folder / "offset"
    source = Path(__file__).parent / "kit" / "shifted_clock.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    offset.write_text("0", encoding="utf-8")

    def set_by(seconds):
        fresh = offset.with_name("offset.new")
        fresh.write_text(str(seconds), encoding="utf-8")
        fresh.rename(offset)

    options = os.environ.get("ASAN_OPTIONS", "")
    door.start_arguments = {
        "env": {
            **os.environ, "LD_PRELOAD": str(library), "AGENTBOX_TEST_CLOCK": str(offset),
            "ASAN_OPTIONS": f"{options}:verify_asan_link_order=0",
        }
    }
    return door, set_by


def refusals(door):
    return [line for line in door.audit("auth") if line["result"] != "accepted"]


def date_of(line):
    return datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00"))


def written_now(door, session):
    """The date in the audit line of a call that is made now."""
    session.shell("true")
    return date_of(door.audit("tool_call")[-1])


def test_a_date_that_jumps_disturbs_no_session_and_no_login(clock, tmp_path):
    door, set_by = clock
    door.start()
    stranger = door.target.with_(identity=make_key(tmp_path / "stranger"))
    with door.target.session() as session:
        running = session.start("tools/call", {"name": "shell_exec", "arguments": {"command": "sleep 3; echo over"}})
        before = written_now(door, session)
        for days in (400, -400, 0):
            set_by(days * DAY)
            moved = (written_now(door, session) - before).days
            assert abs(moved - days) <= 1, (moved, days)  # the clock that is set is the one that is used
            door.await_session()
            refused = len(refusals(door))
            assert stranger.run("-T").returncode == 255
            wait_until("it is in the audit", lambda refused=refused: len(refusals(door)) > refused)
        assert session.reply(running)["result"]["structuredContent"]["stdout"] == "over\n"
        assert session.finish() == 0
    assert [line["seq"] for line in door.audit()] == list(range(1, len(door.audit()) + 1))


def test_a_key_ends_on_its_date_and_takes_only_its_own_sessions_along(clock, tmp_path):
    door, set_by = clock
    dated = door.target.with_(identity=make_key(tmp_path / "dated"))
    tomorrow = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)).strftime("%Y%m%d%H%MZ")
    door.write_keys(public_line(door.key), f'expiry-time="{tomorrow}" {public_line(dated.identity)}')
    door.start()
    with door.target.session() as session, dated.session() as doomed:
        set_by(-2 * DAY)
        doomed.shell("true")
        set_by(2 * DAY)
        assert doomed.wait(10) != 0
        assert dated.run("-T").returncode == 255
        session.shell("true")
        set_by(0)
        with dated.session() as again:
            again.shell("true")
            assert again.finish() == 0
        session.shell("true")
        assert session.finish() == 0
    wait_until("all are gone", lambda: not door.connections())
