"""Each event exactly once and in order, in every control flow: what the software device records is
compared with a host model."""

import ctypes
from typing import Any

import numpy as np
import pytest

from device_api.build import HEADERS, INCLUDE, Built, build
from device_api.launch import Device, Traced
from device_api.model import MODELS, Either, agrees, told
from ktrace_cli.trace_file.layout import Kind
from support.compile_kernel import Compiler
from support.trace_buffer import Choice, Triple

N = 5
EVERY_WAVE = Choice()
WHOLE_BLOCK, PARTIAL_LAST_WAVE = (256, 1, 1), (200, 1, 1)
LONG_ENOUGH = 200  # sleeps of 8,128 cycles: past the limit of a span word
VARIANTS = [
    (),
    ("-DKTRACE_POLL_CLOCK",),
    ("-DKTRACE_INLINE_COLD",),
    ("-DKTRACE_NO_SCHED_BARRIER",),
    ("-DKTRACE_POLL_CLOCK", "-DKTRACE_INLINE_COLD"),
]


def _inputs() -> list[Any]:
    """Inputs for which arms are taken by no lane, one lane, some and all."""
    random = np.random.default_rng(7)
    threads = np.arange(256)
    chosen = [
        np.zeros(256),
        np.full(256, 255),
        np.full(256, 17),
        threads,
        np.where(threads == 70, 255, 0),
        np.where(threads % 64 == 0, 3, 2),
        np.where(threads % 64 == 63, 2, 3),
    ]
    for share in (0.01, 0.05, 0.3, 1.0):
        some = random.random(256) < share
        chosen.append(np.where(some, random.integers(0, 256, 256), random.integers(0, 256)))
    return [values.astype(np.int32) for values in chosen]


INPUTS = _inputs()
MIXED = INPUTS[-1]


def run(
    device: Device,
    built: Built,
    kernel: str,
    values: Any = MIXED,
    *,
    n: int = N,
    block: Triple = WHOLE_BLOCK,
    choice: Choice | None = EVERY_WAVE,
) -> Traced:
    arguments = [np.zeros(256, np.int32), values, ctypes.c_uint(n)]
    return device.trace(built.path, kernel, arguments, block=block, choice=choice)


def disagreement(traced: Traced, built: Built, kernel: str, values: Any, n: int, items: int) -> str:
    """Say where the model and the recording differ; empty if nowhere."""
    for slot, wave in enumerate(traced.waves):
        threads = np.arange(64) + 64 * (slot % 4)
        threads = threads[threads < items]
        story = MODELS[kernel](threads, values[threads], n)
        recorded = told(wave, built.names, built.unit) if wave else []
        if not agrees(story, recorded) or (wave is None) != (not story):
            return f"slot {slot}: wanted {story}\nrecorded {recorded}"
    return ""


@pytest.mark.parametrize("options", VARIANTS, ids=lambda o: "+".join(o)[9:] or "default")
@pytest.mark.parametrize("kernel", MODELS)
def test_each_event_is_recorded_once_and_in_order(
    device: Device, compiler: Compiler, patterns: str, kernel: str, options: tuple[str, ...]
) -> None:
    built = build(compiler, patterns, *options)
    n = LONG_ENOUGH if kernel == "long_spans" else N

    for values in INPUTS if not options else INPUTS[3:4]:
        for block in (WHOLE_BLOCK, PARTIAL_LAST_WAVE) if n == N else (WHOLE_BLOCK,):
            traced = run(device, built, kernel, values, n=n, block=block)

            assert not disagreement(traced, built, kernel, values, n, block[0])


@pytest.mark.parametrize("kernel", MODELS)
def test_results_are_those_of_the_unannotated_kernel(
    device: Device, compiler: Compiler, patterns: str, kernel: str
) -> None:
    built = build(compiler, patterns)
    plain = Built(compiler.hip(patterns, "-O3", includes=[INCLUDE]), {}, 0)

    for values in INPUTS[3:5]:
        wanted = run(device, plain, kernel, values, choice=None).outputs[0]

        assert (run(device, built, kernel, values).outputs[0] == wanted).all()
        assert (run(device, built, kernel, values, choice=None).outputs[0] == wanted).all()


@pytest.mark.parametrize("kernel", MODELS)
def test_every_clock_lies_within_its_wave_and_never_runs_back(
    device: Device, compiler: Compiler, patterns: str, kernel: str
) -> None:
    traced = run(device, build(compiler, patterns), kernel)

    for wave in traced.waves:
        if wave:
            begin, end = int(wave.header["memtime_begin"]), int(wave.header["memtime_end"])
            for stream in (wave.main, [e for e in wave.side if e.kind != Kind.LONG_BEGIN]):
                clocks = [(event.clock - begin) % 2**32 for event in stream]
                assert clocks == sorted(clocks)
                assert not clocks or clocks[-1] <= end - begin


def test_uniform_code_never_uses_the_side_stream(
    device: Device, compiler: Compiler, patterns: str
) -> None:
    built = build(compiler, patterns)

    for kernel in ("nested_loops", "wave_specialised", "tokens"):
        for wave in run(device, built, kernel).waves:
            assert wave
            assert not wave.side


def test_only_events_of_some_lanes_use_the_side_stream(
    device: Device, compiler: Compiler, patterns: str
) -> None:
    traced = run(device, build(compiler, patterns), "odd_lanes", INPUTS[3])

    for wave in traced.waves:
        assert wave
        assert [len(wave.main), len(wave.side)] == [2, 1]


