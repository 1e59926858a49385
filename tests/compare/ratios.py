#!/usr/bin/env python3
"""Our fastest row beside each peer's, case by case, as a table in Markdown.

    tests/compare/ratios.py REPORT.json [PYTORCH.json ...]

Rows of one case in several reports are set beside each other only if the reports are of one device and one build. Ours are all
that are of no library. Rates are the least bytes, or operations, of the case over the median time: whichever stands closer
to its roof. ratio: their time over ours; above 1 ours is faster.
Exit code: 0, or 2 and a message.
"""

import argparse
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "common", "plot"))
sys.dont_write_bytecode = True

from tessera_plot.reports import UserError, read_all  # noqa: E402


# What a parameter is where nobody says anything: not worth a word. Of the others 0, and of an axis nothing: it is always said.
DEFAULTS = {
    "axis": None,
    "bins": 256,
    "c": 10.0,
    "distribution": "uniform",
    "eps": 1e-05,
    "hi": 1048576.0,
    "kernel": 4,
    "kernel-cols": 3,
    "kernel-rows": 3,
    "op": "sum",
    "scale": 1.0,
    "window": 3,
}


def case_text(case):
    text = size_text(case.size) if case.size is not None else os.path.basename(case.file)
    for name, value in case.parameters:
        if value != DEFAULTS.get(name, 0):
            text += f" --{name} {value}"
    return text if case.dtype == "float" else f"{text} {case.dtype}"


def size_text(size):
    power = size.bit_length() - 1
    return f"2^{power}" if size == 1 << power and power >= 10 else str(size)


def rate(row, seconds):
    by_bytes = row.bytes / seconds
    by_flops = row.flops / seconds
    roofs = row.roofs
    of_memory = by_bytes / roofs.copy_bytes_per_second if roofs.copy_bytes_per_second else 0
    of_peak = by_flops / roofs.peak_operations_per_second if roofs.peak_operations_per_second else 0
    return f"{by_flops / 1e12:.3g} TFLOP/s" if of_peak > of_memory else f"{by_bytes / 1e9:.4g} GB/s"


def table(paths):
    """The lines of the table."""
    rows = [row for report in read_all(paths) for row in report.rows if row.ranks == 1]
    places = {row.place for row in rows}
    if len({(place.device, place.build) for place in places if place.space == rows[0].place.space}) > 1:
        raise UserError(f"{', '.join(paths)} are not of one device and one build (their figures are not comparable); "
                        "run all of them at once")
    cases = {}
    for row in rows:
        cases.setdefault((row.place.space, row.case), []).append(row)
    lines = ["| mini-app | case | ours | | peer | | ratio |", "|---|---|---|---:|---|---:|---:|"]
    for (space, case), of_case in cases.items():
        ours = [row for row in of_case if row.level != "library"]
        peers = [row for row in of_case if row.level == "library"]
        if not ours or not peers:
            continue
        best = min(ours, key=lambda row: row.seconds)
        for peer in sorted(peers, key=lambda row: row.variant):
            lines.append(
                f"| {case.app} | {case_text(case)} | `{best.variant}` | "
                f"{rate(best, best.seconds)} | {peer.variant} | {rate(best, peer.seconds)} | {peer.seconds / best.seconds:.2f} |"
            )
    if len(lines) == 2:
        raise UserError(f"no case in {', '.join(paths)} has a row of ours and one of a library's; run tessera_peers")
    return lines


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+")
    options = parser.parse_args(arguments)
    try:
        print("\n".join(table(options.reports)))
    except UserError as error:
        print(f"ratios.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
