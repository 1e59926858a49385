"""measure.py with a program that only pretends to measure: what is run, what is left out, what is not run again."""

import argparse
import contextlib
import io
import json
import os
import re
import stat
import sys
import tempfile
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "plot"))
sys.dont_write_bytecode = True

import made_reports  # noqa: E402  (tests/plot)
import measure  # noqa: E402

# Records its arguments and writes the prepared report with its command; fails for softmax.
PROGRAM = """#!{python}
import json, sys
if sys.argv[1] == "list":
    print("conv2d   5 variants\\ndot   10 variants\\nsoftmax   2 variants")
    sys.exit(0)
if sys.argv[1] == "--version":
    print("tessera 0.2.0\\ndtypes   {dtypes}")
    sys.exit(0)
with open("{folder}/calls", "a") as calls:
    print(*sys.argv[1:], file=calls)
if "softmax" in sys.argv[2]:
    print("it broke")
    sys.exit(1)
with open("{folder}/made.json") as file:
    report = json.load(file)
report["system"]["command"] = " ".join(["tessera", *sys.argv[1:]])
with open(sys.argv[sys.argv.index("--json") + 1], "w") as file:
    json.dump(report, file)
print("TESSERA rows=2")
"""

# Takes the place of pytorch.py.
TORCH = """
import shutil, sys
with open("{folder}/calls", "a") as calls:
    print("pytorch", *sys.argv[1:], file=calls)
for ours, other in zip(sys.argv[1:], sys.argv[sys.argv.index("--json") + 1:]):
    shutil.copy(ours, other)
"""


