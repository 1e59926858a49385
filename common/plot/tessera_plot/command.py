"""The command line of tessera-plot."""

import argparse
import contextlib
import os
import subprocess
import sys

from . import series
from .reports import UserError, read_all

ENDINGS = ("png", "svg", "pdf")
KINDS = {
    "roofline": "operations per second over operations per byte, under both ceilings of the run",
    "shares": "share of the roof of every variant",
    "energy": "energy per element and operation of every variant (reports of --energy)",
    "sizes": "time and bandwidth over size, one picture per mini-app (two sizes or more)",
    "strong": "speedup and efficiency over ranks, of one size (two numbers of ranks or more)",
    "weak": "time and efficiency over ranks, of one size per rank (two numbers of ranks or more)",
    "machines": "the same cases in two places or more: devices, spaces, builds",
}


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="tessera-plot",
        description="Draws pictures from the reports that Tessera's mini-apps write with --json.",
        epilog="kinds of pictures:\n"
        + "".join(f"  {kind:9} {what}\n" for kind, what in KINDS.items())
        + "\nReports of the same build and device are joined: several launches of the same case become one point.\n"
        "Without --kind, each kind is drawn if the reports hold rows for it. Exit code: 0; 1 a picture could not be\n"
        "written; 2 a mistake, with one message on stderr.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("reports", nargs="+", metavar="REPORT.json", help="files that --json wrote")
    parser.add_argument(
        "-o",
        "--output",
        default="pictures",
        metavar="PATH",
        help="a folder, or for one picture a file that ends in .png, .svg or .pdf (default: the folder pictures)",
    )
    parser.add_argument(
        "--format", default="png", help="formats of the pictures in a folder: png (default), svg, pdf; several as a,b"
    )
    parser.add_argument("--kind", default="", metavar="a,b", help="only these kinds of pictures")
    for name in ("app", "variant", "space", "dtype"):
        parser.add_argument(f"--{name}", default="", metavar="a,b", help=f"only rows of these {name}s")
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parse(arguments)
    try:
        code = run(options)
        sys.stdout.flush()
        return code
    except UserError as error:
        print(f"tessera-plot: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        if error.filename:
            text = f"{error.filename} ({error.strerror}); name another place with --output"
        else:
            text = f"to stdout ({error.strerror}); free some space, or send it elsewhere"
            with contextlib.suppress(OSError):  # at its end Python would try once more to write what is left
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"tessera-plot: cannot write {text}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def figures(options):
    """The figures by name, for callers that show or save them by themselves. Prints nothing."""
    kinds, chosen = _chosen(options, read_all(options.reports))
    draw = _drawing()
    names = series.place_names(list(dict.fromkeys(point.place for point in chosen)))
    return {name: _drawn(draw, name, kind, data, names) for name, kind, data in _some_pictures(chosen, kinds)}


def _chosen(options, reports):
    kinds = _choice("--kind", options.kind, list(KINDS)) or list(KINDS)
    return kinds, _select(series.points(reports), options)


def _some_pictures(points, kinds):
    pictures = find_pictures(points, kinds)
    if not pictures:
        raise UserError(
            f"no picture of {', '.join(kinds)} can be drawn ({_why_none(kinds)}); see tessera-plot --help"
        )
    return pictures


def _drawn(draw, name, kind, data, names):
    try:
        return getattr(draw, kind)(data, names)
    except Exception as error:  # of matplotlib's, for figures that nobody thought of
        raise _cannot_draw(name, error) from error


def _cannot_draw(name, error):
    return UserError(
        f"cannot draw {name} ({type(error).__name__}: {_first_line(error)}); "
        "choose others with --kind, --app, --variant, or look for odd figures or long names in the report"
    )


def _save(draw, name, figure, file):
    try:
        draw.save(figure, file)
    except Exception as error:  # many figures are laid out only now
        with contextlib.suppress(OSError):
            os.remove(file)  # half a picture
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, error.filename or file) from error
        raise _cannot_draw(name, error) from error


def run(options):
    formats = _choice("--format", options.format, ENDINGS)
    base, ending = os.path.splitext(options.output)
    single = ending.lower().lstrip(".") in ENDINGS
    if ending and not single and not os.path.isdir(options.output):
        raise UserError(
            f"cannot write {options.output} (pictures end in .png, .svg or .pdf); name such a file, or a folder"
        )
    reports = read_all(options.reports)
    for report in reports:
        if not report.finished:
            print(f"tessera-plot: {report.path} is of a run that has not ended: rows may be missing", file=sys.stderr)
        for place, why in report.unsure.items():
            print(
                f"tessera-plot: the roofs of {place} in {report.path} are unsure ({why}); "
                "measure again on an idle machine",
                file=sys.stderr,
            )
    kinds, chosen = _chosen(options, reports)
    pictures = _some_pictures(chosen, kinds)
    if single and len(pictures) > 1:
        names = ", ".join(name for name, _, _ in pictures)
        raise UserError(
            f"{len(pictures)} pictures do not go into {options.output} ({names}); name a folder, or choose one with "
            "--kind, --app, --space, --dtype"
        )
    draw = _drawing()
    draw.use_no_window()
    names = series.place_names(list(dict.fromkeys(point.place for point in chosen)))
    if not single:
        os.makedirs(options.output, exist_ok=True)
    for name, kind, data in pictures:
        files = [options.output] if single else [f"{options.output}/{name}.{ending}" for ending in formats]
        for file in files:
            _save(draw, name, _drawn(draw, name, kind, data, names), file)
            print(file)
    left_out = {}
    for report in reports:
        for status, number in report.left_out.items():
            left_out[status] = left_out.get(status, 0) + number
    if left_out:
        print("rows left out: " + ", ".join(f"{number} {status}" for status, number in sorted(left_out.items())))
    return 0


