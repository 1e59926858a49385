"""partition: values less than the pivot first, orders kept, by segments"""

import numpy as np

from cases.common import ALL, FLOAT, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, stored, uneven, wide

INT64 = np.dtype("int64")


def partition_case(name, description, values, pivot, segment=0, tile=0, right=None):
    length = segment if segment > 0 else max(1, values.size)
    pieces = [values[i : i + length] for i in range(0, values.size, length)]
    with np.errstate(invalid="ignore"):
        masks = [wide(piece) < pivot for piece in pieces]
    step = -1 if right == "reversed" else 1
    parts = [part for piece, mask in zip(pieces, masks) for part in (piece[mask], piece[~mask][::step])]
    counts = [int(np.count_nonzero(mask)) for mask in masks]
    if segment == 0 and values.size == 0:
        counts = [0]
    expected = {
        "values": stored(np.concatenate(parts) if parts else [], values.dtype),
        "left_count": np.array(counts, INT64),
    }
    parameters = {"pivot": float(pivot), "segment": segment, "tile": tile}
    if right is not None:
        parameters["right"] = right
    return Case(name + SUFFIX[values.dtype], description, {"in": values}, expected, parameters)


def bins_case(name, description, values, pivot, width, bins):
    x = wide(values)
    with np.errstate(invalid="ignore"):
        widths = np.floor((x - pivot) / width)
        bin_of = np.where(x < pivot, 0, np.where(widths < bins - 2, widths + 1, bins - 1)).astype(int)
    expected = {
        "values": stored(values[np.argsort(bin_of, kind="stable")], values.dtype),
        "left_count": np.array(np.cumsum(np.bincount(bin_of, minlength=bins))[:-1], INT64),
    }
    parameters = {"pivot": float(pivot), "width": float(width), "bins": bins}
    return Case(name + SUFFIX[values.dtype], description, {"in": values}, expected, parameters)


def cases():
    case = partition_case
    for t in ALL:
        puzzle = np.array([3, 7, 1, 8, 2, 9, 4, 6], t)
        yield case("puzzle_p24", "P24: pivot 5, 3 7 1 8 2 9 4 6 -> 3 1 2 4 7 8 9 6", puzzle, 5)
        sixteen = np.concatenate([puzzle, np.array([0, 10, 3, 11, 1, 12, 4, 13], t)])
        yield case("puzzle_p24_segment", "P24: sixteen values twice, segment 32", np.tile(sixteen, 2), 5, segment=32)
        yield case("uneven", "no power of two, no symmetry; some equal to the pivot", uneven(1001, t), 1)
        yield case("segments", "segments of 32, the last one short", uneven(77, t), -1, segment=32)
        yield case("segments_of_3", "segments that divide no row of lanes", uneven(50, t), 2, segment=3)
        yield case("long_segments", "segments of 100, more than a row of lanes", uneven(777, t), 0, segment=100)
        yield case("tiles", "1001 elements in tiles of 8: many tiles, a short one last", uneven(1001, t), 0, tile=8)
        yield case("reversed", "pivot 5, the right side reversed: 3 7 1 8 2 9 4 6 -> 3 1 2 4 6 9 8 7", puzzle, 5,
                   right="reversed")
        yield case("reversed_tiles", "the right side reversed, many tiles", uneven(1001, t), 0, tile=8,
                   right="reversed")
        yield case("all_left", "all less than the pivot", uneven(101, t), 1000)
        yield case("all_right", "none less than the pivot", uneven(101, t), -1000, tile=8)
        yield bins_case("bins", "1001 elements in 7 bins, some equal to a bound", uneven(1001, t), -2, 1, 7)
    values = (np.arange(128, dtype=FLOAT) * 37 % 128) / np.float32(128)
    yield bins_case("eight_bins", "0, 1/128, ... in another order, in 8 bins of 1/8", values, 0.125, 0.125, 8)
    yield bins_case("bins_of_none", "no elements in 5 bins: four zeros", np.empty(0, FLOAT), 0, 1, 5)
    values = uneven(40, FLOAT)
    values[[3, 13, 31]] = np.nan
    values[[7, 29]] = np.inf
    values[[8, 30]] = -np.inf
    yield bins_case("bins_nan", "NaN and +inf in the last of 256 bins, -inf in the first", values, -1, 0.1, 256)
    yield case("reversed_segments", "the right side of each segment of 7 reversed", uneven(50, FLOAT), 1, segment=7,
               right="reversed")
    t = FLOAT
    yield case("empty", "no elements: the count is 0", np.empty(0, t), 0)
    yield case("empty_segments", "no elements, no segments, no counts", np.empty(0, t), 0, segment=8)
    yield case("single_left", "one element, left", np.array([-1], t), 0)
    yield case("single_right", "one element, equal to the pivot: right", np.array([5], t), 5)
    values = uneven(40, t)
    values[[3, 13, 31]] = np.nan
    yield case("nan", "NaN is less than nothing: right, in its place", values, 0, tile=8)
    values = uneven(40, t)
    values[[7, 29]] = np.inf
    values[[8, 30]] = -np.inf
    yield case("infinities", "+inf right, -inf left", values, 0, tile=8)
    yield case("pivot_infinity", "pivot +inf: all but +inf itself are less", values, np.inf)
    yield case("pivot_minus_infinity", "pivot -inf: nothing is less", values, -np.inf)
    yield case("pivot_nan", "pivot NaN: nothing is less, all right", values, np.nan)
    yield case("tenth", "pivot 0.1 lies between two floats: float(0.1) is above it",
               np.array([0.1, 0.09999999, 0.1, 0.2, 0.1], t), 0.1)
    yield case("zeros", "-0 is not less than 0", np.array([-0.0, 0.0, -1e-45, 1e-45, -0.0], t), 0)
    t = INT32
    extremes = np.array([INT32_MAX, INT32_MIN, 0, -1, INT32_MAX, 1, INT32_MIN + 1, INT32_MAX - 1], t)
    yield case("extremes", "pivot between two integers", extremes, 0.5)
    yield case("pivot_largest", "pivot 2^31 - 1: the largest is not less", extremes, INT32_MAX)
    yield case("pivot_beyond", "pivot 2^31: all are less", extremes, INT32_MAX + 1)
    yield case("pivot_smallest", "pivot -2^31: none is less", extremes, INT32_MIN)
