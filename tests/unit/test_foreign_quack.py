"""QuACK's buffer: calibrated times, rings, and what 16 bits of a block do not tell."""

import struct
from pathlib import Path

import pytest

from ktrace_cli.errors import UsageError
from ktrace_cli.foreign.shape import Shape
from ktrace_cli.foreign.source import Tool
from ktrace_cli.model import SliceFlag, WaveFlag
from ktrace_cli.timeline.cycles import in_cycles
from support.foreign.quack_buffer import BEGIN, END, MARK, QuackWarp, quack_buffer
from support.foreign.reading import marks, read, slices, told_apart

NAMES = {"load": 0, "mma": 1, "store": 2}
C = 5_000_000


def warp(*events: tuple[int, int, int], **told: int) -> QuackWarp:
    return QuackWarp(events=[(C + at, region, type_) for at, region, type_ in events], **told)


def test_times_follow_from_both_clocks_of_each_warp(tmp_path: Path) -> None:
    # 4,000 cycles in 2,000 ns, and in 8,000 ns.
    recorded = {
        (0, 0): warp((400, 0, BEGIN), (800, 1, MARK), (1000, 0, END), sm=17),
        (1, 1): warp((400, 1, BEGIN), (1000, 1, END), final_ns=1_008_000, sm=131),
    }
    content = quack_buffer(2, 2, 16, recorded)

    found = read(tmp_path, content, Tool.QUACK, NAMES)

    assert slices(found.timeline) == [
        (0, "load", 200, 300, 0, "", 0),
        (1, "mma", 800, 1200, 0, "", 0),
    ]
    assert marks(found.timeline) == [(0, "mma", 400)]
    assert found.timeline.waves["block"].tolist() == [[0, 0, 0], [1, 0, 0]]
    assert found.timeline.waves["wave"].tolist() == [0, 1]
    assert found.timeline.waves["se"].tolist() == [17, 131]
    assert found.timeline.zero_ns == 1_000_000
    assert found.timeline.losses.counted() == {}
    assert told_apart(tmp_path, content) is Tool.QUACK
    assert "2 blocks of 2 warps, 16 events each" in found.notes[0]


def test_an_end_ends_the_last_begin_of_its_own_name(tmp_path: Path) -> None:
    # load and mma cross; load nests in itself; the last mma has no begin.
    events = [(0, 0, BEGIN), (100, 1, BEGIN), (200, 0, BEGIN), (300, 0, END), (400, 0, END),
              (500, 1, END), (600, 1, END), (700, 2, BEGIN), (800, 1, MARK)]  # fmt: skip
    content = quack_buffer(1, 1, 16, {(0, 0): warp(*events)})

    found = read(tmp_path, content, Tool.QUACK, NAMES).timeline

    assert sorted((name, begin, ns) for _, name, begin, ns, *_ in slices(found)) == [
        ("load", 0, 200),
        ("load", 100, 50),
        ("mma", 50, 200),
        ("store", 350, 50),
    ]
    assert {lane for *_, lane, _ in slices(found)} == {"", "overlap"}
    assert [name for _, name, *_, flags in slices(found) if flags & SliceFlag.UNCLOSED] == ["store"]
    assert found.losses.counted() == {"unclosed_slices": 1, "stray_ends": 1}


def test_a_ring_keeps_the_last_events_in_order(tmp_path: Path) -> None:
    events = [(10 * at, 0, END if at % 2 else BEGIN) for at in range(21)] + [(300, 1, MARK)]
    content = quack_buffer(1, 1, 8, {(0, 0): warp(*events)})

    found = read(tmp_path, content, Tool.QUACK, NAMES).timeline

    # 14 are gone: the first that is there is the begin at 140 cycles.
    assert [(begin, ns) for _, _, begin, ns, *_ in slices(found)] == [
        (70, 5),
        (80, 5),
        (90, 5),
        (100, 50),
    ]
    assert marks(found) == [(0, "mma", 150)]
    assert found.waves["overwritten"].tolist() == [14]
    assert found.losses.counted() == {"overwritten_words": 14, "unclosed_slices": 1}


def test_a_clock_whose_low_half_wraps_goes_on(tmp_path: Path) -> None:
    begin = (7 << 32) - 100
    one = QuackWarp(init_clock=begin, final_clock=begin + 4000)
    one.events = [(begin + 50, 0, BEGIN), (begin + 350, 0, END)]

    found = read(tmp_path, quack_buffer(1, 1, 4, {(0, 0): one}), Tool.QUACK, NAMES).timeline

    assert slices(found) == [(0, "load", 25, 150, 0, "", 0)]
    assert found.slices["ticks"].tolist() == [300]


