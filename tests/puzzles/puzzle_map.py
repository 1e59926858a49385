#!/usr/bin/env python3
"""Holds apps/README.md, the map of puzzles and mini-apps, against what there is.

    ./run tessera run all --list >list.txt
    tests/puzzles/puzzle_map.py --list list.txt          names, files, and that nothing is left out
    tests/puzzles/puzzle_map.py --list list.txt --commands FILE    and writes the page's commands, one a line
    tests/puzzles/puzzle_map.py --list list.txt --write            and writes the mini-apps into README.md and
                                                                   package.py, and variants into their mini-app's
                                                                   README. Of a build without some mini-apps only
                                                                   this, for those that it has
    tests/puzzles/puzzle_map.py --list list.txt --reports DIR      and reads DIR/1.json, DIR/2.json, ...: what the
                                                                   commands, in their order, wrote with --json

Checks:
- Every puzzle from P1 to P24 has a row, and a lesson among its variants. A lesson has at most 60 lines of code and a
  loop of its own.
- Mini-apps, variants and sweeps are those of --list; input files are in inputs/. A command names its row's mini-app,
  variants and inputs.
- The table of planted mistakes has P9 and P10 of the later edition, and each program of tests/bugs. A program has at
  most 60 lines of code.
- The table of Python scripts has P15 to P20, and each script p*.py of common/python/examples.
- No input `puzzle_*` is left out, and no mini-app.
- The table `| variant | step | ...` of a mini-app's README has a row for each variant. --write makes that of a new one
  from its VariantInfo: the usual step of its level, and its summary. Both may be changed by hand.
- The table of mini-apps in README.md has those of --list, with their puzzles. Puzzles of the later edition, and rows
  beyond the book, are not named there.
- In a report, each variant of the command has a row that passed, except those in MAY_BE_SKIPPED; no row failed.

Exit code: 0 all well, 1 one line per complaint, 2 a mistake in the call.
"""

import argparse
import glob
import json
import os
import re
import shlex
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BEYOND = "Beyond the book"  # a table of mini-apps without a puzzle
BUGS = "Finding a bug"  # a table of programs that are no mini-apps
PYTHON = "From Python"  # a table of scripts
EXAMPLES = "common/python/examples"
OPERATIONS = [f"P{number}" for number in range(15, 21)]  # the puzzles that register an operation
PUZZLES = [f"P{number}" for number in range(1, 25)]
HEADERS_OF_LESSONS = "detail/launch/(team_shape|row_tiles|chunks)"  # the most that a lesson takes from kernels/
LINES_OF_LESSON = 60  # of code: comments, blank lines and includes do not count
# Variants that a host cannot run with any input: all of their rows may be skipped.
MAY_BE_SKIPPED = {("matmul", "tiled_overlap"), ("matmul", "tiled_async"), ("conv1d", "async_halo"),
                  ("matmul", "tensor_tf32"), ("matmul", "tensor_3xtf32"),
                  ("dot", "cluster_sum"), ("histogram", "cluster"), ("roofline", "triad_wide_scratch")}  # fmt: skip
STEPS = {"range": "plain", "team": "scratch", "lane": "registers", "device": "registers", "library": "library",
         "ranks": "ranks"}  # of a new variant, by its level  # fmt: skip
LINK = re.compile(r"^\[(?P<app>\w+)\]\((?P<folder>\w+)/README\.md\)$")
LATER = re.compile(r"^P(2[7-9]|3[0-5])$")
NAMES = re.compile(r"^`\w+`(, `\w+`)*$")


BEGIN, END = "<!-- mini-apps: written by tests/puzzles/puzzle_map.py -->\n", "<!-- end of mini-apps -->"


