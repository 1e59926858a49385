"""broadcast_add: out[row, col] = a[col] + b[row]"""

import numpy as np

from cases.common import ALL, FLOAT, FLOATS, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, stored, uneven, wide


def broadcast_add_case(name, description, a, b, out=None):
    with np.errstate(invalid="ignore", over="ignore"):
        total = stored(wide(a)[np.newaxis, :] + wide(b)[:, np.newaxis], a.dtype)
    if out is not None:
        assert np.array_equal(total, out), (name, total)
    return Case(name + SUFFIX[a.dtype], description, {"a": a, "b": b}, {"out": total})


def cases():
    for t in ALL:
        a = np.array([0, 1]).astype(t)
        yield broadcast_add_case("puzzle_p05", "P5: a = b = [0, 1] -> 0 1 1 2", a, a, [[0, 1], [1, 2]])
        yield broadcast_add_case("puzzle_p05_tens", "P5: a = [0, 1], b = [0, 10] -> 0 1 10 11", a, 10 * a,
                                 [[0, 1], [10, 11]])
        yield broadcast_add_case("puzzle_p05_one_two", "P5: a = [1, 2], b = [0, 10] -> 1 2 11 12", a + a.dtype.type(1),
                                 10 * a, [[1, 2], [11, 12]])
        yield broadcast_add_case("uneven", "37 x 29, no symmetry", uneven(29, t), uneven(37, t, 11, 23, 4))
    yield broadcast_add_case("rectangular", "a = 0..4, b = 0, 10, 20: every element says where it is",
                             np.arange(5).astype(FLOAT), 10 * np.arange(3).astype(FLOAT),
                             [[0, 1, 2, 3, 4], [10, 11, 12, 13, 14], [20, 21, 22, 23, 24]])
    # Rows of whole packs, rows that begin anywhere in a pack, packs of several rows, a single row, a single column.
    for rows, cols in ((1, 1009), (1009, 1), (7, 143), (143, 7), (335, 3), (13, 64)):
        yield broadcast_add_case(f"uneven_{rows}x{cols}", f"{rows} x {cols}, no symmetry", uneven(cols, FLOAT),
                                 uneven(rows, FLOAT, 11, 23, 4))
    yield broadcast_add_case("no_rows", "0 x 5", np.arange(5).astype(FLOAT), np.empty(0, FLOAT))
    yield broadcast_add_case("no_columns", "5 x 0", np.empty(0, FLOAT), np.arange(5).astype(FLOAT))
    yield broadcast_add_case("empty", "0 x 0", np.empty(0, FLOAT), np.empty(0, FLOAT))
    yield broadcast_add_case("single", "one element", np.array([5], FLOAT), np.array([-7], FLOAT), [[-2]])
    for t in FLOATS:
        info = np.finfo(t)
        a = [np.nan, np.inf, -np.inf, -0.0, info.tiny, -info.tiny / 4, info.max, -info.max, 1 + info.eps]
        b = [1, np.nan, np.inf, -np.inf, -0.0, 0.0, info.tiny / 8, info.max, -info.max, -1]
        yield broadcast_add_case("special_values", "NaN, infinities, zeros, denormals, overflow, cancellation",
                                 np.array(a, t), np.array(b, t))
    yield broadcast_add_case("wraps", "int32 wraps modulo 2^32; 2^24 + 1 is no float",
                             np.array([INT32_MAX, INT32_MIN, 2**24 + 1], INT32), np.array([1, -1, 0, INT32_MIN], INT32))
