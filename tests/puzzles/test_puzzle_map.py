"""puzzle_map.py complains of every kind of wrong statement, on a small page made for the purpose."""

import contextlib
import io
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import puzzle_map  # noqa: E402

LIST = """app      map    out[i] = a[i] + c
variant  range  range  same bits  the baseline [lesson]
variant  scratch  team  same bits  staged
app      zip    out[i] = a[i] + b[i]
variant  tiled  range  same bits  tiles [lesson]
sweep    zip_p21  three sizes
app      other  nothing
variant  plain  range  same bits  the baseline
space    serial
"""


def row(what, app, variant, name, command=None):
    command = command or f"./run {app} --input inputs/{app}/{name}.h5 --variant {variant}"
    return f"| {what} | [{app}]({app}/README.md) | `{variant}` | `{name}` | `{command}` |"


SWEEP = "./run zip --sweep zip_p21 --variant tiled"
LINES = (
    ["# Page", "", "## Puzzles", "", "| puzzle | mini-app | variants | inputs | command |", "|---|---|---|---|---|"]
    + [row(f"P{number} Name", "map", "range", "one") for number in range(1, 24)]
    + [row("P24, more", "zip", "tiled", "two"), row("P24, sweep", "zip", "tiled", "two", SWEEP), "", "Text.", ""]
    + ["## Scans", "", "| scan | mini-app | variants | inputs | command |", "|---|---|---|---|---|"]
    + [row("all", "map", "scratch", "one"), "", "## Beyond the book", ""]
    + ["| what | mini-app | variants | inputs | command |", "|---|---|---|---|---|"]
    + [row("P24, no puzzle", "other", "plain", "three"), ""]
    + ["## More", ""]
)
PAGE = "\n".join(LINES) + "\n"


