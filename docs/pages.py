"""The pages of the site: which they are, where they stand in it, and where their links lead.

A page of the repository keeps its text. It is copied into the source tree that Sphinx reads (build/docs-source), and
only its links change: to another page, to a picture's copy, to the file at the project's web address, or to plain text.
"""

import os
import re
import shutil

PICTURES = (".png", ".svg", ".jpg", ".gif")
# Folders whose Markdown files are pages, beside those at the top.
FOLDERS = ("docs", "apps", "common", "tests", "cmake")

FENCE = re.compile(r"^( *)(```+|~~~+)[^\n]*\n.*?(?:^ *\2[`~]* *$|\Z)", re.M | re.S)
CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.S)
COMMENT = re.compile(r"<!--.*?-->", re.S)
# [text](target), [text](target "title"); the text is looked for backwards, since it may have brackets itself.
INLINE = re.compile(r"\]\(\s*<?([^()\s<>]*(?:\([^()\s]*\)[^()\s<>]*)*)>?(\s+\"[^\"]*\")?\s*\)")
DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]:\s+<?(\S+?)>?\s*$", re.M)
SOURCE = re.compile(r"<img\b[^>]*?\bsrc=\"([^\"]+)\"")
HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*$", re.M)
# A line of a page of docs/reference that stands for all that a header promises.
HEADER = re.compile(r"^\[`tessera/(\S+)`\]\(\S+\)$", re.M)
SET_BY_HAND = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"|^\(([^)\s]+)\)=\s*$", re.M)


def blank(match):
    """As many characters, none of which means anything in Markdown."""
    return re.sub(r"[^\n]", "x", match[0])


def masked(text):
    """The text with code and comments blanked; every other character keeps its place."""
    for pattern in (COMMENT, FENCE, CODE):
        text = pattern.sub(blank, text)
    return text


class Link:
    """A link in a text: [begin, end) is all of it, [first, last) its target. `text` is what a reader sees, None for
    definitions and HTML."""

    def __init__(self, begin, end, first, last, target, text):
        self.begin, self.end, self.first, self.last, self.target, self.text = begin, end, first, last, target, text

    def is_outside(self):
        """Whether it leads to another site."""
        return re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:", self.target) is not None or self.target.startswith("//")


def links(text):
    """All links of a Markdown text, in the order in which they end."""
    code = masked(text)
    found = []
    for match in INLINE.finditer(code):
        depth, begin = 0, match.start()
        while begin >= 0:
            depth += (code[begin] == "]") - (code[begin] == "[")
            if depth == 0:
                break
            begin -= 1
        if begin < 0 or "\n\n" in text[begin : match.start()]:
            continue
        is_image = begin > 0 and code[begin - 1] == "!"
        first, last = match.span(1)
        shown = text[begin + 1 : match.start()]
        found.append(Link(begin - is_image, match.end(), first, last, text[first:last], shown))
    for pattern in (DEFINITION, SOURCE):
        for match in pattern.finditer(code):
            found.append(Link(*match.span(), *match.span(1), text[slice(*match.span(1))], None))
    return found


def slug(heading):
    """The anchor that GitHub and MyST give a heading."""
    heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    heading = re.sub(r"(?<![\w\\])([*_]+)(\S(?:.*?\S)?)\1(?!\w)", r"\2", heading)
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def anchors(text):
    """The anchors of a page: of its headings (the second of the same name ends in -1), and those set by hand."""
    seen, result = {}, set()
    fenced = FENCE.sub(blank, COMMENT.sub(blank, text))
    for match in HEADING.finditer(fenced):
        name = slug(match[2])
        number = seen.get(name, 0)
        seen[name] = number + 1
        result.add(f"{name}-{number}" if number else name)
    for match in SET_BY_HAND.finditer(fenced):
        result.add(match[1] or match[2])
    return result


