"""map_2d: out[row, col] = a[row, col] + c"""

import numpy as np

from cases.common import ALL, FLOAT, FLOATS, HUGE, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, stored, uneven, wide


def map_2d_case(name, description, a, c, out=None, **parameters):
    with np.errstate(invalid="ignore", over="ignore"):
        total = stored(wide(a) + (int(c) if a.dtype == INT32 else float(c)), a.dtype)
    if out is not None:
        assert np.array_equal(total, out), (name, total)
    return Case(name + SUFFIX[a.dtype], description, {"a": a}, {"out": total}, {"c": float(c), **parameters})


def cases():
    for t in ALL:
        yield map_2d_case("puzzle_p04", "P4: 2 x 2, 0..3, c = 10 -> 10..13", np.arange(4).reshape(2, 2).astype(t), 10,
                          [[10, 11], [12, 13]])
        yield map_2d_case("puzzle_p07", "P7: 5 x 5 in tiles of 3 x 3, 0..24, c = 10 -> 10..34",
                          np.arange(25).reshape(5, 5).astype(t), 10, np.arange(10, 35).reshape(5, 5), tile=3)
        yield map_2d_case("puzzle_p07_ones", "P7: 5 x 5 ones in tiles of 3 x 3, c = 10 -> all 11",
                          np.ones((5, 5), t), 10, np.full((5, 5), 11), tile=3)
        yield map_2d_case("tiles", "37 x 29 in tiles of 5 x 5, the last ones short", uneven(37 * 29, t).reshape(37, 29),
                          -3, tile=5)
        yield map_2d_case("rectangular", "a[i] = i in 3 x 5", np.arange(15).reshape(3, 5).astype(t), 10,
                          np.arange(10, 25).reshape(3, 5))
        yield map_2d_case("uneven", "37 x 29, no symmetry, c = -3", uneven(37 * 29, t).reshape(37, 29), -3)
    for rows, cols in ((1, 1009), (1009, 1), (7, 143), (143, 7)):
        yield map_2d_case(f"uneven_{rows}x{cols}", f"{rows} x {cols}, no symmetry, c = 0.5",
                          uneven(rows * cols, FLOAT).reshape(rows, cols), 0.5)
    yield map_2d_case("no_rows", "0 x 5", np.empty((0, 5), FLOAT), 10)
    yield map_2d_case("no_columns", "5 x 0", np.empty((5, 0), FLOAT), 10)
    yield map_2d_case("no_rows_huge", "0 x 2^50", np.empty((0, HUGE), FLOAT), 10)
    yield map_2d_case("no_columns_huge", "2^50 x 0", np.empty((HUGE, 0), FLOAT), 10)
    yield map_2d_case("single", "one element", np.array([[5]], FLOAT), 10, [[15]])
    for t in FLOATS:
        info = np.finfo(t)
        a = [[np.nan, np.inf, -np.inf, -0.0, 0.0], [info.tiny, -info.tiny / 4, info.max, -info.max, -0.5]]
        yield map_2d_case("special_values", "NaN, infinities, zeros, denormals, c = 0.5", np.array(a, t), 0.5)
    edge = np.array([[INT32_MAX, INT32_MAX - 10, INT32_MAX - 9], [INT32_MIN, -10, 2**24 + 1]], INT32)
    yield map_2d_case("wraps", "int32 wraps modulo 2^32; 2^24 + 1 is no float", edge, 10)
