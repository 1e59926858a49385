"""tessera-plot as a user runs it: messages, exit codes, files."""

import contextlib
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "common", "plot")]
sys.dont_write_bytecode = True

from made_reports import report, write  # noqa: E402
from tessera_plot import command  # noqa: E402

PROGRAM = os.environ.get("TESSERA_PLOT") or os.path.join(HERE, "..", "..", "common", "plot", "tessera-plot")
can_draw = importlib.util.find_spec("matplotlib") is not None
GOOD = report([{"app": "map", "size": size, "seconds": size * 1e-9} for size in (2**20, 2**24)])


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_plot(self, *arguments, env=None):
        return subprocess.run(
            [sys.executable, PROGRAM, *arguments], cwd=self.folder, capture_output=True, text=True, env=env
        )

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
        self.refused("no json", "not a JSON document", "r.json")
        self.refused("", "not a JSON document")
        self.refused("[]", "not a Tessera report")
        self.refused({"schema": "other/1"}, "not a Tessera report")
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

    ODD = (0, -1, 1e300, 1e-300, 5e-324, 10**400, float("inf"), float("nan"), None, "x", [], {}, True)

    # Without matplotlib each of these calls would search for another Python.
    def drawn_or_refused(self, document, *arguments):
        """No traceback: what is odd is left out or drawn, or the report is refused in one line."""
        path = write(self.folder, "r.json", document)
        code, _, err = self.main(path, "-o", os.path.join(self.folder, "pictures"), "--format", "svg", *arguments)
        self.assertIn(code, (0, 2), err)
        if code == 2:
            self.assertRegex(err, r"^tessera-plot: .+ \(.+\); .+\n$")
        return code

    @unittest.skipUnless(can_draw, "needs matplotlib")
    def test_figures_that_no_machine_has_measured(self):
        odd = [(key, value) for value in self.ODD
               for key in ("seconds", "seconds_min", "seconds_first_quartile", "seconds_third_quartile", "bytes",
                           "flops", "share_of_copy", "share_of_roof")]  # fmt: skip
        document = report([{"app": "map", "variant": f"v{number}", "size": size, "seconds": size * 1e-9}
                           for number in range(len(odd) + 1) for size in (2**20, 2**24)])  # fmt: skip
        for row, (key, value) in zip(document["rows"], (one for one in odd for _ in range(2))):
            row[key] = value
        self.assertEqual(self.drawn_or_refused(document), 0)

    @unittest.skipUnless(can_draw, "needs matplotlib")
    def test_reports_that_no_program_has_written(self):
        def places(document):
            space = document["system"]["spaces"]["openmp"]
            return {"variant": document["rows"][0], "level": document["rows"][0], "unit": document["rows"][0],
                    "status": document["rows"][0], "cold": document["rows"][0], "size": document["input"][0],
                    "app": document["input"][0], "dtype": document["input"][0], "parameters": document["input"][0],
                    "data": document["input"][0], "file": document["input"][0], "copy_bytes_per_second": space,
                    "launch_seconds": space, "working_set_bytes": space, "device": space, "started": document["system"],
                    "peak_operations_per_second": space, "spaces": document["system"],
                    "host": document["system"]}  # fmt: skip

        for key in places(GOOD):
            for value in (-1, 1e300, 10**400, None, "x", [[1]], {"a": [1]}):
                document = json.loads(json.dumps(GOOD))
                places(document)[key][key] = value
                with self.subTest(f"{key} {value!r:.20}"):
                    self.drawn_or_refused(document, "--kind", "shares")

    def main(self, *arguments):
        """The program in this process, which is faster; an exception is the test's error."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = command.main(list(arguments))
        return code, out.getvalue(), err.getvalue()

    def test_a_time_of_zero_is_no_time(self):
        self.refused(report([{"app": "map", "seconds": 0.0}]), "no row passed: 1 not timed")
        self.refused(report([{"app": "map", "seconds": 1e300}]), "no row passed: 1 not timed")

    def test_documents_that_are_deep_or_long(self):
        self.refused("[" * 100000 + "]" * 100000, "not a JSON document")
        self.refused('{"schema": ' + "9" * 100000 + "}", "r.json")

    @unittest.skipUnless(can_draw, "needs matplotlib")
    def test_what_cannot_be_drawn_is_said_in_one_line(self):
        from tessera_plot import pictures

        with unittest.mock.patch.object(pictures, "shares", side_effect=OverflowError("too large\nindeed")):
            path = write(self.folder, "r.json", GOOD)
            code, _, err = self.main(path, "--kind", "shares", "-o", os.path.join(self.folder, "s.svg"))
        self.assertEqual(code, 2)
        self.assertRegex(
            err, r"^tessera-plot: cannot draw shares-openmp-float \(OverflowError: too large\); choose .+\n$"
        )

    @unittest.skipUnless(can_draw, "needs matplotlib")
    def test_titles_have_size_day_and_host_and_noise_is_said(self):
        rows = [{"app": "map", "variant": variant, "size": size, "ranks": ranks, "seconds": 1e-3,
                 "noisy": variant == "b"}
                for variant in ("a", "b") for size in (2**20, 2**21) for ranks in (1, 2)]  # fmt: skip
        paths = [write(self.folder, "a.json", report(rows)), write(self.folder, "b.json", report(rows, device="B"))]
        code, out, err = self.main(*paths, "-o", os.path.join(self.folder, "p"), "--format", "svg")
        self.assertEqual((code, err), (0, ""))
        for file in out.splitlines():
            with self.subTest(os.path.basename(file)), open(file, encoding="utf-8") as opened:
                # The picture's texts appear as comments in the file.
                texts = re.findall(r"<!-- (.*?) -->", opened.read(), re.DOTALL)
                self.assertTrue(any("2^2" in text and "elements" in text for text in texts), texts)
                self.assertTrue(any("2026-11-22, host node7" in text for text in texts), texts)
                self.assertTrue(any("noisy: quartiles more than 1.5 times apart" in text for text in texts), texts)
                if "roofline" in file:
                    self.assertIn("operations per second", texts)
                if "shares" in file:
                    self.assertTrue(any(text.startswith("~") and text.endswith("%") for text in texts), texts)

    @unittest.skipUnless(can_draw, "needs matplotlib")
    def test_equal_variants_do_not_hide_each_other(self):
        from tessera_plot import pictures

        taken = []
        places = [pictures._free(0.5, 0.5, taken) for _ in range(7)]
        self.assertEqual(places[0], 0.5)
        self.assertEqual(len({round(place, 6) for place in places}), 7)
        self.assertLess(max(abs(place - 0.5) for place in places), 0.05)
        self.assertEqual(pictures._free(0.5, 0.9, taken), 0.5)
        for number in (2, 3, 12):
            aside = pictures._asides(number, {2**20, 2**22})
            self.assertEqual(aside, sorted(set(aside)))
            self.assertLess(aside[-1] / aside[0], 4**0.41)

    def test_wrong_words(self):
        self.refused(GOOD, "rooflines", "roofline, shares", arguments=["--kind", "rooflines"])
        self.refused(GOOD, "gif", arguments=["--format", "gif"])
        self.refused(GOOD, "--app names 'zap'", "map", arguments=["--app", "zap"])
        self.refused(GOOD, ".png, .svg or .pdf", arguments=["-o", "picture.gif"])
        self.refused(GOOD, "strong scaling needs", arguments=["--kind", "strong"])
        self.refused(GOOD, "3 pictures do not go into", arguments=["-o", "one.png"])

    def test_without_matplotlib(self):
        # A module of that name that fails to import like a missing one.
        write(self.folder, "matplotlib.py", "raise ModuleNotFoundError('no', name='matplotlib')")
        path = write(self.folder, "r.json", GOOD)
        result = self.run_plot(path, env={**os.environ, "PYTHONPATH": self.folder})
        self.assertEqual(result.returncode, 2, result)
        self.assertRegex(result.stderr, r"^tessera-plot: cannot draw \(matplotlib is missing .*\); install .+\n$")
        self.assertFalse(os.path.exists(os.path.join(self.folder, "pictures")))

    def test_without_matplotlib_another_python_that_has_it_is_named(self):
        write(self.folder, "matplotlib.py", "raise ModuleNotFoundError('no', name='matplotlib')")
        path = write(self.folder, "r.json", GOOD)
        for folder, code in (("without", 1), ("with", 0), ("later", 0)):
            os.mkdir(os.path.join(self.folder, folder))
            program = write(os.path.join(self.folder, folder), "python3", f"#!/bin/sh\nexit {code}\n")
            os.chmod(program, 0o755)
        folders = os.pathsep.join(os.path.join(self.folder, folder) for folder in ("without", "with", "later"))
        result = self.run_plot(path, env={**os.environ, "PYTHONPATH": self.folder, "PATH": folders})
        self.assertEqual(result.returncode, 2, result)
        other = os.path.join(self.folder, "with", "python3")
        self.assertIn(f"; run it with one that has matplotlib: {other} {PROGRAM} ..., or install", result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1)

    @unittest.skipUnless(can_draw, "needs matplotlib")
    def test_one_report_gives_a_folder(self):
        result = self.run_plot(write(self.folder, "r.json", GOOD))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        files = [
            "pictures/roofline-openmp-float.png",
            "pictures/shares-openmp-float.png",
            "pictures/sizes-map-openmp-float.png",
        ]
        self.assertEqual(result.stdout.splitlines(), files)
        for file in files:
            with open(os.path.join(self.folder, file), "rb") as opened:
                self.assertEqual(opened.read(8), b"\x89PNG\r\n\x1a\n")

    @unittest.skipUnless(can_draw, "needs matplotlib")
    def test_every_kind_is_drawn_in_every_format_and_again_to_the_same_bytes(self):
        rows = [{"app": "map", "variant": variant, "size": size, "ranks": ranks, "seconds": size * 1e-9 / ranks,
                 "energy": {"joules_per_element": 1e-9, "joules_per_flop": 2e-12, "watts": 310.0}}
                for variant in ("a", "b") for size in (2**20, 2**21) for ranks in (1, 2)]  # fmt: skip
        paths = [write(self.folder, "a.json", report(rows)), write(self.folder, "b.json", report(rows[:1], device="B"))]
        begins = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF-"}
        written = []
        for folder, formats in (("first", "png,svg,pdf"), ("second", "svg")):
            result = self.run_plot(*paths, "-o", folder, "--format", formats)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            names = sorted(os.listdir(os.path.join(self.folder, folder)))
            kinds = {name.split("-")[0] for name in names}
            self.assertEqual(kinds, {"roofline", "shares", "energy", "sizes", "strong", "weak", "machines"})
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
        path = write(self.folder, "r.json", report(rows, finished=False))
        result = self.run_plot(path, "--kind", "shares", "-o", "s.svg")
        self.assertEqual((result.returncode, result.stdout.splitlines()), (0, ["s.svg", "rows left out: 1 skipped"]))
        self.assertIn("has not ended", result.stderr)

    @unittest.skipUnless(can_draw, "needs matplotlib")
    def test_unsure_roofs_are_said_in_every_picture_with_shares(self):
        sys.path.insert(0, os.path.dirname(PROGRAM))
        from tessera_plot import pictures, reports, series

        rows = [{"app": "map", "size": size, "seconds": size * 1e-11} for size in (2**20, 2**24)]  # beyond the roof
        for why in (None, "other work used 40% of the processors"):
            documents = [report(rows), report(rows, device="B")]
            for document in documents:
                document["system"]["spaces"]["openmp"]["roofs_unsure"] = why
            paths = [write(self.folder, f"{number}.json", document) for number, document in enumerate(documents)]
            points = series.points(reports.read_all(paths))
            names = {point.place: point.place.device for point in points}
            drawn = [
                pictures.roofline(series.rooflines(points)[0], names),
                pictures.shares(series.shares(points)[0], names),
                pictures.over_size(series.over_size(points)[0], names),
                pictures.comparison(series.comparisons(points)[0], names),
            ]
            for figure in drawn:
                text = "\n".join(part.get_text() for part in figure.texts)
                self.assertEqual("ROOFS UNSURE" in text and str(why) in text, why is not None, text)
            self.assertEqual("caches help" in "".join(part.get_text() for part in drawn[1].texts), why is None)
            result = self.run_plot(paths[0], "--kind", "shares", "-o", "s.svg")
            self.assertEqual((result.returncode, "are unsure" in result.stderr), (0, why is not None), result)

    @unittest.skipUnless(can_draw, "needs matplotlib")
    def test_a_picture_that_cannot_be_written(self):
        path = write(self.folder, "r.json", GOOD)
        result = self.run_plot(path, "--kind", "shares", "-o", os.path.join(path, "s.png"))
        self.assertEqual(result.returncode, 1, result)
        self.assertRegex(result.stderr, r"^tessera-plot: cannot write .+ \(.+\); .+\n$")

    @unittest.skipUnless(can_draw, "needs matplotlib")
    def test_a_disk_that_becomes_full(self):
        path = write(self.folder, "r.json", GOOD)
        command = [sys.executable, PROGRAM, path, "--kind", "shares", "-o", "s.png"]
        with open("/dev/full", "w") as full:
            result = subprocess.run(command, cwd=self.folder, stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 1, result)
        self.assertRegex(result.stderr, r"^tessera-plot: cannot write to stdout \(.+\); .+\n$")
        short = "ulimit -f 1; exec \"$@\""  # at most 1024 bytes, or 512
        result = subprocess.run(["sh", "-c", short, "sh", *command], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(result.returncode, 1, result)
        self.assertRegex(result.stderr, r"^tessera-plot: cannot write s.png \(.+\); .+ --output\n$")
        self.assertEqual(os.listdir(self.folder), ["r.json"])

    @unittest.skipUnless(can_draw, "needs matplotlib")
    def test_names_too_long_for_a_picture(self):
        rows = [{"app": "map", "variant": letter * 120, "seconds": 1e-3} for letter in "abc"]
        path = write(self.folder, "r.json", report(rows))
        for kind in ("roofline", "shares"):
            result = self.run_plot(path, "--kind", kind, "-o", "s.png")
            self.assertNotIn("Traceback", result.stderr)
            self.assertIn(result.returncode, (0, 2), result)


if __name__ == "__main__":
    unittest.main()
