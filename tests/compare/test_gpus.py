"""gpus.py: the link that it takes from a report, its tables, and the commands that it runs."""

import contextlib
import io
import json
import os
import stat
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import gpus  # noqa: E402

# Records its arguments; lists mini-apps; or writes a report: of two ranks, or of a study, with the names of its
# mini-apps. `predict` prints that the first of them is slow on two ranks, and knows nothing of sort.
PROGRAM = """#!{python}
import json, os, sys
words = sys.argv[1:]
with open("{folder}/calls", "a") as calls:
    print(*words, file=calls)
if "--list" in words:
    for app in ("map", "sort", "transpose"):
        print("app     ", app, "    its summary")
        print("variant  distributed  ranks  same bits  its summary")
    print("app      layouts     its summary")
elif words[0] == "study":
    name = words[words.index("--name") + 1]
    app = words[words.index("--apps") + 1].split("+")[0]
    os.makedirs(name, exist_ok=True)
    with open(name + "/" + app + ".json", "w") as file:
        file.write(app)
elif words[0] == "predict":
    print("app,size,dtype,space,ranks,predicted_seconds,bound,measured_seconds,variant,noisy")
    for report in words[1 : words.index("--link")]:
        app = open(report).read()
        known = "," if app == "sort" else "1e-3,memory"
        print(app + ",1024,float,cuda,1," + known + ",1e-3,distributed,0")
        print(app + ",2048,float,cuda,2," + known + ",1.25e-3,distributed,0")
    sys.exit()
else:
    with open(words[words.index("--json") + 1], "w") as file:
        file.write('{report}')
print("TESSERA rows=2")
"""


def row(app, seconds, total_bytes=0, count=2, status="passed"):
    over = {"min": seconds, "median": 2 * seconds, "max": 3 * seconds}
    ranks = {"count": count, "communication_seconds": over, "bytes_sent": total_bytes, "messages": 2}
    return {"app": app, "status": status, "ranks": ranks}


