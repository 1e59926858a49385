"""The Python on docs/from_python.md runs, and prints what the page says."""

import contextlib
import io
import os
import re
import unittest

from tessera import _program

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "from_python.md")
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.M | re.S)


class Page(unittest.TestCase):
    def test_blocks(self):
        with open(PAGE, encoding="utf-8") as file:
            blocks = BLOCK.findall(file.read())
        self.assertEqual([kind for kind, _ in blocks], ["python", "text"] * 2)
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
                exec(compile(text, PAGE, "exec"), names)
            printed = output.getvalue()


if __name__ == "__main__":
    unittest.main()
