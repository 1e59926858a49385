"""The reference of the headers: what their comments promise, as Markdown, from the XML that Doxygen makes of them."""

import os
import re
import subprocess
import textwrap
import xml.etree.ElementTree as ElementTree

HERE = os.path.dirname(os.path.realpath(__file__))
HEADERS = "common/include/tessera"
FOLDERS = ("kernels", "collective")

# Elements of a paragraph that stand for themselves, see `blocks`.
BLOCKS = ("verbatim", "itemizedlist", "orderedlist", "parameterlist", "simplesect", "programlisting", "table")
SECTIONS = {"return": "Returns", "see": "See", "note": "Note:", "warning": "Warning:"}
USE = re.compile(r"(Use|or|and)((?:, [^:;]*)?):(?:  +|$)")


def headers(root):
    """The headers that the reference must have, as `kernels/scan.hpp`. Folders named detail are left out."""
    found = []
    for top in FOLDERS:
        for folder, folders, names in os.walk(os.path.join(root, HEADERS, top)):
            folders[:] = sorted(set(folders) - {"detail"})
            place = os.path.relpath(folder, os.path.join(root, HEADERS))
            found += [os.path.join(place, name) for name in sorted(names)]
    return [name for name in found if name.endswith(".hpp")]


def run_doxygen(where):
    """Writes the XML into the directory `where`. Returns Doxygen's warnings, a list of lines."""
    os.makedirs(where, exist_ok=True)
    with open(os.path.join(HERE, "Doxyfile"), encoding="utf-8") as file:
        settings = file.read() + f'\nOUTPUT_DIRECTORY = "{where}"\n'
    result = subprocess.run(["doxygen", "-"], cwd=HERE, input=settings, capture_output=True, text=True, check=False)
    lines = [line for line in (result.stdout + result.stderr).splitlines() if line.strip()]
    if result.returncode != 0 and not lines:
        lines = [f"doxygen ended with {result.returncode}"]
    return lines


# ----------------------------------------------------------------------------------------------------------------------
# Descriptions
# ----------------------------------------------------------------------------------------------------------------------


def plain(text):
    """Text in which nothing means anything to Markdown."""
    return re.sub(r"([\\`*_\[\]<>{}|~$#^])", r"\\\1", text)


def fenced(text, language):
    return f"```{language}\n{text}\n```"


def use(text):
    """The code of a paragraph `Use:`. Further ways begin with `or, when:`, which becomes a line of comment."""
    lines = []
    for line in text.split("\n"):
        rest = line
        while match := USE.search(rest):
            before = rest[: match.start()].rstrip()
            if before:
                lines.append(before)
            if match[1] != "Use" or match[2]:
                lines.append("// " + (match[1] + match[2]).removeprefix("Use, ") + ":")
            rest = rest[match.end() :]
        if rest.strip():
            # Lines that continue code stand below it.
            lines.append(rest if match or rest != line else rest.strip())
    return fenced("\n".join(re.sub(r";  +(?=\S)", ";\n", line.strip()) for line in lines), "cpp")


def code(text):
    """A block of code of a comment."""
    text = re.sub(r"^ *///", "", text, flags=re.M).strip("\n").rstrip()
    if text.lstrip().startswith("Use"):
        return use(text)
    return fenced(textwrap.dedent(text.removeprefix(":")), "text")


def inline(element):
    """The text of a paragraph's element and of what is in it."""
    result = plain(element.text or "")
    for child in element:
        tag = child.tag
        if tag == "computeroutput":
            content = "".join(child.itertext())
            ticks = "``" if "`" in content else "`"
            result += ticks + content + ticks
        elif tag in ("bold", "emphasis"):
            mark = "**" if tag == "bold" else "*"
            result += mark + inline(child) + mark
        elif tag == "ulink":
            result += f"[{inline(child)}]({child.get('url')})"
        elif tag == "linebreak":
            result += "\n"
        elif tag in ("ndash", "mdash"):
            result += "--" if tag == "ndash" else "---"
        elif tag not in BLOCKS:
            result += inline(child)
        result += plain(child.tail or "")
    return result


def items(element, mark):
    """A list as Markdown."""
    result = []
    for number, item in enumerate(element.findall("listitem"), 1):
        bullet = f"{number}. " if mark == "1" else "- "
        result.append(bullet + textwrap.indent(description(item), " " * len(bullet)).lstrip())
    return "\n".join(result)


