"""Parts of the tests with an interposer, a reader and the threads of the software device that a
sanitizer of GCC watches. Any report fails.

`python tests/bench/sanitize.py thread|address BUILD`; `nox -s sanitize` calls it. BUILD was made
with -DKTRACE_SANITIZE. The stand-in HIPs and the C++ programs are built so, too; Python is not, nor
is the software device where the interposer is tested: what they do is seen through the functions
that they call.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from ktrace_cli.launch.native import INTERPOSER, SOFTWARE_DEVICE  # noqa: E402
from ktrace_cli.libraries import native_library  # noqa: E402
from ktrace_cli.timeline.native import LIBRARY as READER  # noqa: E402
from support.async_hip import Bench, build, build_graphs  # noqa: E402

INTEGRATION = ROOT / "tests" / "integration"
FLAGS = {
    "thread": ("-fsanitize=thread", "-g", "-O1"),
    "address": ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-g", "-O1"),
}
RUNTIME = {"thread": "tsan", "address": "asan"}
# Sessions and writers live as long as their process: that is no leak. Programs that crash are
# tested, too.
OPTIONS = {
    "TSAN_OPTIONS": "die_after_fork=0:history_size=4:handle_segv=0:handle_abort=0",
    "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0:handle_abort=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


@dataclass(frozen=True)
class Case:
    """Launches of four threads, 250 of each unless it says otherwise."""

    environment: Mapping[str, str]
    launches: int = 250
    sanitizers: tuple[str, ...] = ("thread", "address")


CASES = {
    "all recorded": Case({}),
    "memory exhausted": Case({"KTRACE_MEMORY": "65536"}),
    "waiting for memory": Case(
        {"KTRACE_MEMORY": "65536", "KTRACE_ON_FULL": "wait", "KTRACE_ON_FULL_MS": "60000"}, 100
    ),
    "chosen launches": Case({"KTRACE_KERNEL_ITERATIONS": "1-50", "KTRACE_KERNEL_INCLUDE": "ax"}),
    "two devices": Case({"STAND_IN_DEVICES": "2"}),
    "at once": Case({"STAND_IN_ASYNC": "0"}),
    # --hang reads what a kernel is writing: that race is its purpose.
    "unfinished ones watched": Case({"KTRACE_HANG_MS": "20"}, 100, ("address",)),
}
# The ways of racing.cpp: how many turns, and in which environment.
RACES: dict[str, tuple[int, dict[str, str]]] = {
    "modules": (50, {}),
    "streams": (50, {}),
    "resets": (10, {}),
    "graphs": (30, {}),
    "forks": (6, {}),
    "first-forks": (4, {}),
    "busy-forks": (6, {"STAND_IN_ASYNC": "0"}),
    "exit": (200, {}),
}
# A program that ends while it launches leaves threads behind that were about to be joined.
LEAVES_THREADS = ("exit",)
TESTS = {
    "thread": ["graphs_async", "processes_forks", "handles", "ways", "hardware"],
    "address": [
        *("graphs", "graphs_async", "graphs_failures", "tables", "ways", "libraries", "linked"),
        *("processes_forks", "processes_ends", "processes_children", "hang", "ring", "hardware"),
        *("losses", "made_code"),
    ],
}
# No sanitizer lets a library be opened with RTLD_DEEPBIND, and `ktrace run` would preload in front
# of it. ThreadSanitizer knows no new threads in a child whose parent had several. Under
# AddressSanitizer a vfork on a signal handler's small stack crashes, also without ktrace.
LEFT_OUT = {
    "thread": ("deepbind", "opened_for_itself_alone", "forks_under_load"),
    "address": (
        *("deepbind", "opened_for_itself_alone", "ktrace_run", "preload_list"),
        "(small_stack and vfork)",
    ),
}
# Of the tests of the reader those that demangle no name: Python's libc would free what is not its.
READING = (
    "any_words or changed or did_not_meet or without_a_name or any_address or hundred"
    " or running_wave"
)
ENCODING = "viewer_sees or in_the_rows or contradict or many_payloads or arrows_end or in_use"
# The tests of the device's threads that put nothing in front of its functions.
DISPATCHES = "times_do_not or atomics_are or sum_of_floats or first_in_time"
# Of what is not watched itself: the HIPs of these tests, and the memory of thread-local objects.
NOT_WATCHED = "race:libamdhip64.so.7\nrace:_dl_deallocate_tls\n"


def runtime_of(sanitizer: str, folder: Path) -> str:
    """Name what is preloaded in front: the sanitizer's library and early_dlsym.cpp."""
    name = RUNTIME[sanitizer]
    asked = ["g++", f"-print-file-name=lib{name}.so"]
    library = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    early = folder / "early_dlsym.so"
    source = ROOT / "tests" / "support" / "early_dlsym.cpp"
    options = ["-std=c++17", "-O2", "-fno-builtin", "-fPIC", "-shared", "-nostdlib"]
    link = ["-Wl,--no-as-needed", f"-l{name}"]
    subprocess.run(["g++", *options, source, "-o", early, *link], check=True)
    return f"{library}:{early}"


