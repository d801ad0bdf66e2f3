#!/usr/bin/env python3
"""The commands of perf/: their figures, tables and readers, and one short run of each program of a build.

usage: perf_test.py [BUILD [TEST...]]     BUILD: a build folder with the benchmarks; without it they are left out
"""
import argparse
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMANDS = ["check", "compare", "device", "loop", "roofline", "scaling"]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "perf"))

from support import figures, kernels, runs  # noqa: E402

BUILD = None


def command(name):
    """A command's code as a module."""
    loader = importlib.machinery.SourceFileLoader(f"perf_{name}", str(ROOT / "perf" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def run(name, *options, status=0):
    done = subprocess.run([sys.executable, "-B", ROOT / "perf" / name, *map(str, options)], capture_output=True,
                          text=True)
    if done.returncode != status:
        raise AssertionError(f"{name} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done


class Figures(unittest.TestCase):
    def test_ratios_are_pair_by_pair(self):
        self.assertEqual(figures.ratios([2, 9], [1, 3]), [2, 3])
        with self.assertRaises(ValueError):
            figures.ratios([1, 2], [1])

    def test_numbers_have_three_digits_and_no_exponent(self):
        for value, text in [(0, "0"), (0.012345, "0.0123"), (1.2345, "1.23"), (123.45, "123"), (12345.6, "12,346"),
                            (-1.5, "-1.50")]:
            self.assertEqual(figures.significant(value), text)

    def test_a_spread_is_from_the_smallest_to_the_largest(self):
        self.assertEqual(figures.with_spread([3, 1, 2]), "2.00 (1.00 to 3.00)")
        self.assertEqual(figures.with_spread([2]), "2.00")
        self.assertEqual(figures.with_spread([]), "-")

    def test_a_table_is_markdown_and_aligned(self):
        self.assertEqual(figures.table(["a", "b"], [["long", 1], ["x", "12345"]]),
                         "| a    |     b |\n| ---- | ----: |\n| long |     1 |\n| x    | 12345 |")


class Kernels(unittest.TestCase):
    def test_bandwidth_between_two_sizes_lies_between_their_speeds(self):
        measured = [(100, 40.0), (10000, 10.0)]
        self.assertEqual(kernels.bandwidth_for(1, measured), 40)
        self.assertEqual(kernels.bandwidth_for(1e9, measured), 10)
        self.assertAlmostEqual(kernels.bandwidth_for(1000, measured), 20)

    def test_a_point_is_held_against_the_lower_roof(self):
        roofline = command("roofline")

        def kernel(arithmetic, operations, size, microseconds):
            return dict(arithmetic=arithmetic, operations=operations, bytes=size, footprint=size, in_step=True,
                        microseconds=dict(wall=microseconds))

        rounds = [dict(gemm=dict(single=dict(wall=100), double=dict(wall=50)), kernels={
            "memory 1 KiB": kernel("single", 0, 1000, 0.1),          # 10 GB/s
            "ridgeline::gemm": kernel("single", 1e6, 1000, 20),      # 50 GFLOP/s of 100
            "ridgeline::ridge": kernel("double", 1e6, 1000, 40),     # 25 of 50
            "ridgeline::rows": kernel("single", 1000, 1000, 0.2),    # 5 of 1 x 10
            "ridgeline::gather": kernel("none", 0, 1000, 0.4)})]     # 2.5 GB/s of 10
        points = {point.name: point for point in roofline.points_of(rounds, "wall")}
        self.assertEqual([(point.limit, round(point.share, 6)) for point in points.values()],
                         [("arithmetic", 0.5), ("arithmetic", 0.5), ("memory", 0.5), ("memory", 0.25)])
        self.assertIn("| gather |", roofline.table(list(points.values())))
        profile = {"otherData": {"kernels": [
            dict(name="ridgeline::gemm", place="backward/ffn", seconds=2),
            dict(name="ridgeline::gemm", place="forward/ffn", seconds=1),
            dict(name="ridgeline::rows", place="loss", seconds=1),
            dict(name="ridgeline::rows", place="evaluation/ffn", seconds=9)]}}
        lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in
                 roofline.step_table(profile, list(points.values())).splitlines()[2:]]
        self.assertEqual(lines, [["gemm", "75.0 %", "50 %"], ["rows", "25.0 %", "50 %"]])


class Comparison(unittest.TestCase):
    compare = command("compare")

    @staticmethod
    def errors(**changed):
        found = dict(own={"y": 1e-6}, formulas={"y": 1e-12}, way={"y": 1e-6, "dx": 0.1, "gradient/a": 0.1})
        for side, values in changed.items():
            found[side] = values
        return found

    def test_what_disagrees_is_refused(self):
        self.assertEqual(self.compare.complaint(self.errors()), "")
        self.assertIn("Ridgeline's dx", self.compare.complaint(self.errors(own={"y": 1e-6, "dx": 0.01})))
        self.assertIn("Ridgeline's y", self.compare.complaint(self.errors(own={"a": 1e-6, "y": float("nan")})))
        self.assertIn("formulas' y", self.compare.complaint(self.errors(formulas={"y": 1e-3})))
        self.assertIn("formulas' y", self.compare.complaint(self.errors(formulas={"a": 1e-12, "y": float("nan")})))
        self.assertIn("PyTorch's y", self.compare.complaint(self.errors(way={"y": 0.1})))
        self.assertIn("PyTorch's dx", self.compare.complaint(self.errors(way={"dx": 0.7})))

    def test_the_table_has_ratios_rates_and_memory(self):
        own = dict(milliseconds=dict(wall=[2, 1, 3]), operations=4e8, gemm=dict(wall=[350, 400]), resident=2**20,
                   peak=3 * 2**20)
        peer = dict(milliseconds=dict(wall=[8, 8, 9]), resident=2**20, peak=11 * 2**20)
        rows = [dict(work="8x120", way="direct", refused="", pairs=[dict(own=own, peer=peer)]),
                dict(work="8x120", way="reassociated", refused="dx is off", pairs=[])]
        lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in
                 self.compare.table(rows, "wall").splitlines()[2:]]
        self.assertEqual(lines, [["8x120", "Ridgeline", "2.00", "", "200", "50 %", "3", "2"],
                                 ["8x120", "direct", "8.00", "4.00", "50.0", "12 %", "11", "10"],
                                 ["8x120", "reassociated", "not timed: dx is off", "", "", "", "", ""]])

    def test_pytorch_is_not_fetched_unasked(self):
        with tempfile.TemporaryDirectory() as folder:
            with mock.patch.dict(os.environ, RIDGELINE_CACHE=folder), self.assertRaisesRegex(Exception, "--install"):
                self.compare.interpreter(argparse.Namespace(python="", install=False))
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])


