"""FlyDSL's buffer: every event where it belongs, and all that its own decoder rejects."""

import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

from ktrace_cli.errors import UsageError
from ktrace_cli.foreign.flydsl.layout import whole_layout
from ktrace_cli.foreign.shape import Shape
from ktrace_cli.foreign.source import Source, Tool, read_foreign
from ktrace_cli.model import SliceFlag, WaveFlag
from ktrace_cli.timeline.cycles import in_cycles
from ktrace_cli.trace_file.layout import ValueType
from support.foreign.flydsl_buffer import (
    BOOL,
    F32,
    F64,
    I64,
    MARK,
    POP,
    PUSH,
    START,
    STOP,
    U64,
    FlyWave,
    bare_buffer,
    whole_buffer,
)
from support.foreign.reading import marks, read, slices, told_apart, values

T = 201_726_513_344_206  # ticks of 10 ns, weeks after boot
NAMES = {"mainloop": 1, "k_tile": 2, "m": 3}
SIZE = 1 << 20


def nested() -> FlyWave:
    wave = FlyWave().event(T, PUSH, 1)
    for k in range(3):
        wave.event(T + 10 + 20 * k, PUSH, 2, (U64, k)).event(T + 28 + 20 * k, POP)
    return wave.event(T + 100, MARK, 3).event(T + 200, POP)


def test_nested_ranges_payloads_and_marks_are_read(tmp_path: Path) -> None:
    found = read(tmp_path, bare_buffer([nested()]), Tool.FLYDSL, NAMES).timeline

    assert slices(found) == [
        (0, "mainloop", 0, 2000, 0, "", 0),
        (0, "k_tile", 100, 180, 1, "", 0),
        (0, "k_tile", 300, 180, 1, "", 0),
        (0, "k_tile", 500, 180, 1, "", 0),
    ]
    assert [values(found, row) for row in found.slices[1:]] == [[(5, 0)], [(5, 1)], [(5, 2)]]
    assert found.slices["parent"].tolist() == [-1, 0, 0, 0]
    assert marks(found) == [(0, "m", 1000)]
    assert found.zero_ns == T * 10
    assert found.losses.counted() == {}


@pytest.mark.parametrize(
    ("size", "partitions", "front", "slots", "regions"),
    [
        (4096, 1, 16, 112, 1),
        (1 << 20, 1, 16, 32_752, 128),
        (4 << 20, 4, 40, 131_032, 512),
        (64 << 20, 64, 520, 2_096_632, 8190),
        (256 << 20, 256, 2056, 8_386_552, 32_760),
        (2 << 30, 256, 2056, 67_106_808, 262_136),
    ],
)
def test_the_layout_follows_from_the_size(
    size: int, partitions: int, front: int, slots: int, regions: int
) -> None:
    found = whole_layout(size)

    assert (found.partitions, found.header_slots, found.slots) == (partitions, front, slots)
    assert found.regions == regions


def test_a_whole_buffer_tells_places_launches_and_streams(tmp_path: Path) -> None:
    def wave(block: int, dispatch: int, queue: int, ts: int) -> FlyWave:
        # Wave slot 3, SIMD 2, CU 5, SH 1, SE 2.
        hw_id = 3 | 2 << 4 | 5 << 8 | 1 << 12 | 2 << 13
        made = FlyWave((block, 2, 1), 1, dispatch, queue, xcc=6, hw_id=hw_id)
        return made.event(ts, PUSH, 1).event(ts + 5, POP)

    waves = {
        (0, 0): wave(0, 9, 0x7000, T + 100),
        (1, 0): wave(0, 4, 0x7F00, T),
        (1, 1): wave(1, 4, 0x7F00, T + 1),
    }
    content = whole_buffer(4 << 20, waves, {0: 1, 1: 2}, launches=3)

    assert told_apart(tmp_path, content) is Tool.FLYDSL
    read_ = read(tmp_path, content, Tool.FLYDSL, NAMES)
    found = read_.timeline
    assert found.waves["dispatch"].tolist() == [0, 0, 1]
    assert found.waves["block"].tolist() == [[0, 2, 1], [1, 2, 1], [0, 2, 1]]
    for name, value in (("wave", 1), ("xcc", 6), ("se", 2), ("cu", 21), ("simd", 2)):
        assert found.waves[name].tolist() == [value] * 3
    assert found.waves["hardware_slot"].tolist() == [3] * 3
    assert found.dispatches["stream"].tolist() == [1, 0]
    assert found.dispatches["begin_ns"].tolist() == [T * 10, T * 10 + 1000]
    assert found.launches == 3
    assert any("3 launches of instrumented kernels counted, 2 of them" in n for n in read_.notes)
    assert found.losses.counted() == {}