def listed(text):
    """What --list says: {mini-app: {"summary": text, "variant": names, "lesson": names, "sweep": names, "about": {name:
    (level, summary)}}}."""
    apps = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) < 2:
            continue
        if words[0] == "app":
            apps[words[1]] = {"summary": line.split(None, 2)[2:], "variant": set(), "lesson": set(), "sweep": set(),
                              "about": {}}  # fmt: skip
        elif words[0] in ("variant", "sweep") and apps:
            list(apps.values())[-1][words[0]].add(words[1])
            about = re.match(r"variant +(\w+)  +(\w+)  +.*?  +(.*?)( \[.*)?$", line)
            if about:
                list(apps.values())[-1]["about"][about[1]] = about.group(2, 3)
            if words[0] == "variant" and " [lesson]" in line:
                list(apps.values())[-1]["lesson"].add(words[1])
    return apps


def tables(text):
    """(heading, rows of cells) of each table; the two lines of a table's head are left out."""
    heading, rows, found = "", [], []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
            continue
        if rows:
            found.append((heading, rows[2:]))
            rows = []
        if line.startswith("## "):
            heading = line[3:].strip()
    return found


def names_in(cell):
    return [name.strip("`") for name in cell.split(", ")] if NAMES.match(cell) else []


def complaints_of_command(command, app, variants, inputs, known):
    """What is wrong with a row's command."""
    words = shlex.split(command)
    complaints = []
    options = {}
    option = None
    for word in words[1:]:
        if word.startswith("--"):
            option = options.setdefault(word, [])
        elif option is not None:
            option.append(word)
    sweep = options.get("--sweep")
    start = ["./run", app, "--sweep" if sweep else "--input"]
    if words[: len(start)] != start:
        complaints.append(f"the command begins with `{' '.join(words[:len(start)])}`, not with `{' '.join(start)}`")
    elif sweep and not set(sweep) <= known["sweep"]:
        complaints.append(f"{app} has no sweep {', '.join(sweep)}")
    elif not sweep and options["--input"] != [f"inputs/{app}/{name}.h5" for name in inputs]:
        complaints.append("the command reads other files than the row's inputs")
    if options.get("--variant") != [",".join(variants)]:
        complaints.append("the command runs other variants than the row's")
    return complaints


def lines_of_code(text):
    """How many lines of C++ are more than a comment or an #include."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    lines = (re.sub(r"//.*", "", line).strip() for line in text.splitlines())
    return sum(1 for line in lines if line and not line.startswith("#"))


def complaints_of_lessons(apps, root):
    """A lesson is one short file with a loop of its own, without the packs and lanes of the fast variants."""
    complaints = []
    for app, known in apps.items():
        for name in sorted(known["lesson"]):
            path = f"apps/{app}/variants/{name}.cpp"
            with open(os.path.join(root, path), encoding="utf-8") as file:
                text = file.read()
            lines = lines_of_code(text)
            if lines > LINES_OF_LESSON:
                complaints.append(f"{path} is a lesson of {lines} lines of code, more than {LINES_OF_LESSON}")
            if "Kokkos::parallel_" not in text:
                complaints.append(f"{path} is a lesson without a loop of its own")
            own_work = r"tessera/(collective/pack|collective/lane/(?!lanes)|kernels/(?!%s))" % HEADERS_OF_LESSONS
            if re.search(own_work, text):
                complaints.append(f"{path} is a lesson that takes its work from a kernel or from packs")
    return complaints


def complaints_of_bugs(rows, root):
    """What is wrong with the table of programs that have a planted mistake."""
    complaints, named, puzzles = [], [], set()
    for cells in rows:
        place = f"{BUGS}, {cells[0]}"
        if len(cells) != 4:
            complaints.append(f"{place}: {len(cells)} cells, not 4")
            continue
        puzzles.add(cells[0].split(",")[0])
        programs = names_in(cells[2])
        named += programs
        if cells[3].strip("`") != " ".join(["./run bugs", *programs]):
            complaints.append(f"{place}: the command runs other programs than the row's")
    there = glob.glob(os.path.join(root, "tests", "bugs", "*.cpp"))
    for path in there:
        with open(path, encoding="utf-8") as file:
            lines = lines_of_code(file.read())
        if lines > LINES_OF_LESSON:
            complaints.append(f"{path} has {lines} lines of code, more than {LINES_OF_LESSON}")
    names = {os.path.basename(path)[: -len(".cpp")] for path in there}
    complaints += [f"{BUGS}: there is no tests/bugs/{name}.cpp" for name in named if name not in names]
    complaints += [f"{BUGS}: {name} is no row's" for name in sorted(names - set(named))]
    if puzzles != {"P9", "P10"}:
        complaints.append(f"{BUGS}: the puzzles are {', '.join(sorted(puzzles)) or 'none'}, not P9, P10")
    return complaints


def complaints_of_examples(rows, root):
    """What is wrong with the table of Python scripts."""
    complaints, named, puzzles = [], [], []
    for cells in rows:
        place = f"{PYTHON}, {cells[0]}"
        if len(cells) != 4:
            complaints.append(f"{place}: {len(cells)} cells, not 4")
            continue
        puzzle = re.split(r"[ ,]", cells[0])[0]
        puzzles.append(puzzle)
        name = cells[2].strip("`")
        named.append(name)
        if not name.startswith(puzzle.lower() + "_"):
            complaints.append(f"{place}: {name} is named after another puzzle")
        if cells[3].strip("`") != f"./run python {EXAMPLES}/{name}":
            complaints.append(f"{place}: the command runs another script than the row's")
    there = {os.path.basename(path) for path in glob.glob(os.path.join(root, EXAMPLES, "p[0-9]*.py"))}
    complaints += [f"{PYTHON}: there is no {EXAMPLES}/{name}" for name in named if name not in there]
    complaints += [f"{PYTHON}: {name} is no row's" for name in sorted(there - set(named))]
    if sorted(puzzles) != OPERATIONS:
        complaints.append(f"{PYTHON}: the puzzles are {', '.join(puzzles) or 'none'}, not P15 to P20")
    return complaints


def puzzle_inputs(root):
    """Those that are a puzzle's, as `mini-app/name.h5`; without those that are another one in double or int32."""
    found = []
    for path in sorted(glob.glob(os.path.join(root, "inputs", "*", "puzzle_*.h5"))):
        stem = path[: -len(".h5")]
        if not any(
            stem.endswith(dtype) and os.path.exists(stem[: -len(dtype)] + ".h5") for dtype in ("_double", "_int32")
        ):
            found.append("/".join(path.split(os.sep)[-2:]))
    return found


