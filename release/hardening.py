#!/usr/bin/env python3
"""What guards the programs against being taken over, read from the programs as they are.

    release/hardening.py BUILD-DIR [PROGRAM...]      default: the three programs of BUILD-DIR/bin

Prints a report. Ends 1 where a property is lost that every release has, 77 where the build is one (a sanitizer's, or
unoptimised) that cannot have them. Of a static program that is stripped what only a name tells is left out.
"""
import json
import re
import subprocess
import sys
from pathlib import Path

PROGRAMS = ("agentbox-sshd", "agent-box", "agentbox-provision")
STATIC = ("agent-box",)
SKIPPED = 77
# Of every source of ours; the command lines' sources are not optimised, and without that nothing is fortified.
FLAGS = ("-fstack-protector-strong", "-fstack-clash-protection", "-ftrivial-auto-var-init=zero", "-fcf-protection",
         "-D_GLIBCXX_ASSERTIONS", "-D_FORTIFY_SOURCE=2")


def read(option, program):
    return subprocess.run(["readelf", "-W", option, program], capture_output=True, text=True, check=True).stdout


def look_at(program, static):
    """Property, what it is, whether that is good (None: not asked here)."""
    header, segments, dynamic = read("-h", program), read("-l", program), read("-d", program)
    symbols, notes = read("-s", program), read("-n", program)
    stripped = ".symtab" not in read("-S", program)
    interpreter = "INTERP" in segments
    loads = re.findall(r"^\s+LOAD .* ([R ][W ][E ]) 0x", segments, re.MULTILINE)
    stack = re.search(r"GNU_STACK.* ([R ][W ][E ]) 0x", segments)
    pie = "DYN (" in header and "PIE" in dynamic
    now = "BIND_NOW" in dynamic or bool(re.search(r"FLAGS_1\).*NOW", dynamic))
    told = not (stripped and static)
    path = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic)
    yield "position", ("static-pie" if static else "pie") if pie else "fixed", pie and interpreter != static
    yield "relocations", "read-only" if "GNU_RELRO" in segments else "writable", "GNU_RELRO" in segments
    yield "binding", "at start" if now else "lazy", now or static
    yield "stack", "executable" if stack is None or "E" in stack[1] else "data", stack is not None and "E" not in stack[1]
    yield "memory", "writable and executable" if any("WE" in flags for flags in loads) else "never both", \
        bool(loads) and not any("WE" in flags for flags in loads)
    yield "text relocations", "some" if "TEXTREL" in dynamic else "none", "TEXTREL" not in dynamic
    yield "library path", path[0] if path else "none", not path
    if told:
        checked = len(set(re.findall(r"\b__(?!stack_chk)\w+_chk\b", symbols)))
        yield "stack protector", "yes" if "__stack_chk_fail" in symbols else "no", "__stack_chk_fail" in symbols
        yield "fortified calls", str(checked), checked > 0
    # The mark needs every object of the C library's to have it, and Debian 12's start files do not.
    yield "control flow", "marked" if "IBT" in notes else "instructions only", None
    yield "symbols", "stripped" if stripped else "kept", None


def flags_of(build):
    """Flags that sources of ours were compiled without, as lines of text; and whether this build has them at all."""
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    ours = [one for one in commands if re.search(r"/src/(base|sshd|agentbox|provision)/.*\.cc$", one["file"])]
    if not ours or any("-fsanitize" in one["command"] or " -O2" not in one["command"] for one in ours):
        return None
    missing = []
    for one in ours:
        words = one["command"].split()
        for flag in FLAGS:
            if flag not in words and not (flag.startswith("-D_FORTIFY") and "-O0" in words):
                missing.append(f"{one['file'].rsplit('/src/')[-1]} is compiled without {flag}")
    return missing


def main(arguments):
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    build = Path(arguments[0])
    missing = flags_of(build)
    if missing is None:
        print("skipped: a build with sanitizers or without optimisation has no hardening to look at")
        return SKIPPED
    lost = list(missing)
    programs = [Path(word) for word in arguments[1:]] or [build / "bin" / name for name in PROGRAMS]
    for program in programs:
        print(program.name)
        for name, what, good in look_at(program, program.name in STATIC):
            print(f"  {name:<18}{what}{'   LOST' if good is False else ''}")
            if good is False:
                lost.append(f"{program.name}: {name}: {what}")
    print("every source\n  flags             " + " ".join(FLAGS))
    for line in lost:
        print(f"LOST {line}", file=sys.stderr)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
