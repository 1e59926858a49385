"""cmake/release.py in a mock checkout: the archive, the recipe beside it, and the versions of the tracked recipe."""

import gzip
import hashlib
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
SCRIPT = os.path.join(ROOT, "cmake", "release.py")
RECIPE = """class Tessera:
    here = "file://" + folder
    git = here
    releases = here + "/build/releases"
    version("main", branch="main", preferred=True)
"""


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
            ".gitattributes": "/package.py export-ignore\n/cmake/spack export-ignore\n",
            "cmake/spack/spack_repo/tessera/repo.yaml": "repo:\n  namespace: tessera\n",
        }
        for name, text in files.items():
            self.write(name, text)
        os.chmod(os.path.join(self.root, "run"), 0o755)
        self.git("init", "-q")
        self.commit("2026-02-03T04:05:06Z")

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def git(self, *words, **environment):
        who = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org")
        subprocess.run(["git", *who, *words], cwd=self.root, check=True, env={**os.environ, **environment})

    def commit(self, date):
        self.git("add", "-A", ".gitattributes", "CMakeLists.txt", "cmake", "package.py", "run")
        self.git("commit", "-q", "-m", "all", GIT_AUTHOR_DATE=date, GIT_COMMITTER_DATE=date)

    def release(self, *words):
        command = [sys.executable, "-B", SCRIPT, "--root", self.root, *words]
        return subprocess.run(command, capture_output=True, text=True)

    def released(self, *names):
        return os.path.join(self.root, "build", "releases", *names)

    def archive(self):
        with open(self.released("tessera-1.2.3.tar.gz"), "rb") as file:
            return file.read()

    def text(self, path):
        with open(path, encoding="utf-8") as file:
            return file.read()

    def tracked(self):
        return self.text(os.path.join(self.root, "package.py"))

    def test_the_archive_and_a_recipe_beside_it(self):
        result = self.release()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("no tag v1.2.3 yet", result.stderr)
        checksum = hashlib.sha256(self.archive()).hexdigest()
        self.assertEqual(result.stdout, f"tessera-1.2.3.tar.gz {checksum}\n")
        self.assertEqual(self.tracked(), RECIPE)
        line = f'    version("1.2.3", sha256="{checksum}")\n'
        expected = 'class Tessera:\n    here = "file://" + folder\n    releases = here\n' + line
        self.assertEqual(self.text(self.released("package.py")), expected)
        repository = self.released("spack_repo", "tessera")
        self.assertEqual(self.text(os.path.join(repository, "repo.yaml")), "repo:\n  namespace: tessera\n")
        # Spack resolves the link to find the archive: it must stay inside the folder, which may be copied.
        self.assertEqual(os.path.realpath(os.path.join(repository, "packages", "tessera", "package.py")),
                         os.path.realpath(self.released("package.py")))  # fmt: skip
        with tarfile.open(self.released("tessera-1.2.3.tar.gz")) as tar:
            self.assertEqual({entry.name: entry.mode for entry in tar if entry.isreg()},
                             {"tessera-1.2.3/CMakeLists.txt": 0o644, "tessera-1.2.3/run": 0o755,
                              "tessera-1.2.3/.gitattributes": 0o644})  # fmt: skip

    def test_the_same_bytes_on_every_machine(self):
        """Compressed blocks would depend on the machine's zlib: the archive has only stored ones."""
        self.write("CMakeLists.txt", "project(tessera VERSION 1.2.3 LANGUAGES CXX)\n" + "# a comment\n" * 10000)
        self.commit("2026-02-03T04:05:06Z")
        self.release()
        data = self.archive()
        tar = gzip.decompress(data)
        self.assertGreater(len(tar), 65535)  # more than one block
        places, at = [], 10
        while at < len(data) - 8:
            kind, length, complement = struct.unpack_from("<BHH", data, at)
            self.assertEqual((kind, length ^ complement), (int(at + 5 + length == len(data) - 8), 0xFFFF))
            places.append(data[at + 5 : at + 5 + length])
            at += 5 + length
        self.assertEqual(b"".join(places), tar)

    def test_neither_the_day_nor_the_recipe_is_in_it(self):
        self.release()
        first = self.archive()
        self.write("package.py", RECIPE + "    # changed\n")
        self.commit("2027-01-01T00:00:00Z")
        self.assertEqual(self.release().returncode, 0)
        self.assertEqual(self.archive(), first)
        with tarfile.open(self.released("tessera-1.2.3.tar.gz")) as tar:
            self.assertEqual(tar.pax_headers, {})  # git would put the commit's hash there

    def test_the_tracked_recipe_names_tagged_versions_only(self):
        self.assertEqual(self.release("--check").returncode, 0)
        checksum = self.release().stdout.split()[1]
        self.write("package.py", RECIPE + f'    version("1.2.3", sha256="{checksum}")\n')
        self.commit("2027-01-01T00:00:00Z")
        result = self.release("--check")
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1))
        self.assertIn("there is no tag v1.2.3", result.stderr)
        self.git("tag", "v1.2.3")
        self.assertEqual(self.release("--check").returncode, 0)
        # The tag has the archive with that checksum, whatever is committed later.
        self.write("run", "#!/bin/sh\n")
        self.commit("2027-01-02T00:00:00Z")
        self.assertEqual(self.release("--check").returncode, 0)
        self.write("package.py", RECIPE + '    version("1.2.3", sha256="0123")\n')
        result = self.release("--check")
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1))
        self.assertIn("a checksum for 1.2.3 (not that", result.stderr)

    def test_every_form_of_a_version(self):
        self.git("tag", "v1.2.3")
        checksum = self.release().stdout.split()[1]
        forms = (
            'version("1.2.3", sha256="{}")',
            "version('1.2.3', sha256='{}', preferred=True)",
            'version(\n        "1.2.3",\n        deprecated=True,\n        sha256="{}",\n    )',
            'version("1.2.3", "{}")',
        )
        for form in forms:
            self.write("package.py", RECIPE + "    " + form.format(checksum) + "\n")
            self.assertEqual(self.release("--check").returncode, 0, form)
            # The recipe of the release names it once.
            self.assertEqual(self.release().returncode, 0, form)
            self.assertEqual(self.text(self.released("package.py")).count("version("), 1, form)
            self.write("package.py", RECIPE + "    " + form.format("0123") + "\n")
            result = self.release("--check")
            self.assertEqual(result.returncode, 1, form)
            self.assertIn("a checksum for 1.2.3 (not that", result.stderr)
        self.write("package.py", RECIPE + '    version("1.2.3")\n')
        self.assertIn("a checksum for 1.2.3 (not that", self.release("--check").stderr)
        self.write("package.py", RECIPE + "    version(number)\n")
        self.assertIn("line 6: a version that is not written out", self.release("--check").stderr)

    def test_the_next_release(self):
        """Its recipe names only itself, because only its archive is beside it."""
        self.write("package.py", RECIPE + '    version("1.2.2", sha256="0123")\n')
        checksum = self.release().stdout.split()[1]
        recipe = self.text(self.released("package.py"))
        self.assertEqual(recipe.count("version("), 1)
        self.assertIn(f'    version("1.2.3", sha256="{checksum}")\n', recipe)

    def test_a_version_is_released_once(self):
        self.git("tag", "v1.2.3")
        result = self.release()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.write("run", "#!/bin/sh\n")
        self.commit("2027-01-02T00:00:00Z")
        result = self.release()
        self.assertEqual((result.returncode, result.stderr.count("\n")), (2, 1))
        self.assertIn("check out v1.2.3", result.stderr)

    def test_mistakes(self):
        self.write("package.py", "class Tessera:\n    pass\n")
        result = self.release()
        self.assertEqual((result.returncode, result.stderr.count("\n")), (2, 1))
        self.assertIn("package.py has no version(...)", result.stderr)
        self.write("package.py", RECIPE.replace("git = here", "git = there"))
        self.assertIn("package.py has 0 lines", self.release().stderr)
        self.write("package.py", "class Tessera\n")
        self.assertIn("package.py is not Python (line 1", self.release("--check").stderr)
        self.write("CMakeLists.txt", "project(tessera)\n")
        self.commit("2027-01-01T00:00:00Z")
        self.assertIn("has no version", self.release().stderr)
        shutil.rmtree(os.path.join(self.root, ".git"))
        self.assertIn("run it in a checkout", self.release().stderr)

    def test_this_checkout(self):
        """The tracked recipe is one that release.py can turn into a release's."""
        sys.path.insert(0, os.path.dirname(SCRIPT))
        self.addCleanup(sys.path.pop, 0)
        import release

        recipe = release.recipe_of(self.text(os.path.join(ROOT, "package.py")), "1.2.3", "0123")
        self.assertIn('    version("1.2.3", sha256="0123")\n', recipe)
        self.assertNotIn('version("main"', recipe)
        compile(recipe, "package.py", "exec")


if __name__ == "__main__":
    unittest.main()
