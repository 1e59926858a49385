"""A broken link is found, and a good one is not."""

import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import links  # noqa: E402
from test_pages import checkout  # noqa: E402


class Check(unittest.TestCase):
    def check(self, text):
        files = {"a/page.md": text, "a/other.md": "# One heading\n", "b/source.cpp": ""}
        with checkout(files) as root:
            return links.check(root, ["a/page.md"])

    def test_good_links(self):
        for target in ("other.md", "other.md#one-heading", "../b", "../b/source.cpp#L3", "#here", "https://x.y/z"):
            self.assertEqual(self.check(f"# Here\n[a]({target})\n"), [], target)

    def test_broken_links(self):
        broken = {
            "nothing.md": "nothing.md does not exist",
            "other.md#two": "other.md#two: a/other.md has no heading with this anchor",
            "#two": "#two: a/page.md has no heading with this anchor",
            "../../x.md": "../../x.md leads out of the checkout",
            "/b/source.cpp": "/b/source.cpp leads out of the checkout",
        }
        for target, wrong in broken.items():
            self.assertEqual(self.check(f"# Here\n\n[x]({target})\n"), [f"a/page.md:3: {wrong}"])

    def test_files(self):
        with checkout({"a.md": "", "b/c.md": "", "d.txt": "", ".gitignore": "e.md\n", "e.md": ""}) as root:
            subprocess.run(["git", "init", "-q", root], check=True)
            self.assertEqual(links.files(root, "*.md"), ["a.md", "b/c.md"])


if __name__ == "__main__":
    unittest.main()
