"""The functions against NumPy and SciPy: sizes around packs and tiles, and what hypothesis finds.

Data for sums are small whole numbers, so that every order of additions gives the same bits.
"""

import unittest

import numpy

import tessera

try:
    import scipy.signal
    import scipy.special
    from hypothesis import given, settings
    from hypothesis import strategies as st
    from hypothesis.extra import numpy as from_numpy
except ImportError as error:
    raise unittest.SkipTest(str(error)) from None

FLOATS = [dtype for dtype in ("float32", "float64") if dtype in tessera.dtypes]
NUMBERS = FLOATS + [dtype for dtype in ("int32",) if dtype in tessera.dtypes]
SIZES = [0, 1, 2, 3, 7, 8, 31, 33, 1000, 4096, 8193, 100003, (1 << 20) + 3]

settings.register_profile("tessera", max_examples=60, deadline=None, derandomize=True)
settings.load_profile("tessera")

dtypes = st.sampled_from(NUMBERS)
float_dtypes = st.sampled_from(FLOATS)
lengths = st.integers(0, 5000)
whole = st.integers(-100, 100)


def numbers(n, dtype, seed=1):
    return numpy.random.default_rng(seed).integers(-100, 101, n).astype(dtype)


def any_floats(dtype, shape):
    """Arrays of all floats: NaN, infinities, zeros of both signs, denormals."""
    return from_numpy.arrays(dtype, shape, elements=st.floats(width=numpy.dtype(dtype).itemsize * 8))


def summed(dtype):
    return {"dtype": dtype} if dtype == "int32" else {}


class Sums(unittest.TestCase):
    def test_sizes(self):
        for n in SIZES:
            for dtype in NUMBERS:
                with self.subTest(n=n, dtype=dtype):
                    x = numbers(n, dtype)
                    numpy.testing.assert_array_equal(
                        tessera.cumulative_sum(x, **summed(dtype)), numpy.cumsum(x, dtype=dtype)
                    )
                    self.assertEqual(tessera.sum(x, **summed(dtype)), numpy.sum(x, dtype=dtype))
                    self.assertEqual(tessera.vecdot(x, x[::-1].copy()), numpy.dot(x, x[::-1]))

    @given(st.data(), dtypes, lengths)
    def test_any(self, data, dtype, n):
        x = data.draw(from_numpy.arrays(dtype, n, elements=whole))
        numpy.testing.assert_array_equal(tessera.cumulative_sum(x, **summed(dtype)), numpy.cumsum(x, dtype=dtype))

    @given(st.data(), dtypes, st.integers(0, 70), st.integers(0, 70))
    def test_axes(self, data, dtype, rows, cols):
        x = data.draw(from_numpy.arrays(dtype, (rows, cols), elements=whole))
        for axis in (0, 1, -1, -2):
            numpy.testing.assert_array_equal(
                tessera.sum(x, axis=axis, **summed(dtype)), numpy.sum(x, axis=axis, dtype=dtype)
            )

    def test_three_dimensions(self):
        x = numbers(2 * 3 * 50, NUMBERS[0]).reshape(2, 3, 50)
        numpy.testing.assert_array_equal(tessera.sum(x, axis=2), x.sum(axis=2))
        self.assertEqual(tessera.sum(x), x.sum())
        with self.assertRaisesRegex(ValueError, "axis is 1 .only the last axis"):
            tessera.sum(x, axis=1)

    def test_nan_and_infinity(self):
        for special in (numpy.nan, numpy.inf, -numpy.inf):
            x = numbers(10000, FLOATS[0])
            x[5000] = special
            numpy.testing.assert_array_equal(tessera.cumulative_sum(x), numpy.cumsum(x))
            numpy.testing.assert_array_equal(tessera.sum(x), numpy.sum(x))

    def test_integers_wrap(self):
        if "int32" not in NUMBERS:
            self.skipTest("this build has no int32")
        x = numpy.full(5, 2**30, "int32")
        numpy.testing.assert_array_equal(tessera.cumulative_sum(x, dtype="int32"), numpy.cumsum(x, dtype="int32"))
        self.assertEqual(tessera.sum(x, dtype=numpy.int32), numpy.sum(x, dtype="int32"))


