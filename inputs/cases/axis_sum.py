"""axis_sum: sums of a matrix along an axis, as numpy.sum(a, axis)"""

import numpy as np

from cases.common import (ALL, DOUBLE, FLOAT, FLOATS, HUGE, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, stored,
                          uneven, wide)


def axis_case(name, description, a, axis=1):
    with np.errstate(invalid="ignore", over="ignore"):
        out = np.sum(wide(a), axis=axis)
    return Case(name + SUFFIX[a.dtype], description, {"a": a}, {"out": stored(out, a.dtype)}, {"axis": axis})


def both_axes(name, description, a):
    for axis in (0, 1):
        yield axis_case(f"{name}_axis{axis}", f"{description}, along axis {axis}", a, axis)


def cases():
    for t in ALL:
        a = np.arange(24).astype(t).reshape(4, 6)
        puzzle = axis_case("puzzle_p13", "P13: 4 x 6, a = 0..23 -> 15 51 87 123", a)
        assert puzzle.expected["out"].tolist() == [15, 51, 87, 123]
        yield puzzle
        columns = axis_case("puzzle_p13_axis0", "4 x 6, a = 0..23, along axis 0 -> 36 40 44 48 52 56", a, 0)
        assert columns.expected["out"].tolist() == [36, 40, 44, 48, 52, 56]
        yield columns
        yield from both_axes("uneven", "31 x 37, no symmetry", uneven(31 * 37, t).reshape(31, 37))
    yield from both_axes("wide", "3 x 1000: whole packs in a row", uneven(3000, FLOAT).reshape(3, 1000))
    yield from both_axes("tall", "1000 x 3: rows shorter than a pack", uneven(3000, FLOAT).reshape(1000, 3))
    yield from both_axes("one_row", "1 x 777", uneven(777, FLOAT).reshape(1, 777))
    yield from both_axes("one_column", "777 x 1", uneven(777, FLOAT).reshape(777, 1))
    yield from both_axes("single", "1 x 1", np.array([[5]], FLOAT))
    yield from both_axes("no_rows", "0 x 5", np.empty((0, 5), FLOAT))
    yield from both_axes("no_columns", "5 x 0", np.empty((5, 0), FLOAT))
    yield from both_axes("empty", "0 x 0", np.empty((0, 0), FLOAT))
    yield axis_case("no_rows_huge", "0 x 2^50, along axis 1", np.empty((0, HUGE), FLOAT), 1)
    yield axis_case("no_columns_huge", "2^50 x 0, along axis 0", np.empty((HUGE, 0), FLOAT), 0)
    for t in FLOATS:
        special = uneven(7 * 9, t).reshape(7, 9)
        special[1, 4] = np.nan
        special[2, 0] = np.inf
        special[3, 8] = -np.inf
        special[4, 2], special[4, 7] = np.inf, -np.inf
        special[5, 7] = -np.inf
        special[6, :] = -0.0
        yield from both_axes("special_values", "NaN, infinities, infinities of opposite sign, -0", special)
        tiny = np.finfo(t).smallest_subnormal
        # Atomics of a GPU may flush denormals: the sum in the corner shows that nothing else is lost.
        small = np.zeros((6, 8), t)
        small[:5, :7] = (np.arange(35) % 13 - 5).reshape(5, 7).astype(t) * tiny
        small[5, 7] = 1.5
        yield from both_axes("denormals", "sums below the normal range are exact, beside one that is not", small)
    yield from both_axes("tenths", "a[i] = i / 10: every sum is rounded", stored(np.arange(23 * 29) / 10,
                                                                                   FLOAT).reshape(23, 29))
    yield from both_axes("cancels", "1e16 and its opposite around small numbers", np.array(
        [[1e16, 1, -1e16, 2], [3, -1e16, 4, 1e16], [-1e16, 5, 1e16, 6]], DOUBLE))
    yield from both_axes("wraps", "sums wrap modulo 2^32", np.array(
        [[INT32_MAX, 1, INT32_MIN], [INT32_MAX, INT32_MAX, 7], [INT32_MIN, INT32_MIN, 2**24 + 1]], INT32))