def test_launches_are_of_the_kernel_that_has_their_events(tmp_path: Path) -> None:
    waves = [
        FlyWave(dispatch=1).event(T, PUSH, 1).event(T + 2, POP),
        FlyWave(dispatch=2).event(T + 10, PUSH, 2).event(T + 12, POP),
        FlyWave(dispatch=3).event(T + 20, PUSH, 3).event(T + 22, POP),
    ]
    cache = tmp_path / "cache"
    cache.mkdir()
    # Both may have launched the third one.
    for kernel, names in (("add", {"load": 1, "both": 3}), ("gemm", {"mma": 2, "both": 3})):
        state = {"entry": kernel, "ktrace_names": names}
        (cache / f"{kernel}.pkl").write_bytes(pickle.dumps(state))
    path = tmp_path / "b.bin"
    path.write_bytes(bare_buffer(waves))

    found = read_foreign(path, Tool.FLYDSL, Source(Tool.FLYDSL, [cache])).timeline

    kernels = [found.kernels[row].name for row in found.dispatches["kernel"]]
    assert kernels == ["add", "gemm", "flydsl_kernel"]
    assert [name for _, name, *_ in slices(found)] == ["load", "mma", "both"]
    assert [found.events[row].kernel for row in found.slices["event"]] == [0, 1, 2]


def test_tokens_overlap_on_lanes_and_never_pair_across_waves(tmp_path: Path) -> None:
    wave = FlyWave()
    for at in range(3):
        wave.event(T + at, START, 1, (I64, (1 << 64) - 5))
    for at in range(3):
        wave.event(T + 10 + at, STOP, start=at)
    other = FlyWave(wave=1).event(T, START, 1).event(T + 4, STOP, start=0 - 256)

    found = read(tmp_path, bare_buffer([wave, other], 520), Tool.FLYDSL, NAMES).timeline

    assert slices(found) == [
        (0, "mainloop", 0, 100, 0, "mainloop", 0),
        (0, "mainloop", 10, 100, 0, "mainloop 2", 0),
        (0, "mainloop", 20, 100, 0, "mainloop 3", 0),
        (1, "mainloop", 0, 40, 0, "mainloop", SliceFlag.UNCLOSED),
    ]
    assert values(found, found.slices[0]) == [(ValueType.I64, (1 << 64) - 5)]
    assert found.losses.counted() == {"unclosed_slices": 1, "stray_ends": 1}


def test_payloads_keep_their_type_and_all_their_bits(tmp_path: Path) -> None:
    double = struct.unpack("<Q", struct.pack("<d", -0.1))[0]
    single = struct.unpack("<I", struct.pack("<f", 1.5))[0]
    payloads = [(U64, (1 << 64) - 1), (I64, 7), (F32, single), (F64, double), (BOOL, 1), (6, 99)]
    wave = FlyWave()
    for at, payload in enumerate(payloads):
        wave.event(T + at, MARK, 3, payload)

    found = read(tmp_path, bare_buffer([wave]), Tool.FLYDSL, NAMES).timeline

    assert [values(found, row) for row in found.instants] == [
        [(ValueType.U64, (1 << 64) - 1)],
        [(ValueType.I64, 7)],
        [(ValueType.F32, single)],
        [(ValueType.F64, double)],
        [(ValueType.BOOL, 1)],
        [(ValueType.U64, 99)],
    ]
    assert found.losses.counted() == {"unknown_payloads": 1}


def test_a_wave_past_its_budget_keeps_what_was_stored(tmp_path: Path) -> None:
    wave = FlyWave(attempted=300)
    for at in range(255):
        wave.event(T + at, POP if at % 2 else PUSH, 2)

    found = read(tmp_path, bare_buffer([wave, nested()]), Tool.FLYDSL, NAMES).timeline

    assert len(found.slices) == 128 + 4
    last = SliceFlag.UNCLOSED | SliceFlag.TRUNCATED
    assert found.slices["flags"][found.slices["wave"] == 0].tolist() == [0] * 127 + [last]
    assert found.waves["dropped"].tolist() == [45, 0]
    assert found.waves["flags"].tolist() == [WaveFlag.DROPPED, 0]
    assert found.losses.counted() == {
        "dropped_words": 45,
        "truncated_waves": 1,
        "unclosed_slices": 1,
    }


