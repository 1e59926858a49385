"""prefix_sum: inclusive or exclusive scan"""

import numpy as np

from cases.common import ALL, FLOAT, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, stored, uneven, wide


def rising(n, dtype, sign):
    """Uneven data with a trend: new records (highs for sign 1, lows for -1) come in late tiles too."""
    return stored(wide(uneven(n, dtype)) + sign * np.arange(n) / (1 if dtype == INT32 else 8), dtype)


def scan(values, op, exclusive):
    """One segment. NaN propagates through max and min as through a sum."""
    ufunc = {"sum": np.add, "max": np.maximum, "min": np.minimum}[op]
    with np.errstate(invalid="ignore", over="ignore"):
        inclusive = ufunc.accumulate(values)
    if not exclusive:
        return inclusive
    if values.dtype == np.int64:
        identity = {"sum": 0, "max": INT32_MIN, "min": INT32_MAX}[op]
    else:
        identity = {"sum": 0.0, "max": -np.inf, "min": np.inf}[op]
    return np.concatenate([[identity], inclusive[:-1]]).astype(values.dtype)


def totals_of(values, tile, op="sum"):
    """What the elements of each tile alone combine to."""
    ufunc = {"sum": np.add, "max": np.maximum, "min": np.minimum}[op]
    return np.array([ufunc.reduce(wide(values[i : i + tile])) for i in range(0, values.size, tile)])


def prefix_sum_case(name, description, values, op="sum", exclusive=False, segment=0, tile=0, totals=None):
    length = segment if segment > 0 else max(1, values.size)
    pieces = [scan(wide(values[i : i + length]), op, exclusive) for i in range(0, values.size, length)]
    out = stored(np.concatenate(pieces) if pieces else [], values.dtype)
    parameters = {"op": op, "exclusive": exclusive, "segment": segment, "tile": tile}
    expected = {"out": out}
    if totals is not None:
        parameters["totals"] = True
        expected["totals"] = stored(totals, values.dtype)
    return Case(name + SUFFIX[values.dtype], description, {"in": values}, expected, parameters)


def cases():
    case = prefix_sum_case
    for t in ALL:

        def up_to(n):
            return np.arange(n).astype(t)

        yield case("puzzle_p12", "P12: 0..7 -> 0 1 3 6 10 15 21 28", up_to(8))
        yield case("puzzle_p12_two_tiles", "P12: 0..14, tiles of 8 (totals 28 and 77)", up_to(15), tile=8,
                   totals=[28, 77])
        yield case("puzzle_p24", "P24: in[i] = i + 1, segment 32", up_to(33)[1:], segment=32)
        yield case("three_tiles", "0..23, tiles of 8: all tiles before add up", up_to(24), tile=8)
        yield case("pi", "3 1 4 1 5 9 -> 3 4 8 9 14 23", np.array([3, 1, 4, 1, 5, 9], t))
        yield case("uneven", "no power of two, no symmetry", uneven(1001, t))
        yield case("totals", "1001 elements in tiles of 37, the totals of 28 tiles, the last one short",
                   uneven(1001, t), tile=37, totals=totals_of(uneven(1001, t), 37))
        yield case("exclusive_segments", "segments of 32, each starts from 0, the last one short",
                   uneven(77, t), segment=32, exclusive=True)
        for op, sign in (("max", 1), ("min", -1)):
            yield case(f"exclusive_{op}", f"{op} of all before; the identity first", rising(101, t, sign),
                       op=op, exclusive=True)
    t = FLOAT
    yield case("exclusive", "0..7, exclusive -> 0 0 1 3 6 10 15 21", np.arange(8).astype(t), exclusive=True)
    yield case("exclusive_tiles", "exclusive over tiles of 8", uneven(101, t), exclusive=True, tile=8)
    yield case("tiles", "1001 elements in tiles of 8: many tiles, a short one last", uneven(1001, t), tile=8)
    yield case("segments", "segments of 32, the last one short", uneven(77, t), segment=32)
    yield case("segments_of_3", "segments that divide no tile", uneven(50, t), segment=3, tile=8)
    for op, sign in (("max", 1), ("min", -1)):
        values = rising(101, t, sign)
        yield case(f"running_{op}", f"{op} so far, tiles of 8", values, op=op, tile=8)
        yield case(f"segments_{op}", f"{op} so far in segments of 32", values, op=op, segment=32)
    values = rising(101, t, 1)
    yield case("totals_max", "exclusive max, tiles of 8 with their own maxima", values, op="max", exclusive=True,
               tile=8, totals=totals_of(values, 8, "max"))
    yield case("totals_empty", "no elements, no tiles, no totals", np.empty(0, t), tile=8, totals=[])
    yield case("totals_one_tile", "3 1 4 in a tile of 8, total 8", np.array([3, 1, 4], t), tile=8, totals=[8])
    yield case("empty", "no elements", np.empty(0, t))
    yield case("single", "one element", np.array([5], t))
    yield case("single_exclusive", "one element, exclusive -> 0", np.array([5], t), exclusive=True)
    for op in ("sum", "max", "min"):
        values = uneven(40, t)
        values[13] = np.nan
        yield case(f"nan_{op}", "NaN from its place on, across tiles of 8", values, op=op, tile=8)
        values = uneven(40, t)
        values[13] = np.inf
        values[29] = -np.inf
        yield case(f"infinities_{op}", "+inf, later -inf (their sum is NaN)", values, op=op, tile=8)
    yield case("tenths", "in[i] = i / 10: every sum is rounded", stored(np.arange(777) / 10, t))
    yield case("wraps", "int32 wraps modulo 2^32",
               np.array([INT32_MAX, 1, -5, INT32_MIN, 7, INT32_MAX] * 3, INT32), tile=8)
