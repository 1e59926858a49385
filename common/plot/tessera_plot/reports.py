"""Reports as `--json` writes them: read, checked, and turned into a list of measurements."""

import json
from dataclasses import dataclass

SCHEMA = "tessera-report/1"

# A row is noisy if the third quartile of its samples exceeds so many times the first: its median is no figure then.
NOISY_RATIO = 1.5


class UserError(Exception):
    """A mistake of the user's: `problem (why); what to do`."""


@dataclass(frozen=True)
class Build:
    """What a program was made of. Rows of two builds are never mixed in one point."""

    version: str
    commit: str
    kokkos: str
    compiler: str
    flags: str
    build_type: str


@dataclass(frozen=True)
class Place:
    """Where rows ran. The host's name does not count: nodes of one kind are one machine."""

    space: str
    device: str
    build: Build


@dataclass(frozen=True)
class Roofs:
    """What one run measured of its machine, for a row's dtype and unit. None where it is not known."""

    copy_bytes_per_second: float | None
    peak_operations_per_second: float | None  # of the dtype's multiply-adds
    unit_operations_per_second: float | None  # of what does the row's operations: the same, or a matrix unit's
    launch_seconds: float | None
    working_set_bytes: float | None
    unsure: str | None = None  # why they may be wrong

    def least_seconds(self, bytes_, flops):
        """The time that the roofs allow: the longer of moving and computing. None if neither is known."""
        times = []
        if self.copy_bytes_per_second:
            times.append(bytes_ / self.copy_bytes_per_second)
        if self.unit_operations_per_second:
            times.append(flops / self.unit_operations_per_second)
        return max(times, default=None)


@dataclass(frozen=True)
class Case:
    """What a row worked on. `size` is None for a case that came from a file."""

    app: str
    dtype: str
    size: int | None
    file: str | None
    parameters: tuple  # of (name, value), sorted by name
    data: str | None
    cold: bool


@dataclass(frozen=True)
class Scaling:
    """How a row on several ranks compares with one of one rank (--baseline)."""

    kind: str  # weak or strong
    efficiency: float
    one_seconds: float
    communication_seconds: float  # of the slowest rank
    bytes_sent: float  # by all ranks


@dataclass(frozen=True)
class Row:
    """A row that passed, with the run that it is of."""

    place: Place
    case: Case
    variant: str
    level: str
    ranks: int
    seconds: float
    least_seconds: float  # of the samples
    low_seconds: float  # first quartile of the samples
    high_seconds: float  # third quartile
    bytes: float
    flops: float
    share_of_copy: float | None
    share_of_roof: float | None
    roofs: Roofs
    host: str
    day: str  # when the run began, in UTC
    unit: str | None  # what does its operations; None: an older report, which does not say
    unit_products: int  # of the unit, per product of the result
    elements: int | None  # of the output, written and verified; None if statistics of all elements judged them
    scaling: Scaling | None = None
    joules_per_element: float | None = None  # with --energy
    joules_per_flop: float | None = None
    watts: float | None = None

    @property
    def rounds_to(self):
        """The matrix unit that rounds the row's factors, or multiply_add: several products of a unit make up for it."""
        return "multiply_add" if self.unit_products > 1 else self.unit

    @property
    def noisy(self):
        return self.high_seconds > NOISY_RATIO * self.low_seconds


@dataclass
class Report:
    path: str
    command: str
    started: str
    finished: bool
    cases: list  # of Case
    rows: list  # of Row: those that passed
    weak: list  # of Row: those that no check contradicts, and that it could hardly have (status weak); left out, too
    left_out: dict  # status: number of rows
    unsure: dict  # space: why its roofs may be wrong


def read(path):
    """The report in a file."""
    document = _document(path)
    try:
        return _report(path, document)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError) as error:
        what = f"it has no {error}" if isinstance(error, KeyError) else f"{type(error).__name__}: {error}"
        raise UserError(f"cannot use {path} (it says {SCHEMA} but is not whole: {what}); write it again with --json")


def read_all(paths):
    """The reports in some files; a UserError if nothing passed in any of them."""
    found = [read(path) for path in paths]
    if not any(report.rows for report in found):
        left_out = {}
        for report in found:
            for status, number in report.left_out.items():
                left_out[status] = left_out.get(status, 0) + number
        why = ", ".join(f"{number} {status}" for status, number in sorted(left_out.items())) or "there are no rows"
        raise UserError(
            f"nothing to show in {', '.join(paths)} (no row passed: {why}); see the rows' reasons in the report"
        )
    return found


def _document(path):
    what_to_do = "write a report with --json FILE"
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except OSError as error:
        raise UserError(f"cannot read {path} ({error.strerror}); name a file that --json wrote")
    except (ValueError, RecursionError):
        raise UserError(f"cannot use {path} (it is not a JSON document); {what_to_do}")
    schema = document.get("schema") if isinstance(document, dict) else None
    if not isinstance(schema, str) or not schema.startswith("tessera-"):
        raise UserError(f"cannot use {path} (it is not a Tessera report: it has no schema {SCHEMA}); {what_to_do}")
    if not schema.startswith("tessera-report/"):
        raise UserError(f"cannot use {path} (it is a {schema}, not a report); {what_to_do}")
    if schema != SCHEMA:
        raise UserError(
            f"cannot use {path} (its schema is {schema}, this program reads {SCHEMA}); "
            "use the tessera-plot of the release that wrote it, or run again"
        )
    return document


