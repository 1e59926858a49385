"""The program `tessera`, called from Python: mini-apps run in a process of their own, and their report comes back."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import types
import typing


class UserError(ValueError):
    """What the program says of a mistake in its arguments."""


def find() -> str:
    """Returns the path of the program: $TESSERA_PROGRAM, the one beside this package (of a build or an installation),
    or the one on the PATH. Raises FileNotFoundError if there is none."""
    named = os.environ.get("TESSERA_PROGRAM")
    if named:
        if os.access(named, os.X_OK):
            return named
        raise FileNotFoundError(f"TESSERA_PROGRAM is '{named}' (no program); name the program tessera")
    # <build>/python/tessera, or <prefix>/lib/python3.x/site-packages/tessera
    for folder in list(pathlib.Path(__file__).resolve().parents)[1:5]:
        beside = folder / "bin" / "tessera"
        if os.access(beside, os.X_OK):
            return str(beside)
    found = shutil.which("tessera")
    if found:
        return found
    raise FileNotFoundError("there is no program tessera beside this package or on the PATH (the module can be built "
                            "without it); build it, or name it in TESSERA_PROGRAM")  # fmt: skip


class Report(types.SimpleNamespace):
    """A report as objects: `report.rows[0].seconds`, `report.system`, and what else docs/reports.md names. `document`
    is the same as dicts and lists."""

    document: dict

    def to_pandas(self):
        """Returns the rows as a DataFrame. Needs pandas."""
        import pandas  # type: ignore[import-not-found]

        return pandas.DataFrame(self.document["rows"])


def objects(document):
    """A report's document as a Report. Names that are no identifiers, such as those of parameters, stay in dicts."""

    def convert(value):
        if isinstance(value, list):
            return [convert(one) for one in value]
        if isinstance(value, dict) and all(name.isidentifier() for name in value):
            return types.SimpleNamespace(**{name: convert(one) for name, one in value.items()})
        return value

    return Report(document=document, **{name: convert(value) for name, value in document.items()})


def called(program, arguments):
    """The finished process. Raises UserError if the program refuses its arguments."""
    done = subprocess.run([program, "run", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode == 2:
        raise UserError(done.stderr.strip() or done.stdout.strip())
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{program} ended with {done.returncode}: {done.stderr.strip()}")
    return done


def listed(name: str, kind: str) -> list[str]:
    """The names of one kind (app, variant, space, dtype) in a mini-app's --list; `all` is the name of all together."""
    lines = [line.split() for line in called(find(), [name, "--list"]).stdout.splitlines()]
    return [words[1] for words in lines if words[0] == kind]


def run(arguments: typing.Sequence[object]) -> Report:
    """Runs `tessera run ARGUMENTS` and returns its Report: tessera.run(["prefix_sum", "--size", "2^20"]).

    Rows that failed are in the report, with their status and reason. Raises UserError for a mistake in the arguments,
    and FileNotFoundError if there is no program.
    """
    if isinstance(arguments, str):
        raise TypeError("arguments is a str (each argument is a string of its own); give a list")
    program = find()
    with tempfile.TemporaryDirectory(prefix="tessera-") as folder:
        path = os.path.join(folder, "report.json")
        done = called(program, [*map(str, arguments), "--json", path])
        if not os.path.exists(path):
            raise UserError(f"{' '.join(map(str, arguments))} makes no report (it does not run rows); "
                            f"the program says: {done.stdout.strip()}")  # fmt: skip
        with open(path, encoding="utf-8") as file:
            return objects(json.load(file))


def variants(name: str) -> list[str]:
    """Returns the names of a mini-app's variants, as in its --list. Raises UserError if there is no such mini-app."""
    return listed(name, "variant")


def roof(dtype: str = "float32") -> types.SimpleNamespace:
    """Measures what this machine can do, and returns it for each execution space of the program:
    roof().openmp.copy_bytes_per_second. docs/measuring.md says what a roof is.

    Takes some seconds. Raises UserError if the program does not have the dtype, and FileNotFoundError if there is no
    program.
    """
    name = {"float32": "float", "float64": "double"}.get(dtype, dtype)
    # Each run measures the roofs before its first row: the smallest run will do.
    app = listed("all", "app")[0]
    least = ["--size", "1000", "--samples", "1", "--min-time", "0", "--warmup", "0"]
    return run([app, "--variant", variants(app)[0], "--dtype", name, *least]).system.spaces


def plot(
    reports, kind: str | None = None, *, app: str = "", variant: str = "", space: str = "", dtype: str = ""
) -> dict:
    """Draws a Report, or several that are compared, and returns the figures of matplotlib by name.

    kind: roofline, shares, energy, sizes, strong, weak or machines; several as "a,b". None: all that the reports allow.
    `app`, `variant`, `space` and `dtype` select rows. tessera-plot draws the same into files. Raises UserError if there
    is nothing to draw.
    """
    from ._plot import command, reports as files

    chosen = {"kind": kind or "", "app": app, "variant": variant, "space": space, "dtype": dtype}
    options = [f"--{name}={value}" for name, value in chosen.items()]
    with tempfile.TemporaryDirectory(prefix="tessera-") as folder:
        paths = []
        for number, report in enumerate([reports] if isinstance(reports, Report) else reports):
            paths.append(os.path.join(folder, f"report-{number}.json"))
            with open(paths[-1], "w", encoding="utf-8") as file:
                json.dump(report.document, file)
        try:
            return command.figures(command.parse([*paths, *options]))
        except files.UserError as error:
            raise UserError(str(error)) from None
