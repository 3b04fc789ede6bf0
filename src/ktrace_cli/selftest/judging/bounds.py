"""Bounds drop: full regions keep what fits and count the rest; nothing else is touched."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.selftest import regions, tracing
from ktrace_cli.selftest.judging.measured import Judgement, Measured, failed
from ktrace_cli.selftest.pattern import FIRST_WORD, Ids, differing_words, overflow_words
from ktrace_cli.selftest.settings import ROOM
from ktrace_cli.selftest_file.result import Check
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import WaveState

NAME = "bounds_drop"
_KERNEL = "overflow"
_RESERVED = layout.REGION_HEADER - 32  # the last bytes of a header are nobody's
_ALL_LANES = 0xFFFFFFFFFFFFFFFF


def judge_bounds(measured: Measured) -> Check:
    """Judge regions among canaries, and the counts of a launch under the interposer."""
    if trouble := measured.trouble(bare="bounds", traced="pattern"):
        return failed(NAME, trouble)
    ids = measured.event_ids(_KERNEL)
    judgement = Judgement(NAME)
    intact = sum(_judge_buffer(judgement, measured, ids, name) for name in regions.OVERFLOWS)
    attempted, kept = _attempted_and_kept()
    _judge_recording(judgement, measured, ids)
    judgement.count("words attempted", attempted, "words", "by waves whose regions are too small")
    judgement.count("words kept", kept, "words", "all that fit, each as it was written")
    judgement.count("words dropped", attempted - kept, "words", "counted exactly by the waves")
    judgement.count("canaries intact", intact, "bytes", "around and between these regions")
    return judgement.check(
        "full regions keep what fits and count what they drop; no byte beyond them is touched"
    )


def _attempted_and_kept() -> tuple[int, int]:
    words = [(1 + 2 * main, 2 * side) for main, side in regions.OVERFLOWS.values()]
    waves = len(regions.RECORDED)
    return waves * sum(map(sum, words)), waves * sum(min(sum(w), regions.CAPACITY) for w in words)


def _judge_buffer(judgement: Judgement, measured: Measured, ids: Ids, name: str) -> int:
    """Judge the buffer of one overflow; return how many canaries there were."""
    marks = regions.OVERFLOWS[name]
    main, side = overflow_words(ids, regions.RECORDED, *marks)
    buffer = measured.bare.arrays[f"bounds_{name}"]
    inner = buffer[regions.GUARD : -regions.GUARD].reshape(regions.SLOTS, -1)
    main_kept = min(len(main.tags), regions.CAPACITY)
    side_kept = min(len(side.tags), regions.CAPACITY - main_kept)
    owned = _owned(main_kept, side_kept)
    touched = int(np.count_nonzero((buffer != regions.canaries()) & ~owned))
    judgement.expect(f"{name} overflow: bytes touched beyond the regions' own", touched, 0)

    own = np.ascontiguousarray(inner[regions.RECORDED])
    headers = own[:, : layout.REGION_HEADER].copy().view(layout.WAVE_HEADER)[:, 0]
    _judge_headers(judgement, name, headers, (len(main.tags), len(side.tags)))
    words = own.view(layout.WORD)
    clocks = headers["memtime_begin"], headers["memtime_end"]
    wrong = differing_words(
        words[:, FIRST_WORD : FIRST_WORD + main_kept], main[:main_kept], *clocks
    ) + differing_words(words[:, ::-1][:, :side_kept], side[:side_kept], *clocks)
    judgement.expect(f"{name} overflow: kept words that differ", wrong, 0)
    control = [measured.bare.arrays[f"bounds_{name}_control{which}"] for which in ("_before", "")]
    changed = int(np.count_nonzero(control[0] != control[1]))
    judgement.expect(f"{name} overflow: bytes of the control block that changed", changed, 0)
    return int(np.count_nonzero(~owned))


def _owned(main_kept: int, side_kept: int) -> NDArray[np.bool_]:
    """Return which bytes of the buffer waves may write."""
    size = layout.WORD.itemsize
    region = np.zeros(1 << regions.REGION_LOG2, np.bool_)
    region[:_RESERVED] = True
    region[layout.REGION_HEADER : layout.REGION_HEADER + main_kept * size] = True
    region[len(region) - side_kept * size :] = True
    inner = np.zeros((regions.SLOTS, len(region)), np.bool_)
    inner[regions.RECORDED] = region
    return np.pad(inner.reshape(-1), regions.GUARD)


def _judge_headers(
    judgement: Judgement, name: str, headers: NDArray[Any], attempted: tuple[int, int]
) -> None:
    size = layout.WORD.itemsize
    blocks, waves = np.divmod(regions.RECORDED, regions.WAVES_PER_BLOCK)
    end = (1 << regions.REGION_LOG2) - size
    wanted: dict[str, Any] = {
        "state": WaveState.ENDED,
        "wave": waves,
        "main_cursor": layout.REGION_HEADER + attempted[0] * size,
        "side_cursor": (end - attempted[1] * size) & 0xFFFFFFFF,
        "exec_begin": _ALL_LANES,
        "exec_end": _ALL_LANES,
    }
    wrong = [field for field, value in wanted.items() if np.any(headers[field] != value)]
    if np.any(headers["block"] != np.column_stack([blocks, 0 * blocks, 0 * blocks])):
        wrong.append("block")
    judgement.expect(f"{name} overflow: wrong fields of headers", wrong, [])


def _judge_recording(judgement: Judgement, measured: Measured, ids: Ids) -> None:
    """Judge a launch that the interposer gave regions which are too small."""
    found = measured.dispatches(_KERNEL)
    judgement.expect("recorded launches that overflow", len(found), 1)
    if judgement.is_wrong:
        return
    waves = tracing.OVERFLOW_GRID * tracing.BLOCK // layout.WAVE_SIZE
    main, _ = overflow_words(ids, np.arange(waves), *tracing.OVERFLOW_MARKS)
    extents, headers = found[0].extents, found[0].headers
    kept = extents["main_words"].astype(np.int64) + extents["side_words"]
    judgement.expect("words kept of each recorded wave", sorted(set(kept.tolist())), [ROOM])
    judgement.expect("recorded waves", len(extents), waves)
    if judgement.is_wrong:
        return
    clocks = headers["memtime_begin"], headers["memtime_end"]
    wrong = differing_words(found[0].words.reshape(waves, ROOM), main[:ROOM], *clocks)
    judgement.expect("recorded words that differ", wrong, 0)
    dropped = waves * (len(main.tags) - ROOM)
    timeline = measured.timeline
    counts = (
        ("the interposer", measured.process.dropped_words if measured.process else None),
        ("the decoder", timeline if isinstance(timeline, str) else timeline.losses.dropped_words),
    )
    for who, count in counts:
        judgement.expect(f"dropped words that {who} counts", count, dropped)
