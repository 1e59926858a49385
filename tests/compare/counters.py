#!/usr/bin/env python3
"""What stops a row on an NVIDIA GPU: the counters of its kernel, by Nsight Compute (ncu).

    tests/compare/counters.py build/cuda-hopper90/bin/tessera_peers DIRECTORY [--only NAME,...] [--ncu PROGRAM]

Each row below is a program of its own under ncu, which launches the row's kernel once a group of counters and slows it
down: no figure of time beside others. Of the kernels whose name matches, the one that takes longest counts. Writes
DIRECTORY/<name>.csv (what ncu said), and DIRECTORY/counters.md: one table, shares of what the hardware could do. Where
DRAM, L2, L1 (scratch, too), the multiply-adds and the issue of instructions are all far from 100, latency is the limit:
the largest stalls say whose.

Exit code: 0 all well, 1 a row failed, 2 a mistake.
"""

import argparse
import csv
import os
import subprocess
import sys

# name: the row's options, its variant, and what the name of its kernel contains (a regular expression)
ROWS = {
    "softmax-cols": (["softmax", "--axis", "cols"], "2^28", "register_columns", "ColumnHolders"),
    "softmax-rows": (["softmax", "--axis", "rows"], "2^28", "team_per_row", "TeamSoftmax|SweepSoftmax"),
    "softmax-all": (["softmax", "--axis", "all"], "2^28", "buffer_reduction", "RowChunks"),
    "conv2d-3x3": (["conv2d"], "2^28", "register_tile", "Conv2dKernel"),
    "conv2d-7x7": (["conv2d", "--kernel-rows", "7", "--kernel-cols", "7"], "2^28", "register_tile", "Conv2dKernel"),
    "prefix_sum": (["prefix_sum"], "2^28", "look_back", "LookBackScanKernel"),
    "axis_sum-rows": (["axis_sum", "--axis", "1"], "2^28", "lanes_per_row", "LaneRows|TeamRows"),
    "axis_sum-columns": (["axis_sum", "--axis", "0"], "2^28", "columns_atomic", "LaneColumns|TileColumns"),
    "matmul-645": (["matmul"], "2^28", "register_tile", "Product(Tile|Stream|Panel)"),
    "matmul-4096-3xtf32": (["matmul", "--verify", "sample:200"], "2^36", "tensor_3xtf32", "Tf32Product"),
    "matmul-4096-warpgroups": (
        ["matmul", "--verify", "sample:200"],
        "2^36",
        "warpgroup_3xtf32",
        "WarpgroupTf32Product",
    ),
    "matmul-4096-bf16": (["matmul", "--verify", "sample:200"], "2^36", "tensor_bf16", "PackedProduct"),
    "attention": (["attention", "--queries", "16384", "--verify", "sample:200"], "2^20", "fused_bf16x3", "AttendTiles"),
}  # fmt: skip

TIME = "gpu__time_duration.sum"
BYTES = "dram__bytes.sum"
SHARES = {
    "DRAM": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "L2": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "L1": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "multiply-adds": "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active",
    "tensor units": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "issue": "sm__inst_issued.avg.pct_of_peak_sustained_active",
    "warps": "sm__warps_active.avg.pct_of_peak_sustained_active",
}
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
STALLS = ("long_scoreboard", "short_scoreboard", "barrier", "wait", "math_pipe_throttle", "lg_throttle", "mio_throttle",
          "membar", "dispatch_stall", "no_instruction", "not_selected")  # fmt: skip
METRICS = [TIME, BYTES, *SHARES.values(), *(STALL.format(stall) for stall in STALLS)]


def number(text):
    """A cell's number, or None: ncu writes n/a for what a GPU does not count."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def read(lines):
    """The kernels in the raw page of ncu as CSV, each a dict of its name and METRICS.

    Before the header ncu writes words of its own; the line behind it has units.
    Raises ValueError if there is no kernel.
    """
    rows = list(csv.reader(line for line in lines if line.startswith('"')))
    if len(rows) < 3 or "Kernel Name" not in rows[0]:
        raise ValueError("no kernel was profiled")
    header = rows[0]
    return [
        {"name": row[header.index("Kernel Name")],
         **{metric: number(row[header.index(metric)]) if metric in header else None for metric in METRICS}}
        for row in rows[2:]
    ]  # fmt: skip


def line_of(name, kernel):
    """A line of the table."""
    share = [f"{kernel[metric]:.0f}" if kernel[metric] is not None else "" for metric in SHARES.values()]
    stalls = sorted(((kernel[STALL.format(s)] or 0, s) for s in STALLS), reverse=True)[:3]
    words = ", ".join(f"{s} {value:.1f}" for value, s in stalls if value > 0)
    moved = f"{kernel[BYTES] / 1e6:.0f}" if kernel[BYTES] is not None else ""
    return f"| {name} | {(kernel[TIME] or 0) / 1e3:.0f} | {moved} | {' | '.join(share)} | {words} |"


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("directory")
    parser.add_argument("--only", default=",".join(ROWS), help="names of rows")
    parser.add_argument("--ncu", default="ncu")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.only.split(",") if name not in ROWS]
    if unknown:
        print(f"counters.py: there is no row '{unknown[0]}'; choose from {', '.join(ROWS)}", file=sys.stderr)
        return 2
    os.makedirs(options.directory, exist_ok=True)
    program = os.path.abspath(options.program)
    lines, code = [], 0
    for name in options.only.split(","):
        (app, *extra), size, variant, pattern = ROWS[name]
        # Only the full names of Kokkos' kernels contain the functor. With --roof no roofs are measured under ncu.
        command = [options.ncu, "--csv", "--page", "raw", "--print-units", "base", "--kernel-name-base", "demangled",
                   "-k", f"regex:{pattern}", "--launch-count", "4", "--metrics", ",".join(METRICS),
                   program, "run", app, "--size", size, *extra, "--variant", variant, "--space", "cuda",
                   "--roof", "1e12,1e12", "--samples", "1", "--min-time", "0", "--warmup", "0"]  # fmt: skip
        if "--verify" not in extra:
            command += ["--verify", "first"]
        try:
            run = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            print(f"counters.py: {options.ncu} does not start ({error}); name it with --ncu", file=sys.stderr)
            return 2
        with open(os.path.join(options.directory, name + ".csv"), "w", encoding="utf-8") as file:
            file.write(run.stdout)
        try:
            kernel = max(read(run.stdout.splitlines()), key=lambda found: found[TIME] or 0)
        except ValueError as error:
            last = ((run.stdout + run.stderr).strip().splitlines() or ["(no output)"])[-1]
            print(f"{name}: {error} ({last})", file=sys.stderr)
            code = 1
            continue
        lines.append(line_of(name, kernel))
        print(lines[-1], flush=True)
    with open(os.path.join(options.directory, "counters.md"), "w", encoding="utf-8") as file:
        titles = ["row", "us", "MB", *(f"{title}, %" for title in SHARES), "largest stalls, warps an issue"]
        file.write(f"| {' | '.join(titles)} |\n|---|{'---:|' * (len(titles) - 2)}---|\n")
        file.writelines(line + "\n" for line in lines)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
