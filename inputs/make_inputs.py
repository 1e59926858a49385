#!/usr/bin/python3
"""Writes the small cases that ship with the mini-apps: inputs/<app>/<case>.h5, with expected results.

    inputs/make_inputs.py            writes all files (the same bytes every time)
    inputs/make_inputs.py --check    compares the files that are there with what would be written; exit code 1
                                     and a line each if one differs in content, is missing or unknown

Needs NumPy and h5py, and none of the suite's own code: the expected results are an independent opinion.

Layout of a file: group /input with one dataset per field (C order), one attribute per parameter and an
attribute `description`; group /expected with the results, in the same dtype. The dtype of the file is the
dtype of the run.

A new mini-app: a function that yields its Cases, and a line in APPS. A case's file name says its dtype unless
that is float (the puzzles' own): puzzle_p12.h5, puzzle_p12_double.h5, puzzle_p12_int32.h5.
"""

import argparse
import io
import pathlib
import sys
from dataclasses import dataclass, field

import h5py
import numpy as np

FLOAT = np.dtype("float32")
DOUBLE = np.dtype("float64")
INT32 = np.dtype("int32")
SUFFIX = {FLOAT: "", DOUBLE: "_double", INT32: "_int32"}
ALL = (FLOAT, DOUBLE, INT32)
FLOATS = (FLOAT, DOUBLE)
INT32_MIN = -(2**31)
INT32_MAX = 2**31 - 1


@dataclass(frozen=True)
class Case:
    name: str  # of the file, with the dtype's suffix
    description: str
    input: dict  # field -> array
    expected: dict  # field -> array
    parameters: dict = field(default_factory=dict)  # bool, int, float or str


