"""transpose: out[col, row] = a[row, col]"""

import numpy as np

from cases.common import (ALL, DOUBLE, FLOAT, FLOATS, HALF, HUGE, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case,
                          bfloat16, uneven)


def transpose_case(name, description, a):
    return Case(name + SUFFIX[a.dtype], description, {"a": a}, {"out": np.ascontiguousarray(a.T)})


def cases():
    # Packs of 8, on both sides and on one.
    yield transpose_case("packs", "64 x 40: rows are whole packs of 8 on both sides",
                         uneven(64 * 40, HALF).reshape(64, 40))
    a = bfloat16(uneven(64 * 33, DOUBLE).reshape(64, 33))
    yield Case("packs_one_side_bfloat16", "64 x 33: rows are whole packs on one side only", {"a": a},
               {"out": np.ascontiguousarray(a.T)}, bfloat16=True)
    for t in ALL:
        small = transpose_case("rectangular", "2 x 3, 0..5 -> 0 3, 1 4, 2 5", np.arange(6).reshape(2, 3).astype(t))
        assert small.expected["out"].tolist() == [[0, 3], [1, 4], [2, 5]]
        yield small
        yield transpose_case("uneven", "37 x 29, no symmetry", uneven(37 * 29, t).reshape(37, 29))
        yield transpose_case("packs_one_side", "64 x 33: rows are whole packs on one side only",
                             uneven(64 * 33, t).reshape(64, 33))
    for rows, cols in ((1, 1009), (1009, 1), (7, 143), (143, 7), (100, 68)):
        yield transpose_case(f"uneven_{rows}x{cols}", f"{rows} x {cols}, no symmetry",
                             uneven(rows * cols, FLOAT).reshape(rows, cols))
    yield transpose_case("no_rows", "0 x 5 -> 5 x 0", np.empty((0, 5), FLOAT))
    yield transpose_case("no_columns", "5 x 0 -> 0 x 5", np.empty((5, 0), FLOAT))
    yield transpose_case("no_rows_huge", "0 x 2^50", np.empty((0, HUGE), FLOAT))
    yield transpose_case("no_columns_huge", "2^50 x 0", np.empty((HUGE, 0), FLOAT))
    yield transpose_case("single", "one element", np.array([[5]], FLOAT))
    for t in (*FLOATS, HALF):
        info = np.finfo(t)
        yield transpose_case("special_values", "NaN, infinities, zeros, denormals are moved as they are",
                             np.array([[np.nan, np.inf, -np.inf, -0.0, 0.0],
                                       [info.tiny, -info.tiny / 4, info.max, -info.max, 1]], t))
    yield transpose_case("extremes", "2^24 + 1 is no float", np.array([[INT32_MAX, INT32_MIN, 2**24 + 1]], INT32))
