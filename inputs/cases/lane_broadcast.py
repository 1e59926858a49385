"""lane_broadcast: the first elements of a segment decide: x + sum of 4; 2x or x/2; (x + next) * mean of 4"""

import numpy as np

from cases.common import ALL, FLOAT, FLOATS, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, stored, uneven, wide


def of_segment(x, op, dtype):
    """One segment, in wide arithmetic."""
    if op == "conditional":
        m = np.max(x[:8])
        is_large = 2 * x >= m if dtype == INT32 else x >= m / 2
        half = np.trunc(x / 2).astype(x.dtype) if dtype == INT32 else x / 2
        return np.where(is_large, 2 * x, half)
    s = wide(stored(np.sum(x[:4]), dtype)) if dtype == INT32 else np.sum(x[:4])
    if op == "basic":
        return x + s
    s = wide(np.trunc(s / 4).astype(dtype)) if dtype == INT32 else s / 4
    pairs = x + np.append(x[1:], 0)
    return wide(stored(pairs, dtype)) * s if dtype == INT32 else pairs * s


def broadcast(x, op, segment):
    values = wide(x)
    step = segment or max(1, len(x))
    with np.errstate(invalid="ignore", over="ignore"):
        parts = [of_segment(values[i:i + step], op, x.dtype) for i in range(0, len(x), step)]
        return stored(np.concatenate(parts) if parts else values, x.dtype)


def broadcast_case(name, description, x, op="basic", segment=32, wanted=None):
    out = broadcast(x, op, segment)
    if wanted is not None:
        assert np.array_equal(out, stored(wanted, x.dtype)), name
    return Case(name + SUFFIX[x.dtype], description, {"in": x}, {"out": out}, {"op": op, "segment": segment})


def cases():
    for t in ALL:
        yield broadcast_case("puzzle_basic", "P23: in[i] = i + 1 -> i + 11", (np.arange(32) + 1).astype(t),
                             wanted=np.arange(32) + 11)
    for t in FLOATS:
        yield broadcast_case("puzzle_conditional", "P23: [3 1 7 2 9 4 6 8] -> [1.5 .5 14 1 18 2 12 16]",
                             np.tile([3, 1, 7, 2, 9, 4, 6, 8], 4).astype(t), "conditional",
                             wanted=np.tile([1.5, .5, 14, 1, 18, 2, 12, 16], 4))
    for t in ALL:
        yield broadcast_case("puzzle_shuffle", "P23: [2 4 6 8], then [1 3 5 7] seven times -> 30 50 70 45, then "
                             "20 40 60 40 six times, then 20 40 60 35",
                             np.concatenate([[2, 4, 6, 8], np.tile([1, 3, 5, 7], 7)]).astype(t), "shuffle",
                             wanted=np.concatenate([[30, 50, 70, 45], np.tile([20, 40, 60, 40], 6), [20, 40, 60, 35]]))
        for op in ("basic", "conditional", "shuffle"):
            yield broadcast_case(f"uneven_{op}", "no symmetry, a short last segment", uneven(1001, t), op)
            for segment in (1, 2, 5, 64, 1000) if t == FLOAT else (5,):
                yield broadcast_case(f"segment_{segment}_{op}", f"segments of {segment}, the last is short",
                                     uneven(2 * max(segment, 50) + 3, t), op, segment)
            yield broadcast_case(f"whole_{op}", "the whole array is one segment", uneven(1237, t), op, 0)
    for op in ("basic", "conditional", "shuffle"):
        yield broadcast_case(f"single_{op}", "one element", np.array([6], FLOAT), op)
        # Falling and negative: the maximum is neither the last element nor above zero.
        yield broadcast_case(f"negative_{op}", "negative numbers", (-1 - np.arange(77) / 8).astype(FLOAT), op)
    yield broadcast_case("empty", "no elements", np.empty(0, FLOAT))
    for t in FLOATS:
        x = uneven(320, t)
        for i, value in {2: np.nan, 40: np.nan, 64: np.inf, 99: -np.inf, 103: np.inf, 200: np.inf, 291: np.nan}.items():
            x[i] = value
        for op in ("basic", "conditional", "shuffle"):
            yield broadcast_case(f"special_values_{op}", "NaN and infinities inside and outside of the first elements",
                                 x, op)
        odd = np.arange(-40, 40).astype(t) * np.finfo(t).smallest_subnormal
        yield broadcast_case("denormals", "half of an odd denormal is no denormal",
                             np.random.RandomState(1).permutation(odd), "conditional", 5)
    edge = np.array([INT32_MAX, 1, INT32_MIN, -1, INT32_MAX, -7, 2**30, INT32_MIN, -3, 5, -5, 3], INT32)
    for op in ("basic", "conditional", "shuffle"):
        yield broadcast_case(f"wraps_{op}", "int32 wraps modulo 2^32; halves truncate", edge, op, 5)
