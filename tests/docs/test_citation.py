"""CITATION.cff says of Tessera what its other files say, and the workflow calls what must pass."""

import os
import re
import unittest

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class Citation(unittest.TestCase):
    citation = yaml.safe_load(read("CITATION.cff"))

    def test_it_has_what_the_format_requires(self):
        self.assertEqual(self.citation["cff-version"], "1.2.0")
        for key in ("message", "title", "authors"):
            self.assertTrue(self.citation[key])
        self.assertEqual(self.citation["authors"], [{"name": "The Tessera developers"}])

    def test_version_is_that_of_the_project(self):
        version = re.search(r"project\(tessera VERSION ([0-9.]+)", read("CMakeLists.txt"))[1]
        self.assertEqual(str(self.citation["version"]), version)

    def test_licence_is_that_of_the_file(self):
        name, number, clause = re.match(r"(\w+) (\d)-(\w+) License\n", read("LICENSE")).groups()
        self.assertEqual(self.citation["license"], f"{name}-{number}-{clause}")
        self.assertIn("The Tessera developers", read("LICENSE"))


class Workflow(unittest.TestCase):
    def test_it_runs_all_steps_with_the_whole_history(self):
        steps = yaml.safe_load(read(".github/workflows/ci.yml"))["jobs"]["checks"]["steps"]
        self.assertIn(".ci/run", [step.get("run") for step in steps])
        self.assertIn({"fetch-depth": 0}, [step.get("with") for step in steps])


if __name__ == "__main__":
    unittest.main()
