"""What a launch may ask of its waves: words in memory at once, or a full region's last words."""

import ctypes
from typing import Any

import numpy as np
import pytest

from device_api.build import HEADERS, Built, build
from device_api.launch import Device, Traced
from device_api.model import MODELS, agrees, told
from device_api.notes import KERNEL, read_notes
from ktrace_cli.trace_file.layout import ControlFlag, KernelFlag, Kind
from support.compile_kernel import Compiler
from support.trace_buffer import Choice

N = 5
EAGER = Choice(flags=ControlFlag.EAGER)
RING = Choice(flags=ControlFlag.RING)
MIXED = np.random.default_rng(11).integers(0, 256, 256).astype(np.int32)
ALL_LANES = 2**64 - 1
VARIANTS = [(), ("-DKTRACE_POLL_CLOCK",), ("-DKTRACE_INLINE_COLD",), ("-DKTRACE_RING",)]


def run(
    device: Device, built: Built, kernel: str, choice: Choice, values: Any = MIXED, n: int = N
) -> Traced:
    arguments = [np.zeros(256, np.int32), values, ctypes.c_uint(n)]
    return device.trace(built.path, kernel, arguments, block=(256, 1, 1), choice=choice)


def disagreement(traced: Traced, built: Built, kernel: str, values: Any, n: int = N) -> str:
    for slot, wave in enumerate(traced.waves):
        threads = np.arange(64) + 64 * (slot % 4)
        story = MODELS[kernel](threads, values[threads], n)
        recorded = told(wave, built.names, built.unit) if wave else []
        if not agrees(story, recorded):
            return f"slot {slot}: wanted {story}\nrecorded {recorded}"
    return ""


@pytest.mark.parametrize("options", VARIANTS, ids=lambda o: "+".join(o)[9:] or "default")
@pytest.mark.parametrize("kernel", MODELS)
def test_an_eager_wave_records_the_same_events_in_the_side_stream(
    device: Device, compiler: Compiler, patterns: str, kernel: str, options: tuple[str, ...]
) -> None:
    built = build(compiler, patterns, *options)

    traced = run(device, built, kernel, EAGER)

    assert not disagreement(traced, built, kernel, MIXED)
    assert not any(wave.main for wave in traced.waves if wave)


def test_the_header_of_an_eager_wave_has_its_real_lanes(
    device: Device, compiler: Compiler, patterns: str
) -> None:
    traced = run(device, build(compiler, patterns), "where", EAGER)

    for wave in traced.waves:
        assert wave
        assert wave.header["exec_begin"] == wave.header["exec_end"] == ALL_LANES


@pytest.mark.parametrize("kernel", MODELS)
def test_eager_results_are_those_of_the_lazy_kernel(
    device: Device, compiler: Compiler, patterns: str, kernel: str
) -> None:
    built = build(compiler, patterns)

    eager, lazy = (run(device, built, kernel, choice).outputs[0] for choice in (EAGER, Choice()))

    assert (eager == lazy).all()


def test_the_note_of_a_kernel_says_that_it_can_keep_the_last_words(
    compiler: Compiler, patterns: str
) -> None:
    flags = {
        options: {
            n.flags
            for n in read_notes(build(compiler, patterns, *options).path)
            if n.type == KERNEL
        }
        for options in ((), ("-DKTRACE_RING",))
    }

    assert flags == {
        (): {KernelFlag.PLACEHOLDER},
        ("-DKTRACE_RING",): {KernelFlag.PLACEHOLDER | KernelFlag.RING},
    }


@pytest.mark.parametrize("choice", [Choice(), RING], ids=["saturate", "ring"])
@pytest.mark.parametrize("kernel", MODELS)
def test_a_ring_that_is_not_full_has_every_event_in_order(
    device: Device, compiler: Compiler, patterns: str, kernel: str, choice: Choice
) -> None:
    built = build(compiler, patterns, "-DKTRACE_RING")

    traced = run(device, built, kernel, choice)

    assert not disagreement(traced, built, kernel, MIXED)


