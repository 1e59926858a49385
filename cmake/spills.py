#!/usr/bin/env python3
"""Which kernels spill: registers, spilled bytes and stack of each kernel, as the compiler reports them.

    cmake/spills.py --build build/cuda-hopper90 --app softmax   compiles its kernels again, with the report,
                                                                and reads it
    cmake/spills.py --log build.log                             reads what a compiler said (several files are joined)

A build directory is one that CMake configured for CUDA (nvcc_wrapper) or HIP (hipcc); nothing in it is changed. The
report is that of `-Xptxas=-v` or of `-Rpass-analysis=kernel-resource-usage`. Compiling needs no GPU. Exit codes: 0 no
kernel spills, 1 some do (or have more stack than --stack allows), 2 a mistake, or a report without a kernel. AMD's
scalar registers that a compiler keeps in lanes of a vector register (`scalars`) cost instructions and no memory:
they are shown, and no fault.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass

FLAGS = {"cuda": "-Xptxas=-v", "hip": "-Rpass-analysis=kernel-resource-usage"}
# Beside it, what makes the compiler leave out the host's code: it takes half of the time, and has no kernel.
DEVICE_ONLY = {"cuda": [], "hip": ["--offload-device-only"]}


class UserError(Exception):
    """`problem (why); what to do`."""


@dataclass
class Kernel:
    """Of one architecture. Bytes are those of a thread (NVIDIA) or of a lane (AMD)."""

    name: str
    arch: str
    registers: int = 0
    spills: int = 0  # NVIDIA: bytes stored; AMD: vector registers
    # AMD: scalar registers kept in lanes of a vector register; if that goes to memory, spills and stack say so
    scalars: int = 0
    stack: int = 0  # local memory, or scratch
    static_scratch: int = 0  # shared memory of a team that the code asks for itself


def read_ptxas(lines):
    """Of `-Xptxas -v`: a kernel begins with "Compiling entry function"; functions that were not inlined have a stack of
    their own, which no kernel's line counts."""
    kernels = []
    current = None
    for line in lines:
        if found := re.search(r"Compiling entry function '(\S+)' for '(\S+)'", line):
            current = Kernel(found[1], found[2])
            kernels.append(current)
        elif found := re.search(r"Function properties for (\S+)", line):
            if current is None or found[1] != current.name:
                current = Kernel(found[1], current.arch if current else "")
                kernels.append(current)
        elif current is None:
            continue
        elif found := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            current.stack = int(found[1])
            current.spills = max(int(found[2]), int(found[3]))
        elif found := re.search(r"ptxas info\s*: Used (\d+) registers", line):
            current.registers = int(found[1])
            if smem := re.search(r"(\d+) bytes smem", line):
                current.static_scratch = int(smem[1])
    return kernels


def read_remarks(lines, arch):
    """Of `-Rpass-analysis=kernel-resource-usage`: a remark a line, the first of a kernel is its name."""
    kernels = []
    for line in lines:
        found = re.search(r"remark:\s+([^:]+?):\s+(\S+)\s+\[-Rpass-analysis=kernel-resource-usage\]", line)
        if not found:
            continue
        key, value = found.groups()
        if key == "Function Name":
            kernels.append(Kernel(value, arch))
        elif kernels and key == "VGPRs":
            kernels[-1].registers = int(value)
        elif kernels and key == "VGPRs Spill":
            kernels[-1].spills = int(value)
        elif kernels and key == "SGPRs Spill":
            kernels[-1].scalars = int(value)
        elif kernels and key.startswith("ScratchSize"):
            kernels[-1].stack = int(value)
        elif kernels and key.startswith("LDS Size"):
            kernels[-1].static_scratch = int(value)
    return kernels


def read_report(text, arch=""):
    """The kernels of a compiler's output, of either kind."""
    lines = text.splitlines()
    return read_ptxas(lines) + read_remarks(lines, arch)


def demangled(names):
    """As people write them, if the machine has c++filt."""
    tool = shutil.which("c++filt") or shutil.which("llvm-cxxfilt")
    if not tool or not names:
        return list(names)
    text = subprocess.run([tool], input="\n".join(names) + "\n", capture_output=True, text=True, check=False).stdout
    lines = text.splitlines()
    return lines if len(lines) == len(names) else list(names)


def short(name):
    """Of a Kokkos kernel what was launched: the first name of Tessera's in it, else the whole."""
    found = re.search(r"tessera::[\w:]+", name)
    return found[0] if found else name[:100]


