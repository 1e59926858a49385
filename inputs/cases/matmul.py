"""matmul: c[M, N] = a[M, K] b[K, N]"""

import numpy as np

from cases.common import ALL, FLOAT, FLOATS, HUGE, INT32, INT32_MIN, SUFFIX, Case, stored, uneven, wide


def product(a, b):
    """In double or int64, so that small integers and eighths come out exactly."""
    with np.errstate(invalid="ignore"):
        return stored(wide(a) @ wide(b), a.dtype)


def matmul_case(name, description, a, b, parameters=None):
    return Case(name + SUFFIX[a.dtype], description, {"a": a, "b": b}, {"c": product(a, b)}, parameters or {})


def matrix(rows, cols, dtype, *args):
    return uneven(rows * cols, dtype, *args).reshape(rows, cols)


def cases():
    for t in ALL:
        a = np.arange(4).reshape(2, 2)
        assert (product(a.astype(t), (2 * a).astype(t)) == [[4, 6], [12, 22]]).all()
        yield matmul_case("puzzle_p14", "P14: 2 x 2, a = 0..3, b = 2a -> 4 6 12 22", a.astype(t), (2 * a).astype(t))
        a = np.arange(81).reshape(9, 9)
        i, j = np.indices((9, 9))
        assert (product(a.astype(t), (2 * a).astype(t)) == 5832 * i + 162 * i * j + 3672 + 72 * j).all()
        yield matmul_case("puzzle_p14_tiled", "P14: 9 x 9, a = 0..80, b = 2a, tiles of 3: "
                          "c[i, j] = 5832 i + 162 i j + 3672 + 72 j", a.astype(t), (2 * a).astype(t), {"tile": 3})
        keys = np.arange(1, 7).reshape(3, 2)
        assert (product(keys.astype(t), np.ones((2, 1), t)) == [[3], [7], [11]]).all()
        yield matmul_case("puzzle_p17", "P17: keys 1..6, 3 x 2, times the query 1 1 -> 3 7 11", keys.astype(t),
                          np.ones((2, 1), t))
        yield matmul_case("uneven", "no square, no power of two, no symmetry: 19 x 37 times 37 x 23",
                          matrix(19, 37, t), matrix(37, 23, t, 11, 23, 4))
        yield matmul_case("prime_tiled", "17 x 13 times 13 x 29 in tiles of 5: short tiles on every side",
                          matrix(17, 13, t, 7, 19, 9), matrix(13, 29, t, 3, 17, 8), {"tile": 5})
    for name, m, k, n in (
        ("row_by_matrix", 1, 67, 41),
        ("matrix_by_column", 43, 71, 1),
        ("inner", 1, 101, 1),
        ("outer", 31, 1, 47),
        ("long_inner", 3, 1031, 5),
        ("wide", 2, 3, 259),
        ("tall", 261, 5, 2),
        ("edges_of_blocks", 65, 17, 129),
    ):
        yield matmul_case(name, f"{m} x {k} times {k} x {n}", matrix(m, k, FLOAT), matrix(k, n, FLOAT, 11, 23, 4))
    yield matmul_case("single", "one element each", np.array([[5]], FLOAT), np.array([[-7]], FLOAT))
    for name, description, m, k, n in (
        ("no_inner", "an empty sum is 0: 3 x 0 times 0 x 4", 3, 0, 4),
        ("no_rows", "0 x 3 times 3 x 4", 0, 3, 4),
        ("no_columns", "3 x 4 times 4 x 0", 3, 4, 0),
        ("empty", "nothing at all", 0, 0, 0),
    ):
        yield matmul_case(name, description, matrix(m, k, FLOAT), matrix(k, n, FLOAT))
    # NumPy's own product of these does not end.
    yield Case("huge_inner", "0 x 2^50 times 2^50 x 0",
               {"a": np.empty((0, HUGE), FLOAT), "b": np.empty((HUGE, 0), FLOAT)}, {"c": np.empty((0, 0), FLOAT)})
    yield Case("huge_rows", "2^50 x 0 times 0 x 0",
               {"a": np.empty((HUGE, 0), FLOAT), "b": np.empty((0, 0), FLOAT)}, {"c": np.empty((HUGE, 0), FLOAT)})
    for t in FLOATS:
        # Short tiles on every side: a row or column of the padding times an infinity would be NaN.
        a, b = matrix(11, 7, t), matrix(7, 6, t, 11, 23, 4)
        a[10, 6], a[3, 2], a[5, 0], a[5, 4] = np.nan, np.inf, np.inf, np.inf
        b[6, 5], b[2, 1], b[2, 2] = np.inf, 0, -1
        b[0, :], b[4, :] = 1, [1, -1, 2, -2, 3, -3]
        yield matmul_case("special_values", "NaN, infinities, 0 * infinity, in tiles of 4", a, b, {"tile": 4})
    yield matmul_case("rounded", "a[i, k] = (i + k) / 10: every product is rounded",
                      stored(np.add.outer(np.arange(21), np.arange(53)) / 10, FLOAT),
                      stored(1 - np.subtract.outer(np.arange(53), np.arange(34)) / 1000, FLOAT))
    yield matmul_case("wraps", "products and sums wrap modulo 2^32",
                      np.array([[2**20, 2**30, 3], [INT32_MIN, -1, 2**31 - 1]], INT32),
                      np.array([[2**13 + 1, -5], [5, 2**30 + 1], [7, INT32_MIN]], INT32))
