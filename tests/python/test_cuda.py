"""Arrays on a GPU, of PyTorch, CuPy and JAX: without copies, in the order of streams, with kept objects and threads.

Skipped with a reason if there is no GPU. tests/python/README.md names what has run.
"""

import ctypes
import gc
import os
import subprocess
import sys
import threading
import unittest
import weakref

import numpy

import tessera

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX takes most of the memory otherwise
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../common/python/examples"))

try:
    import torch
except ImportError as error:
    raise unittest.SkipTest(str(error)) from None

if "cuda" not in tessera.devices:
    raise unittest.SkipTest(f"this build of Tessera has no CUDA: {tessera.devices}")
if not torch.cuda.is_available():
    raise unittest.SkipTest("PyTorch finds no GPU")

try:
    import cupy
except ImportError:
    cupy = None

try:
    import jax

    jax.devices("cuda")
except (ImportError, RuntimeError):
    jax = None

torch.cuda.set_device(int(os.environ.get("KOKKOS_DEVICE_ID", "0")))  # JAX changes it
DTYPE = "float32" if "float32" in tessera.dtypes else "float64"
TYPE = getattr(torch, DTYPE)
GPU = torch.device("cuda", torch.cuda.current_device())
N = 100003


def ones(n=N):
    return torch.ones(n, dtype=TYPE, device=GPU)


def ramp(n=N):
    return torch.arange(1, n + 1, dtype=TYPE, device=GPU)


def keep_busy(milliseconds=100):
    """Keeps the current stream of PyTorch busy."""
    torch.cuda._sleep(int(milliseconds * 1.5e6))


class Driver:
    """Streams by CUDA's driver, which end when they are told to: PyTorch's never do."""

    library = None

    @classmethod
    def call(cls, name, *arguments):
        if cls.library is None:
            cls.library = ctypes.CDLL("libcuda.so.1")
        code = getattr(cls.library, name)(*arguments)
        if code != 0:
            raise AssertionError(f"{name} returned {code}")

    def __init__(self):
        pointer = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(pointer), 1)  # CU_STREAM_NON_BLOCKING
        self.address = pointer.value

    def __cuda_stream__(self):
        return (0, self.address)

    def destroy(self):
        self.call("cuStreamDestroy_v2", ctypes.c_void_p(self.address))


