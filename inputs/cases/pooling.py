"""pooling: out[i] = op(a[max(0, i - window + 1)] .. a[i]), op sum, mean or max"""

import numpy as np

from cases.common import ALL, FLOAT, FLOATS, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, stored, uneven, wide


def pooled(a, window, op):
    """Window by window, as the formula says."""
    values = wide(a)
    out = np.empty(len(a), values.dtype)
    fold = {"sum": np.sum, "mean": np.mean, "max": np.max}[op]
    with np.errstate(invalid="ignore", over="ignore"):
        for i in range(len(a)):
            out[i] = fold(values[max(0, i - window + 1):i + 1])
    return stored(out, a.dtype)


def pooling_case(name, description, a, window=3, op="sum", **parameters):
    expected = {"out": pooled(a, window, op)}
    return Case(name + SUFFIX[a.dtype], description, {"a": a}, expected, {"window": window, "op": op, **parameters})


def puzzle_case(name, description, n, wanted, **parameters):
    """The book's numbers, not only NumPy's."""
    def of(dtype):
        case = pooling_case(name, description, np.arange(n).astype(dtype), **parameters)
        for i, value in wanted.items():
            assert case.expected["out"][i] == value, (name, i)
        return case
    return of


def cases():
    p09 = puzzle_case("puzzle_p09", "P9: a = 0..7, window 3 -> 0 1 3 6 9 12 15 18", 8,
                      dict(enumerate([0, 1, 3, 6, 9, 12, 15, 18])))
    p09_tiles = puzzle_case("puzzle_p09_tiles", "P9: a = 0..15 in tiles of 8: out[8] = 21 and out[9] = 24 need the "
                            "tile before", 16, {8: 21, 9: 24}, tile=8)
    for t in ALL:
        yield p09(t)
        yield p09_tiles(t)
        yield pooling_case("tiles",
                           "tiles of 7, which are not aligned for packs, the last one short; a halo longer than a tile",
                           uneven(101, t), 13, "sum", tile=7)
        for op in ("sum", "max") + (("mean",) if t != INT32 else ()):
            yield pooling_case(f"uneven_{op}", "no power of two, no symmetry, window 37", uneven(1001, t), 37, op)
        yield pooling_case("window_1", "a window of one element is a copy", uneven(101, t), 1)
        yield pooling_case("window_over_n", "a window longer than the input: everything up to here",
                           uneven(1001, t), 5000)
    yield pooling_case("empty", "no elements", np.empty(0, FLOAT))
    yield pooling_case("single", "one element", np.array([5], FLOAT))
    yield pooling_case("single_mean", "the mean of the one element that is there", np.array([5], FLOAT), 9, "mean")
    # What has left the window must not remain: running sums that subtract keep a NaN, and lose the small ones.
    for t in FLOATS:
        a = uneven(200, t)
        for i, value in {20: np.nan, 60: np.inf, 62: -np.inf, 100: -np.inf, 140: 1e30}.items():
            a[i] = value
        for op in ("sum", "mean", "max"):
            yield pooling_case(f"special_values_{op}", "NaN and infinities last as long as the window", a, 5, op)
    yield pooling_case("all_low", "a maximum of negative numbers: no zero from outside of the array",
                       -1 - uneven(77, FLOAT)**2, 7, "max")
    yield pooling_case("minus_infinity", "a maximum of nothing but -inf", np.full(40, -np.inf, FLOAT), 6, "max")
    yield pooling_case("tenths", "every sum is rounded", stored(np.arange(777) / 10, FLOAT), 4, "mean")
    edge = np.array([INT32_MAX, 1, INT32_MIN, -1, INT32_MAX, INT32_MAX, 2**24 + 1, INT32_MIN], INT32)
    yield pooling_case("wraps", "int32 sums wrap modulo 2^32", edge)
    yield pooling_case("edges_max", "the largest int32 of each window", edge, 2, "max")
