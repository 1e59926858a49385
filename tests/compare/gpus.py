#!/usr/bin/env python3
"""How every distributed row scales over the GPUs of one host, with the model's prediction beside each time.

    tests/compare/gpus.py build/cuda-hopper90/bin/tessera DIRECTORY --gpus 4 [--tests .../bin/ranks_tests]

One rank per GPU, many mini-apps in one launch, results checked on a sample. First the link of two GPUs: latency from
the messages of `dot`, bandwidth from those of `transpose`. Then these steps, of which --only selects some:

    weak     2^28 elements per GPU on 1, 2, 4, ... GPUs
    strong   2^28 and 2^30 elements on 1, 2, 4, ... GPUs; launches that are the same in weak are not repeated
    staged   the weak launches of the rows that send most, through host memory
    tests    ranks_tests on as many ranks as GPUs, and on twice as many, which share them

Rows whose references take longest come last. After --seconds no launch begins, and a running one ends. The same
command goes on from there: launches of studies that are done are not repeated. The tables are in
DIRECTORY/scaling.md: time, efficiency, time over the prediction. The prediction takes the roofs of one GPU and the
link. Rows over 1.15 of it are listed: they want an explanation.

--quick takes small sizes: to see that all of it runs, for no figure.
Exit code: 0 all well, 1 something failed or was left out, 2 a mistake.
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
LATE = ("partition", "reduce_by_key", "sort")  # their references need elements of all ranks
BULK = ("conv2d", "layernorm_linear_backward", "matmul", "transpose")


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


def read_predictions(path):
    """The rows of a study's predictions.csv, with numbers as numbers."""
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
        self.few = ["--samples", "5", "--min-time", "0.05", "--verify", "sample:1000"]
        if options.quick:
            self.few = ["--samples", "1", "--min-time", "0", "--warmup", "0", "--verify", "sample:1000"]

    def path(self, name):
        return os.path.join(self.options.directory, name)

    def size(self, power):
        return f"2^{power - 16}" if self.options.quick else f"2^{power}"

    def left(self):
        """Seconds until --seconds."""
        return self.options.seconds - (time.monotonic() - self.began)

    def run(self, name, command):
        """Runs a command in the directory, with its output at the end of NAME.log. Whether it succeeded."""
        left, code = self.left(), 0
        if left <= 0:
            print(f"{name}: left out, since --seconds are over", flush=True)
            self.failed += 1
            return False
        with open(self.path(name + ".log"), "a", encoding="utf-8") as file:
            print("$", shlex.join(command), file=file, flush=True)
            try:
                with subprocess.Popen(command, cwd=self.options.directory, stdout=file, stderr=file) as running:
                    try:
                        code = running.wait(left if left < float("inf") else None)
                    except subprocess.TimeoutExpired:
                        running.terminate()  # a study passes it on, and mpirun to the ranks
                        code = running.wait()
            except OSError as error:
                print(f"{command[0]}: {error.strerror}", file=file, flush=True)
                code = 127
        with open(self.path(name + ".log"), encoding="utf-8") as file:
            last = (file.read().strip().splitlines() or ["(no output)"])[-1]
        end = f" (exit code {code})" if code else ""
        print(f"[{time.monotonic() - self.began:4.0f} s] {name}: {last}{end}", flush=True)
        self.failed += code != 0
        return code == 0

    def launcher(self, ranks):
        return shlex.split(self.options.launcher.replace("{ranks}", str(ranks)))

    def link(self, name, *transport):
        """Measures the link. Latency and bandwidth."""
        words = ["--size", self.size(28), "--variant", "distributed", "--space", self.options.space]
        words += [*self.few, *transport, "--json", f"{name}.json"]
        if not self.run(name, [*self.launcher(2), self.options.program, "run", "dot,transpose", *words]):
            raise Failed(f"the launch of `{name}` failed")
        return link_of(self.path(f"{name}.json"))

    def apps(self):
        """The mini-apps that have the row `distributed`."""
        command = [self.options.program, "run", "all", "--list"]
        try:
            listed = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
        except (OSError, subprocess.CalledProcessError) as error:
            raise Failed(f"{shlex.join(command)}: {error}") from error
        apps, app = [], ""
        for words in map(str.split, listed.splitlines()):
            if words[:1] == ["app"]:
                app = words[1]
            elif words[:2] == ["variant", "distributed"]:
                apps.append(app)
        return apps

    def study(self, name, apps, ranks, link, *words):
        """The predictions of a study's launches. Each of `apps` is a launch; a+b is one launch of both."""
        preset = "strong" if name.startswith("strong") else "weak"
        command = [self.options.program, "study", "--preset", preset, "--name", name, "--run"]
        command += ["--apps", apps, "--ranks", ",".join(map(str, ranks)), "--spaces", self.options.space]
        command += ["--repeats", "1", "--launcher", self.options.launcher, "--link", f"{link[0]:.3g},{link[1]:.3g}"]
        predictions = os.path.join(self.path(name), "predictions.csv")
        if os.path.exists(predictions):
            os.remove(predictions)  # of other mini-apps
        self.run(name, [*command, *words])
        return read_predictions(predictions)

    def tests(self):
        environment = [f"TESSERA_TEST_SPACE={self.options.space}", "TESSERA_TEST_FIRST_DTYPE=1", "OMP_NUM_THREADS=2"]
        for ranks in (self.options.gpus, 2 * self.options.gpus):
            self.run(f"ranks_tests-{ranks}", ["env", *environment, *self.launcher(ranks), self.options.tests])


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("directory")
    parser.add_argument("--gpus", type=int, required=True)
    parser.add_argument("--space", default="cuda")
    parser.add_argument("--launcher", default="mpirun --bind-to none -n {ranks}")
    parser.add_argument("--tests", help="ranks_tests of the same build")
    parser.add_argument("--only", default=",".join(STEPS))
    parser.add_argument("--seconds", type=float, default=float("inf"))
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
    host, tables, links = Host(options), {}, {}

    def add(name, which, ranks, *words):
        if not which or name.rstrip("0123456789") not in only:
            return
        transport = ["--transport", "staged"] if name == "staged" else []
        link = "link" + "-".join(["", *transport[1:]])
        try:
            if link not in links:
                links[link] = host.link(link, *transport)
            words = ["--options", shlex.join([*host.few, *transport]), *words]
            tables.setdefault(name, []).extend(host.study(name, which, ranks, links[link], *words))
        except Failed as error:
            print(f"gpus.py: {error}", file=sys.stderr)
            host.failed += 1

    def add_strong(power, which):
        # One of the launches of weak has the same case.
        ranks = [n for n in host.ranks if "weak" not in only or n << 28 != 1 << power]
        add(f"strong{power}", which, ranks, "--sizes", host.size(power))

    try:
        apps = host.apps()
        late = ",".join(app for app in LATE if app in apps)
        most = "+".join(app for app in apps if app not in LATE)
        bulk = "+".join(app for app in BULK if app in apps)
        weak = ["--sizes-per-rank", host.size(28)]
        add("weak", most, host.ranks, *weak)
        add_strong(28, most)
        add("staged", bulk, host.ranks[1:], *weak)
        add("weak", late, host.ranks, *weak)
        add_strong(30, most)
        add_strong(28, late)
        add_strong(30, late)
        if "tests" in only and options.tests:
            host.tests()
    except Failed as error:
        print(f"gpus.py: {error}", file=sys.stderr)
        host.failed += 1
    for name, rows in tables.items():
        if name.startswith("strong"):
            rows += [row for row in tables.get("weak", []) if row["ranks"] << 28 == 1 << int(name[6:])]
    page = [
        f"`{name}` of two ranks: latency {time_text(latency)}, {bandwidth / 1e9:.3g} GB/s of a rank in one direction."
        for name, (latency, bandwidth) in links.items()
    ]
    page += ["A cell has the time, the efficiency against one rank, and the time over the model's prediction.", ""]
    for name, rows in tables.items():
        page += [f"## {name}", "", *table_of(rows, not name.startswith("strong")), ""]
    page += [f"## Over {SLOW} of the prediction", ""]
    for name, rows in tables.items():
        page += [f"### {name}", "", *slow_lines(rows), ""]
    with open(host.path("scaling.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(page))
    print(f"tables in {host.path('scaling.md')}; {host.failed} steps failed")
    return 1 if host.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
