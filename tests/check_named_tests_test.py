#!/usr/bin/env python3
"""Each rule of check_named_tests.py is seen to be broken by a tree that breaks it."""
import tempfile
import unittest
from pathlib import Path

import check_named_tests

TABLE = "| What | Test |\n|---|---|\n| P1 | wall: holds; unit/x_test.cc; transcript: talk |\n"
NUMBERS = "| | What | Test |\n|---|---|---|\n" + "".join(f"| {number} | x | wall: holds |\n" for number in range(1, 41))
CLEAN = {
    "tests/e2e/PROTOCOL.md": NUMBERS + "\nWithout a test yet: 41.\n",
    "tests/e2e/CASES.md": TABLE,
    "tests/e2e/PITFALLS.md": TABLE,
    "docs/security.md": TABLE + "\n| Defence | Test |\n|---|---|\n| `moat` | wall: holds (as root) |\n",
    "tests/e2e/test_wall.py": "def test_holds(box):\n",
    "tests/unit/base/x_test.cc": "",
    "tests/transcripts/talk.mcp": "",
    "src/base/defence.h": 'kDefences = std::to_array({"moat",\n});\n',
    "src/base/a.cc": 'if (defended("moat")) {',
}


class CheckNamedTests(unittest.TestCase):
    def problems(self, changed):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**CLEAN, **changed}.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check_named_tests.problems_of(Path(folder))

    def assert_one(self, name, text, words):
        problems = self.problems({name: text})
        self.assertEqual(1, len(problems), problems)
        self.assertIn(words, problems[0])

    def test_a_clean_tree_has_no_problem(self):
        self.assertEqual([], self.problems({}))

    def test_a_test_that_is_not_there(self):
        for cell in ("wall: falls", "moat: holds", "unit/y_test.cc", "transcript: silence"):
            self.assert_one("tests/e2e/PITFALLS.md", f"{TABLE}| P2 | {cell} |\n", "PITFALLS.md:4: no ")

    def test_a_row_that_names_none(self):
        self.assert_one("tests/e2e/PITFALLS.md", TABLE + "| P2 | |\n", "names no test")

    def test_a_document_without_a_table(self):
        self.assert_one("tests/e2e/PITFALLS.md", "| What | Why |\n|---|---|\n| a | wall: holds |\n", "names no test")

    def test_a_number_without_a_row(self):
        self.assert_one("tests/e2e/PROTOCOL.md", NUMBERS, "number 41")

    def test_a_number_that_stands_twice(self):
        self.assert_one("tests/e2e/PROTOCOL.md", NUMBERS + "\nWithout a test yet: 40, 41.\n", "40 stands there twice")

    def test_a_defence_without_a_row(self):
        self.assert_one("docs/security.md", TABLE, "no row")

    def test_a_row_without_a_defence(self):
        text = CLEAN["docs/security.md"] + "| `ditch` | wall: holds |\n"
        self.assert_one("docs/security.md", text, "ditch is no defence")

    def test_a_defence_that_no_code_asks_for(self):
        self.assert_one("src/base/a.cc", "", "no code asks")


if __name__ == "__main__":
    unittest.main()
