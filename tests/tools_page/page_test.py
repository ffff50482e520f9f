"""That the check of the page of tools finds what it looks for."""
import contextlib
import tempfile
import unittest
from pathlib import Path

import page
from entries import ENTRIES, Entry


@contextlib.contextmanager
def entries(**changed):
    """ENTRIES with these in place of those of their names; None takes one out."""
    before = dict(ENTRIES)
    ENTRIES.update({name: entry for name, entry in changed.items() if entry is not None})
    for name, entry in changed.items():
        if entry is None:
            del ENTRIES[name]
    try:
        yield
    finally:
        ENTRIES.clear()
        ENTRIES.update(before)


class Page(unittest.TestCase):
    def check(self, names=None, tools=None):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder)
            (source / "src" / "agentbox" / "tools").mkdir(parents=True)
            for name, text in (tools or {}).items():
                (source / "src" / "agentbox" / "tools" / f"{name}.cc").write_text(text, encoding="utf-8")
            page.check_entries(list(ENTRIES) if names is None else names, source)

    def test_entries_that_fit_pass(self):
        self.check()

    def test_a_tool_without_an_entry_is_named(self):
        with self.assertRaisesRegex(page.Failure, "no entry for new_tool"):
            self.check([*ENTRIES, "new_tool"])

    def test_a_code_of_the_source_that_the_entry_leaves_out_is_named(self):
        with self.assertRaisesRegex(page.Failure, "read_blob can fail with NEW_CODE"):
            self.check(tools={"read_blob": 'return tool_failure("NEW_CODE", "why");'})

    def test_a_code_without_a_meaning_is_named(self):
        with entries(read_blob=Entry({}, "", ["NO_SUCH_CODE"])), self.assertRaisesRegex(page.Failure, "NO_SUCH_CODE"):
            self.check()

    def test_what_differs_between_runs_is_replaced(self):
        value = page.steady({"pid": 77, "entries": [{"type": "directory", "size": 60}], "name": "x"}, page.SHOWN)
        self.assertEqual(value, {"pid": 4242, "entries": [{"type": "directory", "size": 4096}], "name": "x"})
        text = page.steady_text("pid: 7\nat 2026-01-02T03:04:05.678Z in /f/ws/a", page.SHOWN, Path("/f"))
        self.assertEqual(text, "pid: 4242\nat 2026-11-30T12:00:00Z in /workspace/a")

    def test_a_first_sentence_ends_at_a_full_stop_and_not_within_one(self):
        self.assertEqual(page.first_sentence("Match (**, *, ?, {a,b}). Then more."), "Match (**, *, ?, {a,b}).")
        self.assertEqual(page.first_sentence("From ... to x. More"), "From ... to x.")


if __name__ == "__main__":
    unittest.main()