class Measure(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        rows = [
            {"app": "dot", "variant": "lane_reduce", "seconds": 1e-3},
            {"app": "dot", "variant": "cub", "level": "library", "seconds": 2e-3},
        ]
        with open(os.path.join(self.folder, "made.json"), "w", encoding="utf-8") as file:
            json.dump(made_reports.report(rows), file)
        self.program = os.path.join(self.folder, "tessera_peers")
        self.write_program("float, half, bfloat16")
        self.out = os.path.join(self.folder, "out")

    def write_program(self, dtypes):
        with open(self.program, "w", encoding="utf-8") as file:
            file.write(PROGRAM.format(python=sys.executable, folder=self.folder, dtypes=dtypes))
        os.chmod(self.program, stat.S_IRWXU)

    def run_it(self, *options):
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            try:
                code = measure.main([self.program, self.out, *options])
            except SystemExit as error:
                code = error.code
        return code, output.getvalue()

    def calls(self):
        with open(os.path.join(self.folder, "calls"), encoding="utf-8") as file:
            return file.read().splitlines()

    def test_runs_what_the_program_has_and_writes_the_table(self):
        code, output = self.run_it("--only", "sizes,matmul", "--space", "openmp")
        self.assertEqual(code, 0, output)
        self.assertIn("matmul: left out", output)
        self.assertEqual(len(self.calls()), 1)
        self.assertTrue(
            self.calls()[0].startswith("run dot --size 2^22,2^24,2^26,2^30 --space openmp --json"), self.calls()
        )
        with open(os.path.join(self.out, "ratios.md"), encoding="utf-8") as file:
            self.assertIn("| `lane_reduce` |", file.read())

    def test_every_peer_has_a_case_of_its_own(self):
        measured = {app for apps, _, _, _ in measure.CASES.values() for app in apps}
        for library in os.listdir(HERE):
            folder = os.path.join(HERE, library)
            for source in os.listdir(folder) if os.path.isdir(folder) else []:
                if source.endswith(".cpp"):
                    self.assertIn(source.removesuffix(".cpp"), measured, library)

    def test_every_variant_that_a_case_names_exists(self):
        sources = {}
        for app in {app for apps, _, _, _ in measure.CASES.values() for app in apps}:
            folder = os.path.join(HERE, "..", "..", "apps", app, "variants")
            sources[app] = {source.split(".")[0] for source in os.listdir(folder)}
        for library in ("cub", "cublas"):
            for source in os.listdir(os.path.join(HERE, library)):
                sources[source.removesuffix(".cpp")].add(library)
        sources["sort"].add("cub_64")
        for name, (apps, _, _, _) in measure.CASES.items():
            options = argparse.Namespace(program="tessera_peers", quick=False, space="cuda")
            command = measure.command_of(name, options, {*apps, *measure.SHORT.split(",")}, "report.json")
            if "--variant" in command:
                for variant in command[command.index("--variant") + 1].split(","):
                    for app in apps:
                        self.assertIn(variant, sources[app], name)

    def test_orders_are_compared_with_the_library_of_the_space(self):
        for space, library in (("cuda", "cub,cub_64"), ("openmp", "std")):
            options = argparse.Namespace(program="tessera_peers", quick=False, space=space)
            command = measure.command_of("sort-uint64-values", options, {"sort"}, "report.json")
            self.assertIn(f"radix,onesweep,{library}", command)
            self.assertEqual(command[command.index("--dtype") + 1], "uint64")

    def test_sorts_of_every_distribution_but_uniform(self):
        header = os.path.join(HERE, "..", "..", "common", "include", "tessera", "core", "keys.hpp")
        with open(header, encoding="utf-8") as file:
            names = re.findall(r'\{"(\w+)", KeyDistribution::', file.read())
        self.assertIn("zipf", names)
        options = argparse.Namespace(program="tessera_peers", quick=False, space="cuda")
        for name in names:
            # Reversed keys are as sorted ones; uniform keys have cases of their own.
            for case in () if name in ("uniform", "reversed") else (f"sort-{name}", f"sort-{name}-values"):
                command = measure.command_of(case, options, {"sort"}, "report.json")
                self.assertEqual(command[command.index("--distribution") + 1], name)
                self.assertEqual(command[command.index("--values") + 1], "index" if "values" in case else "none")

    def test_does_not_measure_again_what_is_there(self):
        self.run_it("--only", "sizes")
        code, output = self.run_it("--only", "sizes,small")
        self.assertEqual(code, 0, output)
        self.assertEqual(len(self.calls()), 2, "the second call runs the second case alone")

    def test_measures_again_what_was_interrupted(self):
        os.makedirs(self.out)
        with open(os.path.join(self.out, "sizes-peers.json"), "w", encoding="utf-8") as file:
            json.dump(made_reports.report([], finished=False), file)
        code, output = self.run_it("--only", "sizes")
        self.assertEqual(code, 0, output)
        self.assertEqual(len(self.calls()), 1)
        self.assertTrue(self.calls()[0].endswith("--json sizes-peers.json"), "a report's command names no directory")

    def test_measures_again_what_is_no_report(self):
        path = os.path.join(self.folder, "report.json")
        for text in ("", "[]", "null", "{}", '{"system": null}'):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            self.assertFalse(measure.is_whole(path, ["tessera"]), text)

    def test_measures_again_what_another_command_measured(self):
        for options in (["--quick"], [], ["--quick"], []):
            self.run_it("--only", "sizes", *options)
        self.assertEqual(len(self.calls()), 4)
        with unittest.mock.patch.dict(measure.CASES, {"sizes": (["dot"], "2^22", [], False)}):
            self.run_it("--only", "sizes")
        self.assertIn("--size 2^22 --space", self.calls()[4])

    def test_short_floats_need_a_build_with_them(self):
        code, output = self.run_it("--only", "short")
        self.assertEqual(code, 0, output)
        self.assertEqual(
            self.calls(), ["run dot --size 2^24,2^28 --dtype half,bfloat16 --space cuda --json short-peers.json"]
        )
        os.remove(os.path.join(self.out, "short-peers.json"))
        self.write_program("float, double")
        code, output = self.run_it("--only", "short")
        self.assertIn("short: left out", output)
        self.assertEqual(len(self.calls()), 1)

    def test_short_segments_have_the_variant_for_them(self):
        options = argparse.Namespace(program="tessera_peers", quick=False, space="cuda")
        command = measure.command_of("sort_segments-uniform", options, {"sort_segments"}, "report.json")
        self.assertIn("lanes_per_segment,sort_twice,mixed,cub", command)

    def test_pytorch_is_one_process_after_its_last_case(self):
        script = os.path.join(self.folder, "pytorch.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(TORCH.format(folder=self.folder))
        with open(os.path.join(self.folder, "torch.py"), "w", encoding="utf-8"):
            pass
        mocked = unittest.mock.patch.multiple(measure, PYTORCH=script)
        with mocked, unittest.mock.patch.dict(os.environ, {"PYTHONPATH": self.folder}):
            # softmax fails, matmul is left out, and sizes is not for PyTorch.
            only = "all-2p28,conv2d-7x7,softmax-rows,sizes,matmul"
            code, output = self.run_it("--only", only)
            self.assertEqual(code, 1, output)
            pytorch = [call for call in self.calls() if call.startswith("pytorch")]
            peers = "all-2p28-peers.json conv2d-7x7-peers.json"
            theirs = peers.replace("peers", "pytorch")
            self.assertEqual(pytorch, [f"pytorch {peers} --json {theirs} --device cuda"])
            self.assertTrue(self.calls()[-1].startswith("run dot --size 2^22"), "sizes follows PyTorch")
            self.run_it("--only", only)
            self.assertEqual(len([call for call in self.calls() if call.startswith("pytorch")]), 1)
            os.remove(os.path.join(self.out, "all-2p28-pytorch.json"))
            self.run_it("--only", only)
            self.assertEqual(len([call for call in self.calls() if call.startswith("pytorch")]), 2)

    def test_what_fails_is_said_and_the_others_go_on(self):
        code, output = self.run_it("--only", "softmax-rows,sizes")
        self.assertEqual(code, 1)
        self.assertIn("softmax-rows-peers.json: it broke", output)
        self.assertEqual(len(self.calls()), 2)

    def test_quick_takes_small_sizes(self):
        self.run_it("--only", "small", "--quick")
        self.assertIn("--size 2^10,2^11,2^12 --samples 1", self.calls()[0])

    def test_without_any_report(self):
        code, output = self.run_it("--only", "matmul")
        self.assertEqual(code, 2)
        self.assertIn("there is no report", output)

    def test_mistakes_of_the_user(self):
        code, output = self.run_it("--only", "sizess")
        self.assertEqual((code, output.count("\n")), (2, 1))
        self.assertIn("there is no case 'sizess'", output)
        self.program = os.path.join(self.folder, "nothing")
        code, output = self.run_it()
        self.assertEqual((code, output.count("\n")), (2, 1))
        self.assertIn("build the target tessera_peers", output)


if __name__ == "__main__":
    unittest.main()