def parameters(element):
    """What Doxygen collected of \\param, \\tparam and \\throws."""
    lines = []
    for item in element.findall("parameteritem"):
        names = ", ".join("`" + "".join(name.itertext()).strip() + "`" for name in item.iter("parametername"))
        text = " ".join(description(item.find("parameterdescription")).split())
        lines.append(f"- {names}: {text}")
    return "\n".join(lines)


def blocks(paragraph):
    """The blocks of a paragraph: its text, and lists and code in it, in their order."""
    result, text = [], ElementTree.Element("para")
    text.text = paragraph.text

    def flush():
        nonlocal text
        written = inline(text).strip()
        if written:
            result.append(written)
        text = ElementTree.Element("para")

    for child in paragraph:
        tail = child.tail
        block = None
        if child.tag == "verbatim":
            block = code(child.text or "")
        elif child.tag in ("itemizedlist", "orderedlist"):
            block = items(child, "1" if child.tag == "orderedlist" else "-")
        elif child.tag == "parameterlist":
            block = parameters(child)
        elif child.tag == "simplesect":
            block = f"{SECTIONS.get(child.get('kind'), '')} {description(child)}".strip()
        elif child.tag == "programlisting":
            lines = [line.iter() for line in child.iter("codeline")]
            text_of = ["".join(" " if part.tag == "sp" else part.text or "" for part in parts) for parts in lines]
            block = fenced("\n".join(text_of), "cpp")
        if block is None:
            text.append(child)
        else:
            flush()
            result.append(block)
            text.text = tail
    flush()
    return result


def description(element):
    """A brief or detailed description as Markdown."""
    if element is None:
        return ""
    result = []
    for paragraph in element.findall("para"):
        result += blocks(paragraph)
    return "\n\n".join(result)


def documentation(element):
    """All that a comment says."""
    parts = (description(element.find("briefdescription")), description(element.find("detaileddescription")))
    return "\n\n".join(part for part in parts if part)


# ----------------------------------------------------------------------------------------------------------------------
# Declarations
# ----------------------------------------------------------------------------------------------------------------------


def tidy(text):
    """C++ with blanks as clang-format has them, where Doxygen has others."""
    text = " ".join(text.split())
    text = re.sub(r"(?<! )< (?=\S)", "<", text)
    text = re.sub(r"(?<=[^\s&|=<>!+*/-]) >(?!=)", ">", text)
    while "> >" in text:
        text = text.replace("> >", ">>")
    text = re.sub(r" ([&*]+)(?=[ ,)>]|\w|$)", r"\1 ", text).replace(" ,", ",").replace(" )", ")")
    text = re.sub(r"(?<=[\w)\]}>])(==|<=|>=|=)(?=[\w(\[{\"'-])", r" \1 ", text)
    return " ".join(re.sub(r" (:|<<)(?=\w)", r" \1 ", text).split())


def words(element):
    return "".join(element.itertext()) if element is not None else ""


def template(element):
    """`template <...>` and its requires clause, a line each; nothing for what is no template."""
    lists = element.find("templateparamlist")
    lines = []
    if lists is not None:
        parts = []
        for parameter in lists.findall("param"):
            part = f"{words(parameter.find('type'))} {words(parameter.find('declname'))}".strip()
            if parameter.find("defval") is not None:
                part += f" = {words(parameter.find('defval'))}"
            parts.append(tidy(part))
        lines.append(f"template <{', '.join(parts)}>")
    if element.find("requiresclause") is not None:
        lines.append(f"  requires {tidy(words(element.find('requiresclause')))}")
    return lines


def wrapped(text):
    """A function's declaration, with a line for each parameter if it is long."""
    if len(text) <= 100:
        return text
    call = text.find("operator()")
    begin = text.index("(", call + len("operator()") if call >= 0 else 0)
    parts, depth, last = [], 0, begin + 1
    for place in range(begin, len(text)):
        depth += (text[place] in "([{<") - (text[place] in ")]}>" and text[place - 1] != "-")
        if depth == 0:
            parts.append(text[last:place])
            return text[: begin + 1] + ",".join("\n    " + part.strip() for part in parts) + text[place:]
        if depth == 1 and text[place] == ",":
            parts.append(text[last:place])
            last = place + 1
    return text


