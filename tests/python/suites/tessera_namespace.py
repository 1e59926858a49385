"""A namespace of the array API standard for data-apis/array-api-tests: Tessera's functions, and NumPy's for the rest.

Tessera's functions take one dtype, contiguous arrays and few dimensions. The functions here convert as the standard
says, move axes, and call Tessera once per vector or matrix. A dtype that Tessera does not have goes to NumPy. `calls`
counts both, with the reason, so that a test that never reached Tessera is seen.
"""

import collections
import math
import types

import numpy

import tessera

calls = collections.Counter()

__array_api_version__ = numpy.__array_api_version__
FUNCTIONS = (
    "argsort", "cumulative_sum", "matmul", "matrix_transpose", "sort", "sum", "take", "unique_counts", "vecdot"
)  # fmt: skip


def __getattr__(name):
    return getattr(numpy, name)


def taken(*arrays):
    """Whether Tessera has kernels for these arrays. Counts the answer."""
    dtypes = {str(array.dtype) for array in arrays}
    reason = None
    if len(dtypes) > 1:
        reason = "two dtypes"
    elif not dtypes <= set(tessera.dtypes):
        reason = f"no {dtypes.pop()} in Tessera"
    calls[reason] += 1
    return reason is None


def contiguous(x):
    """The same, in C order; an array of no dimension stays one."""
    return numpy.array(x, order="C", copy=None, ndmin=numpy.ndim(x))


def each_vector(function, x, axis, dtype, length=None):
    """The results of function(vector, out=vector) for all vectors of x along one axis."""
    moved = contiguous(numpy.moveaxis(x, axis, -1))
    n = moved.shape[-1]
    out = numpy.empty((*moved.shape[:-1], n if length is None else length), dtype)
    count = math.prod(moved.shape[:-1])
    for vector, to in zip(moved.reshape(count, n), out.reshape(count, out.shape[-1])):
        function(vector, out=to)
    return numpy.moveaxis(out, -1, axis)


def converted_for_sum(x, dtype):
    """x in the dtype of its sums, as the standard has it."""
    if dtype is None and x.dtype.kind in ("b", "i", "u"):
        dtype = numpy.sum(numpy.empty(0, x.dtype)).dtype
    return x if dtype is None else x.astype(dtype)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    wide = converted_for_sum(x, dtype)
    if x.ndim == 0 or (axis is None and x.ndim != 1) or not taken(wide):
        return numpy.cumulative_sum(x, axis=axis, dtype=dtype, include_initial=include_initial)
    first = int(include_initial)

    def function(vector, out):
        out[:first] = 0
        tessera.cumulative_sum(vector, dtype=wide.dtype, out=out[first:])

    axis = 0 if axis is None else axis
    return each_vector(function, wide, axis, wide.dtype, x.shape[axis] + first)


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    wide = converted_for_sum(x, dtype)
    if not taken(wide):
        return numpy.sum(x, axis=axis, dtype=dtype, keepdims=keepdims)
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(one % x.ndim for one in axes)
    kept = tuple(one for one in range(x.ndim) if one not in axes)
    rows, cols = (math.prod(x.shape[one] for one in some) for some in (kept, axes))
    if axes == tuple(range(x.ndim)):
        result = tessera.sum(contiguous(wide), dtype=wide.dtype)
    elif axes == (0,):
        result = tessera.sum(contiguous(wide).reshape(cols, rows), axis=0, dtype=wide.dtype)
    else:
        result = tessera.sum(contiguous(wide.transpose(kept + axes)).reshape(rows, cols), axis=1, dtype=wide.dtype)
    shape = [1 if one in axes else n for one, n in enumerate(x.shape)]
    return result.reshape(shape if keepdims else [x.shape[one] for one in kept])


def vecdot(x1, x2, /, *, axis=-1):
    dtype = numpy.result_type(x1, x2)
    a, b = x1.astype(dtype), x2.astype(dtype)
    if x1.shape[axis] != x2.shape[axis] or not taken(a, b):
        return numpy.vecdot(x1, x2, axis=axis)
    a, b = numpy.broadcast_arrays(numpy.moveaxis(a, axis, -1), numpy.moveaxis(b, axis, -1))
    out = numpy.empty(a.shape[:-1], dtype)
    for place in numpy.ndindex(out.shape):
        tessera.vecdot(contiguous(a[place]), contiguous(b[place]), out=out[place + (...,)])
    return out


def matmul(x1, x2, /):
    dtype = numpy.result_type(x1, x2)
    if x1.ndim == 0 or x2.ndim == 0 or not taken(x1.astype(dtype), x2.astype(dtype)):
        return numpy.matmul(x1, x2)
    a = x1.astype(dtype)[None, :] if x1.ndim == 1 else x1.astype(dtype)
    b = x2.astype(dtype)[:, None] if x2.ndim == 1 else x2.astype(dtype)
    stack = numpy.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (numpy.broadcast_to(one, stack + one.shape[-2:]) for one in (a, b))
    out = numpy.empty((*stack, a.shape[-2], b.shape[-1]), dtype)
    for place in numpy.ndindex(stack):
        tessera.matmul(contiguous(a[place]), contiguous(b[place]), out=out[place])
    if math.prod(stack) == 0 and a.shape[-1] != b.shape[-2]:
        raise ValueError("the shapes of matmul do not fit")
    out = out[..., 0, :] if x1.ndim == 1 else out
    return out[..., 0] if x2.ndim == 1 else out


def matrix_transpose(x, /):
    if not taken(x):
        return numpy.matrix_transpose(x)
    out = numpy.empty((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
    for place in numpy.ndindex(x.shape[:-2]):
        tessera.matrix_transpose(contiguous(x[place]), out=out[place])
    return out


def sort(x, /, *, axis=-1, descending=False, stable=True):
    if not taken(x):
        return numpy.take_along_axis(x, argsort_of_numpy(x, axis, descending), axis)

    def function(vector, out):
        tessera.sort(vector, descending=descending, out=out)

    return each_vector(function, x, axis, x.dtype)


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    if not taken(x):
        return argsort_of_numpy(x, axis, descending)

    def function(vector, out):
        tessera.argsort(vector, descending=descending, out=out)

    return each_vector(function, x, axis, numpy.int64)


def argsort_of_numpy(x, axis, descending):
    """NumPy's stable places, also in descending order, which its argsort does not have."""
    if not descending:
        return numpy.argsort(x, axis=axis, stable=True)
    last = x.shape[axis] - 1
    return numpy.flip(last - numpy.argsort(numpy.flip(x, axis), axis=axis, stable=True), axis)


def take(x, indices, /, *, axis=None):
    """Of any integers, along any axis."""
    if not taken(x):
        return numpy.take(x, indices, axis=axis)
    moved = contiguous(numpy.moveaxis(x, 0 if axis is None else axis, 0))
    found = tessera.take(moved, contiguous(indices.astype("int64")), axis=0)
    return numpy.moveaxis(found, 0, 0 if axis is None else axis)


def unique_counts(x, /):
    """Of arrays of any shape."""
    return tessera.unique_counts(contiguous(x)) if taken(x) else numpy.unique_counts(x)


linalg = types.SimpleNamespace(**{name: getattr(numpy.linalg, name) for name in dir(numpy.linalg) if name[0] != "_"})
linalg.matmul, linalg.matrix_transpose, linalg.vecdot = matmul, matrix_transpose, vecdot
