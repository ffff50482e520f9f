#!/usr/bin/env python3
"""Holds that each test which a document names exists, and that each defence and each duty of the protocol has its row.

    tests/check_named_tests.py [SOURCE-DIR]                 prints what is wrong, and ends 1 where something is
    tests/check_named_tests.py [SOURCE-DIR] --defences      prints each defence and its tests, for scripts/defences

A table whose last heading is Test names a test in each row: `file: function, function` below e2e (without
`test_`), `unit/x_test.cc`, or `transcript: file`; several with semicolons between. What is in brackets is for readers.
"""
import re
import sys
from pathlib import Path

DOCUMENTS = ("tests/e2e/PITFALLS.md", "tests/e2e/PROTOCOL.md", "tests/e2e/CASES.md", "docs/security.md")
DEFENCES = "docs/security.md"
# Has a row for each number from 1 on; those that still lack a test are named in a line of their own.
NUMBERED, LAST_NUMBER = "tests/e2e/PROTOCOL.md", 41


def rows(text):
    """Line number and cells of each row of the tables whose last heading is Test."""
    inside, heading = False, ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|"):
            inside = False
        elif line.startswith("|---"):
            inside = heading.rstrip("| ").endswith("Test")
        elif inside:
            yield number, [cell.strip() for cell in line.strip().strip("|").split("|")]
        heading = line


def tests_of(cell):
    """The tests that a cell names, each as (kind, file, function)."""
    for group in re.sub(r"\([^)]*\)", "", cell).split("; "):
        for name in re.findall(r"unit/(\w+\.cc)", group):
            yield "unit", name, ""
        found = re.match(r"(\w+): (.*)", group)
        if found and found[1] == "transcript":
            yield from (("transcript", name, "") for name in re.findall(r"\w+", found[2]))
        elif found:
            yield from (("e2e", found[1], name) for name in re.findall(r"\w+", found[2]))


def exists(tests, kind, file, function):
    if kind == "unit":
        return any((tests / "unit").rglob(file))
    if kind == "transcript":
        return (tests / "transcripts" / f"{file}.mcp").exists()
    path = tests / "e2e" / f"test_{file}.py"
    return path.exists() and f"def test_{function}(" in path.read_text(encoding="utf-8")


def check_document(source_dir, document):
    path, named = source_dir / document, 0
    if not path.exists():
        return [f"{document} is not there"]
    problems = []
    for number, cells in rows(path.read_text(encoding="utf-8")):
        tests = list(tests_of(cells[-1]))
        named += len(tests)
        if not tests:
            problems.append(f"{document}:{number}: this row names no test")
        for kind, file, function in tests:
            if not exists(source_dir / "tests", kind, file, function):
                problems.append(f"{document}:{number}: no {kind} test {file} {function}".rstrip())
    return problems if named else [f"{document} names no test"]


def defences_told(source_dir):
    """Name and tests of each row that begins with a defence in code letters."""
    for _, cells in rows((source_dir / DEFENCES).read_text(encoding="utf-8")):
        found = re.fullmatch(r"`([a-z-]+)`", cells[0])
        if found:
            yield found[1], list(tests_of(cells[-1]))


def check_defences(source_dir):
    header = (source_dir / "src/base/defence.h").read_text(encoding="utf-8")
    listed = re.findall(r'"([a-z-]+)"', header[header.index("kDefences") : header.index("});")])
    told = [name for name, _ in defences_told(source_dir)]
    code = "".join(path.read_text(encoding="utf-8") for path in sorted((source_dir / "src").rglob("*.cc")))
    problems = [f"defence {name}: {DEFENCES} has no row for it" for name in listed if name not in told]
    problems += [f"defence {name}: no code asks for it" for name in listed if f'defended("{name}")' not in code]
    problems += [f"{DEFENCES}: {name} is no defence of src/base/defence.h" for name in told if name not in listed]
    return problems if listed else ["src/base/defence.h lists nothing"]


def check_numbers(source_dir):
    """Each number has one row, or is said to lack a test, and not both."""
    path = source_dir / NUMBERED
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    told = [int(cells[0]) for _, cells in rows(text) if cells[0].isdigit()]
    found = re.search(r"^Without a test yet: ([\d, ]+)\.$", text, re.M)
    told += [int(number) for number in found[1].split(", ")] if found else []
    numbers = range(1, LAST_NUMBER + 1)
    problems = [f"{NUMBERED}: nothing is said of number {number}" for number in numbers if number not in told]
    return problems + [f"{NUMBERED}: number {number} stands there twice" for number in numbers if told.count(number) > 1]


def problems_of(source_dir):
    problems = [problem for document in DOCUMENTS for problem in check_document(source_dir, document)]
    problems += check_numbers(source_dir)
    return problems + check_defences(source_dir)


def main(arguments):
    places = [Path(word) for word in arguments if not word.startswith("--")]
    source_dir = places[0] if places else Path(__file__).parent.parent
    if "--defences" in arguments:
        for name, tests in defences_told(source_dir):
            print(name, *(":".join(part for part in test if part) for test in tests))
        return 0
    problems = problems_of(source_dir)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
