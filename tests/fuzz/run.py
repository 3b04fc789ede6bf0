"""Build the drivers of this folder and run each for a while on inputs made of the samples.

`nox -s fuzz` calls it. What a driver counted goes to standard output, and at the end a table of
every driver's seeds, trials and seconds; a crash, a leak or a hang ends with status 1 and the seed
that does it again. With clang, `--libfuzzer` lets libFuzzer choose the inputs.
"""

import argparse
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DRIVERS = ("code_objects", "instructions", "containers", "host_memory", "hip_calls")
INTERPOSED = "interposed"  # where ktrace is installed
COMPILERS = ("clang++-19", "clang++", "g++")
# What else a driver is run with, one after the other.
SLOWER_LANES = ({"KTRACE_SOFT_LANES": "avx2"}, {"KTRACE_SOFT_LANES": "baseline"})
SETTINGS = {
    "code_objects": SLOWER_LANES,
    "instructions": SLOWER_LANES,
    "host_memory": (*SLOWER_LANES, {"KTRACE_SOFT_HOST_MEMORY": "0"}),
}
TRIALS = re.compile(r"(\d+) trials$|Done (\d+) runs")  # a driver's own count, libFuzzer's


@dataclass(frozen=True)
class Outcome:
    """What one driver did: no trials if it stopped before it counted them."""

    label: str
    seed: int
    trials: int | None
    seconds: float
    succeeded: bool

    def row(self) -> str:
        """Its line of the table."""
        trials = "-" if self.trials is None else str(self.trials)
        end = "as it should" if self.succeeded else "failed"
        return f"{self.label:46} {self.seed:>12} {trials:>9} {self.seconds:>8.1f}  {end}"


def say(line: str) -> None:
    """Write a line in the order of what the drivers write."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def make_bundle(entries: Sequence[tuple[str, bytes]]) -> bytes:
    """An offload bundle of (triple, content)."""
    place = 32 + sum(24 + len(triple) for triple, _ in entries)
    head, body = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries)), b""
    for triple, content in entries:
        head += struct.pack("<QQQ", place + len(body), len(content), len(triple)) + triple.encode()
        body += content
    return head + body


def make_compressed(bundle: bytes) -> dict[str, bytes]:
    """The bundle in each version of the compressed format, by a name."""
    stream = zlib.compress(bundle)
    sizes = {
        1: struct.pack("<I", len(bundle)),
        2: struct.pack("<II", 24 + len(stream), len(bundle)),
        3: struct.pack("<QQ", 32 + len(stream), len(bundle)),
    }
    return {
        f"version{version}": b"CCOB" + struct.pack("<HH", version, 0) + size + bytes(8) + stream
        for version, size in sizes.items()
    }


def write_corpus(folder: Path) -> dict[str, list[Path]]:
    """What each driver starts from."""
    samples = sorted((ROOT / "samples").glob("*/*.co"))
    contents = [path.read_bytes() for path in samples[:2]]
    bundle = make_bundle(
        [
            ("host-x86_64-unknown-linux-gnu-", b""),
            *(("hipv4-amdgcn-amd-amdhsa--gfx942", content) for content in contents),
        ]
    )
    wrapper = struct.pack("<IIQQ", 0x48495046, 1, 0x4000, 0) + bytes(64)
    files = {"bundle": bundle, "wrapper": wrapper, "elf": contents[0], **make_compressed(bundle)}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return {"code_objects": samples, "containers": [folder / name for name in files]}


def build(folder: Path, libfuzzer: bool) -> None:
    """Compile with the first compiler at hand."""
    compiler = next(found for name in COMPILERS if (found := shutil.which(name)))
    settings = [f"-DCMAKE_CXX_COMPILER={compiler}", f"-DKTRACE_FUZZ_LIBFUZZER={int(libfuzzer)}"]
    subprocess.run(["cmake", "-S", HERE, "-B", folder, "-G", "Ninja", *settings], check=True)
    subprocess.run(["ninja", "-C", folder, f"-j{os.cpu_count()}"], check=True)


def environment(**more: str) -> dict[str, str]:
    """Ours without the software device's settings, and with names in the reports."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("KTRACE_SOFT")}
    symbolizer = shutil.which("llvm-symbolizer") or shutil.which("llvm-symbolizer-19")
    return {**own, **more, **({"ASAN_SYMBOLIZER_PATH": symbolizer} if symbolizer else {})}


