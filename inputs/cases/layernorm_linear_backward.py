"""layernorm_linear_backward: gradients of w (gamma * (x - mean) / sqrt(var + eps) + beta) + bias, given that of y"""

import numpy as np

from cases.common import FLOAT, FLOATS, SUFFIX, Case, stored, uneven, wide


def gradients(x, gamma, beta, w, grad_y, eps):
    d = x - x[:, :1]
    e = d - d.mean(axis=1, keepdims=True)
    inv_std = 1 / np.sqrt((e * e).mean(axis=1, keepdims=True) + eps)
    xhat = e * inv_std
    q = grad_y @ w
    g = q * gamma
    dx = inv_std * (g - g.mean(axis=1, keepdims=True) - xhat * (g * xhat).mean(axis=1, keepdims=True))
    return {"dx": dx, "dgamma": (q * xhat).sum(axis=0), "dbeta": q.sum(axis=0),
            "dw": grad_y.T @ (gamma * xhat + beta), "dbias": grad_y.sum(axis=0)}


def backward_case(name, description, x, gamma, beta, w, grad_y, parameters=None):
    given = {"x": x, "gamma": gamma, "beta": beta, "w": w, "grad_y": grad_y}
    parameters = {"eps": 1e-5} | (parameters or {})
    with np.errstate(invalid="ignore", over="ignore"):
        expected = gradients(*(wide(field) for field in given.values()), parameters["eps"])
    return Case(name + SUFFIX[x.dtype], description, given,
                {field: stored(values, x.dtype) for field, values in expected.items()}, parameters)


def uneven_case(name, description, rows, hidden, outputs, dtype, parameters=None):
    return backward_case(name, description,
                         uneven(rows * hidden, dtype).reshape(rows, hidden),
                         uneven(hidden, dtype, 7, 19, 3),
                         uneven(hidden, dtype, 5, 17, 9),
                         uneven(outputs * hidden, dtype, 11, 23, 4).reshape(outputs, hidden),
                         uneven(rows * outputs, dtype, 13, 29, 11).reshape(rows, outputs), parameters)


def check_gradients():
    """The formulas against differences of the layer itself."""
    random = np.random.RandomState(3)
    fields = {"dx": random.randn(3, 5), "dgamma": random.randn(5), "dbeta": random.randn(5), "dw": random.randn(4, 5)}
    grad_y, bias = random.randn(3, 4), random.randn(4)

    def loss(x, gamma, beta, w, bias):
        e = x - x.mean(axis=1, keepdims=True)
        ln = gamma * e / np.sqrt((e * e).mean(axis=1, keepdims=True) + 1e-5) + beta
        return (grad_y * (ln @ w.T + bias)).sum()

    arguments = [*fields.values(), bias]
    found = gradients(*fields.values(), grad_y, 1e-5)
    for place, name in enumerate((*fields, "dbias")):
        for i in np.ndindex(arguments[place].shape):
            step = np.zeros(arguments[place].shape)
            step[i] = 1e-6
            change = [loss(*(a + sign * step if k == place else a for k, a in enumerate(arguments)))
                      for sign in (1, -1)]
            assert abs((change[0] - change[1]) / 2e-6 - found[name][i]) < 1e-6, (name, i)


def cases():
    check_gradients()
    for t in FLOATS:
        random = np.random.RandomState(42)
        yield backward_case("puzzle_p20", "P20: 16 rows of 8, 16 outputs", *(
            stored(random.randn(*shape), t) for shape in ((16, 8), (8,), (8,), (16, 8), (16, 16))))
        yield uneven_case("uneven", "no square, no power of two, no symmetry: 19 rows of 37, 23 outputs", 19, 37, 23, t)
        x = 1000 + 0.01 * np.add.outer(np.arange(5) * 3, np.arange(24))
        yield backward_case("large_mean", "x = 1000 + 0.01 i: a variance 10^7 times smaller than the mean's square",
                            stored(x, t), uneven(24, t, 7, 19, 3), uneven(24, t, 5, 17, 9),
                            uneven(7 * 24, t, 11, 23, 4).reshape(7, 24), uneven(35, t, 13, 29, 11).reshape(5, 7))
        # The last row has a deviation: without any, gamma's gradient is 0, and nobody could see a part of it missing.
        constant = np.repeat(stored([[3], [-1e6], [0], [1e-3]], t), 9, axis=1)
        yield backward_case("constant_rows", "rows without any deviation, and one that has one",
                            np.concatenate([constant, uneven(9, t).reshape(1, 9)]),
                            uneven(9, t, 7, 19, 3), uneven(9, t, 5, 17, 9), uneven(54, t, 11, 23, 4).reshape(6, 9),
                            uneven(30, t).reshape(5, 6))
        # One row of NaN: all sums of columns are NaN, and all other rows of dx are not.
        special = uneven(63, t).reshape(7, 9)
        special[1, 4] = np.nan
        yield backward_case("nan_row", "a NaN in x", special, uneven(9, t, 7, 19, 3), uneven(9, t, 5, 17, 9),
                            uneven(54, t, 11, 23, 4).reshape(6, 9), uneven(42, t, 13, 29, 11).reshape(7, 6))
        grad_y = uneven(42, t, 13, 29, 11).reshape(7, 6)
        grad_y[2, 3], grad_y[5, 0] = np.inf, np.nan
        yield backward_case("special_gradient", "NaN and infinity in grad_y", uneven(63, t).reshape(7, 9),
                            uneven(9, t, 7, 19, 3), stored(np.full(9, 50), t), uneven(54, t, 11, 23, 4).reshape(6, 9),
                            grad_y)
    for name, rows, hidden, outputs in (
        ("one_row", 1, 67, 41),
        ("one_output", 43, 71, 1),
        ("one_column", 17, 1, 5),
        ("two_columns", 9, 2, 6),
        ("long_rows", 3, 1031, 5),
        ("packs", 6, 256, 12),
        ("tall", 1061, 5, 2),
        ("edges_of_blocks", 65, 17, 129),
        ("no_rows", 0, 5, 3),
        ("no_outputs", 4, 5, 0),
    ):
        yield uneven_case(name, f"{rows} rows of {hidden}, {outputs} outputs", rows, hidden, outputs, FLOAT)
    yield uneven_case("large_eps", "eps = 2", 11, 13, 7, FLOAT, {"eps": 2.0})
    random = np.random.RandomState(7)
    yield backward_case("transformer", "as a network has them: 48 rows of 96, 64 outputs, weights of 1 / sqrt(H)",
                        stored(random.randn(48, 96) + 0.3, FLOAT), stored(1 + 0.1 * random.randn(96), FLOAT),
                        stored(0.1 * random.randn(96), FLOAT), stored(random.randn(64, 96) / np.sqrt(96), FLOAT),
                        stored(0.01 * random.randn(48, 64), FLOAT))
