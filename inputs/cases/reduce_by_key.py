"""reduce_by_key: runs of equal neighbouring keys: sums, maxima and minima of their values, lengths, keys"""

import numpy as np

from cases.common import (ALL, DOUBLE, FLOAT, FLOATS, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, stored, uneven,
                          wide)
from cases.sort import INT64, MORE, UINT32

FOLDS = {"sum": np.add, "max": np.maximum, "min": np.minimum}


def runs_case(name, description, keys, values, mode="reduce", op="sum", of_keys=None):
    """The fields have as many elements as there are keys; those behind the runs are 0 here, and not compared.
    `of_keys`: the dtype of the keys, if it is not that of the values."""
    keys = np.asarray(keys, of_keys or values.dtype)
    n = keys.size
    begins = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if n > 0 else np.empty(0, INT64)
    unique = np.zeros(n, keys.dtype)
    unique[: begins.size] = keys[begins]
    sums = np.zeros(n if mode == "reduce" else 0, values.dtype)
    lengths = np.zeros(n if mode == "lengths" else 0, INT32)
    if mode == "reduce" and n > 0:
        with np.errstate(invalid="ignore", over="ignore"):
            sums[: begins.size] = stored(FOLDS[op].reduceat(wide(values), begins), values.dtype)
    if mode == "lengths":
        lengths[: begins.size] = np.diff(np.append(begins, n))
    expected = {"unique_keys": unique, "sums": sums, "lengths": lengths, "count": np.array(begins.size, INT64)}
    return Case(name + {**SUFFIX, **MORE}[keys.dtype], description, {"keys": keys, "values": values}, expected,
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
    for t in FLOATS:
        special = uneven(70, t)
        special[[3, 13, 25, 38, 40]] = np.nan, np.inf, -np.inf, np.inf, -np.inf
        special[50:60] = -0.0
        keys = np.repeat(np.arange(7), 10)
        for op in FOLDS:
            yield case(f"special_values_{op}", "NaN, infinities, -0: each stays in its run", keys, special, op=op)
        # Zeros of both signs are equal, and the first one is the run's key. NumPy: NaN != NaN.
        few = [0.0, -0.0, 0.0, np.inf, np.inf, -np.inf, -0.0, -0.0, 0.0, np.nan, np.nan, 1, np.nan, 0.0, -1, -1]
        for mode in ("reduce", "lengths", "unique"):
            yield case(f"special_keys_{mode}", "keys: zeros are equal, each NaN is a run", stored(few * 7, t),
                       uneven(112, t), mode=mode)
    for t in (INT32, *MORE):
        least, most = np.iinfo(t).min, np.iinfo(t).max
        # Neighbours differ in one bit: the highest, the lowest, one in the middle; a double cannot tell some apart.
        runs = [least, most, most - 1, most // 2, most, most ^ (1 << 16), most, least, least + 1]
        keys = np.repeat(np.array(runs * 3, t), np.arange(27) % 5 + 1)
        values = uneven(keys.size, INT32 if t == INT32 else FLOAT if t == UINT32 else DOUBLE)
        yield case("edges_of_keys", "keys that differ in one bit, both ends of the range", keys, values, of_keys=t)
        yield case("edges_of_keys_lengths", "the lengths of the same runs", keys, values, mode="lengths", of_keys=t)
        wider = mixed(5003).astype(t) << np.array(8 * t.itemsize - 16, t)
        yield case("mixed_keys", "5003 keys that differ in their upper bits, one run of half of them", wider,
                   uneven(5003, values.dtype), op="max", of_keys=t)
    yield case("tenths", "values i / 10: every sum is rounded", np.repeat([1, 2, 1], [100, 1, 400]),
               stored(np.arange(501) / 10, FLOAT))
    yield case("cancels", "1e16 and its opposite around small numbers", np.repeat([1, 2], 4),
               np.array([1e16, 1, -1e16, 2, 3, -1e16, 4, 1e16], DOUBLE))
    yield case("wraps", "sums wrap modulo 2^32", np.repeat([1, 2, 3], [3, 2, 1]),
               np.array([INT32_MAX, 1, INT32_MIN, INT32_MAX, INT32_MAX, 7], INT32))
