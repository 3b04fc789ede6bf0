"""Which waves are recorded and where: headers, slots, filters, claims, full regions."""

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from device_api.build import Built, build
from device_api.launch import Device, Traced
from ktrace_cli.trace_file.layout import Kind, Mode
from support.compile_kernel import Compiler
from support.trace_buffer import FIRST_WORD, Choice, Triple

GRID, BLOCK = (4, 3, 2), (32, 4, 2)  # 24 blocks of 4 waves


def run(
    device: Device,
    built: Built,
    kernel: str,
    choice: Choice | None,
    *,
    grid: Triple = (2, 1, 1),
    block: Triple = (256, 1, 1),
    n: int = 5,
) -> Traced:
    values = np.arange(256, dtype=np.int32)
    arguments = [np.zeros(256, np.int32), values, ctypes.c_uint(n)]
    return device.trace(built.path, kernel, arguments, grid=grid, block=block, choice=choice)


def test_headers_say_which_wave_it_was(device: Device, compiler: Compiler, patterns: str) -> None:
    traced = run(device, build(compiler, patterns), "where", Choice(), grid=GRID, block=BLOCK)

    for slot, wave in enumerate(traced.waves):
        assert wave
        block, number = divmod(slot, 4)
        z, rest = divmod(block, 12)
        y, x = divmod(rest, 4)
        assert tuple(wave.header["block"]) == (x, y, z)
        assert wave.header["wave"] == number
        assert wave.header["dispatch"] == 77
        assert wave.header["exec_begin"] == wave.header["exec_end"] == 0xFFFFFFFFFFFFFFFF
        assert wave.header["hw_id_begin"] == wave.header["hw_id_end"]
        assert wave.header["xcc_id_begin"] == wave.header["xcc_id_end"]
        assert wave.header["memtime_begin"] < wave.header["memtime_end"]
        assert wave.header["realtime_begin"] <= wave.header["realtime_end"]


def test_waves_on_one_xcc_are_told_from_others(
    device: Device, compiler: Compiler, patterns: str
) -> None:
    traced = run(device, build(compiler, patterns), "where", Choice(), grid=(16, 1, 1))

    numbers = {int(w.header["xcc_id_begin"]) for w in traced.waves if w}
    assert numbers == {0} if compiler.target == "gfx90a" else len(numbers) > 1


def test_a_partial_last_wave_begins_with_its_lanes(
    device: Device, compiler: Compiler, patterns: str
) -> None:
    traced = run(device, build(compiler, patterns), "where", Choice(), block=(200, 1, 1))

    lanes = [int(w.header["exec_begin"]) for w in traced.waves if w]
    assert lanes == [2**64 - 1, 2**64 - 1, 2**64 - 1, 0xFF] * 2


def slots_of(blocks: Any, waves: Any = range(4)) -> list[int]:
    """Slots of some blocks, given as (x, y, z) in GRID."""
    return sorted((x + 4 * (y + 3 * z)) * 4 + w for x, y, z in blocks for w in waves)


EVERY_BLOCK = [(x, y, z) for z in range(2) for y in range(3) for x in range(4)]


@pytest.mark.parametrize(
    ("choice", "slots"),
    [
        (Choice(block_lo=(1, 0, 0), block_hi=(3, 1, 1)), slots_of([(1, 0, 0), (2, 0, 0)])),
        (Choice(block_lo=(3, 2, 1)), slots_of([(3, 2, 1)])),
        (Choice(block_hi=(0, 9, 9)), []),
        (Choice(block_lo=(2, 0, 0), block_hi=(1, 9, 9)), []),
        (
            Choice(block_stride_mask=(1, 0, 0)),
            slots_of([b for b in EVERY_BLOCK if b[0] in (0, 2)]),
        ),
        (
            Choice(block_lo=(1, 0, 0), block_stride_mask=(1, 1, 1)),
            slots_of([(1, 0, 0), (3, 0, 0), (1, 2, 0), (3, 2, 0)]),
        ),
        (Choice(wave_mask=0b1010), slots_of(EVERY_BLOCK, [1, 3])),
        (Choice(wave_mask=0), []),
        (Choice(wave_slots=7), [0, 1, 2, 3, 4, 5, 6]),
        (Choice(magic=0), []),
        (Choice(abi_version=2), []),
        (Choice(xcc_mask=0), []),
    ],
    ids=str,
)
def test_filters_choose_waves(
    device: Device, compiler: Compiler, patterns: str, choice: Choice, slots: list[int]
) -> None:
    choice = replace(choice, region_log2=9)
    traced = run(device, build(compiler, patterns), "where", choice, grid=GRID, block=BLOCK)

    assert [slot for slot, wave in enumerate(traced.waves) if wave] == slots


def test_waves_past_the_31st_share_a_filter_bit(
    device: Device, compiler: Compiler, patterns: str
) -> None:
    """No workgroup has more than 16 waves of 64, so bit 31 matches nothing there."""
    built = build(compiler, patterns)
    recorded = [
        [slot for slot, wave in enumerate(run(device, built, "where", choice).waves) if wave]
        for choice in (Choice(wave_mask=1 << 31), Choice(wave_mask=1 << 3))
    ]

    assert recorded == [[], [3, 7]]


