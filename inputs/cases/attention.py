"""attention: out[b, :] = softmax(scale * q[b, :] k^T) v"""

import numpy as np

from cases.common import FLOAT, FLOATS, HUGE, SUFFIX, Case, stored, uneven, wide


def attention(q, k, v, scale=1.0):
    """In double. A row of scores that are all -inf, or one of +inf or NaN, gives NaN; no keys give zeros."""
    q, k, v = wide(q), wide(k), wide(v)
    if len(k) == 0:
        return np.zeros(q.shape)
    with np.errstate(invalid="ignore", over="ignore"):
        scores = scale * (q @ k.T)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return (weights / weights.sum(axis=1, keepdims=True)) @ v


def attention_case(name, description, q, k, v, **parameters):
    out = stored(attention(q, k, v, parameters.get("scale", 1.0)), q.dtype)
    return Case(name + SUFFIX[q.dtype], description, {"q": q, "k": k, "v": v}, {"out": out}, parameters)


def matrix(rows, cols, dtype, step, period, divisor=1.0):
    return stored(wide(uneven(rows * cols, dtype, step, period, period // 2)).reshape(rows, cols) / divisor, dtype)


def uneven_case(name, description, queries, keys, dim, dtype, **parameters):
    return attention_case(name, description, matrix(queries, dim, dtype, 37, 101, 4),
                          matrix(keys, dim, dtype, 11, 53, 4), matrix(keys, dim, dtype, 29, 97), **parameters)


def of_seed_42(queries, keys, dim=16):
    """As the book draws them: the legacy generator, q, then k, then v."""
    random = np.random.RandomState(42)
    return [(random.randn(rows, dim) * 0.1).astype(FLOAT) for rows in (queries, keys, keys)]


def cases():
    q, k, v = of_seed_42(1, 16)
    puzzle = attention_case("puzzle_p17", "P17: one query, 16 keys of 16 elements, randn * 0.1 of seed 42", q, k, v)
    out = puzzle.expected["out"]
    assert np.allclose(out[0, :5], [-0.00935538, -0.0243433, 0.00306551, 0.02346884, 0.019306], rtol=0, atol=5e-9)
    assert abs(np.linalg.norm(wide(out)) - 0.092764) < 5e-7
    yield puzzle
    for n in (32, 64):
        yield attention_case(f"puzzle_p17_n{n}", f"P17, longer sequences: one query, {n} keys of 16 elements",
                             *of_seed_42(1, n))
    for queries in (2, 4, 8):
        yield attention_case(f"puzzle_p17_batch{queries}", f"P17, batched: {queries} queries, 16 keys of 16 elements",
                             *of_seed_42(queries, 16))
    for t in FLOATS:
        yield uneven_case("uneven", "7 queries, 53 keys of 19 elements, no symmetry", 7, 53, 19, t, scale=0.25)
        yield uneven_case("packs", "rows of whole packs: 9 queries, 70 keys of 64 elements", 9, 70, 64, t, scale=0.125)
        # The values rise from key to key: without some of the keys the mean would be another one by more than factors
        # of bfloat16 cost. Eight bits hold each value.
        rising = np.floor(np.arange(1500) * (128 / 1500)).reshape(-1, 1) / 8
        yield attention_case("long", "few queries, many keys: 2 queries, 1500 keys of 12 elements",
                             matrix(2, 12, t, 37, 101, 4), matrix(1500, 12, t, 11, 53, 4),
                             stored(wide(matrix(1500, 12, t, 29, 97)) + rising, t))
        yield uneven_case("wide", "rows of 256 elements", 3, 40, 256, t, scale=1 / 16)
        yield uneven_case("negative", "the least similar key counts most", 5, 33, 8, t, scale=-0.5)
        yield uneven_case("zero", "a scale of 0: the mean of the values", 3, 21, 5, t, scale=0.0)
        # One score in 10^4: its key's value alone is the answer.
        q, k = matrix(4, 8, t, 37, 101), matrix(30, 8, t, 11, 53)
        k[17] = 0
        k[17, 3] = 1000
        q[:, 3] = [12, -12, 10, 3]
        yield attention_case("large_scores", "scores up to 12000 and down to -12000", q, k, matrix(30, 8, t, 29, 97))
        # Sums of weighted values leave the dtype's range, their means do not; tiny values beside them must not be lost.
        most = 0.5 * float(np.finfo(t).max)
        q, k = np.zeros((1, 1), t), matrix(2, 1, t, 11, 53)
        yield attention_case("mean_of_huge", "two keys of equal weight, both values half of the largest number", q, k,
                             stored(np.full((2, 1), most), t))
        q, k, v = matrix(9, 5, t, 37, 101, 8), matrix(300, 5, t, 11, 53, 8), wide(matrix(300, 5, t, 29, 97))
        v[:, 0] = most
        v[:, 1] *= most / 8
        v[:, 2] = -most
        v[:, 4] *= 2.0 ** (np.finfo(t).minexp + 10)
        yield attention_case("uneven_huge",
                             "columns near the ends of the range, one with both signs, beside small ones",
                             q, k, stored(v, t), scale=0.25)
        # What is no number: a score of NaN, of +inf, of -inf among others, nothing but -inf; in values, too.
        q, k, v = matrix(5, 3, t, 37, 101), np.abs(matrix(6, 3, t, 11, 53)) + 1, matrix(6, 3, t, 29, 97)
        q[1, 0], q[2, 1], q[3, 2] = np.nan, np.inf, -np.inf
        yield attention_case("not_finite_queries", "scores that are NaN, +inf, and all -inf", q, k, v)
        q, k = np.abs(q[[0, 4]]) + 1, k.copy()
        k[2, 1] = -np.inf
        yield attention_case("excluded_key", "a score of -inf leaves its key out", q, k, v)
        v = v.copy()
        v[1, 0], v[3, 1], v[2, 2] = np.nan, np.inf, np.inf
        yield attention_case("not_finite_values", "NaN and inf in values; inf with the weight 0 of a key left out",
                             q / 64, k, v)
    realistic = np.random.RandomState(7)
    q, k, v = (realistic.randn(n, 64).astype(FLOAT) for n in (24, 200, 200))
    yield attention_case("realistic", "24 queries, 200 keys of 64 normal elements, scale 1 / 8", q, k, v, scale=0.125)
    one = np.array([[3]], FLOAT)
    yield attention_case("single", "one key: its value", one, one, one + 2)
    for name, description, queries, keys, dim in (
        ("no_queries", "0 x 4 queries", 0, 3, 4),
        ("no_keys", "an empty sum is 0: 3 queries, no keys", 3, 0, 4),
        ("no_columns", "rows of 0 elements", 3, 2, 0),
        ("empty", "nothing at all", 0, 0, 0),
    ):
        yield uneven_case(name, description, queries, keys, dim, FLOAT)
    empty = np.empty((HUGE, 0), FLOAT)
    yield Case("no_columns_huge", "2^50 queries, 2 keys, rows of 0 elements",
               {"q": empty, "k": np.empty((2, 0), FLOAT), "v": np.empty((2, 0), FLOAT)}, {"out": empty})
    yield attention_case("no_queries_huge", "neither queries nor keys, rows of 2^50 elements",
                         *(np.empty((0, HUGE), FLOAT) for _ in range(3)))
