"""embedding: rows of a table by their numbers, as w[idx], zeros where the table has no such row"""

import numpy as np

from cases.common import ALL, FLOAT, FLOATS, HUGE, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, stored, uneven


def embedding_case(name, description, idx, w):
    idx = np.asarray(idx, INT32)
    out = np.zeros(idx.shape + w.shape[1:], w.dtype)
    there = (idx >= 0) & (idx < w.shape[0])
    out[there] = w[idx[there]]
    return Case(name + SUFFIX[w.dtype], description, {"idx": idx, "w": w}, {"out": out})


def table(rows, width, dtype):
    # Every element another number, so that a wrong row or column shows.
    return stored(np.arange(rows * width, dtype=np.int64).reshape(rows, width) - 7, dtype)


def indices(batch, length, rows):
    """Without symmetry; some lie outside of the table, on both sides."""
    return (np.arange(batch * length, dtype=np.int64) * 37 % (rows + 7) - 3).reshape(batch, length)


def cases():
    for t in ALL:
        # 0.1 0.2 0.3 0.4 | 0.5 0.6 0.7 0.8 | ...; integers ten times that.
        numbers = np.arange(1, 41).reshape(10, 4)
        puzzle = embedding_case("puzzle_p19", "P19: 2 x 3 indices into 10 rows of 4, 0.1 0.2 0.3 0.4 and so on",
                                [[1, 5, 2], [7, 1, 9]], stored(numbers if t == INT32 else numbers / 10, t))
        for at, wanted in (((0, 0), [5, 6, 7, 8]), ((0, 2), [9, 10, 11, 12])):
            wanted = np.array(wanted)
            assert np.array_equal(puzzle.expected["out"][at], stored(wanted if t == INT32 else wanted / 10, t))
        yield puzzle
        small = embedding_case("small", "2 x 3 indices into 5 rows of 4", [[0, 4, 2], [1, 1, 3]], table(5, 4, t))
        assert small.expected["out"][0, 1].tolist() == [9, 10, 11, 12]
        yield small
        yield embedding_case("uneven", "5 x 13 indices into 29 rows of 37, some out of range", indices(5, 13, 29),
                             table(29, 37, t))
        yield embedding_case("packs", "3 x 11 indices into 19 rows of 48: whole packs", indices(3, 11, 19),
                             table(19, 48, t))
    outside = [[-1, 6, 7, 8], [INT32_MIN, INT32_MAX, 0, -7], [2**24 + 1, 3, -(2**24), 6]]
    outside = embedding_case("out_of_range", "indices on both sides of [0, 7) give zeros", outside, table(7, 5, FLOAT))
    assert np.count_nonzero(outside.expected["out"].any(axis=2)) == 4
    yield outside
    for name, batch, length, rows, width in (
        ("width_1", 7, 31, 23, 1),
        ("width_3", 4, 9, 11, 3),
        ("one_sequence", 1, 101, 17, 6),
        ("one_index_each", 101, 1, 17, 6),
        ("one_row", 3, 5, 1, 9),
        ("long_rows", 2, 2, 3, 1031),
        ("single", 1, 1, 1, 1),
        ("no_rows", 3, 4, 0, 5),
        ("no_columns", 3, 4, 5, 0),
        ("no_sequences", 0, 4, 5, 3),
        ("no_indices", 4, 0, 5, 3),
    ):
        yield embedding_case(name, f"{batch} x {length} indices into {rows} rows of {width}",
                             indices(batch, length, rows), table(rows, width, FLOAT))
    # The result has three dimensions, whose extents have 32 bits in Kokkos 4.
    yield embedding_case("no_indices_huge", "(2^32 - 1) x 0 indices", np.empty((2**32 - 1, 0), INT32),
                         table(5, 3, FLOAT))
    yield embedding_case("no_columns_huge", "3 x 4 indices into 2^50 rows of 0", np.ones((3, 4), INT32),
                         np.empty((HUGE, 0), FLOAT))
    for t in FLOATS:
        info = np.finfo(t)
        w = np.array([[np.nan, np.inf, -np.inf], [-0.0, info.smallest_subnormal, -info.tiny / 4],
                      [info.max, -info.max, 0.5]], t)
        yield embedding_case("special_values", "NaN, infinities, denormals are copied as they are",
                             [[2, 0, 1, -1], [1, 3, 0, 2]], w)
    yield embedding_case("edges_int32", "the largest and the smallest integer",
                         [[1, 0], [2, 1]], np.array([[INT32_MAX, INT32_MIN], [2**24 + 1, -1]], INT32))
    yield embedding_case("repeated", "one row again and again", np.full((6, 7), 3), uneven(55, FLOAT).reshape(5, 11))
