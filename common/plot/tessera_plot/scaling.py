"""How rows on several ranks scale, as a table: against the rows of one rank that --baseline named."""

from .ratios import NOISE, refuse_noisy, size_text
from .reports import UserError, read_all


def table(paths, omit_noisy=False):
    """Returns the table: one line per row for weak scaling; one line per mini-app and a column per size for strong
    scaling. A noisy row is a UserError, or ~ with `omit_noisy`."""
    reports = read_all(paths)
    rows = [row for report in reports for row in report.rows if row.scaling]
    kinds = {row.scaling.kind for row in rows}
    if len(kinds) != 1:
        raise UserError(f"{', '.join(paths)}: {' and '.join(sorted(kinds)) or 'no'} scaling (a table has one kind); "
                        "name reports of one kind that ran with --baseline")  # fmt: skip
    if len({(row.place, row.ranks) for row in rows}) > 1:
        raise UserError(f"{', '.join(paths)} are not of one device, one build and one number of ranks; split them")
    if not omit_noisy:
        refuse_noisy(rows, paths)
    row = rows[0]
    lines = [
        f"{min(report.started for report in reports)[:10]}, {row.ranks} ranks, "
        f"each on one {row.place.device} ({row.place.space}), "
        f"{row.place.build.compiler}, Kokkos {row.place.build.kokkos}, commit {row.place.build.commit}.",
        "",
        "```",
        *dict.fromkeys(f"$ {report.command}" for report in reports),
        "```",
        "",
    ]
    return lines + (_weak(rows) if "weak" in kinds else _strong(rows))


def _weak(rows):
    ranks = rows[0].ranks
    lines = [
        f"| mini-app | size per rank | one rank | {ranks} ranks | efficiency "
        "| communication, slowest rank | sent, MiB |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for row in sorted(rows, key=lambda row: (row.case.app, row.case.size)):
        of = row.scaling
        time, efficiency = (NOISE, NOISE) if row.noisy else (time_text(row.seconds), f"{of.efficiency:.0%}")
        lines.append(
            f"| {row.case.app} | {size_text(row.case.size // ranks)} | {time_text(of.one_seconds)} | {time} | "
            f"{efficiency} | {time_text(of.communication_seconds)} | {of.bytes_sent / 2**20:.3g} |"
        )
    return lines


def _strong(rows):
    sizes = sorted({row.case.size for row in rows})
    lines = [
        "Time of one rank; how many times as fast all are.",
        "",
        "| mini-app | " + " | ".join(map(size_text, sizes)) + " |",
        "|---|" + "---:|" * len(sizes),
    ]
    for app in sorted({row.case.app for row in rows}):
        of_app = {row.case.size: row for row in rows if row.case.app == app}
        cells = [
            f"{time_text(of_app[size].scaling.one_seconds)}; {_speedup(of_app[size])}" if size in of_app else ""
            for size in sizes
        ]
        lines.append(f"| {app} | " + " | ".join(cells) + " |")
    return lines


def _speedup(row):
    return NOISE if row.noisy else f"{row.scaling.one_seconds / row.seconds:.2f}"


def time_text(seconds):
    """Three digits, in the largest unit of which there is one."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"
