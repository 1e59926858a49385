#!/usr/bin/env python3
"""Doxygen's input filter: the headers' comments, as Doxygen takes them.

    docs/doxygen_filter.py FILE        writes the header with the same number of lines to stdout

Comments are written for people who read the header. Three things in them mean something else to Doxygen:

- the paragraph `Use:` is code (reference.py takes it apart);
- lines indented by three blanks or more, outside of a list, are code;
- `<` and `>` are no HTML.
"""

import re
import sys

# The code before a comment, the slashes, the comment.
COMMENT = re.compile(r"^((?:[^\"/]|/(?!//)|\"(?:[^\"\\]|\\.)*\")*)(///<?)(?!/)(.*)$")
USE = re.compile(r"^ ?Use(?:, [^:]*)?:  +\S")


def escaped(text):
    """The text with < and > that are no HTML; code in backticks has none in any case."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"(?<!\\)([<>])", r"\\\1", part) for part in parts)


def indent(line):
    return len(line) - len(line.lstrip(" "))


def block(lines):
    """A comment block (texts behind the slashes) as Doxygen takes it: as many lines."""
    result, mode, in_list = [], "text", False
    for index, line in enumerate(lines):
        bare = line.strip()
        if not bare:
            if mode == "use":
                result[-1] += " \\endverbatim"
            if mode != "code":
                mode = "text"
            in_list = in_list and index + 1 < len(lines) and indent(lines[index + 1]) > 1
            result.append(line)
            continue
        if mode == "code" and indent(line) < 3:
            # The last line of code ends it; empty ones may follow it.
            last = max(place for place, text in enumerate(result) if text.strip())
            result[last] += " \\endverbatim"
            mode = "text"
        if mode == "text" and USE.match(line):
            mode = "use"
            result.append(" \\verbatim " + line.strip())
        elif mode == "use":
            if result[-1].rstrip().endswith(";") and not re.search(r"[;{},(]$|//", line.rstrip()):
                result[-1] += " \\endverbatim"  # what follows is a sentence
                mode = "text"
                line = escaped(line)
            result.append(line)
        elif mode == "code":
            result.append(line)
        elif indent(line) >= 3 and not in_list:
            mode = "code"
            # Doxygen drops blanks behind the command, but not behind a colon, which reference.py drops.
            result.append(" \\verbatim :" + line)
        else:
            in_list = in_list or re.match(r" *(-|\d+\.) ", line) is not None
            result.append(escaped(line))
    if mode != "text" and result:
        last = max(place for place, text in enumerate(result) if text.strip())
        result[last] += " \\endverbatim"
    return result


def filtered(text):
    """The whole header."""
    lines, result, place = text.split("\n"), [], 0
    while place < len(lines):
        match = COMMENT.match(lines[place])
        if not match:
            result.append(lines[place])
            place += 1
        elif match[1].strip() or match[2] == "///<":
            result.append(match[1] + match[2] + escaped(match[3]))
            place += 1
        else:
            comments = []
            while place < len(lines):
                match = COMMENT.match(lines[place])
                if not match or match[1].strip() or match[2] != "///":
                    break
                comments.append((match[1], match[3]))
                place += 1
            for (before, _), after in zip(comments, block([text for _, text in comments])):
                result.append(f"{before}///{after}")
    return "\n".join(result)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        sys.stdout.write(filtered(file.read()))