def check(text, apps, root=ROOT):
    """(complaints, commands, puzzles of each mini-app) of the page."""
    complaints, commands, of_app, named = complaints_of_lessons(apps, root), [], {}, set()
    taught, bugs, examples, mapped = set(), [], [], set()
    for heading, rows in tables(text):
        if heading == BUGS:
            bugs = rows
            continue
        if heading == PYTHON:
            examples = rows
            continue
        for cells in rows:
            place = f"{heading}, {cells[0]}"
            if len(cells) != 5:
                complaints.append(f"{place}: {len(cells)} cells, not 5")
                continue
            what, link, variants, inputs, command = cells
            match = LINK.match(link)
            if not match or match["app"] != match["folder"] or match["app"] not in apps:
                complaints.append(f"{place}: {link} is no link to the README of a mini-app of --list")
                continue
            app = match["app"]
            mapped.add(app)
            if not os.path.exists(os.path.join(root, "apps", app, "README.md")):
                complaints.append(f"{place}: there is no apps/{app}/README.md")
            puzzle = "scans" if heading == "Scans" else re.split(r"[ ,]", what)[0]
            if heading == "Later edition":
                if not LATER.match(puzzle):
                    complaints.append(f"{place}: {puzzle} is none of P27 to P35")
            elif puzzle not in PUZZLES and heading == "Puzzles":
                complaints.append(f"{place}: {puzzle} is none of P1 to P24")
            elif heading != BEYOND and puzzle not in of_app.setdefault(app, []):
                of_app[app].append(puzzle)
            variants, inputs = names_in(variants), names_in(inputs)
            if apps[app]["lesson"] & set(variants):
                taught.add(puzzle)
            named |= {f"{app}/{name}.h5" for name in inputs}
            if not variants or not inputs:
                complaints.append(f"{place}: no variants, or no inputs (`name`, `name`)")
            for name in variants:
                if name not in apps[app]["variant"]:
                    complaints.append(f"{place}: {app} has no variant {name}")
            for name in inputs:
                if not os.path.exists(os.path.join(root, "inputs", app, name + ".h5")):
                    complaints.append(f"{place}: there is no inputs/{app}/{name}.h5")
            command = command.strip("`")
            complaints += [
                f"{place}: {why}" for why in complaints_of_command(command, app, variants, inputs, apps[app])
            ]
            commands.append(command)
    if bugs or os.path.exists(os.path.join(root, "tests", "bugs")):
        complaints += complaints_of_bugs(bugs, root)
    if examples or os.path.exists(os.path.join(root, EXAMPLES)):
        complaints += complaints_of_examples(examples, root)
    complaints += [f"inputs/{name} is no row's" for name in puzzle_inputs(root) if name not in named]
    complaints += [f"{app} has no row" for app in apps if app not in mapped]
    there = {puzzle for puzzles in of_app.values() for puzzle in puzzles}
    complaints += [f"{puzzle} has no row" for puzzle in [*PUZZLES, "scans"] if puzzle not in there]
    complaints += [f"{puzzle} has no lesson" for puzzle in PUZZLES if puzzle in there and puzzle not in taught]
    return complaints, commands, of_app