class NoCopies(unittest.TestCase):
    def test_out_is_the_memory_that_was_given(self):
        x, y = ones(), torch.empty(N, dtype=TYPE, device=GPU)
        before = y.data_ptr()
        self.assertIs(tessera.cumulative_sum(x, out=y), y)
        self.assertEqual(y.data_ptr(), before)
        self.assertTrue(torch.equal(y, ramp()))

    def test_result_is_on_the_gpu(self):
        y = tessera.cumulative_sum(ones())
        self.assertIs(type(y), torch.Tensor)
        self.assertEqual((y.device, y.dtype), (GPU, TYPE))
        self.assertTrue(torch.equal(y, ramp()))

    def test_in_place(self):
        x = ones()
        tessera.cumulative_sum(x, out=x)
        self.assertTrue(torch.equal(x, ramp()))

    def allocations(self, call):
        def count():
            return torch.cuda.memory_stats(GPU)["allocation.all.allocated"]

        def calls(number):
            for _ in range(number):
                call()
                torch.cuda.synchronize()  # otherwise more results are in flight each time

        calls(3)  # make the kept object, and room for the result in flight
        before, free = count(), torch.cuda.mem_get_info(GPU)[0]
        calls(20)
        # Workspaces are Kokkos', which the first number does not see.
        self.assertEqual(torch.cuda.mem_get_info(GPU)[0], free)
        return (count() - before) / 20

    def test_allocations_are_counted(self):
        x, y, stream = ones(1 << 20), torch.empty(1 << 20, dtype=TYPE, device=GPU), torch.cuda.current_stream()
        for function in (tessera.cumulative_sum, tessera.sort):
            for more in ({}, {"stream": stream}):
                self.assertEqual(self.allocations(lambda: function(x, out=y, **more)), 0)
                self.assertEqual(self.allocations(lambda: function(x, **more)), 1)

    def test_all_functions(self):
        # On a GPU and on the host. Whole numbers, where all sums are exact.
        random = numpy.random.default_rng(3)
        flat = random.integers(-8, 9, 20011).astype(DTYPE)
        rows, other = (random.integers(-8, 9, shape).astype(DTYPE) for shape in ((130, 70), (70, 90)))
        taps, weights = flat[:5].copy(), random.integers(1, 4, 70).astype(DTYPE)
        indices = random.integers(-3, 140, 300).astype("int32")
        heads = random.normal(size=(3, 33, 24)).astype(DTYPE)
        calls = [
            (tessera.cumulative_sum, [flat], {}),
            (tessera.sum, [flat], {}),
            (tessera.sum, [rows], {"axis": 0}),
            (tessera.sum, [rows], {"axis": 1}),
            (tessera.vecdot, [flat, flat], {}),
            (tessera.matmul, [rows, other], {}),
            (tessera.matrix_transpose, [rows], {}),
            (tessera.softmax, [rows], {}),
            (tessera.softmax, [rows], {"axis": 0}),
            (tessera.layer_norm, [rows, weights, weights], {"eps": 0.1}),
            (tessera.scaled_dot_product_attention, [heads[0], heads[1], heads[2]], {}),
            (tessera.scaled_dot_product_attention, [heads, heads, heads], {}),
            (tessera.scaled_dot_product_attention, [heads, heads, heads], {"is_causal": True}),
            (tessera.sort, [flat], {}),
            (tessera.sort, [flat], {"descending": True}),
            (tessera.argsort, [flat], {}),
            (tessera.partition, [flat], {"below": 2}),
            (tessera.histogram, [flat], {"bins": 12, "range": (-7, 5)}),
            (tessera.embedding, [indices, rows], {}),
            (tessera.conv1d, [flat, taps], {}),
            (tessera.conv2d, [rows, other[:3, :5].copy()], {}),
            (tessera.linear, [rows, other.T.copy()], {}),
            (tessera.linear, [rows, other.T.copy(), other[0].copy()], {}),
            (tessera.take, [rows, abs(indices) % len(rows) - 1], {"axis": 0}),
            (tessera.topk, [rows], {"k": 9}),
            (tessera.unique_counts, [flat], {}),
        ]
        for function, arguments, more in calls:
            for stream in (None, torch.cuda.Stream()):
                with self.subTest(function=function.__name__, shapes=[x.shape for x in arguments], stream=stream):
                    expected = function(*arguments, **more)
                    found = function(*(torch.tensor(x, device=GPU) for x in arguments), **more, stream=stream)
                    torch.cuda.synchronize()
                    pairs = zip(found, expected) if isinstance(expected, tuple) else [(found, expected)]
                    for one, right in pairs:
                        one = one.cpu().numpy() if isinstance(one, torch.Tensor) else one
                        self.assertEqual(numpy.shape(one), numpy.shape(right))
                        numpy.testing.assert_allclose(one, right, rtol=1e-4, atol=1e-5)


