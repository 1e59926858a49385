#!/usr/bin/env python3
"""Writes the tables of figures in READMEs from the reports in common/results: no figure is typed.

    common/plot/readme_tables.py            writes every marked table anew
    common/plot/readme_tables.py --check    compares, writes nothing; exit code 1 if a table is not what the reports say

A table stands in README.md, docs/libraries.md, apps/<app>/README.md or common/results/<folder>/README.md between two
comments; what is between them is replaced:

    <!-- figures: <folder of common/results> app=map space=openmp dtype=float sizes=2^20,2^24 -->
    <!-- end of figures -->

    <!-- figures: <folder of common/results> ratios=all.json,pytorch.json -->
    <!-- figures: <folder of common/results> scaling=two-ranks.json -->

app: the folder of the README if it is not said; space: needed if the reports have several; dtype: float; sizes: all;
reports: the folder's *.json. With ratios= the reports that it names, our fastest rows beside libraries'
(tests/compare); with scaling= rows on several ranks beside those of one (--baseline). A noisy row (the upper quartile
of its samples exceeds 1.5 times the lower) is refused; with noisy=omitted the table has ~ in the place of its figure.
If the README has a table `| variant | step |`, variants come in its order, with their steps. Python's own library is
enough. Exit code 2: a mistake, and nothing was written.
"""

import argparse
import difflib
import glob
import itertools
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

from tessera_plot import ratios, scaling, series  # noqa: E402
from tessera_plot.reports import UserError, read_all  # noqa: E402

BEGIN = re.compile(r"^<!-- figures: (?P<folder>[^ ]+)(?P<options>( [a-z]+=[^ ]+)*) -->$")
END = "<!-- end of figures -->"


