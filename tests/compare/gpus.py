#!/usr/bin/env python3
"""How every distributed row scales over the GPUs of one host, with the model's prediction beside each time.

    tests/compare/gpus.py build/cuda-hopper90/bin/tessera DIRECTORY --gpus 4 [--tests .../bin/ranks_tests]

One rank per GPU, many mini-apps in one launch, results checked on a sample. First the link of two GPUs: latency from
the messages of `dot`, bandwidth from those of `transpose`. Then these steps, of which --only selects some:

    weak     2^28 elements per GPU on 1, 2, 4, ... GPUs
    strong   2^28 and 2^30 elements on 1, 2, 4, ... GPUs; launches that are the same in weak are not repeated
    staged   the weak launches of the rows that send most, through host memory
    tests    with --tests: ranks_tests on as many ranks as GPUs, and on twice as many, which share them

Rows whose references take longest come last. After --seconds no launch begins, and a running one ends. The same
command goes on from there: launches of studies that are done are not repeated. The tables are in
DIRECTORY/scaling.md: time, efficiency, time over the prediction. The prediction takes the roofs of one GPU and the
link. Rows over 1.15 of it are listed: they want an explanation. --tables launches nothing: it makes the page again
from the reports in DIRECTORY/weak, strong28 and so on, with the model of the program, which may be a host's.

--quick takes small sizes: to see that all of it runs, for no figure.
Exit code: 0 all well, 1 something failed or was left out, 2 a mistake.
"""

import argparse
import csv
import glob
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
    try:
        with open(path, encoding="utf-8") as file:
            passed = [row for row in json.load(file)["rows"] if row["status"] == "passed" and row.get("ranks")]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failed(f"{path} is no report ({error})") from error
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


def read_predictions(text):
    """The rows of `tessera predict`, with numbers as numbers. `times` is None if there is no prediction."""
    rows = list(csv.DictReader(text.splitlines()))
    for row in rows:
        row.update({key: int(row[key]) for key in ("size", "ranks", "noisy")})
        row["measured_seconds"] = float(row["measured_seconds"])
        row["predicted_seconds"] = float(row["predicted_seconds"] or "nan")
        row["times"] = row["measured_seconds"] / row["predicted_seconds"] if row["bound"] else None
    return rows


def time_text(seconds):
    """Three digits and a unit: 1.23 ms."""
    for unit, scale in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            break
    return f"{seconds / scale:.3g} {unit}"


def by_columns(tables):
    """The rows by step, number of ranks and mini-app, and the columns of a table of them.

    One rank of strong28 has the same case as one of weak: only weak is a column.
    """
    by = {(name, row["ranks"], row["app"]): row for name, rows in tables.items() for row in rows}
    columns = {key[:2] for key in by if key[:2] != ("strong28", 1) or "weak" not in tables}
    return by, sorted(columns, key=lambda column: (list(tables).index(column[0]), column[1]))


def table_of(tables):
    """The lines of a table: a line per mini-app, a column per step and number of ranks."""
    by, columns = by_columns(tables)
    heads = ["mini-app", *(f"{name}: {n}" for name, n in columns)]
    lines = [f"| {' | '.join(heads)} |", "|---|" + "---:|" * len(columns)]
    for app in sorted({app for _, _, app in by}):
        cells = []
        for name, n in columns:
            row, one = by.get((name, n, app)), by.get((name, 1, app))
            if row is None:
                cells.append("")
                continue
            text = time_text(row["measured_seconds"]) + "~" * row["noisy"]
            if one and n > 1:
                per_rank = 1 if name == "weak" else n
                text += f"; {one['measured_seconds'] / row['measured_seconds'] / per_rank:.0%}"
            cells.append(text if row["times"] is None else f"{text}; {row['times']:.2f}")
        lines.append(f"| {app} | " + " | ".join(cells) + " |")
    return lines


