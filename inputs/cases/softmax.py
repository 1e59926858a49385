"""softmax: exp(x - max) / sum exp(x - max) over all elements, each row or each column, as scipy.special.softmax"""

import numpy as np

from cases.common import DOUBLE, FLOAT, FLOATS, HUGE, SUFFIX, Case, stored, uneven, wide

AXES = {"all": None, "rows": 1, "cols": 0}


def softmax(x, axis):
    """As SciPy's, in double: written out, so that no more than NumPy is needed."""
    x = wide(x)
    if x.size == 0:
        return x
    with np.errstate(invalid="ignore", over="ignore"):
        e = np.exp(x - np.max(x, axis=axis, keepdims=True))
        y = e / np.sum(e, axis=axis, keepdims=True)
    sums = np.sum(y, axis=axis)
    assert np.all(np.isnan(sums) | (np.abs(sums - 1) < 1e-12))
    return y


def softmax_case(name, description, x, axis="all"):
    x = np.asarray(x)
    y = stored(softmax(x, AXES[axis] if x.ndim == 2 else None), x.dtype)
    return Case(name + SUFFIX[x.dtype], description, {"x": x}, {"y": y}, {"axis": axis})


def all_axes(name, description, x):
    for axis in AXES:
        yield softmax_case(f"{name}_{axis}", f"{description}; {axis}", x, axis)


def printed_run(t):
    """The book prints the first five of 128 random inputs and of their results. The other inputs are equal here, so
    that the sum, and with it the five results, are the book's."""
    inputs = np.array([1.1810775, 0.60472375, 0.5718309, 0.6644599, -0.08899796])
    results = np.array([0.01718348, 0.00965615, 0.0093437, 0.01025055, 0.0048253])
    others = 128 - inputs.size
    total = np.exp(inputs[0]) / results[0]
    x = np.full(128, np.log((total - np.exp(inputs).sum()) / others))
    x[: inputs.size] = inputs
    case = softmax_case("puzzle_p16_printed", "P16: five inputs with printed results, 123 equal ones", x.astype(t))
    assert np.allclose(case.expected["y"][:5], results, rtol=1e-6)
    return case


def cases():
    for t in FLOATS:
        puzzle = softmax_case("puzzle_p16", "P16: 1 2 3 4 -> 0.0320586 0.08714432 0.2368828 0.6439143",
                              np.array([1, 2, 3, 4], t))
        assert np.allclose(puzzle.expected["y"], [0.0320586, 0.08714432, 0.2368828, 0.6439143], rtol=1e-6)
        yield puzzle
        yield softmax_case("puzzle_p16_128", "P16: the puzzle's 128 elements, 0 1 2 ... 127", np.arange(128, dtype=t))
        yield printed_run(t)
        yield from all_axes("uneven", "31 x 37, no symmetry", uneven(31 * 37, t).reshape(31, 37))
        yield from all_axes("equal", "all equal: 1 / count", np.full((7, 12), -3.25, t))
        yield from all_axes("large", "+-1e4: the maximum must be subtracted",
                            np.array([[1e4, -1e4, 1e4, 0], [-1e4, -1e4, -1e4, -1e4], [9999, 1e4, 9998, -5]], t))
        yield from all_axes("huge", "+-1e30: everything but the maximum is 0",
                            np.array([[1e30, -1e30, 1e30], [-1e30, -1e30, -2e30], [3, -1e30, 4], [5, 6, 1e29]], t))
        inf = np.inf
        minus = uneven(6 * 9, t).reshape(6, 9)
        minus[0, 3], minus[2, :4], minus[5, 8] = -inf, -inf, -inf
        minus[4, 1:], minus[1:, 7] = -inf, -inf
        yield from all_axes("minus_infinity", "-infinity among finite elements gives 0", minus)
        nothing = uneven(5 * 4, t).reshape(5, 4)
        nothing[2, :], nothing[:, 1] = -inf, -inf
        yield from all_axes("nothing", "a row and a column of -infinities are NaN", nothing)
        special = uneven(7 * 10, t).reshape(7, 10)
        special[1, 4], special[2, 0], special[4, 2], special[4, 7] = np.nan, inf, inf, -inf
        special[5, :], special[6, 3] = -inf, np.nan
        special[5, 9] = inf
        yield from all_axes("special_values", "a NaN or +infinity makes its row or column NaN", special)
        tiny = np.finfo(t).smallest_subnormal
        yield from all_axes("denormals", "denormals are as good as 0",
                            (np.arange(35) % 13 - 5).reshape(5, 7).astype(t) * tiny)
        low = 4 * np.log(float(np.finfo(t).tiny)) / 3
        yield from all_axes("underflow", "results around and below the smallest normal number",
                            stored(np.linspace(low, 0, 6 * 23).reshape(6, 23)[:, ::-1], t))
    yield from all_axes("wide", "3 x 1000", uneven(3000, FLOAT).reshape(3, 1000))
    yield from all_axes("tall", "1000 x 3", uneven(3000, FLOAT).reshape(1000, 3))
    yield from all_axes("one_row", "1 x 777", uneven(777, FLOAT).reshape(1, 777))
    yield from all_axes("one_column", "777 x 1", uneven(777, FLOAT).reshape(777, 1))
    yield from all_axes("long_row", "2 x 5003: more than one block", uneven(10006, FLOAT).reshape(2, 5003))
    yield from all_axes("single", "one element: 1", np.array([[-5]], FLOAT))
    yield softmax_case("vector", "a vector of 101 elements is one row", uneven(101, FLOAT))
    yield softmax_case("vector_nothing", "a vector of -infinities", np.full(5, -np.inf, FLOAT))
    yield from all_axes("no_rows", "0 x 5", np.empty((0, 5), FLOAT))
    yield from all_axes("no_columns", "5 x 0", np.empty((5, 0), FLOAT))
    yield from all_axes("no_rows_huge", "0 x 2^50", np.empty((0, HUGE), FLOAT))
    yield from all_axes("no_columns_huge", "2^50 x 0", np.empty((HUGE, 0), FLOAT))
    yield from all_axes("ascending", "every element is a new maximum",
                        stored(np.arange(40 * 13).reshape(40, 13) / 7, DOUBLE))
