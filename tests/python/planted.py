#!/usr/bin/env python3
"""Runs one test under a module with a planted mistake: the test must fail, by a comparison and not by an error.

    PYTHONPATH=<folder of the module> tests/python/planted.py test_arrays.Class.test_name

Exit code: 0 it failed, 1 it passed, or ended otherwise.
"""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

suite = unittest.defaultTestLoader.loadTestsFromName(sys.argv[1])
result = unittest.TextTestRunner(verbosity=2).run(suite)
seen = result.testsRun == 1 and len(result.failures) == 1 and not result.errors
print("the mistake was seen" if seen else "the mistake was NOT seen")
sys.exit(0 if seen else 1)