class Matrices(unittest.TestCase):
    @given(st.data(), dtypes, *[st.integers(0, 70)] * 3)
    def test_matmul(self, data, dtype, m, k, n):
        a = data.draw(from_numpy.arrays(dtype, (m, k), elements=whole))
        b = data.draw(from_numpy.arrays(dtype, (k, n), elements=whole))
        numpy.testing.assert_array_equal(tessera.matmul(a, b), a @ b)

    def test_large_matmul(self):
        a, b = numbers(257 * 300, NUMBERS[0]).reshape(257, 300), numbers(300 * 129, NUMBERS[0], 2).reshape(300, 129)
        numpy.testing.assert_array_equal(tessera.matmul(a, b), a @ b)

    @given(dtypes, st.integers(0, 300), st.integers(0, 300))
    def test_transpose(self, dtype, rows, cols):
        x = numbers(rows * cols, dtype).reshape(rows, cols)
        y = tessera.matrix_transpose(x)
        numpy.testing.assert_array_equal(y, x.T)
        self.assertFalse(numpy.shares_memory(x, y))


class Rows(unittest.TestCase):
    def close(self, found, expected, dtype):
        tolerance = 2e-5 if dtype == "float32" else 1e-13
        numpy.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)

    @given(st.data(), float_dtypes, st.integers(1, 40), st.integers(1, 300))
    def test_softmax(self, data, dtype, rows, cols):
        x = data.draw(from_numpy.arrays(dtype, (rows, cols), elements=st.floats(-50, 50, width=32)))
        for axis in (0, 1):
            expected = scipy.special.softmax(x.astype("float64"), axis=axis)
            self.close(tessera.softmax(x, axis), expected, dtype)
            y = x.copy()
            self.assertIs(tessera.softmax(y, axis, out=y), y)
            self.close(y, expected, dtype)

    def test_softmax_of_special_numbers(self):
        x = numpy.ones((5, 40), FLOATS[0])
        x[1, 3], x[2, 3], x[3, 3] = numpy.nan, numpy.inf, -numpy.inf
        x[4] = -numpy.inf
        y = tessera.softmax(x)
        for row in (1, 2, 4):
            self.assertTrue(numpy.isnan(y[row]).all())
        self.close(y[[0, 3]], scipy.special.softmax(x[[0, 3]], axis=1), FLOATS[0])

    @given(st.data(), float_dtypes, st.integers(1, 20), st.integers(1, 300))
    def test_layer_norm(self, data, dtype, rows, cols):
        x = data.draw(from_numpy.arrays(dtype, (rows, cols), elements=whole))
        weight, bias = numbers(cols, dtype, 2), numbers(cols, dtype, 3)
        wide = x.astype("float64")
        expected = (wide - wide.mean(1, keepdims=True)) / numpy.sqrt(wide.var(1, keepdims=True) + 0.5) * weight + bias
        self.close(tessera.layer_norm(x, weight, bias, 0.5) / 100, expected / 100, dtype)

    @given(float_dtypes, st.integers(1, 50), st.integers(1, 50), st.integers(1, 80))
    def test_attention(self, dtype, queries, keys, dim):
        q, k, v = (numbers(n * dim, dtype, n).reshape(n, dim) / 64 for n in (queries, keys, keys))
        q, k, v = (one.astype(dtype) for one in (q, k, v))
        scores = q.astype("float64") @ k.T
        for scale in (None, 0.25):
            expected = scipy.special.softmax(scores * (scale or dim**-0.5), axis=1) @ v
            self.close(tessera.scaled_dot_product_attention(q, k, v, scale=scale), expected, dtype)

    def test_attention_of_a_large_dim(self):
        q = numpy.ones((2, 300), FLOATS[0])
        with self.assertRaisesRegex(ValueError, "256"):
            tessera.scaled_dot_product_attention(q, q, q)