def run_counted(
    command: Sequence[str | Path], settings: dict[str, str], stderr: int | None
) -> int | None:
    """Run to the end and pass on what it writes; the trials it counted, none if it failed."""
    trials = None
    with subprocess.Popen(
        command,
        env=settings,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout
        for line in process.stdout:
            say(line.rstrip("\n"))
            if found := TRIALS.match(line):
                trials = int(found[1] or found[2])
    return trials if process.returncode == 0 else None


def run_driver(
    program: Path, inputs: Sequence[Path], options: argparse.Namespace, **more: str
) -> Outcome:
    """Run one driver to the end of its time."""
    label = " ".join([program.name, *(f"{name}={value}" for name, value in more.items())])
    say(f"== {label}, from seed {options.seed}")
    stderr = None
    command: list[str | Path]
    if options.libfuzzer:
        limits = [f"-max_total_time={options.seconds}", f"-seed={options.seed}", "-max_len=16384"]
        folder = Path(tempfile.mkdtemp(dir=program.parent))
        for path in inputs:
            shutil.copy(path, folder)
        command = [program, *limits, folder]
        stderr = subprocess.STDOUT  # where libFuzzer counts
    else:
        limits = ["--seconds", str(options.seconds), "--seed", str(options.seed)]
        command = [program, *limits, "--save", program.parent / f"{program.name}.input", *inputs]
    start = time.monotonic()
    trials = run_counted(command, environment(**more), stderr)
    return Outcome(label, options.seed, trials, time.monotonic() - start, trials is not None)


def run_interposed(seed: int, count: int = 100) -> Outcome:
    """Damaged samples under `ktrace run`: the program sees no difference."""
    say(f"== interposed, {count} code objects of seed {seed}")
    command = (sys.executable, HERE / "interposed.py", "--seed", str(seed), "--count", str(count))
    start = time.monotonic()
    succeeded = subprocess.run(command, env=environment(), check=False).returncode == 0
    seconds = time.monotonic() - start
    return Outcome(INTERPOSED, seed, count if succeeded else None, seconds, succeeded)


def run_all(
    folder: Path, inputs: dict[str, list[Path]], options: argparse.Namespace
) -> list[Outcome]:
    """Every driver that is asked for, as it is and with other settings."""
    outcomes = []
    for name in options.drivers or (*DRIVERS, INTERPOSED):
        if name == INTERPOSED:
            outcomes.append(run_interposed(options.seed))
            continue
        program = folder / f"fuzz_{name}"
        files = inputs.get(name, [])
        settings = ({}, *SETTINGS.get(name, ()))
        outcomes += [run_driver(program, files, options, **more) for more in settings]
    return outcomes


def tell(outcomes: Sequence[Outcome]) -> int:
    """The table, and which driver failed; the status to end with."""
    say(f"\n{'driver':46} {'first seed':>12} {'trials':>9} {'seconds':>8}  ended")
    for outcome in outcomes:
        say(outcome.row())
    failed = [outcome.label for outcome in outcomes if not outcome.succeeded]
    say("every trial ended as it should" if not failed else f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def main() -> int:
    """Build, run every driver that is asked for, and say which one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=40, help="of each driver (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="the first trial (%(default)s)")
    parser.add_argument("--build", type=Path, help="the build folder, kept (a temporary one)")
    parser.add_argument("--libfuzzer", action="store_true", help="inputs by libFuzzer (clang)")
    parser.add_argument(
        "drivers", nargs="*", metavar="DRIVER", help=", ".join((*DRIVERS, INTERPOSED))
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.build or Path(temporary)).resolve()
        build(folder, options.libfuzzer)
        inputs = write_corpus(Path(tempfile.mkdtemp(dir=temporary)))
        return tell(run_all(folder, inputs, options))


if __name__ == "__main__":
    sys.exit(main())
