"""quoted_code.py complains of each kind of wrong quotation, and writes right ones, in a small mini-app of its own."""

import contextlib
import io
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import quoted_code  # noqa: E402

SOURCE = """struct Range {
  static constexpr VariantInfo info{.name = "range", .lesson = true};
  static void run(Exec const& exec) {
    Kokkos::parallel_for(
        "tessera::map::range::add", over(exec, 4), KOKKOS_LAMBDA(int i) {
          out(i) = '(' + ")";  // )
        });
    Kokkos::parallel_reduce("tessera::map::range::sum", over(exec, 4), Sum{}, total);
  }
};
"""
LOOP = """Kokkos::parallel_for(
    "tessera::map::range::add", over(exec, 4), KOKKOS_LAMBDA(int i) {
      out(i) = '(' + ")";  // )
    });"""


def page(code=LOOP, name="tessera::map::range::add"):
    return f"# map\n\n<!-- code: variants/range.cpp {name} -->\n```cpp\n{code}\n```\n<!-- end of code -->\n\nText.\n"


class Quotations(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        os.makedirs(os.path.join(self.root, "apps", "map", "variants"))
        self.write("problem.hpp", "")
        self.write("variants/range.cpp", SOURCE)
        self.write("variants/other.cpp", SOURCE.replace(", .lesson = true", ""))
        self.write("README.md", page())

    def write(self, name, text):
        with open(os.path.join(self.root, "apps", "map", name), "w", encoding="utf-8") as file:
            file.write(text)

    def readme(self):
        with open(os.path.join(self.root, "apps", "map", "README.md"), encoding="utf-8") as file:
            return file.read()

    def run_it(self, *arguments):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = quoted_code.main(["--root", self.root, *arguments])
        return code, out.getvalue()

    def complains(self, of):
        code, out = self.run_it()
        self.assertEqual(code, 1, out)
        self.assertIn(f"apps/map/README.md: {of}", out)

    def test_a_right_quotation(self):
        self.assertEqual(self.run_it(), (0, "1 quotations, 0 complaints\n"))

    def test_a_changed_line_of_the_source(self):
        self.write("variants/range.cpp", SOURCE.replace("out(i) =", "out(i) +="))
        self.complains("variants/range.cpp has tessera::map::range::add in other words")
        self.assertEqual(self.run_it("--write")[0], 0)
        self.assertEqual(self.readme(), page(LOOP.replace("out(i) =", "out(i) +=")))
        self.assertEqual(self.run_it()[0], 0)

    def test_a_missing_label_and_one_twice(self):
        self.write("variants/range.cpp", SOURCE.replace("range::add", "range::other"))
        self.complains("variants/range.cpp has 0 of tessera::map::range::add, not 1")
        self.write("variants/range.cpp", SOURCE + SOURCE)
        self.complains("variants/range.cpp has 2 of tessera::map::range::add, not 1")
        before = self.readme()
        self.assertEqual(self.run_it("--write")[0], 1)
        self.assertEqual(self.readme(), before)

    def test_a_missing_file(self):
        os.remove(os.path.join(self.root, "apps", "map", "variants", "range.cpp"))
        self.complains("variants/range.cpp No such file or directory")

    def test_a_lesson_without_a_quotation(self):
        self.write("README.md", page().replace("range.cpp", "other.cpp"))
        self.complains("quotes none of the lessons variants/range.cpp")
        self.write("README.md", "# map\n")
        self.complains("quotes none of the lessons variants/range.cpp")
        self.write("variants/range.cpp", SOURCE.replace(", .lesson = true", ""))
        self.assertEqual(self.run_it()[0], 0)

    def test_half_a_mark(self):
        self.write("README.md", page() + "<!-- end of code -->\n")
        self.complains("has a mark without its other half")
        self.write("README.md", page().replace("<!-- code:", "<!-- code"))
        self.complains("has a mark without its other half")

    def test_the_body_of_a_function(self):
        self.write("README.md", page("", "run"))
        self.assertEqual(self.run_it("--write")[0], 0)
        last = 'Kokkos::parallel_reduce("tessera::map::range::sum", over(exec, 4), Sum{}, total);'
        self.assertEqual(self.readme(), page(f"{LOOP}\n{last}", "run"))
        self.write("README.md", page(last, "tessera::map::range::sum"))
        self.assertEqual(self.run_it()[0], 0)

    def test_a_statement_in_a_kernel(self):
        self.write("README.md", page("out(i) = '(' + \")\";", "tessera::map::range::add out(i)"))
        self.assertEqual(self.run_it()[0], 0)
        either = "if (exec) {\n  f();\n} else {\n  g();\n}"
        self.write("variants/range.cpp", SOURCE.replace(", Sum{}, total);", f");\n{either}"))
        self.write("README.md", page("", "run if (exec)"))
        self.assertEqual(self.run_it("--write")[0], 0)
        self.assertEqual(self.readme(), page(either, "run if (exec)"))
        self.write("README.md", page() + page("", "run if (exec)"))
        self.assertEqual(self.run_it("--write"), (0, "2 quotations, 0 complaints\n"))
        self.write("README.md", page("", "run for (int i"))
        self.complains("variants/range.cpp has no statement `for (int i` in run")


if __name__ == "__main__":
    unittest.main()