def test_the_xcc_filter_chooses_by_the_hardware_register(
    device: Device, compiler: Compiler, patterns: str
) -> None:
    built = build(compiler, patterns)
    everywhere = run(device, built, "where", Choice(), grid=(16, 1, 1))
    xcc = [int(w.header["xcc_id_begin"]) for w in everywhere.waves if w]
    chosen = xcc[0]

    traced = run(device, built, "where", Choice(xcc_mask=1 << chosen), grid=(16, 1, 1))

    wanted = [slot for slot, number in enumerate(xcc) if number == chosen]
    assert [slot for slot, wave in enumerate(traced.waves) if wave] == wanted


def test_claiming_waves_fill_the_slots_and_all_are_counted(
    device: Device, compiler: Compiler, patterns: str
) -> None:
    choice = Choice(mode=Mode.CLAIM, wave_slots=30)
    traced = run(device, build(compiler, patterns), "where", choice, grid=GRID, block=BLOCK)

    assert traced.claimed == 96
    recorded = [wave for wave in traced.waves if wave]
    assert [slot for slot, wave in enumerate(traced.waves) if wave] == list(range(30))
    identities = {(*map(int, w.header["block"]), int(w.header["wave"])) for w in recorded}
    assert len(identities) == 30


def test_only_waves_that_pass_the_filters_claim(
    device: Device, compiler: Compiler, patterns: str
) -> None:
    choice = Choice(mode=Mode.CLAIM, wave_mask=0b0001, block_hi=(2, 9, 9))
    traced = run(device, build(compiler, patterns), "where", choice, grid=GRID, block=BLOCK)

    recorded = [wave for wave in traced.waves if wave]
    assert traced.claimed == len(recorded) == 12
    assert {int(wave.header["wave"]) for wave in recorded} == {0}


def test_a_wave_of_some_lanes_claims_once(
    device: Device, compiler: Compiler, patterns: str
) -> None:
    choice = Choice(mode=Mode.CLAIM)
    traced = run(device, build(compiler, patterns), "return_before", choice)

    assert traced.claimed == 8
    assert {int(w.header["exec_begin"]) for w in traced.waves if w} == {0x5555555555555555}


def test_a_null_sink_records_nothing_and_changes_nothing(
    device: Device, compiler: Compiler, patterns: str
) -> None:
    built = build(compiler, patterns)

    without = run(device, built, "both_arms", None)

    assert (without.outputs[0] == run(device, built, "both_arms", Choice()).outputs[0]).all()


def test_a_kernel_may_have_no_argument_but_the_sink(
    device: Device, compiler: Compiler, patterns: str
) -> None:
    traced = device.trace(build(compiler, patterns).path, "only_the_sink", [])

    assert [[e.kind for e in w.main] for w in traced.waves if w] == [[Kind.MARK]] * 8


def tags(traced: Traced, slot: int) -> list[int]:
    return list(np.frombuffer(traced.regions[slot], np.uint32)[1::2])[FIRST_WORD:]


def test_a_full_region_keeps_the_oldest_words_and_counts_the_rest(
    device: Device, compiler: Compiler, patterns: str
) -> None:
    built = build(compiler, patterns)
    whole = run(device, built, "nested_loops", Choice())

    small = run(device, built, "nested_loops", Choice(region_log2=8))

    for slot, wave in enumerate(small.waves):
        assert wave
        assert wave.main_attempted == 42  # 21 marks with a payload
        assert (wave.capacity, wave.lost) == (16, 26)
        assert tags(small, slot) == tags(whole, slot)[:16]


@pytest.mark.parametrize("kernel", ["both_arms", "noinline_function"])
@pytest.mark.parametrize("region_log2", [8, 9, 10])
def test_where_both_streams_meet_each_lost_word_is_counted(
    device: Device, compiler: Compiler, patterns: str, kernel: str, region_log2: int
) -> None:
    built = build(compiler, patterns)
    whole = run(device, built, kernel, Choice())

    small = run(device, built, kernel, Choice(region_log2=region_log2))

    for slot, (wave, complete) in enumerate(zip(small.waves, whole.waves, strict=True)):
        assert wave
        assert complete
        assert complete.lost == 0
        assert wave.main_attempted == complete.main_attempted
        assert wave.side_attempted == complete.side_attempted
        kept = tags(small, slot)
        main = min(wave.main_attempted, wave.capacity)
        side = min(wave.side_attempted, wave.capacity - main)
        assert wave.lost == wave.main_attempted + wave.side_attempted - main - side
        assert kept[:main] == tags(whole, slot)[:main], "no side word overwrote a main word"
        if side:
            # A token is a word number: a STOP in the side stream differs by where its START is.
            assert _without_stops(kept[-side:]) == _without_stops(tags(whole, slot)[-side:])


def _without_stops(words: list[int]) -> list[int]:
    return [int(Kind.STOP) << 27 if word >> 27 == Kind.STOP else word for word in words]


def test_a_token_whose_start_was_dropped_names_no_word(
    device: Device, compiler: Compiler, patterns: str
) -> None:
    built = build(compiler, patterns)

    wave = run(device, built, "noinline_function", Choice(region_log2=9)).waves[0]

    assert wave
    assert wave.lost > 0
    starts = {event.number for event in wave.side if event.kind == Kind.START}
    stops = [event.id for event in wave.side if event.kind == Kind.STOP]
    assert all(number in starts or number >= 64 for number in stops)