class Refusals(unittest.TestCase):
    def test_two_devices(self):
        x = ones(8)
        with self.assertRaisesRegex(ValueError, r"out is on the host \(x is on cuda:\d\); copy one of them first"):
            tessera.sort(x, out=torch.empty(8, dtype=TYPE))
        with self.assertRaisesRegex(ValueError, r"x2 is on the host \(x1 is on cuda:\d\)"):
            tessera.vecdot(x, x.cpu(), stream=torch.cuda.Stream())

    @unittest.skipUnless(torch.cuda.device_count() > 1, "there is one GPU")
    def test_another_gpu(self):
        tessera.sum(ones(8))  # Kokkos has a device now
        ours = int(os.environ.get("KOKKOS_DEVICE_ID", "0"))
        for device in range(torch.cuda.device_count()):
            x = torch.ones(8, dtype=TYPE, device=f"cuda:{device}")
            with torch.cuda.device(x.device):
                if device == ours:
                    self.assertEqual(float(tessera.sum(x)), 8)
                else:
                    with self.assertRaisesRegex(ValueError, rf"x is on cuda:{device} \(Kokkos uses number {ours}\)"):
                        tessera.sum(x)
                self.assertEqual(torch.cuda.current_device(), device)
            if device != ours:
                message = rf"stream is on GPU {device} \(x is on cuda:{ours}\)"
                with self.assertRaisesRegex(ValueError, message):
                    tessera.sum(ones(8).to(f"cuda:{ours}"), stream=torch.cuda.Stream(device=device))

    def test_strides_dtypes_gradients(self):
        x = ones(64).reshape(8, 8)
        with self.assertRaisesRegex(ValueError, "x of shape .* has strides of"):
            tessera.softmax(x.T)
        with self.assertRaisesRegex(TypeError, "x has dtype float16"):
            tessera.sort(x.reshape(-1).half())
        with self.assertRaisesRegex(TypeError, "x requires a gradient"):
            tessera.sort(ones(8).requires_grad_())
        with self.assertRaisesRegex(ValueError, "out overlaps x"):
            tessera.sort(x[0], out=x[0])

    def test_addresses_of_no_gpu(self):
        class Array:
            def __init__(self, x):
                self.memory = x
                address = x.ctypes.data if isinstance(x, numpy.ndarray) else x.data_ptr()
                typestr = "<f4" if DTYPE == "float32" else "<f8"
                self.__cuda_array_interface__ = {
                    "shape": tuple(x.shape), "typestr": typestr, "data": (address, False), "version": 3
                }  # fmt: skip

        with self.assertRaisesRegex(ValueError, "x is in no GPU's memory .*; give a valid array"):
            tessera.sort(Array(numpy.ones(8, DTYPE)), out=ones(8))
        # Nobody finds the error of that question later.
        out = torch.empty(8, dtype=TYPE, device=GPU)
        self.assertIs(tessera.cumulative_sum(Array(ones(8)), out=out), out)
        self.assertTrue(torch.equal(out, ramp(8)))

    def test_read_only(self):
        class ReadOnly:
            def __init__(self, x):
                self.memory = x
                self.__cuda_array_interface__ = {**x.__cuda_array_interface__, "data": (x.data_ptr(), True)}

        with self.assertRaisesRegex(ValueError, "out is read-only"):
            tessera.cumulative_sum(ones(8), out=ReadOnly(ones(8)))
        self.assertEqual(float(tessera.sum(ReadOnly(ones(8)), out=torch.zeros((), dtype=TYPE, device=GPU))), 8)


