"""Which series are computed from which rows. No matplotlib: what a picture shows is decided here."""

import glob
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "common", "plot")]
sys.dont_write_bytecode = True

import made_reports  # noqa: E402
from made_reports import COPY, PEAK, report  # noqa: E402
from tessera_plot import command, reports, series  # noqa: E402


def points_of(*documents):
    with tempfile.TemporaryDirectory() as folder:
        paths = [made_reports.write(folder, f"{number}.json", document) for number, document in enumerate(documents)]
        return series.points(reports.read_all(paths))


class KeptReports(unittest.TestCase):
    """Those that programs wrote: made_reports.py knows only what its author knew."""

    FOLDER = os.path.join(HERE, "..", "..", "common", "results")

    def test_all_can_be_read(self):
        paths = sorted(glob.glob(os.path.join(self.FOLDER, "*", "*.json")))
        # tests/compare/call_overhead.py writes no report of mini-apps.
        paths = [path for path in paths if os.path.basename(path) != "call_overhead.json"]
        self.assertGreater(len(paths), 0)
        for path in paths:
            with self.subTest(os.path.basename(path)):
                report = reports.read(path)
                self.assertTrue(report.rows or report.weak)

    def test_of_several_ranks(self):
        report = reports.read(os.path.join(self.FOLDER, "nvidia-h200-x2-2026-11-23", "strong-2p20-2.json"))
        self.assertEqual({row.ranks for row in report.rows}, {2})


class Points(unittest.TestCase):
    def test_one_launch_has_the_quartiles_of_its_samples(self):
        (point,) = points_of(report([{"app": "map", "seconds": 2e-3}]))
        self.assertEqual((point.launches, point.seconds), (1, 2e-3))
        self.assertAlmostEqual(point.low_seconds, 1.8e-3)
        self.assertAlmostEqual(point.high_seconds, 2.4e-3)
        self.assertAlmostEqual(point.bytes_per_second, 8 * 2**24 / 2e-3)

    def test_launches_of_the_same_thing_are_joined(self):
        (point,) = points_of(*(report([{"app": "map", "seconds": seconds}]) for seconds in (3e-3, 1e-3, 2e-3)))
        self.assertEqual((point.launches, point.seconds, point.low_seconds, point.high_seconds), (3, 2e-3, 1e-3, 3e-3))

    def test_quartiles_further_apart_than_half_as_much_again_are_noise(self):
        rows = [
            {"app": "map", "variant": "quiet", "seconds": 2e-3},
            {"app": "map", "variant": "noisy", "seconds": 1e-3, "noisy": True},
        ]
        found = [(point.variant, point.noisy) for point in points_of(report(rows))]
        self.assertEqual(found, [("quiet", False), ("noisy", True)])
        # A ratio of exactly 1.5 is not noisy.
        document = report(rows[:1])
        document["rows"][0].update(seconds_first_quartile=1.0, seconds=1.2, seconds_third_quartile=1.5)
        self.assertFalse(points_of(document)[0].noisy)
        document["rows"][0].update(seconds_third_quartile=1.501)
        self.assertTrue(points_of(document)[0].noisy)

    def test_launches_are_noisy_together(self):
        def launches(*rows):
            (point,) = points_of(
                *(report([{"app": "map", "seconds": seconds, "noisy": noisy}]) for seconds, noisy in rows)
            )
            return point.noisy

        self.assertFalse(launches((1.0, False), (1.1, False), (1.2, True)))
        self.assertTrue(launches((1.0, False), (1.1, True)))
        self.assertTrue(launches((1.0, False), (1.0, False), (2.0, False), (2.0, False)))

    def test_the_best_is_not_noisy_unless_all_are(self):
        rows = [{"app": "dot", "variant": variant, "seconds": seconds, "noisy": noisy}
                for variant, seconds, noisy in (("a", 1e-3, True), ("b", 3e-3, False), ("c", 2e-3, False))]  # fmt: skip
        points = points_of(report(rows))
        self.assertEqual([point.variant for point in series.largest_cases(points)[0].points], ["c", "b", "a"])
        (picture,) = series.shares(points)
        self.assertEqual([point.variant for point in picture.groups[0].points], ["c", "b", "a"])
        (picture,) = series.comparisons([*points, *points_of(report(rows, device="B chip"))], most_rows=0)
        self.assertEqual([point.variant for point in picture.rows[0][2]], ["c", "c"])
        (group,) = series.largest_cases(points_of(report(rows[:1])))
        self.assertEqual([point.variant for point in group.points], ["a"])

    def test_size_day_and_host_are_known(self):
        there = report([{"app": "map", "seconds": 1e-3}])
        there["system"].update(host="node8", started="2026-11-24T06:00:00Z")
        (point,) = points_of(report([{"app": "map", "seconds": 1e-3}]), there)
        self.assertEqual((point.days, point.hosts), (("2026-11-22", "2026-11-24"), ("node7", "node8")))
        self.assertEqual(point.least_seconds_measured, 0.8e-3)

    def test_a_launch_is_held_against_its_own_roof(self):
        slow, fast = (report([{"app": "map", "seconds": 2e-3}], copy=copy) for copy in (50e9, 100e9))
        (point,) = points_of(slow, fast)
        shares = [8 * 2**24 / 2e-3 / copy for copy in (50e9, 100e9)]
        self.assertAlmostEqual(point.share_of_roof, sum(shares) / 2)

    def test_builds_and_devices_are_not_mixed(self):
        rows = [{"app": "map", "seconds": 1e-3}]
        points = points_of(report(rows), report(rows, kokkos_version="4.6.1"), report(rows, device="B chip"))
        names = series.place_names([point.place for point in points])
        self.assertEqual(
            sorted(names.values()),
            [
                "openmp on A chip, 8 threads, Kokkos 4.6.1",
                "openmp on A chip, 8 threads, Kokkos 5.2.2",
                "openmp on B chip",
            ],
        )
        self.assertEqual(list(series.place_slugs(list(names)).values()), ["openmp1", "openmp2", "openmp3"])

    def test_only_rows_that_passed_count(self):
        rows = [
            {"app": "map", "variant": status, "seconds": 1e-3, "status": status}
            for status in ("passed", "failed", "weak")
        ]
        (point,) = points_of(report(rows + [{"app": "map", "variant": "none", "status": "skipped"}]))
        self.assertEqual(point.variant, "passed")


