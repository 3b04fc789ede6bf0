"""Records intact: all words of a pattern come back from all waves, through file and decoder."""

from __future__ import annotations

import numpy as np

from ktrace_cli.selftest.judging.measured import Judgement, Measured, failed
from ktrace_cli.selftest.pattern import Expected, differing_words, pattern_words
from ktrace_cli.selftest.settings import ROOM
from ktrace_cli.selftest.tracing import BLOCK, OVERFLOW_GRID, OVERFLOW_MARKS
from ktrace_cli.selftest_file.result import Check
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import WaveState
from ktrace_cli.trace_file.recording import DispatchRecord

NAME = "records_intact"
_KERNEL = "pattern"
_WAVES_PER_BLOCK = BLOCK // layout.WAVE_SIZE
_SLICES_PER_ROUND, _INSTANTS_PER_ROUND = 3, 2
_SLICES_ONCE = 1
_SIMDS_PER_CU = 4


def judge_records(measured: Measured) -> Check:
    """Judge the recorded words of the pattern, and what the decoder makes of them."""
    if trouble := measured.trouble(traced="pattern"):
        return failed(NAME, trouble)
    judgement = Judgement(NAME)
    found = measured.dispatches(_KERNEL)
    judgement.expect("recorded launches of the pattern", len(found), 1)
    assert measured.recording is not None  # else there was trouble
    judgement.expect("damage of the recording", measured.recording.damage.counted(), {})
    if judgement.is_wrong:
        return judgement.check("")
    dispatch = found[0]
    waves = int(dispatch.record["grid"][0]) * _WAVES_PER_BLOCK
    numbers = _linear_numbers(dispatch)
    judgement.expect("waves", len(numbers), waves)
    judgement.expect("waves that are missing or twice", waves - len(np.unique(numbers)), 0)
    ids = measured.event_ids(_KERNEL)
    main, side = pattern_words(ids, numbers, measured.settings.pattern_rounds)
    words = _judge_words(judgement, dispatch, main, side)
    _judge_decoded(judgement, measured)
    judgement.count("waves", len(numbers), "waves")
    judgement.count("words compared", words, "words", "payloads bit by bit, clocks by their order")
    _count_places(judgement, measured, dispatch)
    return judgement.check("every word of every wave came back as it was written, and was decoded")


def losses_of_overflow() -> dict[str, int]:
    """Return what the decoder must count of the one launch that writes more words than fit."""
    waves = OVERFLOW_GRID * _WAVES_PER_BLOCK
    attempted = 1 + 2 * sum(OVERFLOW_MARKS)
    # A mark is a payload and an event behind it: where the room ends between them, one is alone.
    stray = (ROOM - 1) % 2
    counts = {
        "truncated_waves": waves,
        "dropped_words": waves * (attempted - ROOM),
        "stray_values": waves * stray,
    }
    return {name: count for name, count in counts.items() if count}


def _linear_numbers(dispatch: DispatchRecord) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    headers = dispatch.headers
    return np.asarray(
        headers["block"][:, 0].astype(np.int64) * _WAVES_PER_BLOCK + headers["wave"], np.int64
    )


def _judge_words(
    judgement: Judgement, dispatch: DispatchRecord, main: Expected, side: Expected
) -> int:
    """Compare all words with the model; return how many."""
    extents, headers = dispatch.extents, dispatch.headers
    count = len(main.tags) + len(side.tags)
    for name, wanted in (("main_words", len(main.tags)), ("side_words", len(side.tags))):
        wrong = int(np.count_nonzero(extents[name] != wanted))
        judgement.expect(f"waves with another number of {name} than {wanted}", wrong, 0)
    unended = int(np.count_nonzero(headers["state"] != WaveState.ENDED))
    judgement.expect("waves that did not end", unended, 0)
    if judgement.is_wrong:
        return 0
    words = dispatch.words.reshape(len(extents), count)
    clocks = headers["memtime_begin"], headers["memtime_end"]
    newest_first = words[:, len(main.tags) :]
    wrong = differing_words(words[:, : len(main.tags)], main, *clocks)
    wrong += differing_words(newest_first[:, ::-1], side, *clocks)
    judgement.expect("words that differ", wrong, 0)
    return words.size


def _judge_decoded(judgement: Judgement, measured: Measured) -> None:
    timeline = measured.timeline
    if isinstance(timeline, str):
        judgement.fail(timeline)
        return
    lost = dict(timeline.losses.counted())
    for name in ("misfit_waves", "unfitted_waves"):  # of all launches: `clocks` judges them
        lost.pop(name, None)
    judgement.expect("losses that the decoder counts", lost, losses_of_overflow())
    rows = [
        k for k, kernel in enumerate(timeline.kernels) if kernel.mangled == measured.symbol(_KERNEL)
    ]
    dispatches = np.flatnonzero(np.isin(timeline.dispatches["kernel"], rows))
    own = timeline.waves[np.isin(timeline.waves["dispatch"], dispatches)]
    rounds = measured.settings.pattern_rounds
    for name, wanted in (
        ("slices", _SLICES_ONCE + rounds * _SLICES_PER_ROUND),
        ("instants", rounds * _INSTANTS_PER_ROUND),
    ):
        wrong = int(np.count_nonzero(own[name] != wanted))
        judgement.expect(f"waves with another number of {name} than {wanted}", wrong, 0)


def _count_places(judgement: Judgement, measured: Measured, dispatch: DispatchRecord) -> None:
    timeline = measured.timeline
    if isinstance(timeline, str):
        return
    number = np.flatnonzero(timeline.dispatches["number"] == dispatch.number)
    own = timeline.waves[np.isin(timeline.waves["dispatch"], number)]
    places = np.column_stack([own[name] for name in ("xcc", "se", "cu", "simd")])
    units = measured.facts["compute_units"]
    of = f"of {units:,}" if units else ""
    judgement.count("compute units that wrote", len(np.unique(places[:, :3], axis=0)), of)
    simds = f"of {units * _SIMDS_PER_CU:,}" if units else ""
    judgement.count("SIMDs that wrote", len(np.unique(places, axis=0)), simds)
