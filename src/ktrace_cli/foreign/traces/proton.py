"""Triton Proton's Chrome JSON: cycles as if of 1 GHz, from each block's begin in nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ktrace_cli.foreign.shape import Shape
from ktrace_cli.foreign.traces.chrome import ChromeTrace
from ktrace_cli.foreign.traces.places import PROTON, PROTON_LINE
from ktrace_cli.foreign.traces.spans import Line, Place, Spans
from ktrace_cli.units import counted

_ASSUMED_MHZ = 1000.0
_FLOAT_EXACT = 1 << 24


@dataclass
class _Launch:
    """The launch that rows of a file are of, so far."""

    number: int = 0
    kernel: str = ""
    core: int = -1
    blocks: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class _Block:
    """A block of one launch."""

    pid: str
    began: int | None
    """globaltimer at its begin, where the file tells it."""
    place: Place


@dataclass(frozen=True)
class _Blocks:
    """All blocks of a file, and the number of each row's; NO_BLOCK of what is none's."""

    blocks: list[_Block]
    of_row: list[int]


NO_BLOCK = -1


def read_proton(trace: ChromeTrace, shape: Shape) -> Spans:
    """Read a trace: a block's begin is in nanoseconds, all that follows in cycles."""
    spans = Spans(losses=trace.losses)
    found = _blocks(trace)
    blocks, of_row, tids = found.blocks, found.of_row, trace.rows.tid
    origins = _origins(trace, found)
    frequency = _frequency(trace)
    hertz = shape.clock or (frequency * 10**6 if frequency != _ASSUMED_MHZ else 0)
    tell_rate(spans, shape.clock, frequency)
    _tell(trace, spans)
    slope = 1e9 / hertz if hertz else 1.0
    zero = min(origins[:NO_BLOCK], default=0)
    waves: dict[tuple[int, object], int | None] = {}

    def wave_of(row: int) -> int | None:
        key = (of_row[row], tids[row])
        if key not in waves:
            warp = PROTON_LINE.fullmatch(str(key[1]))
            waves[key] = None
            if warp is not None and key[0] != NO_BLOCK:
                place = replace(blocks[key[0]].place, wave=int(warp[1]))
                waves[key] = spans.wave_at(place, Line(origins[key[0]] - zero, slope))
        return waves[key]

    trace.put(spans, wave_of, lambda row: origins[of_row[row]])
    return spans


def _blocks(trace: ChromeTrace) -> _Blocks:
    """Return the block of each row. Launches are one behind the other, cores ascending."""
    began, found = trace.column("Init Time (ns)"), _Blocks([], [])
    launch, last = _Launch(), None
    for row, pid in enumerate(trace.rows.pid):
        time = began.get(row)
        init = time if isinstance(time, int) else None
        if last is not None and last.pid == pid and init in (None, last.began):
            found.of_row.append(len(found.blocks) - 1)
            continue
        told = PROTON.fullmatch(str(pid))
        if told is None:
            found.of_row.append(NO_BLOCK)
            continue
        core, block = int(told["sm"]), int(told["x"])
        if told["kernel"] != launch.kernel or core < launch.core or block in launch.blocks:
            launch = _Launch(launch.number + 1, told["kernel"])
        launch.core = core
        launch.blocks.add(block)
        place = Place(told["kernel"], launch.number, (block, 0, 0), 0, core)
        last = _Block(str(pid), init, place)
        found.of_row.append(len(found.blocks))
        found.blocks.append(last)
    return found


def _origins(trace: ChromeTrace, found: _Blocks) -> list[int]:
    """Return when each block began, in nanoseconds as the file counts them, and 0 behind them."""
    first: dict[int, int] = {}
    for block, begin in zip(found.of_row, trace.rows.begin, strict=True):
        if begin < first.get(block, begin + 1):
            first[block] = begin
    zero = min((block.began for block in found.blocks if block.began is not None), default=0)
    own = [
        first[number] if block.began is None else block.began - zero
        for number, block in enumerate(found.blocks)
    ]
    return [*own, 0]


def _frequency(trace: ChromeTrace) -> float:
    told = {v for v in trace.column("Frequency (MHz)").values() if isinstance(v, (int, float))}
    return float(next(iter(told))) if len(told) == 1 and min(told) > 0 else _ASSUMED_MHZ


def tell_rate(spans: Spans, hertz: int, frequency: float = _ASSUMED_MHZ) -> None:
    """Say what a cycle is taken as."""
    if hertz:
        spans.notes.append(
            f"a cycle is taken as {1e9 / hertz:.4g} ns, as told: Proton writes cycles as if all"
            " GPUs ran at 1 GHz"
        )
    elif frequency == _ASSUMED_MHZ:
        spans.clock = "a clock of unknown rate, whose cycles are taken as nanoseconds"
        spans.notes.append(
            "LENGTHS ARE CYCLES, shown as nanoseconds: Proton writes them as if all GPUs ran at"
            " 1 GHz, and nothing tells the real rate; tell it, for example"
            " `--shape clock=1.755GHz`, or show them with `--unit cycles`"
        )
    else:
        spans.notes.append(f"a cycle is taken as {1e3 / frequency:.4g} ns, as the file tells")


def _tell(trace: ChromeTrace, spans: Spans) -> None:
    if not trace.column("Init Time (ns)"):
        spans.notes.append(
            "launches of a kernel are told apart by the order of the file, as this release of"
            " Proton does not write when blocks began"
        )
        if max(trace.rows.begin, default=0) > _FLOAT_EXACT:
            step = max(1, 1 << (max(trace.rows.begin).bit_length() - 24))
            spans.notes.append(
                f"this release of Proton keeps 24 bits of a time: late ones are multiples of"
                f" {step} ns, and lengths may be wrong by as much"
            )
    arrows = sum(category == "flow" for category in trace.rows.category)
    if arrows:
        events = counted(arrows // 2, "event has", "events have")
        spans.notes.append(f"{events} ends on two warps: these are marks, without an arrow")