def test_waves_without_a_region_are_counted(tmp_path: Path) -> None:
    content = whole_buffer(SIZE, {(0, 0): nested()}, {0: 1}, launches=1)
    over = bytearray(content)
    struct.pack_into("<I", over, 256, 130)  # 128 fit, and one of them is there

    found = read(tmp_path, bytes(over), Tool.FLYDSL, NAMES).timeline

    assert len(found.slices) == 4
    assert found.losses.counted() == {"missing_waves": 2 + 127}


def test_a_wave_that_no_counter_knows_is_shown_and_counted(tmp_path: Path) -> None:
    content = whole_buffer(SIZE, {(0, 0): nested(), (0, 1): nested()}, {0: 1})

    found = read(tmp_path, content, Tool.FLYDSL, NAMES).timeline

    assert len(found.waves) == 2
    assert found.losses.counted() == {"unclaimed_waves": 1}


def test_the_last_region_may_be_short(tmp_path: Path) -> None:
    wave = FlyWave(attempted=112)
    for at in range(111):
        wave.event(T + at, MARK, 3)

    found = read(tmp_path, whole_buffer(4096, {(0, 0): wave}, {0: 1}), Tool.FLYDSL, NAMES).timeline

    assert len(found.instants) == 111
    assert found.losses.counted() == {"dropped_words": 1, "truncated_waves": 1}


def test_early_returns_close_at_the_last_record(tmp_path: Path) -> None:
    waves = [
        FlyWave(wave=0).event(T, PUSH, 1).event(T + 5, PUSH, 2),
        FlyWave(wave=1).event(T, POP).event(T + 5, MARK, 3),
        FlyWave(wave=2).event(T, PUSH, 1).event(T + 2, PUSH, 2).event(T + 4, POP),
    ]

    found = read(tmp_path, bare_buffer(waves), Tool.FLYDSL, NAMES).timeline

    assert slices(found) == [
        (0, "mainloop", 0, 50, 0, "", SliceFlag.UNCLOSED),
        (0, "k_tile", 50, 0, 1, "", SliceFlag.UNCLOSED),
        (2, "mainloop", 0, 40, 0, "", SliceFlag.UNCLOSED),
        (2, "k_tile", 20, 20, 1, "", 0),
    ]
    assert found.losses.counted() == {"unclosed_slices": 3, "stray_ends": 1}


def test_unknown_ids_and_kinds_are_shown_and_counted(tmp_path: Path) -> None:
    wave = FlyWave().event(T, PUSH, 77).event(T + 1, 6, 3).event(T + 5, POP)

    found = read(tmp_path, bare_buffer([wave]), Tool.FLYDSL, NAMES).timeline

    assert slices(found) == [(0, "event_77", 0, 50, 0, "", 0)]
    assert marks(found) == [(0, "m", 10)]
    assert found.losses.counted() == {"unknown_kinds": 1, "unnamed_events": 1}


def test_a_torn_wave_has_no_slice_at_time_0(tmp_path: Path) -> None:
    torn = FlyWave(attempted=6).event(T, PUSH, 1).event(0, MARK, 3, (U64, 5)).event(T + 9, POP)
    unwritten = FlyWave(wave=1, attempted=0)

    found = read(tmp_path, bare_buffer([torn, unwritten]), Tool.FLYDSL, NAMES).timeline

    assert slices(found) == [(0, "mainloop", 0, 90, 0, "", 0)]
    assert found.waves["begin_ns"].tolist() == [T * 10] * 2
    assert found.losses.counted() == {"unfinished_waves": 1, "unwritten_events": 4}


def test_a_wave_that_never_ended_keeps_its_events(tmp_path: Path) -> None:
    wave = FlyWave(attempted=0).event(T, PUSH, 1).event(T + 3, MARK, 3)

    found = read(tmp_path, bare_buffer([wave]), Tool.FLYDSL, NAMES).timeline

    assert slices(found) == [(0, "mainloop", 0, 30, 0, "", SliceFlag.UNCLOSED)]
    assert found.losses.counted() == {"unfinished_waves": 1, "unclosed_slices": 1}


