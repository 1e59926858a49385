"""call_overhead.py with libraries that only pretend to compute: what is timed, subtracted, left out and refused."""

import contextlib
import functools
import io
import itertools
import json
import os
import sys
import tempfile
import types
import unittest
from unittest import mock

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import call_overhead  # noqa: E402


class Clock:
    """Time that passes only when somebody spends it, so that the figures of a table are known."""

    def __init__(self):
        self.now, self.in_launches = 0.0, 0.0

    def spend(self, own, launch=0.0):
        self.now += own + launch
        self.in_launches += launch

    def take(self):
        seconds, self.in_launches = self.in_launches, 0.0
        return seconds


def made_tessera(clock, wrong=False):
    """Each function takes 2 us of its own and 5 us of launches, and 1 us more without out."""

    def function(compute):
        def call(x, out=None, **more):
            clock.spend(2e-6 if out is not None else 3e-6, 5e-6)
            result = compute(x) + (1 if wrong else 0)
            if out is None:
                return numpy.asarray(result, "float32")
            out[...] = result
            return out

        return call

    module = types.ModuleType("tessera")
    for name in call_overhead.FUNCTIONS:
        setattr(module, name, function(lambda x, name=name: call_overhead.expected_of(name, x)))
    module.devices = ("host",)
    module._tessera = types.SimpleNamespace(_seconds_in_launches=clock.take)
    return module


