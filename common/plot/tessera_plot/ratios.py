"""Our fastest row beside each library's, case by case."""

import os

from .reports import UserError, read_all

# What a parameter is where nobody says anything: not worth a word. Of the others 0, and of an axis nothing: it is always said.
DEFAULTS = {
    "axis": None,
    "bins": 256,
    "c": 10.0,
    "distribution": "uniform",
    "eps": 1e-05,
    "hi": 1048576.0,
    "kernel": 4,
    "kernel-cols": 3,
    "kernel-rows": 3,
    "op": "sum",
    "scale": 1.0,
    "window": 3,
}


def case_text(case):
    text = size_text(case.size) if case.size is not None else os.path.basename(case.file)
    for name, value in case.parameters:
        if value != DEFAULTS.get(name, 0):
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


# Rows of ours that do less than the others of their mini-app, and so are set beside no library.
LESS = {
    ("partition", "compact"): "writes the left side alone",
    ("matmul", "tensor_tf32"): "rounds factors to 11 bits",
    ("matmul", "tensor_fp16"): "rounds factors to 11 bits",
    ("matmul", "tensor_bf16"): "rounds factors to 8 bits",
    ("matmul", "warpgroup_tf32"): "rounds factors to 11 bits",
    ("matmul", "warpgroup_fp16"): "rounds factors to 11 bits",
    ("matmul", "warpgroup_bf16"): "rounds factors to 8 bits",
    ("layernorm_linear", "fused_tensor"): "rounds factors to 8 bits",
    ("attention", "fused_tensor"): "rounds factors to 8 bits",
}


def table(paths):
    """The lines of the table. Rows of one case in several reports are set beside each other: of one device and one build. A case
    whose rows of ours are all weak is there, and says so."""
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
        ours = [row for row in of_case if row.level != "library" and (case.app, row.variant) not in LESS]
        peers = [row for row in of_case if row.level == "library" and row not in weak]
        if not ours or not peers:
            continue
        best = min([row for row in ours if row not in weak] or ours, key=lambda row: row.seconds)
        name = f"`{best.variant}` (weak)" if best in weak else f"`{best.variant}`"
        for peer in sorted(peers, key=lambda row: row.variant):
            lines.append(
                f"| {case.app} | {case_text(case)} | {name} | "
                f"{rate(best, best.seconds)} | {peer.variant} | {rate(best, peer.seconds)} | {peer.seconds / best.seconds:.2f} |"
            )
    if len(lines) == 2:
        raise UserError(f"no case in {', '.join(paths)} has a row of ours and one of a library's; run tessera_peers")
    return lines
