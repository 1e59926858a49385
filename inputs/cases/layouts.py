"""layouts: the same matrix in memory by rows, by columns, by rows at a pitch, by tiles"""

import numpy as np

from cases.common import ALL, FLOAT, FLOATS, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, uneven


def layouts_case(name, description, a, pitch=32, side=8):
    rows, cols = a.shape
    pitched = np.pad(a, ((0, 0), (0, -cols % pitch)))
    whole = np.pad(a, ((0, -rows % side), (0, -cols % side)))
    tiled = whole.reshape(whole.shape[0] // side, side, whole.shape[1] // side, side).transpose(0, 2, 1, 3)
    expected = {"right": a, "left": np.ascontiguousarray(a.T), "strided": pitched, "tiled": np.ascontiguousarray(tiled)}
    return Case(name + SUFFIX[a.dtype], description, {"a": a}, expected, {"pitch": pitch, "side": side})


def cases():
    for t in ALL:
        yield layouts_case("three_by_four", "0..11 in 3 x 4, a pitch of 5, tiles of 2 x 2",
                           np.arange(12).reshape(3, 4).astype(t), 5, 2)
        yield layouts_case("uneven", "37 x 29, no symmetry", uneven(37 * 29, t).reshape(37, 29))
    for rows, cols in ((1, 1009), (1009, 1), (64, 32)):
        yield layouts_case(f"uneven_{rows}x{cols}", f"{rows} x {cols}, no symmetry",
                           uneven(rows * cols, FLOAT).reshape(rows, cols), 16, 4)
    yield layouts_case("tiles_of_one", "tiles of one element are rows", uneven(35, FLOAT).reshape(5, 7), 1, 1)
    yield layouts_case("no_rows", "0 x 5", np.empty((0, 5), FLOAT))
    yield layouts_case("no_columns", "5 x 0", np.empty((5, 0), FLOAT))
    # Tiles have four dimensions, whose extents have 32 bits in Kokkos 4.
    yield layouts_case("no_rows_huge", "0 x 2^34", np.empty((0, 2**34), FLOAT))
    yield layouts_case("no_columns_huge", "2^34 x 0", np.empty((2**34, 0), FLOAT))
    for t in FLOATS:
        info = np.finfo(t)
        a = [[np.nan, np.inf, -np.inf, -0.0, 0.0], [info.tiny, -info.tiny / 4, info.max, -info.max, -0.5]]
        yield layouts_case("special_values", "NaN, infinities, zeros, denormals", np.array(a, t), 8, 4)
    yield layouts_case("ends", "the ends of int32; 2^24 + 1 is no float",
                       np.array([[INT32_MAX, INT32_MIN, 2**24 + 1]], INT32), 4, 2)
