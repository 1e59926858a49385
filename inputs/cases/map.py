"""map: out[i] = a[i] + c"""

import numpy as np

from cases.common import (ALL, DOUBLE, FLOAT, FLOATS, HALF, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, bfloat16,
                          stored, uneven, wide)


def map_case(name, description, a, c, **parameters):
    c = int(c) if a.dtype == INT32 else float(c)
    with np.errstate(invalid="ignore"):
        out = wide(a) + c
    expected = {"out": stored(out, a.dtype)}
    return Case(name + SUFFIX[a.dtype], description, {"a": a}, expected, {"c": float(c), **parameters})


def bfloat16_case(name, description, a, c):
    a = bfloat16(a)
    with np.errstate(invalid="ignore"):
        out = bfloat16(wide(a) + c)
    return Case(name + "_bfloat16", description, {"a": a}, {"out": out}, {"c": float(c)}, bfloat16=True)


def cases():
    # Numbers of so many bits that every second sum is rounded, and ties are among them.
    yield map_case("uneven", "no power of two, no symmetry, sums are rounded, c = 300", uneven(1001, HALF), 300)
    yield bfloat16_case("uneven", "no power of two, no symmetry, sums are rounded, c = 30", uneven(1001, DOUBLE), 30)
    largest = (2 - 2**-7) * 2.0**127
    yield bfloat16_case("special_values", "NaN, infinities, zeros, denormals, the largest, c = 0.5",
                         [np.nan, np.inf, -np.inf, -0.0, 0.0, 2.0**-126, -(2.0**-133), largest, -largest, 1,
                          0.5 - 2**-9], 0.5)
    for t in ALL:
        yield map_case("puzzle_p01", "P1: a = 0..3, c = 10", np.arange(4).astype(t), 10)
        yield map_case("puzzle_p06", "P6: a = 0..8 in tiles of 4, c = 10", np.arange(9).astype(t), 10, tile=4)
        yield map_case("puzzle_p08", "P8: eight ones in tiles of 4, c = 10", np.ones(8, t), 10, tile=4)
        yield map_case("puzzle_p08_counted", "P8's tiles of 4 of other values: a = 0..7, c = 10",
                       np.arange(8).astype(t), 10, tile=4)
        yield map_case("tiles", "tiles of 7, the last one short", uneven(101, t), -3, tile=7)
        yield map_case("uneven", "no power of two, no symmetry, c = -3", uneven(1001, t), -3)
    yield map_case("empty", "no elements", np.empty(0, FLOAT), 10)
    yield map_case("single", "one element", np.array([5], FLOAT), 10)
    for t in (*FLOATS, HALF):
        info = np.finfo(t)
        a = [np.nan, np.inf, -np.inf, -0.0, 0.0, info.tiny, -info.tiny / 4, info.max, -info.max, 1]
        yield map_case("special_values", "NaN, infinities, zeros, denormals, c = 0.5", np.array(a, t), 0.5)
    edge = np.array([INT32_MAX, INT32_MAX - 10, INT32_MAX - 9, INT32_MIN, -10, 2**24 + 1], INT32)
    yield map_case("wraps", "int32 wraps modulo 2^32; 2^24 + 1 is no float", edge, 10)