class Orders(unittest.TestCase):
    @given(st.data(), dtypes, st.integers(0, 3000), st.booleans())
    def test_sort(self, data, dtype, n, descending):
        if dtype == "int32":
            x = data.draw(from_numpy.arrays(dtype, n))
        else:
            x = data.draw(any_floats(dtype, n))
        self.check(x, descending)

    def check(self, x, descending=False):
        # NaN is last in both directions.
        key = numpy.where(numpy.isnan(x), x, -x) if descending and x.dtype != "int32" else x
        if descending and x.dtype == "int32":
            key = -x.astype("int64")
        places = numpy.argsort(key, kind="stable")
        numpy.testing.assert_array_equal(tessera.argsort(x, descending=descending), places)
        numpy.testing.assert_array_equal(tessera.sort(x, descending=descending), x[places])

    def test_sizes(self):
        for n in SIZES:
            for dtype in NUMBERS:
                with self.subTest(n=n, dtype=dtype):
                    self.check(numbers(n, dtype))

    @given(st.data(), dtypes, st.integers(1, 5), st.integers(1, 300), st.integers(0, 40))
    def test_topk(self, data, dtype, rows, n, k):
        x = data.draw(from_numpy.arrays(dtype, (rows, n)) if dtype == "int32" else any_floats(dtype, (rows, n)))
        k = min(k, n)
        # NaN above all numbers, and of equal elements the first.
        key = numpy.where(numpy.isnan(x), numpy.inf, x.astype("float64"))
        places = numpy.lexsort((numpy.broadcast_to(numpy.arange(n), x.shape), -key, ~numpy.isnan(x)), axis=-1)[:, :k]
        found = tessera.topk(x, k)
        self.assertEqual(found._fields, ("values", "indices"))
        numpy.testing.assert_array_equal(found.indices, places)
        numpy.testing.assert_array_equal(found.values, numpy.take_along_axis(x, places, 1))
        numpy.testing.assert_array_equal(tessera.topk(x[0], k).indices, places[0])

    def test_topk_refuses(self):
        x = numpy.ones((2, 3), FLOATS[0])
        for more, message in (
            ({"k": 4}, "k is 4 .rows have 3 elements"),
            ({"k": -1}, "k is -1"),
            ({"k": 1, "largest": False}, "largest is False"),
            ({"k": 1, "dim": 0}, "dim is 0 .topk takes the last dimension"),
        ):
            with self.assertRaisesRegex(ValueError, message):
                tessera.topk(x, **more)
        with self.assertRaisesRegex(TypeError, "out is no pair"):
            tessera.topk(x, 1, out=x)
        out = numpy.empty((2, 2), FLOATS[0]), numpy.empty((2, 2), "int64")
        found = tessera.topk(x, 2, out=out)
        self.assertIs(found.values, out[0])
        self.assertIs(found.indices, out[1])

    @given(st.data(), dtypes, st.integers(0, 2000))
    def test_unique_counts(self, data, dtype, n):
        if dtype == "int32":
            x = data.draw(from_numpy.arrays(dtype, n, elements=st.integers(-20, 20)))
        else:
            x = data.draw(any_floats(dtype, n))
        values, counts = numpy.unique(x, return_counts=True, equal_nan=False)
        found = tessera.unique_counts(x.reshape(1, -1))
        self.assertEqual(found._fields, ("values", "counts"))
        numpy.testing.assert_array_equal(found.values, values)
        numpy.testing.assert_array_equal(found.counts, counts)
        self.assertEqual(found.counts.dtype, numpy.int64)

    @given(st.data(), dtypes, lengths, st.integers(-100, 100))
    def test_partition(self, data, dtype, n, bound):
        x = data.draw(from_numpy.arrays(dtype, n, elements=whole))
        y, count = tessera.partition(x, below=bound)
        self.assertEqual(count, (x < bound).sum())
        numpy.testing.assert_array_equal(y, numpy.concatenate([x[x < bound], x[~(x < bound)]]))

    def test_partition_of_nan(self):
        x = numpy.array([numpy.nan, 1, numpy.inf, -numpy.inf], FLOATS[0])
        y, count = tessera.partition(x, below=2)
        self.assertEqual(count, 2)
        numpy.testing.assert_array_equal(y, x[[1, 3, 0, 2]])