def test_a_wave_whose_lanes_returned_goes_on_in_the_side_stream(
    device: Device, compiler: Compiler, patterns: str
) -> None:
    traced = run(device, build(compiler, patterns), "return_after", INPUTS[3])

    for wave in traced.waves:
        assert wave
        assert [len(wave.main), len(wave.side)] == [1, 1 + N]
        assert int(wave.header["exec_begin"]) == 0xFFFFFFFFFFFFFFFF
        assert int(wave.header["exec_end"]) == 0xFFFFFFFFFFFFFFFF  # they meet again to end it


def test_a_wave_that_lost_lanes_before_it_began_is_whole(
    device: Device, compiler: Compiler, patterns: str
) -> None:
    traced = run(device, build(compiler, patterns), "return_before", INPUTS[3])

    for wave in traced.waves:
        assert wave
        assert not wave.side
        assert int(wave.header["exec_begin"]) == 0x5555555555555555


def test_events_of_a_noinline_function_name_their_unit(
    device: Device, compiler: Compiler, patterns: str
) -> None:
    built = build(compiler, patterns)
    without_id = (Kind.POP, Kind.PHASE_END, Kind.STOP)

    wave = run(device, built, "noinline_function").waves[0]

    assert wave
    assert wave.side
    assert {e.unit for e in wave.side if e.kind not in without_id} == {built.unit}
    assert {e.unit for e in wave.main} == {None}


def test_a_range_past_the_limit_is_two_words(
    device: Device, compiler: Compiler, patterns: str
) -> None:
    built = build(compiler, patterns)
    name = {ident: name for (_, ident), name in built.names.items()}

    wave = run(device, built, "long_spans", INPUTS[3], n=LONG_ENOUGH).waves[0]

    assert wave
    main = [(e.kind, name.get(e.id)) for e in wave.main]
    side = [(e.kind, name.get(e.id)) for e in wave.side]
    assert main[:3] == [
        (Kind.RANGE, "short"), (Kind.LONG_END, "long"), (Kind.RANGE, "around"),
    ]  # fmt: skip
    assert side == [(Kind.LONG_BEGIN, "long"), (Kind.LONG_BEGIN, "odd"), (Kind.LONG_END, "odd")]
    assert wave.main[1].clock - wave.side[0].clock >= 1 << 20
    assert wave.side[2].clock - wave.side[1].clock < 1 << 20


UNBRACED = (
    HEADERS
    + """
extern "C" __global__ void unbraced(int* out, const int* in, unsigned n KTRACE_PARAM) {
  KTRACE_WAVE(t);
  int sum = 0;
  for (unsigned i = 0; i < n; ++i) {
    if (i == 1) KTRACE_RANGE(t, "one", i);
    if (i == 2)
      KTRACE_RANGE(t, "two", i);
    else
      KTRACE_MARK(t, "not two", i);
    if (in[threadIdx.x] & 1) KTRACE_RANGE(t, "some lanes", i);
    sum += in[(threadIdx.x + i) & 255];
  }
  for (unsigned i = 0; i < 2; ++i) KTRACE_RANGE(t, "trip", i);
  out[threadIdx.x] = sum;
}
"""
)


def test_a_range_without_braces_belongs_to_its_branch_and_ends_there(
    device: Device, compiler: Compiler
) -> None:
    built = build(compiler, UNBRACED)

    none, some = (run(device, built, "unbraced", INPUTS[i], n=3).waves[0] for i in (0, 3))

    assert none
    assert some
    assert told(none, built.names, built.unit) == [
        *("mark not two 0", "range one 1", "mark not two 1", "range two 2"),
        *("range trip 0", "range trip 1"),
    ]
    assert told(some, built.names, built.unit) == [
        *("mark not two 0", "range some lanes 0"),
        *("range one 1", "mark not two 1", "range some lanes 1"),
        *("range two 2", "range some lanes 2"),
        *("range trip 0", "range trip 1"),
    ]


def test_an_anchor_holds_both_clocks(device: Device, compiler: Compiler, patterns: str) -> None:
    wave = run(device, build(compiler, patterns), "payloads").waves[0]

    assert wave
    (anchor,) = [event for event in wave.main if event.kind == Kind.ANCHOR]
    memtime = anchor.id << 32 | anchor.clock
    assert wave.header["memtime_begin"] < memtime < wave.header["memtime_end"]
    (realtime,) = anchor.values
    assert wave.header["realtime_begin"] <= realtime <= wave.header["realtime_end"]


def test_payloads_have_the_type_of_their_argument(
    device: Device, compiler: Compiler, patterns: str
) -> None:
    built = build(compiler, patterns)
    wave = run(device, built, "payloads", n=3).waves[0]

    assert wave
    values = {built.names[built.unit, e.id]: e.values for e in wave.main if e.kind == Kind.MARK}
    assert [type(value) for value in values["bool"]] == [bool, bool]
    assert values["small"] == (-3, 200, -300, 60000, 97)
    assert values["int"] == (-5, 0x80000000)
    assert values["long"] == (-9, 0x123456789ABCDEF3, -7, 8)
    assert values["float"] == (0.75, -0.5)
    assert values["double"] == (0.25, 1e300)


def test_the_model_refuses_what_is_wrong() -> None:
    arms = Either((("a",), ("b", "c")))

    assert agrees(["x", arms, "y"], ["x", "b", "c", "a", "y"])
    assert not agrees(["x", arms, "y"], ["x", "b", "a", "c", "y"])
    assert not agrees(["x", arms, "y"], ["x", "a", "y"])
    assert not agrees(["x"], ["x", "x"])
    assert not agrees(["x"], [])
