"""Speed of the software device: time per wave instruction and per kernel, beside the prototype.

`python tests/bench/softdev_bench.py [--against FOLDER] [--counts] [NAME]…`; `nox -s bench` calls
it. With `--against` the prototype of that folder (its `libemu.so`) runs in turn with ktrace's
device, in one process, and the ratio is that of the best runs. Without, the prototype's recorded
times are taken, in units of a sum of numpy that runs here and ran there, so that the machine's
speed cancels out. A ratio that misses its target is exit status 1 only with `--against`.

Instructions are timed by CPU time, in loops of one wave, which runs on one thread. Whole kernels
are timed as their user waits for them; the last column is then the ratio of CPU times.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(Path(__file__).parent)]

from softdev_cases import BUFFER_BYTES, LOOPS, TARGET, Loop  # noqa: E402
from softdev_devices import Device, Launcher, Prototype, SoftwareDevice, Took  # noqa: E402
from softdev_whole import SOURCE, WHOLES, Whole  # noqa: E402

from ktrace_cli.launch.native import SOFTWARE_DEVICE  # noqa: E402
from ktrace_cli.libraries import native_library  # noqa: E402
from support.compile_kernel import Compiler, compilers_for  # noqa: E402

RECORDED = Path(__file__).with_name("softdev_recorded.json")
"""The prototype's times by case, in units of the reference."""
REPEAT = 5
REFERENCE_RUNS = 200
"""A millisecond each: a processor that has slept is slow at first."""
IN_A_ROW = 4
"""Runs on one device, then on the other: the first finds cold caches."""


@dataclass(frozen=True)
class Case:
    """A kernel that is ready to run, on each device."""

    name: str
    target: float | None
    scale: float
    """From seconds to what is shown."""
    unit: str
    instructions: int | None
    """Of a loop's one wave; None for a whole kernel."""
    launchers: Sequence[Launcher]

    @property
    def is_whole(self) -> bool:
        return self.instructions is None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="Parts of cases' names. Without: all.")
    parser.add_argument("--against", type=Path, help="The prototype's folder, built.")
    parser.add_argument("--record", action="store_true", help="Keep the prototype's times.")
    parser.add_argument("--counts", action="store_true", help="Count instructions with valgrind.")
    parser.add_argument("--once", metavar="CASE", help="Run a case once, on ktrace's device.")
    options = parser.parse_args()
    os.environ["KTRACE_SOFT_ARCH"] = TARGET
    devices: list[Device] = [SoftwareDevice(native_library(SOFTWARE_DEVICE))]
    if options.against:
        devices.append(Prototype(options.against.resolve()))
    found = [c for c in compilers_for(TARGET) if c.name == "ziglang"] or compilers_for(TARGET)
    if not found:
        sys.exit(f"no compiler for {TARGET}: pip install ziglang")
    if options.once:
        cases = prepared(devices, found[0], [options.once])
        next(case for case in cases if case.name == options.once).launchers[0].run()
        return
    cases = prepared(devices, found[0], options.names)
    counts = count_instructions(options.names) if options.counts else {}
    missed = report(cases, counts, record=options.record)
    if missed and options.against:
        sys.exit(f"\nmissed: {', '.join(missed)}")


def prepared(devices: Sequence[Device], compiler: Compiler, names: Sequence[str]) -> Iterator[Case]:
    """Yield the cases whose names have one of `names` in them."""
    for loop in LOOPS:
        if is_chosen(loop.name, names):
            yield prepared_loop(devices, compiler, loop)
    for whole in WHOLES:
        if is_chosen(whole.name, names):
            yield prepared_whole(devices, compiler, whole)


def is_chosen(case: str, names: Sequence[str]) -> bool:
    return not names or any(name in case for name in names)


