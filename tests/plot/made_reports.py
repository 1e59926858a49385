"""Reports made for the tests, in the form that common/src/report/report.cpp writes."""

import json
import os

COPY = 100e9
PEAK = 1e12


def report(rows, device="A chip, 8 threads", space="openmp", dtype="float", copy=COPY, finished=True, **build):
    """A report of rows that are dictionaries: app, variant, size, seconds, and what else differs from the usual."""
    cases, written = [], []
    for row in rows:
        size = row.get("size", 2**24)
        bytes_, flops = row.get("bytes", 8.0 * size), row.get("flops", 1.0 * size)
        case = {
            "app": row["app"], "source": "file" if row.get("file") else "generated", "file": row.get("file"),
            "dtype": dtype, "size": None if row.get("file") else size, "seed": 42, "data": "exact",
            "input_shapes": {"a": [size]}, "output_shapes": {"out": [size]},
            "parameters": row.get("parameters", {"team": 0}), "has_expected": False,
            "bytes": bytes_, "flops": flops, "reference_seconds": 0.1,
        }  # fmt: skip
        if case not in cases:
            cases.append(case)
        seconds = row.get("seconds")
        least = max(bytes_ / copy, flops / PEAK)
        written.append({
            "app": row["app"], "case": cases.index(case), "variant": row.get("variant", "plain"),
            "level": row.get("level", "range"), "space": space, "dtype": dtype, "status": row.get("status", "passed"),
            "reason": None, "seconds": seconds, "seconds_min": seconds and seconds * 0.8,
            "seconds_first_quartile": seconds and seconds * 0.9,
            "seconds_third_quartile": seconds and seconds * (2 if row.get("noisy") else 1.2),
            "bytes_per_second": seconds and bytes_ / seconds,
            "share_of_copy": seconds and bytes_ / copy / seconds, "share_of_roof": seconds and least / seconds,
            "bytes": bytes_, "flops": flops, "cold": row.get("cold", False),
            # Older reports have no unit.
            **({} if row.get("older") else {
                "unit": row.get("unit", "multiply_add"), "unit_products": row.get("unit_products", 1)}),
            **({"elements": row["elements"]} if "elements" in row else {}),
            **({"false_alarm_rate": row["false_alarm_rate"]} if "false_alarm_rate" in row else {}),
            **({"energy": row["energy"]} if "energy" in row else {}),
            **({"ranks": {"count": row["ranks"], "transport": "host", **row.get("of_ranks", {})}}
               if row.get("ranks", 1) > 1 else {}),
        })  # fmt: skip
    return {
        "schema": "tessera-report/1",
        "input": cases,
        "build": {"build_type": "Release", "compiler": "GNU 16.2.0", "flags": "-O3", "git_commit": "0123456789ab",
                  "kokkos_version": "5.2.2", "version": "0.1.0", **build},  # fmt: skip
        "system": {
            "command": "tessera run all", "host": "node7", "started": "2026-11-22T06:00:00Z",
            "finished": "2026-11-22T06:01:00Z" if finished else None,
            "spaces": {space: {
                "device": device, "copy_bytes_per_second": copy, "launch_seconds": 1e-6, "working_set_bytes": 2.0**29,
                "peak_operations_per_second": {
                    "float": PEAK if dtype == "float" else None, "double": None, "int32": None},
                "matrix_peak_operations_per_second": {"tf32": 6 * PEAK, "half": 12 * PEAK, "bfloat16": None},
            }},
        },
        "rows": written,
    }  # fmt: skip


def write(folder, name, document):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        if isinstance(document, str):
            file.write(document)
        else:
            json.dump(document, file)
    return path