def stored(values, dtype):
    """Values as they are in a file: rounded to a floating-point dtype, wrapped modulo 2^32 to int32."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(values).astype(dtype)


def wide(values):
    """The same values in the type that results are computed in: double, or int64 for integers."""
    return values.astype(np.int64 if values.dtype == INT32 else DOUBLE)


def uneven(n, dtype, step=37, period=101, shift=50):
    """Data without symmetry, so that a wrong index shows: with the defaults multiples of 1/8 from -6.25 to
    6.25, for int32 eight times that. Every partial sum is exact in every dtype: any order of summation gives
    the same bits."""
    values = (np.arange(n, dtype=np.int64) * step) % period - shift
    return stored(values if dtype == INT32 else values / 8, dtype)


# ------------------------------------------------------------------------------------------------------- map


def map_case(name, description, a, c):
    c = int(c) if a.dtype == INT32 else float(c)
    with np.errstate(invalid="ignore"):
        out = wide(a) + c
    expected = {"out": stored(out, a.dtype)}
    return Case(name + SUFFIX[a.dtype], description, {"a": a}, expected, {"c": float(c)})


def map_cases():
    for t in ALL:
        yield map_case("puzzle_p01", "P1: a = 0..3, c = 10", np.arange(4).astype(t), 10)
        yield map_case("puzzle_p06", "P6: a = 0..8, c = 10", np.arange(9).astype(t), 10)
        yield map_case("puzzle_p08", "P8: eight ones, c = 10", np.ones(8, t), 10)
        yield map_case("uneven", "no power of two, no symmetry, c = -3", uneven(1001, t), -3)
    yield map_case("empty", "no elements", np.empty(0, FLOAT), 10)
    yield map_case("single", "one element", np.array([5], FLOAT), 10)
    for t in FLOATS:
        info = np.finfo(t)
        a = [np.nan, np.inf, -np.inf, -0.0, 0.0, info.tiny, -info.tiny / 4, info.max, -info.max, 1]
        yield map_case("special_values", "NaN, infinities, zeros, denormals, c = 0.5", np.array(a, t), 0.5)
    edge = np.array([INT32_MAX, INT32_MAX - 10, INT32_MAX - 9, INT32_MIN, -10, 2**24 + 1], INT32)
    yield map_case("wraps", "int32 wraps modulo 2^32; 2^24 + 1 is no float", edge, 10)


# ------------------------------------------------------------------------------------------------------- dot


def dot_case(name, description, a, b):
    with np.errstate(invalid="ignore"):
        out = np.sum(wide(a) * wide(b))
    return Case(name + SUFFIX[a.dtype], description, {"a": a, "b": b}, {"out": stored(out, a.dtype)})


def dot_cases():
    for t in ALL:
        for name, n, result in (("puzzle_p10", 8, 140), ("puzzle_p22", 32, 10416)):
            a = np.arange(n).astype(t)
            yield dot_case(name, f"{name[-3:].upper()}: a = b = 0..{n - 1} -> {result}", a, a)
        yield dot_case("uneven", "no power of two, no symmetry", uneven(1001, t), uneven(1001, t, 11, 23, 4))
    yield dot_case("empty", "no elements -> 0", np.empty(0, FLOAT), np.empty(0, FLOAT))
    yield dot_case("single", "one element", np.array([5], FLOAT), np.array([-7], FLOAT))
    for k in (1, 4, 32, 256):  # the rest of the sweep (to 65536) is too large to ship: --size generates it
        n = 32 * k
        a, b = np.arange(n) % 13 - 5, np.arange(n) % 7 + 1
        yield dot_case(f"sweep_{k:05}", f"P22 sweep: {k} x 32 elements", a.astype(FLOAT), b.astype(FLOAT))
    a, ones = uneven(40, FLOAT), np.ones(40, FLOAT)
    for name, description, changes in (
        ("nan", "one NaN makes the sum NaN", {33: np.nan}),
        ("infinity", "an infinity remains", {33: np.inf}),
        ("infinities", "two of opposite sign make NaN", {33: np.inf, 7: -np.inf}),
    ):
        changed = a.copy()
        for index, value in changes.items():
            changed[index] = value
        yield dot_case(name, description, changed, ones)
    yield dot_case("tenths", "a[i] = i / 10: every product is rounded", stored(np.arange(777) / 10, FLOAT),
                   stored(1 - np.arange(777) / 1000, FLOAT))
    yield dot_case("wraps", "products and sum wrap modulo 2^32",
                   np.array([2**20, 2**30, 3, INT32_MIN], INT32), np.array([2**13 + 1, 5, 7, 3], INT32))


# ------------------------------------------------------------------------------------------------ prefix_sum


def rising(n, dtype, sign):
    """Uneven data with a trend: new records (highs for sign 1, lows for -1) come in late tiles too."""
    return stored(wide(uneven(n, dtype)) + sign * np.arange(n) / (1 if dtype == INT32 else 8), dtype)


def scan(values, op, exclusive):
    """One segment. NaN propagates through max and min as through a sum."""
    ufunc = {"sum": np.add, "max": np.maximum, "min": np.minimum}[op]
    with np.errstate(invalid="ignore", over="ignore"):
        inclusive = ufunc.accumulate(values)
    if not exclusive:
        return inclusive
    if values.dtype == np.int64:
        identity = {"sum": 0, "max": INT32_MIN, "min": INT32_MAX}[op]
    else:
        identity = {"sum": 0.0, "max": -np.inf, "min": np.inf}[op]
    return np.concatenate([[identity], inclusive[:-1]]).astype(values.dtype)


def prefix_sum_case(name, description, values, op="sum", exclusive=False, segment=0, tile=0):
    length = segment if segment > 0 else max(1, values.size)
    pieces = [scan(wide(values[i : i + length]), op, exclusive) for i in range(0, values.size, length)]
    out = stored(np.concatenate(pieces) if pieces else [], values.dtype)
    parameters = {"op": op, "exclusive": exclusive, "segment": segment, "tile": tile}
    return Case(name + SUFFIX[values.dtype], description, {"in": values}, {"out": out}, parameters)


def prefix_sum_cases():
    case = prefix_sum_case
    for t in ALL:

        def up_to(n):
            return np.arange(n).astype(t)

        yield case("puzzle_p12", "P12: 0..7 -> 0 1 3 6 10 15 21 28", up_to(8))
        yield case("puzzle_p12_two_tiles", "P12: 0..14, tiles of 8 (totals 28 and 77)", up_to(15), tile=8)
        yield case("puzzle_p24", "P24: in[i] = i + 1, segment 32", up_to(33)[1:], segment=32)
        yield case("three_tiles", "0..23, tiles of 8: all tiles before add up", up_to(24), tile=8)
        yield case("pi", "3 1 4 1 5 9 -> 3 4 8 9 14 23", np.array([3, 1, 4, 1, 5, 9], t))
        yield case("uneven", "no power of two, no symmetry", uneven(1001, t))
        yield case("exclusive_segments", "segments of 32, each starts from 0, the last one short",
                   uneven(77, t), segment=32, exclusive=True)
        for op, sign in (("max", 1), ("min", -1)):
            yield case(f"exclusive_{op}", f"{op} of all before; the identity first", rising(101, t, sign),
                       op=op, exclusive=True)
    t = FLOAT
    yield case("exclusive", "0..7, exclusive -> 0 0 1 3 6 10 15 21", np.arange(8).astype(t), exclusive=True)
    yield case("exclusive_tiles", "exclusive over tiles of 8", uneven(101, t), exclusive=True, tile=8)
    yield case("tiles", "1001 elements in tiles of 8: many tiles, a short one last", uneven(1001, t), tile=8)
    yield case("segments", "segments of 32, the last one short", uneven(77, t), segment=32)
    yield case("segments_of_3", "segments that divide no tile", uneven(50, t), segment=3, tile=8)
    for op, sign in (("max", 1), ("min", -1)):
        values = rising(101, t, sign)
        yield case(f"running_{op}", f"{op} so far, tiles of 8", values, op=op, tile=8)
        yield case(f"segments_{op}", f"{op} so far in segments of 32", values, op=op, segment=32)
    yield case("empty", "no elements", np.empty(0, t))
    yield case("single", "one element", np.array([5], t))
    yield case("single_exclusive", "one element, exclusive -> 0", np.array([5], t), exclusive=True)
    for op in ("sum", "max", "min"):
        values = uneven(40, t)
        values[13] = np.nan
        yield case(f"nan_{op}", "NaN from its place on, across tiles of 8", values, op=op, tile=8)
        values = uneven(40, t)
        values[13] = np.inf
        values[29] = -np.inf
        yield case(f"infinities_{op}", "+inf, later -inf (their sum is NaN)", values, op=op, tile=8)
    yield case("tenths", "in[i] = i / 10: every sum is rounded", stored(np.arange(777) / 10, t))
    yield case("wraps", "int32 wraps modulo 2^32",
               np.array([INT32_MAX, 1, -5, INT32_MIN, 7, INT32_MAX] * 3, INT32), tile=8)


# --------------------------------------------------------------------------------------------- all mini-apps

APPS = {
    "map": map_cases,
    "dot": dot_cases,
    "prefix_sum": prefix_sum_cases,
}


def attribute(value):
    """A parameter as h5py stores it. Text of fixed length: variable length costs 4 KiB in the file."""
    if isinstance(value, str):
        return np.array(value.encode(), h5py.string_dtype("utf-8", len(value.encode())))
    return {bool: np.bool_, int: np.int64, float: np.float64}[type(value)](value)


def write(case, target):
    """Writes to a path or a file object."""
    # The oldest format: any HDF5 reads it, and it is the same from every version of the library.
    with h5py.File(target, "w", libver=("earliest", "v110")) as file:
        group = file.create_group("input", track_order=False)
        group.attrs["description"] = attribute(case.description)
        for name, value in case.parameters.items():
            group.attrs[name] = attribute(value)
        for group_name, fields in (("input", case.input), ("expected", case.expected)):
            group = file.require_group(group_name)
            for name, values in fields.items():
                little_endian = values.dtype.newbyteorder("<")
                group.create_dataset(name, data=values, dtype=little_endian, track_times=False)


def content(source):
    """What a file holds, as a dictionary that is equal where the content is (NaN is compared by its bits)."""
    found = {}
    with h5py.File(source, "r") as file:

        def visit(name, node):
            if isinstance(node, h5py.Dataset):
                found[name] = (str(node.dtype), node.shape, np.asarray(node).tobytes())
            else:
                found[name] = "group"
            for key, value in node.attrs.items():
                found[name + "@" + key] = (str(node.attrs.get_id(key).dtype), str(value))

        file.visititems(visit)
    return found


def difference(case, path):
    """What is wrong with a file that should hold this case, or nothing."""
    if not path.exists():
        return "is missing"
    memory = io.BytesIO()
    write(case, memory)
    wanted = content(memory)
    try:
        found = content(path)
    except OSError as error:
        return f"cannot be read ({error})"
    names = [name for name in sorted(wanted.keys() | found.keys()) if wanted.get(name) != found.get(name)]
    return f"differs in {', '.join(names)}" if names else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true",
                        help="compare the files that are there; exit 1 on a difference")
    parser.add_argument("--directory", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent,
                        help="where the apps' folders are (default: beside this script)")
    parser.add_argument("apps", nargs="*", metavar="APP", help=f"of {', '.join(APPS)} (default: all)")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.apps if name not in APPS]
    if unknown:
        parser.error(f"unknown app {unknown[0]} (there are {', '.join(APPS)})")

    complaints = []
    count = 0
    for app in arguments.apps or APPS:
        directory = arguments.directory / app
        cases = {directory / f"{case.name}.h5": case for case in APPS[app]()}
        count += len(cases)
        for path, case in cases.items():
            if arguments.check:
                complaint = difference(case, path)
                complaints += [f"{path}: {complaint}"] if complaint else []
            else:
                directory.mkdir(parents=True, exist_ok=True)
                write(case, path)
        strangers = sorted(set(directory.glob("*.h5")) - set(cases))
        complaints += [f"{path}: is not written by make_inputs.py" for path in strangers]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    print(f"{count} cases, {'checked' if arguments.check else 'written'}; {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
