#!/usr/bin/env python3
"""Makes the archive of a release and a Spack recipe for it. The archive has the same bytes whenever and wherever
it is made: it is not compressed.

    cmake/release.py           writes into build/releases, from the last commit:
                                 tessera-<version>.tar.gz
                                 package.py           the recipe, with the archive's checksum in place of branch main
                                 spack_repo/tessera   a Spack package repository with that recipe
    cmake/release.py --check   writes nothing: each version in the tracked package.py must have a tag v<version>, whose
                               archive has that checksum; exit code 1 if not

The version is that of CMakeLists.txt. The archive holds the files of the commit without its hash or date, so a program
that is built from it says that its commit is unknown. The folder build/releases may be copied: the recipe finds the
archive beside itself.
"""

import argparse
import ast
import hashlib
import io
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import zlib

DATE = 1767225600  # 2026-01-01
HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


class UserError(Exception):
    """`problem (why); what to do`."""


def git(root, *words):
    """Returns what git prints."""
    result = subprocess.run(["git", "-C", root, *words], capture_output=True, check=False)
    if result.returncode != 0:
        raise UserError(f"git {words[0]} failed ({result.stderr.decode().strip()}); run it in a checkout")
    return result.stdout


def version_of(root):
    """Returns the version in CMakeLists.txt of the last commit."""
    found = re.search(rb"project\(tessera VERSION ([0-9.]+)", git(root, "show", "HEAD:CMakeLists.txt"))
    if not found:
        raise UserError("CMakeLists.txt has no version (project(tessera VERSION ...)); give it one")
    return found[1].decode()


def is_tagged(root, version):
    """Returns whether the checkout has the tag of a version."""
    return bool(git(root, "tag", "--list", f"v{version}").strip())


def archive_of(root, version, commit):
    """Returns the archive's bytes. `git archive` takes a tree, since it would write a commit's hash into the archive;
    dates and owners are constants."""
    tar = git(root, "archive", "--format=tar", f"--prefix=tessera-{version}/", f"{commit}^{{tree}}")
    plain = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(tar)) as old:
        with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as new:
            for entry in old:
                entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = DATE, 0, 0, "root", "root"
                entry.mode = 0o755 if entry.mode & 0o100 or entry.isdir() else 0o644
                entry.pax_headers = {}
                new.addfile(entry, old.extractfile(entry) if entry.isreg() else None)
    return stored(plain.getvalue())


def stored(data):
    """Returns a gzip file that holds the data in stored blocks (RFC 1951, 3.2.4). Compressed blocks would depend on the
    zlib of the machine, and the checksum with them."""
    parts = [b"\x1f\x8b\x08\0\0\0\0\0\0\xff"]
    for begin in range(0, len(data), 65535):
        block = data[begin : begin + 65535]
        is_last = begin + len(block) == len(data)
        parts += [struct.pack("<BHH", is_last, len(block), 65535 - len(block)), block]
    parts.append(struct.pack("<II", zlib.crc32(data), len(data) % 2**32))
    return b"".join(parts)


def versions_of(recipe):
    """Returns the statements `version(...)` of a recipe, in any form that Spack accepts."""
    try:
        nodes = list(ast.walk(ast.parse(recipe)))
    except SyntaxError as error:
        raise UserError(f"package.py is not Python (line {error.lineno}: {error.msg}); mend it") from error
    calls = [node.value for node in nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "version"]


def recipe_of(text, version, checksum):
    """Returns the tracked recipe's text as the recipe of one release: it has no other version, and the archive is
    beside it."""
    lines = text.splitlines(keepends=True)
    found = versions_of(text)
    if not found:
        raise UserError("package.py has no version(...); mend it")
    for call in reversed(found):
        lines[call.lineno - 1 : call.end_lineno] = []
    lines.insert(found[0].lineno - 1, f'    version("{version}", sha256="{checksum}")\n')
    text = "".join(lines)
    for old, new in ((r" *git = here\n", ""), (r'releases = here \+ "/build/releases"', "releases = here")):
        text, count = re.subn(old, new, text)
        if count != 1:
            raise UserError(
                f"package.py has {count} lines like `{old}` (there must be one); mend it or cmake/release.py"
            )
    return text


def complaints(root, recipe):
    """Returns a line for each version of the tracked recipe that is not the archive of its tag."""
    found = []
    for call in versions_of(recipe):
        try:
            words = [ast.literal_eval(word) for word in call.args]
            named = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
        except ValueError:
            found.append(f"package.py, line {call.lineno}: a version that is not written out; write its words as texts")
            continue
        if "branch" in named:
            continue
        version, checksum = words[0], named.get("sha256", words[1] if len(words) > 1 else None)
        if not is_tagged(root, version):
            found.append(
                f"package.py names {version} (there is no tag v{version}); set the tag, fetch it or remove the line"
            )
        elif hashlib.sha256(archive_of(root, version, f"v{version}")).hexdigest() != checksum:
            found.append(
                f"package.py has a checksum for {version} (not that of v{version}'s archive); take that of its release"
            )
    return found


def write(root, version, archive, recipe):
    """Writes the archive, the recipe and the package repository into build/releases."""
    folder = os.path.join(root, "build", "releases")
    repository = os.path.join(folder, "spack_repo", "tessera")
    package = os.path.join(repository, "packages", "tessera")
    os.makedirs(package, exist_ok=True)
    with open(os.path.join(folder, f"tessera-{version}.tar.gz"), "wb") as file:
        file.write(archive)
    with open(os.path.join(folder, "package.py"), "w", encoding="utf-8") as file:
        file.write(recipe)
    tracked = os.path.join(root, "cmake", "spack", "spack_repo", "tessera", "repo.yaml")
    shutil.copyfile(tracked, os.path.join(repository, "repo.yaml"))
    link = os.path.join(package, "package.py")
    if os.path.lexists(link):
        os.remove(link)
    os.symlink(os.path.join("..", "..", "..", "..", "package.py"), link)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, check the versions in package.py")
    parser.add_argument("--root", default=HERE, help="another checkout")
    arguments = parser.parse_args()
    root = arguments.root
    try:
        with open(os.path.join(root, "package.py"), encoding="utf-8") as file:
            tracked = file.read()
        if arguments.check:
            found = complaints(root, tracked)
            for line in found:
                print(f"release.py: {line}", file=sys.stderr)
            return 1 if found else 0
        version = version_of(root)
        archive = archive_of(root, version, "HEAD")
        if is_tagged(root, version) and archive != archive_of(root, version, f"v{version}"):
            raise UserError(f"the last commit is not {version} (tag v{version} has other files); check out v{version}, "
                            "or raise the version in CMakeLists.txt")  # fmt: skip
        checksum = hashlib.sha256(archive).hexdigest()
        write(root, version, archive, recipe_of(tracked, version, checksum))
        print(f"tessera-{version}.tar.gz {checksum}")
        if not is_tagged(root, version):
            print(f"release.py: there is no tag v{version} yet: do not publish this archive", file=sys.stderr)
    except (UserError, OSError) as error:
        print(f"release.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
