"""The tables that readme_tables.py writes into READMEs."""

import contextlib
import io
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "common", "plot")]
sys.dont_write_bytecode = True

import readme_tables  # noqa: E402
from made_reports import COPY, report, write  # noqa: E402

MARK = "<!-- figures: chip-2026-11-22 sizes=2^20,2^24 -->"


class Tables(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        self.results = os.path.join(self.root, "common", "results", "chip-2026-11-22")
        os.makedirs(self.results)
        os.makedirs(os.path.join(self.root, "apps", "map"))
        self.readme = os.path.join(self.root, "apps", "map", "README.md")
        rows = [{"app": "map", "variant": variant, "size": size, "seconds": 8 * size / (share * COPY)}
                for variant, share in (("range", 0.5), ("vector", 1.0)) for size in (2**20, 2**22, 2**24)]  # fmt: skip
        write(self.results, "map.json", report(rows))

    def write_readme(self, *between, mark=MARK):
        lines = ["# map", "", mark, *between, "<!-- end of figures -->", ""]
        write(os.path.dirname(self.readme), "README.md", "\n".join(lines))

    def run_script(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = readme_tables.main(["--root", self.root, *arguments])
        return code, out.getvalue(), err.getvalue()

    def text(self):
        with open(self.readme, encoding="utf-8") as file:
            return file.read()

    def refused(self, *words):
        code, out, err = self.run_script()
        self.assertEqual((code, out), (2, ""))
        for word in words:
            self.assertIn(word, err)

    def test_written_then_the_same(self):
        self.write_readme("old", "| text |")
        self.assertEqual(self.run_script("--check")[0], 1)
        self.assertIn("| text |", self.text())
        self.assertEqual(self.run_script()[0], 0)
        text = self.text()
        self.assertEqual(
            text.split("\n"),
            ["# map", "", MARK, "",
             "2026-11-22, A chip, 8 threads, openmp, GNU 16.2.0, Kokkos 5.2.2, commit 0123456789ab, float.",
             "GB/s (share of the roof); copy in the same run: 100 GB/s. Medians of samples of these "
             "[reports](../../common/results/chip-2026-11-22):", "",
             "```", "$ tessera run all", "```", "",
             "| variant | 2^20 | 2^24 |", "|---|---:|---:|",
             "| `range` | 50.0 (50%) | 50.0 (50%) |", "| `vector` | 100 (100%) | 100 (100%) |", "",
             "<!-- end of figures -->", ""])  # fmt: skip
        self.assertEqual(self.run_script("--check")[:2], (0, "1 tables, 0 READMEs changed\n"))
        self.run_script()
        self.assertEqual(self.text(), text)

    def test_variants_in_the_order_of_the_ladder(self):
        ladder = ["| variant | step | use |", "|---|---|---|", "| `vector` | registers | |", "| `other` | ranks | |"]
        write(os.path.dirname(self.readme), "README.md", "\n".join([*ladder, "", MARK, "<!-- end of figures -->", ""]))
        self.assertEqual(self.run_script()[0], 0)
        self.assertIn("| step | variant | 2^20 | 2^24 |\n|---|---|---:|---:|\n"
                      "| registers | `vector` | 100 (100%) | 100 (100%) |\n"
                      "| peer | `range` | 50.0 (50%) | 50.0 (50%) |\n", self.text())  # fmt: skip
        self.assertEqual(self.run_script("--check")[0], 0)

    def test_a_typed_figure_is_seen(self):
        self.write_readme()
        self.run_script()
        write(os.path.dirname(self.readme), "README.md", self.text().replace("50.0 (50%)", "51.0 (51%)", 1))
        code, out, _ = self.run_script("--check")
        self.assertEqual(code, 1)
        self.assertIn("-| `range` | 51.0 (51%) | 50.0 (50%) |", out)
        self.assertIn("+| `range` | 50.0 (50%) | 50.0 (50%) |", out)

    def test_launches_are_joined(self):
        write(self.results, "b.json", report([{"app": "map", "variant": "range", "size": 2**20, "seconds": 2e-4}]))
        self.write_readme()
        self.run_script()
        self.assertIn("Medians of 2 launches", self.text())

    def test_named_reports_alone(self):
        write(self.results, "b.json", report([{"app": "map", "seconds": 1.0}], git_commit="other"))
        self.write_readme(mark=MARK.replace(" -->", " reports=map.json -->"))
        self.assertEqual(self.run_script()[0], 0)
        self.assertIn("| `vector` | 100 (100%) | 100 (100%) |", self.text())
        self.write_readme(mark=MARK.replace(" -->", " reports=map.json,b.json -->"))
        self.refused("2 places of map")
        self.write_readme(mark=MARK.replace(" -->", " reports=none.json -->"))
        self.refused("none.json")

    def of_ranks(self, kind, app, size, one, two):
        speedup = one / two
        scaling = {"kind": kind, "efficiency": speedup if kind == "weak" else speedup / 2, "baseline_seconds": one}
        of_ranks = {"communication_seconds": {"max": 2e-5}, "bytes_sent": 2.0**19, "scaling": scaling}
        return {"app": app, "variant": "distributed", "size": size, "seconds": two, "ranks": 2, "of_ranks": of_ranks}

    def test_weak_scaling(self):
        rows = [
            self.of_ranks("weak", "map", 2**25, 1e-3, 2e-3),
            {"app": "map", "size": 2**25, "seconds": 1.0, "ranks": 2},
        ]
        write(self.results, "two.json", report(rows))
        self.write_readme(mark="<!-- figures: chip-2026-11-22 scaling=two.json -->")
        self.assertEqual(self.run_script()[0], 0)
        self.assertIn("2026-11-22, 2 ranks, each on one A chip, 8 threads (openmp), GNU 16.2.0", self.text())
        self.assertIn(
            "sent, MiB |\n|---|---|---:|---:|---:|---:|---:|\n| map | 2^24 | 1 ms | 2 ms | 50% | 20 us | 0.5 |\n\n",
            self.text(),
        )

    def test_strong_scaling(self):
        rows = [self.of_ranks("strong", "map", 2**20, 1e-3, 2e-3), self.of_ranks("strong", "map", 2**24, 2.0, 1.0),
                self.of_ranks("strong", "dot", 2**24, 1e-5, 4e-6)]  # fmt: skip
        write(self.results, "two.json", report(rows))
        self.write_readme(mark="<!-- figures: chip-2026-11-22 scaling=two.json -->")
        self.assertEqual(self.run_script()[0], 0)
        self.assertIn(
            "| mini-app | 2^20 | 2^24 |\n|---|---:|---:|\n| dot |  | 10 us; 2.50 |\n| map | 1 ms; 0.50 | 2 s; 2.00 |\n",
            self.text(),
        )

    def test_scaling_of_one_kind_and_place(self):
        self.write_readme(mark="<!-- figures: chip-2026-11-22 scaling=map.json -->")
        self.refused("no scaling (a table has one kind)")
        weak = self.of_ranks("weak", "map", 2**25, 1e-3, 2e-3)
        write(self.results, "two.json", report([weak, self.of_ranks("strong", "map", 2**20, 1e-3, 2e-3)]))
        self.write_readme(mark="<!-- figures: chip-2026-11-22 scaling=two.json -->")
        self.refused("strong and weak scaling")
        write(self.results, "two.json", report([weak]))
        write(self.results, "b.json", report([weak], git_commit="other"))
        self.write_readme(mark="<!-- figures: chip-2026-11-22 scaling=two.json,b.json -->")
        self.refused("not of one device, one build")

    def test_noisy_rows_are_refused_or_have_no_figure(self):
        rows = [{"app": "map", "variant": "range", "size": size, "seconds": 8 * size / COPY, "noisy": size == 2**24}
                for size in (2**20, 2**22, 2**24)]  # fmt: skip
        write(self.results, "map.json", report(rows))
        self.write_readme()
        self.refused("map range 2^24", "noisy (the upper quartile", "noisy=omitted")
        self.write_readme(mark=MARK.replace(" -->", " noisy=omitted -->"))
        self.assertEqual(self.run_script()[0], 0)
        self.assertIn("| `range` | 100 (100%) | ~ |\n\n`~`: no figure, since", self.text())
        # Noise in rows that are not shown does not matter. A mark that claims noisy rows is refused if there are none.
        self.write_readme(mark=MARK.replace("2^24", "2^22"))
        self.assertEqual(self.run_script()[0], 0)
        self.write_readme(mark=MARK.replace("2^24", "2^22 noisy=omitted"))
        self.refused("no row of this table is noisy")
        self.write_readme(mark=MARK.replace(" -->", " noisy=shown -->"))
        self.refused("noisy=shown (unknown)")

    def test_noisy_rows_beside_libraries(self):
        def rows(**noisy):
            made = [("fast", "team", 1e-3), ("slow", "range", 2e-3), ("library", "library", 1.5e-3)]
            return [{"app": "map", "variant": name, "level": level, "seconds": seconds, "noisy": noisy.get(name, False)}
                    for name, level, seconds in made]  # fmt: skip

        self.write_readme(mark="<!-- figures: chip-2026-11-22 ratios=map.json -->")
        write(self.results, "map.json", report(rows(fast=True)))
        self.refused("map fast 2^24", "noisy")  # a slower row in its place would flatter the library
        write(self.results, "map.json", report(rows(library=True)))
        self.refused("map library 2^24", "noisy")
        self.write_readme(mark="<!-- figures: chip-2026-11-22 ratios=map.json noisy=omitted -->")
        write(self.results, "map.json", report(rows(fast=True)))
        self.assertEqual(self.run_script()[0], 0)
        self.assertIn("| `fast` | ~ | library | 89.48 GB/s | ~ |", self.text())
        write(self.results, "map.json", report(rows(library=True)))
        self.assertEqual(self.run_script()[0], 0)
        self.assertIn("| `fast` | 134.2 GB/s | library | ~ | ~ |", self.text())

    def test_noisy_rows_on_several_ranks(self):
        noisy = {**self.of_ranks("strong", "map", 2**20, 1e-3, 2e-3), "noisy": True}
        write(self.results, "two.json", report([noisy, self.of_ranks("strong", "map", 2**24, 2.0, 1.0)]))
        self.write_readme(mark="<!-- figures: chip-2026-11-22 scaling=two.json -->")
        self.refused("map distributed 2^20", "noisy")
        self.write_readme(mark="<!-- figures: chip-2026-11-22 scaling=two.json noisy=omitted -->")
        self.assertEqual(self.run_script()[0], 0)
        self.assertIn("| map | 1 ms; ~ | 2 s; 2.00 |\n", self.text())
        weak = {**self.of_ranks("weak", "map", 2**25, 1e-3, 2e-3), "noisy": True}
        write(self.results, "two.json", report([weak]))
        self.assertEqual(self.run_script()[0], 0)
        self.assertIn("| map | 2^24 | 1 ms | ~ | ~ | 20 us |", self.text())

    def test_tables_beside_the_reports(self):
        self.readme = os.path.join(self.results, "README.md")
        self.write_readme(mark=MARK.replace(" sizes", " app=map sizes"))
        self.assertEqual(self.run_script()[0], 0)
        self.assertIn("| `vector` | 100 (100%) | 100 (100%) |", self.text())

    def test_mistakes(self):
        self.write_readme(mark="<!-- figures: nowhere -->")
        self.refused("no reports in common/results/nowhere")
        self.write_readme(mark=MARK.replace("2^24", "2^25"))
        self.refused("no rows of size 2^25 (there are 2^20, 2^22, 2^24)")
        self.write_readme(mark=MARK.replace("sizes", "size"))
        self.refused("size (unknown)")
        self.write_readme(mark=MARK.replace("2^24", "2^24 space=cuda"))
        self.refused("spaces: openmp")
        self.write_readme(mark="<!-- figures -->")
        self.refused("is no mark of a table")
        write(os.path.dirname(self.readme), "README.md", MARK)
        self.refused("does not end")
        self.write_readme()
        write(self.results, "b.json", report([{"app": "map", "seconds": 1.0}], git_commit="other"))
        self.refused("2 places of map")


if __name__ == "__main__":
    unittest.main()
