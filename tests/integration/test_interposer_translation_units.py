"""Code objects of several translation units, each with notes of its own."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ktrace_cli.timeline.build import build_timeline
from ktrace_cli.trace_file.layout import LossReason
from support.linked_units import link, link_bitcode, link_relocatable, source
from support.preloaded import Outcome, run_script


def launch(path: Path, folder: Path, *kernels: str) -> Outcome:
    """Launch each kernel in turn, as a module's function; say whether all did their work."""
    return run_script(
        "hip, module, function, out = open_hip(), *(ctypes.c_void_p() for _ in range(3))\n"
        f"image = Path({str(path)!r}).read_bytes()\n"
        "assert hip.hipModuleLoadData(ctypes.byref(module), image) == 0\n"
        "assert hip.hipMalloc(ctypes.byref(out), ctypes.c_size_t(256)) == 0\n"
        "sink = ctypes.c_void_p()\n"
        "places = (ctypes.c_void_p * 2)(ctypes.addressof(out), ctypes.addressof(sink))\n"
        f"for kernel in {kernels!r}:\n"
        "    assert hip.hipMemset(out, 0, ctypes.c_size_t(256)) == 0\n"
        "    assert hip.hipModuleGetFunction(\n"
        "        ctypes.byref(function), module, kernel.encode()) == 0\n"
        "    assert hip.hipModuleLaunchKernel(\n"
        "        function, 1, 1, 1, 64, 1, 1, 0, None, places, None) == 0\n"
        "    result = (ctypes.c_int * 64)()\n"
        "    assert hip.hipMemcpy(result, out, ctypes.c_size_t(256), DEVICE_TO_HOST) == 0\n"
        "    print('right' if list(result) == [7] * 64 else 'wrong')\n",
        folder,
    )


def names(outcome: Outcome) -> list[str]:
    """The kernel of each dispatch."""
    recording = outcome.recording
    return [
        recording.kernels[int(dispatch.record["kernel"])].name for dispatch in recording.dispatches
    ]


def test_kernels_of_every_metadata_note_are_traced(tmp_path: Path) -> None:
    linked = link(tmp_path, source("ka", "of a", "a"), source("kb", "of b", "b"))

    outcome = launch(linked, tmp_path, "ka", "kb")

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n" * 2, "")
    assert names(outcome) == ["ka", "kb"]
    assert (outcome.status.annotated_kernels, outcome.status.losses) == (2, {})


def test_kernels_of_units_that_share_a_key_are_refused(tmp_path: Path) -> None:
    linked = link(
        tmp_path,
        source("ka", "of a", "same"),
        source("kb", "of b", "same"),
        source("kc", "of c", "other"),
    )

    outcome = launch(linked, tmp_path, "ka", "kb", "kc")

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n" * 3, "")
    assert names(outcome) == ["kc"]
    assert outcome.status.losses == {LossReason.UNIT_KEY: 2}
    message = outcome.status.message
    assert message.startswith("kernel `ka`: event ")
    assert "`of a`" in message
    assert "`of b`" in message
    assert "share one unit key; compile them with different -DKTRACE_UNIT_NAME" in message


HEAD = """
#define KTRACE_UNIT_NAME "{unit}"
#include <hip/hip_runtime.h>
#include <ktrace/ktrace.hpp>
"""
CALLER = (
    HEAD.format(unit="caller")
    + """
__device__ int far_away(int number KTRACE_FN_PARAM(t));
extern "C" __global__ void ka(int* out KTRACE_PARAM) {
  KTRACE_WAVE(t);
  KTRACE_MARK(t, "in the kernel");
  KTRACE_PUSH(t, "around the call");
  out[threadIdx.x] = far_away(3 KTRACE_FN_ARG(t));
  KTRACE_POP(t);
}
"""
)
CALLED = (
    HEAD.format(unit="called")
    + """
__device__ __noinline__ int far_away(int number KTRACE_FN_PARAM(t)) {
  KTRACE_MARK(t, "in the function");
  KTRACE_PUSH(t, "inside the call");
  int sum = 0;
  for (int i = 0; i < number; ++i) sum += i;
  KTRACE_POP(t);
  return sum + 4;
}
"""
)


@pytest.mark.parametrize("how", [link_relocatable, link_bitcode], ids=["objects", "bitcode"])
def test_events_of_a_function_in_another_unit_have_its_own_names(
    how: Callable[..., Path], tmp_path: Path
) -> None:
    # Both units count their events from the same number.
    linked = how(tmp_path, CALLER, CALLED)

    outcome = launch(linked, tmp_path, "ka")

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    timeline = build_timeline(outcome.recording)
    assert [timeline.events[row].name for row in timeline.slices["event"]] == [
        "around the call",
        "inside the call",
    ]
    assert [timeline.events[row].name for row in timeline.instants["event"]] == [
        "in the kernel",
        "in the function",
    ]


def test_a_kernel_that_two_units_define_is_traced_and_nothing_is_lost(tmp_path: Path) -> None:
    template = """
template <int N> __global__ void weak(int* out KTRACE_PARAM) {{
  KTRACE_WAVE(t);
  KTRACE_MARK(t, "weak");
  out[threadIdx.x] = N;
}}
extern "C" __global__ void {own}(int* out KTRACE_PARAM) {{
  KTRACE_WAVE(t);
  KTRACE_MARK(t, "own");
  out[threadIdx.x] = 7;
}}
template __global__ void weak<7>(int* KTRACE_INSTANTIATION);
"""
    units = [
        (HEAD.format(unit=unit) + template.format(own=own)).replace(
            " KTRACE_INSTANTIATION", ", ktrace::sink"
        )
        for unit, own in (("a", "ka"), ("b", "kb"))
    ]

    linked = link_bitcode(tmp_path, *units)
    outcome = launch(linked, tmp_path, "ka", "kb", "_Z4weakILi7EEvPiN6ktrace4sinkE")

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n" * 3, "")
    assert names(outcome) == ["ka", "kb", "_Z4weakILi7EEvPiN6ktrace4sinkE"]
    assert outcome.status.losses == {}
