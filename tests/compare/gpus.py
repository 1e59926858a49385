#!/usr/bin/env python3
"""How every distributed row scales over the GPUs of one host, with the model's prediction beside each time.

    tests/compare/gpus.py build/cuda-hopper90/bin/tessera DIRECTORY --gpus 4 [--tests .../bin/ranks_tests]

One rank per GPU, all mini-apps in one launch, results checked on a sample. First the link of two GPUs: latency from the
messages of `dot`, bandwidth from those of `transpose`. Then these steps, of which --only selects some:

    weak     2^28 elements per GPU on 1, 2, 4, ... GPUs
    strong   2^28 and 2^30 elements on 1, 2, 4, ... GPUs
    staged   the weak launch of all GPUs, through host memory
    tests    ranks_tests on as many ranks as GPUs, and on twice as many, which share them

Launches of weak and strong that are done are not repeated. The tables are in DIRECTORY/scaling.md: time, efficiency,
time over the prediction. The prediction takes the roofs of one GPU and the link. Rows over 1.15 of it are listed: they
want an explanation.

--quick takes small sizes: to see that all of it runs, for no figure.
Exit code: 0 all well, 1 something failed, 2 a mistake.
"""

import argparse
import csv
import json
import os
import shlex
import subprocess
import sys
import time

STEPS = ("weak", "strong", "staged", "tests")
SLOW = 1.15  # times the prediction


class Failed(Exception):
    """A step has no usable result. Says why."""


def link_of(path):
    """Latency in seconds and bandwidth of a rank in bytes per second, from a report of `dot` and `transpose` on two."""
    with open(path, encoding="utf-8") as file:
        passed = [row for row in json.load(file)["rows"] if row["status"] == "passed" and row.get("ranks")]
    ranks = {row["app"]: row["ranks"] for row in passed}
    for app in ("dot", "transpose"):
        if app not in ranks or ranks[app]["count"] != 2:
            raise Failed(f"{path} has no row of {app} that passed on two ranks")
    latency = ranks["dot"]["communication_seconds"]["min"]
    bulk = ranks["transpose"]
    seconds = bulk["communication_seconds"]["min"] - latency
    if latency <= 0 or seconds <= 0:
        raise Failed(f"{path}: no time for messages")
    return latency, bulk["bytes_sent"] / 2 / seconds


def read_predictions(folder):
    """The rows of a study's predictions.csv, with numbers as numbers."""
    path = os.path.join(folder, "predictions.csv")
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        raise Failed(f"{path}: {error.strerror}") from error
    for row in rows:
        row.update({key: int(row[key]) for key in ("size", "ranks", "noisy")})
        row.update({key: float(row[key]) for key in ("predicted_seconds", "measured_seconds")})
        row["times"] = row["measured_seconds"] / row["predicted_seconds"]
    return rows


def time_text(seconds):
    """Three digits and a unit: 1.23 ms."""
    for unit, scale in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            break
    return f"{seconds / scale:.3g} {unit}"


