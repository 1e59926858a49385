#!/usr/bin/env python3
"""Reports of --json as JSON Lines for Extra-P: how time, bandwidth and bytes sent depend on size and ranks.

    to_extrap.py strong/*.json >strong.jsonl
    extrap --json-lines strong.jsonl            (or open it in extrap-gui)

One line per row of a launch: {"params": {"size": ..., "ranks": ...}, "callpath": "dot->distributed->cuda->float",
"metric": "seconds", "value": ...}. Several launches of a row are several lines; Extra-P takes their median. Parameters
that a study does not vary are left out, since Extra-P makes no model of a constant.
"""

import argparse
import json
import sys

METRICS = ("seconds", "bytes_per_second")


class UserError(Exception):
    """`problem (why); what to do`."""


def lines_of(path, metrics):
    """The measurements of a report: (params, callpath, metric, value)."""
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path} ({error}); give reports that --json wrote") from error
    if not isinstance(report, dict) or report.get("schema") != "tessera-report/1":
        raise UserError(f"cannot read {path} (its schema is not tessera-report/1); give reports that --json wrote")
    try:
        if report["system"]["finished"] is None:
            raise UserError(f"cannot use {path} (its run has not ended); run it again")
        for row in report["rows"]:
            case = report["input"][row["case"]]
            if row["status"] != "passed" or case["size"] is None:
                continue
            ranks = row.get("ranks", {"count": 1})
            params = {"size": case["size"], "ranks": ranks["count"]}
            callpath = "->".join((row["app"], row["variant"], row["space"], row["dtype"]))
            for metric in metrics:
                value = row[metric]
                if value is not None:
                    yield params, callpath, metric, value
            if "ranks" in row:
                yield params, callpath, "communication_seconds", ranks["communication_seconds"]["max"]
                yield params, callpath, "bytes_sent", ranks["bytes_sent"]
    except (KeyError, IndexError, TypeError) as error:
        raise UserError(f"cannot read {path} (it is not whole: {error!r}); run it again") from error


def export(paths, metrics):
    """All lines as text, without parameters that never change."""
    measured = [line for path in paths for line in lines_of(path, metrics)]
    if not measured:
        raise UserError("no row to export (none passed, or all cases came from files); see the reports")
    varied = [name for name in ("size", "ranks") if len({params[name] for params, *_ in measured}) > 1]
    if not varied:
        raise UserError("one size and one number of ranks (there is nothing to model); give reports of several")
    text = ""
    for params, callpath, metric, value in measured:
        line = {
            "params": {name: params[name] for name in varied},
            "callpath": callpath,
            "metric": metric,
            "value": value,
        }
        text += json.dumps(line) + "\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("reports", nargs="+", metavar="REPORT.json")
    parser.add_argument("-o", "--output", metavar="FILE", help="default: stdout")
    arguments = parser.parse_args()
    try:
        text = export(arguments.reports, METRICS)
        if arguments.output:
            with open(arguments.output, "w", encoding="utf-8") as file:
                file.write(text)
        else:
            sys.stdout.write(text)
    except (UserError, OSError) as error:
        print(f"to_extrap.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
