#!/usr/bin/env python3
"""Checks that pages are easy to read and that lines are not too long.

    tests/docs/prose.py              compares with tests/docs/prose_exceptions.txt; ends with 1 where they differ
    tests/docs/prose.py --list KIND  all places of this kind
    tests/docs/prose.py --write      renews the exceptions

Kinds:

    sentence   of a page, more than 35 words
    cell       of a table of a page, more than 20 words
    opening    a sentence of a page that begins with "Of", "Where", "In it" or "What ... is"
    line       of a page's text without the targets of its links, or of a source in C++, CMake or Python, more than
               120 columns

The exceptions are lines `file kind count`. Counts only go down: a file with more places fails, and so does one with
fewer, whose count is then to be lowered.
"""

import argparse
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from links import ROOT, files, pages, read  # noqa: E402

EXCEPTIONS = "tests/docs/prose_exceptions.txt"
KINDS = ("sentence", "cell", "opening", "line")
MOST_WORDS, MOST_WORDS_OF_CELL, MOST_COLUMNS = 35, 20, 120
SOURCES = ("*.cpp", "*.hpp", "*.[ch]pp.in", "*.cmake", "*.cmake.in", "CMakeLists.txt", "*/CMakeLists.txt", "*.py")

TARGET = re.compile(r"\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)")
ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|cf|vs|al|etc|Fig|No|Dr|pp|resp)|\b[A-Z])\.$")
END = re.compile(r"[.!?][\"')\]*_]*(?=\s+(?:\"|['(\[*_]*[A-Z0-9`]))|[.!?][\"')\]*_]*\s*$")
OPENING = re.compile(r"[\"'(*_]*(?:Of|Where|In it|What\b.*? is)\b(?!.*\?[\"')*_]*$)", re.S)


def words(text):
    """How many words: of what has a letter or a digit in it."""
    return sum(1 for word in text.split() if re.search(r"\w", word))


def without_code(text):
    """Code and a link's target each as part of a word, so that neither counts; lines stay where they are."""

    def as_word(match):
        return "Code" + "\n" * match[0].count("\n")  # a capital, since a sentence may begin with it

    text = pages.COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)
    text = pages.FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)
    text = pages.CODE.sub(as_word, text)
    return TARGET.sub("]", text)


def paragraphs(text):
    """The paragraphs and list items of a page without its code, each with the number of its first line."""
    begin, lines = 0, []
    for number, line in enumerate(text.split("\n") + [""], 1):
        starts_item = re.match(r"\s*(?:[-*+]|\d+[.)])\s+", line)
        ends = not line.strip() or re.match(r"\s*(?:\||#{1,6}\s|<|:{3,}|\(\S+\)=|\[[^\]]+\]:\s)", line)
        if (starts_item or ends) and lines:
            yield begin, "\n".join(lines)
            lines = []
        if ends:
            continue
        if not lines:
            begin = number
        lines.append(line[starts_item.end() :] if starts_item else line)


def sentences(paragraph):
    """The sentences of a paragraph, each with the line in which it begins, from 0."""
    begin = 0
    for match in END.finditer(paragraph):
        sentence = paragraph[begin : match.end()]
        if ABBREVIATION.search(sentence.rstrip()) and match.end() < len(paragraph.rstrip()):
            continue
        if sentence.strip():
            space = len(sentence) - len(sentence.lstrip())
            yield paragraph.count("\n", 0, begin + space), sentence.strip()
        begin = match.end()
    if paragraph[begin:].strip():
        space = len(paragraph[begin:]) - len(paragraph[begin:].lstrip())
        yield paragraph.count("\n", 0, begin + space), paragraph[begin:].strip()


def places_of_page(text):
    """(kind, line, what) of a page."""
    bare = without_code(text)
    for first, paragraph in paragraphs(bare):
        for line, sentence in sentences(paragraph):
            if words(sentence) > MOST_WORDS:
                yield "sentence", first + line, f"{words(sentence)} words: {' '.join(sentence.split())[:60]} ..."
            if OPENING.match(sentence):
                yield "opening", first + line, f"{' '.join(sentence.split())[:60]} ..."
    for number, line in enumerate(bare.split("\n"), 1):
        if line.lstrip().startswith("|"):
            for cell in re.split(r"(?<!\\)\|", line.strip().strip("|")):
                if words(cell) > MOST_WORDS_OF_CELL:
                    yield "cell", number, f"{words(cell)} words: {cell.strip()[:60]} ..."
    masked = text
    for pattern in (pages.COMMENT, pages.FENCE):
        masked = pattern.sub(lambda match: "\n" * match[0].count("\n"), masked)
    for number, line in enumerate(TARGET.sub("]", masked).split("\n"), 1):
        # Tables and single long words cannot be made shorter.
        can_be_shorter = not line.lstrip().startswith("|") and " " in re.sub(r"^\s*[-*+]\s+", "", line).strip()
        if len(line) > MOST_COLUMNS and can_be_shorter:
            yield "line", number, f"{len(line)} columns"


def places_of_source(text):
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MOST_COLUMNS:
            yield "line", number, f"{len(line)} columns"


def places(root):
    """All places: a dict of (file, kind) to lists of (line, what)."""
    found = {}
    for path in files(root, "*.md", *SOURCES):
        of = places_of_page if path.endswith(".md") else places_of_source
        for kind, line, what in of(read(root, path)):
            found.setdefault((path, kind), []).append((line, what))
    return found


def exceptions(text):
    """The counts that the list of exceptions allows."""
    allowed = {}
    for line in text.split("\n"):
        if line.strip() and not line.startswith("#"):
            path, kind, count = line.split()
            allowed[path, kind] = int(count)
    return allowed


def compare(found, allowed):
    """What is wrong, as lines."""
    wrong = []
    for path, kind in sorted(set(found) | set(allowed)):
        there, count = found.get((path, kind), []), allowed.get((path, kind), 0)
        if len(there) > count:
            wrong.append(f"{path}: {len(there)} places of the kind `{kind}` ({count} are allowed); mend one of them:")
            wrong += [f"  {path}:{line}: {what}" for line, what in there]
        elif len(there) < count:
            advice = f"lower the count of `{kind}` to {len(there)} in {EXCEPTIONS}"
            wrong.append(f"{path}: {advice} (it is {count}), or give --write")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="renew the exceptions")
    parser.add_argument("--list", metavar="KIND", choices=KINDS, help="show all places of this kind")
    options = parser.parse_args()
    found = places(ROOT)
    if options.list:
        for (path, kind), there in sorted(found.items()):
            if kind == options.list:
                print("\n".join(f"{path}:{line}: {what}" for line, what in there))
        return 0
    if options.write:
        with open(os.path.join(ROOT, EXCEPTIONS), "w", encoding="utf-8") as file:
            file.write("# Written by tests/docs/prose.py --write: file, kind, count. Counts only go down.\n")
            file.writelines(f"{path} {kind} {len(there)}\n" for (path, kind), there in sorted(found.items()))
        return 0
    allowed = exceptions(read(ROOT, EXCEPTIONS))
    wrong = compare(found, allowed)
    totals = ", ".join(f"{sum(len(there) for (_, of), there in found.items() if of == kind)} {kind}" for kind in KINDS)
    print("\n".join(wrong + [f"prose: {totals}; {sum(allowed.values())} places are allowed"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
