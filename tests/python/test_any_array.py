"""Any array of NumPy: every function computes what NumPy does, or refuses. Shapes, strides, dtypes, NaN and infinities
are hypothesis'. Every run draws the same examples.

Finite elements are small whole numbers, so that sums have one right answer in any order.
"""

import unittest

import numpy

import tessera

try:
    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies as st
except ImportError as error:
    raise unittest.SkipTest(str(error)) from None

FLOATS = [dtype for dtype in ("float32", "float64") if dtype in tessera.dtypes]
NUMBERS = FLOATS + [dtype for dtype in ("int32",) if dtype in tessera.dtypes]
OTHERS = ["bool", "int8", "uint8", "int16", "uint32", "int64", "uint64", "float16", "complex64", "S3", "M8[s]"]
OTHERS += [">f4", ">i4"]  # other byte orders

anything = settings(
    max_examples=100, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
SPECIAL = [numpy.nan, numpy.inf, -numpy.inf, -0.0]


def layouts(x):
    """Views with the shape and elements of x, in memory of other strides."""
    yield x
    yield numpy.asfortranarray(x)
    yield numpy.ascontiguousarray(x[(slice(None, None, -1),) * x.ndim])[(slice(None, None, -1),) * x.ndim]
    for axis in range(x.ndim):
        wide = numpy.repeat(x, 2, axis)
        yield wide[(slice(None),) * axis + (slice(None, None, 2),)]
        shape = list(x.shape)
        shape[axis] += 3
        wide = numpy.zeros(shape, x.dtype)
        part = (slice(None),) * axis + (slice(1, 1 + x.shape[axis]),)
        wide[part] = x
        yield wide[part]
    raw = numpy.zeros(x.nbytes + 1, "uint8")
    odd = raw[1 : 1 + x.nbytes].view(x.dtype).reshape(x.shape)
    odd[...] = x
    yield odd


@st.composite
def arrays(draw, dims, dtypes=None, shape=None):
    """Arrays. Most have `dims` dimensions, and a dtype and strides that Tessera takes."""
    dtype = numpy.dtype(draw(st.sampled_from(dtypes or 8 * NUMBERS + OTHERS)))
    if shape is None:
        count = draw(st.sampled_from(7 * [dims] + [0, 1, 2, 3]))
        side = draw(st.sampled_from([5, 5000 if count == 1 else 70]))
        shape = tuple(draw(st.integers(0, side)) for _ in range(count))
    x = numpy.random.default_rng(draw(st.integers(0, 99))).integers(-8, 9, shape)
    x = x.astype("int8").astype(dtype) if dtype.kind in "SM" else x.astype(dtype)
    if dtype.kind == "f" and x.size:
        for place, value in draw(st.lists(st.tuples(st.integers(0, x.size - 1), st.sampled_from(SPECIAL)), max_size=3)):
            x.reshape(-1)[place] = value
    some = list(layouts(x))
    return some[draw(st.sampled_from([0] * 2 * len(some) + list(range(len(some)))))]


@st.composite
def two_vectors(draw, alike):
    """Most have one dtype, and one length if they are `alike`."""
    x = draw(arrays(1))
    if draw(st.integers(0, 7)) == 0:
        return x, draw(arrays(1))
    return x, draw(arrays(1, [x.dtype], x.shape if alike else None))


@st.composite
def two_matrices(draw, dtypes=NUMBERS):
    """Matrices of one dtype that can be multiplied."""
    dtype = [draw(st.sampled_from(dtypes))]
    m, k, n = (draw(st.integers(0, 70)) for _ in range(3))
    return draw(arrays(2, dtype, (m, k))), draw(arrays(2, dtype, (k, n)))


def is_summed_axis(x, axis):
    """Whether it is the last axis, or the first of two."""
    return x.ndim > 0 and axis in (-1, x.ndim - 1) or x.ndim == 2 and axis == 0


def dot(a, b):
    """The product as the module has it: no sum in a wider type, and 0 * infinity is NaN."""
    return numpy.asarray(numpy.matmul(a, b))


class AnyArray(unittest.TestCase):
    def check(self, function, inputs, fits, expected, close=False, known=True, indices=None):
        """function(*inputs) is expected(*inputs), or raises the right error. `fits` and `known`: whether the shapes and
        the dtypes are right together. `indices`: an input whose dtype the build need not have."""
        before = [x.tobytes() for x in inputs]
        known = known and all(x.dtype in (FLOATS if close else NUMBERS) for x in inputs if x is not indices)
        fits = fits and known and all(x.flags.c_contiguous and x.flags.aligned for x in inputs)
        try:
            found = function(*inputs)
        except (TypeError, ValueError) as error:
            self.assertFalse(fits, error)
            if known:
                self.assertIsInstance(error, ValueError)
        else:
            self.assertTrue(fits, "this was not refused")
            with numpy.errstate(all="ignore"):
                wanted = expected(*inputs)
            self.assertEqual((found.shape, found.dtype), (wanted.shape, wanted.dtype))
            tolerance = 0 if not close else 2e-5 if found.dtype == "float32" else 1e-13
            numpy.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
        self.assertEqual([x.tobytes() for x in inputs], before, "an input was changed")

    @anything
    @given(arrays(1))
    def test_cumulative_sum(self, x):
        def function(x):
            return tessera.cumulative_sum(x, dtype=x.dtype)

        self.check(function, [x], x.ndim == 1, lambda x: numpy.cumsum(x, dtype=x.dtype))

    @anything
    @given(arrays(2), st.sampled_from([None, 0, 1, -1]))
    def test_sum(self, x, axis):
        def function(x):
            return tessera.sum(x, axis=axis, dtype=x.dtype)

        fits = axis is None or is_summed_axis(x, axis)
        self.check(function, [x], fits, lambda x: numpy.asarray(numpy.sum(x, axis=axis, dtype=x.dtype)))

    @anything
    @given(arrays(1), st.booleans())
    def test_sort(self, x, descending):
        # NaN is last in both directions.
        def places(x):
            return numpy.argsort(-x if descending else x, kind="stable")

        self.check(lambda x: tessera.sort(x, descending=descending), [x], x.ndim == 1, lambda x: x[places(x)])
        self.check(lambda x: tessera.argsort(x, descending=descending), [x], x.ndim == 1, places)

    @anything
    @given(arrays(2))
    def test_matrix_transpose(self, x):
        self.check(tessera.matrix_transpose, [x], x.ndim == 2, lambda x: x.T)

    @anything
    @given(two_vectors(alike=True))
    def test_vecdot(self, pair):
        x, y = pair
        self.check(tessera.vecdot, [x, y], x.shape == y.shape and x.ndim == 1, dot, known=x.dtype == y.dtype)

    @anything
    @given(two_matrices())
    def test_matmul(self, pair):
        a, b = pair
        self.check(tessera.matmul, [a, b], True, dot)

    @anything
    @given(arrays(1), st.integers(-9, 9))
    def test_partition(self, x, below):
        def function(x):
            y, count = tessera.partition(x, below=below)
            self.assertEqual(count, (x < below).sum())
            return y

        self.check(function, [x], x.ndim == 1, lambda x: numpy.concatenate([x[x < below], x[~(x < below)]]))

    @anything
    @given(arrays(1), st.integers(1, 20))
    def test_histogram(self, x, bins):
        def function(x):
            counts, outside = tessera.histogram(x, bins, range=(-5, bins - 5))
            self.assertEqual(counts.sum() + outside, x.size)
            return counts

        def expected(x):
            return numpy.bincount((x[(x >= -5) & (x < bins - 5)] + 5).astype("int64"), minlength=bins)

        self.check(function, [x], True, expected)

    @anything
    @given(arrays(2), arrays(1, 4 * ["int32"] + ["int64"]))
    def test_embedding(self, weight, indices):
        def expected(weight, indices):
            inside = (indices >= 0) & (indices < len(weight))
            out = numpy.zeros((len(indices), weight.shape[1]), weight.dtype)
            out[inside] = weight[indices[inside]]
            return out

        fits = weight.ndim == 2 and indices.ndim == 1

        def function(weight, indices):
            return tessera.embedding(indices, weight)

        self.check(function, [weight, indices], fits, expected, known=indices.dtype == "int32", indices=indices)

    @anything
    @given(arrays(2), arrays(1, 4 * ["int32", "int64"] + ["int16", "uint32", "float32"]))
    def test_take(self, x, indices):
        with numpy.errstate(invalid="ignore"):  # indices of floats, which are refused, may be NaN
            indices[...] = indices.astype("int64") % max(1, len(x) if x.ndim else 1) if x.size else 0
        fits = x.ndim > 0 and indices.ndim == 1 and (x.shape[0] > 0 or indices.size == 0)
        known = indices.dtype in ("int32", "int64")

        def function(x, indices):
            try:
                return tessera.take(x, indices, axis=0)
            except IndexError as error:  # no row at all
                raise ValueError(str(error)) from error

        def expected(x, indices):
            return x[indices]

        self.check(function, [x, indices], fits, expected, known=known, indices=indices)

    @anything
    @given(arrays(2), st.integers(0, 20))
    def test_topk(self, x, k):
        def order(x):
            # NaN above all numbers; of equal elements the first.
            places = numpy.argsort(numpy.flip(x, -1), axis=-1, kind="stable")
            return x.shape[-1] - 1 - numpy.flip(places, -1)[..., :k]

        fits = x.ndim > 0 and k <= x.shape[-1]
        self.check(lambda x: tessera.topk(x, k).indices, [x], fits, order)
        self.check(lambda x: tessera.topk(x, k).values, [x], fits, lambda x: numpy.take_along_axis(x, order(x), -1))

    @anything
    @given(arrays(2))
    def test_unique_counts(self, x):
        def expected(x):
            return numpy.unique(x, return_counts=True, equal_nan=False)

        self.check(lambda x: tessera.unique_counts(x).values, [x], True, lambda x: expected(x)[0])
        self.check(lambda x: tessera.unique_counts(x).counts, [x], True, lambda x: expected(x)[1])

    @anything
    @given(two_matrices())
    def test_linear(self, pair):
        x, weight = pair[0], pair[1].T
        self.check(tessera.linear, [x, weight], True, lambda x, weight: dot(x, weight.T))

    @anything
    @given(two_matrices())
    def test_conv2d(self, pair):
        def expected(x, weight):
            out = numpy.zeros_like(x)
            for i in range(min(x.shape[0], weight.shape[0])):
                for j in range(min(x.shape[1], weight.shape[1])):
                    out[: x.shape[0] - i, : x.shape[1] - j] += x[i:, j:] * weight[i, j]
            return out

        x, weight = pair
        self.check(tessera.conv2d, [x, weight[:9, :9].copy()], True, expected)

    @anything
    @given(two_vectors(alike=False))
    def test_conv1d(self, pair):
        def expected(x, weight):
            out = numpy.zeros_like(x)
            for tap in range(min(len(x), len(weight))):
                out[: len(x) - tap] += x[tap:] * weight[tap]
            return out

        x, weight = pair
        fits = x.ndim == weight.ndim == 1
        self.check(tessera.conv1d, [x, weight], fits, expected, known=x.dtype == weight.dtype)

    @anything
    @given(arrays(2, 4 * FLOATS + OTHERS), st.sampled_from([-1, 0, 1]))
    def test_softmax(self, x, axis):
        def expected(x):
            powers = numpy.exp(x.astype("float64") - x.max(axis, keepdims=True, initial=-numpy.inf))
            return (powers / powers.sum(axis, keepdims=True)).astype(x.dtype)

        self.check(lambda x: tessera.softmax(x, axis), [x], is_summed_axis(x, axis), expected, close=True)

    @anything
    @given(arrays(2, 4 * FLOATS + OTHERS))
    def test_layer_norm(self, x):
        cols = x.shape[-1] if x.ndim else 1
        weight, bias = (numpy.arange(first, first + cols) % 3 for first in range(2))

        def function(x):
            return tessera.layer_norm(x, weight.astype(x.dtype), bias.astype(x.dtype), 0.5)

        def expected(x):
            wide = x.astype("float64")
            apart = wide - wide.mean(-1, keepdims=True)
            return (apart / numpy.sqrt((apart**2).mean(-1, keepdims=True) + 0.5) * weight + bias).astype(x.dtype)

        self.check(function, [x], x.ndim > 0 and cols > 0, expected, close=True)

    @anything
    @given(two_matrices(FLOATS))
    def test_attention(self, pair):
        query, key = pair[0], numpy.ascontiguousarray(pair[1].T)

        def expected(query, key):
            scores = query.astype("float64") @ key.T.astype("float64") / 64
            powers = numpy.exp(scores - scores.max(1, keepdims=True, initial=-numpy.inf))
            return (powers / powers.sum(1, keepdims=True) @ key).astype(query.dtype)

        def function(query, key):
            return tessera.scaled_dot_product_attention(query, key, key, scale=1 / 64)

        self.check(function, [query, key], True, expected, close=True)


if __name__ == "__main__":
    unittest.main()
