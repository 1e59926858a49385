"""conv2d: out[y, x] = sum over ky, kx of in[y + ky, x + kx] * k[ky, kx], as far as these are inside"""

import numpy as np

from cases.common import ALL, FLOAT, FLOATS, HUGE, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, stored, uneven, wide


def correlated(a, k):
    """Element by element, as the formula says; what lies past the edges is left out, not multiplied by zero."""
    x, y = wide(a), wide(k)
    out = np.empty(a.shape, x.dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        for row in range(a.shape[0]):
            for col in range(a.shape[1]):
                window = x[row:row + k.shape[0], col:col + k.shape[1]]
                out[row, col] = np.sum(window * y[:window.shape[0], :window.shape[1]])
    return stored(out, a.dtype)


def conv2d_case(name, description, a, k):
    return Case(name + SUFFIX[a.dtype], description, {"in": a, "k": k}, {"out": correlated(a, k)})


def matrix(rows, cols, t):
    return uneven(rows * cols, t).reshape(rows, cols)


def taps(rows, cols, t):
    return uneven(rows * cols, t, 11, 23, 4).reshape(rows, cols)


def cases():
    for t in ALL:
        ones = conv2d_case("puzzle_p11_bonus", "P11: 12 x 16 ones, 3 x 3 ones -> min(3, 16 - x) * min(3, 12 - y)",
                           np.ones((12, 16), t), np.ones((3, 3), t))
        y, x = np.mgrid[0:12, 0:16]
        assert np.array_equal(ones.expected["out"], np.minimum(3, 16 - x) * np.minimum(3, 12 - y))
        assert np.sum(ones.expected["out"]) == 1485
        yield ones
        yield conv2d_case("uneven", "37 x 29, 3 x 3, no symmetry", matrix(37, 29, t), taps(3, 3, t))
        yield conv2d_case("uneven_kernel", "29 x 37, 2 x 5: rows and columns are not the same", matrix(29, 37, t),
                          taps(2, 5, t))
        yield conv2d_case("kernel_over_input", "5 x 7, a kernel of 9 x 11", matrix(5, 7, t), taps(9, 11, t))
    for rows, cols in ((1, 211), (211, 1), (3, 68), (68, 3)):
        yield conv2d_case(f"uneven_{rows}x{cols}", f"{rows} x {cols}, 3 x 3", matrix(rows, cols, FLOAT),
                          taps(3, 3, FLOAT))
    yield conv2d_case("kernel_1x1", "a kernel of one element", matrix(13, 11, FLOAT), taps(1, 1, FLOAT))
    yield conv2d_case("kernel_7x7", "40 x 36, 7 x 7", matrix(40, 36, FLOAT), taps(7, 7, FLOAT))
    yield conv2d_case("no_rows", "0 x 5", np.empty((0, 5), FLOAT), taps(3, 3, FLOAT))
    yield conv2d_case("no_columns", "5 x 0", np.empty((5, 0), FLOAT), taps(3, 3, FLOAT))
    yield conv2d_case("no_rows_huge", "0 x 2^50", np.empty((0, HUGE), FLOAT), taps(3, 3, FLOAT))
    empty = np.empty((HUGE, 0), FLOAT)
    yield Case("no_columns_huge", "2^50 x 0", {"in": empty, "k": taps(3, 3, FLOAT)}, {"out": empty})
    yield conv2d_case("single", "one element: the other taps meet nothing", np.array([[5]], FLOAT), taps(3, 3, FLOAT))
    for t in FLOATS:
        a = matrix(20, 24, t)
        a[3, 4], a[10, 12], a[10, 13] = np.nan, np.inf, -np.inf
        yield conv2d_case("special_values", "NaN and infinities, in the windows that hold them", a, taps(3, 3, t))
        k = taps(3, 3, t)
        k[2, 1], k[1, 2] = np.inf, np.nan
        yield conv2d_case("special_kernel", "taps past the edges contribute nothing, infinite ones neither",
                          matrix(9, 10, t), k)
    yield conv2d_case("tenths", "every product is rounded", stored(np.arange(221).reshape(13, 17) / 10, FLOAT),
                      stored(1 - np.arange(9).reshape(3, 3) / 10, FLOAT))
    yield conv2d_case("wraps", "products and sums wrap modulo 2^32",
                      np.array([[2**20, 2**30, 3], [INT32_MIN, -5, INT32_MAX]], INT32),
                      np.array([[2**13 + 1, 5], [7, -3]], INT32))
