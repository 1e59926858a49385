"""tessera-plot as a user runs it: messages, exit codes, files."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

from made_reports import report, write  # noqa: E402

PROGRAM = os.environ.get("TESSERA_PLOT") or os.path.join(HERE, "..", "..", "common", "plot", "tessera-plot")
can_draw = importlib.util.find_spec("matplotlib") is not None
GOOD = report([{"app": "map", "size": size, "seconds": size * 1e-9} for size in (2**20, 2**24)])


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_plot(self, *arguments, env=None):
        return subprocess.run([sys.executable, PROGRAM, *arguments], cwd=self.folder, capture_output=True, text=True, env=env)

    def refused(self, document, *words, arguments=()):
        path = write(self.folder, "r.json", document)
        result = self.run_plot(path, *arguments)
        self.assertEqual(result.returncode, 2, result)
        self.assertEqual(result.stdout, "")
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        # problem (why); what to do
        self.assertRegex(result.stderr, r"^tessera-plot: .+ \(.+\); .+\n$")
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertEqual(os.listdir(self.folder), ["r.json"])

    def test_what_is_no_report_is_refused(self):
        self.refused("no json", "no JSON document", "r.json")
        self.refused("", "no JSON document")
        self.refused("[]", "no report of Tessera's")
        self.refused({"schema": "other/1"}, "no report of Tessera's")
        self.refused({"schema": "tessera-machine/1", "spaces": {}}, "tessera-machine/1", "--json FILE")

    def test_other_schemas_are_refused(self):
        self.refused({**GOOD, "schema": "tessera-report/0"}, "tessera-report/0", "tessera-report/1")
        self.refused({**GOOD, "schema": "tessera-report/2"}, "tessera-report/2")

    def test_a_report_that_is_not_whole_is_refused(self):
        for key in ("input", "build", "system", "rows"):
            self.refused({name: value for name, value in GOOD.items() if name != key}, "not whole", key)
        row = {name: value for name, value in GOOD["rows"][0].items() if name != "seconds_first_quartile"}
        self.refused({**GOOD, "rows": [row]}, "seconds_first_quartile")
        self.refused({**GOOD, "rows": [{**GOOD["rows"][0], "case": 7}]}, "not whole")

    def test_no_rows_passed(self):
        self.refused(report([{"app": "map", "seconds": 1e-3, "status": "failed"}]), "no row passed: 1 failed")
        self.refused(report([]), "there are no rows")

    def test_a_missing_file(self):
        result = self.run_plot("none.json")
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"^tessera-plot: cannot read none.json \(.+\); .+\n$")

    def test_wrong_words(self):
        self.refused(GOOD, "rooflines", "roofline, shares", arguments=["--kind", "rooflines"])
        self.refused(GOOD, "gif", arguments=["--format", "gif"])
        self.refused(GOOD, "--app names 'zap'", "map", arguments=["--app", "zap"])
        self.refused(GOOD, ".png, .svg or .pdf", arguments=["-o", "picture.gif"])
        self.refused(GOOD, "strong scaling needs", arguments=["--kind", "strong"])
        self.refused(GOOD, "3 pictures do not go into", arguments=["-o", "one.png"])

    def test_without_matplotlib(self):
        # A module of that name that fails as a missing one does.
        write(self.folder, "matplotlib.py", "raise ModuleNotFoundError('no', name='matplotlib')")
        path = write(self.folder, "r.json", GOOD)
        result = self.run_plot(path, env={**os.environ, "PYTHONPATH": self.folder})
        self.assertEqual(result.returncode, 2, result)
        self.assertRegex(result.stderr, r"^tessera-plot: cannot draw \(matplotlib is missing .*\); install .+\n$")
        self.assertFalse(os.path.exists(os.path.join(self.folder, "pictures")))

    @unittest.skipUnless(can_draw, "needs matplotlib")
    def test_one_report_gives_a_folder(self):
        result = self.run_plot(write(self.folder, "r.json", GOOD))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        files = ["pictures/roofline-openmp-float.png", "pictures/shares-openmp-float.png", "pictures/sizes-map-openmp-float.png"]
        self.assertEqual(result.stdout.splitlines(), files)
        for file in files:
            with open(os.path.join(self.folder, file), "rb") as opened:
                self.assertEqual(opened.read(8), b"\x89PNG\r\n\x1a\n")

    @unittest.skipUnless(can_draw, "needs matplotlib")
    def test_every_kind_is_drawn_in_every_format_and_again_to_the_same_bytes(self):
        rows = [{"app": "map", "variant": variant, "size": size, "ranks": ranks, "seconds": size * 1e-9 / ranks}
                for variant in ("a", "b") for size in (2**20, 2**21) for ranks in (1, 2)]  # fmt: skip
        paths = [write(self.folder, "a.json", report(rows)), write(self.folder, "b.json", report(rows[:1], device="B"))]
        begins = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF-"}
        written = []
        for folder, formats in (("first", "png,svg,pdf"), ("second", "svg")):
            result = self.run_plot(*paths, "-o", folder, "--format", formats)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            names = sorted(os.listdir(os.path.join(self.folder, folder)))
            self.assertEqual({name.split("-")[0] for name in names}, {"roofline", "shares", "sizes", "strong", "weak", "machines"})
            contents = []
            for name in names:
                with open(os.path.join(self.folder, folder, name), "rb") as opened:
                    contents.append(opened.read())
                self.assertTrue(contents[-1].startswith(begins[name.rsplit(".", 1)[1]]), name)
            written.append(dict(zip(names, contents, strict=True)))
        self.assertLessEqual(written[1].items(), written[0].items())

    @unittest.skipUnless(can_draw, "needs matplotlib")
    def test_a_run_that_has_not_ended_and_rows_left_out_are_said(self):
        rows = [{"app": "map", "seconds": 1e-3}, {"app": "map", "variant": "other", "status": "skipped"}]
        result = self.run_plot(write(self.folder, "r.json", report(rows, finished=False)), "--kind", "shares", "-o", "s.svg")
        self.assertEqual((result.returncode, result.stdout.splitlines()), (0, ["s.svg", "rows left out: 1 skipped"]))
        self.assertIn("has not ended", result.stderr)

    @unittest.skipUnless(can_draw, "needs matplotlib")
    def test_a_picture_that_cannot_be_written(self):
        path = write(self.folder, "r.json", GOOD)
        result = self.run_plot(path, "--kind", "shares", "-o", os.path.join(path, "s.png"))
        self.assertEqual(result.returncode, 1, result)
        self.assertRegex(result.stderr, r"^tessera-plot: cannot write .+ \(.+\); .+\n$")


if __name__ == "__main__":
    unittest.main()