def prepared_loop(devices: Sequence[Device], compiler: Compiler, loop: Loop) -> Case:
    code_object = compiler.assemble(loop.source())
    data = np.random.default_rng(1).random(BUFFER_BYTES // 4, np.float32)
    one = (1, 1, 1)
    launchers = [
        device.launcher(
            code_object, "test_kernel", [data.copy(), np.uint64(loop.loops)], (one, (64, 1, 1))
        )
        for device in devices
    ]
    count = loop.instructions
    return Case(loop.name, loop.target, 1e9 / count, "ns", count, launchers)


def prepared_whole(devices: Sequence[Device], compiler: Compiler, whole: Whole) -> Case:
    code_object = compiler.hip(SOURCE.read_text(), "-O3")
    given = whole.arguments()
    launchers = []
    for device in devices:
        arguments = [argument.copy() for argument in given]
        shape = (whole.grid, whole.block)
        launchers.append(device.launcher(code_object, whole.kernel, arguments, shape))
        launchers[-1].run()
        if not whole.is_right(given, [a for a in arguments if isinstance(a, np.ndarray)]):
            sys.exit(f"{whole.name}: wrong on {device.name}")
    return Case(whole.name, whole.target, 1e3, "ms", None, launchers)


def reference() -> float:
    """CPU seconds of a sum of numpy: the best of some runs."""
    a, b = np.ones(4096, np.float32), np.ones(4096, np.float32)

    def once() -> float:
        start = time.thread_time()
        for _ in range(2000):
            np.add(a, b, out=a)
        return time.thread_time() - start

    return min(once() for _ in range(REFERENCE_RUNS))


def report(cases: Iterator[Case], counts: dict[str, float], *, record: bool) -> list[str]:
    """Print a row per case; return the names of those that miss their targets."""
    unit = reference()
    recorded: dict[str, float] = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    missed = []
    line = f"{'':<30} {'ours':>11} {'prototype':>11} {'ratio':>7} {'target':>7}"
    print_line(line + ("   host instructions" if counts else ""))
    for case in cases:
        took = [best(runs) for runs in zip(*run_in_turn(case), strict=True)]
        ours = took[0].elapsed if case.is_whole else took[0].cpu
        if len(took) > 1:
            recorded[case.name] = float(f"{took[1].cpu / unit:.4g}")
            theirs = took[1].cpu
        else:
            theirs = recorded.get(case.name, float("nan")) * unit
        ratio = theirs / ours
        shown = (f"{seconds * case.scale:,.1f} {case.unit}" for seconds in (ours, theirs))
        line = f"{case.name:<30} {next(shown):>11} {next(shown):>11} {ratio:>6.2f}x"
        if case.target:
            is_met = ratio >= case.target
            line += f" {case.target:>6g}x  {'met' if is_met else 'MISSED'}"
            missed += [] if is_met else [case.name]
        if case.is_whole:
            line += f"   CPU {theirs / took[0].cpu:.2f}x"
        if case.name in counts:
            line += f"   {counts[case.name]:,.0f}"
        print_line(line)
    if record:
        RECORDED.write_text(json.dumps(recorded, indent=1) + "\n")
    return missed


def best(runs: Sequence[Took]) -> Took:
    """The least of each."""
    return Took(min(run.elapsed for run in runs), min(run.cpu for run in runs))


def run_in_turn(case: Case) -> Iterator[list[Took]]:
    """What each device took, some times."""
    for _ in range(REPEAT):
        yield [best([launcher.run() for _ in range(IN_A_ROW)]) for launcher in case.launchers]


def count_instructions(names: Sequence[str]) -> dict[str, float]:
    """Count the host's instructions per wave instruction of each loop on ktrace's device.

    Callgrind runs each loop in a process of its own; it does not know AVX-512.
    """
    if shutil.which("valgrind") is None:
        sys.exit("--counts wants valgrind")
    return {
        loop.name: instructions_of(loop.name) / loop.instructions
        for loop in LOOPS
        if is_chosen(loop.name, names)
    }


def instructions_of(name: str) -> int:
    """Host instructions of one dispatch of a loop."""
    with tempfile.TemporaryDirectory() as folder:
        tool = ["valgrind", "--tool=callgrind", "--toggle-collect=*run_dispatch*"]
        command = [*tool, f"--callgrind-out-file={folder}/out", sys.executable, __file__]
        environment = {**os.environ, "KTRACE_SOFT_LANES": "avx2"}
        subprocess.run([*command, "--once", name], check=True, capture_output=True, env=environment)
        total = re.search(r"^totals: (\d+)", Path(folder, "out").read_text(), re.M)
    if total is None or int(total[1]) == 0:
        sys.exit(f"callgrind saw no dispatch of {name}")
    return int(total[1])


def print_line(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