def test_events_behind_those_counted_are_shown_and_counted(tmp_path: Path) -> None:
    wave = FlyWave(attempted=1).event(T, PUSH, 1).event(T + 3, POP)

    found = read(tmp_path, bare_buffer([wave]), Tool.FLYDSL, NAMES).timeline

    assert slices(found) == [(0, "mainloop", 0, 30, 0, "", 0)]
    assert found.losses.counted() == {"uncounted_events": 1}


@pytest.mark.parametrize("wrong", [1, T + (1 << 40), 1 << 63, (1 << 64) - 1])
def test_one_wrong_time_moves_no_other(tmp_path: Path, wrong: int) -> None:
    wave = FlyWave().event(T, PUSH, 1).event(wrong, MARK, 3).event(T + 9, POP)

    found = read(tmp_path, bare_buffer([wave]), Tool.FLYDSL, NAMES).timeline

    assert slices(found) == [(0, "mainloop", 0, 90, 0, "", 0)]
    assert [at for _, _, at in marks(found)] in ([0], [90])
    assert found.losses.counted() == {"clamped_words": 1}


def test_times_further_apart_than_32_bits_are_exact(tmp_path: Path) -> None:
    far = 5_000_000_000
    wave = FlyWave().event(T, PUSH, 1).event(T + far, MARK, 3).event(T + 2 * far + 1, POP)

    found = read(tmp_path, bare_buffer([wave]), Tool.FLYDSL, NAMES).timeline

    assert slices(found) == [(0, "mainloop", 0, 20 * far + 10, 0, "", 0)]
    assert marks(found) == [(0, "m", 10 * far)]
    assert found.losses.counted() == {}


def test_a_wave_that_moves_is_counted(tmp_path: Path) -> None:
    content = bytearray(bare_buffer([nested()]))
    struct.pack_into("<I", content, 3 * 32 + 20, 5)  # XCC_ID of the third event

    found = read(tmp_path, bytes(content), Tool.FLYDSL, NAMES).timeline

    assert found.losses.counted() == {"moved_waves": 1}


def test_the_begin_of_a_buffer_needs_its_size(tmp_path: Path) -> None:
    waves = {(p, 0): FlyWave(wave=p).event(T, START, 1).event(T + 3, STOP, start=0)
             for p in range(4)}  # fmt: skip
    whole = whole_buffer(4 << 20, waves, dict.fromkeys(range(4), 1))
    begin = whole[: 40 * 32 + 4 * 8192]

    told = read(tmp_path, begin, Tool.FLYDSL, NAMES, Shape(bytes=4 << 20))
    untold = read(tmp_path, begin, Tool.FLYDSL, NAMES)

    for found in (told, untold):
        assert len(found.timeline.slices) == 4
        assert found.timeline.losses.counted() == {}
        assert "the begin of a buffer" in found.notes[0]


def test_cycles_are_refused_with_the_reason(tmp_path: Path) -> None:
    found = read(tmp_path, bare_buffer([nested()]), Tool.FLYDSL, NAMES).timeline

    with pytest.raises(UsageError) as refused:
        in_cycles(found)

    assert refused.value.why == (
        "FlyDSL records the 100 MHz reference clock only, not the core clock"
    )


@pytest.mark.parametrize(
    "content",
    [bytes(8192), bytes(range(256)) * 64, b"\x01" * 8192, b"RIFF" + bytes(9000)],
    ids=["zeros", "counting", "ones", "riff"],
)
def test_other_bytes_are_not_taken_for_a_buffer(tmp_path: Path, content: bytes) -> None:
    assert told_apart(tmp_path, content) is None


def test_an_empty_buffer_is_read_when_asked_for(tmp_path: Path) -> None:
    found = read(tmp_path, bytes(SIZE), Tool.FLYDSL, NAMES).timeline

    assert (len(found.waves), len(found.dispatches)) == (0, 0)
    assert found.losses.counted() == {}


def test_parts_come_by_wave_and_can_be_asked_for(tmp_path: Path) -> None:
    waves = []
    for number in range(600):
        wave = FlyWave((number, 0, 0))
        for at in range(255):
            wave.event(T + number + at, MARK, 3, (U64, at))
        waves.append(wave)
    found = read(tmp_path, bare_buffer(waves), Tool.FLYDSL, NAMES).timeline

    parts = list(found.parts())
    some = list(found.source(np.arange(600) == 599))

    assert len(parts) > 1
    assert sum(len(part.instants) for part in parts) == 600 * 255
    assert [int(part.wave_rows[-1]) for part in some] == [599]
