"""reduce_by_key: runs of equal neighbouring keys: sums, maxima and minima of their values, lengths, keys"""

import numpy as np

from cases.common import (ALL, DOUBLE, FLOAT, FLOATS, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, stored, uneven,
                          wide)

INT64 = np.dtype("int64")
FOLDS = {"sum": np.add, "max": np.maximum, "min": np.minimum}


def runs_case(name, description, keys, values, mode="reduce", op="sum"):
    """The fields have as many elements as there are keys; those behind the runs are 0 here, and not compared."""
    keys = np.asarray(keys, INT32)
    n = keys.size
    begins = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if n > 0 else np.empty(0, INT64)
    unique = np.zeros(n, INT32)
    unique[: begins.size] = keys[begins]
    sums = np.zeros(n if mode == "reduce" else 0, values.dtype)
    lengths = np.zeros(n if mode == "lengths" else 0, INT32)
    if mode == "reduce" and n > 0:
        with np.errstate(invalid="ignore", over="ignore"):
            sums[: begins.size] = stored(FOLDS[op].reduceat(wide(values), begins), values.dtype)
    if mode == "lengths":
        lengths[: begins.size] = np.diff(np.append(begins, n))
    expected = {"unique_keys": unique, "sums": sums, "lengths": lengths, "count": np.array(begins.size, INT64)}
    return Case(name + SUFFIX[values.dtype], description, {"keys": keys, "values": values}, expected,
                {"mode": mode, "op": op})


def mixed(n):
    """Keys without symmetry: runs of 1 to 13 elements and one of half of them; keys come again."""
    lengths = np.arange(n) * 37 % 13 + 1
    runs = np.repeat(np.arange(lengths.size) * 17 % 23 - 11, lengths)[:n]
    runs[n // 4 : 3 * n // 4] = 100
    return runs


def cases():
    case = runs_case
    for t in ALL:
        small = case("small", "keys 1 1 2 1, values 1 2 3 4 -> 1 2 1, 3 3 4", [1, 1, 2, 1], np.array([1, 2, 3, 4], t))
        assert small.expected["unique_keys"][:3].tolist() == [1, 2, 1]
        assert small.expected["sums"][:3].tolist() == [3, 3, 4]
        yield small
        yield case("mixed", "5003 elements, one run of half of them", mixed(5003), uneven(5003, t))
        for op in ("max", "min"):
            yield case(f"mixed_{op}", f"the same, {op}", mixed(5003), uneven(5003, t), op=op)
        yield case("one_run", "one key", np.full(3001, -7), uneven(3001, t))
        yield case("all_differ", "each key differs from its neighbours", np.arange(1001) % 7, uneven(1001, t))
    t = FLOAT
    yield case("lengths", "run-length encoding of 5003 keys", mixed(5003), uneven(5003, t), mode="lengths")
    yield case("unique", "the keys of 5003", mixed(5003), uneven(5003, t), mode="unique")
    yield case("empty", "no elements, no runs", np.empty(0, INT32), np.empty(0, t))
    yield case("empty_lengths", "no elements, no runs", np.empty(0, INT32), np.empty(0, t), mode="lengths")
    yield case("single", "one element", [5], np.array([2.5], t))
    yield case("last_alone", "the last element is a run", [3] * 1000 + [4], uneven(1001, t))
    yield case("first_alone", "the first element is a run", [3] + [4] * 1000, uneven(1001, t))
    yield case("zeros_first", "the first key is 0", [0, 0, 1, 0], np.array([1, 2, 4, 8], t))
    yield case("edges_of_keys", "the smallest and the largest key", [INT32_MIN] * 3 + [INT32_MAX] * 2 + [INT32_MIN],
               np.array([1, 2, 4, 8, 16, 32], t))
    for t in FLOATS:
        special = uneven(70, t)
        special[[3, 13, 25, 38, 40]] = np.nan, np.inf, -np.inf, np.inf, -np.inf
        special[50:60] = -0.0
        keys = np.repeat(np.arange(7), 10)
        for op in FOLDS:
            yield case(f"special_values_{op}", "NaN, infinities, -0: each stays in its run", keys, special, op=op)
    yield case("tenths", "values i / 10: every sum is rounded", np.repeat([1, 2, 1], [100, 1, 400]),
               stored(np.arange(501) / 10, FLOAT))
    yield case("cancels", "1e16 and its opposite around small numbers", np.repeat([1, 2], 4),
               np.array([1e16, 1, -1e16, 2, 3, -1e16, 4, 1e16], DOUBLE))
    yield case("wraps", "sums wrap modulo 2^32", np.repeat([1, 2, 3], [3, 2, 1]),
               np.array([INT32_MAX, 1, INT32_MIN, INT32_MAX, INT32_MAX, 7], INT32))
