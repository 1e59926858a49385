#!/usr/bin/env python3
"""Holds the code that a mini-app's README quotes against the sources.

    tests/puzzles/quoted_code.py            compares, writes nothing
    tests/puzzles/quoted_code.py --write    renews every block

A block stands in apps/<app>/README.md between two comments; what is between them is replaced:

    <!-- code: variants/range.cpp tessera::map::range::add -->
    <!-- end of code -->

The file is relative to the mini-app. A label stands for the statement that begins at the Kokkos::parallel_for, _reduce
or _scan with that label and ends with its `);`. A function's name, such as `run` or `operator()`, stands for its body.
More words after them choose the first statement inside that begins so: `for (std::size_t step`.
The README of a mini-app with lessons (VariantInfo::lesson) quotes at least one of them.

Exit code: 0 all well, 1 one line per complaint.
"""

import argparse
import glob
import os
import re
import sys
import textwrap

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BLOCK = re.compile(
    r"^<!-- code: (?P<mark>(?P<path>\S+) (?P<name>\S+)(?: (?P<first>\S[^\n]*?))?) -->\n"
    r"(?P<code>.*?)^<!-- end of code -->$",
    re.M | re.S,
)
MARK = re.compile(r"^<!-- (?:code\b|end of code)", re.M)
# Comments and strings hide brackets.
TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|(?<!\w)'(?:\\.|[^'\\])+'|[(){};]", re.S)


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as file:
        return file.read()


def statement(text, begin):
    """Returns the lines of the statement or function that has `begin` in its first line."""
    depth = 0
    for token in TOKEN.finditer(text, begin):
        depth += (token[0] in ("(", "{")) - (token[0] in (")", "}"))
        if depth == 0 and token[0] in ("}", ";") and not re.match(r"\s*else\b", text[token.end() :]):
            end = token.end() + (text[token.end() :].startswith(";"))
            return textwrap.dedent(text[text.rfind("\n", 0, begin) + 1 : end])
    raise ValueError("ends within a statement")


def quoted(text, name, first=None):
    """Returns what a mark stands for. Throws ValueError."""
    if "::" in name:
        found = list(re.finditer(r"\bKokkos::parallel_(?:for|reduce|scan)\(\s*\"%s\"" % re.escape(name), text))
    else:
        found = list(re.finditer(r"(?<![\w.:])%s(?=\([^;{}]*\{$)" % re.escape(name), text, re.M))
    if len(found) != 1:
        raise ValueError(f"has {len(found)} of {name}, not 1")
    code = statement(text, found[0].start())
    if "::" not in name:
        code = textwrap.dedent(code[code.index("{\n") + 2 : code.rindex("\n")])
    if first:
        inner = re.compile(r"^ *%s" % re.escape(first), re.M).search(code, 1)
        if not inner:
            raise ValueError(f"has no statement `{first}` in {name}")
        code = statement(code, inner.end() - len(first))
    return code


def renewed(readme, folder, write):
    """(text, files of the blocks, complaints) of a mini-app's README, with the blocks as the sources have them."""
    files, complaints = [], []

    def renew(block):
        files.append(block["path"])
        try:
            code = f"```cpp\n{quoted(read(folder, block['path']), block['name'], block['first'])}\n```\n"
        except (OSError, ValueError) as error:
            complaints.append(f"{block['path']} {getattr(error, 'strerror', None) or error}")
            return block[0]
        if not write and code != block["code"]:
            complaints.append(f"{block['path']} has {block['name']} in other words; give --write")
        if not write:
            return block[0]
        return f"<!-- code: {block['mark']} -->\n{code}<!-- end of code -->"

    text, blocks = BLOCK.subn(renew, readme)
    if len(MARK.findall(readme)) != 2 * blocks:
        complaints.append("has a mark without its other half (`<!-- code: FILE NAME -->` or `<!-- end of code -->`)")
    return text, files, complaints


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="renew every block")
    parser.add_argument("--root", default=ROOT, help="the checkout (default: that of this script)")
    options = parser.parse_args(arguments)
    number, complaints = 0, []
    for path in sorted(glob.glob(os.path.join(options.root, "apps", "*", "problem.hpp"))):
        folder = os.path.dirname(path)
        name, readme = f"apps/{os.path.basename(folder)}/README.md", os.path.join(folder, "README.md")
        old = read(readme)
        new, blocks, wrong = renewed(old, folder, options.write)
        if new != old:
            with open(readme, "w", encoding="utf-8") as file:
                file.write(new)
        variants = [f"variants/{name}" for name in sorted(os.listdir(os.path.join(folder, "variants")))]
        lessons = [path for path in variants if ".lesson = true" in read(folder, path)]
        if lessons and not set(lessons) & set(blocks):
            wrong.append(f"quotes none of the lessons {', '.join(lessons)}")
        number += len(blocks)
        complaints += [f"{name}: {why}" for why in wrong]
    for complaint in complaints:
        print(complaint)
    print(f"{number} quotations, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