class Scaling(unittest.TestCase):
    scaling = command("scaling")

    @staticmethod
    def ran(milliseconds, gemm):
        return [dict(milliseconds=dict(wall=[milliseconds]), operations=1e8, gemm=dict(wall=[gemm, gemm]),
                     resident=0, peak=2**20)]

    def test_gains_are_beside_the_gemms(self):
        measured = {"1x65536": {"1": self.ran(8, 100), "2": self.ran(4, 160)},
                    "64x1024": {"1": self.ran(10, 100), "2": self.ran(8, 200)}}
        rows = self.scaling.rows_of(measured, "wall")
        self.assertEqual([row.of_gemm_gain for row in rows], [None, [1.25], None, [0.625]])
        self.assertIn("2 threads: 61.0 to 122 ns a token, 100 % apart", self.scaling.flatness(rows))
        self.assertIn("plot", self.scaling.script(rows))


class Loop(unittest.TestCase):
    loop = command("loop")

    def test_calls_are_counted_from_the_first_steps_end_to_the_last_ones(self):
        trace = """
1  write(-1, "push epoch", 10) = -1 EBADF (Bad file descriptor)
1  openat(AT_FDCWD, "before", O_RDONLY) = 3
1  write(-1, "pop step", 8) = -1 EBADF (Bad file descriptor)
1  futex(0x1, FUTEX_WAIT <unfinished ...>
2  openat(AT_FDCWD, "within", O_RDONLY) = 3
1  <... futex resumed>) = 0
1  write(-1, "allocate ridgeline::batch", 25) = -1 EBADF (Bad file descriptor)
1  brk(0x1) = 0x1
2  clone3({flags=CLONE_VM}, 88) = 3
1  write(-1, "pop step", 8) = -1 EBADF (Bad file descriptor)
1  openat(AT_FDCWD, "checkpoint", O_RDONLY) = 3
1  write(-1, "pop epoch", 9) = -1 EBADF (Bad file descriptor)
1  openat(AT_FDCWD, "after", O_RDONLY) = 3
"""
        counts, steps = self.loop.calls_in_steps(trace)
        self.assertEqual((counts, steps), ({"openat": 1, "view ridgeline::batch": 1, "brk": 1, "clone3": 1}, 1))
        self.assertEqual({self.loop.kind_of(name) for name in counts}, {"files", "views", "memory", "threads"})
        with self.assertRaises(runs.Failed):
            self.loop.calls_in_steps('1  write(-1, "pop epoch", 9) = -1 EBADF\n')

    def test_times_are_of_regions_and_leave_the_first_step_out(self):
        marks, now = [], 0

        def region(name, seconds, inside=()):
            nonlocal now
            marks.append((now, "push", name))
            for part in inside:
                region(*part)
            now += seconds
            marks.append((now, "pop", name))

        steps = [("step", 7, [("data", 0)]), ("step", 2, [("data", 1)]), ("step", 2, [("data", 0.5)])]
        region("run", 0, [("epoch", 0, [("data", 0.25), *steps, ("evaluation", 3), ("evaluation", 1), ("checkpoint", 0.5)])])
        found = self.loop.times_of(marks, dict(step_tokens=10, all_tokens=200))
        self.assertEqual(found, dict(step=2.75, training_rate=10 / 2.75, evaluation_rate=50, checkpoint=0.5, data=0.5,
                                     epoch_data=0.25))
        self.assertEqual(self.loop.rows_of_times(dict(steps_of_an_epoch=10, rounds=[found]))[0][3], True)
        slow = dict(found, evaluation_rate=2, checkpoint=5)
        self.assertEqual([row[3] for row in self.loop.rows_of_times(dict(steps_of_an_epoch=10, rounds=[slow]))][:2],
                         [False, False])

    def test_the_start_leaves_evaluations_out(self):
        marks = self.loop.marks_of("11 push run\n11.25 push evaluation\n15 pop evaluation\n15.5 push step\n16 push ste")
        self.assertEqual(self.loop.start_of(10, marks), 1.75)
        self.assertIsNone(self.loop.start_of(10, marks[:3]))


