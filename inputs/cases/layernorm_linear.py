"""layernorm_linear: y = w (gamma * (x - mean) / sqrt(var + eps) + beta) + bias for each row of x"""

import numpy as np

from cases.common import DOUBLE, FLOAT, FLOATS, SUFFIX, Case, stored, uneven, wide


def layer(x, gamma, beta, w, bias, eps):
    """Row by row, around the row's first element: exact where the mean is large and the variance small."""
    d = x - x[:, :1]
    e = d - d.mean(axis=1, keepdims=True)
    ln = gamma * (e / np.sqrt((e * e).mean(axis=1, keepdims=True) + eps)) + beta
    return ln @ w.T + bias


def layer_case(name, description, x, gamma, beta, w, bias, parameters=None):
    given = {"x": x, "gamma": gamma, "beta": beta, "w": w, "bias": bias}
    parameters = {"eps": 1e-5} | (parameters or {})
    with np.errstate(invalid="ignore", over="ignore"):
        y = layer(*(wide(field) for field in given.values()), parameters["eps"])
    return Case(name + SUFFIX[x.dtype], description, given, {"y": stored(y, x.dtype)}, parameters)


def uneven_case(name, description, rows, hidden, outputs, dtype, parameters=None):
    return layer_case(name, description,
                      uneven(rows * hidden, dtype).reshape(rows, hidden),
                      uneven(hidden, dtype, 7, 19, 3),
                      uneven(hidden, dtype, 5, 17, 9),
                      uneven(outputs * hidden, dtype, 11, 23, 4).reshape(outputs, hidden),
                      uneven(outputs, dtype, 13, 29, 11), parameters)


def cases():
    for t in FLOATS:
        random = np.random.RandomState(42)
        yield layer_case("puzzle_p20", "P20: 16 rows of 8, 16 outputs", *(
            stored(random.randn(*shape), t) for shape in ((16, 8), (8,), (8,), (16, 8), (16,))))
        yield uneven_case("uneven", "no square, no power of two, no symmetry: 19 rows of 37, 23 outputs", 19, 37, 23, t)
        # The variance of such rows is lost in E[x^2] - E[x]^2, and most digits of x - mean in a mean of x itself.
        x = 1000 + 0.01 * np.add.outer(np.arange(5) * 3, np.arange(24))
        yield layer_case("large_mean", "x = 1000 + 0.01 i: a variance 10^7 times smaller than the mean's square",
                         stored(x, t), uneven(24, t, 7, 19, 3), uneven(24, t, 5, 17, 9),
                         uneven(7 * 24, t, 11, 23, 4).reshape(7, 24), uneven(7, t, 13, 29, 11))
        constant = np.repeat(stored([[3], [-1e6], [0], [1e-3]], t), 9, axis=1)
        yield layer_case("constant_rows", "rows without any deviation: y = w beta + bias", constant,
                         uneven(9, t, 7, 19, 3), uneven(9, t, 5, 17, 9), uneven(54, t, 11, 23, 4).reshape(6, 9),
                         uneven(6, t))
        special = uneven(63, t).reshape(7, 9)
        special[1, 4] = np.nan
        special[2, 0] = np.inf
        special[4, 2], special[4, 7] = np.inf, -np.inf
        w = uneven(54, t, 11, 23, 4).reshape(6, 9)
        w[2, 3], w[4, 8] = np.nan, np.inf
        yield layer_case("special_values", "NaN and infinities in x and w", special, np.ones(9, t),
                         stored(np.full(9, 50), t), w, uneven(6, t))
    for name, rows, hidden, outputs in (
        ("one_row", 1, 67, 41),
        ("one_output", 43, 71, 1),
        ("one_column", 17, 1, 5),
        ("two_columns", 9, 2, 6),
        ("long_rows", 3, 1031, 5),
        ("packs", 6, 256, 12),
        ("tall", 261, 5, 2),
        ("edges_of_blocks", 65, 17, 129),
        ("no_rows", 0, 5, 3),
        ("no_outputs", 4, 5, 0),
    ):
        yield uneven_case(name, f"{rows} rows of {hidden}, {outputs} outputs", rows, hidden, outputs, FLOAT)
    yield uneven_case("large_eps", "eps = 2", 11, 13, 7, FLOAT, {"eps": 2.0})
    random = np.random.RandomState(7)
    yield layer_case("transformer", "as a network has them: 48 rows of 96, 64 outputs, weights of 1 / sqrt(H)",
                     stored(random.randn(48, 96) + 0.3, FLOAT), stored(1 + 0.1 * random.randn(96), FLOAT),
                     stored(0.1 * random.randn(96), FLOAT), stored(random.randn(64, 96) / np.sqrt(96), FLOAT),
                     stored(0.1 * random.randn(64), FLOAT))
    # Written out: a power is another number on each processor.
    sizes = np.array([1e-12, 1e-9, 1e-6, 1e-3, 1e0, 1e3, 1e6, 1e9, 1e12])
    yield layer_case("wide_range", "rows from 1e-12 to 1e12", stored(
        sizes[:, None] * random.randn(9, 20), DOUBLE), stored(random.randn(20), DOUBLE),
                     stored(random.randn(20), DOUBLE), stored(random.randn(8, 20), DOUBLE),
                     stored(random.randn(8), DOUBLE))