class LargestCases(unittest.TestCase):
    def test_the_case_that_moves_most_and_the_fastest_first(self):
        rows = [{"app": "map", "variant": v, "size": n, "seconds": s}
                for v, n, s in (("a", 2**20, 1e-9), ("a", 2**24, 2e-3), ("b", 2**24, 1e-3))]  # fmt: skip
        (group,) = series.largest_cases(points_of(report(rows)))
        self.assertEqual([(point.variant, point.case.size) for point in group.points], [("b", 2**24), ("a", 2**24)])
        self.assertFalse(group.small)

    def test_settings_are_groups_named_by_what_differs(self):
        rows = [
            {"app": "prefix_sum", "seconds": 1e-3, "parameters": {"segment": segment, "op": "sum"}}
            for segment in (0, 64)
        ]
        groups = series.largest_cases(points_of(report(rows)))
        self.assertEqual([group.name for group in groups], ["prefix_sum segment=0", "prefix_sum segment=64"])

    def test_files_count_only_without_generated_cases(self):
        files = [
            {"app": app, "file": f"{n}.h5", "size": n, "seconds": 1e-6} for app in ("map", "dot") for n in (5, 700)
        ]
        groups = series.largest_cases(points_of(report(files + [{"app": "map", "size": 100, "seconds": 1e-6}])))
        found = [(group.app, group.points[0].case.file) for group in groups]
        self.assertEqual(found, [("dot", "700.h5"), ("map", None)])
        self.assertTrue(all(group.small for group in groups))


