"""Full regions that keep their last words (--full ring), from the launch to the timeline."""

import sys
from pathlib import Path

import pytest

from ktrace_cli.timeline.build import build_timeline
from ktrace_cli.trace_file.layout import DispatchFlag
from support.compile_kernel import any_compiler
from support.hanging import INCLUDE
from support.preloaded import Outcome, run_preloaded

SOURCE = """
#include <mini_hip.hpp>
#include <ktrace/ktrace.hpp>
extern "C" __global__ void count(int n KTRACE_PARAM) {
  KTRACE_WAVE(t);
  KTRACE_PUSH(t, "whole");
  if (threadIdx.x & 1) {
    KTRACE_MARK(t, "odd");
  }
  for (int i = 0; i < n; ++i) {
    KTRACE_RANGE(t, "step", i);
  }
  KTRACE_POP(t);
}
"""
PROGRAM = """
import ctypes, sys
from pathlib import Path
hip = ctypes.CDLL("libamdhip64.so.7")
module, function = ctypes.c_void_p(), ctypes.c_void_p()
image = Path(sys.argv[1]).read_bytes()
assert hip.hipModuleLoadData(ctypes.byref(module), image) == 0
assert hip.hipModuleGetFunction(ctypes.byref(function), module, b"count") == 0
for steps in map(int, sys.argv[2:]):
    n, sink = ctypes.c_int(steps), ctypes.c_void_p()
    places = (ctypes.c_void_p * 2)(ctypes.addressof(n), ctypes.addressof(sink))
    assert hip.hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, None, places, None) == 0
assert hip.hipDeviceSynchronize() == 0
"""


def run(folder: Path, *steps: int, target: str = "gfx942", options: tuple[str, ...]) -> Outcome:
    code = any_compiler(target).hip(SOURCE, "-DKTRACE_ENABLE", *options, includes=[INCLUDE])
    outcome = run_preloaded(
        [sys.executable, "-c", PROGRAM, code, *steps],
        folder,
        environment={"KTRACE_FULL": "ring", "KTRACE_WORDS": "64", "KTRACE_SOFT_ARCH": target},
    )
    assert (outcome.returncode, outcome.stderr) == (0, "")
    return outcome


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
def test_the_last_words_are_kept_and_the_others_counted(target: str, tmp_path: Path) -> None:
    outcome = run(tmp_path, 100, target=target, options=("-DKTRACE_RING",))

    # 202 main words, of which 32 are kept: POP, 15 steps of two words, and half of another one.
    timeline = build_timeline(outcome.recording)
    (dispatch,) = outcome.recording.dispatches
    assert DispatchFlag(int(dispatch.record["flags"])) == DispatchFlag.RING
    assert timeline.losses.counted() == {"overwritten_words": 170, "overwritten_begins": 1}
    assert [timeline.events[row].name for row in timeline.slices["event"]] == ["step"] * 16
    assert timeline.values["bits"].tolist() == list(range(85, 100))
    assert [timeline.events[row].name for row in timeline.instants["event"]] == ["odd"]
    assert (outcome.status.saturated_launches, outcome.status.dropped_words) == (0, 0)


def test_a_region_with_room_keeps_everything_in_order(tmp_path: Path) -> None:
    outcome = run(tmp_path, 3, 15, options=("-DKTRACE_RING",))

    timeline = build_timeline(outcome.recording)
    assert timeline.losses.counted() == {}
    names = [timeline.events[row].name for row in timeline.slices["event"]]
    assert names == ["whole"] + ["step"] * 3 + ["whole"] + ["step"] * 15
    assert timeline.values["bits"].tolist() == [*range(3), *range(15)]


def test_the_next_launch_keeps_as_many_words(tmp_path: Path) -> None:
    outcome = run(tmp_path, 100, 100, options=("-DKTRACE_RING",))

    first, second = outcome.recording.dispatches
    assert first.record["region_log2"] == second.record["region_log2"] == 9
    assert first.extents["main_words"].tolist() == second.extents["main_words"].tolist() == [32]


def test_a_kernel_that_was_not_built_for_it_keeps_its_first_words_and_is_counted(
    tmp_path: Path,
) -> None:
    outcome = run(tmp_path, 100, options=())

    timeline = build_timeline(outcome.recording)
    (dispatch,) = outcome.recording.dispatches
    assert DispatchFlag(int(dispatch.record["flags"])) == DispatchFlag(0)
    assert outcome.status.saturated_launches == 1
    assert timeline.values["bits"].tolist()[:3] == [0, 1, 2]
    assert timeline.losses.dropped_words == outcome.status.dropped_words == 203 - 48
