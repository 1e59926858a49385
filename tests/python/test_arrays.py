"""How the module takes and returns arrays: without copies, in the caller's type, with errors in our words."""

import array
import ctypes
import importlib.util
import sys
import unittest
import unittest.mock

import numpy

import tessera
from arrays import ByTable, Exporter, LikeJax, OnAGPU, Temporary, address, allocations, made_cupy

LARGE = 1 << 21


def ramp(n, dtype="float32"):
    return numpy.arange(n, dtype=dtype) % 17


class NoCopies(unittest.TestCase):
    def test_result_is_the_only_allocation(self):
        x = ramp(LARGE)
        tessera.cumulative_sum(x)
        with allocations() as bytes_:
            y = tessera.cumulative_sum(x)
        self.assertGreaterEqual(bytes_[0], y.nbytes)
        self.assertLess(bytes_[0], 1.01 * y.nbytes)

    def test_nothing_is_allocated_with_out(self):
        x, y = ramp(LARGE), numpy.empty(LARGE, "float32")
        with allocations() as bytes_:
            tessera.cumulative_sum(x, out=y)
        self.assertLess(bytes_[0], 0.01 * x.nbytes)

    def test_out_is_written_and_returned(self):
        x, y = ramp(1000), numpy.full(1000, -1, "float32")
        before = address(y)
        result = tessera.cumulative_sum(x, out=y)
        self.assertIs(result, y)
        self.assertEqual(address(result), before)
        numpy.testing.assert_array_equal(y, numpy.cumsum(x))

    def test_in_place(self):
        x = ramp(1000)
        expected = numpy.cumsum(x)
        self.assertIs(tessera.cumulative_sum(x, out=x), x)
        numpy.testing.assert_array_equal(x, expected)

    def test_input_is_not_changed(self):
        x = ramp(100003)
        before = x.copy()
        tessera.sort(x), tessera.cumulative_sum(x), tessera.sum(x)
        numpy.testing.assert_array_equal(x, before)


