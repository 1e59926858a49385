"""bias_add: y[row, col] = x[row, col] + bias[col]"""

import numpy as np

from cases.common import ALL, FLOAT, FLOATS, HUGE, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, stored, uneven, wide


def bias_add_case(name, description, x, bias):
    with np.errstate(invalid="ignore", over="ignore"):
        total = stored(wide(x) + wide(bias)[np.newaxis, :], x.dtype)
    return Case(name + SUFFIX[x.dtype], description, {"x": x, "bias": bias}, {"y": total})


def cases():
    for t in ALL:
        yield bias_add_case("puzzle_p20", "P20: 16 rows of 16 outputs, the last step of the linear layer",
                            uneven(16 * 16, t).reshape(16, 16), uneven(16, t, 11, 23, 4))
        yield bias_add_case("uneven", "37 x 29, no symmetry", uneven(37 * 29, t).reshape(37, 29),
                            uneven(29, t, 11, 23, 4))
    # Rows of whole packs, rows that begin anywhere in a pack, packs of several rows, a single row, a single column.
    for rows, cols in ((1, 1009), (1009, 1), (7, 143), (143, 7), (335, 3), (13, 64)):
        yield bias_add_case(f"uneven_{rows}x{cols}", f"{rows} x {cols}, no symmetry",
                            uneven(rows * cols, FLOAT).reshape(rows, cols), uneven(cols, FLOAT, 11, 23, 4))
    yield bias_add_case("no_rows", "0 x 5", np.empty((0, 5), FLOAT), np.arange(5).astype(FLOAT))
    yield bias_add_case("no_columns", "5 x 0", np.empty((5, 0), FLOAT), np.empty(0, FLOAT))
    yield bias_add_case("no_columns_huge", "2^50 x 0", np.empty((HUGE, 0), FLOAT), np.empty(0, FLOAT))
    yield bias_add_case("single", "one element", np.array([[5]], FLOAT), np.array([-7], FLOAT))
    for t in FLOATS:
        info = np.finfo(t)
        x = [[np.nan, np.inf, -np.inf, -0.0, info.tiny], [-info.tiny / 4, info.max, -info.max, 1 + info.eps, -1]]
        yield bias_add_case("special_values", "NaN, infinities, zeros, denormals, overflow, cancellation",
                            np.array(x, t), np.array([1, -np.inf, info.max, -0.0, -info.tiny / 2], t))
    yield bias_add_case("wraps", "int32 wraps modulo 2^32; 2^24 + 1 is no float",
                        np.array([[INT32_MAX, INT32_MIN, 2**24 + 1], [1, -1, 0]], INT32),
                        np.array([1, -1, INT32_MIN], INT32))