class Streams(unittest.TestCase):
    """Each test makes its input on a stream that is busy: a call that does not wait for it reads zeros."""

    def setUp(self):
        self.x = torch.zeros(N, dtype=TYPE, device=GPU)
        self.y = torch.zeros(N, dtype=TYPE, device=GPU)
        # The kept object is made now: a call that makes it waits for the GPU.
        self.stream = torch.cuda.Stream()
        for stream in (self.stream, None):
            tessera.cumulative_sum(self.x, out=self.y, stream=stream)
        torch.cuda.synchronize()

    def late_ones(self):
        keep_busy()
        self.x.fill_(1)

    def test_a_call_is_ordered_on_its_stream_and_does_not_wait(self):
        pointer = self.stream.cuda_stream
        streams = {"PyTorch's": self.stream, "an address": pointer}
        if cupy:
            streams["CuPy's"] = cupy.cuda.ExternalStream(pointer)
        for kind, stream in streams.items():
            self.x.zero_(), self.y.zero_()
            torch.cuda.synchronize()
            with torch.cuda.stream(self.stream):
                self.late_ones()
                tessera.cumulative_sum(self.x, out=self.y, stream=stream)
                self.assertFalse(self.stream.query(), f"the call has waited for {kind}")
                z = self.y.clone()  # behind the call
            self.stream.synchronize()
            self.assertTrue(torch.equal(z, ramp()), kind)

    def test_input_from_another_stream(self):
        # DLPack: PyTorch lets the stream of the call wait for its current one.
        other = torch.cuda.Stream()
        with torch.cuda.stream(other):
            self.late_ones()
            tessera.cumulative_sum(self.x, out=self.y, stream=self.stream)
        self.assertFalse(other.query(), "the call has waited")
        self.stream.synchronize()
        self.assertTrue(torch.equal(self.y, ramp()))

    def test_without_a_stream_a_call_waits(self):
        for stream in (torch.cuda.default_stream(), self.stream):
            self.x.zero_(), self.y.zero_()
            torch.cuda.synchronize()
            with torch.cuda.stream(stream):
                self.late_ones()
                tessera.cumulative_sum(self.x, out=self.y)
                self.assertTrue(stream.query(), "the input was not ready")
            with torch.cuda.stream(torch.cuda.Stream()):  # the result is ready for all
                self.assertTrue(torch.equal(self.y, ramp()))

    def test_new_memory_of_another_stream(self):
        # PyTorch gives memory that was just freed, while kernels of its current stream may still write there.
        x = ones()
        torch.cuda.synchronize()
        for _ in range(3):
            old = torch.empty(N, dtype=TYPE, device=GPU)
            keep_busy(30)
            old.fill_(-1)
            del old
            y = tessera.cumulative_sum(x, stream=self.stream)
            torch.cuda.synchronize()
            self.assertTrue(torch.equal(y, ramp()))

    def test_default_stream(self):
        for stream in (0, 1, torch.cuda.default_stream()):
            self.x.zero_(), self.y.zero_()
            self.late_ones()
            tessera.cumulative_sum(self.x, out=self.y, stream=stream)
            self.assertTrue(torch.equal(self.y, ramp()))

    def test_numbers_wait_for_the_stream(self):
        for late in (False, True):  # the first turn makes the kept objects
            self.x.zero_()
            torch.cuda.synchronize()
            with torch.cuda.stream(self.stream):
                if late:
                    self.late_ones()
                below = tessera.partition(self.x, below=0.5, stream=self.stream)[1]
                self.assertEqual(below, 0 if late else N)
            self.x.zero_()
            torch.cuda.synchronize()
            with torch.cuda.stream(self.stream):
                if late:
                    self.late_ones()
                counts, outside = tessera.histogram(self.x, 2, range=(0, 1), stream=self.stream)
                self.assertEqual((int(counts.sum()), outside), (0, N) if late else (N, 0))

    def test_variants_wait_for_the_stream(self):
        try:
            tessera.cumulative_sum(self.x, variant="no_such_variant")
        except ValueError as error:
            names = str(error).partition("choose from: ")[2].split(", ")
        if names == [""]:
            self.skipTest("this build of the module has no variants of prefix_sum for a GPU")
        for name in names[:3]:
            tessera.cumulative_sum(self.x, out=self.y, variant=name)
            self.x.zero_(), self.y.zero_()
            torch.cuda.synchronize()
            with torch.cuda.stream(self.stream):
                self.late_ones()
                tessera.cumulative_sum(self.x, out=self.y, variant=name, stream=self.stream)
            self.assertTrue(torch.equal(self.y, ramp()), name)

    def test_array_interface_with_a_stream(self):
        class Array:
            def __init__(self, x, stream):
                self.memory = x
                self.__cuda_array_interface__ = {**x.__cuda_array_interface__, "version": 3, "stream": stream}

        made_on = torch.cuda.Stream()
        for stream in (None, self.stream):
            self.x.zero_(), self.y.zero_()
            torch.cuda.synchronize()
            with torch.cuda.stream(made_on):
                self.late_ones()
            tessera.cumulative_sum(Array(self.x, made_on.cuda_stream), out=self.y, stream=stream)
            torch.cuda.synchronize()
            self.assertTrue(torch.equal(self.y, ramp()))

    def test_arguments_live_until_the_stream_has_passed(self):
        x = ones()
        gone = weakref.ref(x)
        with torch.cuda.stream(self.stream):
            keep_busy(1000)  # a collection takes a while
            tessera.cumulative_sum(x, out=self.y, stream=self.stream)
        del x
        gc.collect()
        self.assertFalse(self.stream.query())
        self.assertIsNotNone(gone(), "freed while the stream uses it")
        self.stream.synchronize()
        tessera.cumulative_sum(self.x, out=self.y, stream=self.stream)  # lets go of what has ended
        self.assertIsNone(gone())

    def test_arguments_of_repeated_calls_live_as_well(self):
        x = ones()
        gone = weakref.ref(x)
        with torch.cuda.stream(self.stream):
            keep_busy(50)  # the call has not ended when it returns
            tessera.cumulative_sum(x, out=self.y, stream=self.stream)
            self.stream.synchronize()
            keep_busy(1000)
            tessera.cumulative_sum(x, out=self.y, stream=self.stream)
            del x
            tessera.cumulative_sum(self.x, out=self.y, stream=self.stream)
        gc.collect()
        self.assertFalse(self.stream.query())
        self.assertIsNotNone(gone(), "freed while the stream uses it")
        self.stream.synchronize()
        tessera.cumulative_sum(self.x, out=self.y, stream=self.stream)
        self.assertIsNone(gone())

    def test_no_argument_outlives_clear_workspaces(self):
        x = ones()
        gone = weakref.ref(x)
        for _ in range(2):
            tessera.cumulative_sum(x, out=self.y, stream=self.stream)
        del x
        self.stream.synchronize()
        tessera.clear_workspaces()
        self.assertIsNone(gone())

    def test_many_calls_in_flight(self):
        # A question about an event that is not there yet is no error of the next launch.
        with torch.cuda.stream(self.stream):
            self.late_ones()
            results = self.y, torch.empty_like(self.y)  # calls with the same arguments ask nothing
            for turn in range(200):
                try:
                    tessera.cumulative_sum(self.x, out=results[turn % 2], stream=self.stream)
                except RuntimeError as error:
                    self.fail(f"call {turn}: {error}")
        self.stream.synchronize()
        self.assertTrue(torch.equal(self.y, ramp()))

    def test_a_graph_holds_no_call(self):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(self.stream):
            graph.capture_begin()
            self.y.fill_(-1)
            try:
                with self.assertRaisesRegex(ValueError, r"stream captures a graph \(.*\); call it outside"):
                    tessera.cumulative_sum(self.x, out=self.y, stream=self.stream)
            finally:
                graph.capture_end()
            graph.replay()
            self.assertTrue((self.y == -1).all())
            self.x.fill_(1)
            tessera.cumulative_sum(self.x, out=self.y, stream=self.stream)
            self.assertTrue(torch.equal(self.y, ramp()))

    def test_a_graph_of_another_stream_is_not_ended(self):
        # Work of the current stream must be waited for, and a wait would end the capture of either.
        other, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        tessera.cumulative_sum(self.x, out=self.y, stream=other)
        torch.cuda.synchronize()
        found = []
        with torch.cuda.stream(self.stream):
            graph.capture_begin()
            try:
                self.y.fill_(-1)
                for current, called in ((other, self.stream), (self.stream, other)):
                    try:
                        with torch.cuda.stream(current):
                            tessera.cumulative_sum(self.x, out=self.y, stream=called)
                    except (RuntimeError, ValueError) as error:
                        found.append(type(error).__name__ + ": " + str(error).partition(" (")[0])
                graph.capture_end()
            except RuntimeError as error:  # of PyTorch, if the capture was ended
                found.append(str(error))
            self.assertEqual(found, 2 * ["ValueError: stream captures a graph"])
            graph.replay()
            self.assertTrue((self.y == -1).all())

    def test_dlpack_on_a_stream_that_captures(self):
        # The library would let the stream of the call wait for its own.
        class Exported:
            def __init__(self, x):
                self.x = x

            def __dlpack_device__(self):
                return self.x.__dlpack_device__()

            def __dlpack__(self, **more):
                return self.x.__dlpack__(**more)

        other, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        found = []
        with torch.cuda.stream(self.stream):
            graph.capture_begin()
            try:
                self.y.fill_(-1)
                try:
                    with torch.cuda.stream(other):
                        tessera.cumulative_sum(Exported(self.x), out=self.y, stream=self.stream)
                except (RuntimeError, TypeError, ValueError) as error:
                    found.append(type(error).__name__ + ": " + str(error).partition(" (")[0])
                graph.capture_end()
            except RuntimeError as error:  # of PyTorch, if the capture was ended
                found.append(str(error))
            self.assertEqual(found, ["ValueError: stream captures a graph"])
            graph.replay()
            self.assertTrue((self.y == -1).all())

    @unittest.skipUnless(cupy, "no CuPy")
    def test_no_stream_of_the_runtime(self):
        code = (
            "import torch, tessera\n"
            "from cupy.cuda import runtime\n"
            "x = torch.ones(8, device='cuda')\n"
            "stream = runtime.streamCreate()\n"
            "runtime.streamDestroy(stream)\n"
            "try:\n    tessera.sum(x, stream=stream)\n"
            "except ValueError as error:\n    print(error)\n"
        )
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
        self.assertRegex(found.stdout, r"^stream is \d+ \(the GPU's runtime knows no such stream\); give one")

    def test_new_results_are_held_only_on_other_streams(self):
        # PyTorch gives memory of its current stream only to later work of that stream.
        self.x.fill_(1)
        torch.cuda.synchronize()
        for own in (True, False):
            with torch.cuda.stream(self.stream):
                keep_busy(300)
            with torch.cuda.stream(self.stream if own else torch.cuda.default_stream()):
                y = tessera.cumulative_sum(self.x, stream=self.stream)
                gone, copy = weakref.ref(y), y.clone() if own else None
                del y
                again = torch.full((N,), -1, dtype=TYPE, device=GPU)  # where the result was, if it is free
            self.assertEqual(gone() is None, own)
            self.assertFalse(self.stream.query(), "the call has waited")
            self.stream.synchronize()
            self.assertTrue((again == -1).all())
            if own:
                self.assertTrue(torch.equal(copy, ramp()))

    def test_device_of_the_thread_stays(self):
        before = torch.cuda.current_device()
        tessera.sum(ones(8), stream=self.stream)
        self.assertEqual(torch.cuda.current_device(), before)

    def test_refused_streams(self):
        with self.assertRaisesRegex(ValueError, "default stream of each thread"):
            tessera.sum(ones(8), stream=2)
        with self.assertRaisesRegex(TypeError, "stream is a str"):
            tessera.sum(ones(8), stream="0")