def rewritten(path, root):
    """The text of a README with its tables as the reports in root/common/results have them."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    result, place = [], 0
    while place < len(lines):
        line = lines[place]
        result.append(line)
        place += 1
        begin = BEGIN.match(line)
        if begin is None:
            if line.startswith("<!-- figures") or line == END:
                raise UserError(f"{path}:{place} is no mark of a table ({line}); see readme_tables.py --help")
            continue
        try:
            end = lines.index(END, place)
        except ValueError:
            raise UserError(f"{path}:{place} begins a table that does not end (no {END}); add that line")
        options = dict(word.split("=", 1) for word in begin["options"].split())
        try:
            result += ["", *table(path, root, begin["folder"], options, steps_of(lines)), "", END]
        except UserError as error:
            raise UserError(f"{path}:{place}: {error}")
        place = end + 1
    return "\n".join(result)


def steps_of(lines):
    """The ladder of a README: {variant: step} of its table `| variant | step | ...`."""
    start = next((place for place, line in enumerate(lines) if line.startswith("| variant | step |")), len(lines))
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines[start + 2 :])
    cells = (row.split("|") for row in rows)
    return {name: step.strip() for _, names, step, *_ in cells for name in re.findall(r"`(\w+)`", names)}


def table(readme, root, folder, options, steps):
    """The lines between two marks."""
    known = ("app", "space", "dtype", "sizes", "reports", "ratios", "scaling", "noisy")
    unknown = set(options) - set(known)
    if unknown:
        raise UserError(f"the mark says {', '.join(sorted(unknown))} (unknown); choose from {', '.join(known)}")
    omit_noisy = options.get("noisy") == "omitted"
    if "noisy" in options and not omit_noisy:
        raise UserError(f"the mark says noisy={options['noisy']} (unknown); write noisy=omitted, or nothing")
    results = os.path.join(root, "common", "results", folder)
    for name, made in (("ratios", ratios), ("scaling", scaling)):
        if name in options:
            return made.table([os.path.join(results, report) for report in options[name].split(",")], omit_noisy)
    paths = sorted(glob.glob(os.path.join(results, "*.json")))
    if "reports" in options:
        paths = [os.path.join(results, name) for name in options["reports"].split(",")]
    if not paths:
        raise UserError(f"no reports in common/results/{folder} (no *.json); name another folder, or put them there")
    reports = read_all(paths)
    app = options.get("app", os.path.basename(os.path.dirname(os.path.abspath(readme))))
    dtype = options.get("dtype", "float")

    def wanted(item):
        return item.case.app == app and item.case.dtype == dtype and item.case.size

    points = [point for point in series.points(reports) if wanted(point)]
    spaces = sorted({point.place.space for point in points})
    space = options.get("space", spaces[0] if len(spaces) == 1 else None)
    points = [point for point in points if point.place.space == space]
    if not points:
        raise UserError(
            f"no rows of {app}, {dtype} in common/results/{folder} (spaces: {', '.join(spaces) or 'none'}); "
            "name app, dtype and space of rows that passed"
        )
    for what, values in (
        ("place", {p.place for p in points}),
        ("setting", {(p.case.parameters, p.case.data) for p in points}),
    ):
        if len(values) > 1:
            raise UserError(
                f"{len(values)} {what}s of {app} in common/results/{folder} (a table has one); split the reports"
            )

    there = sorted({point.case.size for point in points})
    sizes = [_size(text) for text in options["sizes"].split(",")] if "sizes" in options else there
    missing = [series.size_name(size) for size in sizes if size not in there]
    if missing:
        raise UserError(f"no rows of size {', '.join(missing)} (there are {', '.join(map(series.size_name, there))}); "
                        "correct the sizes")  # fmt: skip
    shown = [point for point in points if point.case.size in sizes]
    if not omit_noisy:
        ratios.refuse_noisy(shown, paths)
    elif not any(point.noisy for point in shown):
        raise UserError("the mark says noisy=omitted (no row of this table is noisy); leave it out")
    mine = [report for report in reports if any(wanted(row) and row.place.space == space for row in report.rows)]
    place = points[0].place
    copies = [roofs.copy_bytes_per_second for point in points for roofs in point.roofs if roofs.copy_bytes_per_second]
    launches = max(point.launches for point in points)
    up = os.path.relpath(results, os.path.dirname(os.path.abspath(readme)))
    copy = f"; copy in the same run: {_rate(copies)} GB/s" if copies else ""
    medians = "samples" if launches == 1 else f"{launches} launches"
    lines = [
        f"{min(report.started for report in mine)[:10]}, {place.device}, {place.space}, {place.build.compiler}, "
        f"Kokkos {place.build.kokkos}, commit {place.build.commit}, {dtype}.",
        f"GB/s (share of the roof){copy}. Medians of {medians} of these [reports]({up}):",
        "",
        "```",
        *dict.fromkeys(f"$ {report.command}" for report in mine),
        "```",
        "",
        ("| step " if steps else "") + "| variant | " + " | ".join(map(series.size_name, sizes)) + " |",
        ("|---" if steps else "") + "|---|" + "---:|" * len(sizes),
    ]
    ladder = list(steps)
    variants = dict.fromkeys(point.variant for point in points)
    for variant in sorted(variants, key=lambda name: ladder.index(name) if name in steps else len(ladder)):
        cells = []
        for size in sizes:
            point = next((p for p in points if (p.variant, p.case.size) == (variant, size)), None)
            cells.append(_cell(point) if point else "")
        if any(cells):
            step = f"| {steps.get(variant, 'peer')} " if steps else ""
            lines.append(f"{step}| `{variant}` | " + " | ".join(cells) + " |")
    if omit_noisy:
        lines += ["", "`~`: no figure, since the upper quartile of the samples exceeds 1.5 times the lower."]
    return lines


def _cell(point):
    if point.noisy:
        return ratios.NOISE
    share = f" ({point.share_of_roof:.0%})" if point.share_of_roof is not None else ""
    return f"{_three_digits(point.bytes_per_second / 1e9)}{share}"


def _rate(rates):
    low, high = _three_digits(min(rates) / 1e9), _three_digits(max(rates) / 1e9)
    return low if low == high else f"{low} to {high}"


def _three_digits(value):
    """Three digits, or all before the point."""
    digits = next((digits for digits, least in ((0, 99.95), (1, 9.995), (2, 0.9995)) if value >= least), 3)
    return f"{value:.{digits}f}"


def _size(text):
    try:
        return 2 ** int(text[2:]) if text.startswith("2^") else int(text)
    except ValueError:
        raise UserError(f"sizes names '{text}' (not a size); write digits or 2^n")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument(
        "--root", default=os.path.join(HERE, "..", ".."), help="the checkout (default: the one of this script)"
    )
    options = parser.parse_args(arguments)
    root = os.path.abspath(options.root)
    places = (
        ["README.md"],
        ["docs", "libraries.md"],
        ["apps", "*", "README.md"],
        ["common", "results", "*", "README.md"],
    )
    readmes = sorted(path for place in places for path in glob.glob(os.path.join(root, *place)))
    changed, tables = [], 0
    try:
        for path in readmes:
            with open(path, encoding="utf-8") as file:
                old = file.read()
            new = rewritten(path, root)
            tables += new.split("\n").count(END)
            if new != old:
                changed.append((path, old, new))
    except UserError as error:
        print(f"readme_tables: {error}", file=sys.stderr)
        return 2
    for path, old, new in changed:
        name = os.path.relpath(path, root)
        if options.check:
            lines = difflib.unified_diff(old.split("\n"), new.split("\n"), name, "by the reports", lineterm="", n=1)
            sys.stdout.writelines(line + "\n" for line in lines)
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(new)
            print(f"{name}: written")
    if options.check and changed:
        print(f"readme_tables: {len(changed)} READMEs are not what the reports say; run common/plot/readme_tables.py",
              file=sys.stderr)  # fmt: skip
        return 1
    print(f"{tables} tables, {len(changed)} READMEs changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
