"""cmake/spills.py on reports of nvcc and hipcc, and with a stand-in for a compiler."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cmake", "spills.py")

# Names as Kokkos and nvcc generate them, shortened.
PTXAS = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN7tessera3dot3sumEPf' for 'sm_90'
ptxas info    : Function properties for _ZN7tessera3dot3sumEPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 1024 bytes smem, 400 bytes cmem[0]
ptxas info    : Compile time = 3.512 ms
ptxas info    : Compiling entry function '_ZN7tessera3dot4sortEPf' for 'sm_90'
ptxas info    : Function properties for _ZN7tessera3dot4sortEPf
    80 bytes stack frame, 44 bytes spill stores, 36 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers, 80 bytes cumulative stack size
"""
REMARKS = """x.cpp:7:0: remark: Function Name: _ZN7tessera3dot3sumEPf [-Rpass-analysis=kernel-resource-usage]
x.cpp:7:0: remark:     TotalSGPRs: 18 [-Rpass-analysis=kernel-resource-usage]
x.cpp:7:0: remark:     VGPRs: 24 [-Rpass-analysis=kernel-resource-usage]
x.cpp:7:0: remark:     AGPRs: 0 [-Rpass-analysis=kernel-resource-usage]
x.cpp:7:0: remark:     ScratchSize [bytes/lane]: 0 [-Rpass-analysis=kernel-resource-usage]
x.cpp:7:0: remark:     Dynamic Stack: False [-Rpass-analysis=kernel-resource-usage]
x.cpp:7:0: remark:     Occupancy [waves/SIMD]: 8 [-Rpass-analysis=kernel-resource-usage]
x.cpp:7:0: remark:     SGPRs Spill: 0 [-Rpass-analysis=kernel-resource-usage]
x.cpp:7:0: remark:     VGPRs Spill: 0 [-Rpass-analysis=kernel-resource-usage]
x.cpp:7:0: remark:     LDS Size [bytes/block]: 512 [-Rpass-analysis=kernel-resource-usage]
x.cpp:9:0: remark: Function Name: _ZN7tessera3dot4sortEPf [-Rpass-analysis=kernel-resource-usage]
x.cpp:9:0: remark:     VGPRs: 256 [-Rpass-analysis=kernel-resource-usage]
x.cpp:9:0: remark:     ScratchSize [bytes/lane]: 224 [-Rpass-analysis=kernel-resource-usage]
x.cpp:9:0: remark:     SGPRs Spill: 3 [-Rpass-analysis=kernel-resource-usage]
x.cpp:9:0: remark:     VGPRs Spill: 100 [-Rpass-analysis=kernel-resource-usage]
x.cpp:9:0: remark:     LDS Size [bytes/block]: 0 [-Rpass-analysis=kernel-resource-usage]
"""
# A mock of the compilers that wrote these reports: prints the report if the flag is given.
COMPILER = """#!/bin/bash
for word; do if [[ $word == "$FLAG" ]]; then cat "$REPORT" >&2; fi; done
if [[ ${FAILS:-} ]]; then exit 1; fi
[[ " $* " == *" -o /dev/null"* && " $* " != *" x.o "* ]]
"""


