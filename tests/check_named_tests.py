#!/usr/bin/env python3
"""Holds that each test that e2e/PITFALLS.md names exists.

    tests/check_pitfalls.py [TESTS-DIR]

Prints each name that nothing has, and ends 1 where there is one.
"""
import re
import sys
from pathlib import Path


def check(tests):
    """What is named and is not there, as lines of text."""
    problems, named = [], 0
    for number, line in enumerate((tests / "e2e" / "PITFALLS.md").read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("|") or line.startswith("|---"):
            continue
        for group in line.rstrip("| ").rsplit("| ", 1)[1].split("; "):
            for name in re.findall(r"unit/(\w+\.cc)", group):
                named += 1
                if not (tests / "unit" / "sshd" / name).exists():
                    problems.append(f"PITFALLS.md:{number}: no {name}")
            found = re.match(r"(\w+): (.*)", group)
            if not found:
                continue
            path = tests / "e2e" / f"test_{found[1]}.py"
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            for name in re.findall(r"\w+", re.sub(r"\(.*\)", "", found[2])):
                named += 1
                if f"def test_{name}(" not in text:
                    problems.append(f"PITFALLS.md:{number}: {path.name} has no test_{name}")
    return problems if named else ["PITFALLS.md names no test"]


if __name__ == "__main__":
    found = check(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
    print("\n".join(found))
    sys.exit(1 if found else 0)
