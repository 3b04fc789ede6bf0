"""Run damaged annotated samples with and without `ktrace run`: the program sees no difference.

`python tests/fuzz/interposed.py [--count N] [--seed N]`, where ktrace is installed. A program loads
and launches N damaged code objects, one after the other; what each call answered must be the same
under ktrace, the recording must be readable, and every launch must be in it. Kernels reach HIP's
memory only: with all of the process's, they would write over the program that is watched.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ktrace_cli.launch.native import SOFTWARE_DEVICE
from ktrace_cli.libraries import native_library

ROOT = Path(__file__).resolve().parents[2]

LIMITS = {"KTRACE_SOFT_BUDGET": "200000", "KTRACE_SOFT_HOST_MEMORY": "0"}

# Prints per code object: status of load, look-up, launch, wait; a device that failed is reset.
PROGRAM = """
import ctypes, sys
from ctypes import byref, c_void_p
hip = ctypes.CDLL("libamdhip64.so.7")
for path in sys.argv[1:]:
    module, function, memory = c_void_p(), c_void_p(), c_void_p()
    answers = [hip.hipModuleLoad(byref(module), path.encode())]
    if not answers[-1]:
        answers.append(hip.hipModuleGetFunction(byref(function), module, b"saxpy"))
    if not answers[-1]:
        hip.hipMalloc(byref(memory), ctypes.c_size_t(65536))
        values = [ctypes.c_int(1000), ctypes.c_float(2), memory, memory, c_void_p()]
        places = (c_void_p * 5)(*map(ctypes.addressof, values))
        launch = hip.hipModuleLaunchKernel
        answers.append(launch(function, 2, 1, 1, 256, 1, 1, 0, None, places, None))
        answers.append(hip.hipDeviceSynchronize())
        if answers[-1] or answers[-2]:
            hip.hipDeviceReset()
        else:
            hip.hipFree(memory)
    print(*answers, flush=True)
"""


def damaged(image: bytes, generator: random.Random) -> bytes:
    """The image with one to four bytes changed, or cut."""
    copy = bytearray(image)
    for _ in range(generator.randint(1, 4)):
        copy[generator.randrange(len(copy))] ^= 1 << generator.randrange(8)
    return bytes(copy[: generator.randrange(len(copy))] if generator.random() < 0.05 else copy)


def run(command: Sequence[object], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run to the end; text of both streams."""
    return subprocess.run(
        list(map(str, command)),
        env={**os.environ, **LIMITS, **environment},
        capture_output=True,
        text=True,
        errors="replace",  # names of damaged kernels are shown as they are
        check=False,
        timeout=600,
    )


def main() -> int:
    """Compare, and say what differed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="code objects (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the damage (%(default)s)")
    options = parser.parse_args()
    generator = random.Random(options.seed)
    image = (ROOT / "samples" / "saxpy" / "saxpy.gfx942.co").read_bytes()
    ktrace = [sys.executable, "-m", "ktrace_cli"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        paths = [folder / f"{k}.co" for k in range(options.count)]
        for path in paths:
            path.write_bytes(damaged(image, generator))
        program = [sys.executable, "-c", PROGRAM, *paths]
        recording = folder / "recording.bin"
        alone = {"LD_LIBRARY_PATH": str(native_library(SOFTWARE_DEVICE).parent)}
        plain = [run(program, alone) for _ in range(5)]
        record = [*ktrace, "run", "--device", "soft", "--force", "-o", recording]
        unmarked = run([*record, "--kernel-exclude-regex", ".", "--", *program], {})
        traced = run([*record, "--", *program], {})
        summary = run([*ktrace, "summary", "--json", recording], {})
    return compare(plain, unmarked, traced, summary)


Done = subprocess.CompletedProcess[str]


def differences(plain: Sequence[Done], other: Done, columns: int) -> list[str]:
    """Where the first answers of a code object differ, and whether one program ended early.

    What damaged code does may depend on where memory is: such a code object, which already differs
    from one run to the next, tells nothing.
    """
    one = plain[0]
    found = [f"ended with {one.returncode} and {other.returncode}"] * (
        one.returncode != other.returncode
    )
    lines, others = one.stdout.splitlines(), other.stdout.splitlines()
    found += [f"{len(lines)} and {len(others)} code objects"] * (len(lines) != len(others))
    varying = {
        number
        for run_again in plain
        for number, line in enumerate(run_again.stdout.splitlines())
        if line != lines[number]
    }
    for number, (left, right) in enumerate(zip(lines, others, strict=False)):
        if number not in varying and left.split()[:columns] != right.split()[:columns]:
            found.append(f"code object {number}: {left} and {right}")
    return found


def compare(plain: Sequence[Done], unmarked: Done, traced: Done, summary: Done) -> int:
    """Status 0 if the program saw the same, and every launch is counted.

    A traced kernel runs its markers, which may be what is damaged: only what the wait for it gives
    may differ then.
    """
    found = [f"not traced: {line}" for line in differences(plain, unmarked, 4)]
    found += [f"traced: {line}" for line in differences(plain, traced, 3)]
    # What HIP refuses is a launch, too: ktrace counts what it was asked for.
    launches = sum(line.startswith("0 0 ") for line in traced.stdout.splitlines())
    document = json.loads(summary.stdout) if summary.stdout else {}
    losses = document.get("losses", {})
    recorded = document.get("launches", 0)
    sys.stdout.write(f"{launches} launches, {recorded} counted, {json.dumps(losses)}\n")
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 0 if not found and recorded == launches else 1


if __name__ == "__main__":
    sys.exit(main())
