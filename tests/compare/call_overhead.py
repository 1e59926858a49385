#!/usr/bin/env python3
"""Times calls from Python on small arrays: Tessera's functions beside PyTorch's, CuPy's and cuda.compute's. Writes one
table, from one run.

    tests/compare/call_overhead.py FOLDER [--device cuda] [--size 1024,16384] [--repeats 31]

FOLDER gets call_overhead.md and call_overhead.json. `import tessera` must work ($PYTHONPATH); other libraries are left
out, with a reason, if they are not there. --device is cuda if Tessera and PyTorch or CuPy can use a GPU, otherwise cpu.

Each number is the time on the host to enqueue a call: calls follow each other on one stream, a wait follows them
untimed, and they are so few that the stream's queue never fills. Every repeat times all callers, one behind the other,
so that a busy machine slows all of them. Each call is written out as its user writes it: no argument passes through
another function or a dictionary. The table has the median over all repeats, less the time to launch an empty kernel in
the same way (on a CPU: to call an empty function). For Tessera, further rows subtract the time of the launches inside
the call instead, which the module measures: what remains is the call's own work. Each result is compared with NumPy's
in double first.

Exit code: 0 all well, 1 a result is wrong, 2 a mistake.
"""

import argparse
import functools
import gc
import importlib
import importlib.metadata
import json
import os
import platform
import statistics
import sys
import time

import numpy

FUNCTIONS = ["sum", "cumulative_sum", "softmax", "sort"]


class Missing(Exception):
    """A library, or a function of it, is not there. The message says why."""


def library(name):
    """Returns a module. Raises Missing if it cannot be imported."""
    try:
        return importlib.import_module(name)
    except Exception as error:  # also what a module raises that finds no GPU
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            raise Missing(f"{name} is not installed") from None
        reason = str(error).strip().splitlines()
        raise Missing(f"{name}: {reason[0] if reason else type(error).__name__}") from None


def input_of(function, size):
    """Whole numbers in an order that no sort likes; a square matrix for softmax."""
    x = numpy.random.default_rng(1).integers(0, 8, size).astype("float32")
    side = int(size**0.5)
    return x[: side * side].reshape(side, side) if function == "softmax" else x


