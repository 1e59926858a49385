"""finite_difference: out[i] = in[i+1] - in[i], last element of each segment 0"""

import numpy as np

from cases.common import ALL, FLOAT, FLOATS, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, stored, uneven, wide


def finite_difference_case(name, description, values, segment=0, tile=0):
    out = np.zeros(values.size, wide(values).dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        out[:-1] = np.diff(wide(values))
    if segment > 0:
        out[segment - 1 :: segment] = 0
    expected = {"out": stored(out, values.dtype)}
    parameters = {"segment": segment, "tile": tile}
    return Case(name + SUFFIX[values.dtype], description, {"in": values}, expected, parameters)


def puzzle(t):
    case = finite_difference_case("puzzle_p23", "P23: in[i] = i * i, W = 32 -> 1 3 5 ... 61 0",
                                  (np.arange(32) ** 2).astype(t), segment=32)
    assert case.expected["out"].tolist() == [2 * i + 1 for i in range(31)] + [0]
    return case


def cases():
    case = finite_difference_case
    for t in ALL:
        yield puzzle(t)
        yield case("uneven", "no power of two, no symmetry, one segment", uneven(1001, t))
        yield case("segments", "segments of 32, the last one short", uneven(77, t), segment=32)
        yield case("segments_of_5", "segments that divide neither packs nor tiles",
                   uneven(333, t), segment=5, tile=8)
    t = FLOAT
    yield case("tiles", "tiles of 8: the last element of each looks at the next tile", uneven(101, t), tile=8)
    yield case("tiles_of_7", "tiles that are not aligned for packs", uneven(101, t), tile=7)
    for segment in (1, 2, 3):
        yield case(f"segments_of_{segment}", f"segments of {segment}, several in a pack",
                   uneven(50, t), segment=segment)
    yield case("segment_longer", "a segment longer than the array", uneven(40, t), segment=1000)
    yield case("segment_of_many_bits", "a segment of more than 32 bits", uneven(40, t), segment=2**40 + 7)
    yield case("last_alone", "the last segment is one element", uneven(65, t), segment=32)
    yield case("empty", "no elements", np.empty(0, t))
    yield case("single", "one element -> 0", np.array([5], t))
    for t in FLOATS:
        info = np.finfo(t)
        values = [1, np.nan, 2, np.inf, np.inf, -np.inf, 3, -0.0, 0.0, info.tiny, -info.tiny / 4, info.max,
                  -info.max, 7]
        yield case("special_values", "NaN, infinities, their differences, denormals, overflow",
                   np.array(values, t))
        yield case("nan_beyond_segments", "NaN where another segment begins: does not reach over",
                   np.where(np.arange(64) % 8 == 0, np.nan, np.arange(64) ** 2).astype(t), segment=8)
    yield case("wraps", "int32 wraps modulo 2^32",
               np.array([INT32_MAX, INT32_MIN, 5, INT32_MIN, INT32_MAX, -7, INT32_MAX], INT32))
