"""The job scripts in common/cluster, with stand-ins for srun,
flux and the program that write down how they were called."""

import os
import stat
import subprocess
import tempfile
import unittest

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "common", "cluster")

LAUNCHER = """#!/bin/bash
echo "$(basename "$0") $*" >>"$CALLS"
if [[ $(basename "$0") == flux ]]; then
  case $1 in getattr) echo f1; exit ;; resource) echo 2; exit ;; esac
  shift
fi
while [[ $1 == --* ]]; do shift; done
exec "$@"
"""
# Writes a report, finished or not, and exits with a code.
PROGRAM = """#!/bin/bash
echo "got $*" >>"$CALLS"
while [[ $# -gt 0 && $1 != --json ]]; do shift; done
printf '{"system": {"finished":%s}}' "$FINISHED" >"$2"
exit "${CODE:-0}"
"""


class JobScripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name, text in (("srun", LAUNCHER), ("flux", LAUNCHER), ("program", PROGRAM)):
            path = os.path.join(self.folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    def submit(self, script, **variables):
        """Runs the script; its exit code and the launches that it made."""
        calls = os.path.join(self.folder, "calls")
        open(calls, "w", encoding="utf-8").close()
        environment = {"PATH": self.folder + ":" + os.environ["PATH"], "CALLS": calls, "TESSERA": "program",
                       "LAUNCHES": "2", "SLURM_JOB_ID": "7", "SLURM_NTASKS": "4", "SLURM_CPUS_PER_TASK": "16",
                       "REPORTS": "reports", "FINISHED": '"2026"', "FLUX_TASK_LOCAL_ID": "3", **variables}  # fmt: skip
        path = os.path.join(SCRIPTS, script)
        result = subprocess.run(["bash", path], cwd=self.folder, env=environment, capture_output=True, text=True)
        with open(calls, encoding="utf-8") as file:
            launches = [line for line in file.read().splitlines() if " program " in line]
        return result.returncode, launches

    def test_each_launch_has_a_report(self):
        for script, words in {
            "slurm.sh": ("srun --gpu-bind=none --cpu-bind=cores program run all --size 2^28",),
            "flux.sh": ("--nodes=2 --ntasks=8 ", "gpu-affinity=off", "cpu-affinity=per-task", " program run all "),
        }.items():
            with self.subTest(script):
                code, launches = self.submit(script, REPORTS=script)
                self.assertEqual(code, 0)
                self.assertEqual(len(launches), 2)
                for number, launch in enumerate(launches, 1):
                    self.assertTrue(launch.endswith(f"--level ranks --json {script}/{number:02}.json"), launch)
                    for word in words:
                        self.assertIn(word, launch)
                names = sorted(os.listdir(os.path.join(self.folder, script)))
                self.assertEqual(names, ["01.json", "01.txt", "02.json", "02.txt"])

    def test_what_is_done_is_not_done_again(self):
        for script in ("slurm.sh", "flux.sh"):
            with self.subTest(script):
                self.submit(script, REPORTS=script)
                code, launches = self.submit(script, REPORTS=script, LAUNCHES="3")
                self.assertEqual((code, len(launches)), (0, 1))
                self.assertIn("03.json", launches[0])

    def test_a_launch_that_was_killed_is_done_again(self):
        for script in ("slurm.sh", "flux.sh"):
            with self.subTest(script):
                self.submit(script, REPORTS=script, FINISHED="null")
                self.assertEqual(len(self.submit(script, REPORTS=script)[1]), 2)

    def test_exit_codes(self):
        for script in ("slurm.sh", "flux.sh"):
            with self.subTest(script):
                # A failed row is in the report and does not end the job; a launch that did not run does.
                code, launches = self.submit(script, REPORTS=script + "1", CODE="1")
                self.assertEqual((code, len(launches)), (0, 2))
                code, launches = self.submit(script, REPORTS=script + "2", CODE="2")
                self.assertEqual((code, len(launches)), (2, 1))

    def test_on_flux_each_rank_takes_the_gpu_of_its_number(self):
        for gpus, taken in (("1", True), ("0", False)):
            self.submit("flux.sh", GPUS_PER_RANK=gpus, REPORTS="of" + gpus)
            with open(os.path.join(self.folder, "calls"), encoding="utf-8") as file:
                got = [line for line in file.read().splitlines() if line.startswith("got ")]
            self.assertEqual([line.endswith(" --kokkos-device-id=3") for line in got], [taken, taken])

    def test_one_rank_runs_all_variants(self):
        launches = self.submit("slurm.sh", SLURM_NTASKS="1")[1]
        self.assertNotIn("distributed", launches[0])

    def test_a_scaling_study_fills_one_node_after_the_other(self):
        # A study that starts `true` on each number of ranks, by the launcher that it is given.
        with open(os.path.join(self.folder, "program"), "w", encoding="utf-8") as file:
            file.write("""#!/usr/bin/env python3
import shlex, subprocess, sys
assert sys.argv[1] == "study" and sys.argv[-1] == "--run", sys.argv
given = dict(zip(sys.argv[2:-1:2], sys.argv[3:-1:2]))
assert (given["--preset"], given["--out"], given["--apps"]) == ("strong", "reports", "dot,map"), given
for ranks in given["--ranks"].split(","):
    words = [word.replace("{ranks}", ranks) for word in shlex.split(given["--launcher"])]
    subprocess.run([*words, "true", "a b"], check=True)
""")
        code, _ = self.submit("slurm_scaling.sh", SLURM_NTASKS="12", SLURM_JOB_NUM_NODES="4", PRESET="strong",
                              OPTIONS="--apps dot,map")  # fmt: skip
        self.assertEqual(code, 0)
        with open(os.path.join(self.folder, "calls"), encoding="utf-8") as file:
            calls = file.read().splitlines()
        nodes = {1: 1, 2: 1, 4: 2, 8: 3}  # three ranks per node
        binding = "--gpu-bind=none --cpu-bind=cores"
        expected = [f"srun --nodes={nodes[ranks]} --ntasks={ranks} {binding} true a b" for ranks in nodes]
        self.assertEqual(calls, expected)


if __name__ == "__main__":
    unittest.main()
