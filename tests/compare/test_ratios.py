"""Ours beside each peer: which rows are set beside each other, and what is divided by what."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "plot")]
sys.dont_write_bytecode = True

import made_reports  # noqa: E402
import ratios  # noqa: E402
from made_reports import report  # noqa: E402


def table_of(*documents):
    with tempfile.TemporaryDirectory() as folder:
        paths = [made_reports.write(folder, f"{number}.json", document) for number, document in enumerate(documents)]
        return ratios.table(paths)[2:]


OURS = [
    {"app": "map", "variant": "range", "seconds": 4e-3},
    {"app": "map", "variant": "blocked", "seconds": 2e-3},
    {"app": "map", "variant": "kernels", "level": "library", "seconds": 6e-3},
]


class Ratios(unittest.TestCase):
    def test_our_fastest_beside_each_library(self):
        rows = OURS + [{"app": "map", "variant": "thrust", "level": "library", "seconds": 1e-3}]
        kernels, thrust = table_of(report(rows))
        # 2^24 elements of 8 bytes in 2 ms, 6 ms and 1 ms.
        self.assertEqual(kernels, "| map | 2^24 | `blocked` | 67.11 GB/s | kernels | 22.37 GB/s | 3.00 |")
        self.assertEqual(thrust, "| map | 2^24 | `blocked` | 67.11 GB/s | thrust | 134.2 GB/s | 0.50 |")

    def test_other_cases_are_not_mixed(self):
        other = [{"app": "map", "variant": "thrust", "level": "library", "seconds": 1e-3, "size": 2**20}]
        rows = OURS[:2] + other + [{"app": "map", "variant": "thrust", "level": "library", "seconds": 1e-3}]
        self.assertEqual(len(table_of(report(rows))), 1)
        with self.assertRaises(ratios.UserError):
            table_of(report(OURS[:2] + other))

    def test_a_second_report_of_the_same_build(self):
        torch = [{"app": "map", "variant": "pytorch", "level": "library", "seconds": 8e-3}]
        self.assertIn("| pytorch | 16.78 GB/s | 4.00 |", table_of(report(OURS[:2]), report(torch))[0])
        for other in (report(torch, device="another"), report(torch, git_commit="fedcba987654")):
            with self.assertRaises(ratios.UserError):
                table_of(report(OURS[:2]), other)

    def test_a_product_of_matrices_is_said_in_operations(self):
        rows = [
            {"app": "matmul", "variant": "register_tile", "seconds": 1e-3, "bytes": 1e6, "flops": 5e8},
            {"app": "matmul", "variant": "cublas", "level": "library", "seconds": 2e-3, "bytes": 1e6, "flops": 5e8},
        ]
        self.assertIn("| 0.5 TFLOP/s | cublas | 0.25 TFLOP/s | 2.00 |", table_of(report(rows))[0])

    def test_parameters_that_are_not_the_defaults(self):
        def text(parameters):
            rows = [{**row, "parameters": parameters} for row in OURS]
            return table_of(report(rows))[0].split("|")[2].strip()

        self.assertEqual(text({"team": 0, "bins": 256, "exclusive": False}), "2^24")
        self.assertEqual(text({"axis": 0, "bins": 7, "exclusive": True}), "2^24 --axis 0 --bins 7 --exclusive True")

    def test_rows_that_do_less_do_not_count(self):
        for less in ({"unit": "tf32"}, {"unit": "half"}, {"unit": "bfloat16"}, {"elements": 2**23}):
            rows = [
                {"app": "matmul", "variant": "less", "seconds": 1e-3, **less},
                {"app": "matmul", "variant": "whole", "seconds": 2e-3, "elements": 2**24},
                {"app": "matmul", "variant": "peer", "level": "library", "seconds": 1e-3, "elements": 2**24},
            ]
            self.assertIn("`whole`", table_of(report(rows))[0], less)
        rows[0].update(unit="tf32", unit_products=3, elements=2**24)
        self.assertIn("`less`", table_of(report(rows))[0])

    def test_a_peer_that_statistics_judge_stands_beside_a_sample(self):
        rows = [
            {"app": "random", "variant": "per_counter", "seconds": 2e-3, "elements": 1472},
            {"app": "random", "variant": "curand", "level": "library", "seconds": 3e-3, "elements": 2**24},
        ]
        with self.assertRaises(ratios.UserError):
            table_of(report(rows))
        rows[1]["false_alarm_rate"] = 1e-6
        self.assertIn("`per_counter`", table_of(report(rows))[0])

    def test_an_older_report_does_not_say_what_its_rows_round(self):
        with self.assertRaises(ratios.UserError):
            table_of(report([{**row, "older": True} for row in OURS]))

    def test_a_peer_in_bfloat16_stands_beside_what_rounds_to_it(self):
        rows = [
            {"app": "matmul", "variant": "warpgroup_bf16", "seconds": 2e-3, "unit": "bfloat16"},
            {"app": "matmul", "variant": "whole", "seconds": 1e-3},
            {"app": "matmul", "variant": "tensor_fp16", "seconds": 1e-3, "unit": "half"},
            {"app": "matmul", "variant": "cublas_bf16", "level": "library", "seconds": 1e-3},
        ]
        (line,) = table_of(report(rows))
        self.assertIn("`warpgroup_bf16`", line)
        self.assertTrue(line.endswith("| 0.50 |"), line)

    def test_what_a_peer_restores_has_no_ratio(self):
        rows = [
            {"app": "partition", "variant": "look_back", "seconds": 2e-3},
            {"app": "partition", "variant": "cub", "level": "library", "seconds": 1e-3},
            {"app": "partition", "variant": "cub_restored", "level": "library", "seconds": 4e-3},
        ]
        own, restored = table_of(report(rows))
        self.assertTrue(own.endswith("| 0.50 |"), own)
        self.assertTrue(restored.endswith("|  |"), restored)

    def test_the_faster_of_two_ways_to_call_a_library_counts(self):
        for seconds, name, ratio in ((4e-3, "cub", "1.50"), (2e-3, "cub_64", "1.00"), (3e-3, "cub", "1.50")):
            rows = [
                {"app": "sort", "variant": "onesweep", "seconds": 2e-3},
                {"app": "sort", "variant": "cub", "level": "library", "seconds": 3e-3},
                {"app": "sort", "variant": "cub_64", "level": "library", "seconds": seconds},
            ]
            (line,) = table_of(report(rows))
            self.assertIn(f"| {name} |", line)
            self.assertTrue(line.endswith(f"| {ratio} |"), line)

    def test_rows_that_did_not_pass_do_not_count(self):
        rows = OURS[:1] + [{**OURS[1], "status": "failed"}, OURS[2]]
        self.assertIn("`range`", table_of(report(rows))[0])

    def test_a_weak_row_is_marked_and_never_ahead_of_one_that_passed(self):
        library = {**OURS[2], "variant": "thrust"}
        weak = {**OURS[1], "status": "weak"}
        self.assertIn("| `blocked` (weak) |", table_of(report([weak, library]))[0])
        self.assertIn("| `range` |", table_of(report([OURS[0], weak, library]))[0])
        with self.assertRaises(ratios.UserError):  # no figure of a library counts that is weak itself
            table_of(report([OURS[0], {**library, "status": "weak"}]))


class PyTorch(unittest.TestCase):
    def test_says_that_it_is_not_here_or_writes_a_report(self):
        with tempfile.TemporaryDirectory() as folder:
            document = report([{"app": "map", "seconds": 1e-3, "size": 1000, "parameters": {"c": 10.0}}])
            path = made_reports.write(folder, "ours.json", document)
            out = os.path.join(folder, "torch.json")
            command = [sys.executable, os.path.join(HERE, "pytorch.py"), path, "--json", out, "--device", "cpu"]
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
            if ended.returncode == 2:
                self.assertIn("PyTorch is not here", ended.stderr)
                return
            self.assertEqual(ended.returncode, 0, ended.stderr)
            with open(out, encoding="utf-8") as file:
                self.assertEqual([row["variant"] for row in json.load(file)["rows"]], ["pytorch"])


if __name__ == "__main__":
    unittest.main()
