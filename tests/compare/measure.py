#!/usr/bin/env python3
"""The whole comparison with libraries, in one run: every report that the table in docs/libraries.md is made of.

    tests/compare/measure.py build/cuda-hopper90/bin/tessera_peers DIRECTORY [--space cuda] [--only NAME,...] [--quick]

Each case is a program of its own, one after the other; PyTorch follows on the same GPU, where `import torch` works, in
one process for all its cases. A report of the same command that is in DIRECTORY already is not measured again: an
interrupted run goes on where it was, on the same machine and build (ratios.py refuses others). Mini-apps and dtypes
that the program was not built with are left out. Ends with the table, in DIRECTORY/ratios.md. On an H100 with 16
processors it takes about ten minutes (an estimate).

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
PYTORCH = os.path.join(HERE, "pytorch.py")

FACTORS = (
    "warpgroup_3xtf32,tensor_3xtf32,warpgroup_tf32,tensor_tf32,tensor_fp16,tensor_bf16,warpgroup_fp16,warpgroup_bf16"
)
SAMPLED = ["--verify", "sample:2000"]  # of products: in full they take their reference minutes
SHORT = "half,bfloat16"
SMALL = "2^10,2^15,2^20"
ORDERED = "2^20,2^24,2^28"
# Without query_by_query, which takes 7 s per launch.
ATTENTION = "stored_scores,composed,any_length,fixed_length,fused_online,fused_tensor,fused_bf16x3,split_sequence"
# Mini-apps with tables of 2^28 elements. The others have cases of their own, or variants that take a second per launch.
TABLES = (
    "axis_sum,bias_add,broadcast_add,butterfly,conv1d,conv2d,divide_by_mean,dot,embedding,finite_difference,histogram,"
    "lane_broadcast,layernorm,layernorm_linear,layernorm_linear_backward,layouts,map,map_2d,map_3d,matmul,"
    "memory_access,moving_average,partition,pooling,prefix_sum,roofline,stencil_chain,transpose,zip"
)
# Name of the report: mini-apps, sizes, options, whether PyTorch takes part. In this order, so that a run that is cut
# has the orders, random numbers and blocks. PyTorch follows when its last case is there.
CASES = {
    # The order in which cub::DevicePartition leaves the elements.
    "partition-reversed": (["partition"], "2^20,2^22,2^24,2^26,2^28,2^30", ["--right", "reversed"], False),
    **{
        f"histogram-{bins}-{distribution}": (
            ["histogram"], "2^28", ["--bins", bins, "--distribution", distribution], False)
        for distribution in ("uniform", "zipf") for bins in ("256", "16", "1", "4096", "65536")
    },
    # Keys of 32 and 64 bits, without and with values of 32 bits. Only variants that a user would choose.
    **{
        f"sort-{keys}{'-values' if values == 'index' else ''}": (
            ["sort"], ORDERED,
            ["--variant", "radix,onesweep,{order}{cub_64}", "--dtype", keys, "--values", values], False)
        for keys in ("uint32", "uint64") for values in ("none", "index")
    },
    **{
        f"sort_segments-{lengths}": (
            ["sort_segments"], ORDERED, ["--variant", f"{variants},{{order}}", "--lengths", lengths], False)
        for lengths, variants in (("uniform", "lanes_per_segment,sort_twice,mixed"), ("power_law", "sort_twice,mixed"))
    },
    # 10^4 keys in one segment, and segments of about 1024 keys: Kokkos' sort_team is a variant of the mini-app.
    **{
        f"sort_segments-{name}": (
            ["sort_segments"], size, ["--variant", "kokkos_sort_team,mixed,{order}", "--rows", rows], False)
        for name, size, rows in (("one", "10000", "1"), ("1024", "2^24", "16384"))
    },
    "reduce_by_key": (["reduce_by_key"], ORDERED, ["--mean", "32"], False),
    "segmented_sum-uniform": (["segmented_sum"], ORDERED, ["--lengths", "uniform"], False),
    # A thread or a team would add the longest segment alone.
    "segmented_sum-power_law": (
        ["segmented_sum"], ORDERED, ["--variant", "lanes_per_row,merge_path{cub}", "--lengths", "power_law"], False),
    "top_k": (["top_k"], ORDERED, [], True),
    **{
        f"random-{numbers}": (["random"], ORDERED, ["--distribution", numbers], False)
        for numbers in ("uniform", "normal")
    },
    "transformer_block-8x2048x1024": (["transformer_block"], "2^34", ["--d-model", "1024", *SAMPLED], True),
    "layernorm_linear-16384x1024x4096": (
        ["layernorm_linear"], "2^36", ["--hidden", "1024", "--outputs", "4096", *SAMPLED], True),
    "layernorm_linear_backward-16384x1024x4096": (
        ["layernorm_linear_backward"], "2^36",
        ["--hidden", "1024", "--outputs", "4096", "--verify", "sample:500"], True),
    "matmul": (["matmul"], "2^30,2^33,2^36,2^39", ["--variant", "register_tile,{blas}," + FACTORS, *SAMPLED], True),
    "attention-16384x16384": (
        ["attention"], "2^20", ["--queries", "16384", "--verify", "sample:200", "--variant", ATTENTION], True),
    "attention-8x4194304": (
        ["attention"], "2^28", ["--variant", "composed,fused_tensor,fused_bf16x3,split_sequence"], True),
    "all-2p28": (TABLES.split(","), "2^28", [], True),
    "axis_sum-axis0": (["axis_sum"], "2^28", ["--axis", "0"], True),
    "conv2d-7x7": (["conv2d"], "2^28", ["--kernel-rows", "7", "--kernel-cols", "7"], True),
    "layernorm-rows": (["layernorm"], "2^28", ["--hidden", "4096"], True),
    "softmax-whole": (["softmax"], "2^28", ["--variant", "three_pass,online,buffer_reduction"], True),
    "softmax-cols": (["softmax"], "2^28", ["--axis", "cols"], True),
    "softmax-rows": (["softmax"], "2^28", ["--axis", "rows"], True),
    "sizes": (
        ["prefix_sum", "partition", "histogram", "dot", "map", "transpose", "zip"], "2^22,2^24,2^26,2^30", [], False),
    # The page quotes the ratios of 16-bit floats; its table has none.
    "short": (["dot", "map", "zip"], "2^24,2^28", ["--dtype", SHORT], False),
    # These cases take about as long as a launch; roofline measures the launch time for comparison.
    "small": (["roofline", "prefix_sum", "partition", "histogram", "dot", "map"], SMALL, [], False),
    # Keys that some sorts find harder or easier than uniform ones. The time goes into their references on the host.
    **{
        f"sort-{keys}{'-values' if values == 'index' else ''}": (
            ["sort"], "2^26",
            ["--variant", "onesweep,{order}", "--dtype", "uint32,uint64", "--values", values, "--distribution", keys],
            False)
        for values in ("index", "none") for keys in ("zipf", "sorted", "low_entropy", "constant", "few")
    },
    "sort-2p30": (
        ["sort"], "2^30", ["--variant", "onesweep,{order}", "--dtype", "uint32", "--values", "none"], False),
    "matmul-ladder": (
        ["matmul"], "2^28,2^30,2^33", ["--variant", "naive,tiled,tiled_overlap,tiled_async,register_tile"], False),
}  # fmt: skip


def available(program):
    """The mini-apps and the dtypes that the program has. Raises SystemExit if it cannot be asked."""

    def lines(question):
        answer = subprocess.run([program, question], capture_output=True, text=True, check=True).stdout
        return [line.split() for line in answer.splitlines() if line.strip()]

    try:
        apps = {words[0] for words in lines("list")}
        dtypes = {word.strip(",") for words in lines("--version") if words[0] == "dtypes" for word in words[1:]}
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"measure.py: {program} does not start ({error}); build the target tessera_peers", file=sys.stderr)
        raise SystemExit(2) from error
    return apps | dtypes


def is_whole(path, command):
    """Whether a report of this command is there whose run has ended. An interrupted run, one of --quick, and one of a
    case that has changed since are measured again."""
    try:
        with open(path, encoding="utf-8") as file:
            system = json.load(file)["system"]
        # A report of PyTorch quotes the command of the report that it was made from.
        return system.get("finished") is not None and system["command"].endswith(" ".join(["", *command[1:]]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False  # or it is no report


def command_of(name, options, has, report):
    """The command of a case, or None if the program, which `has` these mini-apps and dtypes, cannot run it."""
    wanted, sizes, extra, _ = CASES[name]
    chosen = [app for app in wanted if app in has]
    if not chosen or (name == "short" and not has.issuperset(SHORT.split(","))):
        return None
    if options.quick:
        sizes = ",".join(f"2^{10 + i}" for i, _ in enumerate(sizes.split(",")))
        extra = [*extra, "--samples", "1", "--min-time", "0", "--warmup", "0"]
        extra = ["16" if option in ("1024", "4096", "16384", "65536") else option for option in extra]
    blas, order = ("cublas", "cub") if options.space == "cuda" else ("cblas", "std")
    cub, cub_64 = (",cub", ",cub_64") if options.space == "cuda" else ("", "")
    extra = [option.format(blas=blas, order=order, cub=cub, cub_64=cub_64) for option in extra]
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
    has = available(options.program)
    os.makedirs(options.directory, exist_ok=True)
    torch = subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, check=False).returncode == 0
    began, failures = time.monotonic(), []

    def measure(command, made, log):
        """Runs a command that makes these reports, in their folder: the commands in reports name no directory."""
        with open(os.path.join(options.directory, log), "w+", encoding="utf-8") as file:
            failed = subprocess.run(command, cwd=options.directory, stdout=file, stderr=file, check=False).returncode
            file.seek(0)
            last = (file.read().strip().splitlines() or ["(no output)"])[-1]
        print(f"[{time.monotonic() - began:4.0f} s] {', '.join(made)}: {last}", flush=True)
        if failed:
            failures.append(log)

    def is_there(name, report):
        return is_whole(os.path.join(options.directory, report), commands[name])

    commands = {name: command_of(name, options, has, f"{name}-peers.json") for name in options.only.split(",")}
    for name, command in commands.items():
        if command is None:
            print(f"{name}: left out (this program has no such mini-app or dtype)")
    names = [name for name, command in commands.items() if command is not None]
    of_torch = [name for name in names if torch and CASES[name][3]]
    reports = []
    for name in names:
        reports.append(f"{name}-peers.json")
        if not is_there(name, reports[-1]):
            measure(commands[name], reports[-1:], f"{name}-peers.log")
        if of_torch and name == of_torch[-1]:
            # One process for all: importing PyTorch and starting its compiler takes longer than most cases.
            pairs = {one: (f"{one}-peers.json", f"{one}-pytorch.json") for one in of_torch}
            pairs = {one: pair for one, pair in pairs.items() if is_there(one, pair[0])}
            missing = {ours: other for one, (ours, other) in pairs.items() if not is_there(one, other)}
            if missing:
                script = [sys.executable, PYTORCH, *missing, "--json", *missing.values()]
                script += ["--device", "cuda" if options.space == "cuda" else "cpu"]
                measure(script + (["--no-compile"] if options.quick else []), missing.values(), "pytorch.log")
            reports += [other for _, other in pairs.values()]
    reports = [os.path.join(options.directory, one) for one in reports]
    reports = [path for path in reports if os.path.exists(path)]
    code = 1 if failures else 0
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
