"""conv1d: out[i] = sum over j of a[i + j] * k[j], as far as i + j < n"""

import numpy as np

from cases.common import ALL, FLOAT, FLOATS, INT32, INT32_MIN, SUFFIX, Case, stored, uneven, wide


def correlated(a, k):
    """Output by output, as the formula says; what lies past the end is left out and not multiplied by zero."""
    x, y = wide(a), wide(k)
    out = np.empty(len(a), x.dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        for i in range(len(a)):
            count = min(len(k), len(a) - i)
            out[i] = np.sum(x[i:i + count] * y[:count])
    return stored(out, a.dtype)


def conv1d_case(name, description, a, k, **parameters):
    return Case(name + SUFFIX[a.dtype], description, {"a": a, "k": k}, {"out": correlated(a, k)}, parameters)


def puzzle_case(name, description, n, taps, wanted, **parameters):
    """The book's numbers, not only NumPy's."""
    def of(dtype):
        a, k = np.arange(n).astype(dtype), np.arange(taps).astype(dtype)
        case = conv1d_case(name, description, a, k, **parameters)
        assert case.expected["out"].tolist() == wanted, name
        return case
    return of


def cases():
    simple = puzzle_case("puzzle_p11_simple", "P11: n = 6, K = 3, a[i] = i, k[j] = j", 6, 3, [5, 8, 11, 14, 5, 0])
    block = puzzle_case("puzzle_p11_block", "P11: n = 15, K = 4, tiles of 8: the last three outputs of the first tile "
                        "need the second", 15, 4, [14, 20, 26, 32, 38, 44, 50, 56, 62, 68, 74, 80, 41, 14, 0], tile=8)
    for t in ALL:
        yield simple(t)
        yield block(t)
        yield conv1d_case("tiles",
                          "tiles of 7, which are not aligned for packs, the last one short; a halo longer than a tile",
                          uneven(101, t), uneven(13, t, 11, 23, 4), tile=7)
        for taps in (1, 5, 64):
            yield conv1d_case(f"uneven_k{taps:02}", f"no power of two, no symmetry, K = {taps}", uneven(1001, t),
                              uneven(taps, t, 11, 23, 4))
        yield conv1d_case("kernel_over_n", "a kernel longer than the input", uneven(201, t), uneven(300, t, 11, 23, 4))
    yield conv1d_case("kernel_k300", "K = 300, longer than most tiles", uneven(1501, FLOAT),
                      uneven(300, FLOAT, 11, 23, 4))
    yield conv1d_case("empty", "no elements", np.empty(0, FLOAT), np.arange(4).astype(FLOAT))
    yield conv1d_case("single", "one element: the other taps meet nothing", np.array([5], FLOAT),
                      np.array([-7, 3, 2], FLOAT))
    for t in FLOATS:
        a = uneven(200, t)
        for i, value in {20: np.nan, 60: np.inf, 63: -np.inf}.items():
            a[i] = value
        yield conv1d_case("special_values", "NaN and infinities, in the windows that hold them", a,
                          uneven(5, t, 11, 23, 4))
        k = uneven(5, t, 11, 23, 4)
        k[3], k[4] = np.inf, np.nan
        yield conv1d_case("special_kernel", "taps past the end contribute nothing, infinite ones neither",
                          uneven(70, t), k)
    yield conv1d_case("tenths", "every product is rounded", stored(np.arange(777) / 10, FLOAT),
                      stored(1 - np.arange(9) / 10, FLOAT))
    yield conv1d_case("wraps", "products and sums wrap modulo 2^32",
                      np.array([2**20, 2**30, 3, INT32_MIN, -5, 2**31 - 1], INT32), np.array([2**13 + 1, 5, 7], INT32))