def table_of(rows, weak):
    """The lines of a table: a line per mini-app, a column per number of ranks. Efficiency is against one rank."""
    counts = sorted({row["ranks"] for row in rows})
    by = {(row["app"], row["ranks"]): row for row in rows}
    heads = [f"{n} rank{'s' * (n > 1)}" for n in counts]
    lines = ["| mini-app | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(counts)]
    for app in sorted({row["app"] for row in rows}):
        cells = []
        for n in counts:
            row, one = by.get((app, n)), by.get((app, 1))
            if row is None:
                cells.append("")
                continue
            text = time_text(row["measured_seconds"]) + "~" * row["noisy"]
            if one and n > 1:
                text += f"; {one['measured_seconds'] / row['measured_seconds'] / (1 if weak else n):.0%}"
            cells.append(f"{text}; {row['times']:.2f}")
        lines.append(f"| {app} | " + " | ".join(cells) + " |")
    return lines


def slow_lines(rows):
    """A line for each row that is slower than the prediction by more than SLOW, the slowest first."""
    slow = sorted((row for row in rows if row["times"] > SLOW), key=lambda row: -row["times"])
    return [
        f"- `{row['app']}` on {row['ranks']}: {time_text(row['measured_seconds'])}, {row['times']:.2f} of the "
        f"predicted {time_text(row['predicted_seconds'])} ({row['bound']})"
        for row in slow
    ]


class Host:
    """The launches of one comparison, and what they say."""

    def __init__(self, options):
        self.options = options
        self.began = time.monotonic()
        self.failed = 0
        self.ranks = [n for n in (1, 2, 4, 8, 16) if n < options.gpus] + [options.gpus]
        self.few = ["--samples", "5"] if not options.quick else ["--samples", "1", "--min-time", "0", "--warmup", "0"]

    def path(self, name):
        return os.path.join(self.options.directory, name)

    def size(self, power):
        return f"2^{power - 16}" if self.options.quick else f"2^{power}"

    def run(self, name, command):
        """Runs a command in the directory, with its output in NAME.log. Whether it succeeded."""
        with open(self.path(name + ".log"), "w", encoding="utf-8") as file:
            try:
                ended = subprocess.run(command, cwd=self.options.directory, stdout=file, stderr=file, check=False)
                code = ended.returncode
            except OSError as error:
                print(f"{command[0]}: {error.strerror}", file=file, flush=True)
                code = 127
        with open(self.path(name + ".log"), encoding="utf-8") as file:
            last = (file.read().strip().splitlines() or ["(no output)"])[-1]
        end = f" (exit code {code})" if code else ""
        print(f"[{time.monotonic() - self.began:4.0f} s] {name}: {last}{end}", flush=True)
        self.failed += code != 0
        return code == 0

    def launch(self, ranks, *words):
        return [*shlex.split(self.options.launcher.replace("{ranks}", str(ranks))), self.options.program, "run", *words]

    def rows(self, *more):
        return ["--level", "ranks", "--space", self.options.space, *self.few, *more]

    def link(self):
        """Measures the link. Latency and bandwidth."""
        words = ["--size", self.size(28), *self.rows("--verify", "sample:1000", "--json", "link.json")]
        if not self.run("link", self.launch(2, "dot,transpose", *words)):
            raise Failed("the launch of `link` failed")
        return link_of(self.path("link.json"))

    def study(self, name, link, *words):
        command = [self.options.program, "study", "--preset", name.rstrip("0123456789"), "--name", name, "--run"]
        command += ["--apps", "all", "--ranks", ",".join(map(str, self.ranks)), "--spaces", self.options.space]
        command += ["--repeats", "1", "--launcher", self.options.launcher, "--link", f"{link[0]:.3g},{link[1]:.3g}"]
        command += ["--options", shlex.join([*self.few, "--verify", "sample:1000"]), *words]
        self.run(name, command)
        return read_predictions(self.path(name))

    def tests(self):
        environment = f"TESSERA_TEST_SPACE={self.options.space}"
        for ranks in (self.options.gpus, 2 * self.options.gpus):
            launcher = shlex.split(self.options.launcher.replace("{ranks}", str(ranks)))
            self.run(f"ranks_tests-{ranks}", ["env", environment, *launcher, self.options.tests])


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("directory")
    parser.add_argument("--gpus", type=int, required=True)
    parser.add_argument("--space", default="cuda")
    parser.add_argument("--launcher", default="mpirun --bind-to none -n {ranks}")
    parser.add_argument("--tests", help="ranks_tests of the same build")
    parser.add_argument("--only", default=",".join(STEPS))
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    if options.gpus < 2:
        parser.error("--gpus is 2 or more")
    only = options.only.split(",")
    unknown = [step for step in only if step not in STEPS]
    if unknown:
        parser.error(f"there is no step '{unknown[0]}'; choose from {', '.join(STEPS)}")
    options.program = os.path.abspath(options.program)
    options.tests = options.tests and os.path.abspath(options.tests)
    os.makedirs(options.directory, exist_ok=True)
    host, page = Host(options), []
    try:
        link = host.link() if {"weak", "strong"} & set(only) else None
        page += [] if link is None else [
            f"Link of two ranks: latency {time_text(link[0])}, {link[1] / 1e9:.3g} GB/s of a rank in one direction.",
            "A cell has the time, the efficiency against one rank, and the time over the model's prediction.",
            "",
        ]
        slow = []
        for name, weak, words in (
            ("weak", True, ["--sizes-per-rank", host.size(28)]),
            ("strong28", False, ["--sizes", host.size(28)]),
            ("strong30", False, ["--sizes", host.size(30)]),
        ):
            if name.rstrip("0123456789") in only:
                rows = host.study(name, link, *words)
                page += [f"## {name}", "", *table_of(rows, weak), ""]
                slow += [f"### {name}", "", *slow_lines(rows), ""]
        page += [f"## Over {SLOW} of the prediction", "", *slow]
    except Failed as error:
        print(f"gpus.py: {error}", file=sys.stderr)
        host.failed += 1
    if "staged" in only:
        words = host.rows("--verify", "sample:1000", "--transport", "staged", "--json", "staged.json")
        host.run("staged", host.launch(options.gpus, "all", "--size-per-rank", host.size(28), *words))
    if "tests" in only and options.tests:
        host.tests()
    with open(host.path("scaling.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(page))
    print(f"tables in {host.path('scaling.md')}; {host.failed} steps failed")
    return 1 if host.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
