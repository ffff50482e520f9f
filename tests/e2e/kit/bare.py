"""agent-box by itself, on pipes and with folders of its own: no door, no wall."""
import os
import re
from contextlib import contextmanager
from pathlib import Path

from kit import programs
from kit.mcp import Session


@contextmanager
def bare_session(folder, profile="full", role="agent", **session):
    """One session of an agent-box whose workspace is folder/ws, with every tool that ROLE may call."""
    folder = Path(folder)
    for name in ("ws", "home", "tmp", "out"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    environment = {
        "PATH": os.environ["PATH"],
        "AGENTBOX_WORKSPACE": str(folder / "ws"),
        "AGENTBOX_HOME": str(folder / "home"),
        "AGENTBOX_TMP": str(folder / "tmp"),
        "AGENTBOX_OUT": str(folder / "out"),
        "AGENTBOX_PROFILE": profile,
        "AGENTBOX_ROLE": role,
    }
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
        if name in os.environ:
            environment[name] = os.environ[name]
    with Session([str(programs.BOX)], env=environment, cwd="/", **session) as opened:
        yield opened


def peak_memory(pid):
    """The most bytes that process pid ever had in memory."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"^VmHWM:\s+(\d+) kB$", status, re.M)[1]) * 1024
