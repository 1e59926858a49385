"""layernorm: y = gamma * (x - mean) / sqrt(var + eps) + beta for each row of x"""

import numpy as np

from cases.common import DOUBLE, FLOAT, FLOATS, SUFFIX, Case, stored, uneven, wide


def normalised(x, gamma, beta, eps):
    """Row by row, around the row's first element: exact where the mean is large and the variance small."""
    d = x - x[:, :1]
    e = d - d.mean(axis=1, keepdims=True)
    return gamma * (e / np.sqrt((e * e).mean(axis=1, keepdims=True) + eps)) + beta


def layernorm_case(name, description, x, gamma, beta, parameters=None):
    given = {"x": x, "gamma": gamma, "beta": beta}
    parameters = {"eps": 1e-5} | (parameters or {})
    with np.errstate(invalid="ignore", over="ignore"):
        y = normalised(*(wide(field) for field in given.values()), parameters["eps"])
    return Case(name + SUFFIX[x.dtype], description, given, {"y": stored(y, x.dtype)}, parameters)


def uneven_case(name, description, rows, hidden, dtype, parameters=None):
    return layernorm_case(name, description,
                          uneven(rows * hidden, dtype).reshape(rows, hidden),
                          uneven(hidden, dtype, 7, 19, 3),
                          uneven(hidden, dtype, 5, 17, 9), parameters)


def worked_example(dtype):
    """P20 multiplies the normalised elements 0.5, -0.3, 0.7 by gamma 1.2, 0.8, 1.5. No row of three has these: here two
    more give the row a mean of 0, and a variance that is 1 with eps, so that x is its own xhat;
    and the row is moved by 3."""
    eps = 1e-5
    shown = np.array([0.5, -0.3, 0.7])
    total, squares = -shown.sum(), 5 * (1 - eps) - (shown * shown).sum()
    root = np.sqrt(2 * squares - total * total)
    x = np.concatenate([shown, [(total + root) / 2, (total - root) / 2]])
    case = layernorm_case("puzzle_p20", "P20: xhat 0.5, -0.3, 0.7 (and two more), gamma 1.2, 0.8, 1.5 -> "
                          "0.6, -0.24, 1.05", stored([3 + x], dtype), stored([1.2, 0.8, 1.5, 1, -2], dtype),
                          stored(np.zeros(5), dtype))
    assert np.allclose(case.expected["y"][0, :3], [0.6, -0.24, 1.05], rtol=0, atol=1e-6)
    return case


def cases():
    for t in FLOATS:
        yield worked_example(t)
        random = np.random.RandomState(42)
        yield layernorm_case("puzzle_p20_rows", "P20: 16 rows of 8", *(
            stored(random.randn(*shape), t) for shape in ((16, 8), (8,), (8,))))
        yield uneven_case("uneven", "no square, no power of two, no symmetry: 19 rows of 37", 19, 37, t)
        # The variance of such rows is lost in E[x^2] - E[x]^2, and most digits of x - mean in a mean of x itself.
        x = 1000 + 0.01 * np.add.outer(np.arange(5) * 3, np.arange(24))
        yield layernorm_case("large_mean", "x = 1000 + 0.01 i: a variance 10^7 times smaller than the mean's square",
                             stored(x, t), uneven(24, t, 7, 19, 3), uneven(24, t, 5, 17, 9))
        constant = np.repeat(stored([[3], [-1e6], [0], [1e-3]], t), 9, axis=1)
        yield layernorm_case("constant_rows", "rows without any deviation: y = beta", constant,
                             uneven(9, t, 7, 19, 3), uneven(9, t, 5, 17, 9))
        special = uneven(63, t).reshape(7, 9)
        special[1, 4] = np.nan
        special[2, 0] = np.inf
        special[4, 2], special[4, 7] = np.inf, -np.inf
        gamma = uneven(9, t, 7, 19, 3)
        gamma[5] = np.nan
        beta = uneven(9, t, 5, 17, 9)
        beta[2] = -np.inf
        yield layernorm_case("special_values", "NaN and infinities in x, gamma and beta", special, gamma, beta)
    for name, rows, hidden in (
        ("one_row", 1, 67),
        ("one_column", 17, 1),
        ("two_columns", 9, 2),
        ("a_warp", 5, 32),
        ("long_rows", 3, 1031),
        ("packs", 6, 256),
        ("tall", 261, 5),
        ("no_rows", 0, 5),
    ):
        yield uneven_case(name, f"{rows} rows of {hidden}", rows, hidden, FLOAT)
    yield uneven_case("large_eps", "eps = 2", 11, 13, FLOAT, {"eps": 2.0})
    random = np.random.RandomState(7)
    wide_range = np.array([[10.0**k] for k in range(-12, 13, 3)]) * random.randn(9, 20)
    yield layernorm_case("wide_range", "rows from 1e-12 to 1e12", stored(wide_range, DOUBLE),
                         stored(random.randn(20), DOUBLE), stored(random.randn(20), DOUBLE))
