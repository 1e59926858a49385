"""roofline: copy, triad, sum, chains of multiply-adds, one launch"""

import numpy as np

from cases.common import ALL, FLOAT, FLOATS, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, stored, uneven, wide


def roofline_case(name, description, a, b, s=0.5, iterations=100):
    t = a.dtype
    factor = int(s) if t == INT32 else t.type(s)
    with np.errstate(invalid="ignore", over="ignore"):
        triad = wide(a) + wide(b) * (np.int64(factor) if t == INT32 else np.float64(factor))
        total = np.sum(wide(a))
    expected = {
        "copied": a,
        "triad": stored(triad, t),
        "sum": stored(total, t),
        "chains": stored(np.arange(a.size) % 256 + iterations, t),
        "launched": stored(1, t),
        "written": stored(np.arange(a.size) % 256, t),
    }
    return Case(name + SUFFIX[t], description, {"a": a, "b": b}, expected, {"s": float(s), "iterations": iterations})


def cases():
    for t in ALL:
        yield roofline_case("uneven", "no power of two, no symmetry", uneven(1001, t), uneven(1001, t, 11, 23, 4))
        yield roofline_case("negative_factor", "s = -3", uneven(77, t), uneven(77, t, 11, 23, 4), -3, 1)
    yield roofline_case("empty", "no elements", np.empty(0, FLOAT), np.empty(0, FLOAT))
    yield roofline_case("single", "one element", np.array([5], FLOAT), np.array([-7], FLOAT))
    yield roofline_case("no_iterations", "chains of nothing", uneven(300, FLOAT), uneven(300, FLOAT), 0.5, 0)
    for t in FLOATS:
        a = np.array([1, np.nan, 2, np.inf, 3, -0.0], t)
        yield roofline_case("special_values", "NaN, an infinity, a negative zero", a, uneven(6, t))
    wraps = np.array([INT32_MAX, INT32_MIN, 5, INT32_MAX], INT32)
    yield roofline_case("wraps", "sum and triad wrap modulo 2^32", wraps, wraps[::-1].copy(), 3)