def slow_lines(tables):
    """A line for each mini-app of which a time is over SLOW of the prediction."""
    by, columns = by_columns(tables)
    slow = {}
    for name, n in columns:
        for app in sorted({app for _, _, app in by}):
            row = by.get((name, n, app))
            if row and (row["times"] or 0) > SLOW:
                slow.setdefault(app, []).append(f"{row['times']:.2f} {name}: {n} ({row['bound']})")
    return [f"- `{app}`: {', '.join(slow[app])}" for app in sorted(slow)]


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

    def fail(self, why):
        print(f"gpus.py: {why}", file=sys.stderr)
        self.failed += 1

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
        """Runs the launches of a study. Each of `apps` is a launch; a+b is one launch of both."""
        preset = "strong" if name.startswith("strong") else "weak"
        command = [self.options.program, "study", "--preset", preset, "--name", name, "--run"]
        command += ["--apps", apps, "--ranks", ",".join(map(str, ranks)), "--spaces", self.options.space]
        command += ["--repeats", "1", "--launcher", self.options.launcher, "--link", f"{link[0]:.3g},{link[1]:.3g}"]
        self.run(name, [*command, *words])

    def rows(self, name, link):
        """The rows of a step's reports, each with its prediction."""
        reports = sorted(glob.glob(os.path.join(self.path(name), "*.json")))
        if not reports:
            return []
        roofs = [self.path(os.path.join(step, "machine", "roofs.json")) for step in (name, "weak")]
        roofs = [path for path in roofs if os.path.exists(path)]
        command = [self.options.program, "predict", *reports, "--link", f"{link[0]:.3g},{link[1]:.3g}"]
        command += ["--machine", roofs[0]] if roofs else []
        try:
            return read_predictions(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)
        except (OSError, subprocess.CalledProcessError) as error:
            raise Failed(f"{shlex.join(command)}: {error}") from error

    def page(self):
        """Writes scaling.md."""
        links, tables = {}, {}
        for name in ("weak", "strong28", "strong30", "staged"):
            link = "link-staged" if name == "staged" else "link"
            try:
                if link not in links and os.path.exists(self.path(link + ".json")):
                    links[link] = link_of(self.path(link + ".json"))
            except Failed as error:
                self.fail(error)
            rows = self.rows(name, links[link]) if link in links else []
            if name.startswith("strong"):  # one of the launches of weak has the same cases
                rows += [row for row in tables.get("weak", []) if row["ranks"] << 28 == 1 << int(name[6:])]
            if rows:
                tables[name] = rows
        if self.options.tables and not tables:
            raise Failed(f"{self.options.directory} has no reports with a link (link.json, weak/*.json); name another "
                         "directory")  # fmt: skip
        page = [
            f"`{name}` of two ranks: latency {time_text(latency)}, {bandwidth / 1e9:.3g} GB/s of a rank, one direction."
            for name, (latency, bandwidth) in links.items()
        ]
        page += ["A column is a step and its ranks, a cell the time, the efficiency, the time over the prediction.", ""]
        staged = {"staged": tables.pop("staged", [])}
        for title, some in (("Scaling", tables), ("Through host memory", staged)):
            if any(some.values()):
                page += [f"## {title}", "", *table_of(some), ""]
        page += [f"## Over {SLOW} of the prediction", "", *slow_lines({**tables, **staged}), ""]
        with open(self.path("scaling.md"), "w", encoding="utf-8") as file:
            file.write("\n".join(page))

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
    parser.add_argument("--only")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--tables", action="store_true")
    options = parser.parse_args(arguments)
    if options.gpus < 2:
        parser.error("--gpus is 2 or more")
    only = options.only.split(",") if options.only is not None else STEPS
    unknown = [step for step in only if step not in STEPS]
    if unknown:
        parser.error(f"there is no step '{unknown[0]}'; choose from {', '.join(STEPS)}")
    if options.only is not None and "tests" in only and not options.tests:
        parser.error("--only names tests, but no --tests names their program")
    options.program = os.path.abspath(options.program)
    options.tests = options.tests and os.path.abspath(options.tests)
    os.makedirs(options.directory, exist_ok=True)
    host, links = Host(options), {}

    def add(name, which, ranks, *words):
        if not which or name.rstrip("0123456789") not in only:
            return
        transport = ["--transport", "staged"] if name == "staged" else []
        link = "link" + "-".join(["", *transport[1:]])
        try:
            if link not in links:
                links[link] = host.link(link, *transport)
        except Failed as error:
            host.fail(error)
            return
        host.study(name, which, ranks, links[link], "--options", shlex.join([*host.few, *transport]), *words)

    def add_strong(power, which):
        # One of the launches of weak has the same case.
        ranks = [n for n in host.ranks if "weak" not in only or n << 28 != 1 << power]
        add(f"strong{power}", which, ranks, "--sizes", host.size(power))

    def launch():
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

    for step in ([] if options.tables else [launch]) + [host.page]:
        try:
            step()
        except Failed as error:
            host.fail(error)
    print(f"tables in {host.path('scaling.md')}; {host.failed} steps failed")
    return 1 if host.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