def expected_of(function, x):
    wide = x.astype("float64")
    if function == "softmax":
        powers = numpy.exp(wide - wide.max(axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True)
    return {"sum": numpy.sum, "cumulative_sum": numpy.cumsum, "sort": numpy.sort}[function](wide)


class Device:
    """Where calls run: arrays of libraries, one stream for all of them, a wait, and an empty launch."""

    def __init__(self, name):
        self.name = name
        self.stream = None  # what Tessera's functions get
        self.streams = []  # the same one as objects of libraries
        self.on_stream = []  # what libraries enter
        self.wait = lambda: None
        self.empty, self.empty_name = (lambda: None), "a call of an empty function"
        self.gpu = None
        if name == "cuda":
            self.find_gpu()

    def find_gpu(self):
        torch = cupy = None
        try:
            torch = library("torch")
            if not torch.cuda.is_available():
                torch = None
        except Missing:
            pass
        try:
            cupy = library("cupy")
        except Missing:
            pass
        if torch is not None:
            own = torch.cuda.Stream()
            self.pointer, self.wait, self.gpu = own.cuda_stream, own.synchronize, torch.cuda.get_device_name()
            self.on_stream.append(lambda: torch.cuda.stream(own))
            self.stream = own
            self.streams.append(own)
        if cupy is not None:
            if torch is None:
                own = cupy.cuda.Stream(non_blocking=True)
                self.streams.append(own)
                self.pointer, self.wait = own.ptr, own.synchronize
                self.gpu = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
            stream = cupy.cuda.ExternalStream(self.pointer)
            self.on_stream.append(lambda: stream)
            self.stream = self.stream or stream
            self.streams.append(stream)
            kernel = cupy.RawKernel('extern "C" __global__ void nothing() {}', "nothing")
            self.empty, self.empty_name = (lambda: kernel((1,), (1,), ())), "a launch of an empty kernel by CuPy"
        elif torch is not None:
            self.empty, self.empty_name = (lambda: torch.cuda._sleep(0)), "a launch of an empty kernel by PyTorch"
        else:
            raise Missing("neither PyTorch nor CuPy finds a GPU")


# ----------------------------------------------------------------------------------------------------------------------
# Callers: each returns, for a function and its input, what is timed. Raises Missing if there is nothing like it.
# ----------------------------------------------------------------------------------------------------------------------


def tensors(device):
    torch = library("torch")
    return lambda x: torch.tensor(x, device=device.name)


def arrays(device):
    if device.name == "cpu":
        return lambda x: x.copy()
    return library("cupy").asarray


def by_tessera(of, device, with_out):
    tessera, convert = library("tessera"), of(device)

    def make(function, x):
        call, array, stream = getattr(tessera, function), convert(x), device.stream
        if not with_out:
            return lambda: call(array, stream=stream)
        out = call(array, stream=stream)
        return lambda: call(array, out=out, stream=stream)

    return make


def by_operation(device):
    ours, convert = library("tessera.torch"), tensors(device)

    def make(function, x):
        array = convert(x)
        if function == "softmax":
            return lambda: ours.softmax(array, -1)
        if function == "cumulative_sum":
            return lambda: ours.cumsum(array, 0)
        raise Missing("tessera.torch has no such operation")

    return make


def by_torch(device, with_out):
    torch, convert = library("torch"), tensors(device)

    def make(function, x):
        array = convert(x)
        call = {
            "sum": lambda: torch.sum(array, 0),
            "cumulative_sum": lambda: torch.cumsum(array, 0),
            "softmax": lambda: torch.softmax(array, -1),
            "sort": lambda: torch.sort(array),
        }[function]
        if not with_out:
            return call
        out = call()
        out = tuple(out) if function == "sort" else out
        return {
            "sum": lambda: torch.sum(array, 0, out=out),
            "cumulative_sum": lambda: torch.cumsum(array, 0, out=out),
            "softmax": lambda: torch.softmax(array, -1, out=out),
            "sort": lambda: torch.sort(array, out=out),
        }[function]

    return make


def by_cupy(device, with_out):
    if device.name == "cpu":
        raise Missing("CuPy has no arrays on a CPU")
    cupy = library("cupy")

    def make(function, x):
        array = cupy.asarray(x)
        if function == "softmax":
            if with_out:
                raise Missing("CuPy's softmax has no out")
            softmax = library("cupyx.scipy.special").softmax
            return lambda: softmax(array, axis=-1)
        if function == "sort":
            if with_out:
                raise Missing("CuPy's sort has no out")
            return lambda: cupy.sort(array)
        call = {"sum": cupy.sum, "cumulative_sum": cupy.cumsum}[function]
        if not with_out:
            return lambda: call(array)
        out = call(array)
        return lambda: call(array, out=out)

    return make


def by_numpy(device, with_out):
    if device.name == "cuda":
        raise Missing("NumPy has no arrays on a GPU")

    def make(function, x):
        if function == "softmax" or (function == "sort" and with_out):
            raise Missing("NumPy has no such function")
        call = {"sum": numpy.sum, "cumulative_sum": numpy.cumsum, "sort": numpy.sort}[function]
        if not with_out:
            return lambda: call(x)
        out = numpy.empty((), x.dtype) if function == "sum" else numpy.empty_like(x)
        return lambda: call(x, out=out)

    return make


def by_cuda_compute(device, with_object):
    """Calls an object that the caller keeps, with its workspace; or a function, which finds its object and allocates a
    workspace each time."""
    if device.name == "cpu":
        raise Missing("cuda.compute has no arrays on a CPU")
    compute, torch = library("cuda.compute"), library("torch")
    stream = next((one for one in device.streams if hasattr(one, "__cuda_stream__")), None)
    if stream is None:
        raise Missing("neither PyTorch's nor CuPy's stream has __cuda_stream__")
    convert = tensors(device)

    def make(function, x):
        if function == "softmax":
            raise Missing("cuda.compute has no softmax")
        array = convert(x)
        out = array[:1].clone() if function == "sum" else array.clone()
        zero, plus, up, size = numpy.zeros(1, x.dtype), compute.OpKind.PLUS, compute.SortOrder.ASCENDING, x.size
        if not with_object:
            return {
                "sum": lambda: compute.reduce_into(
                    d_in=array, d_out=out, op=plus, num_items=size, h_init=zero, stream=stream
                ),
                "cumulative_sum": lambda: compute.inclusive_scan(
                    d_in=array, d_out=out, op=plus, init_value=zero, num_items=size, stream=stream
                ),
                "sort": lambda: compute.radix_sort(
                    d_in_keys=array, d_out_keys=out, d_in_values=None, d_out_values=None, order=up, num_items=size,
                    stream=stream,
                ),
            }[function], out  # fmt: skip
        kept = {
            "sum": lambda: compute.make_reduce_into(d_in=array, d_out=out, op=plus, h_init=zero),
            "cumulative_sum": lambda: compute.make_inclusive_scan(d_in=array, d_out=out, op=plus, init_value=zero),
            "sort": lambda: compute.make_radix_sort(
                d_in_keys=array, d_out_keys=out, d_in_values=None, d_out_values=None, order=up
            ),
        }[function]()
        workspace = None
        call = {
            "sum": lambda: kept(
                temp_storage=workspace, d_in=array, d_out=out, op=plus, num_items=size, h_init=zero, stream=stream
            ),
            "cumulative_sum": lambda: kept(
                temp_storage=workspace, d_in=array, d_out=out, op=plus, init_value=zero, num_items=size, stream=stream
            ),
            "sort": lambda: kept(
                temp_storage=workspace, d_in_keys=array, d_out_keys=out, d_in_values=None, d_out_values=None,
                num_items=size, stream=stream,
            ),
        }[function]  # fmt: skip
        count = call()  # without a workspace it says how large one must be
        workspace = torch.empty(max(count, 1), dtype=torch.uint8, device=device.name)
        return call, out

    return make


CALLERS = {
    "tessera, CuPy or NumPy, out=": lambda device: by_tessera(arrays, device, True),
    "tessera, CuPy or NumPy": lambda device: by_tessera(arrays, device, False),
    "tessera, PyTorch, out=": lambda device: by_tessera(tensors, device, True),
    "tessera, PyTorch": lambda device: by_tessera(tensors, device, False),
    "tessera.torch": by_operation,
    "torch, out=": lambda device: by_torch(device, True),
    "torch": lambda device: by_torch(device, False),
    "CuPy, out=": lambda device: by_cupy(device, True),
    "CuPy": lambda device: by_cupy(device, False),
    "NumPy, out=": lambda device: by_numpy(device, True),
    "NumPy": lambda device: by_numpy(device, False),
    "cuda.compute, object": lambda device: by_cuda_compute(device, True),
    "cuda.compute, out=": lambda device: by_cuda_compute(device, False),
}


# ----------------------------------------------------------------------------------------------------------------------
# Measuring
# ----------------------------------------------------------------------------------------------------------------------


def on_host(result):
    """A result of any library as NumPy's array."""
    if isinstance(result, tuple):  # of torch.sort
        result = result[0]
    result = result.get() if hasattr(result, "get") else result.cpu() if hasattr(result, "cpu") else result
    return numpy.asarray(result, dtype="float64")


def is_right(result, expected):
    found = on_host(result)
    return found.size == expected.size and numpy.allclose(found.reshape(expected.shape), expected, rtol=1e-4, atol=1e-6)


class Timed:
    """A call, with the microseconds per call that its repeats took, and the launches in them, if the module tells."""

    def __init__(self, call, seconds_in_launches=None):
        self.call, self.times, self.launches = call, [], []
        self.seconds_in_launches = seconds_in_launches or (lambda: 0.0)

    def repeat(self, device, count):
        call = self.call
        device.wait()
        call()  # another one was the last: its data and code are in the caches
        device.wait()
        self.seconds_in_launches()
        begin = time.perf_counter()
        for _ in range(count):
            call()
        end = time.perf_counter()
        inside = self.seconds_in_launches()
        device.wait()
        self.times.append((end - begin) / count * 1e6)
        self.launches.append(inside / count * 1e6)

    def figures(self):
        quartiles = statistics.quantiles(self.times, n=4) if len(self.times) > 1 else 3 * self.times
        return {
            "microseconds": statistics.median(self.times),
            "microseconds_first_quartile": quartiles[0],
            "microseconds_third_quartile": quartiles[2],
        }

    def figures_of_launches(self):
        beyond = [whole - inside for whole, inside in zip(self.times, self.launches)]
        return {
            "microseconds_in_launches": statistics.median(self.launches),
            "microseconds_beyond_launches": statistics.median(beyond),
        }


def checked_row(row, make, device):
    """Adds the status, and returns what is to be timed; None if the function is left out or wrong."""
    x = input_of(row["function"], row["size"])
    own = library("tessera")._tessera._seconds_in_launches if "tessera" in row["caller"] else None
    try:
        made = make(row["function"], x)
        call, out = made if isinstance(made, tuple) else (made, None)
        result = call()
        device.wait()
        if is_right(result if out is None else out, expected_of(row["function"], x)):
            row.update(status="passed")
            return Timed(call, own)
        row.update(status="wrong", reason="the result is not NumPy's")
    except Missing as missing:
        row.update(status="left out", reason=str(missing))
    except Exception as error:  # a library of another version; but Tessera's functions must not fail
        status = "wrong" if "tessera" in row["caller"] else "left out"
        row.update(status=status, reason=f"{type(error).__name__}: {error}".splitlines()[0][:200])
    return None


def measure(device, sizes, repeats, say):
    """Returns all rows: with times, or with the reason why there are none, or with status `wrong`."""
    rows, timed = [], []
    for caller, find in CALLERS.items():
        try:
            make = find(device)
        except Missing as missing:
            make = functools.partial(refuse, str(missing))
        for function in FUNCTIONS:
            for size in sizes:
                row = {"caller": caller, "function": function, "size": size}
                rows.append(row)
                call = checked_row(row, make, device)
                if call is not None:
                    timed.append((row, call))
    count = 50 if device.name == "cuda" else 200
    empty = Timed(device.empty)
    for repeat in range(repeats):
        for call in (empty, *(call for _, call in timed)):
            call.repeat(device, count)
    of_empty = statistics.median(empty.times)
    for row, call in timed:
        row.update(call.figures())
        if "tessera" in row["caller"]:
            row.update(call.figures_of_launches())
        row.update(microseconds_beyond_empty=row["microseconds"] - of_empty)
        say(f"{row['caller']:30} {row['function']:15} {row['size']:8} {row['microseconds']:8.2f} us")
    return of_empty, rows


def refuse(why, function, x):
    raise Missing(why)


# ----------------------------------------------------------------------------------------------------------------------
# Writing
# ----------------------------------------------------------------------------------------------------------------------


def table_of(document):
    """The report as Markdown."""
    rows, sizes = document["rows"], document["sizes"]
    columns = [(function, size) for function in FUNCTIONS for size in sizes]
    by_place = {(row["caller"], row["function"], row["size"]): row for row in rows}

    def line(name, text):
        return f"| {name} | " + " | ".join(text(by_place[(name, *column)]) for column in columns) + " |"

    def beyond_empty(row):
        if "microseconds" not in row:
            return row["status"] if row["status"] == "wrong" else "-"
        return f"{row['microseconds_beyond_empty']:.1f} ({row['microseconds']:.1f})"

    def beyond_own(row):
        if "microseconds_beyond_launches" not in row:
            return "-"
        return f"{row['microseconds_beyond_launches']:.1f} ({row['microseconds_in_launches']:.1f})"

    with_rows = {row["caller"] for row in rows if row["status"] != "left out"}
    shown = [caller for caller in CALLERS if caller in with_rows]
    text = [
        f"Microseconds per call beyond {document['empty']} ({document['empty_microseconds']:.1f} us). In brackets: the "
        "whole call.",
        "",
        "| caller | " + " | ".join(f"{function} {size}" for function, size in columns) + " |",
        "|---|" + "---:|" * len(columns),
        *(line(caller, beyond_empty) for caller in shown),
    ]
    own = [caller for caller in shown if any(row["caller"] == caller and "microseconds_beyond_launches" in row
                                             for row in rows)]  # fmt: skip
    if own:
        text.append("| **beyond the launches inside (which took)** |" + " |" * len(columns))
        text += [line(caller, beyond_own) for caller in own]
    reasons = {}
    for row in rows:
        if row["status"] == "left out":
            reasons.setdefault((row["caller"], row["reason"]), []).append(row["function"])
    text += ["", "Left out:", ""] if reasons else []
    for (caller, reason), functions in reasons.items():
        names = sorted(set(functions), key=FUNCTIONS.index)
        text.append(f"- {caller}{'' if names == FUNCTIONS else ', ' + ', '.join(names)}: {reason}")
    text += ["", "; ".join(f"{name} {value}" for name, value in document["versions"].items())]
    return "\n".join(text) + "\n"


def versions_of(device):
    found = {"device": device.gpu or device.name, "python": platform.python_version()}
    for name, package in (("numpy", "numpy"), ("torch", "torch"), ("cupy", "cupy"), ("cuda.compute", "cuda-cccl")):
        try:
            found[name] = getattr(library(name), "__version__", None) or importlib.metadata.version(package)
        except Missing:
            pass
        except importlib.metadata.PackageNotFoundError:
            found[name] = "of unknown version"
    return found


def chosen_device(name):
    if name == "cpu":
        return Device("cpu")
    if "cuda" not in library("tessera").devices:
        if name == "cuda":
            raise Missing("this build of Tessera has no CUDA")
        return Device("cpu")
    try:
        return Device("cuda")
    except Missing:
        if name == "cuda":
            raise
        return Device("cpu")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--device", choices=["cuda", "cpu"])
    parser.add_argument("--size", default="1024,16384")
    parser.add_argument("--repeats", type=int, default=31)
    options = parser.parse_args(arguments)
    try:
        sizes = [int(size) for size in options.size.split(",")]
        if min(sizes) < 1 or options.repeats < 1:
            raise ValueError
    except ValueError:
        print(f"--size is '{options.size}' and --repeats is {options.repeats} (numbers above 0); give --size 1024,4096",
              file=sys.stderr)  # fmt: skip
        return 2
    try:
        library("tessera")
        device = chosen_device(options.device)
    except Missing as missing:
        print(f"{missing} (this script times tessera); name the module's folder in PYTHONPATH, or choose another "
              "--device", file=sys.stderr)  # fmt: skip
        return 2
    entered = [enter() for enter in device.on_stream]
    for one in entered:
        one.__enter__()
    gc.disable()
    try:
        empty, rows = measure(device, sizes, options.repeats, lambda text: print(text, flush=True))
    finally:
        gc.enable()
        for one in reversed(entered):
            one.__exit__(None, None, None)
    document = {"schema": 1, "device": device.name, "versions": versions_of(device), "sizes": sizes}
    document.update(repeats=options.repeats, empty=device.empty_name, empty_microseconds=empty, rows=rows)
    os.makedirs(options.folder, exist_ok=True)
    with open(os.path.join(options.folder, "call_overhead.json"), "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")
    with open(os.path.join(options.folder, "call_overhead.md"), "w", encoding="utf-8") as file:
        file.write(table_of(document))
    print(table_of(document))
    return 1 if any(row["status"] == "wrong" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
