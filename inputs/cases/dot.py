"""dot: out = sum of a[i] * b[i]"""

import numpy as np

from cases.common import ALL, FLOAT, INT32, INT32_MIN, SUFFIX, Case, stored, uneven, wide


def dot_case(name, description, a, b):
    with np.errstate(invalid="ignore"):
        out = np.sum(wide(a) * wide(b))
    return Case(name + SUFFIX[a.dtype], description, {"a": a, "b": b}, {"out": stored(out, a.dtype)})


def cases():
    for t in ALL:
        for name, n, result in (("puzzle_p10", 8, 140), ("puzzle_p22", 32, 10416)):
            a = np.arange(n).astype(t)
            yield dot_case(name, f"{name[-3:].upper()}: a = b = 0..{n - 1} -> {result}", a, a)
        yield dot_case("puzzle_p17", "P17: a query and a key, 1 2 times 1 1 -> 3",
                       np.array([1, 2], t), np.array([1, 1], t))
        a = np.arange(128).astype(t)
        yield dot_case("puzzle_p27", "P27: a = 0..127, b = 2a -> 1381760", a, 2 * a)
        yield dot_case("puzzle_p34", "P34: the sum of 0..1023 -> 523776", np.arange(1024).astype(t), np.ones(1024, t))
        yield dot_case("uneven", "no power of two, no symmetry", uneven(1001, t), uneven(1001, t, 11, 23, 4))
    yield dot_case("empty", "no elements -> 0", np.empty(0, FLOAT), np.empty(0, FLOAT))
    yield dot_case("single", "one element", np.array([5], FLOAT), np.array([-7], FLOAT))
    for k in (1, 4, 32, 256):  # the rest of the sweep (to 65536) is too large to ship: --size generates it
        n = 32 * k
        a, b = np.arange(n) % 13 - 5, np.arange(n) % 7 + 1
        yield dot_case(f"sweep_{k:05}", f"P22 sweep: {k} x 32 elements", a.astype(FLOAT), b.astype(FLOAT))
    a, ones = uneven(40, FLOAT), np.ones(40, FLOAT)
    for name, description, changes in (
        ("nan", "one NaN makes the sum NaN", {33: np.nan}),
        ("infinity", "an infinity remains", {33: np.inf}),
        ("infinities", "two of opposite sign make NaN", {33: np.inf, 7: -np.inf}),
    ):
        changed = a.copy()
        for index, value in changes.items():
            changed[index] = value
        yield dot_case(name, description, changed, ones)
    yield dot_case("tenths", "a[i] = i / 10: every product is rounded", stored(np.arange(777) / 10, FLOAT),
                   stored(1 - np.arange(777) / 1000, FLOAT))
    yield dot_case("wraps", "products and sum wrap modulo 2^32",
                   np.array([2**20, 2**30, 3, INT32_MIN], INT32), np.array([2**13 + 1, 5, 7, 3], INT32))