def with_report(words, flags):
    """The words of a compile command, with its output thrown away and the report asked for."""
    result = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word == "-o":
            skip = True
        elif not (len(result) == 0 and os.path.basename(word) == "ccache"):
            result.append(word)
    return [*result, *flags, "-o", os.devnull]


def commands_of(build, app):
    """The compile commands of a mini-app's variants: folder and words."""
    path = os.path.join(build, "compile_commands.json")
    try:
        with open(path, encoding="utf-8") as file:
            entries = json.load(file)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path} ({error}); name a build directory that CMake configured") from error
    found = []
    for entry in entries:
        words = entry.get("arguments") or shlex.split(entry["command"])
        target = next((words[i + 1] for i, word in enumerate(words) if word == "-o" and i + 1 < len(words)), "")
        if f"tessera_app_{app}.dir" in target:
            found.append((entry["directory"], words))
    if not found:
        raise UserError(
            f"no sources of {app} in {path} (it is not among the mini-apps of that build); see TESSERA_APPS"
        )
    return found


def kind_of(words):
    """cuda or hip, by the compiler."""
    text = " ".join(words[:3])
    if "nvcc" in text:
        return "cuda"
    if "hipcc" in text or any("--offload-arch" in word or word in ("-xhip", "hip") for word in words):
        return "hip"
    raise UserError(f"{words[0]} compiles for no GPU (neither nvcc_wrapper nor hipcc); name a build for one")


def compile_all(build, app):
    """Compiles each source again; what the compilers said, with the architecture of hipcc's."""
    kernels = []
    for folder, words in commands_of(build, app):
        kind = kind_of(words)
        flags = [FLAGS[kind], *DEVICE_ONLY[kind]]
        archs = re.findall(r"--offload-arch=(\w+)", " ".join(words))
        print(f"compiling {words[-1]}", file=sys.stderr)
        result = subprocess.run(with_report(words, flags), cwd=folder, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            last = (result.stderr.strip() or "nothing was said").splitlines()[-1]
            raise UserError(f"the compiler failed ({last}); build the mini-app first")
        kernels += read_report(result.stdout + result.stderr, ",".join(archs))
    return kernels


def table_of(kernels):
    """For people, the worst first."""
    names = [short(name) for name in demangled([kernel.name for kernel in kernels])]
    rows = sorted(
        zip(kernels, names),
        key=lambda row: (-row[0].spills, -row[0].stack, -row[0].scalars, -row[0].registers, row[1]),
    )
    text = f"{'spills':>7} {'scalars':>7} {'stack':>7} {'registers':>9} {'scratch':>8}  {'arch':<10} kernel\n"
    for kernel, name in rows:
        text += f"{kernel.spills:>7} {kernel.scalars:>7} {kernel.stack:>7} {kernel.registers:>9} "
        text += f"{kernel.static_scratch:>8}  {kernel.arch:<10} {name}\n"
    return text


def run(arguments):
    """The exit code."""
    if bool(arguments.log) == bool(arguments.build):
        raise UserError("neither or both of --log and --build (one of them says where the report is); see --help")
    if arguments.build:
        if not arguments.app:
            raise UserError("no --app (--build compiles one mini-app); name it")
        kernels = compile_all(arguments.build, arguments.app)
    else:
        kernels = []
        for path in arguments.log:
            try:
                with open(path, encoding="utf-8", errors="replace") as file:
                    kernels += read_report(file.read())
            except OSError as error:
                raise UserError(f"cannot read {path} ({error}); give the output of a compiler") from error
    if not kernels:
        raise UserError(
            "no kernel in the report (the compiler was not asked for one); add " + " or ".join(FLAGS.values())
        )
    sys.stdout.write(table_of(kernels))
    spilled = sum(kernel.spills > 0 for kernel in kernels)
    in_lanes = sum(kernel.scalars > 0 for kernel in kernels)
    deep = 0 if arguments.stack is None else sum(kernel.stack > arguments.stack for kernel in kernels)
    print(f"TESSERA spills kernels={len(kernels)} spilled={spilled} deep={deep} scalars={in_lanes}")
    return 1 if spilled + deep > 0 else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", metavar="DIR", help="a configured build directory")
    parser.add_argument("--app", metavar="APP", help="the mini-app to compile")
    parser.add_argument("--log", nargs="+", metavar="FILE", help="saved output of a compiler")
    parser.add_argument("--stack", type=int, metavar="BYTES", help="larger stacks are faults, too (default: none)")
    try:
        return run(parser.parse_args())
    except UserError as error:
        print(f"spills.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