def place(path):
    """Where a page of the repository stands in the site: docs/ is its top, a README is the first page of its folder."""
    if path == "README.md":
        return "readme.md"
    folder, name = os.path.split(path.removeprefix("docs/"))
    return os.path.join(folder, "index.md" if name == "README.md" else name.lower() if not folder else name)


def find(root):
    """All pages of the repository: a dict of paths to places."""
    found = [name for name in os.listdir(root) if name.endswith(".md")]
    for top in FOLDERS:
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders[:] = [name for name in folders if not name.startswith((".", "_"))]
            found += [os.path.relpath(os.path.join(folder, name), root) for name in names if name.endswith(".md")]
    return {path: place(path) for path in sorted(found)}


def split(target):
    """A link's path and its anchor, with the number sign."""
    path, sign, anchor = target.partition("#")
    return path, sign + anchor


def repository_path(page, path):
    """The file of the repository to which a relative link of `page` leads."""
    return os.path.normpath(os.path.join(os.path.dirname(page), path))


class Site:
    """The site made from the repository `root`. `address`: of the repository's files on the web, or None. `reference`:
    the Reference of the headers, or None."""

    def __init__(self, root, address=None, reference=None):
        self.root, self.address, self.reference = root, address, reference
        self.pages = find(root)
        self.pictures = set()

    def target(self, page, link):
        """What a link of `page` becomes: a new target; None for plain text; the old one if it leads nowhere, so that
        Sphinx says so."""
        path, anchor = split(link.target)
        if link.is_outside() or not path:
            return link.target
        path = repository_path(page, path)
        here = os.path.dirname(self.pages[page])
        for candidate in (path, os.path.join(path, "README.md"), os.path.join(path, "index.md")):
            if candidate in self.pages:
                return os.path.relpath(self.pages[candidate], here) + anchor
        if not os.path.exists(os.path.join(self.root, path)):
            return link.target
        if path.endswith(PICTURES):
            self.pictures.add(path)
            return os.path.relpath(os.path.join("pictures", path), here)
        return f"{self.address}/{path}{anchor}" if self.address else None

    def text(self, page):
        """A page as the site has it."""
        with open(os.path.join(self.root, page), encoding="utf-8") as file:
            text = file.read()
        is_reference = page.startswith("docs/reference/")
        if is_reference and self.reference:
            text = HEADER.sub(r"(header \1)=", text)
        edits = []
        for link in links(text):
            target = self.target(page, link)
            if target is not None:
                edits.append((link.first, link.last, target))
            elif link.text is None:
                edits.append((link.begin, link.end, ""))
            else:
                edits += [(link.begin, link.begin + 1, ""), (link.begin + 1 + len(link.text), link.end, "")]
        for begin, end, new in sorted(edits, reverse=True):
            text = text[:begin] + new + text[end:]
        if is_reference and self.reference:
            text = re.sub(r"^\(header (\S+)\)=$", lambda match: self.reference.header(match[1], 2), text, flags=re.M)
        return text

    def headers(self):
        """The headers that stand on the pages of the reference, as often as they do."""
        found = []
        for page in self.pages:
            if page.startswith("docs/reference/"):
                with open(os.path.join(self.root, page), encoding="utf-8") as file:
                    found += HEADER.findall(file.read())
        return found

    def write(self, where):
        """Fills the directory `where`. A file that would not change is not touched, so that Sphinx does not read it."""
        wanted = {}
        for page, name in self.pages.items():
            wanted[name] = self.text(page).encode()
        for picture in self.pictures:
            with open(os.path.join(self.root, picture), "rb") as file:
                wanted[os.path.join("pictures", picture)] = file.read()
        for folder, _, names in os.walk(where):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.relpath(path, where) not in wanted:
                    os.remove(path)
        for name, content in wanted.items():
            path = os.path.join(where, name)
            if os.path.isdir(path):
                shutil.rmtree(path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if os.path.exists(path):
                with open(path, "rb") as file:
                    if file.read() == content:
                        continue
            with open(path, "wb") as file:
                file.write(content)
