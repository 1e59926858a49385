"""Tessera as a test of ReFrame: every row verified, and its time, bandwidth and share of the roof
as performance variables.

    reframe -C site.py -c tessera_reframe.py -r
    reframe -C site.py -c tessera_reframe.py -r -S size=2^28 -S variant=distributed -S num_tasks=4

A site sets no names: the program is found on the PATH (after `spack load tessera`). A system's references name the
performance variables: <variant>_<space>_<dtype>_<what>, for example `range_cuda_float_share_of_roof`. Take the share of
the roof as a reference rather than seconds: the roof of the same run is in it.
"""

import json
import os

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import parameter, run_before, sanity_function, variable

REPORT = "report.json"
UNITS = {"seconds": "s", "bytes_per_second": "B/s", "share_of_roof": "1"}


def read_report(folder):
    """The report that the run left in its stage directory."""
    with open(os.path.join(folder, REPORT), encoding="utf-8") as file:
        return json.load(file)


def complaint(report):
    """Returns what is wrong with a run, or an empty string."""
    if report["schema"] != "tessera-report/1":
        return f"the report is a {report['schema']}"
    if report["system"]["finished"] is None:
        return "the run did not end"
    wrong = [
        f"{row['app']}/{row['variant']} on {row['space']}: {row['status']} ({row['reason']})"
        for row in report["rows"]
        if row["status"] in ("failed", "weak")
    ]
    if wrong:
        return "; ".join(wrong)
    return "" if any(row["status"] == "passed" for row in report["rows"]) else "no row passed"


def variables_of(report):
    """Name, unit and value of each performance variable. A run has one case, so that a row is one variant and space."""
    for row in report["rows"]:
        if row["status"] != "passed":
            continue
        for what, unit in UNITS.items():
            if row[what] is not None:
                yield f"{row['variant']}_{row['space']}_{row['dtype']}_{what}", unit, row[what]


@rfm.simple_test
class TesseraTest(rfm.RunOnlyRegressionTest):
    """One mini-app at one size."""

    app = parameter(["map", "dot", "prefix_sum", "transpose", "softmax", "matmul"])
    size = variable(str, value="2^24")
    variant = variable(str, value="all")
    space = variable(str, value="all")
    options = variable(str, value="")

    descr = "Tessera: every variant verified and measured"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "tessera"
    # No other jobs on the nodes: they would lower the measured roofs.
    exclusive_access = True
    keep_files = [REPORT]
    tags = {"performance", "tessera"}

    @run_before("run")
    def set_command(self):
        self.executable_opts = ["run", self.app, "--size", self.size, "--variant", self.variant, "--space", self.space]
        self.executable_opts += [*self.options.split(), "--json", REPORT]

    @sanity_function
    def every_row_is_verified(self):
        said = complaint(read_report(self.stagedir))
        return sn.assert_true(not said, msg=said)

    # Which rows there are is known only now.
    @run_before("performance")
    def take_rows(self):
        self.perf_variables = {
            name: sn.make_performance_function(sn.defer(value), unit)
            for name, unit, value in variables_of(read_report(self.stagedir))
        }