class Gpus(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        self.out = os.path.join(self.folder, "out")
        self.write([row("dot", 1e-5), row("transpose", 1.01e-3, 2e8)])

    def write(self, rows):
        program = os.path.join(self.folder, "tessera")
        with open(program, "w", encoding="utf-8") as file:
            text = json.dumps({"rows": rows})
            file.write(PROGRAM.format(python=sys.executable, folder=self.folder, report=text))
        os.chmod(program, stat.S_IRWXU)
        self.program = program

    def run_it(self, *options):
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            try:
                code = gpus.main([self.program, self.out, "--gpus", "4", "--launcher", "env RANKS={ranks}", *options])
            except SystemExit as error:
                code = error.code
        return code, output.getvalue()

    def page(self):
        with open(os.path.join(self.out, "scaling.md"), encoding="utf-8") as file:
            return file.read()

    def test_takes_latency_and_bandwidth_of_a_rank(self):
        path = os.path.join(self.folder, "link.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"rows": [row("dot", 1e-5), row("transpose", 1.01e-3, 2e8)]}, file)
        latency, bandwidth = gpus.link_of(path)
        self.assertAlmostEqual(latency, 1e-5)
        self.assertAlmostEqual(bandwidth, 1e8 / 1e-3)

    def test_refuses_a_link_of_other_rows(self):
        for rows in (
            [row("dot", 1e-5)],
            [row("dot", 1e-5, count=4), row("transpose", 1e-3, 1e8)],
            [row("dot", 1e-5), row("transpose", 1e-3, 1e8, status="failed")],
            [row("dot", 0), row("transpose", 1e-3, 1e8)],
            [row("dot", 1e-3), row("transpose", 1e-4, 1e8)],
        ):
            with self.subTest(rows=rows):
                path = os.path.join(self.folder, "link.json")
                with open(path, "w", encoding="utf-8") as file:
                    json.dump({"rows": rows}, file)
                self.assertRaises(gpus.Failed, gpus.link_of, path)

    def test_writes_tables_and_names_slow_rows(self):
        code, output = self.run_it()
        self.assertEqual(code, 0, output)
        self.assertIn("latency 10 us, 100 GB/s", self.page())
        # Weak: 1 ms against 1.25 ms. Strong: the same times are an efficiency of 40%. Its launch on one rank is that of
        # weak, and for 2^30 elements that on four.
        self.assertIn("| weak: 1 | weak: 2 | strong28: 2 | strong30: 1 | strong30: 2 |", self.page())
        slow = "1.25 ms; 80%; 1.25 | 1.25 ms; 40%; 1.25"
        self.assertIn(f"| map | 1 ms; 1.00 | {slow} | 1 ms; 1.00 | 1.25 ms; 40%; 1.25 |", self.page())
        steps = ", ".join(f"1.25 {step}: 2 (memory)" for step in ("weak", "strong28", "strong30"))
        self.assertIn(f"- `map`: {steps}", self.page())
        self.assertNotIn("- `sort`", self.page())
        with open(os.path.join(self.folder, "calls"), encoding="utf-8") as file:
            calls = file.read()
        self.assertIn("--ranks 1,2,4 ", calls)
        self.assertIn("| sort | 1 ms | 1.25 ms; 80% | 1.25 ms; 40% |", self.page())
        self.assertEqual([line.split()[7] for line in calls.splitlines() if line.startswith("study --preset weak")],
                         ["map+transpose", "transpose", "sort"])
        self.assertIn("--link 1e-05,1e+11", calls)
        self.assertRegex(calls, "--name strong28 .*--ranks 2,4 ")
        self.assertRegex(calls, "--name strong30 .*--ranks 1,2 ")
        self.assertIn("--transport staged", calls)

    def test_makes_the_tables_of_kept_reports_again(self):
        self.run_it()
        kept = self.page()
        os.remove(os.path.join(self.out, "scaling.md"))
        os.remove(os.path.join(self.folder, "calls"))
        code, output = self.run_it("--tables")
        self.assertEqual(code, 0, output)
        self.assertEqual(self.page(), kept)
        with open(os.path.join(self.folder, "calls"), encoding="utf-8") as file:
            self.assertEqual({line.split()[0] for line in file}, {"predict"})

    def test_tables_of_a_directory_without_reports_are_a_failure(self):
        os.makedirs(self.out)
        kept = os.path.join(self.out, "scaling.md")
        with open(kept, "w", encoding="utf-8") as file:
            file.write("kept")
        code, output = self.run_it("--tables")
        self.assertEqual(code, 1, output)
        self.assertIn("has no reports with a link", output)
        self.assertEqual(self.page(), "kept")

    def test_a_link_that_is_no_report(self):
        path = os.path.join(self.folder, "link.json")
        for text in ("", "[]", "{}", '{"rows": null}'):
            with self.subTest(text=text):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                self.assertRaisesRegex(gpus.Failed, "is no report", gpus.link_of, path)
        self.assertRaisesRegex(gpus.Failed, "is no report", gpus.link_of, os.path.join(self.folder, "nothing"))

    def test_tests_need_their_program(self):
        code, output = self.run_it("--only", "weak,tests")
        self.assertEqual(code, 2)
        self.assertIn("no --tests names their program", output)

    def test_says_what_failed(self):
        self.write([row("dot", 1e-5)])
        code, output = self.run_it()
        self.assertNotIn("## Scaling", self.page())
        self.assertEqual(code, 1)
        self.assertIn("no row of transpose", output)

    def test_goes_on_if_the_link_cannot_be_measured(self):
        code, output = self.run_it("--launcher", "there_is_no_such_launcher {ranks}")
        self.assertEqual(code, 1)
        self.assertIn("link: there_is_no_such_launcher: No such file", output)
        self.assertIn("the launch of `link` failed", output)
        self.assertIn("the launch of `link-staged` failed", output)
        self.assertNotIn("| map |", self.page())

    def test_begins_nothing_when_its_seconds_are_over(self):
        code, output = self.run_it("--seconds", "0")
        self.assertEqual(code, 1)
        self.assertIn("link: left out", output)
        self.assertNotIn("| map |", self.page())

    def test_ends_a_launch_when_its_seconds_are_over(self):
        began = time.monotonic()
        code, output = self.run_it("--only", "staged", "--seconds", "1", "--launcher", "sh -c 'exec sleep 20' {ranks}")
        self.assertEqual(code, 1)
        self.assertIn("(exit code -15)", output)
        self.assertLess(time.monotonic() - began, 15)

    def test_runs_only_what_is_asked_for(self):
        code, output = self.run_it("--only", "staged")
        self.assertEqual(code, 0, output)
        self.assertIn("link-staged", output)
        self.assertNotIn("link:", output)
        self.assertEqual(self.run_it("--only", "week")[0], 2)

    def test_one_gpu_is_a_mistake(self):
        self.assertEqual(self.run_it("--gpus", "1")[0], 2)


if __name__ == "__main__":
    unittest.main()
