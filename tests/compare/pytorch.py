#!/usr/bin/env python3
"""Times PyTorch on the cases of reports, and writes reports of its own, whose rows ratios.py sets beside ours.

    tests/compare/pytorch.py REPORT.json ... --json PYTORCH.json ... [--device cuda] [--no-compile]

Each report gets its own, which is written as soon as it is complete.

Rows: `pytorch` calls the operation; `torch_compile` calls the same function after torch.compile, for the operations
that it turns into kernels of its own; `cublas_bf16`, `cudnn_bf16` and `flash_bf16` (CUDA) call torch.mm and
scaled_dot_product_attention, or a block that calls it, with its cuDNN and FlashAttention back ends,
on inputs that were rounded to bfloat16 before; `compiled_bf16` is the block with cuDNN's after torch.compile.

A case is taken as the report has it: shapes, dtype (float and double) and parameters. The data are random, since no
operation here takes longer for some numbers than for others; each result is compared with that of the same operation in
double (a relative error of 1e-4 of the largest element fails the row, 1e-2 in bfloat16), not with our reference. Timed
as common/src/measure/sampling.cpp does it: batches of launches with one wait at their end, at least 10 samples and 0.02
s, the median. Floats are not rounded to tf32. What PyTorch has no operation for is left out (which is said).

Exit code: 0 all well, 1 a row failed, 2 a mistake.
"""

import argparse
import json
import math
import sys
import time


