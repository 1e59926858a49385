"""Our fastest row beside each library's, case by case."""

import os

from .reports import UserError, read_all

NOISE = "~"  # in the place of a figure


def refuse_noisy(rows, paths):
    """A UserError if one of the rows is noisy: its median is no figure for a page."""
    noisy = [f"{row.case.app} {row.variant} {case_text(row.case)}" for row in rows if row.noisy]
    if noisy:
        more = f" and {len(noisy) - 3} more" if len(noisy) > 3 else ""
        raise UserError(
            f"{', '.join(noisy[:3])}{more} in {', '.join(map(os.path.basename, paths))}: "
            "noisy (the upper quartile of the samples exceeds 1.5 times the lower); "
            "measure again, or write noisy=omitted in the mark, and the table has ~ there"
        )


# What a parameter is where nobody says anything: not worth a word. Of the others 0, and of an axis nothing:
# it is always said.
DEFAULTS = {
    "axis": None,
    "bins": 256,
    ("partition", "bins"): 2,
    "c": 10.0,
    "causal": True,
    "distribution": "uniform",
    ("top_k", "distribution"): "ties",
    "eps": 1e-05,
    "generator": "philox",
    "hi": 1048576.0,
    ("random", "hi"): 6,
    ("top_k", "k"): -1,
    "kernel": 4,
    "kernel-cols": 3,
    "kernel-rows": 3,
    "lengths": "uniform",
    "mean": 32,
    "mode": "reduce",
    "op": "sum",
    "right": "kept",
    ("top_k", "rows"): 1,
    "scale": 1.0,
    "seed": 42,
    "values": "none",
    "width": 0.0078125,
    "window": 3,
    "words": 3,
}


def case_text(case):
    text = size_text(case.size) if case.size is not None else os.path.basename(case.file)
    for name, value in case.parameters:
        # count is the size, and dtype stands behind.
        if name not in ("count", "dtype") and value != DEFAULTS.get((case.app, name), DEFAULTS.get(name, 0)):
            text += f" --{name} {value}"
    return text if case.dtype == "float" else f"{text} {case.dtype}"


def size_text(size):
    power = size.bit_length() - 1
    return f"2^{power}" if size == 1 << power and power >= 10 else str(size)


def rate(row, seconds):
    by_bytes = row.bytes / seconds
    by_flops = row.flops / seconds
    roofs = row.roofs
    of_memory = by_bytes / roofs.copy_bytes_per_second if roofs.copy_bytes_per_second else 0
    of_peak = by_flops / roofs.peak_operations_per_second if roofs.peak_operations_per_second else 0
    return f"{by_flops / 1e12:.3g} TFLOP/s" if of_peak > of_memory else f"{by_bytes / 1e9:.4g} GB/s"


def rivals_of(peer, rows):
    """Our rows that do what a peer does: they write no fewer elements, and do not round their factors. For a peer in
    bfloat16 they are the rows that round their factors to it. A row of an older report that does not say is not set
    beside a peer."""
    rows = [row for row in rows if None in (row.elements, peer.elements) or row.elements >= peer.elements]
    unit = "bfloat16" if peer.variant.endswith("_bf16") else "multiply_add"
    return [row for row in rows if row.rounds_to == unit]


def faster_ways(peers):
    """The peers without the slower of two calls of one function: `cub_64` is `cub` with a count of 64 bits. The faster
    counts even if it is noisy."""
    by_name = {peer.variant: peer for peer in peers}

    def is_slower(peer):
        other = by_name.get(peer.variant.removesuffix("_64") if peer.variant.endswith("_64") else f"{peer.variant}_64")
        return other is not None and (other.seconds, other.variant) < (peer.seconds, peer.variant)

    return [peer for peer in peers if not is_slower(peer)]


def table(paths, omit_noisy=False):
    """The lines of the table. Rows of one case in several reports are set beside each other: of one device and one
    build. A case whose rows of ours are all weak is there, and says so. A figure of a noisy row is a UserError,
    or ~ with `omit_noisy`."""
    reports = read_all(paths)
    weak = [row for report in reports for row in report.weak if row.ranks == 1]
    rows = [row for report in reports for row in report.rows if row.ranks == 1] + weak
    places = {row.place for row in rows}
    if len({(place.device, place.build) for place in places if place.space == rows[0].place.space}) > 1:
        raise UserError(f"{', '.join(paths)} are not of one device and one build (their figures are not comparable); "
                        "run all of them at once")
    cases = {}
    for row in rows:
        cases.setdefault((row.place.space, row.case), []).append(row)
    lines = ["| mini-app | case | ours | | peer | | ratio |", "|---|---|---|---:|---|---:|---:|"]
    for (space, case), of_case in cases.items():
        peers = faster_ways([row for row in of_case if row.level == "library" and row not in weak])
        for peer in sorted(peers, key=lambda row: row.variant):
            ours = rivals_of(peer, [row for row in of_case if row.level != "library"])
            if not ours:
                continue
            # The fastest, even if it is noisy: a slower one in its place would make the peer look better than it is.
            best = min([row for row in ours if row not in weak] or ours, key=lambda row: row.seconds)
            name = f"`{best.variant}` (weak)" if best in weak else f"`{best.variant}`"
            if not omit_noisy:
                refuse_noisy([best, peer], paths)
            own = NOISE if best.noisy else rate(best, best.seconds)
            other = NOISE if peer.noisy else rate(best, peer.seconds)
            ratio = NOISE if best.noisy or peer.noisy else f"{peer.seconds / best.seconds:.2f}"
            # A library's call and what restores an order after it: no ratio, since no user waits for it.
            if peer.variant.endswith("_restored"):
                ratio = ""
            lines.append(f"| {case.app} | {case_text(case)} | {name} | {own} | {peer.variant} | {other} | {ratio} |")
    if len(lines) == 2:
        raise UserError(f"nothing to compare in {', '.join(paths)} (no case has rows of both); run tessera_peers")
    return lines
