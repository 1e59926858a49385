"""transformer_block_backward: the gradients of x and all parameters of a transformer block, by the formulas."""

import math

import numpy as np

from cases.common import DOUBLE, FLOAT, SUFFIX, Case, stored, wide
from cases.transformer_block import FIELDS, gelu, layernorm, shapes


def heads_of(rows, heads):
    """[batch, tokens, d] -> [batch, heads, tokens, d_head]."""
    batch, tokens, d = rows.shape
    return rows.reshape(batch, tokens, heads, d // heads).transpose(0, 2, 1, 3)


def rows_of(heads):
    batch, count, tokens, width = heads.shape
    return heads.transpose(0, 2, 1, 3).reshape(batch, tokens, count * width)


def normalised(x, eps):
    one = np.ones(x.shape[-1])
    e = x - x[..., :1]
    e = e - e.mean(axis=-1, keepdims=True)
    return layernorm(x, one, 0, eps), 1 / np.sqrt((e * e).mean(axis=-1, keepdims=True) + eps)


def through_layernorm(g, xhat, inverse):
    """g: the gradient of ln times gamma."""
    return inverse * (g - g.mean(axis=-1, keepdims=True) - xhat * (g * xhat).mean(axis=-1, keepdims=True))


def gradients(f, heads, causal, eps):
    batch, tokens, d = f["x"].shape
    scale = 1 / math.sqrt(d // heads)
    xhat, inverse = normalised(f["x"], eps)
    ln = f["gamma1"] * xhat + f["beta1"]
    q, k, v = (heads_of(ln @ f["w" + name].T + f["b" + name], heads) for name in "qkv")
    scores = q @ k.transpose(0, 1, 3, 2) * scale
    if causal:
        scores = np.where(np.tri(tokens, dtype=bool), scores, -np.inf)
    p = np.exp(scores - scores.max(axis=-1, keepdims=True)) if tokens > 0 else scores
    p = p / p.sum(axis=-1, keepdims=True)
    mean = rows_of(p @ v)
    a = f["x"] + mean @ f["wo"].T + f["bo"]
    xhat2, inverse2 = normalised(a, eps)
    ln2 = f["gamma2"] * xhat2 + f["beta2"]
    h = ln2 @ f["w1"].T + f["b1"]

    result = {}

    def layer(w, b, dc, rows):
        """The gradients of a layer's weights and bias; returns that of its rows."""
        result["d" + w] = np.einsum("bto,bth->oh", dc, rows)
        result["d" + b] = dc.sum(axis=(0, 1))
        return dc @ f[w]

    g = f["grad_y"]
    du = layer("w2", "b2", g, gelu(h))
    integral = np.vectorize(math.erfc, otypes=[float])(-h / math.sqrt(2)) / 2
    dln2 = layer("w1", "b1", du * (integral + h * np.exp(-h * h / 2) / math.sqrt(2 * math.pi)), ln2)
    result["dgamma2"] = (dln2 * xhat2).sum(axis=(0, 1))
    result["dbeta2"] = dln2.sum(axis=(0, 1))
    da = g + through_layernorm(dln2 * f["gamma2"], xhat2, inverse2)
    dmean = heads_of(layer("wo", "bo", da, mean), heads)
    dp = dmean @ v.transpose(0, 1, 3, 2)
    ds = p * (dp - (p * dp).sum(axis=-1, keepdims=True)) * scale
    dln = sum(
        layer("w" + name, "b" + name, rows_of(of_head), ln)
        for name, of_head in (
            ("q", ds @ k),
            ("k", ds.transpose(0, 1, 3, 2) @ q),
            ("v", p.transpose(0, 1, 3, 2) @ dmean),
        )
    )
    result["dgamma1"] = (dln * xhat).sum(axis=(0, 1))
    result["dbeta1"] = dln.sum(axis=(0, 1))
    result["dx"] = da + through_layernorm(dln * f["gamma1"], xhat, inverse)
    return {"d" + name: result["d" + name] for name in FIELDS}


def block_fields(shape, dtype, seed):
    """Weights of variance 1 / columns, gammas near 1, small betas and biases, gradients up to 1."""
    random = np.random.RandomState(seed)
    fields = {}
    for field, extents in zip((*FIELDS, "grad_y"), (*shapes(*shape), shape[:3])):
        values = random.uniform(-1, 1, extents)
        if field == "x":
            values = 2 * values + 0.25
        elif field.startswith("gamma"):
            values = 1 + values / 4
        elif field.startswith("w"):
            values = values * np.sqrt(3 / extents[1]) if extents[1] > 0 else values
        elif field != "grad_y":
            values = values / 4
        fields[field] = stored(values, dtype)
    return fields


def block_case(name, description, shape, heads, dtype=FLOAT, seed=42, causal=True, eps=1e-5):
    fields = block_fields(shape, dtype, seed)
    expected = gradients({field: wide(values) for field, values in fields.items()}, heads, causal, eps)
    return Case(name + SUFFIX[dtype], description, fields, {k: stored(v, dtype) for k, v in expected.items()},
                {"heads": heads, "causal": causal, "eps": eps})


def cases():
    for t in (FLOAT, DOUBLE):
        yield block_case("uneven", "2 sequences of 19 tokens, 3 heads of 6 columns, 25 hidden units", (2, 19, 18, 25),
                         3, t)
    yield block_case("one_token", "one token sees only itself: no gradient of queries and keys", (1, 1, 64, 24), 1)
    yield block_case("two_heads", "70 tokens, more than a tile, and 2 heads of 16 columns", (1, 70, 32, 20), 2, seed=7)
    yield block_case("wide_head", "a head of 72 columns", (1, 21, 72, 8), 1, seed=8)
    yield block_case("not_causal", "all tokens see each other", (2, 23, 24, 30), 4, causal=False)
    yield block_case("one_column", "rows of one element: no gradient goes through a layernorm", (2, 5, 1, 4), 1)
    yield block_case("no_hidden_units", "the MLP adds only b2", (1, 6, 8, 0), 2)
    yield block_case("large_eps", "eps = 2", (1, 9, 12, 20), 2, eps=2.0)
    yield block_case("no_sequences", "a batch of none: all gradients of parameters are 0", (0, 5, 8, 32), 2)
    yield block_case("no_tokens", "sequences without tokens", (3, 0, 8, 32), 2)
