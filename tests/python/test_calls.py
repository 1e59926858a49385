"""Calls beside their arrays: kept workspaces, streams, threads, batches; stubs; roofs and pictures."""

import ast
import os
import threading
import unittest

import numpy

import tessera
from tessera import _program

DTYPE = "float32" if "float32" in tessera.dtypes else "float64"


def ramp(n):
    return (numpy.arange(n) % 17).astype(DTYPE)


class Workspaces(unittest.TestCase):
    def setUp(self):
        tessera.clear_workspaces()
        limit = tessera.workspaces()["limit"]
        self.addCleanup(tessera.limit_workspaces, limit)

    def test_kept_and_cleared(self):
        x = ramp(1 << 20)
        tessera.sort(x)
        first = tessera.workspaces()
        self.assertEqual(first["objects"], 1)
        self.assertGreater(first["bytes"], x.nbytes)  # a sort needs room for the keys
        tessera.sort(x)
        self.assertEqual(tessera.workspaces(), first)
        tessera.sort(x[:-1])
        self.assertEqual(tessera.workspaces()["objects"], 2)
        tessera.clear_workspaces()
        self.assertEqual((tessera.workspaces()["objects"], tessera.workspaces()["bytes"]), (0, 0))

    def test_limit_in_bytes(self):
        x = ramp(1 << 18)
        tessera.sum(x)
        tessera.sort(x)
        of_sort = tessera.workspaces()["bytes"]
        tessera.limit_workspaces(of_sort // 2)
        self.assertEqual(tessera.workspaces()["objects"], 1)  # the sum's, which is older, but small
        for _ in range(3):
            numpy.testing.assert_array_equal(tessera.sort(x), numpy.sort(x))
            self.assertLessEqual(tessera.workspaces()["bytes"], of_sort // 2)
        tessera.limit_workspaces(0)
        self.assertEqual(float(tessera.sum(x)), x.sum(dtype="float64"))
        self.assertEqual(tessera.workspaces()["bytes"], 0)

    def test_limit_in_objects(self):
        for n in range(1, 200):
            self.assertEqual(float(tessera.sum(ramp(n))), ramp(n).sum())
        self.assertEqual(tessera.workspaces()["objects"], 64)
        # The latest are still there, and the oldest are made again.
        for n in (199, 1):
            self.assertEqual(float(tessera.sum(ramp(n))), ramp(n).sum())

    def test_objects_of_other_parameters(self):
        x = ramp(5000)
        for _ in range(2):
            numpy.testing.assert_array_equal(tessera.sort(x), numpy.sort(x))
            numpy.testing.assert_array_equal(tessera.sort(x, descending=True), numpy.sort(x)[::-1])
            for below in (3, 8):
                self.assertEqual(tessera.partition(x, below=below)[1], (x < below).sum())
            for bins, high in ((4, 8), (4, 16), (5, 16)):
                counts, _ = tessera.histogram(x, bins, range=(0, high))
                expected, _ = numpy.histogram(x[x < high], bins, range=(0, high))
                numpy.testing.assert_array_equal(counts, expected)
            a = ramp(6000).reshape(60, 100)
            for shape in ((60, 100), (100, 60), (6000, 1)):
                numpy.testing.assert_array_equal(tessera.sum(a.reshape(shape), axis=0), a.reshape(shape).sum(axis=0))
                numpy.testing.assert_array_equal(tessera.sum(a.reshape(shape), axis=1), a.reshape(shape).sum(axis=1))


class Threads(unittest.TestCase):
    def test_threads_with_objects_of_their_own_and_shared(self):
        wrong = []

        def work(number):
            own, shared = ramp(30000 + number), ramp(20000)
            y, z = numpy.empty_like(own), numpy.empty_like(shared)
            for turn in range(40):
                own[:], shared[:] = ramp(own.size) + number, ramp(shared.size) * (number + 1)
                tessera.cumulative_sum(own, out=y)
                tessera.cumulative_sum(shared, out=z)
                if not numpy.array_equal(y, numpy.cumsum(own)) or not numpy.array_equal(z, numpy.cumsum(shared)):
                    wrong.append((number, turn))
                if number == 0 and turn % 7 == 0:
                    tessera.clear_workspaces()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class Batches(unittest.TestCase):
    def expected(self, q, k, v, causal=False):
        scores = q.astype("float64") @ numpy.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5
        if causal:
            scores[..., ~numpy.tri(*scores.shape[-2:], dtype=bool)] = -numpy.inf
        weights = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True) @ v

    def test_leading_dimensions(self):
        random = numpy.random.default_rng(1)
        for lead in ((), (1,), (3,), (2, 3), (0, 3)):
            for queries, keys, dim in ((7, 7, 16), (7, 30, 16), (65, 65, 100), (1, 9, 4)):
                with self.subTest(lead=lead, queries=queries, keys=keys, dim=dim):
                    q = random.normal(size=(*lead, queries, dim)).astype(DTYPE)
                    k, v = (random.normal(size=(*lead, keys, dim)).astype(DTYPE) for _ in range(2))
                    result = tessera.scaled_dot_product_attention(q, k, v)
                    self.assertEqual(result.shape, q.shape)
                    numpy.testing.assert_allclose(result, self.expected(q, k, v), rtol=2e-4, atol=2e-5)

    def test_causal(self):
        random = numpy.random.default_rng(2)
        for lead, queries, keys, dim in (
            ((), 7, 7, 16), ((), 1, 1, 4), ((3,), 65, 65, 100), ((2, 3), 40, 40, 8), ((2,), 0, 0, 8), ((0,), 5, 5, 8),
            ((), 5, 70, 16), ((2,), 33, 40, 8), ((), 70, 5, 16), ((2, 2), 40, 33, 8), ((2,), 0, 3, 8),
        ):  # fmt: skip
            with self.subTest(lead=lead, queries=queries, keys=keys, dim=dim):
                q, k, v = (random.normal(size=(*lead, n, dim)).astype(DTYPE) for n in (queries, keys, keys))
                expected = self.expected(q, k, v, causal=True) if q.size else q
                result = tessera.scaled_dot_product_attention(q, k, v, is_causal=True)
                numpy.testing.assert_allclose(result, expected, rtol=2e-4, atol=2e-5)
                if q.size:  # what comes later reaches no query
                    k[..., -1, :], v[..., -1, :] = numpy.nan, numpy.inf
                    changed = tessera.scaled_dot_product_attention(q, k, v, is_causal=True)[..., : keys - 1, :]
                    numpy.testing.assert_allclose(changed, result[..., : keys - 1, :], rtol=1e-5, atol=1e-6)

    def test_refusals(self):
        q, k = numpy.zeros((2, 5, 4), DTYPE), numpy.zeros((3, 5, 4), DTYPE)
        with self.assertRaisesRegex(ValueError, r"key has shape \[3, 5, 4\], not \[2, 5, 4\] .*leading dimensions"):
            tessera.scaled_dot_product_attention(q, k, k)
        with self.assertRaisesRegex(ValueError, r"key has shape \[5, 4\] \(.*as many dimensions as query"):
            tessera.scaled_dot_product_attention(q, q[0].copy(), q[0].copy())
        with self.assertRaisesRegex(ValueError, r"query has shape \[4\]"):
            tessera.scaled_dot_product_attention(q[0, 0].copy(), q, q)
        with self.assertRaisesRegex(ValueError, r"attn_mask is given \(is_causal=True is the only mask"):
            tessera.scaled_dot_product_attention(q, q, q, attn_mask=numpy.ones((5, 5), bool))
        with self.assertRaisesRegex(ValueError, r"is_causal is True \(variants see all keys\); leave variant out"):
            tessera.scaled_dot_product_attention(q[0], q[0], q[0], is_causal=True, variant="naive")


class Stream:
    """What PyTorch's and CuPy's streams look like, or one of CUDA Python."""

    def __init__(self, **attributes):
        vars(self).update(attributes)


class CudaStream:
    def __cuda_stream__(self):
        return (0, 64)


class CudaArray:
    """Exports an array that says it is on a GPU. Nobody may touch its memory."""

    def __init__(self, **fields):
        self.fields = {"shape": (8,), "typestr": "<f4", "data": (1 << 20, False), "version": 3, **fields}

    @property
    def __cuda_array_interface__(self):
        return self.fields


class Streams(unittest.TestCase):
    def test_none(self):
        self.assertEqual(float(tessera.sum(ramp(10), stream=None)), 45)

    def test_arrays_on_the_host_have_no_stream(self):
        y = numpy.zeros(10, DTYPE)
        for stream in (0, 64, Stream(cuda_stream=64), Stream(ptr=64), CudaStream()):
            with self.assertRaisesRegex(ValueError, r"stream is given \(x is on the host, .*\); leave it out"):
                tessera.cumulative_sum(ramp(10), out=y, stream=stream)
        self.assertFalse(y.any())

    def test_no_stream(self):
        for wrong in ("0", 1.5, True, -1, Stream(), Stream(ptr="x")):
            with self.assertRaisesRegex(TypeError, r"stream is a .*\(no stream of CUDA: .*\); give a stream"):
                tessera.cumulative_sum(ramp(10), stream=wrong)

    def test_all_functions_have_it(self):
        x = ramp(8)
        rows, indices = x.reshape(2, 4), numpy.zeros(2, "int32")
        for call in (
            lambda **more: tessera.sum(x, **more),
            lambda **more: tessera.sum(rows, axis=0, **more),
            lambda **more: tessera.vecdot(x, x, **more),
            lambda **more: tessera.matmul(rows, rows.T.copy(), **more),
            lambda **more: tessera.matrix_transpose(rows, **more),
            lambda **more: tessera.softmax(x, **more),
            lambda **more: tessera.layer_norm(rows, x[:4], x[:4], **more),
            lambda **more: tessera.histogram(x, range=(0, 1), **more),
            lambda **more: tessera.sort(x, **more),
            lambda **more: tessera.argsort(x, **more),
            lambda **more: tessera.embedding(indices, rows, **more),
            lambda **more: tessera.partition(x, below=1, **more),
            lambda **more: tessera.conv1d(x, x, **more),
            lambda **more: tessera.conv2d(rows, rows, **more),
            lambda **more: tessera.linear(rows, rows, **more),
            lambda **more: tessera.take(rows, indices, axis=0, **more),
            lambda **more: tessera.topk(x, 2, **more),
            lambda **more: tessera.unique_counts(x, **more),
            lambda **more: tessera.scaled_dot_product_attention(rows, rows, rows, **more),
        ):
            with self.assertRaisesRegex(ValueError, "stream is given"):
                call(stream=64)


class CudaArrayInterface(unittest.TestCase):
    def refused(self, error, message, **fields):
        with self.assertRaisesRegex(error, message):
            tessera.cumulative_sum(CudaArray(**fields), out=CudaArray(shape=fields.get("shape", (8,))))

    @unittest.skipIf("cuda" in tessera.devices, "this build has CUDA")
    def test_a_build_without_cuda(self):
        self.refused(ValueError, r"x is on cuda:0 \(this build of Tessera has no CUDA\)")
        self.refused(ValueError, "this build of Tessera has no CUDA", strides=(4,))
        self.refused(ValueError, "this build of Tessera has no CUDA", shape=(1,), strides=(400,))

    def test_refusals(self):
        self.refused(ValueError, r"x of shape \[8\] has strides of \[2\] elements", strides=(8,))
        self.refused(ValueError, r"x has a stride of 6 bytes \(elements of 4 bytes", strides=(6,))
        self.refused(ValueError, r"x has 2 strides for shape \[8\]", strides=(4, 4))
        self.refused(TypeError, r"x has dtype '>f4' \(Tessera has no kernels for it\)", typestr=">f4")
        self.refused(TypeError, "x has dtype complex64", typestr="<c8")
        self.refused(ValueError, r"x has a mask \(.*\); fill it first", mask=CudaArray())
        self.refused(ValueError, "x is not aligned", data=((1 << 20) + 1, False))

    @unittest.skipIf("cuda" in tessera.devices, "this build has CUDA, and refuses addresses of no GPU")
    def test_read_only_out(self):
        with self.assertRaisesRegex(ValueError, "out is read-only"):
            tessera.cumulative_sum(CudaArray(), out=CudaArray(data=(2 << 20, True)))

    @unittest.skipIf("cuda" in tessera.devices, "this build has CUDA, and refuses addresses of no GPU")
    def test_needs_out(self):
        with self.assertRaisesRegex(TypeError, r"x is a test_calls\.CudaArray \(Tessera cannot make a result"):
            tessera.cumulative_sum(CudaArray())


STUB = os.path.join(os.path.dirname(tessera.__file__), "_tessera.pyi")


class Stubs(unittest.TestCase):
    @unittest.skipIf("cuda" in tessera.devices and not os.path.exists(STUB), "tessera_python_stub was not built")
    def test_each_function_has_a_type(self):
        folder = os.path.dirname(tessera.__file__)
        self.assertTrue(os.path.exists(os.path.join(folder, "py.typed")))
        with open(STUB, encoding="utf-8") as file:
            stubs = {node.name: node for node in ast.parse(file.read()).body if isinstance(node, ast.FunctionDef)}
        native = [name for name in tessera.__all__ if getattr(tessera, name).__class__.__name__ == "nb_func"]
        self.assertGreater(len(native), 15)
        for name in native:
            arguments = stubs[name].args
            for argument in arguments.args + arguments.kwonlyargs:
                self.assertIsNotNone(argument.annotation, f"{name}({argument.arg})")
            self.assertIsNotNone(stubs[name].returns, name)


try:
    _program.find()
    PROGRAM = True
except FileNotFoundError:
    PROGRAM = False

try:
    import matplotlib
except ImportError:
    matplotlib = None


@unittest.skipUnless(PROGRAM, "there is no program tessera")
class Reports(unittest.TestCase):
    def test_roof(self):
        roofs = tessera.roof(DTYPE)
        for space in vars(roofs).values():
            self.assertGreater(space.copy_bytes_per_second, 1e8)
            peaks = space.peak_operations_per_second
            self.assertGreater(peaks.float if DTYPE == "float32" else peaks.double, 1e8)
        with self.assertRaises(tessera.UserError):
            tessera.roof("complex64")

    @unittest.skipUnless(matplotlib, "there is no matplotlib")
    def test_plot(self):
        report = tessera.run([_program.listed("all", "app")[0], "--size", "2^10,2^12", "--samples", "10"])
        backend = matplotlib.get_backend()
        figures = tessera.plot(report)
        self.assertTrue(any(name.startswith("sizes") for name in figures), list(figures))
        for figure in figures.values():
            self.assertIsInstance(figure, matplotlib.figure.Figure)
        self.assertEqual(matplotlib.get_backend(), backend)
        self.assertEqual(len(tessera.plot([report], kind="sizes", space=report.rows[0].space)), 1)
        with self.assertRaisesRegex(tessera.UserError, "--kind names 'pie'"):
            tessera.plot(report, kind="pie")


if __name__ == "__main__":
    unittest.main()