class Kept(unittest.TestCase):
    def setUp(self):
        torch.cuda.synchronize()
        tessera.clear_workspaces()

    def test_a_stream_may_end(self):
        x, y = ones(), torch.empty(N, dtype=TYPE, device=GPU)
        for last in ("cleared", "pushed out"):
            for _ in range(40):  # with an instance each: more than are kept
                stream = Driver()
                tessera.sort(x, out=y, stream=stream)
                stream.destroy()
            if last == "cleared":
                tessera.clear_workspaces()
            else:
                for n in range(1, 100):
                    self.assertEqual(float(tessera.sum(ones(n))), n)
        self.assertTrue(torch.equal(y, x))

    def test_a_stream_with_the_address_of_another(self):
        # Its objects must be its own: the work of the first may still run.
        x, y, addresses = ones(), torch.empty(N, dtype=TYPE, device=GPU), set()
        for turn in range(1, 20):
            stream = Driver()
            addresses.add(stream.address)
            tessera.cumulative_sum(x, out=y, stream=stream)
            self.assertEqual(tessera.workspaces()["objects"], 2 * turn)  # an instance of Kokkos, and the kernel
            stream.destroy()
        torch.cuda.synchronize()
        self.assertTrue(torch.equal(y, ramp()))
        if len(addresses) == 19:
            self.skipTest("CUDA gave no address twice")

    def test_objects_of_streams(self):
        x, y = ones(), torch.empty(N, dtype=TYPE, device=GPU)
        streams = [torch.cuda.Stream() for _ in range(3)]
        for _ in range(3):
            for stream in streams:
                tessera.cumulative_sum(x, out=y, stream=stream)
        self.assertEqual(tessera.workspaces()["objects"], 6)

    def test_workspaces_in_use_are_not_freed(self):
        # A sort whose workspace is larger than the limit is let go of after each call.
        limit = tessera.workspaces()["limit"]
        self.addCleanup(tessera.limit_workspaces, limit)
        tessera.limit_workspaces(1000)
        stream = torch.cuda.Stream()
        x = torch.randperm(1 << 20, device=GPU).to(TYPE)
        y = torch.empty_like(x)
        with torch.cuda.stream(stream):
            for _ in range(5):
                keep_busy(10)
                tessera.sort(x, out=y, stream=stream)
                other = torch.full((1 << 22,), -1.0, device=GPU)  # where the workspace was
                del other
        torch.cuda.synchronize()
        self.assertTrue(torch.equal(y, torch.arange(1 << 20, device=GPU).to(TYPE)))


