#!/usr/bin/env python3
"""Checks that every relative link and every #anchor in Markdown files leads somewhere.

    tests/docs/links.py [FILE...]      all *.md of the checkout if none is named

Prints `file:line: problem` for each, and ends with 1 if there is one. Links to other sites are not looked at.
"""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "docs"))

import pages  # noqa: E402


def files(root, *patterns):
    """Files of the checkout that match, also those not yet committed. Links among them are followed only once."""
    command = ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    paths = {path: os.path.join(root, path) for path in listed.split("\0") if path}
    return sorted(path for path, where in paths.items() if os.path.isfile(where) and not os.path.islink(where))


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def problem(root, page, link, anchors_of):
    """What is wrong with a link of a page, or None."""
    if link.is_outside():
        return None
    path, anchor = pages.split(link.target)
    anchor = anchor.removeprefix("#")
    target = pages.repository_path(page, path) if path else page
    if os.path.isabs(path) or target.startswith(".."):
        return f"{link.target} leads out of the checkout"
    if not os.path.exists(os.path.join(root, target)):
        return f"{link.target} does not exist"
    if anchor and target.endswith(".md") and anchor not in anchors_of(target):
        return f"{link.target}: {target} has no heading with this anchor"
    return None


def check(root, checked):
    """The problems of these pages, as lines."""
    known = {}

    def anchors_of(path):
        if path not in known:
            known[path] = pages.anchors(read(root, path))
        return known[path]

    found = []
    for page in checked:
        text = read(root, page)
        for link in pages.links(text):
            wrong = problem(root, page, link, anchors_of)
            if wrong:
                found.append((page, text.count("\n", 0, link.first) + 1, wrong))
    return [f"{page}:{line}: {wrong}" for page, line, wrong in sorted(found)]


def main():
    checked = [os.path.relpath(os.path.realpath(name), ROOT) for name in sys.argv[1:]] or files(ROOT, "*.md")
    found = check(ROOT, checked)
    print("\n".join(found + [f"links: {len(checked)} pages, {len(found)} links lead nowhere"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
