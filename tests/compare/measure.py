#!/usr/bin/env python3
"""The whole comparison with libraries, in one run: every report that the table in apps/README.md is made of.

    tests/compare/measure.py build/cuda-hopper90/bin/tessera_peers DIRECTORY [--space cuda] [--only NAME,...] [--quick]

Each case is a program of its own, one after the other; PyTorch follows on the same GPU, where `import torch` works. A
report that is in DIRECTORY already is not measured again: an interrupted run goes on where it was, on the same machine
and build (ratios.py refuses others). Mini-apps that the program was not built with are left out. Ends with the table,
in DIRECTORY/ratios.md. On an H200 with 16 processors it takes ten minutes, most of them the reference's, and about
five more (an estimate) for the cases from sort to random.

--quick takes small sizes: to see that all of it runs, for no figure. Exit code: 0 all well, 1 something failed,
2 a mistake.
"""

import argparse
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))

FACTORS = (
    "warpgroup_3xtf32,tensor_3xtf32,warpgroup_tf32,tensor_tf32,tensor_fp16,tensor_bf16,warpgroup_fp16,warpgroup_bf16"
)
SAMPLED = ["--verify", "sample:2000"]  # of products: in full they take their reference minutes
SMALL = "2^10,2^15,2^20"
ORDERED = "2^20,2^24,2^28"
# Name of the report: mini-apps, sizes, options, whether PyTorch takes part. The cases of the table in apps/README.md
# come first.
CASES = {
    "layernorm_linear-16384x1024x4096": (
        ["layernorm_linear"], "2^36", ["--hidden", "1024", "--outputs", "4096", *SAMPLED], True),
    "layernorm_linear_backward-16384x1024x4096": (
        ["layernorm_linear_backward"], "2^36",
        ["--hidden", "1024", "--outputs", "4096", "--verify", "sample:500"], True),
    "transformer_block-8x2048x1024": (["transformer_block"], "2^34", ["--d-model", "1024", *SAMPLED], True),
    "matmul": (["matmul"], "2^30,2^33,2^36,2^39", ["--variant", "register_tile,{blas}," + FACTORS, *SAMPLED], True),
    "all-2p28": (["all"], "2^28", [], True),
    "attention-16384x16384": (["attention"], "2^20", ["--queries", "16384", "--verify", "sample:200"], True),
    "axis_sum-axis0": (["axis_sum"], "2^28", ["--axis", "0"], True),
    "conv2d-7x7": (["conv2d"], "2^28", ["--kernel-rows", "7", "--kernel-cols", "7"], True),
    "random-normal": (["random"], "2^28", ["--distribution", "normal"], False),
    "layernorm-rows": (["layernorm"], "2^28", ["--hidden", "4096"], True),
    "softmax-cols": (["softmax"], "2^28", ["--axis", "cols"], True),
    "softmax-rows": (["softmax"], "2^28", ["--axis", "rows"], True),
    **{
        f"histogram-{bins}-{distribution}": (
            ["histogram"], "2^28", ["--bins", bins, "--distribution", distribution], False)
        for distribution in ("uniform", "zipf") for bins in ("1", "16", "256", "4096", "65536")
    },
    "sizes": (
        ["prefix_sum", "partition", "histogram", "dot", "map", "transpose", "zip"], "2^22,2^24,2^26,2^30", [], False),
    # Keys of 32 and 64 bits, without and with values of 32 bits. Only variants that a user would choose.
    **{
        f"sort-{keys}{'-values' if values == 'index' else ''}": (
            ["sort"], ORDERED, ["--variant", "radix,onesweep,{order}", "--dtype", keys, "--values", values], False)
        for keys in ("uint32", "uint64") for values in ("none", "index")
    },
    **{
        f"sort_segments-{lengths}": (["sort_segments"], ORDERED, ["--lengths", lengths], False)
        for lengths in ("uniform", "power_law")
    },
    "reduce_by_key": (["reduce_by_key"], ORDERED, ["--mean", "32"], False),
    **{
        f"segmented_sum-{lengths}": (["segmented_sum"], ORDERED, ["--lengths", lengths], False)
        for lengths in ("uniform", "power_law")
    },
    "top_k": (["top_k"], ORDERED, [], False),
    **{
        f"random-{numbers}": (["random"], ORDERED, ["--distribution", numbers], False)
        for numbers in ("uniform", "normal")
    },
    # The order in which cub::DevicePartition leaves the elements.
    "partition-reversed": (["partition"], "2^20,2^22,2^24,2^26,2^28,2^30", ["--right", "reversed"], False),
    # These cases take about as long as a launch; roofline measures the launch time for comparison.
    "small": (["roofline", "prefix_sum", "partition", "histogram", "dot", "map"], SMALL, [], False),
    "matmul-ladder": (
        ["matmul"], "2^28,2^30,2^33", ["--variant", "naive,tiled,tiled_overlap,tiled_async,register_tile"], False),
}  # fmt: skip


