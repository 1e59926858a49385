"""butterfly: every element gets its segment's maximum (or minimum, by parity), or its partner's value"""

import numpy as np

from cases.common import ALL, FLOAT, FLOATS, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, uneven


def of_segment(x, op):
    if op == "pair_swap":
        partner = np.arange(len(x)) ^ 1
        return x[np.where(partner < len(x), partner, np.arange(len(x)))]
    odd = np.arange(len(x)) % 2 == 1
    return np.where(odd & (op == "minmax_parity"), np.min(x), np.max(x)).astype(x.dtype)


def exchanged(x, op, segment):
    step = segment or max(1, len(x))
    parts = [of_segment(x[i:i + step], op) for i in range(0, len(x), step)]
    return np.concatenate(parts) if parts else x


def butterfly_case(name, description, x, op="max", segment=32, wanted=None):
    out = exchanged(x, op, segment)
    if wanted is not None:
        assert np.array_equal(out, np.asarray(wanted, x.dtype)), name
    return Case(name + SUFFIX[x.dtype], description, {"in": x}, {"out": out}, {"op": op, "segment": segment})


def cases():
    i32 = np.arange(32)
    with_peak = 2 * i32
    with_peak[-1] = 1000
    mixed = np.concatenate([i32 % 10, i32 + 32])
    unsorted = np.concatenate([[3, 1, 7, 2, 9, 4, 8, 5, 6], np.arange(9, 64) % 10])
    for t in ALL:
        yield butterfly_case("puzzle_pair_swap", "P24: 0..31 -> 1 0 3 2 ...", i32.astype(t), "pair_swap",
                             wanted=i32 ^ 1)
        yield butterfly_case("puzzle_max", "P24: 0 2 4 ... with the last 1000 -> all 1000", with_peak.astype(t), "max",
                             wanted=np.full(32, 1000))
        yield butterfly_case("puzzle_minmax_parity", "P24: i mod 10, then i -> 9 0 9 0 ..., 63 32 63 32 ...",
                             mixed.astype(t), "minmax_parity",
                             wanted=np.concatenate([np.tile([9, 0], 16), np.tile([63, 32], 16)]))
        yield butterfly_case("puzzle_minmax_unsorted",
                             "P24: 3 1 7 2 9 4 8 5 6, then i mod 10, in two segments of 32 -> 9 0 9 0 ...",
                             unsorted.astype(t), "minmax_parity", wanted=np.tile([9, 0], 32))
        for op in ("pair_swap", "max", "minmax_parity"):
            yield butterfly_case(f"uneven_{op}", "no symmetry, a short last segment", uneven(1001, t), op)
            for segment in (1, 2, 5, 64, 1000, 1024) if t == FLOAT else (5,):
                yield butterfly_case(f"segment_{segment}_{op}", f"segments of {segment}, the last is short",
                                     uneven(2 * max(segment, 50) + 3, t), op, segment)
            yield butterfly_case(f"whole_{op}", "the whole array is one segment", uneven(1237, t), op, 0)
    for op in ("pair_swap", "max", "minmax_parity"):
        yield butterfly_case(f"single_{op}", "one element", np.array([6], FLOAT), op)
        yield butterfly_case(f"negative_{op}", "negative numbers: no zero from outside of a segment",
                             (-1 - np.arange(77) / 8).astype(FLOAT), op)
        yield butterfly_case(f"positive_{op}", "positive numbers: no zero from outside of a segment",
                             (1 + np.arange(77) / 8).astype(FLOAT), op, 20)
        for sign, name in ((1, "positive"), (-1, "negative")):
            yield butterfly_case(f"{name}_whole_{op}", "nor from outside of the array",
                                 (sign * (1 + np.arange(77) / 8)).astype(FLOAT), op, 0)
        for segment in (32, 0):
            edge = np.array([INT32_MIN, INT32_MAX, 1, -1, 2**24 + 1, 2**24] + 40 * [INT32_MIN] + 7 * [INT32_MAX], INT32)
            name = "edges_" if segment else "edges_whole_"
            yield butterfly_case(name + op, "the largest and the smallest int32", edge, op, segment)
    yield butterfly_case("empty", "no elements", np.empty(0, FLOAT))
    for t in FLOATS:
        x = uneven(330, t)
        for i, value in {3: np.nan, 40: np.inf, 77: -np.inf, 100: np.inf, 101: -np.inf, 329: np.nan}.items():
            x[i] = value
        for op in ("pair_swap", "max", "minmax_parity"):
            for segment in (32, 5, 0):
                name = f"special_values_{segment}_" if segment else "special_values_whole_"
                yield butterfly_case(name + op, "a NaN makes its segment NaN, and no other", x, op, segment)
    yield butterfly_case("minus_infinity", "a maximum of nothing but -inf", np.full(40, -np.inf, FLOAT),
                         "minmax_parity")
