"""transformer_block: a = x + attention(layernorm(x)), y = a + mlp(layernorm(a))"""

import math

import numpy as np

from cases.common import DOUBLE, FLOAT, FLOATS, SUFFIX, Case, stored, wide

FIELDS = ("x", "gamma1", "beta1", "wq", "bq", "wk", "bk", "wv", "bv", "wo", "bo", "gamma2", "beta2", "w1", "b1", "w2",
          "b2")


def layernorm(x, gamma, beta, eps):
    """Around the row's first element: exact where the mean is large and the variance small."""
    d = x - x[..., :1]
    e = d - d.mean(axis=-1, keepdims=True)
    return gamma * (e / np.sqrt((e * e).mean(axis=-1, keepdims=True) + eps)) + beta


def attention(q, k, v, heads, causal):
    batch, tokens, d = q.shape
    q, k, v = (a.reshape(batch, tokens, heads, d // heads).transpose(0, 2, 1, 3) for a in (q, k, v))
    scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(d // heads)
    if causal:
        scores = np.where(np.tri(tokens, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True)) if tokens > 0 else scores
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return (weights @ v).transpose(0, 2, 1, 3).reshape(batch, tokens, d)


def gelu(x):
    """Not the approximation by tanh. 1 + erf as erfc, so that nothing cancels."""
    return x / 2 * np.vectorize(math.erfc, otypes=[float])(-x / math.sqrt(2))


def block(f, heads, causal, eps):
    ln = layernorm(f["x"], f["gamma1"], f["beta1"], eps)
    q, k, v = (ln @ f["w" + name].T + f["b" + name] for name in "qkv")
    a = f["x"] + attention(q, k, v, heads, causal) @ f["wo"].T + f["bo"]
    hidden = gelu(layernorm(a, f["gamma2"], f["beta2"], eps) @ f["w1"].T + f["b1"])
    return a + hidden @ f["w2"].T + f["b2"]


def shapes(batch, tokens, d, d_ff):
    square, row = (d, d), (d,)
    return ((batch, tokens, d), row, row, square, row, square, row, square, row, square, row, row, row, (d_ff, d),
            (d_ff,), (d, d_ff), row)


def block_case(name, description, shape, heads, dtype=FLOAT, seed=42, causal=True, eps=1e-5, change=None):
    """Weights of variance 1 / columns, gammas near 1, small betas and biases."""
    random = np.random.RandomState(seed)
    fields = {}
    for field, extents in zip(FIELDS, shapes(*shape)):
        values = random.uniform(-1, 1, extents)
        if field == "x":
            values = 2 * values + 0.25
        elif field.startswith("gamma"):
            values = 1 + values / 4
        elif field.startswith("w"):
            values = values * np.sqrt(3 / extents[1]) if extents[1] > 0 else values
        else:
            values = values / 4
        fields[field] = stored(values, dtype)
    if change is not None:
        change(fields)
    y = block({field: wide(values) for field, values in fields.items()}, heads, causal, eps)
    return Case(name + SUFFIX[dtype], description, fields, {"y": stored(y, dtype)},
                {"heads": heads, "causal": causal, "eps": eps})


def cases():
    for t in FLOATS:
        yield block_case("uneven", "2 sequences of 19 tokens, 3 heads of 10 columns, 45 hidden units", (2, 19, 30, 45),
                         3, t)
        yield block_case("one_token", "one token sees only itself: attention is its value", (1, 1, 64, 24), 1, t)
    yield block_case("one_head", "a head of 64 columns, 70 tokens: more than a tile of keys", (1, 70, 64, 40), 1)
    yield block_case("two_heads", "3 sequences of 33 tokens, 2 heads of 64 columns", (3, 33, 128, 30), 2, seed=7)
    yield block_case("wide_head", "a head of 128 columns", (1, 21, 128, 20), 1, seed=8)
    yield block_case("not_causal", "all tokens see each other", (2, 23, 24, 96), 4, causal=False)
    yield block_case("one_column", "rows of one element: layernorm gives beta", (2, 5, 1, 4), 1)
    yield block_case("no_hidden_units", "the MLP adds only b2", (1, 6, 8, 0), 2)
    yield block_case("large_eps", "eps = 2", (1, 9, 12, 20), 2, eps=2.0)
    yield block_case("no_sequences", "a batch of none", (0, 5, 8, 32), 2)
    yield block_case("no_tokens", "sequences without tokens", (3, 0, 8, 32), 2)

    def sharpen(fields):
        """Scores of some tens: nearly all of a query's weight is on one key."""
        fields["wq"] *= FLOAT.type(6)

    yield block_case("sharp", "scores so large that one key has nearly all the weight", (1, 40, 32, 64), 2,
                     change=sharpen)

    def flatten(fields):
        """All keys are the bias: a query's weights are equal."""
        fields["wk"][:] = 0

    yield block_case("equal_weights", "keys that are all the same: the mean of the values so far", (1, 50, 32, 64), 2,
                     DOUBLE, change=flatten)

    def enlarge(fields):
        """Values whose sum leaves the range, rows of x whose squares leave it, and products that bring them back."""
        fields["x"] *= FLOAT.type(4e36)
        fields["bv"][:] = FLOAT.type(3e38)
        fields["wo"] *= FLOAT.type(1e-2)

    yield block_case("huge", "sums of values and of squares that leave the range, means that do not",
                     (1, 40, 16, 24), 2, change=enlarge)
