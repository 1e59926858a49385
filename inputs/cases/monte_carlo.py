"""monte_carlo: sums, estimate and standard error over points of Philox4x32-10 or shifted Sobol sequences"""

from math import erf, exp, floor, log, log2, sqrt

import numpy as np

from cases.common import DOUBLE, FLOAT, SUFFIX, Case, stored
from cases.random import words

REPLICATES = 32
DEFAULTS = {"spot": 100.0, "strike": 100.0, "rate": 0.05, "volatility": 0.2, "years": 1.0}


def sobol(n):
    """The first n points, times 2^32. Joe and Kuo (2008): m = 1 in the first dimension; in the second m(1) = 1 and m(k)
    = 2 m(k - 1) xor m(k - 1)."""
    index = np.arange(n, dtype=np.uint64)
    gray = index ^ (index >> np.uint64(1))
    x = np.zeros((2, n), np.uint64)
    m = 1
    for k in range(32):
        bit = gray >> np.uint64(k) & np.uint64(1)
        x[0] ^= bit * np.uint64(1 << (31 - k))
        x[1] ^= bit * np.uint64(m << (31 - k))
        m ^= 2 * m
    return x


def check_sobol():
    first = [(0, 0), (4, 4), (6, 2), (2, 6), (3, 3), (7, 7), (5, 1), (1, 5)]  # in eighths
    assert [tuple(int(v) >> 29 for v in point) for point in sobol(8).T] == first


def square(a):
    middle = np.uint64(2) * (a >> np.uint64(2)) + np.uint64(1)
    return middle * middle


def normal(x):
    return (1 + erf(x / sqrt(2))) / 2


def control_factor(s, strike):
    d1 = (-log(strike) + s * s / 2) / s
    payoff = normal(d1) - strike * normal(d1 - s)
    return (exp(s * s) * normal(d1 + s) - strike * normal(d1) - payoff) / (exp(s * s) - 1)


def values_of_pi(x, variates, digits):
    one = 1 << digits
    r = square(x[0]) + square(x[1])
    inside = (r < np.uint64(1 << 62)).astype(np.int64)
    if variates == "antithetic":
        mirrored = square(np.uint64(2**32 - 1) - x[0]) + square(np.uint64(2**32 - 1) - x[1])
        return 2 * one * (inside + (mirrored < np.uint64(1 << 62)))
    if variates == "plain":
        return 4 * one * inside
    less = 62 - digits
    rounded = ((r + np.uint64(1 << (less - 1))) >> np.uint64(less)).astype(np.int64)
    return 4 * one * inside + 3 * rounded - 2 * one


def normals(x, dtype, points):
    """Two per point: Box and Muller's cosine and sine. A random point has the upper end of a cell for u, and 24 bits in
    float. A Sobol point has the middle of a cell of 2^-31, rounded, and the rounded distance from a quarter turn."""
    wide = np.longdouble if dtype == DOUBLE else np.float64
    if points == "sobol":
        u = (x[0] | np.uint64(1)).astype(dtype).astype(wide) * wide(2) ** -32
        turns = x[1].astype(wide) * wide(2) ** -30
        quarter = np.floor(turns + wide(0.5))
        turns = quarter + (turns - quarter).astype(dtype).astype(wide)
    else:
        unused = np.uint64(0 if dtype == DOUBLE else 8)
        cell = wide(2) ** -(32 - int(unused))
        u = ((x[0] >> unused) + np.uint64(1)).astype(wide) * cell
        turns = 4 * (x[1] >> unused).astype(wide) * cell
    r = np.sqrt(-2 * np.log(u))
    angle = 2 * np.arctan(wide(1)) * turns
    return r * np.cos(angle), r * np.sin(angle)


def values_of_call(z, variates, digits, s, strike):
    z = s * z
    price = np.exp(z - s * s / 2)
    value = np.maximum(price - strike, 0)
    if variates == "antithetic":
        value = (value + np.maximum(np.exp(-z - s * s / 2) - strike, 0)) / 2
    elif variates == "control":
        value -= control_factor(s, strike) * (price - 1)
    scaled = value * z.dtype.type(2) ** digits
    return (np.sign(scaled) * np.floor(np.abs(scaled) + z.dtype.type(0.5))).astype(np.int64)


def estimate_case(name, description, n, dtype, quantity, points, variates, seed=42, **market):
    of = DEFAULTS | market
    s = of["volatility"] * sqrt(of["years"])
    strike = of["strike"] / of["spot"] * exp(-of["rate"] * of["years"])
    largest = 8 if quantity == "pi" else 2 * exp(6.7 * s - s * s / 2) + 1
    digits = floor(51 - log2(largest * (n // REPLICATES + 1)))
    if quantity == "call":
        digits = min(digits, floor(31 - log2(largest)))
    sizes = [n // REPLICATES + (r < n % REPLICATES) for r in range(REPLICATES)]
    element = np.arange(2 * max(n, REPLICATES), dtype=np.uint64)
    drawn = words(element, seed % 2**64, 1 if points == "sobol" else 0, 0).reshape(-1, 2).T
    both = np.stack(normals(drawn, dtype, points), axis=1).reshape(-1)  # random points share their coordinates in pairs
    sums = []
    first = 0
    for r, size in enumerate(sizes):
        x = sobol(size) ^ drawn[:, r : r + 1] if points == "sobol" else drawn[:, first : first + size]
        if quantity == "pi":
            value = values_of_pi(x, variates, digits)
        else:
            z = normals(x, dtype, points)[0] if points == "sobol" else both[first : first + size]
            value = values_of_call(z, variates, digits, s, strike)
        sums.append(int(value.sum()))
        first += size
    unit = (1 if quantity == "pi" else of["spot"]) * 2.0**-digits
    mean = sum(sums) / n if n else np.nan
    squares = sum(size / n * (total / size - mean) ** 2 for total, size in zip(sums, sizes) if size) if n else np.nan
    expected = {"sums": np.array(sums, np.int64), "estimate": stored(mean * unit, dtype),
                "standard_error": stored(np.sqrt(squares / (REPLICATES - 1)) * unit, dtype)}  # fmt: skip
    parameters = {"count": n, "dtype": "float" if dtype == FLOAT else "double", "seed": seed, "quantity": quantity,
                  "points": points, "variates": variates, **market}  # fmt: skip
    return Case(name + SUFFIX[dtype], description, {}, expected, parameters)


def cases():
    check_sobol()
    for t in (FLOAT, DOUBLE):
        for variates in ("plain", "antithetic", "control"):
            yield estimate_case(f"call_{variates}", "a European call option", 10007, t, "call", "random", variates)
        yield estimate_case("call_sobol", "shifted Sobol points", 10007, t, "call", "sobol", "plain", seed=7)
        yield estimate_case("call_out_of_the_money", "another market", 1001, t, "call", "random", "antithetic",
                            seed=-1, spot=80.0, strike=95.5, rate=-0.01, volatility=0.35, years=2.5)  # fmt: skip
    yield estimate_case("pi", "two points share a counter", 100003, FLOAT, "pi", "random", "plain")
    yield estimate_case("pi_antithetic", "mirrored points", 10007, FLOAT, "pi", "random", "antithetic", seed=3)
    yield estimate_case("pi_sobol_control", "x^2 + y^2 as control variate", 33333, DOUBLE, "pi", "sobol", "control")
    yield estimate_case("empty", "no points: NaN", 0, FLOAT, "pi", "random", "plain")
    yield estimate_case("few", "fewer points than replicates", 5, FLOAT, "call", "sobol", "plain")
