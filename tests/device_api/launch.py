"""Launch an annotated kernel with a trace buffer that the test made itself: no interposer."""

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from support.hip import library_path
from support.trace_buffer import (
    NO_FLAGS,
    Choice,
    Triple,
    WaveTrace,
    control_block,
    read_wave,
    waves_of,
)

TESTS = Path(__file__).parents[1]
EVERY_WAVE = Choice()


@dataclass(frozen=True)
class Traced:
    """What a launch left behind; `waves` and `regions` have one entry per slot."""

    waves: list[WaveTrace | None]
    regions: list[bytes]
    outputs: list[Any]
    claimed: int


class Device:
    """A software device of one target, in a process of its own."""

    def __init__(self, target: str) -> None:
        path = [str(TESTS), *sys.path]
        paths = os.pathsep.join(filter(None, path))
        environment = {"KTRACE_SOFT_ARCH": target, "PYTHONPATH": paths}
        self._child = subprocess.Popen(
            [sys.executable, "-m", "device_api.device_process", str(library_path())],
            env=os.environ | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def close(self) -> None:
        assert self._child.stdin
        assert self._child.stdout
        self._child.stdin.close()
        self._child.wait()
        self._child.stdout.close()

    def trace(
        self,
        code_object: Path,
        kernel: str,
        arguments: Sequence[Any],
        *,
        grid: Triple = (2, 1, 1),
        block: Triple = (256, 1, 1),
        choice: Choice | None = EVERY_WAVE,
    ) -> Traced:
        """Launch `kernel`; arrays travel to the device and back. No choice: a null sink."""
        slots = waves_of(grid, block)
        control, regions = None, None
        if choice is not None:
            control = control_block(0, grid, block, choice)
            # One region more than slots: a wave that writes past its own is seen there.
            regions = np.zeros((slots + 1, 1 << choice.region_log2), np.uint8)
        request = {
            "code_object": str(code_object),
            "kernel": kernel,
            "arguments": [a if isinstance(a, np.ndarray) else bytes(a) for a in arguments],
            "grid": grid,
            "block": block,
            "control": control,
            "regions": regions,
        }
        done = self._ask(request)
        if done["regions"] is None:
            return Traced([None] * slots, [b""] * slots, done["outputs"], 0)
        *rows, after = [row.tobytes() for row in done["regions"]]
        assert not any(after), "no wave writes past the last region"
        waves = [read_wave(row, choice.flags if choice else NO_FLAGS) for row in rows]
        return Traced(waves, rows, done["outputs"], int(done["control"]["claimed"]))

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._child.stdin
        assert self._child.stdout
        self._child.stdin.write(pickle.dumps(request))
        self._child.stdin.flush()
        answer: dict[str, Any] = pickle.load(self._child.stdout)
        return answer
