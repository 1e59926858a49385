#!/usr/bin/env python3
"""Runs the commands of the walkthroughs in docs/walkthroughs, as a reader would.

    tests/docs/walkthroughs.py --bin build/debian-release/bin                   all pages
    tests/docs/walkthroughs.py --bin build/debian-release/bin --page teaching   one page
    tests/docs/walkthroughs.py --bin ... --libraries-of ROOT                    programs of a Debian root, outside of it

A block that begins with ```bash is run, line by line, in one shell and an empty directory. The programs of --bin and
tessera-plot are on the PATH, and $INPUTS is the checkout's inputs. A block ```console or ```text is only shown to
readers. The first command that fails ends the page: it is shown with its output. A line that calls tessera-plot is left
out if Python has no matplotlib. Exit code: 0 all pages, 1 a command failed, 2 a mistake.
"""

import argparse
import glob
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = os.path.join(ROOT, "docs", "walkthroughs")
BLOCK = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class UserError(Exception):
    """`problem (why); what to do`."""


def blocks_of(text):
    """Returns the blocks of a page that are run, each as (number of its first line, text)."""
    return [(text.count("\n", 0, match.start(1)) + 1, match.group(1)) for match in BLOCK.finditer(text)]


def script_of(text, plot):
    """Returns a bash script of a page's blocks, which names the line that it is at in the variable `at`."""
    lines = ["set -euo pipefail", "at=0", "trap 'if [[ $? != 0 ]]; then echo \"line $at failed\"; fi' EXIT"]
    for first, block in blocks_of(text):
        continued = False
        for number, line in enumerate(block.splitlines(), first):
            if not plot and line.startswith("tessera-plot "):
                lines.append(f"echo 'left out, there is no matplotlib: '{shlex.quote(line)}")
                continue
            if line and not continued and not line.startswith((" ", "#")):
                lines.append(f"at={number}")
            continued = line.endswith("\\")
            lines.append(line)
    return "\n".join(lines) + "\n"


def loader_of(root):
    """Returns the dynamic loader of a Debian root, which lies in the folder of its architecture's libraries."""
    found = glob.glob(os.path.join(root, "usr/lib/*-linux-gnu/ld*.so.[0-9]"))
    if len(found) != 1:
        raise UserError(f"{root} has {len(found)} dynamic loaders in usr/lib/*-linux-gnu (a Debian root has one); "
                        "name the root that the programs were built in")  # fmt: skip
    return found[0]


def wrap(program, path, loader):
    """Writes a script that starts a program with a loader and the libraries beside it."""
    folder = os.path.dirname(loader)
    libraries = f"{folder}:{os.path.join(folder, 'hdf5/serial')}"
    words = [loader, "--argv0", path, "--library-path", libraries, program]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    os.chmod(path, 0o755)


def fill_bin(folder, options):
    """Fills a folder for the PATH with the programs of --bin and tessera-plot."""
    for program in glob.glob(os.path.join(os.path.abspath(options.bin), "*")):
        path = os.path.join(folder, os.path.basename(program))
        if options.libraries_of:
            wrap(program, path, loader_of(options.libraries_of))
        else:
            os.symlink(program, path)
    if not os.path.exists(os.path.join(folder, "tessera-plot")):
        os.symlink(os.path.join(ROOT, "common", "plot", "tessera-plot"), os.path.join(folder, "tessera-plot"))


def run(page, programs, plot):
    """Returns whether every command of a page succeeded; shows the one that did not."""
    name = os.path.splitext(os.path.basename(page))[0]
    with open(page, encoding="utf-8") as file:
        text = file.read()
    if not blocks_of(text):
        raise UserError(f"{page} has no block to run (none begins with ```bash); mark its commands")
    environment = dict(os.environ, PATH=programs + os.pathsep + os.environ["PATH"], INPUTS=os.path.join(ROOT, "inputs"))
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        result = subprocess.run(
            ["bash", "-c", script_of(text, plot)],
            cwd=scratch,
            env=environment,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    seconds = time.monotonic() - begin
    if result.returncode == 0:
        print(f"{name}: ok, {len(blocks_of(text))} blocks in {seconds:.0f} s")
        return True
    failed = re.findall(r"^line (\d+) failed$", result.stdout, re.MULTILINE)
    print(result.stdout[-3000:])
    if failed:
        print(f"{page}:{failed[-1]}: {text.splitlines()[int(failed[-1]) - 1]}")
    print(f"{name}: FAILED with exit code {result.returncode} after {seconds:.0f} s")
    return False


def main():
    parser = argparse.ArgumentParser(description="Runs the commands of the walkthroughs in docs/walkthroughs.")
    parser.add_argument("--bin", required=True, help="the folder of the built programs")
    parser.add_argument("--page", help="one page, by its name: teaching, procurement, reuse or character_model")
    parser.add_argument("--libraries-of", metavar="ROOT", help="start programs with the libraries of this Debian root")
    options = parser.parse_args()
    if not os.path.exists(os.path.join(options.bin, "tessera")):
        raise UserError(f"{options.bin} has no tessera (nothing is built there); give the bin of a build directory")
    pages = sorted(glob.glob(os.path.join(PAGES, (options.page or "*") + ".md")))
    if not pages:
        raise UserError(f"there is no page {options.page} in {PAGES}; give a name without .md")
    plot = importlib.util.find_spec("matplotlib") is not None
    with tempfile.TemporaryDirectory() as programs:
        fill_bin(programs, options)
        good = [run(page, programs, plot) for page in pages]
    return 0 if all(good) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        print(f"walkthroughs: {error}", file=sys.stderr)
        sys.exit(2)