def readme_table(old, apps, of_app, absent):
    """README.md's table of mini-apps: in its order, new ones last; summaries from --list. `absent` keep their rows."""
    rows = {match[1]: match[0] for match in re.finditer(r"^\| \[(\w+)\].*$", old, re.MULTILINE)}
    for app, listed_as in apps.items():
        summary = " ".join(listed_as["summary"]).replace("|", "\\|")
        if "=" in summary:
            summary = f"`{summary}`"
        rows[app] = f"| [{app}](apps/{app}/README.md) | {summary} | {', '.join(of_app.get(app, []))} |"
    kept = [row for app, row in rows.items() if app in apps or app in absent]
    return "\n".join(["", "| mini-app | computes | puzzles |", "|---|---|---|", *kept, "", ""])


def with_ladder(readme, about):
    """The text of a mini-app's README with a row for each variant in its ladder, and the rows' names without one."""
    lines = readme.splitlines(keepends=True)
    start = next((place for place, line in enumerate(lines) if line.startswith("| variant | step |")), None)
    if start is None:
        return readme, set()
    end = next((place for place in range(start, len(lines)) if not lines[place].startswith("|")), len(lines))
    head, rows = lines[start].strip("| \n").split(" | "), lines[start + 2 : end]
    names = set(re.findall(r"`(\w+)`", "".join(row.split("|")[1] for row in rows)))
    for name in [name for name in about if name not in names]:
        level, summary = about[name]
        cells = [f"`{name}`", STEPS[level], *[""] * (len(head) - 2)]
        cells[next((place for place, cell in enumerate(head) if "idea" in cell or cell == "method"), 2)] = summary
        of_step = [place for place, row in enumerate(rows) if row.split("|")[2].strip() == STEPS[level]]
        rows.insert(of_step[-1] + 1 if of_step else len(rows), "| " + " | ".join(cells) + " |\n")
    return "".join([*lines[: start + 2], *rows, *lines[end:]]), names - set(about)


def ladders(apps, root, write):
    """Complaints of the ladders in the READMEs of mini-apps; with `write` their missing rows are written."""
    complaints = []
    for app in sorted(apps):
        path = os.path.join(root, "apps", app, "README.md")
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            old = file.read()
        new, extra = with_ladder(old, apps[app]["about"])
        complaints += [f"apps/{app}/README.md: there is no variant {name}" for name in sorted(extra)]
        if new != old and write:
            with open(path, "w", encoding="utf-8") as file:
                file.write(new)
        elif new != old:
            complaints.append(f"apps/{app}/README.md: variants without a row (puzzle_map.py --write adds them)")
    return complaints


def write_recipe(path, apps):
    """Spack's recipe has the mini-apps in alphabetical order."""
    with open(path, encoding="utf-8") as file:
        recipe = file.read()
    names = "".join(f'        "{app}",\n' for app in sorted(apps))
    with open(path, "w", encoding="utf-8") as file:
        file.write(re.sub(r"(?<=\n    mini_apps = \(\n)[^)]*(?=    \)\n)", names, recipe))