class Map(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        for app, name in (("map", "range"), ("zip", "tiled")):
            self.write_lesson(app, name, "// A comment.\n#include <x>\n\n  Kokkos::parallel_for(1);\n")
        for path in ("apps/map/README.md", "apps/zip/README.md", "inputs/map/one.h5", "inputs/zip/two.h5",
                     "apps/other/README.md", "inputs/other/three.h5"):  # fmt: skip
            os.makedirs(os.path.dirname(os.path.join(self.root, path)), exist_ok=True)
            with open(os.path.join(self.root, path), "w", encoding="utf-8"):
                pass

    def write_lesson(self, app, name, text):
        path = os.path.join(self.root, "apps", app, "variants", f"{name}.cpp")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def test_lessons(self):
        loop = "Kokkos::parallel_for(1);\n"
        self.write_lesson("map", "range", loop * 60 + "// more\n")
        self.assertEqual(self.complaints(), [])
        self.write_lesson("map", "range", loop * 61)
        self.expect("range.cpp is a lesson of 61 lines of code")
        self.write_lesson("map", "range", "call(1);\n")
        self.expect("range.cpp is a lesson without a loop")
        self.write_lesson("map", "range", loop + "#include <tessera/kernels/scan.hpp>\n")
        self.expect("takes its work from a kernel")
        self.expect("P24 has no lesson", list_text=LIST.replace("tiles [lesson]", "tiles"))

    def complaints(self, old=None, new=None, list_text=LIST):
        if old is not None:
            self.assertIn(old, PAGE)
        page = PAGE if old is None else PAGE.replace(old, new)
        return puzzle_map.check(page, puzzle_map.listed(list_text), self.root)[0]

    def expect(self, part, *change, **more):
        complaints = self.complaints(*change, **more)
        self.assertTrue(any(part in complaint for complaint in complaints), complaints)

    def test_a_right_page(self):
        self.assertEqual(self.complaints(), [])
        self.assertEqual(len(puzzle_map.check(PAGE, puzzle_map.listed(LIST), self.root)[1]), 27)

    def test_programs_with_planted_mistakes(self):
        folder = os.path.join(self.root, "tests", "bugs")
        os.makedirs(folder)
        for name in ("one", "two"):
            with open(os.path.join(folder, name + ".cpp"), "w", encoding="utf-8") as file:
                file.write("f();\n" * 60)
        table = (
            "## Finding a bug\n\n| puzzle | mistake | programs | command |\n|---|---|---|---|\n"
            "| P9, a | text | `one` | `./run bugs one` |\n| P10 | text | `two` | `./run bugs two` |\n\n## More"
        )
        self.assertEqual(self.complaints("## More", table), [])
        self.expect("the puzzles are none")
        self.expect("runs other programs", "## More", table.replace("bugs two", "bugs one"))
        self.expect("there is no tests/bugs/three.cpp", "## More", table.replace("`one`", "`three`"))
        self.expect("one is no row's", "## More", table.replace("`one`", "`two`"))
        self.expect("not P9, P10", "## More", table.replace("P10", "P9"))
        self.expect("3 cells, not 4", "## More", table.replace("| P10 | text ", "| P10 "))
        with open(os.path.join(folder, "two.cpp"), "a", encoding="utf-8") as file:
            file.write("f();\n")
        self.expect("has 61 lines of code", "## More", table)

    def test_python_scripts(self):
        folder = os.path.join(self.root, puzzle_map.EXAMPLES)
        os.makedirs(folder)
        names = [f"p{number}_name.py" for number in range(15, 21)]
        for name in [*names, "train.py"]:
            with open(os.path.join(folder, name), "w", encoding="utf-8"):
                pass
        rows = [
            f"| {name[:3].upper()} Name | NumPy | `{name}` | `./run python {puzzle_map.EXAMPLES}/{name}` |"
            for name in names
        ]
        head = "## From Python\n\n| puzzle | arrays | script | command |\n|---|---|---|---|\n"
        table = head + "\n".join(rows) + "\n\n## More"
        self.assertEqual(self.complaints("## More", table), [])
        self.expect("the puzzles are none")
        for old, new, complaint in (
            (rows[0] + "\n", "", "p15_name.py is no row's"),
            (rows[0] + "\n", "", "the puzzles are P16, P17, P18, P19, P20, not"),
            ("examples/p16_name.py", "examples/p17_name.py", "runs another script"),
            ("p18_name.py", "p18_other.py", "there is no common/python/examples/p18_other.py"),
            ("`p19_name.py`", "`p20_name.py`", "is named after another puzzle"),
            ("| P20 Name ", "", "3 cells, not 4"),
        ):
            self.expect(complaint, "## More", table.replace(old, new))

    def test_names_that_do_not_exist(self):
        self.expect(
            "P24, more: zip has no variant tilde", "| `tiled` | `two` | `./run zip", "| `tilde` | `two` | `./run zip"
        )
        self.expect("there is no inputs/zip/three.h5", "`two`", "`three`")
        self.expect("zip has no sweep zip_p22", "zip_p21", "zip_p22")
        for link in ("[zap](zap/README.md)", "[zip](map/README.md)"):
            self.expect("no link to the README of a mini-app", "[zip](zip/README.md) | `tiled`", f"{link} | `tiled`")
        os.remove(os.path.join(self.root, "apps/zip/README.md"))
        self.expect("there is no apps/zip/README.md")

    def test_puzzles_inputs_that_no_row_names(self):
        for name in ("puzzle_p99.h5", "puzzle_p99_double.h5"):
            with open(os.path.join(self.root, "inputs/zip", name), "w", encoding="utf-8"):
                pass
        self.assertEqual(self.complaints(), ["inputs/zip/puzzle_p99.h5 is no row's"])  # that in double goes with it

    def test_commands_that_are_not_the_rows(self):
        self.expect("the command begins with", "./run zip --input", "./run map --input")
        self.expect("other files than the row's", "inputs/zip/two.h5", "inputs/zip/one.h5")
        self.expect("other variants than the row's", "two.h5 --variant tiled", "two.h5 --variant range")
        self.expect("other variants than the row's", "two.h5 --variant tiled", "two.h5")

    def test_what_is_left_out(self):
        self.expect("P7 has no row", row("P7 Name", "map", "range", "one") + "\n", "")
        self.expect("P25 is none of", "P23 Name", "P25 Name")
        self.expect("scans has no row", row("all", "map", "scratch", "one"), "")
        self.expect("no variants, or no inputs", "`tiled` | `two` | `./run zip", "tiled | `two` | `./run zip")

    def test_reports(self):
        def rows(*given):
            return {"rows": [dict(zip(("app", "variant", "status", "reason"), row)) for row in given]}

        command = "./run matmul --input inputs/matmul/one.h5 --variant tiled,tiled_async"
        skipped = ("matmul", "tiled_async", "skipped", "no copies")
        some = rows(("matmul", "tiled", "passed", None), skipped)
        self.assertEqual(puzzle_map.complaints_of_report(command, some), [])
        some = rows(("matmul", "tiled", "skipped", "serial"), ("matmul", "tiled", "passed", None), skipped)
        self.assertEqual(puzzle_map.complaints_of_report(command, some), [])
        some = rows(("matmul", "tiled", "skipped", "too large"), skipped)
        wanted = ["matmul/tiled has no row that passed: too large"]
        self.assertEqual(puzzle_map.complaints_of_report(command, some), wanted)
        self.assertEqual(puzzle_map.complaints_of_report(command, rows(("matmul", "tiled", "passed", None))),
                         ["tiled_async has no row"])  # fmt: skip
        for status in ("failed", "weak"):
            wrong = rows(("matmul", "tiled", "passed", None), ("matmul", "tiled", status, "wrong"), skipped)
            self.assertEqual(puzzle_map.complaints_of_report(command, wrong), [f"matmul/tiled is {status}: wrong"])
        self.assertIn("no report", puzzle_map.complaints_of_reports([command], self.root)[0])
        with open(os.path.join(self.root, "1.json"), "w", encoding="utf-8") as file:
            file.write('{"rows": []}')
        self.assertEqual(len(puzzle_map.complaints_of_reports([command], self.root)), 2)
        self.assertEqual(puzzle_map.complaints_of_reports(["./run matmul --input one.h5"], self.root), [])
        for text in ("", "{}", "[]", '{"rows": null}'):
            with open(os.path.join(self.root, "1.json"), "w", encoding="utf-8") as file:
                file.write(text)
            (complaint,) = puzzle_map.complaints_of_reports([command], self.root)
            self.assertIn("no report", complaint, text)

    def test_beyond_the_book(self):
        text = row("P24, no puzzle", "other", "plain", "three")
        self.expect("other has no row", text + "\n", "")
        self.expect("other has no variant plane", text, row("any", "other", "plane", "three"))
        self.expect("no inputs/other/four.h5", text, row("any", "other", "plain", "four"))

    def test_the_later_edition(self):
        later = "## Later edition\n\n| puzzle | mini-app | variants | inputs | command |\n|---|---|---|---|---|\n"
        right = later + row("P27 Sum", "zip", "tiled", "two") + "\n\n## More"
        self.assertEqual(self.complaints("## More", right), [])
        for name in ("P26", "P36", "Sum"):
            self.expect(f"{name} is none of P27 to P35", "## More",
                        later + row(name, "zip", "tiled", "two") + "\n\n## More")  # fmt: skip
        self.expect("zip has no variant tilde", "## More",
                    later + row("P27 Sum", "zip", "tilde", "two") + "\n\n## More")  # fmt: skip

    def test_ladders(self):
        path = os.path.join(self.root, "apps", "zip", "README.md")
        right = "| variant | step | traffic | idea |\n|---|---|---|---|\n| `a`, `b` | plain | 2n | |\n"
        listed = "app  zip  adds\nvariant  a  range  same bits  A\nvariant  b  range  by hand: bits may differ  B\n"

        def ladders(text, more, write):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text + "Text.\n")
            complaints = puzzle_map.ladders(puzzle_map.listed(listed + more), self.root, write)
            with open(path, encoding="utf-8") as file:
                return complaints, file.read()

        new = "variant  c  ranks  same bits  on ranks [only cuda]\nvariant  d  range  same bits  D [lesson]\n"
        rows = "| `d` | plain |  | D |\n| `c` | ranks |  | on ranks |\n"
        self.assertEqual(ladders(right, "", False), ([], right + "Text.\n"))
        self.assertIn("variants without a row", ladders(right, new, False)[0][0])
        self.assertEqual(ladders(right, new, True), ([], right + rows + "Text.\n"))
        self.assertEqual(ladders(right + rows, new, False)[0], [])
        self.assertIn("there is no variant d", ladders(right + rows, new.replace(" d ", " e "), False)[0][0])

    def test_the_page_as_a_file(self):
        list_file, commands = os.path.join(self.root, "list.txt"), os.path.join(self.root, "commands.txt")
        for path, text in ((list_file, LIST), (os.path.join(self.root, "apps", "README.md"), PAGE)):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        readme = os.path.join(self.root, "README.md")
        with open(readme, "w", encoding="utf-8") as file:
            file.write(f"Before.\n{puzzle_map.BEGIN}| [zip](old) |\n| [gone](old) |\n{puzzle_map.END}\nAfter.\n")
        recipe = os.path.join(self.root, "package.py")
        for app in ("map", "zip", "other"):
            os.makedirs(os.path.join(self.root, "apps", app), exist_ok=True)
            with open(os.path.join(self.root, "apps", app, "CMakeLists.txt"), "w", encoding="utf-8"):
                pass
        with open(recipe, "w", encoding="utf-8") as file:
            file.write('class A:\n    mini_apps = (\n        "gone",\n    )\n    b = (\n    )\n')
        arguments = ["--root", self.root, "--commands", commands, "--list"]
        code, out, _ = self.run_script(*arguments, list_file)
        self.assertEqual(code, 1)
        self.assertIn("README.md's table of mini-apps is another one", out)
        self.assertEqual(self.run_script("--write", *arguments, list_file)[0], 0)
        with open(readme, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual((lines[0], lines[-1]), ("Before.", "After."))
        self.assertEqual(lines[5:8], ["| [zip](apps/zip/README.md) | `out[i] = a[i] + b[i]` | P24 |",
                                      "| [map](apps/map/README.md) | `out[i] = a[i] + c` | "
                                      + ", ".join(f"P{number}" for number in range(1, 24)) + ", scans |",
                                      "| [other](apps/other/README.md) | nothing |  |"])  # fmt: skip
        with open(recipe, encoding="utf-8") as file:
            self.assertEqual(file.read(), 'class A:\n    mini_apps = (\n        "map",\n        "other",\n'
                                          '        "zip",\n    )\n    b = (\n    )\n')  # fmt: skip
        self.assertEqual(self.run_script(*arguments, list_file), (0, "27 rows, 3 mini-apps, 0 complaints\n", ""))
        with open(commands, encoding="utf-8") as file:
            self.assertEqual(file.read().splitlines()[-3], SWEEP)
        with open(list_file, "a", encoding="utf-8") as file:
            file.write("app      new  made today\n")
        code, out, _ = self.run_script(*arguments, list_file)
        self.assertEqual(code, 1)
        self.assertIn("README.md's table of mini-apps is another one", out)
        with open(list_file, "w", encoding="utf-8") as file:
            file.write("app      map    new\n")
        self.assertEqual(self.run_script("--write", *arguments, list_file), (0, "", ""))
        with open(readme, encoding="utf-8") as file:
            written = file.read().splitlines()
        self.assertEqual(written[:6] + written[7:], lines[:6] + lines[7:])
        self.assertTrue(written[6].startswith("| [map](apps/map/README.md) | new | P1, "), written[6])
        self.assertEqual(self.run_script(*arguments, os.path.join(self.root, "nowhere"))[0], 2)
        self.assertIn("names no mini-app", self.run_script(*arguments, commands)[2])

    def test_a_list_of_some_mini_apps_is_refused(self):
        path = os.path.join(self.root, "list.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(LIST)
        for name, text in (("README.md", "kept"), ("apps/README.md", PAGE), ("apps/lonely/CMakeLists.txt", "")):
            os.makedirs(os.path.dirname(os.path.join(self.root, name)), exist_ok=True)
            with open(os.path.join(self.root, name), "w", encoding="utf-8") as file:
                file.write(text)
        code, _, err = self.run_script("--list", path, "--root", self.root)
        self.assertEqual(code, 2)
        self.assertIn("a build without lonely", err)

    def run_script(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = puzzle_map.main(list(arguments))
        return code, out.getvalue(), err.getvalue()


if __name__ == "__main__":
    unittest.main()
