"""sort_segments: the keys of each segment in order, values with their keys, stable"""

import numpy as np

from cases.common import ALL, FLOAT, FLOATS, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, uneven
from cases.segmented_sum import mixed
from cases.sort import INT64, MORE, places, special


def segments_case(name, description, keys, lengths, with_values=False, descending=False):
    offsets = np.concatenate([[0], np.cumsum(np.asarray(lengths, INT64))]).astype(INT64)
    assert offsets[-1] == keys.size
    order = np.empty(keys.size, INT64)
    for begin, end in zip(offsets[:-1], offsets[1:]):
        order[begin:end] = begin + places(keys[begin:end], descending, 0, 0)
    values = np.arange(keys.size if with_values else 0, dtype=INT32)
    expected = {"keys": keys[order], "values": values[order] if with_values else values}
    suffix = {**SUFFIX, **MORE}[keys.dtype]
    return Case(name + suffix, description, {"keys": keys, "values": values, "offsets": offsets}, expected,
                {"descending": descending})


def cases():
    case = segments_case
    for t in ALL:
        small = case("small", "4 | 1 3 2 0 9 | nothing | 8 7 -> 4 | 0 1 2 3 9 | 7 8",
                     np.array([4, 1, 3, 2, 0, 9, 8, 7], t), [1, 5, 0, 2])
        assert small.expected["keys"].tolist() == [4, 0, 1, 2, 3, 9, 7, 8]
        yield small
        lengths = mixed(301)
        keys = uneven(int(lengths.sum()), t)
        yield case("mixed", "301 segments: short ones, empty ones, one of 1500", keys, lengths)
        yield case("pairs", "the same with values", keys, lengths, True)
        yield case("descending", "the same, the largest first", keys, lengths, True, True)
        yield case("one", "all keys in one segment", uneven(3001, t), [3001], True)
    for t in MORE:
        least, most = np.iinfo(t).min, np.iinfo(t).max
        # Neighbours that a double cannot tell apart, both ends, equal keys.
        few = [most, least, most // 2 + 1, most // 2 + 2, 0, 1, most - 1, least + 1, most, most // 2 + 1]
        keys = np.array(few * 5, t)
        yield case("pairs", "keys with values, both ends of the range", keys, [7, 0, 20, 1, 22], True)
        yield case("descending", "the largest first", keys, [7, 0, 20, 1, 22], True, True)
    for t in FLOATS:
        keys = special(t)
        yield case("special", "NaN last in each segment, zeros are equal", keys, [20, 0, 15, 10], True)
        yield case("special_descending", "down: NaN still last", keys, [20, 0, 15, 10], True, True)
    t = INT32
    extremes = np.array([INT32_MAX, INT32_MIN, 0, -1, INT32_MAX, 1, INT32_MIN + 1, INT32_MAX - 1, INT32_MIN], t)
    yield case("extremes", "both ends of the range", extremes, [4, 5], True)
    t = FLOAT
    yield case("ones", "segments of one key", uneven(777, t), [1] * 777)
    yield case("equal", "equal keys keep their order", np.full(600, 2, t), [3, 0] * 200, True)
    yield case("empty_around", "one segment among 2000 empty ones", uneven(1000, t), [0] * 999 + [1000] + [0] * 1001)
    yield case("no_keys", "empty segments of nothing", np.empty(0, t), [0] * 5)
    yield case("no_segments", "no keys, no segments", np.empty(0, t), [])
    yield case("many_tiles", "a segment of 20000 keys in many tiles", uneven(20011, t), [5, 20000, 6], True)
    yield case("reversed", "the reverse order", np.arange(2570, dtype=t)[::-1].copy(), [257] * 10, True)