class Others(unittest.TestCase):
    @given(st.data(), dtypes, lengths, st.integers(1, 300))
    def test_histogram(self, data, dtype, n, bins):
        x = data.draw(from_numpy.arrays(dtype, n, elements=whole))
        # Bins of one whole number each: no edge is rounded.
        counts, outside = tessera.histogram(x, bins, range=(-50, bins - 50))
        inside = x[(x >= -50) & (x < bins - 50)]
        self.assertEqual(counts.dtype, numpy.int64)
        numpy.testing.assert_array_equal(counts, numpy.bincount(inside.astype("int64") + 50, minlength=bins))
        self.assertEqual(outside, n - len(inside))

    def test_histogram_of_nan(self):
        counts, outside = tessera.histogram(numpy.array([numpy.nan, numpy.inf, 0.5], FLOATS[0]), 2, range=(0, 1))
        self.assertEqual((counts.tolist(), outside), ([0, 1], 2))

    def test_histogram_refuses(self):
        for arguments in ((0, (0, 1)), (10, (1, 0)), (-1, (0, 1))):
            with self.assertRaises(ValueError):
                tessera.histogram(numpy.ones(3, FLOATS[0]), arguments[0], range=arguments[1])

    @given(st.data(), dtypes, st.integers(0, 500), st.integers(1, 50), st.integers(1, 50))
    def test_embedding(self, data, dtype, n, rows, width):
        indices = data.draw(from_numpy.arrays("int32", n, elements=st.integers(-3, rows + 3)))
        weight = numbers(rows * width, dtype).reshape(rows, width)
        expected = numpy.where(
            ((indices >= 0) & (indices < rows))[:, None], weight[numpy.clip(indices, 0, rows - 1)], 0
        )
        numpy.testing.assert_array_equal(tessera.embedding(indices, weight), expected)

    def test_embedding_takes_int32(self):
        with self.assertRaisesRegex(TypeError, "indices has dtype int64 .indices are int32"):
            tessera.embedding(numpy.zeros(3, "int64"), numpy.ones((3, 3), FLOATS[0]))

    @given(st.data(), dtypes, st.integers(0, 500), st.integers(1, 50), st.integers(1, 9), st.sampled_from([4, 8]))
    def test_take(self, data, dtype, n, rows, width, size):
        indices = data.draw(from_numpy.arrays(f"int{8 * size}", n, elements=st.integers(-rows, rows - 1)))
        for x in (numbers(rows * width, dtype).reshape(rows, width), numbers(rows, dtype)):
            axis = 0 if x.ndim == 2 else None
            numpy.testing.assert_array_equal(tessera.take(x, indices, axis=axis), numpy.take(x, indices, axis=axis))

    def test_take_refuses(self):
        x = numpy.ones((3, 4), FLOATS[0])
        for wrong in (3, -4, 2**31 - 1):
            with self.assertRaisesRegex(IndexError, "indices has 1 outside of x .its first dimension is 3"):
                tessera.take(x, numpy.array([0, wrong, 2]), axis=0)
        with self.assertRaisesRegex(IndexError, "indices has 1 outside"):
            tessera.take(x, numpy.array([2**32]), axis=0)
        with self.assertRaisesRegex(IndexError, "indices has 1 outside"):
            tessera.take(x[:0], numpy.array([0]), axis=0)
        with self.assertRaisesRegex(ValueError, "axis is 1 .take copies along the first axis"):
            tessera.take(x, numpy.array([0]), axis=1)
        with self.assertRaisesRegex(ValueError, "axis is None .x has 2 dimensions"):
            tessera.take(x, numpy.array([0]))
        with self.assertRaisesRegex(TypeError, "indices has dtype float"):
            tessera.take(x, numpy.array([0], FLOATS[0]), axis=0)

    @given(st.data(), dtypes, st.integers(0, 40), st.integers(1, 30), st.integers(1, 30), st.booleans())
    def test_linear(self, data, dtype, rows, outputs, inputs, with_bias):
        x = data.draw(from_numpy.arrays(dtype, (2, rows, inputs), elements=whole))
        weight = data.draw(from_numpy.arrays(dtype, (outputs, inputs), elements=whole))
        bias = numbers(outputs, dtype) if with_bias else None
        expected = x @ weight.T + (bias if with_bias else 0)
        numpy.testing.assert_array_equal(tessera.linear(x, weight, bias), expected.astype(dtype))

    def test_linear_refuses(self):
        x, weight = numpy.ones((2, 4), FLOATS[0]), numpy.ones((3, 4), FLOATS[0])
        for arguments, message in (
            ((x, weight[:, :3].copy()), "weight has shape"),
            ((x, weight[0]), "weight has shape"),
            ((x, weight, x[0]), "bias has shape"),
        ):
            with self.assertRaisesRegex(ValueError, message):
                tessera.linear(*arguments)

    @given(st.data(), dtypes, st.integers(1, 60), st.integers(1, 60), st.integers(1, 9), st.integers(1, 9))
    def test_conv2d(self, data, dtype, rows, cols, down, across):
        x = data.draw(from_numpy.arrays(dtype, (rows, cols), elements=whole))
        weight = data.draw(from_numpy.arrays(dtype, (down, across), elements=whole))
        padded = numpy.pad(x, ((0, down - 1), (0, across - 1)))
        expected = scipy.signal.correlate(padded, weight, "valid", "direct")
        numpy.testing.assert_array_equal(tessera.conv2d(x, weight), expected)

    @given(st.data(), dtypes, st.integers(0, 3000), st.integers(1, 100))
    def test_conv1d(self, data, dtype, n, taps):
        x = data.draw(from_numpy.arrays(dtype, n, elements=whole))
        weight = data.draw(from_numpy.arrays(dtype, taps, elements=whole))
        padded = numpy.concatenate([x, numpy.zeros(taps - 1, dtype)])
        expected = scipy.signal.correlate(padded, weight, "valid", "direct") if n else x
        numpy.testing.assert_array_equal(tessera.conv1d(x, weight), expected)


if __name__ == "__main__":
    unittest.main()
