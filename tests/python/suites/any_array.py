#!/usr/bin/env python3
"""Runs test_any_array.py, hypothesis' arrays against NumPy, with more examples than CI, and writes a log.

    any_array.py [--log FILE] [--max-examples N]

`computed` and `refused` count the examples for which Tessera returned a result and raised an error.

Exit code: 0 all passed, 1 one failed.
"""

import argparse
import collections
import functools
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


class Recorder(unittest.TestResult):
    """What each test came to."""

    def __init__(self, counts):
        super().__init__()
        self.counts, self.tests = counts, []

    def add(self, test, outcome, **more):
        counted = {"computed": self.counts["computed"], "refused": self.counts["refused"]}
        self.tests.append({"name": test.id(), "outcome": outcome, **counted, **more})

    def startTest(self, test):
        super().startTest(test)
        self.counts.clear()

    def addSuccess(self, test):
        self.add(test, "passed")

    def addFailure(self, test, error):
        self.add(test, "failed", reason=str(error[1]).split("\n")[0])

    addError = addFailure

    def addSkip(self, test, reason):
        self.add(test, "skipped", reason=reason)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", default="any_array.json")
    parser.add_argument("--max-examples", type=int, default=2000)
    options = parser.parse_args()
    log = os.path.abspath(options.log)
    sys.path[:0] = [HERE, os.path.dirname(HERE)]

    import hypothesis
    import logs

    hypothesis.settings = functools.partial(_settings, hypothesis.settings, options.max_examples)
    import test_any_array

    counts = collections.Counter()
    check = test_any_array.AnyArray.check

    def counted_check(self, function, *arguments, **more):
        def counted(*inputs):
            try:
                found = function(*inputs)
            except Exception:
                counts["refused"] += 1
                raise
            counts["computed"] += 1
            return found

        check(self, counted, *arguments, **more)

    test_any_array.AnyArray.check = counted_check
    recorder = Recorder(counts)
    unittest.defaultTestLoader.loadTestsFromModule(test_any_array).run(recorder)
    return logs.write(log, "test_any_array.py", recorder.tests, examples=options.max_examples,
                      versions=logs.versions(hypothesis=hypothesis.__version__))  # fmt: skip


def _settings(settings, examples, **more):
    return settings(**{**more, "max_examples": examples})


if __name__ == "__main__":
    sys.exit(main())
