"""The Python on the pages runs, and prints what the pages say. So do the scripts, which check their results."""

import contextlib
import glob
import io
import os
import re
import runpy
import unittest

from tessera import _program

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.M | re.S)

try:
    import torch
except ImportError:
    torch = None


class Page(unittest.TestCase):
    def run_page(self, name, count):
        path = os.path.join(ROOT, "docs", name)
        with open(path, encoding="utf-8") as file:
            blocks = BLOCK.findall(file.read())
        self.assertEqual([kind for kind, _ in blocks], ["python", "text"] * count)
        names, printed = {}, ""
        for kind, text in blocks:
            if kind == "text":
                self.assertEqual(printed, text)
                continue
            if "tessera.run" in text:
                try:
                    _program.find()
                except FileNotFoundError as error:
                    self.skipTest(str(error))
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile(text, path, "exec"), names)
            printed = output.getvalue()

    def test_from_python(self):
        self.run_page("from_python.md", 2)

    @unittest.skipUnless(torch, "there is no PyTorch")
    def test_from_pytorch(self):
        self.run_page("from_pytorch.md", 1)


class Scripts(unittest.TestCase):
    def test_puzzles(self):
        scripts = sorted(glob.glob(os.path.join(ROOT, "common", "python", "examples", "p[0-9]*.py")))
        self.assertEqual(len(scripts), 6)
        for script in scripts:
            with self.subTest(os.path.basename(script)):
                if script.endswith("_pytorch.py") and torch is None:
                    self.skipTest("there is no PyTorch")
                with contextlib.redirect_stdout(io.StringIO()) as output:
                    runpy.run_path(script, run_name="__main__")
                self.assertTrue(output.getvalue())


if __name__ == "__main__":
    unittest.main()
