"""QuACK's Chrome JSON, and that of intra-kernel-profiler, which it comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from ktrace_cli.foreign.traces.chrome import ChromeTrace, is_number
from ktrace_cli.foreign.traces.spans import Place, Spans
from ktrace_cli.units import counted

_MOST_BLOCKS = 1 << 16
_MOST_BYTES = 64 << 20
_NS_IN_TS = 1000
"""A file of nanoseconds has been read as if of microseconds."""


def read_quack(trace: ChromeTrace) -> Spans:
    """Read a trace: each event says its SM, block and warp."""
    spans = Spans(losses=trace.losses)
    sms, blocks, warps = (trace.column(name) for name in ("sm", "block", "warp"))
    beside = _summary_path(trace.path)
    summary = _read_summary(beside)
    divisor = _divisor(trace, spans, beside, summary)
    _tell(spans, summary)
    rows = trace.rows
    if divisor != 1:
        rows.begin[:] = [ns // divisor for ns in rows.begin]
        rows.length[:] = [ns // divisor for ns in rows.length]
    homes: dict[tuple[int, int], set[int]] = {}

    def wave_of(row: int) -> int | None:
        sm, block, warp = (column.get(row) for column in (sms, blocks, warps))
        if not (is_number(sm) and is_number(block) and is_number(warp)):
            return None
        homes.setdefault((block, warp), set()).add(sm)
        return spans.wave_at(Place(block=(block, 0, 0), wave=warp, sm=sm))

    trace.put(spans, wave_of, lambda _: 0)
    if shared := sum(len(own) > 1 for own in homes.values()):
        warps_of = counted(shared, "warp is", "warps are")
        spans.notes.append(f"{warps_of} on several SMs: each is shown once for each of these")
    return spans


def _summary_path(path: Path) -> Path:
    name = path.name.removesuffix(".gz").removesuffix(".json")
    return path.with_name(f"{name}_summary.json")


def _read_summary(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            return {}
        found = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    return found if isinstance(found, dict) and "regions" in found else {}


def _divisor(trace: ChromeTrace, spans: Spans, beside: Path, summary: dict[str, Any]) -> int:
    """Return by how much times are too large: QuACK writes microseconds, its ancestor not."""
    scale = summary.get("scale")
    names = trace.events.process_names.values()
    is_ancestor = any(name.startswith("sm ") for name in names)
    if isinstance(scale, (int, float)) and scale in (1, 1e-3):
        spans.notes.append(f"{beside.name} beside it tells the unit of its times, and its grid")
        return _NS_IN_TS if scale == 1 else 1
    if is_ancestor:
        spans.notes.append(
            "its times are taken as nanoseconds, as intra-kernel-profiler writes them, though the"
            " format counts microseconds: no summary beside it tells the unit"
        )
        return _NS_IN_TS
    return 1


def _tell(spans: Spans, summary: dict[str, Any]) -> None:
    spans.notes.append(
        "an SM is shown as an SE with one CU; its tool has left out ranges without an end, ends"
        " without a begin, and what its rings have overwritten, and does not say how much"
    )
    blocks = summary.get("blocks")
    if isinstance(blocks, int) and blocks > _MOST_BLOCKS:
        spans.notes.append(
            f"it names {counted(blocks, 'block')} by 16 bits: several are shown as one. Its raw"
            " buffer tells them apart"
        )