class Device(unittest.TestCase):
    device = command("device")

    def test_a_launch_takes_the_longest_of_its_bytes_its_operations_and_a_launch(self):
        arg = argparse.Namespace(bandwidth=1e9, single=1e9, double=1e8, launch=1e-6)
        kernels = [dict(name="ridgeline::activation gelu 4x512", arithmetic="single", operations=1, bytes=5000, in_step=True),
                   dict(name="ridgeline::activation gelu 4x128", arithmetic="single", operations=1, bytes=2000, in_step=True),
                   dict(name="ridgeline::activation tanh 4x512", arithmetic="single", operations=1, bytes=9, in_step=False),
                   dict(name="ridgeline::ridge/forward 4 of 8", arithmetic="double", operations=1, bytes=1, in_step=True)]

        def launch(name, place, calls=1, operations=0, size=0):
            return dict(name=name, place=place, calls=calls, operations=operations, bytes=size)

        launches = [launch("ridgeline::activation", "forward/block 0/ffn", 2), launch("ridgeline::activation", "forward/encoder"),
                    launch("ridgeline::ridge/forward", "forward/solve", operations=1000),
                    launch("ridgeline::gemm", "head", operations=7000, size=10), launch("ridgeline::sums", "head")]
        lines = {line.name: line for line in self.device.lines_of(dict(launches=launches, kernels=kernels), arg)}
        found = {name: (line.calls, line.bytes, round(1e6 * line.seconds, 6)) for name, line in lines.items()}
        self.assertEqual(found, {"activation": (3, 12000, 12), "ridge/forward": (1, 1, 10), "gemm": (1, 10, 7),
                                 "sums": (1, 0, 1)})
        self.assertIn("| a step        |        6 |", self.device.table(list(lines.values())))


class Check(unittest.TestCase):
    check = command("check")

    def test_a_dump_is_read(self):
        self.assertEqual(self.check.callgrind_total("events: Ir\nfn=a\n1 3\ntotals: 1234\n"), 1234)
        with self.assertRaises(runs.Failed):
            self.check.callgrind_total("events: Ir\n")

    def test_what_is_beyond_the_limit_is_named(self):
        slower = self.check.report({"a": 100, "b": 100, "gone": 1}, {"a": 103, "b": 101, "new": 1}, 1.02, str)
        self.assertEqual(slower, ["a"])

    def test_a_baseline_of_another_kind_is_told(self):
        self.assertEqual(len(self.check.differences({"compiler": "x"}, {"compiler": "y", "GEMM": ""})), 2)

    def test_the_baseline_has_instructions(self):
        baseline = json.loads((ROOT / "perf/baseline.json").read_text())
        for name, number in baseline["instructions"]["numbers"].items():
            self.assertTrue(0 < number < 1e12, name)