def available(program):
    """The mini-apps that the program has. Raises SystemExit if it cannot be asked."""
    try:
        listed = subprocess.run([program, "list"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"measure.py: {program} does not start ({error}); build the target tessera_peers", file=sys.stderr)
        raise SystemExit(2) from error
    return {line.split()[0] for line in listed.splitlines() if line.strip()}


def is_whole(path):
    """Whether a report is there whose run has ended: one that was interrupted is measured again."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)["system"].get("finished") is not None
    except (OSError, ValueError, KeyError):
        return False


def command_of(name, options, apps, report):
    """The command of a case, or None if the program has none of its mini-apps."""
    wanted, sizes, extra, _ = CASES[name]
    chosen = wanted if wanted == ["all"] else [app for app in wanted if app in apps]
    if not chosen:
        return None
    if options.quick:
        sizes = ",".join(f"2^{10 + i}" for i, _ in enumerate(sizes.split(",")))
        extra = [*extra, "--samples", "1", "--min-time", "0", "--warmup", "0"]
        extra = ["16" if option in ("1024", "4096", "16384", "65536") else option for option in extra]
    blas, order = ("cublas", "cub") if options.space == "cuda" else ("cblas", "std")
    extra = [option.replace("{blas}", blas).replace("{order}", order) for option in extra]
    return [options.program, "run", ",".join(chosen), "--size", sizes, *extra,
            "--space", options.space, "--json", report]  # fmt: skip


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("directory")
    parser.add_argument("--space", default="cuda")
    parser.add_argument("--only", default=",".join(CASES), help="names of reports, without -peers.json")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.only.split(",") if name not in CASES]
    if unknown:
        print(f"measure.py: there is no case '{unknown[0]}'; choose from {', '.join(CASES)}", file=sys.stderr)
        return 2
    options.program = os.path.abspath(options.program)
    apps = available(options.program)
    os.makedirs(options.directory, exist_ok=True)
    torch = subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, check=False).returncode == 0
    reports, code, began = [], 0, time.monotonic()
    for name in options.only.split(","):
        report = f"{name}-peers.json"
        steps = [(report, command_of(name, options, apps, report))]
        if torch and CASES[name][3]:
            other = f"{name}-pytorch.json"
            script = [sys.executable, os.path.join(HERE, "pytorch.py"), report, "--json", other]
            if options.quick:
                script.append("--no-compile")
            steps.append((other, [*script, "--device", "cuda" if options.space == "cuda" else "cpu"]))
        if steps[0][1] is None:
            print(f"{name}: left out (this program has no such mini-app)")
            continue
        for file_name, command in steps:
            path = os.path.join(options.directory, file_name)
            if not is_whole(path):
                log = os.path.splitext(path)[0] + ".log"
                with open(log, "w", encoding="utf-8") as file:
                    # Started in this folder, so that the commands in the reports contain no directories of this
                    # machine.
                    failed = subprocess.run(
                        command, cwd=options.directory, stdout=file, stderr=file, check=False
                    ).returncode
                with open(log, encoding="utf-8") as file:
                    last = (file.read().strip().splitlines() or ["(no output)"])[-1]
                print(f"[{time.monotonic() - began:4.0f} s] {file_name}: {last}", flush=True)
                if failed:
                    code = 1
            if os.path.exists(path):
                reports.append(path)
            else:
                break  # PyTorch takes its cases from the first
    if not reports:
        print("measure.py: there is no report", file=sys.stderr)
        return code or 2
    table = subprocess.run(
        [sys.executable, os.path.join(HERE, "ratios.py"), *reports], capture_output=True, text=True, check=False
    )
    sys.stderr.write(table.stderr)
    with open(os.path.join(options.directory, "ratios.md"), "w", encoding="utf-8") as file:
        file.write(table.stdout)
    print(f"{len(reports)} reports and ratios.md in {options.directory}")
    return code or (1 if table.returncode else 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