def use(preload: Path, sanitizer: str, folder: Path) -> Path:
    """Let all that is run from here on be watched; return where reports go."""
    native, reports = folder / "native", folder / "reports"
    native.mkdir()
    reports.mkdir()
    (native / SOFTWARE_DEVICE).symlink_to(native_library(SOFTWARE_DEVICE))
    (native / READER).symlink_to(native_library(READER))
    (native / INTERPOSER).symlink_to(preload)
    os.environ["KTRACE_NATIVE_DIR"] = str(native)
    os.environ["SANITIZER_RUNTIME"] = runtime_of(sanitizer, folder)
    for name, options in OPTIONS.items():
        os.environ[name] = f"{options}:log_path={reports / 'report'}"
    return reports


def launch_all(sanitizer: str, bench: Bench, folder: Path) -> None:
    for number, (name, case) in enumerate(CASES.items()):
        if sanitizer not in case.sanitizers:
            continue
        launched = bench.run(
            folder / str(number),
            threads=4,
            streams=3,
            launches=case.launches,
            environment={"STAND_IN_ASYNC": "1", "KTRACE_WORDS": "64", **case.environment},
        )
        status = launched.status
        counted = status.dispatches + sum(status.losses.values()) + status.skipped_launches
        say(f"{sanitizer}, {name}: {counted} of {4 * case.launches} accounted for")
        if counted != 4 * case.launches:
            sys.exit(1)


def race_all(sanitizer: str, benches: Mapping[str, Bench], folder: Path) -> None:
    for way, (turns, environment) in RACES.items():
        bench = benches.get(way, benches["others"])
        leaks = f"{os.environ['TSAN_OPTIONS']}:report_thread_leaks={int(way not in LEAVES_THREADS)}"
        bench.race(folder / way, way, turns, {**environment, "TSAN_OPTIONS": leaks})
        say(f"{sanitizer}, race of {way}: {turns} turns")


def watched(library: Path, folder: Path) -> dict[str, str]:
    """The environment of a Python that is watched and uses this library of ktrace's."""
    folder.mkdir()
    (folder / library.name).symlink_to(library)
    runtime = os.environ["SANITIZER_RUNTIME"].split(":")[0]
    return {**os.environ, "KTRACE_NATIVE_DIR": str(folder), "LD_PRELOAD": runtime}


def run_dispatches(device: Path, folder: Path) -> int:
    """Run kernels on several threads of the software device, which is watched itself."""
    environment = watched(device, folder / "device")
    test = ROOT / "tests" / "native" / "test_softdev_core_threads.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", DISPATCHES]
    return subprocess.run([*command, test], cwd=ROOT, env=environment, check=False).returncode


def run_tests(sanitizer: str, folder: Path) -> int:
    suppressions = folder / "not_watched"
    suppressions.write_text(NOT_WATCHED)
    os.environ["TSAN_OPTIONS"] += f":suppressions={suppressions}:exitcode=0"
    files = [INTEGRATION / f"test_interposer_{name}.py" for name in TESTS[sanitizer]]
    chosen = " and ".join(f"not {name}" for name in LEFT_OUT[sanitizer])
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider"]
    return subprocess.run([*command, "-k", chosen, *files], cwd=ROOT, check=False).returncode


def read_words(reader: Path, folder: Path) -> int:
    """Read words and encode rows that nobody vouches for; Python itself is watched."""
    environment = watched(reader, folder / "reader")
    names = ("test_timeline_native.py", "test_export_encoder.py")
    tests = [ROOT / "tests" / "unit" / name for name in names]
    options = ["-q", "-p", "no:cacheprovider", "-k", f"{READING} or {ENCODING}"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def show(reports: Path) -> int:
    """Print all that the sanitizer wrote; return how many processes it wrote of."""
    found = sorted(reports.iterdir())
    for report in found:
        sys.stdout.write(report.read_text(errors="replace"))
    return len(found)


def say(line: str) -> None:
    sys.stdout.write(f"{time.monotonic() - STARTED:6.1f} s  {line}\n")
    sys.stdout.flush()


STARTED = time.monotonic()


def main() -> None:
    sanitizer, built = sys.argv[1], Path(sys.argv[2], "preload").resolve()
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root)
        others = build(folder / "built", *FLAGS[sanitizer])
        graphs = build_graphs(folder / "graphs", *FLAGS[sanitizer])
        if others is None or graphs is None:
            sys.exit("there is no C++ compiler")
        reports = use(built / "interposer" / INTERPOSER, sanitizer, folder)
        failed = 1
        try:
            launch_all(sanitizer, others, folder)
            race_all(sanitizer, {"graphs": graphs, "others": others}, folder)
            failed = 0
            if sanitizer == "thread":
                failed |= run_dispatches(built / "softdev" / SOFTWARE_DEVICE, folder)
            failed |= run_tests(sanitizer, folder)
            if sanitizer == "address":
                failed |= read_words(built / "reader" / READER, folder)
        finally:
            found = show(reports)
            say(f"{sanitizer}: {found} reports")
        if failed or found:
            sys.exit(1)


if __name__ == "__main__":
    main()
