"""`ktrace diff` and `ktrace baseline` on programs that really ran, and their pages."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support.code_object import EventSource
from support.comparing import HARDWARE, On, Run, event, record_run
from support.compile_kernel import any_compiler
from support.ktrace_command import ROOT, TRACED, Ktrace, saxpy
from support.timelines import INNER, OUTER, TILE

SOURCE = """
#include <hip/hip_runtime.h>
#include <ktrace/ktrace.hpp>
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y KTRACE_PARAM) {
  KTRACE_WAVE(t);
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  {
    KTRACE_RANGE(t, "mainloop");
    for (int turn = 0; turn < TURNS; ++turn) {
      asm volatile("s_nop 7\\n s_nop 7\\n s_nop 7\\n s_nop 7");
    }
  }
  KTRACE_RANGE(t, "store");
  if (i < n) {
    y[i] = a * x[i] + y[i];
  }
}
"""


def compiled(turns: int) -> Path:
    includes = [ROOT / "preload/include", ROOT / "samples/minimal_hip"]
    options = ("-O2", "-DKTRACE_ENABLE", f"-DTURNS={turns}")
    return any_compiler("gfx942").hip(SOURCE, *options, includes=includes)


def test_equal_programs_pass_and_ten_percent_more_work_is_a_regression(
    ktrace: Ktrace, tmp_path: Path
) -> None:
    for name, turns in (("base", 200), ("again", 200), ("slow", 220)):
        program = saxpy(compiled(turns), count=10)
        done = ktrace("run", "--device", "soft", "-o", f"{name}.bin", "--", *program)
        assert (done.returncode, done.stdout) == (0, "ok\n")
    ktrace("baseline", "base.bin", "again.bin", "-o", "base.json")

    equal, slow, kept, back = (
        ktrace("diff", *sides)
        for sides in (
            ("base.bin", "again.bin"),
            ("base.bin", "slow.bin"),
            ("base.json", "slow.bin"),
            ("slow.bin", "base.bin"),
        )
    )

    assert [done.returncode for done in (equal, slow, kept, back)] == [0, 3, 3, 0]
    assert equal.stdout.startswith("PASSED: none of 4 phases became slower than allowed")
    for done in (slow, kept):
        assert re.match(r"REGRESSED: .*`mainloop` of `saxpy` \+(9|10)\.\d % \(", done.stdout)
    assert re.match(r"PASSED: .*; \d phases became faster\n", back.stdout)


def test_the_same_kernel_on_another_target_is_not_comparable(ktrace: Ktrace) -> None:
    for target in ("gfx942", "gfx950"):
        code_object = TRACED.with_name(f"saxpy.{target}.co")
        options = ("--device", "soft", "--arch", target)
        ktrace("run", *options, "-o", f"{target}.bin", "--", *saxpy(code_object, 10))

    done = ktrace("diff", "gfx942.bin", "gfx950.bin")

    assert done.returncode == 4
    assert done.stdout.startswith("NOT COMPARABLE: `gfx950.bin` ran on `gfx950:")
    assert "kernel `saxpy`:" not in done.stdout


PHASES = {OUTER: "mainloop", TILE: "load", INNER: "epilogue"}
CYCLES = {OUTER: 105_000, TILE: 42_000, INNER: 21_000}


def write_examples(folder: Path) -> None:
    """Write the recordings that the pages name."""
    events: list[EventSource] = [event(number, name) for number, name in PHASES.items()]
    on = On(HARDWARE.device, events=events)
    new = On(HARDWARE.device, events=[*events[:2], event(INNER, "write_back")])
    other = On({**HARDWARE.device, "target": "gfx950:sramecc+:xnack-"}, events=events)

    def write(path: str, seed: int, made: On = on, **run: object) -> None:
        shape = {"launches": 20, "workgroups": 8, "times": CYCLES}
        record_run(folder / path, Run(seed=seed, **{**shape, **run}), made)  # type: ignore[arg-type]

    (folder / "runs").mkdir()
    for number in range(5):
        write(f"runs/{number}.bin", number)
    write("base.bin", 10)
    write("same.bin", 11)
    write("slow.bin", 12, scale={TILE: 1.25, OUTER: 1.1})
    write("renamed.bin", 13, new)
    write("gfx950.bin", 14, other)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    write_examples(folder)
    return folder


def test_commands_print_what_the_pages_show(folder: Path) -> None:
    shown = examples("cli-baseline") + examples("cli-diff") + examples("cli-report")

    assert len(shown) >= 7
    for line, output in shown:
        done = subprocess.run(
            [sys.executable, "-m", "ktrace_cli", *shlex.split(line)[1:]],
            cwd=folder,
            env={**os.environ, "COLUMNS": "120"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        printed = [text.rstrip() for text in (done.stdout + done.stderr).splitlines()]
        status = [f"[exit status {done.returncode}]"] if done.returncode else []
        assert "\n".join([*printed, *status]).strip() == output


def examples(page: str) -> list[tuple[str, str]]:
    """Return the commands that a page shows after `$ `, and what they print."""
    text = (ROOT / f"docs/reference/{page}.md").read_text()
    blocks = re.findall(r"(?:^(?: {4}.*|)\n)+", text, re.MULTILINE)
    texts = [
        "\n".join(line[4:].rstrip() for line in block.splitlines()).strip() for block in blocks
    ]
    return [
        (line.removeprefix("$ "), output.strip())
        for line, _, output in (text.partition("\n") for text in texts)
        if line.startswith("$ ktrace")
    ]
