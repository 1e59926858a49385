#!/usr/bin/python3
"""Writes the small cases that ship with the mini-apps: inputs/<app>/<case>.h5, with expected results.

    inputs/make_inputs.py            writes the files whose content is another (the same bytes every time)
    inputs/make_inputs.py --check    compares the files that are there with what would be written; exit code 1
                                     and a line each if one differs in content, is missing or unknown

Inputs and parameters are compared by their bits. Expected results of floating types may differ by a few roundings:
NumPy's exp is another one on each processor.

Needs NumPy and h5py, and none of the suite's own code: the expected results are an independent opinion.

Layout of a file: group /input with one dataset per field (C order), one attribute per parameter and an
attribute `description`; group /expected with the results, in the same dtype. The dtype of the file is the
dtype of the run: half is h5py's float16, bfloat16 a float of 16 bits with 8 of exponent and 7 of mantissa.

A new mini-app: a module cases/<app>.py with a function cases() that yields its Cases. A case's file name says its dtype
unless that is float (the puzzles' own): puzzle_p12.h5, puzzle_p12_double.h5, puzzle_p12_int32.h5,
and likewise _half and _bfloat16.
"""

import argparse
import importlib
import io
import pathlib
import sys

try:
    import h5py
    import numpy as np
except ImportError as error:
    sys.exit(f"make_inputs.py: {error} (NumPy and h5py write the files); install them, or on Debian as root: "
             'cmake/debian/root exec python "$PWD" inputs/make_inputs.py')

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True  # the checkout stays as it is
sys.path.insert(0, str(HERE))
APPS = sorted(path.stem for path in (HERE / "cases").glob("*.py") if path.stem not in ("__init__", "common"))


def attribute(value):
    """A parameter as h5py stores it. Text of fixed length: variable length costs 4 KiB in the file."""
    if isinstance(value, str):
        return np.array(value.encode(), h5py.string_dtype("utf-8", len(value.encode())))
    return {bool: np.bool_, int: np.int64, float: np.float64}[type(value)](value)


def bfloat16_type():
    """HDF5's description of bfloat16, which h5py has no NumPy type for."""
    kind = h5py.h5t.IEEE_F32LE.copy()
    kind.set_fields(15, 7, 8, 0, 7)
    kind.set_size(2)
    kind.set_ebias(127)
    return kind


def write_bfloat16(group, name, values):
    """Float32 values as bfloat16: the library converts, and has nothing to round."""
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_obj_track_times(False)
    space = h5py.h5s.create_simple(values.shape)
    dataset = h5py.h5d.create(group.id, name.encode(), bfloat16_type(), space, properties)
    dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(values))


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
                if case.bfloat16:
                    write_bfloat16(group, name, values)
                    continue
                little_endian = values.dtype.newbyteorder("<")
                group.create_dataset(name, data=values, dtype=little_endian, track_times=False)


class Rounded:
    """Results that are equal to others within a few roundings, of themselves or of the largest of them, which what
    cancels was made of; NaN is where NaN is, infinities are equal."""

    def __init__(self, values):
        self.values = values

    def __eq__(self, other):
        if not isinstance(other, Rounded):
            return False
        a, b = self.values, other.values
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        largest = np.max(np.abs(a), initial=0, where=np.isfinite(a))
        with np.errstate(invalid="ignore"):
            close = np.abs(a - b) <= 64 * np.finfo(a.dtype).eps * np.maximum(np.abs(a), largest)
        return bool(np.all(close | (a == b) | (np.isnan(a) & np.isnan(b))))


def content(source):
    """What a file holds, as a dictionary that is equal where the content is (NaN is compared by its bits)."""
    found = {}
    with h5py.File(source, "r") as file:

        def visit(name, node):
            if isinstance(node, h5py.Dataset) and node.dtype.kind == "f":
                kind = node.id.get_type()
                found[name + " as stored"] = (kind.get_size(), kind.get_fields(), kind.get_ebias(), kind.get_order())
            if isinstance(node, h5py.Dataset) and name.startswith("expected/") and node.dtype.kind == "f":
                found[name] = Rounded(np.asarray(node))
            elif isinstance(node, h5py.Dataset):
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
    parser.add_argument("--directory", type=pathlib.Path, default=HERE,
                        help="where the apps' folders are (default: beside this script)")
    parser.add_argument("apps", nargs="*", metavar="APP", help=f"of {', '.join(APPS)} (default: all)")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.apps if name not in APPS]
    if unknown:
        parser.error(f"unknown app {unknown[0]} (there are {', '.join(APPS)})")

    complaints = []
    count = 0
    written = 0
    for app in arguments.apps or APPS:
        directory = arguments.directory / app
        cases = {directory / f"{case.name}.h5": case for case in importlib.import_module(f"cases.{app}").cases()}
        count += len(cases)
        for path, case in cases.items():
            complaint = difference(case, path)
            if not complaint:
                continue
            if arguments.check:
                complaints.append(f"{path}: {complaint}")
            else:
                directory.mkdir(parents=True, exist_ok=True)
                write(case, path)
                written += 1
        strangers = sorted(set(directory.glob("*.h5")) - set(cases))
        complaints += [f"{path}: is not written by make_inputs.py" for path in strangers]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    print(f"{count} cases, {'checked' if arguments.check else f'{written} written'}; {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
