"""zip: out[i] = a[i] + b[i]"""

import numpy as np

from cases.common import (ALL, DOUBLE, FLOAT, FLOATS, HALF, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, bfloat16,
                          stored, uneven, wide)


def zip_case(name, description, a, b, out=None, **parameters):
    with np.errstate(invalid="ignore", over="ignore"):
        total = stored(wide(a) + wide(b), a.dtype)
    if out is not None:
        assert np.array_equal(total, out), (name, total)
    return Case(name + SUFFIX[a.dtype], description, {"a": a, "b": b}, {"out": total}, parameters)


def bfloat16_case(name, description, a, b):
    a, b = bfloat16(a), bfloat16(b)
    return Case(name + "_bfloat16", description, {"a": a, "b": b}, {"out": bfloat16(wide(a) + wide(b))}, bfloat16=True)


def cases():
    tenths = np.arange(777) / 10, 1 - np.arange(777) / 1000
    yield zip_case("tenths", "a[i] = i / 10, b[i] = 1 - i / 1000: sums are rounded", stored(tenths[0], HALF),
                   stored(tenths[1], HALF))
    yield bfloat16_case("tenths", "a[i] = i / 10, b[i] = 1 - i / 1000: sums are rounded", *tenths)
    for t in ALL:
        a = np.arange(4).astype(t)
        yield zip_case("puzzle_p02", "P2: a = b = 0..3 -> 0 2 4 6", a, a, [0, 2, 4, 6])
        i = np.arange(1024)
        yield zip_case("puzzle_p21", "P21: a[i] = 2i, b[i] = 2i + 1 -> 4i + 1, tiles of 32", (2 * i).astype(t),
                       (2 * i + 1).astype(t), 4 * i + 1, tile=32)
        yield zip_case("uneven", "no power of two, no symmetry", uneven(1001, t), uneven(1001, t, 11, 23, 4))
        yield zip_case("tiles", "tiles of 7: they begin within packs, and the last one is short", uneven(101, t),
                       uneven(101, t, 11, 23, 4), tile=7)
    for n, tile in ((16, 4), (128, 16)):  # the third, 2^20 in tiles of 1024, is too large to ship: --sweep generates it
        i = np.arange(n)
        yield zip_case(f"sweep_{n:03}", f"P21's benchmark: {n} elements in tiles of {tile}", (2 * i).astype(FLOAT),
                       (2 * i + 1).astype(FLOAT), 4 * i + 1, tile=tile)
    yield zip_case("empty", "no elements", np.empty(0, FLOAT), np.empty(0, FLOAT))
    yield zip_case("single", "one element", np.array([5], FLOAT), np.array([-7], FLOAT), [-2])
    for t in (*FLOATS, HALF):
        info = np.finfo(t)
        inf = np.inf
        a = [np.nan, 1, inf, inf, -inf, -0.0, -0.0, info.tiny, info.tiny / 4, info.max, info.max, -info.max,
             1 + info.eps]
        b = [1, np.nan, 3, -inf, -inf, -0.0, 0.0, -info.tiny / 2, info.tiny / 8, info.max, -info.max, -info.max, -1]
        yield zip_case("special_values", "NaN, infinities, zeros, denormals, overflow, cancellation", np.array(a, t),
                       np.array(b, t))
    yield zip_case("tenths", "a[i] = i / 10, b[i] = 1 - i / 1000: every sum is rounded",
                   stored(np.arange(777) / 10, FLOAT), stored(1 - np.arange(777) / 1000, FLOAT))
    yield zip_case("wraps", "int32 wraps modulo 2^32; 2^24 + 1 is no float",
                   np.array([INT32_MAX, INT32_MIN, INT32_MIN, -1, 2**24 + 1], INT32),
                   np.array([1, -1, INT32_MIN, INT32_MIN, 0], INT32), [INT32_MIN, INT32_MAX, 0, INT32_MAX, 2**24 + 1])