class Threads(unittest.TestCase):
    def run_four(self, work):
        wrong = []

        def guarded(number):
            try:
                work(number, wrong)
            except Exception as error:
                wrong.append((number, repr(error)))

        threads = [threading.Thread(target=guarded, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_four_threads_with_streams_of_their_own(self):
        def work(number, wrong):
            stream = torch.cuda.Stream()
            n = 50000 + 1000 * (number % 2)  # two threads have the same extents
            with torch.cuda.stream(stream):
                for turn in range(50):
                    x = torch.full((n,), float(turn % 5 + number), dtype=TYPE, device=GPU)
                    y = tessera.cumulative_sum(x, stream=stream)
                    z = tessera.sort(y, descending=True, stream=stream)
                    if not torch.equal(z.flip(0), torch.cumsum(x, 0)):
                        wrong.append((number, turn))

        self.run_four(work)

    def test_four_threads_without_streams(self):
        def work(number, wrong):
            for turn in range(50):
                x = torch.full((30000,), float(turn + number), dtype=TYPE, device=GPU)
                if float(tessera.sum(x)) != 30000.0 * (turn + number):
                    wrong.append((number, turn))

        self.run_four(work)

    def test_a_thread_that_has_not_called_cuda(self):
        # Kokkos asks for the context of the default stream, which a new thread has only after a call.
        x, y, wrong = ones(), torch.empty(N, dtype=TYPE, device=GPU), []
        tessera.clear_workspaces()
        torch.cuda.synchronize()

        def work():
            try:
                tessera.cumulative_sum(x, out=y, stream=0)
            except Exception as error:
                wrong.append(repr(error))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        self.assertEqual(wrong, [])
        self.assertTrue(torch.equal(y, ramp()))


@unittest.skipUnless(cupy, "there is no CuPy")
class CuPy(unittest.TestCase):
    def test_result_is_an_array_of_cupy(self):
        x = cupy.ones(N, DTYPE)
        y = tessera.cumulative_sum(x)
        self.assertIs(type(y), cupy.ndarray)
        cupy.testing.assert_array_equal(y, cupy.arange(1, N + 1, dtype=DTYPE))
        self.assertEqual(float(tessera.sum(x)), N)
        counts, outside = tessera.histogram(x, 3, range=(0, 3))
        self.assertEqual((counts.tolist(), outside), ([0, N, 0], 0))

    def test_no_copies(self):
        x, y = cupy.ones(1 << 20, DTYPE), cupy.empty(1 << 20, DTYPE)
        pointer, pool = y.data.ptr, cupy.get_default_memory_pool()
        self.assertIs(tessera.cumulative_sum(x, out=y), y)
        before = pool.used_bytes()
        for _ in range(10):
            self.assertIs(tessera.cumulative_sum(x, out=y), y)
        self.assertEqual((y.data.ptr, pool.used_bytes()), (pointer, before))
        z = tessera.cumulative_sum(x)
        self.assertEqual(pool.used_bytes(), before + z.nbytes)

    def test_streams(self):
        x, y, late = cupy.zeros(N, DTYPE), cupy.zeros(N, DTYPE), torch.cuda.Stream()
        stream = cupy.cuda.ExternalStream(late.cuda_stream)
        expected = cupy.arange(1, N + 1, dtype=DTYPE)
        for own in (stream, None, cupy.cuda.Stream(non_blocking=True)):
            tessera.cumulative_sum(x, out=y, stream=own)  # makes the kept object
        for own in (stream, None, cupy.cuda.Stream(non_blocking=True)):
            x.fill(0), y.fill(0)
            cupy.cuda.Device().synchronize()
            with torch.cuda.stream(late):
                keep_busy()
            with stream:
                x.fill(1)
                tessera.cumulative_sum(x, out=y, stream=own)  # CuPy orders its current stream before the call's
            if own is None:
                self.assertTrue(stream.done, "the call has not waited")
            cupy.cuda.Device().synchronize()
            cupy.testing.assert_array_equal(y, expected)

    def test_strides(self):
        with self.assertRaisesRegex(ValueError, "has strides of"):
            tessera.softmax(cupy.ones((3, 4), DTYPE).T)
        with self.assertRaisesRegex(ValueError, "has strides of"):
            tessera.softmax(cupy.asfortranarray(cupy.ones((3, 4), DTYPE)))

    def test_a_stream_of_cupy_ends(self):
        x, y = cupy.ones(N, DTYPE), cupy.empty(N, DTYPE)
        for _ in range(70):
            stream = cupy.cuda.Stream(non_blocking=True)
            tessera.cumulative_sum(x, out=y, stream=stream)
            del stream
        tessera.clear_workspaces()
        cupy.testing.assert_array_equal(y, cupy.arange(1, N + 1, dtype=DTYPE))


@unittest.skipUnless(jax, "there is no JAX with a GPU")
class Jax(unittest.TestCase):
    def setUp(self):
        self.x = jax.numpy.ones(N, DTYPE)

    def test_results_are_arrays_of_jax(self):
        y = tessera.cumulative_sum(self.x)
        self.assertIsInstance(y, jax.Array)
        self.assertEqual(y.devices(), self.x.devices())
        numpy.testing.assert_array_equal(numpy.asarray(y), numpy.arange(1, N + 1, dtype=DTYPE))
        total = tessera.sum(self.x)
        self.assertIsInstance(total, jax.Array)
        self.assertEqual((total.shape, float(total)), ((), N))
        # JAX's own kernels read them.
        self.assertEqual(float(jax.numpy.max(y)), N)
        self.assertTrue((numpy.asarray(self.x) == 1).all())

    def test_a_result_of_a_stream_is_ready(self):
        stream = torch.cuda.Stream()
        tessera.cumulative_sum(self.x, stream=stream)
        with torch.cuda.stream(stream):
            keep_busy()
        y = tessera.cumulative_sum(self.x, stream=stream)
        self.assertTrue(stream.query())
        numpy.testing.assert_array_equal(numpy.asarray(y), numpy.arange(1, N + 1, dtype=DTYPE))

    def test_work_of_jax_ends_before(self):
        # Products that take some milliseconds, and end in ones.
        a = jax.numpy.ones((2048, 2048), "float32")
        for turn in range(3):
            for _ in range(20):
                a = a @ a / 2048
            x = a.reshape(-1)[:N].astype(DTYPE)
            numpy.testing.assert_array_equal(
                numpy.asarray(tessera.cumulative_sum(x)), numpy.arange(1, N + 1, dtype=DTYPE)
            )

    def test_arrays_of_jax_are_never_written(self):
        with self.assertRaisesRegex(ValueError, "out is read-only"):
            tessera.cumulative_sum(self.x, out=jax.numpy.zeros(N, DTYPE))
        y = torch.empty(N, dtype=TYPE, device=GPU)
        self.assertIs(tessera.cumulative_sum(self.x, out=y), y)
        self.assertTrue(torch.equal(y, ramp()))


class Torch(unittest.TestCase):
    """What test_torch.py does not say of tensors on a GPU."""

    def setUp(self):
        import tessera.torch

        self.ours = tessera.torch

    def test_operations_are_on_the_current_stream(self):
        x = torch.zeros(33, 64, dtype=TYPE, device=GPU)
        stream = torch.cuda.Stream()
        for warm in (True, False):
            with torch.cuda.stream(stream):
                x.zero_()
                keep_busy()
                x.fill_(1)
                y = self.ours.cumsum(x, 1)
                if not warm:
                    self.assertFalse(stream.query(), "the call has waited")
            stream.synchronize()
            self.assertTrue(torch.equal(y, torch.cumsum(torch.ones_like(x), 1)))

    def test_backward_is_on_the_stream_of_forward(self):
        stream = torch.cuda.Stream()
        w, b = (torch.full((64,), 1.0, dtype=TYPE, device=GPU, requires_grad=True) for _ in range(2))
        with torch.cuda.stream(stream):
            x = torch.randn(100, 64, dtype=TYPE, device=GPU, requires_grad=True)
            keep_busy()
            self.ours.layer_norm(x, 64, w, b).square().sum().backward()
        stream.synchronize()
        found = x.grad.clone()
        x.grad = None
        torch.nn.functional.layer_norm(x, (64,), w.detach(), b.detach()).square().sum().backward()
        torch.testing.assert_close(found, x.grad, rtol=1e-4, atol=1e-4)

    def test_message_names_device_and_dtype(self):
        message = r"input is float16 on cuda:\d \(tessera::softmax takes .* on cpu or cuda"
        with self.assertRaisesRegex(TypeError, message):
            self.ours.softmax(ones(8).half(), 0)

    def test_modules_train(self):
        import train_pytorch

        theirs, mine = train_pytorch.both(6, TYPE, GPU)
        self.assertLess(max(abs(a - b) / a for a, b in zip(theirs, mine, strict=True)), 1e-5)


if __name__ == "__main__":
    unittest.main()
