#!/usr/bin/env python3
"""The archive of a release, the same bytes whenever it is made, and its checksum in package.py.

    cmake/release.py             writes build/releases/tessera-<version>.tar.gz of the last commit, and its checksum into package.py
    cmake/release.py --check     compares: exit code 1 where the checksum in package.py is another

The version is that of CMakeLists.txt. Nothing of the commit but its files is in the archive: neither its hash nor its date. A
program that is built from it says that its commit is unknown.
"""

import argparse
import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile

DATE = 1767225600  # 2026-01-01
HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


class UserError(Exception):
    """`problem (why); what to do`."""


def git(root, *words):
    """What git says."""
    result = subprocess.run(["git", "-C", root, *words], capture_output=True, check=False)
    if result.returncode != 0:
        raise UserError(f"git {words[0]} failed ({result.stderr.decode().strip()}); run it in a checkout")
    return result.stdout


def version_of(root):
    """The version in CMakeLists.txt of the last commit."""
    found = re.search(rb"project\(tessera VERSION ([0-9.]+)", git(root, "show", "HEAD:CMakeLists.txt"))
    if not found:
        raise UserError("CMakeLists.txt has no version (project(tessera VERSION ...)); give it one")
    return found[1].decode()


def archive_of(root, version):
    """The archive's bytes: `git archive` of a tree rather than of a commit, whose hash would be in it, with dates and owners that do
    not change."""
    tar = git(root, "archive", "--format=tar", f"--prefix=tessera-{version}/", "HEAD^{tree}")
    plain = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(tar)) as old, tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as new:
        for entry in old:
            entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = DATE, 0, 0, "root", "root"
            entry.mode = 0o755 if entry.mode & 0o100 or entry.isdir() else 0o644
            entry.pax_headers = {}
            new.addfile(entry, old.extractfile(entry) if entry.isreg() else None)
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=packed, mode="wb", mtime=0) as file:
        file.write(plain.getvalue())
    return packed.getvalue()


def recipe_with(text, version, checksum):
    """The recipe's text with this checksum."""
    line = f'version("{version}", sha256="{checksum}")'
    changed, count = re.subn(r'version\("[0-9.]+", sha256="[^"]*"\)', line, text)
    if count != 1:
        raise UserError(f'package.py has {count} lines version("...", sha256="...") (there must be one); mend it')
    return changed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--root", default=HERE, help="another checkout")
    arguments = parser.parse_args()
    root = arguments.root
    try:
        version = version_of(root)
        archive = archive_of(root, version)
        checksum = hashlib.sha256(archive).hexdigest()
        with open(os.path.join(root, "package.py"), encoding="utf-8") as file:
            old = file.read()
        new = recipe_with(old, version, checksum)
        print(f"tessera-{version}.tar.gz {checksum}")
        if arguments.check:
            if new == old:
                return 0
            print("release.py: package.py has another checksum or version; run cmake/release.py", file=sys.stderr)
            return 1
        folder = os.path.join(root, "build", "releases")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"tessera-{version}.tar.gz"), "wb") as file:
            file.write(archive)
        with open(os.path.join(root, "package.py"), "w", encoding="utf-8") as file:
            file.write(new)
    except (UserError, OSError) as error:
        print(f"release.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
