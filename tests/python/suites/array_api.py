#!/usr/bin/env python3
"""Runs data-apis/array-api-tests on Tessera's functions, and writes a log.

    array_api.py SUITE [--log FILE] [--max-examples N] [--path FOLDER]...

SUITE: a checkout of github.com/data-apis/array-api-tests, with its submodule array-api. What its requirements.txt names
must be importable, for example from a FOLDER. Only the tests of functions that Tessera has are run. A test that never
called Tessera counts as skipped.

Exit code: 0 all passed, 1 one failed.
"""

import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

TESTS = [
    "test_indexing_functions.py::test_take",
    "test_linalg.py::test_linalg_matmul",
    "test_linalg.py::test_linalg_matrix_transpose",
    "test_linalg.py::test_linalg_vecdot",
    "test_linalg.py::test_matmul",
    "test_linalg.py::test_matrix_transpose",
    "test_linalg.py::test_vecdot",
    "test_linalg.py::test_vecdot_conj",
    "test_set_functions.py::test_unique_counts",
    "test_sorting_functions.py::test_argsort",
    "test_sorting_functions.py::test_sort",
    "test_special_cases.py::test_empty_arrays[sum]",
    "test_special_cases.py::test_nan_propagation[sum]",
    "test_statistical_functions.py::test_cumulative_sum",
    "test_statistical_functions.py::test_sum",
]
SKIPPED_DTYPES = ["int8", "int16", "uint8", "uint16", "uint32", "uint64", "complex64"]


class Recorder:
    """A plugin of pytest: what each test came to, and how often it called Tessera."""

    def __init__(self, calls):
        self.calls, self.tests = calls, []

    def pytest_runtest_setup(self):
        self.calls.clear()

    def pytest_runtest_logreport(self, report):
        if report.when != "call" and report.passed:
            return
        ours = self.calls[None]
        test = {"name": report.nodeid.split("/")[-1], "outcome": report.outcome, "calls of Tessera": ours}
        others = {reason: count for reason, count in sorted(self.calls.items(), key=str) if reason}
        if others:
            test["calls of NumPy"] = others
        if report.skipped:
            test["reason"] = report.longrepr[2]
        elif report.failed:
            test["reason"] = report.longrepr.reprcrash.message.split("\n")[0]
        elif ours == 0:
            test["outcome"], test["reason"] = "skipped", "no example is for Tessera"
        self.tests.append(test)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite")
    parser.add_argument("--log", default="array_api.json")
    parser.add_argument("--max-examples", default="2000")
    parser.add_argument("--path", action="append", default=[])
    options = parser.parse_args()
    log = os.path.abspath(options.log)
    sys.path[:0] = [HERE, *map(os.path.abspath, options.path), os.path.abspath(options.suite)]
    os.environ["ARRAY_API_TESTS_MODULE"] = "tessera_namespace"
    # The suite needs bool, int64 and complex128, which go to NumPy; of the others more examples are left for Tessera.
    os.environ["ARRAY_API_TESTS_SKIP_DTYPES"] = ",".join(SKIPPED_DTYPES)
    # By name, so that installed plugins and those in a FOLDER are loaded alike.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.chdir(options.suite)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()

    import hypothesis
    import logs
    import pytest
    import tessera_namespace

    recorder = Recorder(tessera_namespace.calls)
    plugins = ("no:cacheprovider", "_hypothesis_pytestplugin", "pytest_metadata.plugin", "pytest_jsonreport.plugin")
    arguments = ["-q", "--derandomize", "--disable-deadline", *(word for name in plugins for word in ("-p", name))]
    arguments += ["--max-examples", options.max_examples, *(f"array_api_tests/{test}" for test in TESTS)]
    code = pytest.main(arguments, plugins=[recorder])
    versions = logs.versions(hypothesis=hypothesis.__version__, pytest=pytest.__version__)
    found = logs.write(log, "data-apis/array-api-tests", recorder.tests, commit=commit, versions=versions,
                       examples=int(options.max_examples))  # fmt: skip
    return 1 if code not in (0, 1) or len(recorder.tests) != len(TESTS) else found


if __name__ == "__main__":
    sys.exit(main())
