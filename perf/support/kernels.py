"""The micro-benchmarks of build/PRESET/bin/kernels, measured and read."""
import json
import math
import re

from . import figures, runs

CLOCKS = {"wall": "real_time", "processor": "cpu_time"}
MEMORY = re.compile(r"memory (\d+) KiB")


def add_options(parser, seconds):
    parser.add_argument("--threads", type=runs.positive, default=1, help="default: 1")
    parser.add_argument("--rounds", type=runs.positive, default=3, help="processes (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=seconds,
                        help=f"of each kernel in a process (default: {seconds})")
    parser.add_argument("--only", default="", metavar="REGEX", help="kernels whose name has it")
    parser.add_argument("--sizes", default="8x120", metavar="BxN",
                        help="the step's samples and tokens of each (default: 8x120, inputs/sine.ini)")


def command_of(build, arg):
    batch, _, tokens = arg.sizes.partition("x")
    return [build / "bin/kernels", "--batch", batch, "--tokens", tokens, f"--benchmark_min_time={arg.seconds}",
            "--benchmark_format=json", f"--benchmark_filter={arg.only or '.'}"]


def run(build, arg):
    """One process: what read() makes of its output."""
    return read(json.loads(runs.output_of(command_of(build, arg), arg.threads)))


def read(output):
    """The GEMM's rates, and a dictionary of kernels: arithmetic, operations, bytes moved, their footprint, whether
    a step has it, and microseconds by either clock."""
    context, found = output["context"], {}
    gemm = {precision: dict(wall=float(context[f"gemm_{precision}"]),
                            processor=float(context[f"gemm_{precision}_processor"]))
            for precision in ("single", "double")}
    for row in output["benchmarks"]:
        if row.get("run_type") == "aggregate":
            continue
        name = row["name"].removesuffix("/real_time")
        found[name] = dict(arithmetic=row["label"], operations=row["operations"], bytes=row["bytes"], footprint=row["footprint"],
                           in_step=bool(row["in_step"]),
                           microseconds={clock: row[key] for clock, key in CLOCKS.items()})
    return dict(gemm=gemm, kernels=found)


def is_memory(name):
    return MEMORY.fullmatch(name) is not None


def bandwidths(rounds, clock):
    """[(bytes of the working set, bytes a second)], from the smallest set on."""
    found = []
    for name, kernel in rounds[0]["kernels"].items():
        if is_memory(name):
            time = figures.median([one["kernels"][name]["microseconds"][clock] for one in rounds])
            found.append((kernel["footprint"], 1e6 * kernel["bytes"] / time))
    return sorted(found)


def bandwidth_for(size, measured):
    """Between two sizes that were measured: straight in the logarithms; beyond them as at the nearest."""
    if size <= measured[0][0]:
        return measured[0][1]
    for (low, slow), (high, fast) in zip(measured, measured[1:]):
        if size <= high:
            part = math.log(size / low) / math.log(high / low)
            return math.exp((1 - part) * math.log(slow) + part * math.log(fast))
    return measured[-1][1]
