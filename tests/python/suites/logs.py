"""The log of a suite: what ran, what came of it, and why something was left out."""

import collections
import json
import platform

import numpy

import tessera


def versions(**others):
    return {"python": platform.python_version(), "numpy": numpy.__version__, **others}


def write(path, suite, tests, **more):
    """Writes a log and prints a summary. Each test is a dict with its name, its outcome (passed, failed or skipped) and
    more, without times and paths: the log of a second run is the same. Returns the exit code: 1 if a test failed or
    none passed."""
    counts = collections.Counter(test["outcome"] for test in tests)
    document = {"suite": suite, **more, "dtypes": list(tessera.dtypes)}
    document["summary"] = {outcome: counts[outcome] for outcome in ("passed", "failed", "skipped")}
    document["tests"] = tests
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")
    for test in tests:
        if test["outcome"] == "failed":
            print(f"failed: {test['name']}: {test['reason']}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not counts["passed"] else 0
