"""map_3d: out[plane, row, col] = a[plane, row, col] + c"""

import numpy as np

from cases.common import ALL, FLOAT, FLOATS, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, stored, uneven, wide


def map_3d_case(name, description, a, c):
    with np.errstate(invalid="ignore", over="ignore"):
        total = stored(wide(a) + (int(c) if a.dtype == INT32 else float(c)), a.dtype)
    return Case(name + SUFFIX[a.dtype], description, {"a": a}, {"out": total}, {"c": float(c)})


def cases():
    for t in ALL:
        yield map_3d_case("puzzle_p04", "P4 in three dimensions: 2 x 2 x 2, 0..7, c = 10 -> 10..17",
                          np.arange(8).reshape(2, 2, 2).astype(t), 10)
        yield map_3d_case("uneven", "5 x 11 x 37, no symmetry, c = -3", uneven(5 * 11 * 37, t).reshape(5, 11, 37), -3)
    for planes, rows, cols in ((1, 1, 1009), (1, 1009, 1), (1009, 1, 1), (3, 1, 257), (5, 9, 1)):
        yield map_3d_case(f"uneven_{planes}x{rows}x{cols}", f"{planes} x {rows} x {cols}, no symmetry, c = 0.5",
                          uneven(planes * rows * cols, FLOAT).reshape(planes, rows, cols), 0.5)
    for shape in ((0, 2, 3), (2, 0, 3), (2, 3, 0)):
        yield map_3d_case("empty_" + "x".join(map(str, shape)), "no elements", np.empty(shape, FLOAT), 10)
    for t in FLOATS:
        info = np.finfo(t)
        a = [[[np.nan, np.inf, -np.inf], [-0.0, 0.0, info.tiny]], [[-info.tiny / 4, info.max, -info.max], [-0.5, 1, 2]]]
        yield map_3d_case("special_values", "NaN, infinities, zeros, denormals, c = 0.5", np.array(a, t), 0.5)
    edge = np.array([[[INT32_MAX, INT32_MAX - 10]], [[INT32_MIN, 2**24 + 1]]], INT32)
    yield map_3d_case("wraps", "int32 wraps modulo 2^32; 2^24 + 1 is no float", edge, 10)