class CallOverhead(unittest.TestCase):
    def run_it(self, *options, tessera=True, wrong=False):
        clock = Clock()
        modules = {name: None for name in ("torch", "cupy", "tessera", "tessera.torch", "cuda", "cuda.compute")}
        if tessera:
            modules["tessera"] = made_tessera(clock, wrong)
        output = io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            with (
                mock.patch.dict(sys.modules, modules),
                mock.patch.object(call_overhead.time, "perf_counter", lambda: clock.now),
                contextlib.redirect_stdout(output),
                contextlib.redirect_stderr(output),
            ):
                try:
                    code = call_overhead.main([os.path.join(folder, "out"), "--size", "64", "--repeats", "3", *options])
                except SystemExit as error:
                    code = error.code
            try:
                with open(os.path.join(folder, "out", "call_overhead.json"), encoding="utf-8") as file:
                    document = json.load(file)
                with open(os.path.join(folder, "out", "call_overhead.md"), encoding="utf-8") as file:
                    table = file.read()
            except FileNotFoundError:
                document = table = None
        return code, output.getvalue(), document, table

    def row(self, document, caller, function):
        (row,) = (row for row in document["rows"] if (row["caller"], row["function"]) == (caller, function))
        return row

    def test_times_and_what_is_subtracted(self):
        code, output, document, table = self.run_it()
        self.assertEqual(code, 0, output)
        for function in call_overhead.FUNCTIONS:
            row = self.row(document, "tessera, CuPy or NumPy, out=", function)
            self.assertEqual(row["status"], "passed")
            self.assertAlmostEqual(row["microseconds"], 7)
            self.assertAlmostEqual(row["microseconds_beyond_empty"], 7)  # an empty function spends nothing here
            self.assertAlmostEqual(row["microseconds_in_launches"], 5)
            self.assertAlmostEqual(row["microseconds_beyond_launches"], 2)
            row = self.row(document, "tessera, CuPy or NumPy", function)
            self.assertAlmostEqual(row["microseconds_beyond_launches"], 3)
        self.assertIn("| tessera, CuPy or NumPy, out= | 7.0 (7.0) | 7.0 (7.0) | 7.0 (7.0) | 7.0 (7.0) |", table)
        self.assertIn("| tessera, CuPy or NumPy, out= | 2.0 (5.0) | 2.0 (5.0) | 2.0 (5.0) | 2.0 (5.0) |", table)
        self.assertNotIn("microseconds_beyond_launches", self.row(document, "NumPy", "sum"))

    def test_a_machine_that_becomes_quicker_favours_nobody(self):
        device, turns = call_overhead.Device("cpu"), []

        def caller(name):
            compute = call_overhead.expected_of
            return lambda device: lambda function, x: lambda: turns.append(name) or compute(function, x)

        callers = {name: caller(name) for name in ("first", "last")}
        with (
            mock.patch.dict(sys.modules, {"tessera": made_tessera(Clock()), "torch": None}),
            mock.patch.object(call_overhead, "CALLERS", callers),
        ):
            call_overhead.measure(device, [64], 3, lambda text: None)
        blocks = [name for name, _ in itertools.groupby(turns)]
        self.assertEqual(blocks, 4 * ["first", "last"])  # the check of results, and three repeats

    def test_an_empty_launch_is_subtracted(self):
        clock = Clock()
        device = call_overhead.Device("cpu")
        device.empty = lambda: clock.spend(1.5e-6)
        with (
            mock.patch.dict(sys.modules, {"tessera": made_tessera(clock), "torch": None}),
            mock.patch.object(call_overhead.time, "perf_counter", lambda: clock.now),
        ):
            empty, rows = call_overhead.measure(device, [64], 3, lambda text: None)
        self.assertAlmostEqual(empty, 1.5)
        self.assertAlmostEqual(rows[0]["microseconds_beyond_empty"], 5.5)

    def test_what_is_not_there_is_said(self):
        code, output, document, table = self.run_it()
        self.assertEqual(self.row(document, "torch", "sum")["status"], "left out")
        self.assertEqual(self.row(document, "torch", "sum")["reason"], "torch is not installed")
        self.assertIn("- cuda.compute, out=: cuda.compute has no arrays on a CPU", table)
        self.assertIn("- NumPy, softmax: NumPy has no such function", table)
        self.assertNotIn("| torch |", table)

    def test_cuda_compute(self):
        # An object is made once, with a workspace of the size that it asks for; a function does all in each call.
        clock, made = Clock(), []

        def compute(name, named):
            array, out = (named[key] for key in (("d_in_keys", "d_out_keys") if "sort" in name else ("d_in", "d_out")))
            function = {"reduce_into": "sum", "inclusive_scan": "cumulative_sum", "radix_sort": "sort"}[name]
            self.assertEqual((named["num_items"], named["stream"]), (64, stream))
            self.assertEqual(named.get("op"), None if "sort" in name else "plus")
            out[...] = call_overhead.expected_of(function, array)

        def make(name, **arguments):
            made.append(name)
            clock.spend(100e-6)
            self.assertEqual(arguments.pop("order", "plus"), "ascending" if "sort" in name else "plus")

            def kept(temp_storage, **named):
                self.assertEqual(named, {**arguments, "num_items": 64, "stream": stream})
                clock.spend(2e-6)
                if temp_storage is None:
                    return 7
                self.assertEqual(temp_storage.shape, (7,))
                compute(name, named)
                return 7

            return kept

        def once(name, order=None, **named):
            clock.spend(30e-6)
            compute(name, named)

        stream = types.SimpleNamespace(__cuda_stream__=lambda: (0, 5))
        library = types.ModuleType("cuda.compute")
        library.OpKind = types.SimpleNamespace(PLUS="plus")
        library.SortOrder = types.SimpleNamespace(ASCENDING="ascending")
        for name in ("reduce_into", "inclusive_scan", "radix_sort"):
            setattr(library, name, functools.partial(once, name))
            setattr(library, f"make_{name}", functools.partial(make, name))

        class Tensor(numpy.ndarray):
            clone = numpy.ndarray.copy

        torch = types.ModuleType("torch")
        torch.tensor = lambda x, device: x.copy().view(Tensor)
        torch.empty = lambda count, dtype, device: numpy.empty(count, dtype)
        torch.uint8 = numpy.uint8
        device = call_overhead.Device("cpu")
        device.name, device.streams = "cuda", [object(), stream]
        modules = {"tessera": made_tessera(clock), "torch": torch, "cuda.compute": library, "tessera.torch": None}
        modules["cuda"] = types.ModuleType("cuda")
        callers = {name: caller for name, caller in call_overhead.CALLERS.items() if "cuda" in name}
        with (
            mock.patch.dict(sys.modules, {**modules, "cupy": None}),
            mock.patch.object(call_overhead.time, "perf_counter", lambda: clock.now),
            mock.patch.object(call_overhead, "CALLERS", callers),
        ):
            _, rows = call_overhead.measure(device, [64], 3, lambda text: None)
        document = {"rows": rows}
        for function in ("sum", "cumulative_sum", "sort"):
            for caller, expected in (("cuda.compute, object", 2), ("cuda.compute, out=", 30)):
                row = self.row(document, caller, function)
                self.assertEqual(row["status"], "passed", row)
                self.assertAlmostEqual(row["microseconds"], expected)
        self.assertEqual(sorted(made), ["inclusive_scan", "radix_sort", "reduce_into"])
        self.assertEqual(self.row(document, "cuda.compute, object", "softmax")["reason"], "cuda.compute has no softmax")

    def test_wrong_results_are_not_timed(self):
        code, output, document, table = self.run_it(wrong=True)
        self.assertEqual(code, 1)
        row = self.row(document, "tessera, CuPy or NumPy", "sort")
        self.assertEqual(row["status"], "wrong")
        self.assertNotIn("microseconds", row)
        self.assertIn("| tessera, CuPy or NumPy | wrong | wrong | wrong | wrong |", table)
        self.assertEqual(self.row(document, "NumPy", "sort")["status"], "passed")

    def test_mistakes_of_the_user(self):
        for options, said in (
            (["--size", "many"], "--size is 'many'"),
            (["--repeats", "0"], "--repeats is 0"),
            (["--device", "cuda"], "this build of Tessera has no CUDA"),
        ):
            code, output, document, _ = self.run_it(*options)
            self.assertEqual((code, document, output.count("\n")), (2, None, 1), output)
            self.assertIn(said, output)
        code, output, document, _ = self.run_it(tessera=False)
        self.assertEqual((code, document), (2, None))
        self.assertIn("name the module's folder in PYTHONPATH", output)


if __name__ == "__main__":
    unittest.main()