class Commands(unittest.TestCase):
    def test_each_says_how_it_is_called(self):
        for name in COMMANDS:
            self.assertIn("usage:", run(name, "--help").stdout)

    def test_a_build_that_is_not_there_is_one_sentence(self):
        done = run("scaling", "--build", "nowhere", status=2)
        lines = [line for line in done.stderr.splitlines() if not line.startswith("the machine is busy")]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertIn("nowhere", lines[0])
        self.assertNotIn("Traceback", done.stderr)


class Programs(unittest.TestCase):
    def setUp(self):
        if BUILD is None:
            self.skipTest("no build was named")

    def test_scaling_runs_shapes_and_writes_what_it_reads(self):
        with tempfile.TemporaryDirectory() as folder:
            numbers = f"{folder}/numbers.json"
            options = ["--shapes", "1x64,step", "--threads", "1", "--rounds", "1", "--repeats", "1", "--json", numbers]
            first = run("scaling", "--build", BUILD, *options)
            self.assertEqual(run("scaling", "--read", numbers).stdout, first.stdout)
            self.assertEqual(len([line for line in first.stdout.splitlines() if line.startswith(("| 1x64", "| step"))]), 2)

    def test_roofline_runs_kernels(self):
        done = run("roofline", "--build", BUILD, "--sizes", "2x16", "--rounds", "1", "--seconds", "0.0001", "--only",
                   "layer_norm|ridge")
        for name in ["layer_norm/forward 32x128", "layer_norm/backward", "ridge/forward", "ridge/backward"]:
            self.assertIn(name, done.stdout)

    def test_launches_of_a_step_are_counted(self):
        with tempfile.TemporaryDirectory() as folder:
            numbers = f"{folder}/numbers.json"
            done = run("device", "--build", BUILD, "--shapes", "8x120,9x150", "--json", numbers)
            self.assertEqual(run("device", "--read", numbers).stdout, done.stdout)
            few, many = (measured["launches"] for measured in json.loads(pathlib.Path(numbers).read_text()).values())
        products = [one for one in few if one["name"] == "ridgeline::gemm"]
        self.assertTrue(products and all(one["operations"] > 0 and one["bytes"] > 0 for one in products))
        # Not one a sample or a tile of tokens (of fewer tokens the order of attention would be another).
        calls = [{(one["name"], one["place"]): one["calls"] for one in launches} for launches in (few, many)]
        self.assertEqual(*calls)
        self.assertEqual([one["calls"] for one in few if one["name"] == "copy to ridgeline::status"], [1])

    def test_a_step_opens_no_file_begins_no_thread_and_takes_no_memory(self):
        if shutil.which("strace") is None:
            self.skipTest("strace is not there")
        done = run("loop", "--build", BUILD, "--only", "calls", "--threads", "2")
        self.assertIn("threads and processes begun", done.stdout)

    def test_every_counted_kernel_is_named_once(self):
        names = runs.output_of([BUILD / "bin/kernels", "--batch", "2", "--tokens", "16", "--count", ""]).splitlines()
        self.assertEqual(len(names), len(set(names)))
        self.assertGreater(len(names), 20)

    def test_values_are_written_with_their_shapes(self):
        with tempfile.TemporaryDirectory() as folder:
            runs.output_of([BUILD / "bin/functional", "2x10", "--values", folder])
            shapes = json.loads(pathlib.Path(folder, "arrays.json").read_text())
            self.assertEqual(shapes["y"], [2, 10, 128])
            self.assertEqual(pathlib.Path(folder, "y.f32").stat().st_size, 4 * 2 * 10 * 128)
            self.assertEqual({name.split("/")[1] for name in shapes if name.startswith("gradient/")},
                             {name.split("/")[1] for name in shapes if name.startswith("parameter/")})

    def test_an_unknown_work_is_one_sentence(self):
        done = subprocess.run([BUILD / "bin/functional", "8xmany"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("8xmany is no work", done.stderr)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        BUILD = pathlib.Path(sys.argv.pop(1)).absolute()
    unittest.main(argv=sys.argv)
