"""counters.py with a program that only pretends to be ncu: what it is asked, which kernel counts,
what is said of a failure."""

import contextlib
import io
import os
import pathlib
import stat
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import counters  # noqa: E402

# Two kernels, the second one longer; no counter of tensor units. For softmax it finds no kernel.
PROGRAM = """#!{python}
import sys
with open("{folder}/calls", "a") as calls:
    print(*sys.argv[1:], file=calls)
print("==PROF== Connected to process 1")
print("TESSERA rows=1")
if "softmax" in sys.argv:
    print("==WARNING== No kernels were profiled.")
    sys.exit(0)
metrics = [m for m in sys.argv[sys.argv.index("--metrics") + 1].split(",") if "tensor" not in m]
def row(*cells):
    print(",".join('"' + str(cell) + '"' for cell in cells))
row("ID", "Kernel Name", "CC", *metrics)
row("", "", "", *("unit" for _ in metrics))
for kernel, time in (("void a<One>(int, float)", "1,000"), ("void b<Two>(x)", "2,500,000")):
    row(0, kernel, "9.0", *(time if "time" in m else "4,000,000,000" if "bytes" in m else "7.5" if "barrier" in m else
                            "n/a" if "lg_throttle" in m else "92.4" if m.startswith("dram") else "1" for m in metrics))
"""


class Counters(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        self.ncu = os.path.join(self.folder, "ncu")
        with open(self.ncu, "w", encoding="utf-8") as file:
            file.write(PROGRAM.format(python=sys.executable, folder=self.folder))
        os.chmod(self.ncu, os.stat(self.ncu).st_mode | stat.S_IXUSR)

    def run_main(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = counters.main(["program", os.path.join(self.folder, "results"), "--ncu", self.ncu, *arguments])
        return code, out.getvalue(), err.getvalue()

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def test_the_longest_kernel_counts(self):
        code, _, _ = self.run_main("--only", "conv2d-7x7,prefix_sum")
        self.assertEqual(code, 0)
        table = self.read("results/counters.md").splitlines()
        self.assertEqual(len(table), 4)
        self.assertEqual(table[0].count("|"), table[2].count("|"))
        self.assertTrue(
            table[2].startswith("| conv2d-7x7 | 2500 | 4000 | 92 | 1 | 1 | 1 |  | 1 | 1 | barrier 7.5, "), table[2]
        )
        calls = self.read("calls").splitlines()
        self.assertIn("-k regex:Conv2dKernel", calls[0])
        self.assertIn("--kernel-name-base demangled", calls[0])
        self.assertIn(
            "run conv2d --size 2^28 --kernel-rows 7 --kernel-cols 7 --variant register_tile --space cuda", calls[0]
        )
        self.assertIn("One", self.read("results/conv2d-7x7.csv"))

    def test_a_row_without_kernels_is_a_failure_and_others_go_on(self):
        code, _, err = self.run_main("--only", "softmax-cols,prefix_sum")
        self.assertEqual(code, 1)
        self.assertIn("softmax-cols: no kernel was profiled (==WARNING== No kernels were profiled.)", err)
        self.assertIn("prefix_sum", self.read("results/counters.md"))

    def test_mistakes(self):
        self.assertEqual(self.run_main("--only", "nothing")[0], 2)
        code, _, err = self.run_main("--ncu", os.path.join(self.folder, "missing"))
        self.assertEqual(code, 2)
        self.assertIn("name it with --ncu", err)

    def test_every_row_is_one_of_the_suite(self):
        root = pathlib.Path(HERE).parent.parent
        headers = "".join(
            path.read_text(encoding="utf-8") for path in root.glob("common/include/tessera/kernels/**/*.hpp")
        )
        for (app, *_), _, variant, pattern in counters.ROWS.values():
            self.assertTrue((root / "apps" / app / "variants" / f"{variant}.cpp").exists(), (app, variant))
            self.assertRegex(headers, rf"(struct|class) ({pattern})\b")


if __name__ == "__main__":
    unittest.main()
