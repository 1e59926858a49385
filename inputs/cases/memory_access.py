"""memory_access: copies by strides, permutations, places in scratch; chains of numbers by branches"""

import math

import numpy as np

from cases.common import ALL, FLOAT, FLOATS, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, stored, uneven

TILE = 1024


def permutation(n):
    """(i * a) mod n, a the first number from 0.618034 n on without a divisor in common with n."""
    a = max(1, n * 618034 // 1000000)
    while math.gcd(a, n) > 1:
        a += 1
    return np.arange(n) * a % max(1, n)


def staged(values, spread, rounds):
    """Each tile, taken `rounds` times by place (t s + t s / count) mod count."""
    result = values.copy()
    for begin in range(0, values.size, TILE):
        tile = values[begin:begin + TILE]
        walked = np.arange(tile.size) * spread
        place = (walked + walked // tile.size) % tile.size
        for _ in range(rounds):
            tile = tile[place]
        result[begin:begin + TILE] = tile
    return result


def diverged(n, branch, branches, iterations):
    i = np.arange(n, dtype=np.uint64)
    low = np.uint64(2**32 - 1)
    mixed = i * np.uint64(2654435761) & low
    by_element = ((mixed ^ mixed >> np.uint64(15)) * np.uint64(2246822519) & low) >> np.uint64(16)
    chosen = {
        "lane": i,
        "warp": i // np.uint64(32),
        "element": by_element,
        "first": np.where(i % np.uint64(32) == 0, 0, 1),
        "quads": np.where(i % np.uint64(8) < 4, 0, 1),
        "nested": np.array([0, 1, 0, 2])[by_element % np.uint64(4)],
    }
    mine = chosen[branch].astype(np.uint64) % np.uint64(branches)
    number = i
    for _ in range(iterations):
        number = number * np.uint64(1664525) + np.uint64(2) * mine + np.uint64(1) & low
    return number >> np.uint64(16)


def memory_access_case(name, description, values, spread=32, rounds=3, branch="lane", branches=4, iterations=5):
    t = values.dtype
    index = permutation(values.size)
    scattered = np.empty_like(values)
    scattered[index] = values
    expected = {
        "copied": values,
        "gathered": values[index],
        "scattered": scattered,
        "staged": staged(values, spread, rounds),
        "diverged": stored(diverged(values.size, branch, branches, iterations), t),
    }
    parameters = {"bank-stride": spread, "rounds": rounds, "branch": branch, "branches": branches,
                  "iterations": iterations}
    return Case(name + SUFFIX[t], description, {"in": values}, expected, parameters)


def cases():
    for t in ALL:
        yield memory_access_case("uneven", "no power of two, no symmetry", uneven(2311, t))
        yield memory_access_case("by_element", "three branches by the element, an odd spread", uneven(1500, t), 7, 2,
                                 "element", 3, 20)
    for branch, description in (
        ("first", "lane 0 of 32 has a branch of its own"),
        ("quads", "a branch for four lanes, another for the next four"),
        ("nested", "a random condition in a random condition"),
    ):
        yield memory_access_case(f"by_{branch}", description, uneven(1030, FLOAT), branch=branch)
    yield memory_access_case("same_address", "all lanes want one word", uneven(1100, FLOAT), 0, 1)
    yield memory_access_case("by_warp", "32 branches by the warp", uneven(2050, FLOAT), 1, 4, "warp", 32, 7)
    yield memory_access_case("whole_tiles", "two whole tiles", uneven(2048, FLOAT), 2, 5)
    yield memory_access_case("no_iterations", "branches of nothing", uneven(300, FLOAT), 5, 1, "lane", 2, 0)
    yield memory_access_case("empty", "no elements", np.empty(0, FLOAT))
    yield memory_access_case("single", "one element", np.array([5], FLOAT))
    for t in FLOATS:
        yield memory_access_case("special_values", "NaN, an infinity, a negative zero",
                                 np.array([1, np.nan, 2, np.inf, 3, -0.0], t))
    yield memory_access_case("ends", "the ends of int32; 2^24 + 1 is no float",
                             np.array([INT32_MAX, INT32_MIN, 5, 2**24 + 1, -1], INT32))