class Roofline(unittest.TestCase):
    def test_points_and_ceilings(self):
        rows = [{"app": "map", "seconds": 4e-3}, {"app": "transpose", "flops": 0.0, "seconds": 1e-3},
                {"app": "roofline", "seconds": 1e-3}]  # fmt: skip
        (picture,) = series.rooflines(points_of(report(rows)))
        self.assertEqual((picture.copy, picture.peak, picture.working_set_bytes), ((COPY,) * 3, (PEAK,) * 3, 2**29))
        self.assertEqual([group.name for group in picture.groups], ["map"])
        self.assertEqual(picture.without_operations, ["transpose"])
        point = picture.groups[0].points[0]
        self.assertAlmostEqual(point.intensity, 1 / 8)
        self.assertAlmostEqual(point.flops_per_second, 2**24 / 4e-3)

    def test_ceilings_of_several_runs(self):
        runs = [report([{"app": "map", "seconds": 1e-3}], copy=copy) for copy in (90e9, 80e9, 100e9)]
        (picture,) = series.rooflines(points_of(*runs))
        self.assertEqual(picture.copy, (80e9, 90e9, 100e9))

    def test_a_picture_a_dtype(self):
        rows = [{"app": "map", "seconds": 1e-3}]
        pictures = series.rooflines(points_of(report(rows), report(rows, dtype="double")))
        peaks = [(picture.dtype, picture.peak is None) for picture in pictures]
        self.assertEqual(peaks, [("float", False), ("double", True)])


class OverSize(unittest.TestCase):
    def test_series_by_size_and_the_roof(self):
        rows = [{"app": "map", "variant": variant, "size": size, "seconds": size * slow}
                for size in (2**22, 2**20) for variant, slow in (("a", 1e-9), ("b", 2e-9))]  # fmt: skip
        (picture,) = series.over_size(points_of(report(rows)))
        self.assertEqual(list(picture.variants), ["a", "b"])
        found = [(p.case.size, p.seconds) for p in picture.variants["b"]]
        self.assertEqual(found, [(2**n, 2**n * 2e-9) for n in (20, 22)])
        self.assertEqual([size for size, _, _ in picture.roof], [2**20, 2**22])
        self.assertAlmostEqual(picture.roof[0][1], 8 * 2**20 / COPY)
        self.assertAlmostEqual(picture.roof[0][2], COPY)
        self.assertEqual(picture.launch_seconds, 1e-6)

    def test_the_peak_is_the_roof_where_operations_bind(self):
        rows = [{"app": "matmul", "size": size, "seconds": 1.0, "flops": 1e4 * size} for size in (2**10, 2**12)]
        (picture,) = series.over_size(points_of(report(rows)))
        self.assertAlmostEqual(picture.roof[1][1], 1e4 * 2**12 / PEAK)
        self.assertAlmostEqual(picture.roof[1][2], 8 * 2**12 / (1e4 * 2**12 / PEAK))

    def test_the_peak_is_that_of_the_unit(self):
        def seconds_of(**unit):
            row = {"app": "matmul", "variant": "tensor", "size": 2**12, "seconds": 1.0, "flops": 1e6 * 2**12, **unit}
            (point,) = points_of(report([row]))
            return point.least_seconds

        adding = 1e6 * 2**12 / PEAK
        self.assertAlmostEqual(seconds_of(), adding)
        self.assertAlmostEqual(seconds_of(unit="multiply_add", unit_products=1), adding)
        self.assertAlmostEqual(seconds_of(unit="tf32", unit_products=1), adding / 6)
        self.assertAlmostEqual(seconds_of(unit="tf32", unit_products=3), adding / 2)
        self.assertAlmostEqual(seconds_of(unit="half", unit_products=1), adding / 12)
        self.assertAlmostEqual(seconds_of(unit="bfloat16", unit_products=1), 8 * 2**12 / COPY)  # its peak is not known

    def test_the_line_of_the_peak_is_that_of_multiply_adds(self):
        rows = [{"app": "matmul", "variant": "plain", "seconds": 1.0, "unit": "multiply_add", "unit_products": 1},
                {"app": "matmul", "variant": "tensor", "seconds": 0.5, "unit": "tf32", "unit_products": 1}]  # fmt: skip
        (picture,) = series.rooflines(points_of(report(rows)))
        self.assertEqual(picture.peak, (PEAK, PEAK, PEAK))

    def test_one_size_is_no_series(self):
        self.assertEqual(series.over_size(points_of(report([{"app": "map", "seconds": 1e-3}]))), [])


