"""segmented_sum: sums of segments given by offsets, as numpy.add.reduceat, but 0 for empty segments"""

import numpy as np

from cases.common import ALL, DOUBLE, FLOAT, FLOATS, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, stored, uneven
from cases.sort import INT64, MORE


def segment_case(name, description, values, lengths):
    offsets = np.concatenate([[0], np.cumsum(np.asarray(lengths, INT64))]).astype(INT64)
    assert offsets[-1] == values.size
    of_sums = values.dtype if values.dtype.kind in "iu" else DOUBLE  # integers wrap
    with np.errstate(invalid="ignore", over="ignore"):
        sums = [np.sum(values[begin:end], dtype=of_sums) for begin, end in zip(offsets[:-1], offsets[1:])]
    out = stored(np.array(sums, of_sums), values.dtype)
    suffix = {**SUFFIX, **MORE}[values.dtype]
    return Case(name + suffix, description, {"in": values, "offsets": offsets}, {"out": out})


def mixed(count):
    """Lengths without symmetry: many short ones, empty ones between, a long one."""
    lengths = np.arange(count, dtype=np.int64) * 37 % 11
    lengths[lengths > 7] = 0
    lengths[count // 3] = 1500
    return lengths


def cases():
    case = segment_case
    for t in ALL:
        digits = np.array([3, 1, 4, 1, 5, 9, 2], t)
        small = case("small", "3 1 | nothing | 4 1 5 9 | 2 -> 4 0 19 2", digits, [2, 0, 4, 1])
        assert small.expected["out"].tolist() == [4, 0, 19, 2]
        yield small
        lengths = mixed(301)
        yield case("mixed", "301 segments: short ones, empty ones, one of 1500", uneven(int(lengths.sum()), t), lengths)
        yield case("one", "all elements in one segment", uneven(3001, t), [3001])
        yield case("equal", "100 segments of 8: ends at multiples of a pack", uneven(800, t), [8] * 100)
    t = FLOAT
    yield case("ones", "segments of one element", uneven(777, t), [1] * 777)
    yield case("empty_around", "one segment among 2000 empty ones", uneven(1000, t), [0] * 999 + [1000] + [0] * 1001)
    yield case("empty_between", "an empty segment behind each of 3", uneven(600, t), [3, 0] * 200)
    yield case("no_elements", "empty segments of nothing", np.empty(0, t), [0] * 5)
    yield case("no_segments", "no elements, no segments", np.empty(0, t), [])
    yield case("two_tiles", "a segment of 20000 elements, longer than a team's tile", uneven(20011, t), [5, 20000, 6])
    for t in FLOATS:
        special = uneven(70, t)
        special[[3, 13, 25, 38, 40]] = np.nan, np.inf, -np.inf, np.inf, -np.inf
        special[50:60] = -0.0
        yield case("special_values", "NaN, infinities, -0: each stays in its segment", special, [10] * 7)
        tiny = np.finfo(t).smallest_subnormal
        small = (np.arange(35) % 13 - 5).astype(t) * tiny
        yield case("denormals", "sums below the normal range are exact", small, [0, 5, 13, 1, 16])
    yield case("tenths", "in[i] = i / 10: every sum is rounded", stored(np.arange(501) / 10, FLOAT), [100, 1, 0, 400])
    yield case("cancels", "1e16 and its opposite around small numbers",
               np.array([1e16, 1, -1e16, 2, 3, -1e16, 4, 1e16], DOUBLE), [4, 0, 4])
    yield case("wraps", "sums wrap modulo 2^32", np.array([INT32_MAX, 1, INT32_MIN, INT32_MAX, INT32_MAX, 7], INT32),
               [3, 2, 1])
    for t in MORE:
        least, most = np.iinfo(t).min, np.iinfo(t).max
        # Neighbours that a double cannot tell apart, carries into the upper half, both ends.
        few = [most // 2 + 1, most // 2 + 2, 2**32 - 1, 1, least, most, most, most, 7]
        values = np.array([x & int(np.iinfo(f"u{t.itemsize}").max) for x in few], f"u{t.itemsize}").view(t)
        yield case("wraps", f"sums wrap modulo 2^{8 * t.itemsize}", values, [1, 0, 1, 2, 3, 2])
        lengths = mixed(301)
        scaled = uneven(int(lengths.sum()), t) * np.array(most // 103, t)
        yield case("mixed", "301 segments: numbers of the whole range, sums wrap", scaled, lengths)