def declaration(member):
    """A member, function, alias or constant as a header declares it."""
    kind, name = member.get("kind"), words(member.find("name"))
    type_of = tidy(words(member.find("type")))
    lines = template(member)
    if kind == "function":
        prefix = "static " if member.get("static") == "yes" else ""
        if member.get("explicit") == "yes" and not type_of.startswith("explicit"):
            prefix += "explicit "
        arguments = tidy(words(member.find("argsstring")))
        lines.append(wrapped(f"{prefix}{type_of} {name}".replace("  ", " ").strip() + arguments + ";"))
    elif kind == "typedef":
        lines.append(f"using {name} = {type_of};")
    elif kind == "enum":
        values = ", ".join(words(value.find("name")) for value in member.findall("enumvalue"))
        strong = "class " if member.get("strong") == "yes" else ""
        lines.append(f"enum {strong}{name} {{ {values} }};")
    else:
        initial = tidy(words(member.find("initializer")))
        if "\n" in words(member.find("initializer")).strip() or len(initial) > 80:
            initial = ""
        prefix = "static " if member.get("static") == "yes" and "static" not in type_of else ""
        prefix += "constexpr " if member.get("constexpr") == "yes" and "constexpr" not in type_of else ""
        lines.append(f"{prefix}{type_of} {name}{words(member.find('argsstring'))}{' ' + initial if initial else ''};")
    return "\n".join(lines)


# ----------------------------------------------------------------------------------------------------------------------
# The headers
# ----------------------------------------------------------------------------------------------------------------------


class Reference:
    """What Doxygen wrote into the directory `where`, by header."""

    def __init__(self, where):
        self.files, self.compounds, self.members = {}, {}, {}
        folder = os.path.join(where, "xml")
        index = ElementTree.parse(os.path.join(folder, "index.xml")).getroot()
        for entry in index.findall("compound"):
            kind = entry.get("kind")
            if kind not in ("file", "namespace", "class", "struct", "concept"):
                continue
            tree = ElementTree.parse(os.path.join(folder, entry.get("refid") + ".xml"))
            compound = tree.getroot().find("compounddef")
            name = words(compound.find("compoundname"))
            if re.search(r"\bdetail\b", name):
                continue
            location = compound.find("location")
            header = location.get("file") if location is not None else None
            if kind == "file":
                self.files[header] = compound
            elif kind == "namespace":
                for member in compound.iter("memberdef"):
                    if member.get("kind") != "friend":
                        self.members.setdefault(member.find("location").get("file"), []).append(member)
            else:
                self.compounds.setdefault(header, []).append(compound)

    def header(self, name, level):
        """The section of a header; `level` is that of its heading. Empty if it has no comment."""
        file = self.files.get(name)
        mark = "#" * level
        lines = [f"{mark} `tessera/{name}`", documentation(file) if file is not None else ""]
        entries = []
        for compound in self.compounds.get(name, []):
            entries.append((int(compound.find("location").get("line")), self.compound(compound, level + 1)))
        for member in self.members.get(name, []):
            text = self.member(member, level + 1)
            entries.append((int(member.find("location").get("line")), text))
        lines += [text for _, text in sorted(entries, key=lambda entry: entry[0])]
        return "\n\n".join(line for line in lines if line)

    def compound(self, compound, level):
        """A class, struct or concept and its documented public members."""
        said = documentation(compound)
        members = [self.member(member, 0) for member in compound.findall("sectiondef/memberdef")]
        members = [member for member in members if member]
        if not said and not members:
            return ""
        kind = compound.get("kind")
        name = tidy(re.sub(r"^tessera::(kernels::|collective::)?", "", words(compound.find("compoundname"))))
        lines = template(compound)
        if kind == "concept":
            shown = words(compound.find("initializer")).strip()
            shown = re.sub(r"\btessera::\w+::(?=%s\b)" % re.escape(name), "", shown)
            shown = re.sub(r"^template<", "template <", re.sub(r"= +requires", "= requires", shown)).rstrip(";") + ";"
        else:
            bases = ", ".join(f"{base.get('prot')} {tidy(words(base))}" for base in compound.findall("basecompoundref"))
            lines.append(f"{kind} {name}{' : ' + bases if bases and 'detail' not in bases else ''};")
            shown = "\n".join(lines)
        return "\n\n".join([f"{'#' * level} `{name}`", fenced(shown, "cpp"), said, *members])

    def member(self, member, level):
        """A documented public member, with a heading if `level` is not 0."""
        said = documentation(member)
        for value in member.findall("enumvalue"):
            text = " ".join(documentation(value).split())
            if text:
                said += f"\n- `{words(value.find('name'))}`: {text}"
        if member.get("prot") != "public" or not said.strip():
            return ""
        heading = f"{'#' * level} `{words(member.find('name'))}`\n\n" if level else ""
        return f"{heading}{fenced(declaration(member), 'cpp')}\n\n{said.strip()}"
