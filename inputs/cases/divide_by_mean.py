"""divide_by_mean: out[r, c] = a[r, c] / mean of row r"""

import numpy as np

from cases.common import FLOAT, FLOATS, SUFFIX, Case, stored, uneven, wide


def mean_case(name, description, a):
    scaled = np.ldexp(wide(a), -60)  # changes no quotient, and no sum overflows
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        out = scaled / np.mean(scaled, axis=1, keepdims=True) if a.size else a
    return Case(name + SUFFIX[a.dtype], description, {"a": a}, {"out": stored(out, a.dtype)})


def positive(rows, cols, t):
    """Data without symmetry from 1/8 to 101/8: no row's mean is near 0."""
    return uneven(rows * cols, t, shift=-1).reshape(rows, cols)


def cases():
    for t in FLOATS:
        puzzle = mean_case("puzzle_p27", "P27: one row of 128, 1..8 again and again: mean 4.5",
                           (np.arange(128) % 8 + 1).astype(t).reshape(1, 128))
        assert np.array_equal(puzzle.expected["out"][0, :9], ((np.arange(9) % 8 + 1) / 4.5).astype(t))
        yield puzzle
        yield mean_case("uneven", "31 x 37, no symmetry", positive(31, 37, t))
        yield mean_case("signs", "elements and means of both signs", uneven(7 * 29, t).reshape(7, 29))
        yield mean_case("tenths", "a[i] = (i + 1) / 10: sums are rounded",
                        stored((np.arange(23 * 29) + 1) / 10, t).reshape(23, 29))
        info = np.finfo(t)
        yield mean_case("huge", "means that are representable, of sums that are not", np.array(
            [[info.max, info.max / 2, info.max / 4, info.max], [-info.max, -1, -info.max, -info.max / 8]], t))
        special = positive(6, 5, t)
        special[0, 1] = np.nan
        special[1, 2] = np.inf
        special[2, 0], special[2, 4] = np.inf, -np.inf
        special[3, :] = [1, -3, 2, 0, 0]
        special[4, :] = -0.0
        yield mean_case("special_values", "NaN, infinities, means of 0", special)
    t = FLOAT
    yield mean_case("short_rows", "1000 x 3", positive(1000, 3, t))
    yield mean_case("one_column", "77 x 1: every element is its own mean", positive(77, 1, t))
    yield mean_case("long_row", "1 x 5003", positive(1, 5003, t))
    yield mean_case("single", "1 x 1", np.array([[-5]], t))
    yield mean_case("no_rows", "0 x 5", np.empty((0, 5), t))
    yield mean_case("no_columns", "5 x 0: no row has a mean, and none has an element", np.empty((5, 0), t))
