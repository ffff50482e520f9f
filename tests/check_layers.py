#!/usr/bin/env python3
"""Holds the arrows between the rooms of src/ (src/README.md draws them), and who may ask for the date.

    tests/check_layers.py [SOURCE-DIR]

Prints each line that breaks a rule and ends 1 where there is one.
"""
import re
import sys
from pathlib import Path

# A third-party library's headers, and the files that are its door.
DOORS = {
    r"libssh/": r"base/ssh_(client|key|attempt|client_state)\.(h|cc)|sshd/(ssh|connection|relay)\.(h|cc)",
    r"yaml-cpp/": r"base/yaml\.cc",
    r"nlohmann/": r"base/json\.(h|cc)",
    r"spdlog/": r"base/log\.cc",
    r"openssl/": r"base/(text|public_key|secret)\.cc|sshd/(ssh|signature)\.cc",
    r"CLI/": r"(provision|sshd)/cli\.cc",
    r"curl/": r"provision/http\.cc",
    r"re2/": r"base/pattern\.cc",
    r"seccomp\.h": r"sshd/lockdown\.cc",
    r"catch2/": r"(?!)",
}

# What a file that calls itself pure cannot need: descriptors, processes, clocks, threads. (The
# types of addresses come with sys/socket.h: there is no header with those alone.)
EDGE_HEADERS = re.compile(
    r"(unistd|fcntl|poll|signal|dirent|spawn|sched|grp|pwd|netdb|termios)\.h$"
    r"|sys/(?!types\.h$|socket\.h$)|linux/|(c?signal|fstream|iostream|filesystem|thread|future|mutex)$"
)

# The wall clock can be set, forward and back: it says when something was, or what a date on a key is compared with.
# Nothing waits by it; deadlines and ages are the steady clock's.
WALL_CLOCK = re.compile(r"\btime\(nullptr\)|\bsystem_clock\b|\bCLOCK_REALTIME\b|\bgettimeofday\(")
TELLS_DATES = re.compile(
    r"sshd/(monitor\w*|connection|audit_sink|isolation_file)\.cc|agentbox/(spawner|job_folder)\.cc|provision/(kube/gc|audit_log|certificates|doctor|audit/command|audit/gather)\.cc"
)

HEAD = re.compile(r"// (pure|edge): \S")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def includes(text):
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        if found:
            yield number, found[1] == '"', found[2]


def check(source_dir):
    """The broken rules under source_dir, as lines of text."""
    files = {
        path.relative_to(source_dir).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(source_dir.rglob("*"))
        if path.suffix in (".h", ".cc")
    }
    if not files:
        return [f"{source_dir}: no source file here"]
    kind = {}
    problems = []
    for name, text in files.items():
        head = HEAD.match(text)
        if head:
            kind[name] = head[1]
        else:
            problems.append(f"{name}:1: the first line must be '// pure: ...' or '// edge: ...'")
    for name, text in files.items():
        for number, line in enumerate(text.splitlines(), 1):
            if WALL_CLOCK.search(line) and not TELLS_DATES.fullmatch(name):
                problems.append(f"{name}:{number}: the wall clock is for dates: wait by the steady clock, or name the file here")
    for name, text in files.items():
        room = name.split("/")[0]
        pure = kind.get(name) == "pure"
        for number, ours, target in includes(text):
            where = f"{name}:{number}: {target}:"
            if ours:
                problems += [f"{where} {rule}" for rule in own_rules(files, kind, room, pure, target)]
                continue
            for library, door in DOORS.items():
                if re.match(library, target) and not re.fullmatch(door, name):
                    problems.append(f"{where} only its door may include this library: {door}")
            if pure and EDGE_HEADERS.match(target):
                problems.append(f"{where} a pure file needs nothing of this header")
    return problems


def own_rules(files, kind, room, pure, target):
    if target not in files:
        yield "no such file: includes are rooted at src/"
        return
    target_room = target.split("/")[0]
    if target_room not in (room, "base"):
        yield f"{room} sees base and itself, not {target_room}"
    if pure and kind.get(target) == "edge":
        yield "a pure file includes pure files only"


def main(arguments):
    root = Path(arguments[0] if arguments else Path(__file__).parent.parent)
    problems = check(root / "src")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
