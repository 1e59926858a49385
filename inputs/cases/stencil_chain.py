"""stencil_chain: stages one after the other, each a factor times the mean of an element and its neighbours"""

import numpy as np

from cases.common import FLOAT, FLOATS, SUFFIX, Case, stored, uneven


def mean(values, reach):
    """The mean of the elements at most `reach` away, as far as there are any."""
    n = values.size
    out = np.empty(n, values.dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        for i in range(n):
            out[i] = np.mean(values[max(0, i - reach) : min(n, i + reach + 1)])
    return out


def stencil_chain_case(name, description, values, chain="filters", iterations=3, tile=0):
    result = values.astype(np.longdouble)
    if chain == "filters":
        result = mean(mean(result * np.longdouble(values.dtype.type(1.1)), 2), 1)
    else:
        for _ in range(iterations):
            result = mean(result, 1)
    parameters = {"chain": chain, "iterations": iterations, "tile": tile}
    return Case(name + SUFFIX[values.dtype], description, {"in": values}, {"out": stored(result, values.dtype)},
                parameters)


def cases():
    case = stencil_chain_case
    for t in FLOATS:
        i = np.arange(1024)
        yield case("puzzle_p29_filters", "P29: in[i] = i % 10 + i / 100, scaled, blurred and smoothed",
                   stored(i % 10 + i / 100, t))
        yield case("puzzle_p29_averages", "P29: in[i] = 1 for ten elements, 0 for ten; three averages",
                   (i % 20 < 10).astype(t), "averages")
        yield case("uneven", "no power of two, no symmetry", uneven(1001, t))
        yield case("uneven_averages", "no power of two, no symmetry, five averages", uneven(1001, t), "averages", 5)
    t = FLOAT
    yield case("tiles", "tiles of 8 and a halo of 3", uneven(101, t), tile=8)
    yield case("tiles_of_1", "tiles of one element: the halo is larger", uneven(50, t), tile=1)
    yield case("tiles_averages", "tiles of 7, seven averages: the halo is a tile", uneven(101, t), "averages", 7, 7)
    yield case("one_average", "a single stage", uneven(77, t), "averages", 1)
    yield case("most_averages", "64 averages of few elements", uneven(90, t), "averages", 64, 16)
    yield case("empty", "no elements", np.empty(0, t))
    for count, name in ((1, "single"), (2, "pair"), (3, "triple"), (4, "quadruple")):
        yield case(name, f"{count} elements, fewer than a blur takes", uneven(count, t))
    for t in FLOATS:
        info = np.finfo(t)
        values = np.array([1, 2, 3, np.nan] + [4] * 9 + [np.inf] + [7] * 7 + [-np.inf, 5, np.inf] + [9] * 8 +
                          [0.0, -0.0, -0.0, info.tiny, -info.tiny / 4, 3 * info.tiny, 0, 0, 0, 0], t)
        yield case("special_values", "NaN, infinities, their sums, zeros, denormals", values)
        # Sums leave the range, their means do not; also where signs differ.
        huge = np.full(60, 0.8 * float(info.max))
        huge[20:40:3] *= -1
        huge[40:50] = uneven(10, t)
        yield case("huge", "means near the end of the range", stored(huge, t))
        yield case("huge_averages", "the same, seven averages", stored(huge, t), "averages", 7, 16)
