"""Launches from many threads with an interposer that a sanitizer of GCC watches.

`python tests/bench/sanitize.py thread|address BUILD`; `nox -s sanitize` calls it. BUILD was made
with -DKTRACE_SANITIZE. The stand-in HIP and the program are built so, too. Any report fails.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.async_hip import build  # noqa: E402

FLAGS = {
    "thread": ("-fsanitize=thread", "-g", "-O1"),
    "address": ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-g", "-O1"),
}
RUNTIME = {"thread": "libtsan.so", "address": "libasan.so"}
# Sessions and writers live as long as their process: that is no leak.
OPTIONS = {
    "TSAN_OPTIONS": "halt_on_error=1",
    "ASAN_OPTIONS": "detect_leaks=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}
CASES: dict[str, tuple[int, dict[str, str]]] = {
    "all recorded": (250, {}),
    "memory exhausted": (250, {"KTRACE_MEMORY": "65536"}),
    "waiting for memory": (
        100,
        {"KTRACE_MEMORY": "65536", "KTRACE_ON_FULL": "wait", "KTRACE_ON_FULL_MS": "60000"},
    ),
    "chosen launches": (250, {"KTRACE_KERNEL_ITERATIONS": "1-50", "KTRACE_KERNEL_INCLUDE": "ax"}),
    "two devices": (250, {"STAND_IN_DEVICES": "2"}),
    "at once": (250, {"STAND_IN_ASYNC": "0"}),
    "unfinished ones watched": (100, {"KTRACE_HANG_MS": "20"}),
}


def main() -> None:
    sanitizer, preload = sys.argv[1], Path(sys.argv[2], "preload/interposer/libktrace_preload.so")
    runtime = subprocess.run(
        ["g++", f"-print-file-name={RUNTIME[sanitizer]}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    with tempfile.TemporaryDirectory() as root:
        bench = build(Path(root, "built"), *FLAGS[sanitizer])
        if bench is None:
            sys.exit("there is no C++ compiler")
        for number, (name, (launches, environment)) in enumerate(CASES.items()):
            # --hang reads what a kernel is writing: that race is its purpose.
            if sanitizer == "thread" and "KTRACE_HANG_MS" in environment:
                continue
            common = {"STAND_IN_ASYNC": "1", "KTRACE_WORDS": "64", **OPTIONS}
            launched = bench.run(
                Path(root, str(number)),
                threads=4,
                streams=3,
                launches=launches,
                preloads=(runtime, preload),
                environment=common | environment,
            )
            status = launched.status
            counted = status.dispatches + sum(status.losses.values()) + status.skipped_launches
            sys.stdout.write(f"{sanitizer}, {name}: {counted} of {4 * launches} accounted for\n")
            sys.stdout.flush()
            if counted != 4 * launches:
                sys.exit(1)


if __name__ == "__main__":
    main()