class Spills(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run_script(self, *words, **environment):
        return subprocess.run(
            [sys.executable, "-B", SCRIPT, *words], capture_output=True, text=True, env={**os.environ, **environment}
        )

    def of_log(self, text, *words):
        return self.run_script("--log", self.write("log", text), *words)

    def numbers(self, line):
        return line.split()[:5]

    def test_nvcc(self):
        result = self.of_log(PTXAS)
        self.assertEqual(result.returncode, 1, result.stderr)
        lines = result.stdout.splitlines()
        self.assertEqual(self.numbers(lines[1]), ["44", "0", "80", "255", "0"])
        self.assertEqual(self.numbers(lines[2]), ["0", "0", "0", "32", "1024"])
        self.assertIn("sm_90", lines[1])
        self.assertEqual(lines[-1], "TESSERA spills kernels=2 spilled=1 deep=0 scalars=0")
        clean = self.of_log("\n".join(PTXAS.splitlines()[:6]))
        self.assertEqual(
            (clean.returncode, clean.stdout.splitlines()[-1]),
            (0, "TESSERA spills kernels=1 spilled=0 deep=0 scalars=0"),
        )

    def test_hipcc(self):
        result = self.of_log(REMARKS)
        self.assertEqual(result.returncode, 1, result.stderr)
        lines = result.stdout.splitlines()
        self.assertEqual(self.numbers(lines[1]), ["100", "3", "224", "256", "0"])
        self.assertEqual(self.numbers(lines[2]), ["0", "0", "0", "24", "512"])
        clean = self.of_log("\n".join(REMARKS.splitlines()[:10]))
        self.assertEqual(clean.returncode, 0)
        # Scalar registers in lanes of a vector register are shown, but are no error.
        lanes = self.of_log(REMARKS.replace("VGPRs Spill: 100", "VGPRs Spill: 0"))
        self.assertEqual(
            (lanes.returncode, lanes.stdout.splitlines()[-1]),
            (0, "TESSERA spills kernels=2 spilled=0 deep=0 scalars=1"),
        )

    def test_a_stack_is_a_fault_where_one_asks(self):
        text = PTXAS.replace("44 bytes spill stores, 36 bytes spill loads", "0 bytes spill stores, 0 bytes spill loads")
        self.assertEqual(self.of_log(text).returncode, 0)
        self.assertEqual(self.of_log(text, "--stack", "80").returncode, 0)
        self.assertEqual(self.of_log(text, "--stack", "79").returncode, 1)
        # Spills count even if they are only loaded.
        self.assertEqual(self.of_log(PTXAS.replace("44 bytes spill stores", "0 bytes spill stores")).returncode, 1)

    def test_a_function_that_was_not_inlined(self):
        text = "\n".join(PTXAS.splitlines()[:6]) + """
ptxas info    : Function properties for _ZN7tessera6helperEv
    16 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
"""
        result = self.of_log(text)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(self.numbers(result.stdout.splitlines()[1]), ["8", "0", "16", "0", "0"])
        self.assertEqual(self.numbers(result.stdout.splitlines()[2]), ["0", "0", "0", "32", "1024"])

    def test_compiles_a_mini_app_again(self):
        for name, flag, report in (("nvcc_wrapper", "-Xptxas=-v", PTXAS),
                                   ("hipcc", "-Rpass-analysis=kernel-resource-usage", REMARKS)):  # fmt: skip
            compiler = self.write(name, COMPILER)
            os.chmod(compiler, 0o755)
            entries = [
                {
                    "directory": self.folder,
                    "command": f"/usr/bin/ccache {compiler} --offload-arch=gfx90a -o {target}/x.o -c x.cpp",
                }
                for target in ("apps/dot/CMakeFiles/tessera_app_dot.dir", "apps/map/CMakeFiles/tessera_app_map.dir")
            ]
            self.write("compile_commands.json", json.dumps(entries))
            words = ("--build", self.folder, "--app", "dot")
            result = self.run_script(*words, FLAG=flag, REPORT=self.write("report", report))
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn("kernels=2 spilled=1", result.stdout)
            if name == "hipcc":
                self.assertIn("gfx90a", result.stdout)
            # A compiler that fails or prints no report must not count as success.
            for environment in (
                {"FLAG": "--other", "REPORT": "/dev/null"},
                {"FLAG": flag, "REPORT": "report", "FAILS": "1"},
            ):
                self.assertEqual(self.run_script(*words, **environment).returncode, 2, environment)

    def test_mistakes(self):
        compiler = "g++"
        entries = [{"directory": ".", "command": f"{compiler} -o tessera_app_dot.dir/x.o -c x.cpp"}]
        self.write("compile_commands.json", json.dumps(entries))
        for words, message in (
            ((), "neither or both"),
            (("--build", self.folder), "no --app"),
            (("--build", "/nowhere", "--app", "dot"), "cannot read"),
            (("--build", self.folder, "--app", "map"), "no sources of map"),
            (("--build", self.folder, "--app", "dot"), "compiles for no GPU"),
            (("--log", "/nowhere"), "cannot read"),
            (("--log", self.write("empty", "nothing of interest\n")), "no kernel in the report"),
        ):
            result = self.run_script(*words)
            self.assertEqual((result.returncode, result.stderr.count("\n")), (2, 1), result.stderr)
            self.assertIn(message, result.stderr)


if __name__ == "__main__":
    unittest.main()