def operations(torch):
    """app: f(fields, parameters), which returns what PyTorch is to do,
    or None where the parameters ask for something else."""
    functional = torch.nn.functional

    def softmax(x, p):
        if p["axis"] == "all":
            flat = x["x"].reshape(-1)
            return lambda: torch.softmax(flat, 0)
        return lambda: torch.softmax(x["x"], 1 if p["axis"] == "rows" else 0)

    def attention(x, p):
        q, k, v = (x[name][None, None] for name in ("q", "k", "v"))
        return lambda: functional.scaled_dot_product_attention(q, k, v, scale=p["scale"])

    def conv1d(x, p):
        a, k = x["a"][None, None], x["k"][None, None]
        pad = k.shape[-1] - 1
        # Padding is symmetrical, and our windows use only the second half of it, so the first results are dropped.
        return lambda: functional.conv1d(a, k, padding=pad)[..., pad:]

    def conv2d(x, p):
        a, k = x["in"][None, None], x["k"][None, None]
        down, across = k.shape[-2] - 1, k.shape[-1] - 1
        return lambda: functional.conv2d(a, k, padding=(down, across))[..., down:, across:]

    def layernorm_linear(x, p):
        hidden = x["x"].shape[1:]
        return lambda: functional.linear(
            functional.layer_norm(x["x"], hidden, x["gamma"], x["beta"], p["eps"]), x["w"], x["bias"]
        )

    def layernorm_linear_backward(x, p):
        # The forward pass is not timed; the values that it keeps exist when the gradient is requested.
        leaves = [x[name].clone().requires_grad_() for name in ("x", "gamma", "beta", "w")]
        bias = torch.zeros_like(x["grad_y"][0]).requires_grad_()
        hidden = x["x"].shape[1:]
        y = functional.linear(functional.layer_norm(leaves[0], hidden, leaves[1], leaves[2], p["eps"]), leaves[3], bias)
        return lambda: torch.autograd.grad(y, [*leaves, bias], x["grad_y"], retain_graph=True)

    def transformer_block(x, p):
        batch, tokens, d = x["x"].shape
        heads = p["heads"] or max(1, d // 64)
        # Weights of mean 0 and variance 1 / columns, as ours: those of mean 1/2 give each query one key.
        w = {name: (x[name] - 0.5) * (12 / x[name].shape[1]) ** 0.5 for name in x if name.startswith("w")}

        def block():
            ln = functional.layer_norm(x["x"], (d,), x["gamma1"], x["beta1"], p["eps"])
            q, k, v = (
                functional.linear(ln, w["w" + name], x["b" + name]).view(batch, tokens, heads, -1).transpose(1, 2)
                for name in "qkv"
            )
            mean = functional.scaled_dot_product_attention(q, k, v, is_causal=p["causal"])
            a = x["x"] + functional.linear(mean.transpose(1, 2).reshape(batch, tokens, d), w["wo"], x["bo"])
            ln = functional.layer_norm(a, (d,), x["gamma2"], x["beta2"], p["eps"])
            return a + functional.linear(functional.gelu(functional.linear(ln, w["w1"], x["b1"])), w["w2"], x["b2"])

        return block

    def prefix_sum(x, p):
        if p["op"] != "sum" or p["exclusive"] or p["segment"]:
            return None
        return lambda: torch.cumsum(x["in"], 0)

    def top_k(x, p):
        k = min(16, x["in"].shape[1]) if p["k"] < 0 else p["k"]
        # Sorted, as ours. Values alone are compared: which index of a tie it returns is not specified.
        return lambda: torch.topk(x["in"], k, dim=1)[0]

    def moving_average(x, p):
        if p["segment"]:
            return None
        padded = functional.pad(x["in"][None], (0, 2))  # its last two means are of zeros, too
        return lambda: functional.avg_pool1d(padded, 3, 1)

    def pooling(x, p):
        window = p["window"]
        if p["op"] == "sum":
            return None
        pool = functional.avg_pool1d if p["op"] == "mean" else functional.max_pool1d
        return lambda: pool(x["a"][None], window, 1)

    return {
        "map": lambda x, p: lambda: x["a"] + p["c"],
        "map_2d": lambda x, p: lambda: x["a"] + p["c"],
        "map_3d": lambda x, p: lambda: x["a"] + p["c"],
        "zip": lambda x, p: lambda: x["a"] + x["b"],
        "broadcast_add": lambda x, p: lambda: x["a"][:, None] + x["b"],
        "bias_add": lambda x, p: lambda: x["x"] + x["bias"],
        "dot": lambda x, p: lambda: torch.dot(x["a"], x["b"]),
        "axis_sum": lambda x, p: lambda: x["a"].sum(p["axis"]),
        "transpose": lambda x, p: lambda: x["a"].t().contiguous(),
        "matmul": lambda x, p: lambda: torch.mm(x["a"], x["b"]),
        "embedding": lambda x, p: lambda: functional.embedding(x["idx"], x["w"]),
        "layernorm": lambda x, p: lambda: functional.layer_norm(
            x["x"], x["x"].shape[1:], x["gamma"], x["beta"], p["eps"]
        ),
        "softmax": softmax,
        "attention": attention,
        "conv1d": conv1d,
        "conv2d": conv2d,
        "layernorm_linear": layernorm_linear,
        "layernorm_linear_backward": layernorm_linear_backward,
        "transformer_block": transformer_block,
        "prefix_sum": prefix_sum,
        "pooling": pooling,
        "moving_average": moving_average,
        "top_k": top_k,
    }


# Variants for which torch.compile generates kernels; for others it calls the same library as `pytorch`.
COMPILED = (
    "map", "map_2d", "map_3d", "zip", "broadcast_add", "bias_add", "axis_sum", "transpose", "layernorm", "softmax",
    "moving_average", "layernorm_linear", "transformer_block",
)  # fmt: skip


def peers_of(torch, app, made, device, compiles):
    """variant: (f(fields, parameters) -> launch, dtype of its fields or None for the case's)."""
    found = {"pytorch": (made, None)}
    if compiles and app in COMPILED:

        def compiled(fields, parameters):
            launch = made(fields, parameters)
            torch.compiler.reset()  # or it would make one kernel for the shapes of all cases
            return None if launch is None else torch.compile(launch)

        found["torch_compile"] = (compiled, None)
    if device.startswith("cuda") and app == "matmul":
        found["cublas_bf16"] = (made, torch.bfloat16)
    if device.startswith("cuda") and app in ("attention", "transformer_block"):
        from torch.nn.attention import SDPBackend, sdpa_kernel

        def attention_by(backend):
            def make(fields, parameters):
                launch = made(fields, parameters)

                def call():
                    with sdpa_kernel(backend):
                        return launch()

                return call

            return make

        found["cudnn_bf16"] = (attention_by(SDPBackend.CUDNN_ATTENTION), torch.bfloat16)
        found["flash_bf16"] = (attention_by(SDPBackend.FLASH_ATTENTION), torch.bfloat16)
        if compiles and app in COMPILED:

            def compiled_with_cudnn(fields, parameters):
                torch.compiler.reset()
                launch = torch.compile(made(fields, parameters))

                def call():
                    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                        return launch()

                return call

            found["compiled_bf16"] = (compiled_with_cudnn, torch.bfloat16)
    return found


class Timer:
    def __init__(self, wait):
        self.wait = wait

    def batch(self, launch, count):
        self.wait()
        begin = time.perf_counter()
        for _ in range(count):
            launch()
        self.wait()
        return (time.perf_counter() - begin) / count

    def samples(self, launch):
        one = self.batch(launch, 1)
        for _ in range(3):
            launch()
        count = 1
        if one < 1e-4:
            one = min(self.batch(launch, 8) for _ in range(3))
            count = max(1, math.ceil(200e-6 / max(one, 1e-9))) if one < 20e-6 else 1
        seconds = []
        while (len(seconds) < 10 and sum(seconds) * count < 3) or sum(seconds) * count < 0.02 or len(seconds) < 3:
            seconds.append(self.batch(launch, count))
        return sorted(seconds), count


def quantile(ordered, q):
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def fields_of(torch, shapes, dtype, device):
    generator = torch.Generator(device=device).manual_seed(42)
    fields = {}
    for name, shape in shapes.items():
        if name == "idx":
            rows = shapes["w"][0]
            fields[name] = torch.randint(0, rows, shape, generator=generator, device=device, dtype=torch.int32)
        else:
            fields[name] = torch.rand(shape, generator=generator, device=device, dtype=dtype)
    return fields


def largest_error(torch, ours, wide):
    """Of one result or several, relative to the largest element of each."""
    if isinstance(ours, (tuple, list)):
        # max() would lose a NaN that is not first.
        errors = [largest_error(torch, one, other) for one, other in zip(ours, wide)]
        return max(errors, key=lambda error: (math.isnan(error), error))
    scale = max(float(wide.abs().max()), 1e-300) if wide.numel() else 1.0
    return float((ours.double() - wide).abs().max()) / scale if wide.numel() else 0.0


def moved_bytes(least, dtype, fields_dtype):
    """What an operation must move if its fields have another dtype than the case, whose least traffic is given."""
    return least * fields_dtype.itemsize / {"float": 4, "double": 8}[dtype]


def row_of(torch, timer, variant, made, short, plain, case, number, row, device):
    dtype = short or {"float": torch.float32, "double": torch.float64}[case["dtype"]]
    fields = fields_of(torch, case["input_shapes"], dtype, device)
    launch = made(fields, case["parameters"])
    if launch is None:
        return None
    result = launch()
    wide_fields = {name: value.double() if value.is_floating_point() else value for name, value in fields.items()}
    try:
        error = largest_error(torch, result, plain(wide_fields, case["parameters"])())
    except torch.cuda.OutOfMemoryError:
        error = None
    del wide_fields
    seconds, count = timer.samples(launch)
    median = quantile(seconds, 0.5)
    bytes_ = moved_bytes(row["bytes"], case["dtype"], dtype)
    good = error is None or error <= (1e-4 if short is None else 1e-2)
    return {
        "app": case["app"],
        "case": number,
        "variant": variant,
        "level": "library",
        "space": row["space"],
        "dtype": case["dtype"],
        "status": "passed" if good else "failed",
        "reason": None if good else f"off by {error:.1e} of the largest element",
        "note": "not checked (no memory for the same in double)" if error is None else None,
        "seconds": median,
        "seconds_min": seconds[0],
        "seconds_first_quartile": quantile(seconds, 0.25),
        "seconds_third_quartile": quantile(seconds, 0.75),
        "seconds_max": seconds[-1],
        "bytes": bytes_,
        "flops": row["flops"],
        "bytes_per_second": bytes_ / median,
        "flops_per_second": row["flops"] / median,
        "share_of_copy": None,
        "share_of_roof": None,
        "cold": False,
        "launches_per_sample": count,
    }


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+")
    parser.add_argument("--json", required=True, nargs="+")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--no-compile", action="store_true", help="leave torch_compile out")
    options = parser.parse_args(arguments)
    try:
        import torch
    except ImportError:
        print("PyTorch is not here (import torch fails); install it, or leave this peer out", file=sys.stderr)
        return 2
    if len(options.json) != len(options.reports):
        print(f"pytorch.py: {len(options.reports)} reports and {len(options.json)} names for theirs (--json); give one "
              "for each", file=sys.stderr)  # fmt: skip
        return 2
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    wait = torch.cuda.synchronize if options.device.startswith("cuda") else lambda: None
    timer = Timer(wait)
    good = True
    for path, json_path in zip(options.reports, options.json):
        try:
            good = measured(torch, timer, path, json_path, options) and good
        except Exception as error:  # the other reports may still be measured
            if len(options.reports) == 1:
                raise
            print(f"pytorch.py: {path}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            good = False
    return 0 if good else 1


def measured(torch, timer, path, json_path, options):
    """Writes PyTorch's report of a report; False if a row failed."""
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    known = operations(torch)
    rows, failed, left_out = [], False, []
    for number, case in enumerate(report["input"]):
        of_case = [row for row in report["rows"] if row["case"] == number and row["status"] in ("passed", "weak")]
        made = known.get(case["app"])
        if not of_case or made is None or case["dtype"] not in ("float", "double"):
            left_out.append(f"{case['app']} of {case['size']}")
            continue
        peers = peers_of(torch, case["app"], made, options.device, not options.no_compile)
        for variant, (make, short) in peers.items():
            row, why = None, "nothing like it"
            try:
                row = row_of(torch, timer, variant, make, short, made, case, number, of_case[0], options.device)
            except torch.cuda.OutOfMemoryError:
                why = "out of memory"
            except Exception as error:  # a back end that does not take the case, a compiler that is not there
                if variant == "pytorch":
                    raise
                why = str(error).strip().splitlines()[0][:100] if str(error).strip() else type(error).__name__
            if options.device.startswith("cuda"):
                torch.cuda.empty_cache()
            if row is None:
                left_out.append(f"{variant} of {case['app']} of {case['size']} ({why})")
                continue
            rows.append(row)
            failed = failed or row["status"] != "passed"
            print(
                f"{case['app']:26} {case['size']} {variant:14} {row['seconds'] * 1e6:12.1f} us  {row['reason'] or ''}",
                flush=True,
            )
    if left_out:
        print(f"left out: {', '.join(left_out)}")
    report["rows"] = rows
    report["system"]["command"] = f"pytorch.py (PyTorch {torch.__version__}) on the cases of: " + str(
        report["system"].get("command")
    )
    with open(json_path, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
        file.write("\n")
    return not failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
