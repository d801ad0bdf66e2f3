"""Programs run in fresh processes, and the machine that they run on."""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Failed(Exception):
    """A program did not do what it was asked; the text is one sentence."""


def add_build_option(parser):
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/openmp", metavar="FOLDER",
                        help="the build whose programs are measured (default: build/openmp)")


def add_build_options(parser):
    add_build_option(parser)
    parser.add_argument("--clock", choices=("wall", "processor"), default="wall",
                        help="processor: the process's own processor time, which other users of the machine do not "
                             "lengthen; for one thread, where waiting is not work (default: %(default)s)")


def positive(text):
    """A whole number above 0, for argparse."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def environment(threads):
    """This process's environment, with as many threads in every library; how they wait and are bound is the user's."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return dict(os.environ, **{name: str(threads) for name in names})


def output_of(command, threads=1, variables=None):
    command = list(map(str, command))
    try:
        done = subprocess.run(command, env=dict(environment(threads), **(variables or {})), capture_output=True,
                              text=True)
    except OSError as error:
        raise Failed(f"{command[0]} cannot be run ({error.strerror}): build it first, see docs/performance.md") from error
    if done.returncode:
        raise Failed(f"{' '.join(command)} ended with status {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout


def json_line(command, threads):
    """What the program prints last, one line of JSON."""
    output = output_of(command, threads).strip()
    if not output:
        raise Failed(f"{' '.join(map(str, command))} printed nothing")
    return json.loads(output.splitlines()[-1])


def processor_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def machine(build):
    """Processor, cores, load, and what `ridgeline --version` says of compiler and libraries."""
    facts = dict(processor=processor_name(), cores=len(os.sched_getaffinity(0)), load=os.getloadavg()[0])
    for line in output_of([build / "bin/ridgeline", "--version"]).splitlines():
        name, _, value = line.partition("  ")
        if value and name.strip() != "threads":
            facts[name.strip()] = value.strip()
    return facts


def describe(facts):
    return (f"{facts['processor']}, {facts['cores']} cores; {facts.get('compiler', '')}; "
            f"{facts.get('back end', '')}; {facts.get('GEMM', '')}")


def warn_when_busy(clock):
    """A load of other programs' shows in the milliseconds, and less so in ratios."""
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    if load > 0.3 * cores and clock == "wall":
        say(f"the machine is busy (load {load:.1f} on {cores} cores): trust ratios with a narrow spread, and no "
            "milliseconds")


def say(text):
    print(text, file=sys.stderr, flush=True)


def main_of(main):
    """Runs a command's main: exit status 2 and one sentence where something did not work."""
    try:
        sys.exit(main())
    except Failed as error:
        say(f"{pathlib.Path(sys.argv[0]).name}: {error}")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