class Shares(unittest.TestCase):
    def test_largest_first(self):
        rows = [
            {"app": "dot", "variant": variant, "seconds": seconds}
            for variant, seconds in (("slow", 4e-3), ("fast", 2e-3))
        ]
        (picture,) = series.shares(points_of(report(rows)))
        best, other = picture.groups[0].points
        self.assertEqual((best.variant, other.variant), ("fast", "slow"))
        self.assertAlmostEqual(best.share_of_roof, 8 * 2**24 / COPY / 2e-3)


class Energies(unittest.TestCase):
    def test_least_first_and_rows_without_are_left_out(self):
        rows = [
            {"app": "dot", "variant": variant, "seconds": 2e-3,
             "energy": {"joules_per_element": joules, "joules_per_flop": None, "watts": 300.0}}
            for variant, joules in (("thirsty", 4e-9), ("frugal", 2e-9))
        ]  # fmt: skip
        rows.append({"app": "dot", "variant": "unknown", "seconds": 1e-3})
        (picture,) = series.energies(points_of(report(rows)))
        least, most = picture.groups[0].points
        self.assertEqual((least.variant, most.variant), ("frugal", "thirsty"))
        self.assertEqual((least.joules_per_element, least.joules_per_flop, least.watts), (2e-9, None, 300.0))

    def test_launches_are_joined(self):
        launches = [
            report([{"app": "dot", "seconds": 2e-3,
                     "energy": {"joules_per_element": joules, "joules_per_flop": joules, "watts": 300.0}}])
            for joules in (2e-9, 4e-9, 3e-9)
        ]  # fmt: skip
        (picture,) = series.energies(points_of(*launches))
        self.assertAlmostEqual(picture.groups[0].points[0].joules_per_element, 3e-9)

    def test_reports_without_energy_have_no_picture(self):
        self.assertEqual(series.energies(points_of(report([{"app": "dot", "seconds": 1e-3}]))), [])


class Scaling(unittest.TestCase):
    def rows(self, cases):
        return report(
            [{"app": "dot", "size": size, "ranks": ranks, "seconds": seconds} for size, ranks, seconds in cases]
        )

    def test_strong(self):
        cases = [(2**24, 1, 8.0), (2**24, 4, 4.0), (2**24, 2, 4.0)]
        (picture,) = series.scaling(points_of(self.rows(cases)), weak=False)
        self.assertEqual(picture.size, 2**24)
        figures = [
            (ranks, seconds, speedup, efficiency)
            for ranks, seconds, _, _, speedup, efficiency in picture.variants["plain"]
        ]
        self.assertEqual(figures, [(1, 8.0, 1.0, 1.0), (2, 4.0, 2.0, 1.0), (4, 4.0, 2.0, 0.5)])

    def test_strong_from_two_ranks_on(self):
        (picture,) = series.scaling(points_of(self.rows([(2**24, 2, 8.0), (2**24, 8, 4.0)])), weak=False)
        self.assertEqual([values[4:] for values in picture.variants["plain"]], [(2.0, 1.0), (4.0, 0.5)])

    def test_weak(self):
        points = points_of(self.rows([(2**20, 1, 1.0), (2**21, 2, 1.25), (2**22, 4, 2.0)]))
        (picture,) = series.scaling(points, weak=True)
        self.assertEqual(picture.size, 2**20)
        self.assertEqual([(v[0], v[5]) for v in picture.variants["plain"]], [(1, 1.0), (2, 0.8), (4, 0.5)])
        self.assertEqual(series.scaling(points, weak=False), [])

    def test_of_sizes_times_ranks_weak_takes_the_longest(self):
        points = points_of(self.rows([(size, ranks, 1.0) for size in (2**20, 2**21, 2**22) for ranks in (1, 2, 4)]))
        self.assertEqual([picture.size for picture in series.scaling(points, weak=True)], [2**20])
        self.assertEqual([picture.size for picture in series.scaling(points, weak=False)], [2**20, 2**21, 2**22])

    def test_reports_without_ranks_have_one(self):
        points = points_of(report([{"app": "dot", "seconds": 1.0}]))
        self.assertEqual(points[0].ranks, 1)
        self.assertEqual(series.scaling(points, weak=False), [])

    def test_other_pictures_take_the_fewest_ranks(self):
        points = points_of(self.rows([(2**24, 1, 8.0), (2**24, 4, 4.0)]))
        (picture,) = series.shares(points)
        self.assertEqual([point.ranks for point in picture.groups[0].points], [1])


