"""docs/command_line.py and tests/docs/walkthroughs.py, with programs and pages of the test's own."""

import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(ROOT, "docs"))
sys.dont_write_bytecode = True

import command_line  # noqa: E402
import walkthroughs  # noqa: E402

HELP = """\
map: out[i] = a[i] + c

what to run on
  --size N,N,...|A:B        generate cases of these sizes, in elements: digits, with k, M or G
                            (2^10, 2^20, 2^30)
  --size-per-rank N,N,...|A:B
                            elements per rank

what to run
  --space a,b|all           execution spaces: openmp, serial in this build (default all)
"""

PAGE = """\
# A page

```console
$ false
```

```bash
export NAME=there
echo "hello \\
  $NAME" >file
```

```bash
grep hello file
tessera-plot file
false
echo not here
```
"""


class Options(unittest.TestCase):
    def test_sections(self):
        sections = command_line.sections(HELP)
        self.assertEqual(list(sections), ["what to run on", "what to run"])
        self.assertEqual(
            sections["what to run on"],
            [
                [
                    "--size N,N,...|A:B",
                    "generate cases of these sizes, in elements: digits, with k, M or G (2^10, 2^20, 2^30)",
                ],
                ["--size-per-rank N,N,...|A:B", "elements per rank"],
            ],
        )

    def test_a_build_leaves_no_trace(self):
        text = command_line.options_block(command_line.sections(HELP)["what to run"])
        self.assertIn("execution spaces: those of the build (default all)", text)
        self.assertNotIn("openmp", text)

    def test_a_long_option_has_a_line_of_its_own(self):
        lines = command_line.options_block(command_line.sections(HELP)["what to run on"]).splitlines()
        self.assertEqual(lines[3], "--size-per-rank N,N,...|A:B")
        self.assertEqual(lines[4], " " * 26 + "elements per rank")

    def test_sections_of_some_mini_apps(self):
        with open(command_line.PAGE, encoding="utf-8") as file:
            page = file.read()
        self.assertEqual(command_line.with_sections(page, {}), page)
        new = command_line.sections_of_apps({"axpy": {"what to run on": [], "options of axpy": [["--c X", "factor"]]}})
        changed = command_line.with_sections(page, {**new, "zip": "### zip\n\nNone.\n"})
        self.assertIn("```\n\n### axpy\n\n```text\n--c X                     factor\n```\n\n### bias_add\n", changed)
        self.assertIn("### zip\n\nNone.\n\n## tessera study\n", changed)

    def test_a_program_that_is_not_there(self):
        with self.assertRaisesRegex(command_line.UserError, "cannot start"):
            command_line.said_by(["./nothing"])


class Walkthroughs(unittest.TestCase):
    def run_page(self, text, plot=False):
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.run(
                ["bash", "-c", walkthroughs.script_of(text, plot)],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )

    def test_only_blocks_of_bash_run_and_the_first_failure_ends_the_page(self):
        result = self.run_page(PAGE)
        self.assertEqual(result.returncode, 1)
        self.assertIn("hello   there", result.stdout)
        self.assertIn("there is no matplotlib: tessera-plot file", result.stdout)
        self.assertNotIn("not here", result.stdout)
        line = PAGE.splitlines().index("false") + 1
        self.assertIn(f"line {line} failed", result.stdout)

    def test_a_page_that_is_right(self):
        result = self.run_page(PAGE.replace("false\n", ""))
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_a_variable_that_is_not_set(self):
        result = self.run_page("```bash\necho $NOTHING_OF_THIS_NAME\n```\n")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("line 2 failed", result.stdout)

    def test_every_walkthrough_has_commands(self):
        for name in ("teaching", "procurement", "reuse", "character_model"):
            with open(os.path.join(ROOT, "docs", "walkthroughs", name + ".md"), encoding="utf-8") as file:
                self.assertTrue(walkthroughs.blocks_of(file.read()), name)

    def test_the_loader_of_any_architecture(self):
        for name in ("x86_64-linux-gnu/ld-linux-x86-64.so.2", "aarch64-linux-gnu/ld-linux-aarch64.so.1",
                     "powerpc64le-linux-gnu/ld64.so.2"):  # fmt: skip
            with tempfile.TemporaryDirectory() as root:
                with self.assertRaisesRegex(walkthroughs.UserError, "has 0 dynamic loaders"):
                    walkthroughs.loader_of(root)
                path = os.path.join(root, "usr", "lib", name)
                os.makedirs(os.path.dirname(path))
                for file in (path, os.path.join(os.path.dirname(path), "libc.so.6")):
                    open(file, "w", encoding="utf-8").close()
                self.assertEqual(walkthroughs.loader_of(root), path)


if __name__ == "__main__":
    unittest.main()
