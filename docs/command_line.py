#!/usr/bin/env python3
"""Writes docs/command_line.md from the help texts of a built `tessera`: no option is typed twice.

    docs/command_line.py PROGRAM            writes the page
    docs/command_line.py --check PROGRAM    compares, writes nothing; exit code 1 if the page differs

PROGRAM is the path of a `tessera` with all mini-apps, and may have words before it that start it:

    docs/command_line.py --check ./run tessera

Of a `tessera` without some mini-apps it writes only the sections of those that it has.

Execution spaces and dtypes of the build are left out, so that every build with all mini-apps writes the same page. Exit
code 2: a mistake, and nothing was written.
"""

import argparse
import difflib
import glob
import os
import re
import subprocess
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "command_line.md")
WIDTH = 100
COLUMN = 28
OPTION = re.compile(r"^  (?P<names>-\S+(?: \S+)*)(?:\s{2,}(?P<text>\S.*))?$")
THIS_BUILD = re.compile(r": [a-z0-9_, ]+ in this build")

HEAD = """\
# Command line

<!-- Written by docs/command_line.py from the programs' help texts. Edit those, not this page. -->

Each mini-app is a program. `tessera` holds all of them: `tessera run prefix_sum` takes the options of `prefix_sum`.
`PROGRAM --help` prints the options, `PROGRAM --list` the variants, execution spaces and dtypes of the build.
Options are read before MPI and Kokkos start, so both work on a login node without a GPU.
[Reports](reports.md) explains the exit codes.
"""


OF_APPS = "## Options of single mini-apps\n"
AFTER_APPS = "## tessera study\n"


class UserError(Exception):
    """`problem (why); what to do`."""


def said_by(words):
    """Returns what a command prints on stdout. Throws UserError if it does not end with 0."""
    command = " ".join(words)
    try:
        result = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise UserError(f"cannot start {words[0]} ({error.strerror}); give the path of a built tessera") from error
    if result.returncode != 0:
        raise UserError(f"`{command}` ends with {result.returncode} ({result.stderr.strip()[-300:]}); build it first")
    return result.stdout


def sections(text):
    """Returns the sections of a help text, {heading: [(option, meaning)]}: those that list options."""
    found, heading = {}, None
    for line in text.splitlines():
        option = OPTION.match(line)
        if line and not line.startswith(" "):
            heading = line
        elif option:
            found.setdefault(heading, []).append([option["names"], option["text"] or ""])
        elif line.startswith(" " * COLUMN) and heading in found:
            found[heading][-1][1] = (found[heading][-1][1] + " " + line.strip()).strip()
    return found


def block(lines, language="text"):
    return "\n".join([f"```{language}", *lines, "```", ""])


def options_block(options):
    """The options as the help text sets them, without the facts of one build."""
    lines = []
    for names, meaning in options:
        meaning = THIS_BUILD.sub(": those of the build", meaning)
        rows = textwrap.wrap(meaning, WIDTH - COLUMN, break_long_words=False, break_on_hyphens=False)
        if len(names) >= COLUMN - 2:
            lines.append(names)
        else:
            lines.append(f"{names:<{COLUMN - 2}}{rows.pop(0)}")
        lines += [" " * (COLUMN - 2) + row for row in rows]
    return block(lines)


def sections_of_apps(helps):
    """Returns {mini-app: its section} in alphabetical order."""
    found = {}
    for app, help_text in sorted(helps.items()):
        own = [entry for entry in help_text["what to run on"] if entry[0].startswith("--sweep ")]
        own += help_text.get(f"options of {app}", [])
        found[app] = f"### {app}\n\n" + (options_block(own) if own else "None.\n")
    return found


def with_sections(old, new):
    """Returns the page with these sections of mini-apps."""
    head, begin, rest = old.partition(OF_APPS)
    middle, end, tail = rest.partition(AFTER_APPS)
    sections_there = {text.split("\n", 1)[0]: "### " + text.rstrip("\n") + "\n" for text in middle.split("### ")[1:]}
    texts = dict(sorted({**sections_there, **new}.items()))
    return head + begin + "\n" + "\n".join(texts.values()) + "\n" + end + tail


def page(program, old):
    """Returns the text of docs/command_line.md, which has been `old`."""
    apps = [line.split()[0] for line in said_by([*program, "list"]).split("\n\n")[0].splitlines()]
    helps = {app: sections(said_by([*program, "help", app])) for app in apps}
    if not {os.path.basename(os.path.dirname(path)) for path in glob.glob(f"{ROOT}/apps/*/problem.hpp")} <= set(apps):
        return with_sections(old, sections_of_apps(helps))
    parts = [HEAD, "## tessera\n", block(said_by([*program, "--help"]).strip().splitlines())]

    parts.append("## Options of every mini-app\n")
    common = sections(said_by([*program, "run", "all", "--help"]))
    # It takes the files of one mini-app, so `run all` has none.
    common["what to run on"] += [entry for entry in helps[apps[0]]["what to run on"] if entry[0].startswith("--input ")]
    for heading, options in common.items():
        parts += [f"### {heading[0].upper()}{heading[1:]}\n", options_block(options)]
    parts.append("`--input` takes one mini-app; `tessera run all` takes `--inputs`.\n")

    parts += [OF_APPS, *sections_of_apps(helps).values()]
    for command in ("study", "compare", "predict", "limits"):
        parts += [f"## tessera {command}\n", block(said_by([*program, command, "--help"]).strip().splitlines())]
    parts += ["## ./run\n", block(said_by([os.path.join(ROOT, "run"), "help"]).strip().splitlines())]
    parts.append("`tessera-plot --help` lists the options of [tessera-plot](pictures.md).\n")
    return "\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description="Writes docs/command_line.md from the help texts of a built tessera.")
    parser.add_argument("--check", action="store_true", help="compare with the page; exit code 1 if it differs")
    parser.add_argument("program", nargs="+", metavar="PROGRAM", help="a tessera with mini-apps")
    options = parser.parse_args()
    try:
        with open(PAGE, encoding="utf-8") as file:
            old = file.read()
    except FileNotFoundError:
        old = ""
    text = page(options.program, old)
    if text == old:
        print("docs/command_line.md: as the help texts")
        return 0
    if options.check:
        files = ("docs/command_line.md", "help texts")
        print("\n".join(difflib.unified_diff(old.splitlines(), text.splitlines(), *files, n=1, lineterm="")))
        problem = "the page differs from the help texts (see above); run docs/command_line.py PROGRAM"
        print(f"command_line: {problem}", file=sys.stderr)
        return 1
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(text)
    print("docs/command_line.md: written")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        print(f"command_line: {error}", file=sys.stderr)
        sys.exit(2)