def test_a_warp_longer_than_32_bits_is_counted(tmp_path: Path) -> None:
    turn = 1 << 32
    one = QuackWarp(final_clock=C + 3 * turn, final_ns=1_000_000 + 3 * turn)
    one.events = [(C + 100, 0, BEGIN), (C + turn + 50, 0, END), (C + 2 * turn + 7, 1, MARK)]

    found = read(tmp_path, quack_buffer(1, 1, 4, {(0, 0): one}), Tool.QUACK, NAMES).timeline

    assert slices(found) == [(0, "load", 100, turn - 50, 0, "", 0)]
    assert marks(found) == [(0, "mma", 2 * turn + 7)]
    assert found.losses.counted() == {"long_gaps": 1}


def test_blocks_past_16_bits_are_those_of_their_slots(tmp_path: Path) -> None:
    recorded = {
        (block, 0): warp((0, 0, BEGIN), (400, 0, END), sm=5) for block in (3, 65_539, 131_075)
    }
    content = quack_buffer(131_076, 1, 2, recorded)

    found = read(tmp_path, content, Tool.QUACK, NAMES, Shape(warps=1, capacity=2))

    assert found.timeline.waves["block"][:, 0].tolist() == [3, 65_539, 131_075]
    assert found.timeline.waves["se"].tolist() == [5, 5, 5]
    assert found.timeline.losses.counted() == {}
    assert "131,073 of 131,076 warps recorded nothing" in found.notes[2]
    assert "names blocks by 16 bits" in found.notes[3]


def test_a_warp_that_names_another_place_is_counted(tmp_path: Path) -> None:
    one = warp((0, 0, BEGIN), (400, 0, END))
    one.info = 9
    content = quack_buffer(2, 1, 4, {(1, 0): one})

    found = read(tmp_path, content, Tool.QUACK, NAMES, Shape(warps=1, capacity=4)).timeline

    assert found.waves["block"].tolist() == [[1, 0, 0]]
    assert found.losses.counted() == {"misplaced_waves": 1}


def test_a_warp_that_never_flushed_keeps_its_events(tmp_path: Path) -> None:
    lost = warp((400, 0, BEGIN), (800, 1, MARK))
    lost.is_flushed = False
    recorded = {(0, 0): lost, (0, 1): warp((0, 0, BEGIN), (400, 0, END))}
    content = quack_buffer(1, 2, 4, recorded)

    found = read(tmp_path, content, Tool.QUACK, NAMES).timeline

    assert slices(found) == [
        (0, "load", 200, 200, 0, "", SliceFlag.UNCLOSED),
        (1, "load", 0, 200, 0, "", 0),
    ]
    assert found.waves["flags"].tolist() == [WaveFlag.UNFINISHED, 0]
    assert found.losses.counted() == {
        "unfinished_waves": 1,
        "uncalibrated_waves": 1,
        "unclosed_slices": 1,
    }


def test_unknown_types_and_regions_are_shown_and_counted(tmp_path: Path) -> None:
    content = quack_buffer(1, 1, 4, {(0, 0): warp((0, 9, BEGIN), (100, 1, 7), (200, 9, END))})

    found = read(tmp_path, content, Tool.QUACK, NAMES, Shape(capacity=4)).timeline

    assert slices(found) == [(0, "event_9", 0, 100, 0, "", 0)]
    assert marks(found) == [(0, "mma", 50)]
    assert found.losses.counted() == {"unknown_kinds": 1, "unnamed_events": 1}


def test_cycles_count_from_the_first_warp_of_each_sm(tmp_path: Path) -> None:
    recorded = {
        (0, 0): warp((0, 0, BEGIN), (400, 0, END), sm=1),
        (1, 0): QuackWarp(init_clock=9 * C, final_clock=9 * C + 4000, sm=2,
                          events=[(9 * C + 30, 0, BEGIN), (9 * C + 40, 0, END)]),
    }  # fmt: skip

    found = in_cycles(read(tmp_path, quack_buffer(2, 1, 4, recorded), Tool.QUACK, NAMES).timeline)

    assert [(begin, ns) for _, _, begin, ns, *_ in slices(found)] == [(0, 400), (30, 10)]


def test_a_shape_that_bytes_do_not_tell_is_asked_for(tmp_path: Path) -> None:
    content = bytearray(quack_buffer(7, 3, 4, {(0, 0): warp((0, 0, BEGIN), (400, 0, END))}))
    struct.pack_into("<Q", content, 0, 0)  # the only warp looks unused

    with pytest.raises(UsageError) as refused:
        read(tmp_path, bytes(content), Tool.QUACK, NAMES)

    assert refused.value.fix == "tell it: `--shape blocks=132,warps=8,capacity=4096`"


def test_the_grid_gives_blocks_their_axes(tmp_path: Path) -> None:
    content = quack_buffer(12, 1, 4, {(7, 0): warp((0, 0, BEGIN), (400, 0, END))})

    found = read(tmp_path, content, Tool.QUACK, NAMES, Shape(grid=(3, 2, 2), warps=1)).timeline

    assert found.waves["block"].tolist() == [[1, 0, 1]]
