"""moving_average: out[i] = mean of in[i .. i+2], as far as they are in the segment"""

import numpy as np

from cases.common import FLOAT, FLOATS, SUFFIX, Case, stored, uneven, wide


def moving_average_case(name, description, values, segment=0, tile=0):
    length = segment if segment > 0 else max(1, values.size)
    with np.errstate(invalid="ignore", over="ignore"):
        out = [np.mean(wide(values)[i : min(i + 3, (i // length + 1) * length)]) for i in range(values.size)]
    expected = {"out": stored(out, values.dtype)}
    parameters = {"segment": segment, "tile": tile}
    return Case(name + SUFFIX[values.dtype], description, {"in": values}, expected, parameters)


def puzzle(t):
    i = np.arange(64)
    case = moving_average_case("puzzle_p23", "P23: in[i] = (i + 1)(i + 2)/2, W = 32",
                               ((i + 1) * (i + 2) // 2).astype(t), segment=32)
    out = case.expected["out"]
    assert out[0] == t.type(10 / 3) and abs(out[32] - 595.3333) < 1e-3
    assert [out[k] for k in (30, 31, 62, 63)] == [512, 528, 2048, 2080]
    return case


def cases():
    case = moving_average_case
    for t in FLOATS:
        yield puzzle(t)
        yield case("uneven", "no power of two, no symmetry, one segment", uneven(1001, t))
        yield case("segments", "segments of 32, the last one short", uneven(77, t), segment=32)
        yield case("segments_of_5", "segments that divide neither packs nor tiles",
                   uneven(333, t), segment=5, tile=8)
        yield case("tenths", "in[i] = i / 10: everything is rounded", stored(np.arange(777) / 10, t))
    t = FLOAT
    yield case("tiles", "tiles of 8: the last two elements of each look at the next tile", uneven(101, t), tile=8)
    yield case("tiles_of_1", "tiles of one element: the halo is larger", uneven(50, t), tile=1)
    yield case("tiles_of_7", "tiles that are not aligned for packs", uneven(101, t), tile=7)
    for segment in (1, 2, 3, 4):
        yield case(f"segments_of_{segment}", f"segments of {segment}, several in a pack",
                   uneven(50, t), segment=segment)
    yield case("segment_longer", "a segment longer than the array", uneven(40, t), segment=1000)
    yield case("segment_of_many_bits", "a segment of more than 32 bits", uneven(40, t), segment=2**40 + 7)
    for count, name in ((1, "one"), (2, "two")):
        yield case(f"last_{name}_alone", f"the last segment is of {name}", uneven(64 + count, t), segment=32)
    yield case("empty", "no elements", np.empty(0, t))
    yield case("single", "one element: its own mean", np.array([5], t))
    yield case("pair", "two elements", np.array([5, -2], t))
    for t in FLOATS:
        info = np.finfo(t)
        values = [1, 2, 3, np.nan, 4, 5, 6, np.inf, 7, 8, -np.inf, np.inf, 9, 0.0, -0.0, -0.0, info.tiny,
                  -info.tiny / 4, 3 * info.tiny, 11]
        yield case("special_values", "NaN, infinities, their sums, zeros, denormals", np.array(values, t))
        yield case("nan_beyond_segments", "NaN where another segment begins: does not reach over",
                   np.where(np.arange(64) % 8 == 0, np.nan, np.arange(64) ** 2).astype(t), segment=8)
