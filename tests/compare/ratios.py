#!/usr/bin/env python3
"""Our fastest row beside each peer's, case by case, as a table in Markdown.

    tests/compare/ratios.py REPORT.json [PYTORCH.json ...]

Rows of one case in several reports are set beside each other only if the reports are of one device and one build. Ours
are all that are of no library, write no fewer elements than the peer and do not round their factors. Rates are the
least bytes, or operations, of the case over the median time: whichever stands closer to its roof. ratio: their time
over ours; above 1 ours is faster. Exit code: 0, or 2 and a message.
"""

import argparse
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "common", "plot"))
sys.dont_write_bytecode = True

from tessera_plot.ratios import table  # noqa: E402
from tessera_plot.reports import UserError  # noqa: E402


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+")
    options = parser.parse_args(arguments)
    try:
        print("\n".join(table(options.reports)))
    except UserError as error:
        print(f"ratios.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