def find_pictures(points, kinds):
    """(name of the file without ending, function that draws it, data) of every picture that the points allow."""
    slugs = series.place_slugs(list(dict.fromkeys(point.place for point in points)))
    found = []

    def add(kind, function, data, *words):
        name = "-".join(filter(None, (kind, *(series.slug(word) for word in words))))
        taken = {other for other, _, _ in found}
        number, free = 2, name
        while free in taken:
            free, number = f"{name}-{number}", number + 1
        found.append((free, function, data))

    if "roofline" in kinds:
        for data in series.rooflines(points):
            add("roofline", "roofline", data, slugs[data.place], data.dtype)
    if "shares" in kinds:
        for data in series.shares(points):
            add("shares", "shares", data, slugs[data.place], data.dtype)
    if "energy" in kinds:
        for data in series.energies(points):
            add("energy", "energies", data, slugs[data.place], data.dtype)
    if "sizes" in kinds:
        for data in series.over_size(points):
            add("sizes", "over_size", data, data.name, slugs[data.place], data.dtype)
    for kind in ("strong", "weak"):
        if kind in kinds:
            for data in series.scaling(points, weak=kind == "weak"):
                size = series.size_name(data.size).replace("^", "_")
                add(kind, "scaling", data, data.name, size, slugs[data.place], data.dtype)
    if "machines" in kinds:
        for data in series.comparisons(points):
            add("machines", "comparison", data, data.dtype)
    return found


def _drawing():
    try:
        from . import pictures
    except Exception as error:  # a broken installation may fail in any way
        missing = isinstance(error, ModuleNotFoundError)
        why = f"{error.name} is missing from" if missing else f"matplotlib does not start, {_first_line(error)}, in"
        other = other_python()
        raise UserError(
            f"cannot draw ({why} this Python, {sys.executable}); "
            + (f"run it with one that has matplotlib: {other} {sys.argv[0]} ..., or " if other else "")
            + "install matplotlib (Debian: python3-matplotlib; Spack: py-matplotlib; pip: matplotlib)"
        )
    return pictures


def other_python():
    """Another Python of this machine that can draw, from PATH and the usual folders, or None."""
    # With a link its folder counts: a virtual environment's python3 is a link to another Python, with other modules.
    tried = {os.path.abspath(sys.executable)}
    for folder in filter(None, [*os.environ.get("PATH", "").split(os.pathsep), "/usr/local/bin", "/usr/bin"]):
        for name in ("python3", *(f"python3.{minor}" for minor in range(20, 9, -1))):
            path = os.path.abspath(os.path.join(folder, name))
            if path in tried or not os.access(path, os.X_OK):
                continue
            tried.add(path)
            check = "import sys; assert sys.version_info >= (3, 10); import matplotlib.pyplot"
            try:
                found = subprocess.run([path, "-c", check], stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
            except (OSError, subprocess.TimeoutExpired):
                continue
            if found.returncode == 0:
                return path
    return None


def _first_line(error):
    return (str(error).splitlines() or ["no reason"])[0]


def _choice(option, text, allowed):
    words = [word for word in text.split(",") if word]
    for word in words:
        if word not in allowed:
            raise UserError(f"{option} names '{word}' (unknown); choose from {', '.join(allowed)}")
    return words


def _select(points, options):
    of = {
        "app": lambda point: point.case.app,
        "variant": lambda point: point.variant,
        "space": lambda point: point.place.space,
        "dtype": lambda point: point.case.dtype,
    }
    for name, value in of.items():
        there = sorted({value(point) for point in points})
        wanted = _choice(f"--{name}", getattr(options, name), there)
        if wanted:
            points = [point for point in points if value(point) in wanted]
    return points


def _why_none(kinds):
    needs = {
        "roofline": "a roofline needs rows with operations and a measured roof",
        "shares": "shares need a measured roof",
        "energy": "energies need reports of --energy",
        "sizes": "sizes need generated cases of two sizes",
        "strong": "strong scaling needs one size with two numbers of ranks",
        "weak": "weak scaling needs one size per rank with two numbers of ranks",
        "machines": "a comparison needs the same generated case in two places",
    }
    return "; ".join(needs[kind] for kind in kinds)