def _report(path, document):
    build = Build(
        **{
            name: str(document["build"].get(key) or "unknown")
            for name, key in (
                ("version", "version"),
                ("commit", "git_commit"),
                ("kokkos", "kokkos_version"),
                ("compiler", "compiler"),
                ("flags", "flags"),
                ("build_type", "build_type"),
            )
        }
    )
    system = document["system"]
    places = {
        name: Place(name, _plain(space["device"]), build) for name, space in system["spaces"].items()
    }
    inputs = document["input"]
    report = Report(
        path=path,
        command=str(system.get("command") or ""),
        started=str(system.get("started") or ""),
        finished=system.get("finished") is not None,
        cases=[],
        rows=[],
        weak=[],
        left_out={},
        unsure={name: space["roofs_unsure"] for name, space in system["spaces"].items() if space.get("roofs_unsure")},
    )
    for row in document["rows"]:
        timed = bool(_number(row["seconds"]))  # a time of 0 is none: the clock did not see the launch
        rows = {"passed": report.rows, "weak": report.weak}.get(row["status"]) if timed else None
        if rows is not report.rows:
            status = row["status"] if row["status"] != "passed" else "not timed"
            report.left_out[status] = report.left_out.get(status, 0) + 1
        if rows is None:
            continue
        case = _case(inputs[row["case"]], bool(row["cold"]))
        if rows is report.rows and case not in report.cases:
            report.cases.append(case)
        space = system["spaces"][row["space"]]
        seconds = float(row["seconds"])
        rows.append(
            Row(
                place=places[row["space"]],
                case=case,
                variant=_text(row["variant"]),
                level=_text(row["level"]),
                ranks=_count(row["ranks"]["count"], least=1) if "ranks" in row else 1,
                seconds=seconds,
                least_seconds=_number(row.get("seconds_min")) or seconds,
                low_seconds=_number(row["seconds_first_quartile"]) or seconds,
                high_seconds=_number(row["seconds_third_quartile"]) or seconds,
                bytes=_number(row["bytes"]) or 0.0,
                flops=_number(row["flops"]) or 0.0,
                share_of_copy=_number(row["share_of_copy"]),
                share_of_roof=_number(row["share_of_roof"]),
                roofs=Roofs(
                    _number(space["copy_bytes_per_second"]),
                    _number(space["peak_operations_per_second"].get(row["dtype"])),
                    _unit_peak(row, space),
                    _number(space["launch_seconds"]),
                    _number(space["working_set_bytes"]),
                    space.get("roofs_unsure"),  # older reports do not say
                ),
                host=str(system.get("host") or "unknown"),
                day=report.started[:10],
                unit=row.get("unit"),
                unit_products=_count(row.get("unit_products", 1), least=1),
                elements=_count(row["elements"]) if "elements" in row and not row.get("false_alarm_rate") else None,
                scaling=_scaling(row.get("ranks") or {}),
                **{
                    key: _number((row.get("energy") or {}).get(key))
                    for key in ("joules_per_element", "joules_per_flop", "watts")
                },
            )
        )
    return report


def _unit_peak(row, space):
    """The peak of what does the row's operations. Older reports compare all rows with multiply-adds."""
    unit = row.get("unit", "multiply_add")
    if unit == "multiply_add":
        return _number(space["peak_operations_per_second"].get(row["dtype"]))
    peak = _number(space["matrix_peak_operations_per_second"][unit])
    return peak / _count(row["unit_products"], least=1) if peak else None


def _scaling(ranks):
    scaling = ranks.get("scaling")
    if not scaling or not _number(scaling["efficiency"]) or not _number(scaling["baseline_seconds"]):
        return None
    return Scaling(
        kind=_text(scaling["kind"]),
        efficiency=float(scaling["efficiency"]),
        one_seconds=float(scaling["baseline_seconds"]),
        communication_seconds=_number(ranks["communication_seconds"]["max"]) or 0.0,
        bytes_sent=_number(ranks["bytes_sent"]) or 0.0,
    )


def _case(item, cold):
    return Case(
        app=_text(item["app"]),
        dtype=_text(item["dtype"]),
        size=_count(item["size"]) if item["source"] == "generated" else None,
        file=None if item["file"] is None else _text(item["file"]),
        parameters=tuple(sorted((name, _scalar(value)) for name, value in item["parameters"].items())),
        data=None if item["data"] is None else _text(item["data"]),
        cold=cold,
    )


def _number(value):
    """A number that a machine could have measured, or None: 0, or from 1e-30 to 1e30."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and (value == 0 or 1e-30 <= value <= 1e30) else None


def _text(value):
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.40} is not a text")
    return value


def _count(value, least=0):
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**64:
        raise ValueError(f"{value!r:.40} is not a number of elements, ranks or products")
    return value


def _scalar(value):
    if isinstance(value, (list, dict)):
        raise ValueError(f"{value!r:.40} is not a value of a parameter")
    return value


def _plain(device):
    return " ".join(device.replace("(R)", "").replace("(TM)", "").split())
