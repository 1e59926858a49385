"""top_k: the k largest elements of each row with their indices"""

import numpy as np

from cases.common import ALL, FLOAT, FLOATS, SUFFIX, Case, uneven
from cases.sort import INT64, MORE, special


def best(row, k):
    """The order of NumPy's stable sort (NaN last) from its end; of equal elements the lowest index first."""
    upwards = np.argsort(row[::-1], kind="stable")
    return (row.size - 1 - upwards[::-1])[:k]


def top_case(name, description, elements, k):
    matrix = np.atleast_2d(elements)
    indices = np.array([best(row, k) for row in matrix], INT64).reshape(matrix.shape[0], k)
    expected = {"values": np.take_along_axis(matrix, indices, 1), "indices": indices}
    if elements.ndim == 1:
        expected = {field: values[0] for field, values in expected.items()}
    return Case(name + {**SUFFIX, **MORE}[elements.dtype], description, {"in": elements}, expected, {"k": k})


def cases():
    case = top_case
    for t in ALL:
        six = np.array([9, 3, 6, 12, 6, 6], t)
        yield case("six", "k = 3 of 9 3 6 12 6 6 -> 12 9 6 at 3 0 2: the lowest index of the tie", six, 3)
        yield case("largest", "k = 1", uneven(1001, t), 1)
        yield case("some", "k within a tie", uneven(1001, t), 100)
        yield case("all", "k = n: sorted downwards", uneven(777, t), 777)
        yield case("rows", "7 rows of 143, each on its own", uneven(1001, t).reshape(7, 143), 5)
        yield case("equal", "all equal: the first k", np.full(300, 2, t), 17)
    for t in FLOATS:
        elements = special(t)
        yield case("special", "NaN first, then infinity; zeros are equal", elements, 31)
        yield case("special_all", "the same, all of them", elements, elements.size)
        yield case("special_rows", "the same in rows", elements.reshape(5, 9), 4)
    for t in MORE:
        least, most = np.iinfo(t).min, np.iinfo(t).max
        # Neighbours that a double cannot tell apart, both ends, equal elements.
        few = [most, least, most // 2 + 1, most // 2 + 2, 0, 1, most - 1, least + 1, most, most // 2 + 1]
        yield case("some", "both ends of the range", np.array(few * 5, t), 22)
        yield case("rows", "the same in rows", np.array(few * 5, t).reshape(5, 10), 4)
    t = FLOAT
    yield case("none", "k = 0", uneven(33, t), 0)
    yield case("empty", "no elements", np.empty(0, t), 0)
    yield case("no_rows", "no rows", np.empty((0, 5), t), 2)
    yield case("single", "one element", np.array([-1], t), 1)
    yield case("column", "rows of one element", uneven(65, t).reshape(65, 1), 1)
    yield case("rising", "the last ones", np.arange(257, dtype=t), 9)
    yield case("falling", "the first ones", np.arange(257, dtype=t)[::-1].copy(), 9)