def complaints_of_report(command, report):
    """What is wrong with the rows of a command's report."""
    words = shlex.split(command)
    if "--variant" not in words:
        return []  # complaints_of_command says it
    of = {}
    for row in report["rows"]:
        of.setdefault((row["app"], row["variant"]), []).append(row)
    complaints = [
        f"{app}/{variant} is {row['status']}: {row['reason']}"
        for (app, variant), rows in of.items()
        for row in rows
        if row["status"] not in ("passed", "skipped")
    ]
    for name in words[words.index("--variant") + 1].split(","):
        rows = {app: rows for (app, variant), rows in of.items() if variant == name}
        if not rows:
            complaints.append(f"{name} has no row")
        for app in rows:
            if (app, name) not in MAY_BE_SKIPPED and not any(row["status"] == "passed" for row in rows[app]):
                complaints.append(f"{app}/{name} has no row that passed: {rows[app][0]['reason']}")
    return complaints


def complaints_of_reports(commands, folder):
    complaints = []
    for number, command in enumerate(commands, start=1):
        try:
            with open(os.path.join(folder, f"{number}.json"), encoding="utf-8") as file:
                complaints += [f"`{command}`: {why}" for why in complaints_of_report(command, json.load(file))]
        except (OSError, ValueError, KeyError, TypeError) as error:
            complaints.append(f"`{command}`: no report ({type(error).__name__}: {error})")
    return complaints


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", required=True, metavar="FILE", help="what `tessera run all --list` prints")
    parser.add_argument("--commands", metavar="FILE", help="where to write the page's commands")
    parser.add_argument("--write", action="store_true", help="write mini-apps and variants to README.md, package.py")
    parser.add_argument("--reports", metavar="DIR", help="where the commands' reports are")
    parser.add_argument("--root", default=ROOT, help="the checkout (default: that of this script)")
    options = parser.parse_args(arguments)
    try:
        with open(options.list, encoding="utf-8") as file:
            apps = listed(file.read())
        with open(os.path.join(options.root, "apps", "README.md"), encoding="utf-8") as file:
            text = file.read()
        with open(os.path.join(options.root, "README.md"), encoding="utf-8") as file:
            readme = file.read()
    except OSError as error:
        print(f"puzzle_map: {error}", file=sys.stderr)
        return 2
    if not apps:
        print(f"puzzle_map: {options.list} names no mini-app; write it with `tessera run all --list`", file=sys.stderr)
        return 2
    built = os.path.join(options.root, "apps", "*", "CMakeLists.txt")
    names = {os.path.basename(os.path.dirname(path)) for path in glob.glob(built)} - {"tessera"}
    absent = sorted(names - set(apps))
    if absent and not options.write:
        print(f"puzzle_map: {options.list} is of a build without {', '.join(absent)}; list a build with all mini-apps",
              file=sys.stderr)
        return 2
    complaints, commands, of_app = check(text, apps, options.root)
    if options.commands:
        with open(options.commands, "w", encoding="utf-8") as file:
            file.writelines(command + "\n" for command in commands)
    if options.reports:
        complaints += complaints_of_reports(commands, options.reports)
    complaints = [f"apps/README.md: {complaint}" for complaint in complaints]
    complaints += ladders(apps, options.root, options.write)
    head, begin, rest = readme.partition(BEGIN)
    old, end, tail = rest.partition(END)
    table = readme_table(old, apps, of_app, absent)
    if not begin or not end:
        complaints.append(f"README.md has no {BEGIN.strip()} with an {END}")
    elif options.write:
        with open(os.path.join(options.root, "README.md"), "w", encoding="utf-8") as file:
            file.write(head + begin + table + end + tail)
        write_recipe(os.path.join(options.root, "package.py"), names)
        if absent:
            return 0
    elif old != table:
        complaints.append("README.md's table of mini-apps is another one (puzzle_map.py --write mends it)")
    for complaint in complaints:
        print(complaint)
    print(f"{len(commands)} rows, {len(apps)} mini-apps, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
