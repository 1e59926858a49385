"""tessera.run and tessera.variants, with the program if there is one, and with stand-ins for it."""

import json
import os
import stat
import tempfile
import unittest
import unittest.mock

import tessera
from tessera import _program

try:
    PROGRAM = _program.find()
except FileNotFoundError:
    PROGRAM = None


@unittest.skipUnless(PROGRAM, "there is no program tessera")
class Program(unittest.TestCase):
    few = ["--size", "1000", "--samples", "1", "--min-time", "0", "--warmup", "0"]

    def test_report(self):
        report = tessera.run(["map", *self.few])
        self.assertEqual(report.schema, "tessera-report/1")
        self.assertEqual(report.rows[0].app, "map")
        self.assertGreater(report.rows[0].seconds, 0)
        self.assertEqual(report.document["rows"][0]["seconds"], report.rows[0].seconds)
        self.assertEqual({row.size for row in report.rows}, {1000})

    def test_variants(self):
        names = tessera.variants("map")
        self.assertIn("range", names)
        report = tessera.run(["map", "--variant", names[0], *self.few])
        self.assertEqual({row.variant for row in report.rows}, {names[0]})

    def test_mistakes(self):
        with self.assertRaisesRegex(tessera.UserError, "--sise.*did you mean"):
            tessera.run(["map", "--sise", "4"])
        with self.assertRaisesRegex(tessera.UserError, "mapp"):
            tessera.variants("mapp")
        with self.assertRaisesRegex(TypeError, "give a list"):
            tessera.run("map")
        with self.assertRaisesRegex(tessera.UserError, "makes no report"):
            tessera.run(["map", "--list"])


class StandIns(unittest.TestCase):
    """What a program does seldom."""

    def program(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "tessera")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(path, stat.S_IRWXU)
        named = unittest.mock.patch.dict(os.environ, TESSERA_PROGRAM=path)
        named.start()
        self.addCleanup(named.stop)

    def test_failed_rows_are_in_the_report(self):
        document = {"schema": "x", "rows": [{"status": "failed", "reason": "y", "parameters": {"min-time": 0}}]}
        self.program(f"for last; do :; done; echo '{json.dumps(document)}' > \"$last\"; exit 1")
        report = tessera.run(["map"])
        self.assertEqual(report.rows[0].status, "failed")
        self.assertEqual(report.rows[0].parameters, {"min-time": 0})

    def test_a_crash(self):
        self.program("echo torn >&2; kill -ABRT $$")
        with self.assertRaisesRegex(RuntimeError, "ended with -6: torn"):
            tessera.run(["map"])

    def test_no_program(self):
        with unittest.mock.patch.dict(os.environ, TESSERA_PROGRAM="/nowhere/tessera"):
            with self.assertRaisesRegex(FileNotFoundError, "TESSERA_PROGRAM is '/nowhere/tessera'"):
                tessera.run(["map"])


if __name__ == "__main__":
    unittest.main()
