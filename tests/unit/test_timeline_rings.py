"""Waves that kept their last words: order, clocks, numbers, and what is counted as overwritten."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ktrace_cli.model import Timeline, WaveFlag
from ktrace_cli.trace_file.layout import DispatchFlag, WaveState
from support.recording import Wave
from support.timelines import LOAD, MARK, decode
from support.words import Word, mark, pop, start, stop_word, u32

RING = 32  # words: half of a region of 2**9 bytes
WRAP = 1 << 32


def ring(words: Sequence[Word], *, before: int = 0, **more: Any) -> Wave:
    """A wave that wrote `before` words, which are gone, and then the 32 `words`."""
    assert len(words) == RING
    first = (before + RING) % RING
    end = before + 2 * RING
    header = {"main_cursor": 8 * end, "side_cursor": 8 * RING - 8} | more.pop("header", {})
    return Wave(main=[[*words[RING - first :], *words[: RING - first]]], header=header, **more)


def shown(wave: Wave, folder: Path) -> Timeline:
    return decode([wave], folder, flags=DispatchFlag.RING, region_log2=9)


def marks(first: int, count: int = RING) -> list[Word]:
    return [mark(MARK, first + 10 * number)[0] for number in range(count)]


def test_the_oldest_word_comes_first(tmp_path: Path) -> None:
    timeline = shown(ring(marks(2_000), before=40), tmp_path)

    assert timeline.instants["ticks"].tolist() == [2_000 + 10 * n for n in range(RING)]
    assert timeline.waves["overwritten"].tolist() == [40]
    assert timeline.waves["dropped"].tolist() == [0]
    assert WaveFlag(int(timeline.waves["flags"][0])) == WaveFlag.OVERWRITTEN
    assert timeline.losses.counted() == {"overwritten_words": 40}


def test_a_ring_that_is_just_full_has_lost_nothing(tmp_path: Path) -> None:
    timeline = shown(ring(marks(2_000)), tmp_path)

    assert timeline.instants["ticks"].tolist() == [2_000 + 10 * n for n in range(RING)]
    assert timeline.losses.counted() == {}


def test_clocks_are_counted_back_from_the_wave_s_end(tmp_path: Path) -> None:
    wave = ring(marks(2_000), before=5, end=3 * WRAP + 9_000)

    timeline = shown(wave, tmp_path)

    assert timeline.instants["ticks"].tolist() == [3 * WRAP + 2_000 + 10 * n for n in range(RING)]
    assert timeline.losses.long_gaps == 0


def test_a_stop_finds_the_start_that_was_counted_on(tmp_path: Path) -> None:
    words = marks(2_000)
    # The third of the words that are kept is number RING + 7 + 2.
    words[2] = start(LOAD, 2_020, token="load")[0]
    words[9] = stop_word(RING + 9, 2_090)[0]

    timeline = shown(ring(words, before=7), tmp_path)

    (slice_,) = timeline.slices
    assert (int(slice_["begin_ticks"]), int(slice_["ticks"])) == (2_020, 70)
    assert timeline.losses.counted() == {"overwritten_words": 7}


def test_an_end_whose_begin_is_gone_is_counted_as_overwritten(tmp_path: Path) -> None:
    words = marks(2_000)
    words[4] = pop(2_040)[0]
    words[6] = stop_word(3, 2_060)[0]

    timeline = shown(ring(words, before=7), tmp_path)

    assert timeline.losses.counted() == {"overwritten_words": 7, "overwritten_begins": 2}


def test_payload_at_the_begin_of_a_ring_is_given_to_nobody(tmp_path: Path) -> None:
    words = marks(2_000)
    words[:2] = mark(MARK, 2_010, [u32(7)])  # the first half of its payload may be gone

    timeline = shown(ring(words, before=9), tmp_path)

    assert len(timeline.values) == 0
    assert timeline.losses.counted() == {"overwritten_words": 10}


def test_without_an_end_the_ring_begins_where_time_goes_back(tmp_path: Path) -> None:
    wave = ring(
        marks(2_000), before=40, header={"main_cursor": 0}, state=WaveState.BEGUN, end=1_000
    )

    timeline = shown(wave, tmp_path)

    assert timeline.instants["ticks"].tolist() == [2_000 + 10 * n for n in range(RING)]
    assert timeline.losses.counted() == {"unfinished_waves": 1, "unknown_core_clocks": 1}
