"""What the PyTorch sides of perf/compare share: their arguments, the clock, and the arrays that Ridgeline wrote.

Each is called as

  PEER WORK --way WAY [--threads 2] [--repeats 15]
  PEER WORK --way WAY --values FOLDER [--threads 2]

and prints one JSON line. Timing: the milliseconds of each call, on the wall and of processor time, and in bytes what was
resident before the work was made and the peak while it was timed. --values takes what Ridgeline's
`functional WORK --values FOLDER` wrote, and prints how far from a computation in float64 are its results ("own"), those
of the way ("way"), and those of the way's formulas in float64 ("formulas"): the largest difference of each array over
the largest magnitude.
"""
import argparse
import ctypes
import json
import pathlib
import time

import torch


def status_bytes(wanted):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(wanted + ":"):
            return 1024 * int(line.split()[1])
    return 0


def forget_peak():
    """What was freed is given back first, as Ridgeline's side does."""
    ctypes.CDLL(None).malloc_trim(0)
    pathlib.Path("/proc/self/clear_refs").write_text("5\n")


def clock(make, repeats):
    forget_peak()
    resident = status_bytes("VmRSS")
    call = make()
    for _ in range(3):
        call()
    forget_peak()
    times = dict(wall=[], processor=[])
    for _ in range(repeats):
        wall, processor = time.perf_counter(), time.process_time()
        call()
        times["wall"].append(1e3 * (time.perf_counter() - wall))
        times["processor"].append(1e3 * (time.process_time() - processor))
    return dict(milliseconds=times, resident=resident, peak=status_bytes("VmHWM"))


class Values:
    """Arrays by their names in PyTorch; `our_name` gives Ridgeline's."""

    def __init__(self, folder, our_name=lambda name: name):
        self.folder, self.our_name = pathlib.Path(folder), our_name
        self.shapes = json.loads((self.folder / "arrays.json").read_text())

    def __getitem__(self, name):
        name = self.our_name(name)
        data = bytearray((self.folder / f"{name}.f32").read_bytes())
        return torch.frombuffer(data, dtype=torch.float32).view(self.shapes[name])


def results_of(call, values):
    """Of a work with a `model`, called once with Ridgeline's parameters."""
    with torch.no_grad():
        for name, parameter in call.model.named_parameters():
            parameter.copy_(values["parameter/" + name])
    call()
    return {name: value.detach().double() for name, value in call.results().items()}


def distance(a, b):
    return ((a - b).abs().max() / b.abs().max().clamp_min(1e-300)).item()


def distances(values, exact, way, formulas):
    """Results by name, as results_of gives them; Ridgeline's are among the values."""
    found = dict(own={}, way={}, formulas={})
    for name, reference in exact.items():
        ours = values.our_name(name)
        found["own"][ours] = distance(values[name].double(), reference)
        found["way"][ours] = distance(way[name], reference)
        found["formulas"][ours] = distance(formulas[name], reference)
    return found


class Attention:
    """A layer by itself; a call is its forward and backward pass."""

    def __init__(self, model, x, dtype=torch.float32, run=lambda model: model):
        self.model = model.to(dtype)
        self.run = run(self.model)
        self.x = x.to(dtype).requires_grad_()

    def __call__(self):
        self.y = self.run(self.x)
        self.y.sum().backward()

    def results(self):
        out = {"y": self.y, "dx": self.x.grad}
        for name, parameter in self.model.named_parameters():
            out["gradient/" + name] = parameter.grad
        return out


def main(description, ways, make_work, errors):
    """make_work(work, way) makes a call; errors(work, way, folder) is what --values prints."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work")
    parser.add_argument("--way", choices=ways, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--values")
    arg = parser.parse_args()
    torch.set_num_threads(arg.threads)
    try:
        if arg.values:
            out = dict(errors=errors(arg.work, arg.way, arg.values))
        else:
            out = clock(lambda: make_work(arg.work, arg.way), arg.repeats)
    except Exception as error:  # a singular system in float32, or no compiler: part of the record
        out = dict(failed=(str(error).splitlines() or [type(error).__name__])[0][:120])
    print(json.dumps(dict(torch=torch.__version__, work=arg.work, way=arg.way, threads=torch.get_num_threads(), **out)))
