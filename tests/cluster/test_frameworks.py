"""What ReFrame, Ramble, Benchpark and Extra-P are given, with stand-ins for their base classes, and reports of real
runs: where a key of the report or a word of `--lines` is renamed, these fail."""

import contextlib
import importlib.util
import io
import json
import os
import re
import sys
import tempfile
import types
import unittest
from unittest import mock

sys.dont_write_bytecode = True
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
CLUSTER = os.path.join(ROOT, "common", "cluster")
DATA = os.path.join(ROOT, "tests", "data")
CPU = os.path.join(DATA, "intel-xeon-2.json")
GPUS = os.path.join(DATA, "nvidia-h200-x2")


def load(*path):
    """The module of a file, whatever it imports now."""
    spec = importlib.util.spec_from_file_location("under_test", os.path.join(CLUSTER, *path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stand_ins(**modules):
    """Modules of these names ("a__b" is a.b) with these attributes, while the context lasts."""
    made = {}
    for name, attributes in modules.items():
        name = name.replace("__", ".")
        for end in range(1, name.count(".") + 2):
            parent = ".".join(name.split(".")[:end])
            made.setdefault(parent, types.ModuleType(parent))
        made[name].__dict__.update(attributes)
    return mock.patch.dict(sys.modules, made)


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


# ----------------------------------------------------------------------------------------------------------------------
# Extra-P
# ----------------------------------------------------------------------------------------------------------------------


class ExtraP(unittest.TestCase):
    def setUp(self):
        self.module = load("to_extrap.py")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def written(self, report):
        path = os.path.join(self.folder, "r.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file)
        return path

    def lines(self, *paths):
        return [json.loads(line) for line in self.module.export(paths, self.module.METRICS).splitlines()]

    def test_sizes_of_a_run_on_one_rank(self):
        lines = self.lines(CPU)
        report = read(CPU)
        # Every passed row of a generated case is one line per metric; unknown values are omitted.
        passed = [row for row in report["rows"] if row["status"] == "passed" and report["input"][row["case"]]["size"]]
        self.assertGreater(len(passed), 300)
        for metric in ("seconds", "bytes_per_second"):
            known = [row for row in passed if row[metric] is not None]
            self.assertEqual(sum(line["metric"] == metric for line in lines), len(known))
        # The format requires numeric params and a value. The number of ranks did not vary and is left out.
        for line in lines:
            self.assertEqual(set(line), {"params", "callpath", "metric", "value"})
            self.assertEqual(list(line["params"]), ["size"])
            self.assertIsInstance(line["value"], float)
        (row,) = [
            row
            for row in passed
            if row["app"] == "dot"
            and row["variant"] == "range_reduce"
            and report["input"][row["case"]]["size"] == 2**24
        ]
        self.assertIn(
            {
                "params": {"size": 2**24},
                "callpath": "dot->range_reduce->openmp->float",
                "metric": "seconds",
                "value": row["seconds"],
            },
            lines,
        )

    def test_ranks_of_two_runs(self):
        lines = self.lines(os.path.join(GPUS, "one-2p20-2p24.json"), os.path.join(GPUS, "two-2p20-2p24.json"))
        seconds = [line for line in lines if line["metric"] == "seconds"]
        self.assertEqual({line["params"]["ranks"] for line in seconds}, {1, 2})
        self.assertEqual({line["params"]["size"] for line in seconds}, {2**20, 2**24})
        sent = {
            line["callpath"]: line["value"]
            for line in lines
            if line["metric"] == "bytes_sent" and line["params"]["size"] == 2**24
        }
        self.assertEqual(sent["transpose->distributed->cuda->float"], 2**24 * 4 / 2)

    def test_mistakes(self):
        endless = read(CPU)
        endless["system"]["finished"] = None
        failed = read(CPU)
        for row in failed["rows"]:
            row["status"] = "failed"
        one = read(CPU)
        one["rows"] = [row for row in one["rows"] if one["input"][row["case"]]["size"] == 2**20]
        without = read(CPU)
        del without["rows"][5]["seconds"]
        for report, message in (
            (endless, "has not ended"),
            (failed, "no row to export"),
            (one, "one size and one number of ranks"),
            ([], "schema"),
            (without, "not whole"),
        ):
            with self.assertRaisesRegex(self.module.UserError, message):
                self.module.export([self.written(report)], self.module.METRICS)
        with mock.patch.object(sys, "argv", ["to_extrap.py", os.path.join(self.folder, "none.json")]):
            error = io.StringIO()
            with contextlib.redirect_stderr(error):
                self.assertEqual(self.module.main(), 2)
        self.assertEqual(error.getvalue().count("\n"), 1)


# ----------------------------------------------------------------------------------------------------------------------
# ReFrame
# ----------------------------------------------------------------------------------------------------------------------


class ReFrame(unittest.TestCase):
    """The hooks are called in the order in which ReFrame calls them."""

    def load(self):
        hooks = {}

        def run_before(phase):
            return lambda hook: hooks.setdefault(phase, hook)

        functions = {
            "make_performance_function": lambda value, unit: (value, unit),
            "defer": lambda value: value,
            "assert_true": lambda value, msg: value or self.fail(msg),
        }
        with stand_ins(
            reframe={"simple_test": lambda test: test, "RunOnlyRegressionTest": object},
            reframe__core__builtins={
                "parameter": list,
                "variable": lambda kind, value: value,
                "run_before": run_before,
                "sanity_function": lambda function: hooks.setdefault("sanity", function),
            },
            reframe__utility__sanity=functions,
        ):
            sys.modules["reframe.utility"].sanity = sys.modules["reframe.utility.sanity"]
            module = load("tessera_reframe.py")
        return module, hooks

    def run_with(self, report):
        module, hooks = self.load()
        test = module.TesseraTest()
        test.app = "dot"
        with tempfile.TemporaryDirectory() as test.stagedir:
            with open(os.path.join(test.stagedir, module.REPORT), "w", encoding="utf-8") as file:
                json.dump(report, file)
            hooks["run"](test)
            hooks["sanity"](test)
            hooks["performance"](test)
        return test

    @staticmethod
    def one_case():
        report = read(CPU)
        number = next(i for i, case in enumerate(report["input"]) if case["app"] == "dot" and case["size"] == 2**24)
        report["rows"] = [row for row in report["rows"] if row["case"] == number]
        return report

    def test_a_run_that_is_right(self):
        report = self.one_case()
        report["rows"][-1].update(status="skipped", reason="no room")
        test = self.run_with(report)
        self.assertEqual(
            test.executable_opts, "run dot --size 2^24 --variant all --space all --json report.json".split()
        )
        passed = [row for row in report["rows"] if row["status"] == "passed"]
        self.assertGreater(len(passed), 3)
        self.assertEqual(len(test.perf_variables), 3 * len(passed))
        row = passed[0]
        for what, unit in (("seconds", "s"), ("bytes_per_second", "B/s"), ("share_of_roof", "1")):
            self.assertEqual(test.perf_variables[f"{row['variant']}_openmp_float_{what}"], (row[what], unit))

    def test_a_run_that_is_wrong(self):
        for change, message in (
            (lambda report: report["rows"][1].update(status="failed", reason="element 3"), "failed .element 3"),
            (lambda report: report["rows"][1].update(status="weak"), "weak"),
            (lambda report: report["system"].update(finished=None), "did not end"),
            (lambda report: report.update(rows=[]), "no row passed"),
            (lambda report: report.update(schema="tessera-report/2"), "tessera-report/2"),
        ):
            report = self.one_case()
            change(report)
            with self.assertRaisesRegex(AssertionError, message):
                self.run_with(report)


# ----------------------------------------------------------------------------------------------------------------------
# Ramble
# ----------------------------------------------------------------------------------------------------------------------


class Ramble(unittest.TestCase):
    def setUp(self):
        self.calls = []

        def directive(name):
            return lambda *words, **named: self.calls.append((name, words, named))

        names = ("tags", "software_spec", "required_package", "executable", "workload", "workload_variable",
                 "environment_variable", "archive_pattern", "figure_of_merit", "figure_of_merit_context",
                 "success_criteria")  # fmt: skip
        with stand_ins(ramble__appkit={"ExecutableApplication": object, **{name: directive(name) for name in names}}):
            load("ramble", "applications", "tessera", "application.py")

    def of(self, name):
        return [(words, named) for called, words, named in self.calls if called == name]

    def test_the_command_has_a_value_for_each_variable(self):
        ((words, named),) = self.of("executable")
        self.assertTrue(named["use_mpi"])
        values = {words[0]: named["default"] for words, named in self.of("workload_variable")}
        values["experiment_run_dir"] = "/there"
        self.assertEqual(
            words[1].format(**values),
            "tessera run dot --size 67108864 --variant all --space all --lines  --json /there/report.json",
        )
        # Ramble evaluates what it expands: 2^26 would be an exclusive or.
        self.assertNotIn("^", "".join(values.values()))

    def test_figures_of_merit_of_the_lines_in_the_pages(self):
        with open(os.path.join(ROOT, "docs", "reports.md"), encoding="utf-8") as file:
            line = re.search(r"^(TESSERA row .*)$", file.read(), re.MULTILINE).group(1)
        for name, value in (("seconds", "1.5e-06"), ("bytes_per_second", "5.5e+09"), ("share_of_roof", "0.25")):
            line = line.replace(f" {name}=...", f" {name}={value}")
        ((_, context),) = self.of("figure_of_merit_context")
        self.assertTrue(re.search(context["regex"], line), line)
        merits = {words[0]: named for words, named in self.of("figure_of_merit")}
        for name, value in (("seconds", "1.5e-06"), ("bytes_per_second", "5.5e+09"), ("share_of_roof", "0.25")):
            merit = merits.pop(name)
            self.assertEqual(re.search(merit["fom_regex"], line).group(merit["group_name"]), value)
            # An unknown value is no figure.
            self.assertIsNone(re.search(merit["fom_regex"], line.replace(value, "-")))
        last = "TESSERA rows=12 passed=11 failed=1 skipped=0 weak=0"
        for name, value in (("rows", "12"), ("passed", "11"), ("failed", "1")):
            merit = merits.pop(name)
            self.assertEqual(re.search(merit["fom_regex"], last).group(merit["group_name"]), value)
        self.assertFalse(merits)
        ((_, criterion),) = self.of("success_criteria")
        self.assertIsNone(re.search(criterion["match"], last))
        self.assertIsNone(re.search(criterion["match"], "TESSERA rows=1 passed=0 failed=0 skipped=1 weak=0"))
        self.assertTrue(re.search(criterion["match"], last.replace("failed=1", "failed=0")))


# ----------------------------------------------------------------------------------------------------------------------
# Benchpark
# ----------------------------------------------------------------------------------------------------------------------


class Value:
    """A variable of a scaling configuration."""

    def __init__(self, value):
        self.value = value

    def val(self, _):
        return self.value


class Benchpark(unittest.TestCase):
    def experiment(self, *words):
        """The experiment of a spec that these words satisfy, after its section was computed: variables and scaling."""
        variants = {}

        class Experiment:
            name = "tessera"

            def __init__(self):
                self.variables, self.scaling, self.packages = {}, {}, {}
                self.spec = types.SimpleNamespace(
                    satisfies=lambda word: word in words,
                    variants={name: [value] for name, value in variants.items()},
                )

            def add_experiment_variable(self, name, value, named=False):
                self.variables[name] = value

            def set_required_variables(self, **named):
                assert set(named) <= {"n_resources", "process_problem_size", "total_problem_size"}, named
                self.variables.update(named)

            def register_scaling_config(self, config):
                self.scaling = config

            def add_package_spec(self, name, spec):
                self.packages[name] = spec

            def determine_version(self):
                return "@" + self.spec.variants["version"][0]

        models = types.SimpleNamespace(Mpionly="mpi", Openmp="openmp", Cuda="cuda", Rocm="rocm")
        modes = types.SimpleNamespace(Strong="strong", Weak="weak", Throughput="throughput")
        with stand_ins(
            benchpark__directives={"variant": lambda name, default, **_: variants.update({name: default})},
            benchpark__experiment={"Experiment": Experiment},
            benchpark__programming_model={
                "ProgrammingModel": lambda *_: type("Model", (), {}),
                "ProgrammingModelType": models,
            },
            benchpark__scaling={"Scaling": lambda *modes: type("Scaling", (), {"modes": modes}), "ScalingMode": modes},
        ):
            experiment = load("benchpark", "experiments", "tessera", "experiment.py").Tessera()
        experiment.compute_applications_section()
        experiment.compute_package_section()
        return experiment

    def test_what_benchpark_asks_of_every_experiment(self):
        for words, space, resource in (
            (("+cuda", "~openmp"), "cuda", "n_gpus"),
            (("+rocm", "~openmp"), "hip", "n_gpus"),
            (("+openmp",), "openmp", "n_ranks"),
            (("~openmp",), "serial", "n_ranks"),
        ):
            experiment = self.experiment(*words)
            variables = experiment.variables
            for name in ("n_resources", "process_problem_size", "total_problem_size"):
                self.assertIn(name, variables)
            self.assertEqual(variables["space"], space)
            self.assertEqual(variables[resource], "{n_resources}")
            self.assertEqual(variables["variant"], "distributed")
            self.assertEqual(experiment.packages, {"tessera": ["tessera@main +mpi"]})
        self.assertEqual(self.experiment("exec_mode=test", "+openmp").variables["total_problem_size"], 2**20)

    def test_the_application_gets_all_that_its_command_names(self):
        variables = self.experiment("+openmp").variables
        path = os.path.join(CLUSTER, "ramble", "applications", "tessera", "application.py")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        wanted = set(re.findall(r"\{(\w+)\}", re.search(r"executable\((.*?)use_mpi", text, re.S).group(1)))
        wanted |= set(re.findall(r'"\{(n_threads)\}"', text))
        self.assertEqual(wanted - set(variables) - {"experiment_run_dir", "options"}, set())

    def test_scaling(self):
        experiment = self.experiment("+cuda")
        self.assertEqual(set(experiment.scaling), {"strong", "weak", "throughput"})
        after = {}
        for mode, rules in experiment.scaling.items():
            after[mode] = {name: rule(Value(experiment.variables[name]), 1, None, 4) for name, rule in rules.items()}
        size = 2**28
        self.assertEqual(after["strong"], {"n_resources": 4, "total_problem_size": size})
        self.assertEqual(after["weak"], {"n_resources": 4, "total_problem_size": 4 * size})
        self.assertEqual(after["throughput"], {"n_resources": 1, "total_problem_size": 4 * size})


if __name__ == "__main__":
    unittest.main()