class Comparison(unittest.TestCase):
    def test_the_largest_size_that_both_have(self):
        here = report([{"app": "map", "size": size, "seconds": size * 1e-9} for size in (2**20, 2**22)])
        there = report(
            [{"app": "map", "size": size, "seconds": size * 1e-10} for size in (2**20, 2**22, 2**28)], device="B chip"
        )
        (picture,) = series.comparisons(points_of(here, there))
        self.assertTrue(picture.variants)
        ((name, size, found),) = picture.rows
        self.assertEqual((name, size), ("map plain", 2**22))
        self.assertEqual(
            [(point.place.device, point.case.size) for point in found], [("A chip, 8 threads", size), ("B chip", size)]
        )
        (fastest,) = series.comparisons(points_of(here, there), most_rows=0)
        self.assertEqual([point.case.size for point in fastest.rows[0][2]], [size, size])

    def test_many_rows_become_the_fastest_of_each_mini_app(self):
        rows = [{"app": "map", "variant": f"v{number}", "seconds": 1e-3 + number * 1e-6} for number in range(50)]
        (picture,) = series.comparisons(points_of(report(rows), report(rows[::-1], device="B chip")))
        self.assertFalse(picture.variants)
        fastest = [(name, [p.variant for p in found]) for name, _, found in picture.rows]
        self.assertEqual(fastest, [("map", ["v0", "v0"])])

    def test_rows_that_move_nothing_have_no_place(self):
        rows = [
            {"app": "roofline", "variant": "launch", "bytes": 0.0, "seconds": 1e-6},
            {"app": "map", "seconds": 1e-3},
        ]
        (picture,) = series.comparisons(points_of(report(rows), report(rows, device="B chip")))
        self.assertEqual([name for name, _, _ in picture.rows], ["map plain"])

    def test_one_place_is_no_comparison(self):
        self.assertEqual(series.comparisons(points_of(report([{"app": "map", "seconds": 1e-3}]))), [])


class Pictures(unittest.TestCase):
    def test_what_the_reports_hold_decides(self):
        rows = [{"app": "map", "size": size, "seconds": 1e-3} for size in (2**20, 2**24)]
        names = [name for name, _, _ in command.find_pictures(points_of(report(rows)), list(command.KINDS))]
        self.assertEqual(names, ["roofline-openmp-float", "shares-openmp-float", "sizes-map-openmp-float"])

    def test_every_picture_has_a_name_of_its_own(self):
        rows = [
            {"app": "map", "size": size, "seconds": 1e-3, "ranks": ranks}
            for size in (2**20, 2**24)
            for ranks in (1, 2)
        ]
        points = points_of(report(rows), report(rows, device="B chip"))
        names = [name for name, _, _ in command.find_pictures(points, list(command.KINDS))]
        self.assertEqual(len(names), len(set(names)))
        self.assertIn("machines-float", names)
        self.assertIn("strong-map-2_24-openmp2-float", names)


if __name__ == "__main__":
    unittest.main()
