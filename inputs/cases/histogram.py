"""histogram: counts in equal bins of [lo, hi), and of what lies outside"""

import numpy as np

from cases.common import ALL, DOUBLE, FLOAT, FLOATS, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, stored, uneven


def histogram_case(name, description, values, bins, lo, hi, numpy_agrees=True):
    """Counts by NumPy. It puts an element beside a bin's edge where it compares with the edges; the mini-app puts it
    where the multiplication says: cases are such that both say the same, unless `numpy_agrees` is False."""
    t = values.dtype
    if t == INT32:
        inside = values[(values >= lo) & (values < hi)].astype(np.int64)
        bin_of = (inside - int(lo)) * bins // (int(hi) - int(lo))
    else:
        inside = values[(values >= t.type(lo)) & (values < t.type(hi))]
        scale = t.type(bins) / (t.type(hi) - t.type(lo))
        bin_of = np.minimum(((inside - t.type(lo)) * scale).astype(np.int64), bins - 1)
    counts = np.bincount(bin_of, minlength=bins).astype(np.int64)
    if numpy_agrees:
        # NumPy's last bin has its right edge, ours has not: what is outside is left out before.
        assert (np.histogram(inside.astype(DOUBLE), bins=bins, range=(lo, hi))[0] == counts).all(), name
    outside = np.int64(values.size - inside.size)
    return Case(name + SUFFIX[t], description, {"in": values}, {"counts": counts, "outside": np.asarray(outside)},
                {"bins": bins, "lo": float(lo), "hi": float(hi)})


def spread(n, dtype, lo, hi):
    """Without symmetry over a quarter more than [lo, hi) on either side; in the middle of 1/1024 of it, so that none is
    near an edge of 1, 2, 4, ... 256 bins."""
    places = (np.arange(n, dtype=np.int64) * 677 % 1536 - 256 + 0.5) / 1024
    values = lo + places * (hi - lo)
    return stored(np.floor(values) if dtype == INT32 else values, dtype)


def zipf(n, lo, hi, dtype):
    """Value number r of 1000 about 1 / r of the time."""
    rank = np.floor(np.exp((np.arange(n) * 377 % n + 0.5) / n * np.log(1001))).astype(np.int64)
    places = (rank * 389 % 1024 + 0.5) / 1024
    values = lo + places * (hi - lo)
    return stored(np.floor(values) if dtype == INT32 else values, dtype)


def cases():
    case = histogram_case
    for t in ALL:
        few = case("few", "[0, 8) in 4 bins, edges belong to the bin they begin",
                   np.array([0, 1, 2, 7, 8, -1, 3, 6, 4, 2, 9], t), 4, 0, 8)
        assert few.expected["counts"].tolist() == [2, 3, 1, 2] and few.expected["outside"] == 3
        yield few
        yield case("uniform", "256 bins, a third outside, on both sides", spread(5003, t, 0, 4096), 256, 0, 4096)
        yield case("zipf", "256 bins, few values are most elements", zipf(4001, -512, 512, t), 256, -512, 512)
        yield case("one_bin", "all elements in one of 256 bins", np.full(3001, 1001).astype(t), 256, 0, 4096)
        around = np.where(np.arange(1003) % 3 == 0, -1, 10).astype(t)
        yield case("all_outside", "no element in [0, 10)", around, 7, 0, 10)
    t = FLOAT
    yield case("bins_1", "one bin", spread(1001, t, -1, 1), 1, -1, 1)
    yield case("bins_2", "two bins", spread(1001, t, -1, 1), 2, -1, 1)
    yield case("bins_255", "255 bins", uneven(1001, t), 255, -6, 6)
    yield case("bins_257", "257 bins over a range below zero", uneven(1001, t), 257, -6.1, -0.3)
    yield case("bins_65536", "more bins than elements", spread(777, t, 0, 1), 65536, 0, 1)
    yield case("empty", "no elements", np.empty(0, t), 5, 0, 1)
    yield case("single", "one element", np.array([0.5], t), 5, 0, 1)
    for t in FLOATS:
        lo, hi = t.type(-3), t.type(5)
        # In t's own type: the neighbours that double has are no others, once they are rounded to float.
        far = t.type(np.inf)
        ends = [lo, hi, np.nextafter(lo, far), np.nextafter(lo, -far), np.nextafter(hi, -far), np.nextafter(hi, far)]
        ends = case("ends", "lo is inside, hi is not; their neighbours", np.array(ends, t), 16, lo, hi)
        assert ends.expected["counts"].sum() == 3 and ends.expected["outside"] == 3
        yield ends
        special = [np.nan, np.inf, -np.inf, -0.0, 0.0, np.finfo(t).max, np.finfo(t).smallest_subnormal,
                   -np.finfo(t).smallest_subnormal]
        special = case("special_values", "NaN and infinities are outside; -0 is 0", np.array(special, t), 3, 0, 1)
        assert special.expected["counts"].tolist() == [3, 0, 0] and special.expected["outside"] == 5
        yield special
    below = np.nextafter(np.float32(0.1), np.float32(0))
    rounds_up = case("last_bin", "just below hi the product rounds up to the number of bins: the last bin",
                     np.array([below], FLOAT), 100, 0, 0.1, numpy_agrees=False)
    assert rounds_up.expected["counts"][99] == 1
    yield rounds_up
    t = INT32
    yield case("all_integers", "every int32 is inside of [-2^31, 2^31)",
               np.array([INT32_MIN, INT32_MAX, -1, 0, 12345, INT32_MIN + 1], t), 255, -2.0**31, 2.0**31)
    edge = case("edge_49", "[0, 98) in 2 bins: 49 begins the second, though 49 * (2 / 98) is below 1 in double",
                np.array([48, 49, 50], t), 2, 0, 98)
    assert edge.expected["counts"].tolist() == [1, 2]
    yield edge
    yield case("more_bins_than_integers", "10 integers in 33 bins", np.arange(-7, 5).astype(t), 33, -6, 4,
               numpy_agrees=False)