COUNTING = (
    HEADERS
    + """
extern "C" __global__ void k(int* out, const int* in, unsigned n KTRACE_PARAM) {
  KTRACE_WAVE(t);
  if (in[threadIdx.x] & 1) { KTRACE_MARK(t, "odd"); }
  for (unsigned i = 0; i < n; ++i) { KTRACE_MARK(t, "i", i); }
  KTRACE_TOKEN(open);
  KTRACE_START(t, open, "open");
  KTRACE_MARK(t, "between");
  if (in[threadIdx.x] & 1) { KTRACE_MARK(t, "odd"); }
  KTRACE_STOP(t, open);
  out[0] = 1;
}
"""
)


@pytest.mark.parametrize("n", [0, 1, 14, 15, 16, 100])
def test_a_full_ring_keeps_the_last_words_and_all_side_words(
    device: Device, compiler: Compiler, n: int
) -> None:
    built = build(compiler, COUNTING, "-DKTRACE_RING")
    choice = Choice(flags=ControlFlag.RING, region_log2=9)  # 32 words of ring, 16 of side words

    traced = run(device, built, "k", choice, n=n)

    for wave in traced.waves:
        assert wave
        assert wave.main_attempted == 2 * n + 3
        words = [f"mark i {i}" for i in range(n)] + ["start open", "mark between", "stop open"]
        kept = (32 - 3) // 2 + 3  # a mark with its payload takes two words
        main = [e for e in wave.main if e.kind in (Kind.MARK, Kind.START, Kind.STOP)]
        assert len(main) == min(len(words), kept + (n > 14))
        assert [e.values for e in main if e.values] == [(i,) for i in range(n - min(n, 14), n)]
        assert [(e.kind, e.is_side) for e in wave.side] == [(Kind.MARK, True)] * 2
        start, stop = main[-3], main[-1]
        assert (start.kind, stop.kind) == (Kind.START, Kind.STOP)
        assert stop.id == start.number == 32 + 2 * n  # counted on, past the region's end


def test_side_words_never_reach_the_header_of_a_ring(device: Device, compiler: Compiler) -> None:
    source = COUNTING.replace(
        '{ KTRACE_MARK(t, "i", i); }', '{ if (in[threadIdx.x] & 1) { KTRACE_MARK(t, "i", i); } }'
    )
    built = build(compiler, source, "-DKTRACE_RING")
    choice = Choice(flags=ControlFlag.RING, region_log2=9)

    traced = run(device, built, "k", choice, n=50)

    for wave in traced.waves:
        assert wave
        assert (wave.main_attempted, wave.side_attempted) == (3, 102)
        assert len(wave.main) == 3
        assert [e.values for e in wave.side] == [(), *((i,) for i in range(7))]  # the oldest
        assert wave.header["exec_begin"] == ALL_LANES


FUNCTION = (
    HEADERS
    + """
__device__ __noinline__ void helper(int x KTRACE_FN_PARAM(t)) { KTRACE_MARK(t, "helper", x); }
extern "C" __global__ void k(int* out, const int* in, unsigned n KTRACE_PARAM) {
  KTRACE_WAVE(t);
  for (unsigned i = 0; i < n; ++i) { KTRACE_MARK(t, "i", i); }
  helper(in[0] KTRACE_FN_ARG(t));
  out[0] = 1;
}
"""
)


def test_a_function_that_is_not_inlined_finds_room_beside_a_full_ring(
    device: Device, compiler: Compiler
) -> None:
    built = build(compiler, FUNCTION, "-DKTRACE_RING")

    traced = run(device, built, "k", Choice(flags=ControlFlag.RING, region_log2=9), n=40)

    for wave in traced.waves:
        assert wave
        (event,) = wave.side
        assert (event.kind, event.values) == (Kind.MARK, (int(MIXED[0]),))