class Types(unittest.TestCase):
    def test_numpy_gives_numpy(self):
        result = tessera.sum(ramp(10))
        self.assertIs(type(result), numpy.ndarray)
        self.assertEqual(result.shape, ())
        self.assertEqual(result.dtype, numpy.float32)
        self.assertEqual(float(result), 45)

    def test_subclass_gives_numpy(self):
        class Own(numpy.ndarray):
            pass

        self.assertIs(type(tessera.sort(ramp(10).view(Own))), numpy.ndarray)

    def test_read_only_input(self):
        x = ramp(100)
        x.flags.writeable = False
        numpy.testing.assert_array_equal(tessera.cumulative_sum(x), numpy.cumsum(x))

    def test_dlpack_alone(self):
        x, y = ramp(1000), numpy.empty(1000, "float32")
        result = tessera.cumulative_sum(Exporter(x), out=y)
        self.assertIs(result, y)
        numpy.testing.assert_array_equal(y, numpy.cumsum(x))

    def test_dlpack_alone_needs_out(self):
        with self.assertRaisesRegex(TypeError, r"x is a arrays\.Exporter \(Tessera cannot make a result .*; give out="):
            tessera.cumulative_sum(Exporter(ramp(10)))

    def test_table_of_c_functions(self):
        x, y = ramp(1000), numpy.empty(1000, "float32")
        before = ByTable.exported
        result = tessera.cumulative_sum(ByTable(x), out=ByTable(y))
        self.assertEqual(ByTable.exported, before + 2)
        self.assertIs(type(result), ByTable)
        numpy.testing.assert_array_equal(y, numpy.cumsum(x))
        numpy.testing.assert_array_equal(tessera.softmax(ByTable(x.reshape(20, 50)), out=y.reshape(20, 50)),
                                         tessera.softmax(x.reshape(20, 50)))  # fmt: skip
        with self.assertRaisesRegex(ValueError, r"x of shape \[20, 25\] has strides of \[50, 2\]"):
            tessera.softmax(ByTable(x.reshape(20, 50)[:, ::2]), out=y[:500].reshape(20, 25))
        with self.assertRaisesRegex(TypeError, "x has dtype int64"):
            tessera.sort(ByTable(numpy.arange(4)), out=numpy.arange(4))
        with self.assertRaisesRegex(TypeError, r"x is a arrays\.ByTable \(no array"):
            tessera.sort(ByTable(x, refused=True), out=y)

    def test_arrays_that_nobody_may_write(self):
        x = LikeJax(ramp(1000))
        y = tessera.cumulative_sum(x)
        self.assertIs(type(y), LikeJax)
        numpy.testing.assert_array_equal(y.array, numpy.cumsum(x.array))
        total = tessera.sum(x)
        self.assertEqual((type(total), total.array.shape, float(total.array)), (LikeJax, (), x.array.sum()))
        with self.assertRaisesRegex(ValueError, "out is read-only"):
            tessera.cumulative_sum(x, out=LikeJax(numpy.zeros(1000, "float32")))
        with self.assertRaisesRegex(TypeError, "arrays of int32 instead of int64 .*; set jax_enable_x64"):
            tessera.argsort(x)

    def test_an_array_that_changes_between_calls(self):
        x = ramp(12)
        for shape in ((12,), (3, 4), (2, 6)):
            y = tessera.softmax(x.reshape(shape))
            self.assertEqual(y.shape, shape)
            numpy.testing.assert_allclose(y.sum(-1), 1, rtol=1e-6)
        own = numpy.zeros(4, "float32")
        for flag in (True, False, True):
            own.flags.writeable = flag
            if flag:
                self.assertIs(tessera.sort(ramp(4), out=own), own)
            else:
                with self.assertRaisesRegex(ValueError, "out is read-only"):
                    tessera.sort(ramp(4), out=own)
        own = array.array("f", [3, 1])
        self.assertEqual(tessera.sort(own, out=numpy.empty(2, "float32")).tolist(), [1, 3])
        own.append(0)  # fails if a call still holds its memory
        self.assertEqual(tessera.sort(own, out=numpy.empty(3, "float32")).tolist(), [0, 1, 3])

    def test_many_types(self):
        # More than the module remembers.
        for turn in range(40):
            kind = type(f"Own{turn}", (numpy.ndarray,), {})
            numpy.testing.assert_array_equal(tessera.sort(ramp(10)[::-1].copy().view(kind)), numpy.sort(ramp(10)))

    @unittest.skipIf("cuda" in tessera.devices or importlib.util.find_spec("cupy"), "test_cuda.py has arrays of CuPy")
    def test_attributes_of_cupy(self):
        modules = made_cupy()
        with unittest.mock.patch.dict(sys.modules, modules):
            new = modules["cupy"].empty
            for dtype in ("float32", "int32"):
                x = new((4,), numpy.dtype(dtype))
                with self.assertRaisesRegex(ValueError, r"x is on cuda:3 \(this build of Tessera has no CUDA\)"):
                    tessera.sort(x)
                self.assertEqual(modules["cupy"].made[-1], ((4,), numpy.dtype(dtype)))
            with self.assertRaisesRegex(ValueError, r"x has shape \[2, 4\] \(this function takes one dimension\)"):
                tessera.sort(new((2, 4), numpy.dtype("float32")))
            with self.assertRaisesRegex(TypeError, "out has dtype float64"):
                tessera.sort(x, out=new((4,), numpy.dtype("float64")))
            with self.assertRaisesRegex(ValueError, "x is not aligned"):
                tessera.sort(new((4,), numpy.dtype("float32"), address=4097))
            with self.assertRaisesRegex(ValueError, "out overlaps x"):
                tessera.sort(x, out=x)
            # What it cannot read by attributes it reads by DLPack, which these arrays do not have.
            for refused in ({"_c_contiguous": False}, {"dtype": numpy.dtype("complex64")}, {"shape": None}):
                one = new((4,), numpy.dtype("float32"))
                one.__dict__.update(refused)
                with self.assertRaisesRegex(TypeError, r"x is a cupy\.ndarray \(no array"):
                    tessera.sort(one)

    def test_buffer_alone(self):
        x, y = array.array("f", [1, 2, 3]), numpy.empty(3, "float32")
        tessera.cumulative_sum(x, out=y)
        self.assertEqual(y.tolist(), [1, 3, 6])
        z = array.array("f", [0, 0, 0])
        self.assertIs(tessera.cumulative_sum(memoryview(x), out=z), z)
        self.assertEqual(z.tolist(), [1, 3, 6])
        for counts in (numpy.empty(2, "int64"), array.array("q", [0, 0])):
            result, outside = tessera.histogram(memoryview(x), 2, range=(1, 3), out=counts)
            self.assertIs(result, counts)
            self.assertEqual((result.tolist(), outside), ([1, 1], 1))

    def test_arrays_of_ctypes(self):
        # Their formats name the byte order, and they have no strides.
        x, y = ((ctypes.c_float * 3)(*values) for values in ((1, 2, 3), (0, 0, 0)))
        self.assertIs(tessera.cumulative_sum(x, out=y), y)
        self.assertEqual(list(y), [1, 3, 6])
        matrix = ((ctypes.c_float * 3) * 2)((1, 2, 3), (4, 5, 6))
        transposed = tessera.matrix_transpose(matrix, out=numpy.empty((3, 2), "float32"))
        self.assertEqual(transposed.tolist(), [[1, 4], [2, 5], [3, 6]])
        with self.assertRaisesRegex(TypeError, "x is a .* that cannot be shared"):
            tessera.sort((ctypes.c_float.__ctype_be__ * 3)(), out=y)

    def test_no_array(self):
        for wrong in ([1.0, 2.0], 3.0, None, "text"):
            with self.assertRaisesRegex(TypeError, r"x is a \w+ .*give an array|x is a .* convert"):
                tessera.sort(wrong)


