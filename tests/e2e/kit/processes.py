"""What runs, seen from outside: processes and their parents, sockets, locks, descriptors."""
import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    state: str
    uid: int
    program: str  # base name of its executable, "" for a zombie
    command: tuple

    def __str__(self):
        return f"{self.pid} (parent {self.parent}, state {self.state}): {' '.join(self.command)}"


def read_process(pid):
    """None where it is gone."""
    folder = Path("/proc") / str(pid)
    try:
        stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
        command = (folder / "cmdline").read_bytes().decode(errors="replace")
        uid = folder.stat().st_uid
    except OSError:
        return None
    name, fields = stat[stat.index("(") + 1 : stat.rindex(")")], stat[stat.rindex(")") + 2 :].split()
    words = tuple(word for word in command.split("\0") if word) or (f"[{name}]",)
    try:
        program = os.path.basename(os.readlink(folder / "exe")).removesuffix(" (deleted)")
    except OSError:  # not dumpable, and we are not root: what it was started as; its name is cut at 15 bytes
        program = "" if fields[0] == "Z" else os.path.basename(words[0])
    return Process(int(pid), int(fields[1]), fields[0], uid, program, words)


def all_processes():
    found = (read_process(name) for name in os.listdir("/proc") if name.isdigit())
    return [process for process in found if process]


def alive(pid):
    process = read_process(pid)
    return process is not None and process.state != "Z"


def descendants(pid):
    """Every live process below pid, nearest first. Zombies are no longer anybody's burden."""
    children = {}
    for process in all_processes():
        children.setdefault(process.parent, []).append(process)
    found, todo = [], [pid]
    while todo:
        for process in children.get(todo.pop(0), []):
            if process.state != "Z":
                found.append(process)
            todo.append(process.pid)
    return found


def descriptors(pid):
    """Number to target of every descriptor that pid holds."""
    folder = f"/proc/{pid}/fd"
    held = {}
    for name in os.listdir(folder):
        try:
            held[int(name)] = os.readlink(f"{folder}/{name}")
        except OSError:
            pass
    return held


def rss(pid):
    """Bytes of memory in use."""
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def sockets_below(folder):
    """Unix sockets bound to a path below folder that still exist."""
    paths = []
    for line in Path("/proc/net/unix").read_text(encoding="utf-8").splitlines()[1:]:
        words = line.split(maxsplit=7)
        if len(words) == 8 and words[7].startswith(f"{folder}/"):
            paths.append(words[7])
    return paths


def locks_below(folder):
    """Files below folder that somebody holds a lock on."""
    locked = set()
    for line in Path("/proc/locks").read_text(encoding="utf-8").splitlines():
        for word in line.split():
            if word.count(":") == 2:
                locked.add(int(word.rsplit(":", 1)[1]))
    return [
        path
        for path in sorted(Path(folder).rglob("*"))
        if not path.is_symlink() and path.is_file() and path.stat().st_ino in locked
    ]


def of_this_world(program):
    """Live processes that run program, of those that this file of tests started (contained.py is above us)."""
    return [process for process in descendants(os.getppid()) if process.program == program]
