#!/usr/bin/env python3
"""Each rule of check_layers.py is seen to be broken by a tree that breaks it."""
import tempfile
import unittest
from pathlib import Path

import check_layers

CLEAN = {
    "base/result.h": "// pure: values\n#include <string>\n",
    "base/handle.h": '// edge: descriptors\n#include <unistd.h>\n\n#include "base/result.h"\n',
    "base/json.h": "// pure: a door\n#include <nlohmann/json.hpp>\n",
    "sshd/policy.cc": '// pure: a decision\n#include "base/json.h"\n',
    "provision/plan.cc": '// edge: does\n#include "base/handle.h"\n',
}


class CheckLayers(unittest.TestCase):
    def problems(self, changed):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**CLEAN, **changed}.items():
                path = Path(folder) / name
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
            return check_layers.check(Path(folder))

    def assert_one(self, name, text, words):
        problems = self.problems({name: text})
        self.assertEqual(1, len(problems), problems)
        self.assertIn(words, problems[0])
        self.assertTrue(problems[0].startswith(name))

    def test_a_clean_tree_has_no_problem(self):
        self.assertEqual([], self.problems({}))

    def test_a_file_that_is_neither_pure_nor_edge(self):
        self.assert_one("sshd/a.cc", "#include <string>\n", "first line")

    def test_a_room_that_sees_another(self):
        self.assert_one("sshd/a.cc", '// edge: x\n#include "provision/plan.cc"\n', "not provision")

    def test_base_that_sees_a_room(self):
        self.assert_one("base/a.cc", '// edge: x\n#include "sshd/policy.cc"\n', "not sshd")

    def test_an_include_not_rooted_at_src(self):
        self.assert_one("sshd/a.cc", '// edge: x\n#include "policy.cc"\n', "rooted at src")

    def test_a_pure_file_that_includes_an_edge(self):
        self.assert_one("sshd/a.cc", '// pure: x\n#include "base/handle.h"\n', "pure files only")

    def test_a_pure_file_that_makes_system_calls(self):
        self.assert_one("sshd/a.cc", "// pure: x\n#include <sys/wait.h>\n", "needs nothing")

    def test_a_library_outside_its_door(self):
        self.assert_one("sshd/a.cc", "// edge: x\n#include <nlohmann/json.hpp>\n", "only its door")

    def test_the_wall_clock_where_nothing_has_a_date(self):
        self.assert_one("sshd/a.cc", "// edge: x\nauto at = std::chrono::system_clock::now();\n", "steady clock")

    def test_an_empty_tree_is_a_problem(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(1, len(check_layers.check(Path(folder))))


if __name__ == "__main__":
    unittest.main()