class Lifetime(unittest.TestCase):
    def test_exported_temporary_lives_until_the_end(self):
        x, y = Temporary(numpy.ones(LARGE, "float32"), numpy.nan), numpy.empty(LARGE, "float32")
        tessera.cumulative_sum(x, out=y)
        numpy.testing.assert_array_equal(y, numpy.arange(1, LARGE + 1, dtype="float32"))
        self.assertTrue(x.is_gone)

    def test_temporaries_of_an_expression(self):
        for _ in range(20):
            self.assertEqual(float(tessera.sum(numpy.full(LARGE // 8, 1, "float32") + 1)), LARGE // 4)

    def test_result_outlives_all(self):
        y = tessera.cumulative_sum(numpy.ones(1000, "float32"))
        numpy.testing.assert_array_equal(y, numpy.arange(1, 1001))


class Refusals(unittest.TestCase):
    def test_strides(self):
        x = ramp(2000)
        for wrong in (x[::2], x[::-1]):
            message = r"x of shape \[\d+\] has strides of \[-?\d\] elements .*; copy it first"
            with self.assertRaisesRegex(ValueError, message):
                tessera.cumulative_sum(wrong)

    def test_strides_of_matrices(self):
        x = ramp(600).reshape(20, 30)
        for wrong in (x.T, x[:, :10], x[::2], numpy.asfortranarray(x)):
            with self.assertRaisesRegex(ValueError, "x of shape .* has strides of"):
                tessera.softmax(wrong)
        # Whole rows are consecutive.
        self.assertEqual(tessera.softmax(x[3:9]).shape, (6, 30))
        # The stride of a single row or an empty array means nothing.
        self.assertEqual(tessera.softmax(x[::20]).shape, (1, 30))
        self.assertEqual(tessera.softmax(x.T[:0]).shape, (0, 20))

    def test_strides_of_out(self):
        y = numpy.zeros(20, "float32")
        with self.assertRaisesRegex(ValueError, "out of shape .* has strides of"):
            tessera.cumulative_sum(ramp(10), out=y[::2])
        self.assertFalse(y.any())

    def test_dtypes(self):
        for dtype in ("int64", "uint8", "bool", "complex64", "float16"):
            with self.assertRaisesRegex(TypeError, rf"x has dtype {dtype} .*convert it first"):
                tessera.sort(numpy.zeros(4, dtype))
        for wrong in (numpy.zeros(4, ">f4"), numpy.zeros(4, "datetime64[s]"), numpy.array(["a"]), numpy.array([None])):
            with self.assertRaisesRegex(TypeError, "x (is a|has dtype) .*convert"):
                tessera.sort(wrong)

    def test_masked_arrays(self):
        x = numpy.ma.masked_greater(ramp(10), 5)
        with self.assertRaisesRegex(ValueError, r"x is a masked array \(.*masked or not\); fill it first"):
            tessera.sum(x)
        with self.assertRaisesRegex(ValueError, "out is a masked array"):
            tessera.cumulative_sum(ramp(10), out=x)
        self.assertEqual(float(tessera.sum(x.filled(0))), 15)

    def test_dtypes_of_two(self):
        with self.assertRaisesRegex(TypeError, r"x2 has dtype float64 \(x1 has float32\); convert one of them first"):
            tessera.vecdot(ramp(4), ramp(4, "float64"))

    def test_dtype_of_out(self):
        with self.assertRaisesRegex(TypeError, r"out has dtype float64 \(the result is float32\)"):
            tessera.sort(ramp(4), out=numpy.empty(4))

    def test_shape_of_out(self):
        for wrong in ((5,), (2, 2), ()):
            with self.assertRaisesRegex(ValueError, r"out has shape \[.*\], not \[4\]"):
                tessera.sort(ramp(4), out=numpy.empty(wrong, "float32"))

    def test_read_only_out(self):
        y = numpy.zeros(10, "float32")
        y.flags.writeable = False
        with self.assertRaisesRegex(ValueError, "out is read-only .*give an array that can be written"):
            tessera.cumulative_sum(ramp(10), out=y)
        self.assertFalse(y.any())
        with self.assertRaisesRegex(ValueError, "out is read-only"):
            tessera.cumulative_sum(ramp(2), out=bytes(8) and memoryview(bytes(8)).cast("f"))

    def test_overlap(self):
        x = ramp(100)
        with self.assertRaisesRegex(ValueError, "out overlaps x .*memory of its own"):
            tessera.sort(x, out=x)
        with self.assertRaisesRegex(ValueError, "out overlaps x"):
            tessera.cumulative_sum(x[:50], out=x[1:51])
        tessera.cumulative_sum(x[:50], out=x[50:])  # neighbours

    def test_alignment(self):
        x = numpy.zeros(41, "uint8")[1:].view("float32")
        with self.assertRaisesRegex((ValueError, TypeError), "x is not aligned|x is a .*cannot be shared"):
            tessera.sort(x)

    def test_devices(self):
        with self.assertRaisesRegex(ValueError, r"out is on the host \(x is on cuda:0\); copy one of them first"):
            tessera.cumulative_sum(OnAGPU(8), out=numpy.empty(8, "float32"))
        with self.assertRaisesRegex(ValueError, r"x2 is on cuda:0 \(x1 is on the host\); copy one of them first"):
            tessera.vecdot(ramp(8), OnAGPU(8))

    @unittest.skipIf("cuda" in tessera.devices, "this build has CUDA")
    def test_a_build_without_cuda(self):
        message = r"x is on cuda:0 \(this build of Tessera has no CUDA\); copy it to the host, or build Tessera"
        with self.assertRaisesRegex(ValueError, message):
            tessera.cumulative_sum(OnAGPU(8), out=OnAGPU(8))

    def test_dtypes_of_sums(self):
        for dtype in ("int64", "uint32", "float16"):
            for call in (tessera.sum, tessera.cumulative_sum, lambda x: tessera.sum(x, dtype=x.dtype)):
                with self.assertRaisesRegex(TypeError, rf"x has dtype {dtype} \(this function takes .*convert it"):
                    call(numpy.arange(10).astype(dtype))

    @unittest.skipUnless("int32" in tessera.dtypes, "this build has no int32")
    def test_sums_that_wrap(self):
        x = ramp(10, "int32")
        with self.assertRaisesRegex(TypeError, r"x has dtype int32 \(its sums .* wrap.*dtype=\"int32\""):
            tessera.sum(x)
        with self.assertRaisesRegex(TypeError, r"dtype is float64 \(x has float32, .*\); convert it first"):
            tessera.sum(ramp(10), dtype="float64")
        with self.assertRaisesRegex(TypeError, r"dtype is float64 \(x has float32"):
            tessera.sum(ramp(10), dtype=float)
        if "float64" in tessera.dtypes:
            self.assertEqual(float(tessera.sum(ramp(10, "float64"), dtype=float)), 45)

    def test_shapes(self):
        with self.assertRaisesRegex(ValueError, r"x has shape \[2, 2\] \(this function takes one dimension\)"):
            tessera.sort(ramp(4).reshape(2, 2))
        with self.assertRaisesRegex(ValueError, r"x2 has shape \[3, 2\], not \[2, 2\]"):
            tessera.matmul(numpy.ones((2, 2), "float32"), numpy.ones((3, 2), "float32"))
        with self.assertRaisesRegex(ValueError, "axis is 2 .x has 1 dimensions"):
            tessera.softmax(ramp(4), axis=2)


try:
    import torch
except ImportError:
    torch = None


@unittest.skipUnless(torch, "there is no PyTorch")
class Torch(unittest.TestCase):
    def test_result_is_a_tensor(self):
        x = torch.arange(1000, dtype=torch.float32) % 17
        y = tessera.cumulative_sum(x)
        self.assertIs(type(y), torch.Tensor)
        self.assertTrue(torch.equal(y, torch.cumsum(x, 0)))

    def test_out(self):
        x, y = torch.ones(1000), torch.empty(1000)
        before = y.data_ptr()
        self.assertIs(tessera.cumulative_sum(x, out=y), y)
        self.assertEqual(y.data_ptr(), before)
        self.assertTrue(torch.equal(y, torch.cumsum(x, 0)))

    def test_results_of_another_shape_or_dtype(self):
        x = torch.tensor([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]])
        for y, expected in (
            (tessera.sum(x, axis=-1), torch.tensor([6.0, 15.0])),
            (tessera.argsort(x[0]), torch.tensor([1, 2, 0])),
            (tessera.histogram(x, 3, range=(1, 7))[0], torch.tensor([2, 2, 2])),
        ):
            self.assertEqual((type(y), y.dtype, y.shape), (torch.Tensor, expected.dtype, expected.shape))
            self.assertTrue(torch.equal(y, expected))

    def test_attention(self):
        q, k, v = (torch.randn(33, 24) for _ in range(3))
        expected = torch.softmax(q @ k.T / 24**0.5, 1) @ v
        torch.testing.assert_close(tessera.scaled_dot_product_attention(q, k, v), expected, rtol=1e-4, atol=1e-5)

    def test_types_that_derive(self):
        class Own(torch.Tensor):
            pass

        x = torch.ones(1000).as_subclass(Own)
        for _ in range(2):
            self.assertIs(type(tessera.cumulative_sum(x)), Own)
            self.assertIs(type(tessera.cumulative_sum(torch.ones(1000))), torch.Tensor)
        constant = torch.nn.Parameter(torch.ones(1000), requires_grad=False)
        self.assertTrue(torch.equal(tessera.cumulative_sum(constant), torch.arange(1.0, 1001)))

    def test_a_tensor_that_changes_between_calls(self):
        x = torch.arange(12, dtype=torch.float32) % 5
        for shape in ((12,), (3, 4), (2, 6), (4, 1, 3)):
            x.resize_(shape)
            self.assertEqual(tessera.softmax(x).shape, shape)
            self.assertTrue(torch.allclose(tessera.softmax(x), torch.softmax(x, -1)))
        x.resize_(12).requires_grad_(True)
        with self.assertRaisesRegex(TypeError, "x requires a gradient"):
            tessera.sort(x)

    def test_new_results_are_like_pytorch_s(self):
        x = torch.rand(4, 0, 3), torch.rand(0, 5), torch.rand(2, 3, 4), torch.rand(1, 1)
        for y in (tessera.softmax(one) for one in x):
            like = torch.empty(y.shape)
            self.assertEqual((y.stride(), y.requires_grad, y.is_contiguous()), (like.stride(), False, True))
            y.resize_(7).fill_(1)  # its memory is PyTorch's own

    def test_refusals(self):
        with self.assertRaisesRegex(ValueError, "has strides of"):
            tessera.softmax(torch.ones(3, 4).T)
        with self.assertRaisesRegex(TypeError, r"x requires a gradient \(.*\); detach it first"):
            tessera.sort(torch.ones(3, requires_grad=True))


if __name__ == "__main__":
    unittest.main()
