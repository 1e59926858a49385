"""The module in a process: its import, threads, forks, and its end."""

import os
import subprocess
import sys
import textwrap
import threading
import time
import unittest

import numpy

import tessera


def script(text):
    """Runs a script in a process of its own; returns its output."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=120)
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


class Threads(unittest.TestCase):
    def test_four_threads(self):
        wrong = []

        def work(seed):
            generator = numpy.random.default_rng(seed)
            for n in generator.integers(1, 200000, 25):
                x = generator.integers(-100, 101, n).astype("float32")
                y = numpy.empty_like(x)
                tessera.cumulative_sum(x, out=y)
                if not numpy.array_equal(y, numpy.cumsum(x)) or tessera.sum(x) != x.sum(dtype="float64"):
                    wrong.append((seed, n))
                if not numpy.array_equal(tessera.sort(x), numpy.sort(x)):
                    wrong.append((seed, n, "sort"))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_others_run_during_a_kernel(self):
        x = numpy.ones((1500, 1500), "float32")
        began, ended = threading.Event(), threading.Event()

        def work():
            began.set()
            deadline = time.monotonic() + 0.5
            while time.monotonic() < deadline:
                seconds = -time.monotonic()
                tessera.matmul(x, x)
                longest.append(seconds + time.monotonic())
            ended.set()

        longest, turns = [], 0
        tessera.matmul(x, x)
        thread = threading.Thread(target=work)
        thread.start()
        began.wait()
        while not ended.is_set():
            time.sleep(0.001)
            turns += 1
        thread.join()
        # A kernel that keeps the GIL lets others have one turn or two between calls.
        self.assertGreater(turns, 3 * len(longest) + 3, f"{len(longest)} calls, the longest of {max(longest)} s")


class Life(unittest.TestCase):
    def test_import_is_quick(self):
        # Elapsed, as users wait: 0.03 s. The shortest of five, because the machine may be busy.
        seconds = min(
            float(script("import time; s = time.perf_counter(); import tessera; print(time.perf_counter() - s)"))
            for _ in range(5)
        )
        self.assertLess(seconds, 0.3)

    def test_import_starts_no_threads(self):
        self.assertEqual(script("import tessera, os; print(len(os.listdir('/proc/self/task')))"), "1\n")

    def test_ends_with_a_result_alive(self):
        text = "import numpy, tessera; x = tessera.sort(numpy.ones(100000, 'float32')); print(x.sum())"
        self.assertEqual(script(text), "100000.0\n")

    def test_ends_after_a_call_in_a_thread(self):
        script(
            """
            import numpy, tessera, threading
            thread = threading.Thread(target=lambda: tessera.sum(numpy.ones(1000, "float32")))
            thread.start()
            thread.join()
            """
        )

    def test_subinterpreters_are_refused(self):
        # One that is isolated cannot import any module that does not say that it can; one of the old kind could.
        try:
            import _interpreters
        except ImportError as error:
            self.skipTest(str(error))
        output = script(
            """
            import numpy, tessera, _interpreters
            x = numpy.ones(5, "float32")
            tessera.sum(x)
            other = _interpreters.create("legacy")
            print(_interpreters.run_string(other, "import tessera").formatted)
            _interpreters.destroy(other)
            print(float(tessera.sum(x)))  # Kokkos has not ended
            """
        )
        self.assertRegex(output, r"^ImportError: this is a subinterpreter \(.*\); import tessera .*\n5.0\n$")

    fork = """
        import numpy, os, sys, warnings, tessera
        warnings.simplefilter("ignore")  # Python's own, of forks
        x = numpy.ones(100000, "float32")

        # Kokkos' destructors complain in a child that cannot end its CUDA.
        leave = os._exit if "cuda" in tessera.devices else sys.exit

        def child():
            number = os.fork()
            if number == 0:
                try:
                    leave(0 if float(tessera.sum(x)) == 100000 else 2)
                except RuntimeError as error:
                    leave(3 if "was forked after" in str(error) else 4)
            return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])

        """

    def test_fork_before_the_first_call(self):
        self.assertEqual(script(self.fork + "print(child(), float(tessera.sum(x)))"), "0 100000.0\n")

    def test_fork_after_the_first_call(self):
        self.assertEqual(script(self.fork + "tessera.sum(x); print(child())"), "3\n")


@unittest.skipUnless(sys.platform == "linux" and os.path.exists("/proc/self/statm"), "needs /proc")
class Memory(unittest.TestCase):
    def test_calls_leak_nothing(self):
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        x = numpy.ones(1 << 18, "float32")
        for _ in range(20):
            tessera.argsort(x)
        before = resident()
        for _ in range(200):  # 200 results of 2 MiB, and as many workspaces
            tessera.argsort(x)
        self.assertLess(resident() - before, 50 << 20)


if __name__ == "__main__":
    unittest.main()
