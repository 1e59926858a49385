"""cmake/release.py in a checkout made for the purpose: an archive that does not depend on when or where, and its checksum."""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cmake", "release.py")
RECIPE = 'class Tessera:\n    version("main", branch="main")\n    version("0.0.1", sha256="")\n'


@unittest.skipUnless(shutil.which("git"), "no git")
class Release(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        files = {
            "CMakeLists.txt": "project(tessera VERSION 1.2.3 LANGUAGES CXX)\n",
            "package.py": RECIPE,
            "run": "#!/bin/bash\n",
            ".gitattributes": "/package.py export-ignore\n",
        }
        for name, text in files.items():
            self.write(name, text)
        os.chmod(os.path.join(self.root, "run"), 0o755)
        self.git("init", "-q")
        self.commit("2026-02-03T04:05:06Z")

    def write(self, name, text):
        with open(os.path.join(self.root, name), "w", encoding="utf-8") as file:
            file.write(text)

    def git(self, *words, **environment):
        who = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org")
        subprocess.run(["git", *who, *words], cwd=self.root, check=True, env={**os.environ, **environment})

    def commit(self, date):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "all", GIT_AUTHOR_DATE=date, GIT_COMMITTER_DATE=date)

    def release(self, *words):
        return subprocess.run([sys.executable, "-B", SCRIPT, "--root", self.root, *words], capture_output=True, text=True)

    def archive(self):
        with open(os.path.join(self.root, "build", "releases", "tessera-1.2.3.tar.gz"), "rb") as file:
            return file.read()

    def recipe(self):
        with open(os.path.join(self.root, "package.py"), encoding="utf-8") as file:
            return file.read()

    def test_the_archive_and_its_checksum(self):
        self.assertEqual(self.release("--check").returncode, 1)
        self.assertEqual(self.recipe(), RECIPE)
        self.assertEqual(self.release().returncode, 0)
        checksum = hashlib.sha256(self.archive()).hexdigest()
        self.assertIn(f'version("1.2.3", sha256="{checksum}")', self.recipe())
        self.assertIn('version("main", branch="main")', self.recipe())
        self.assertEqual(self.release("--check").returncode, 0)
        with tarfile.open(os.path.join(self.root, "build", "releases", "tessera-1.2.3.tar.gz")) as tar:
            self.assertEqual({entry.name: entry.mode for entry in tar if entry.isreg()},
                             {"tessera-1.2.3/CMakeLists.txt": 0o644, "tessera-1.2.3/run": 0o755,
                              "tessera-1.2.3/.gitattributes": 0o644})  # fmt: skip

    def test_neither_the_day_nor_the_recipe_is_in_it(self):
        self.release()
        first = self.archive()
        shutil.rmtree(os.path.join(self.root, "build"))
        self.write("CMakeLists.txt", "project(tessera VERSION 1.2.3 LANGUAGES CXX)\n")
        self.commit("2027-01-01T00:00:00Z")  # the recipe with its checksum
        self.release()
        self.assertEqual(self.archive(), first)
        with tarfile.open(os.path.join(self.root, "build", "releases", "tessera-1.2.3.tar.gz")) as tar:
            self.assertEqual(tar.pax_headers, {})  # where git would put the commit's hash
        self.assertEqual(self.release("--check").returncode, 0)
        self.write("run", "#!/bin/sh\n")
        self.commit("2027-01-02T00:00:00Z")
        self.assertEqual(self.release("--check").returncode, 1)

    def test_mistakes(self):
        self.write("package.py", "class Tessera:\n    pass\n")
        result = self.release()
        self.assertEqual((result.returncode, result.stderr.count("\n")), (2, 1))
        self.assertIn("0 lines version", result.stderr)
        self.write("CMakeLists.txt", "project(tessera)\n")
        self.commit("2027-01-01T00:00:00Z")
        self.assertIn("has no version", self.release().stderr)
        shutil.rmtree(os.path.join(self.root, ".git"))
        self.assertIn("run it in a checkout", self.release().stderr)


if __name__ == "__main__":
    unittest.main()
