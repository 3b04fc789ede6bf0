"""Triton Proton's Chrome JSON: cycles as if of 1 GHz, from where each block began in nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass, field

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

    launch: int
    pid: str
    began: int | None
    """globaltimer at its begin, where the file tells it."""


def read_proton(trace: ChromeTrace, shape: Shape) -> Spans:
    """Read a trace: a block's begin is in nanoseconds, all that follows in cycles."""
    spans = Spans(losses=trace.losses)
    blocks = _blocks(trace)
    origins = _origins(trace, blocks)
    frequency = _frequency(trace)
    hertz = shape.clock or (frequency * 10**6 if frequency != _ASSUMED_MHZ else 0)
    tell_rate(spans, shape.clock, frequency)
    _tell(trace, spans)
    slope = 1e9 / hertz if hertz else 1.0
    zero = min(origins.values(), default=0)

    def wave_of(row: int) -> int | None:
        block = blocks[row]
        warp = PROTON_LINE.fullmatch(str(trace.rows.tid[row]))
        told = PROTON.fullmatch(block.pid) if block else None
        if block is None or warp is None or told is None:
            return None
        at = (int(told["x"]), 0, 0)
        place = Place(told["kernel"], block.launch, at, int(warp[1]), int(told["sm"]))
        return spans.wave_at(place, Line(origins[block] - zero, slope))

    def origin(row: int) -> int:
        block = blocks[row]
        return origins[block] if block else 0

    trace.put(spans, wave_of, origin)
    return spans


def _blocks(trace: ChromeTrace) -> list[_Block | None]:
    """Return the block of each row. Launches are one behind the other, cores ascending."""
    began = trace.column("Init Time (ns)")
    found: list[_Block | None] = []
    launch, current = _Launch(), None
    for row, pid in enumerate(trace.rows.pid):
        told = PROTON.fullmatch(str(pid))
        if told is None:
            found.append(None)
            continue
        time = began.get(row)
        init = time if isinstance(time, int) else None
        is_same = current is not None and current.pid == pid
        if is_same and current is not None and init in (None, current.began):
            found.append(current)
            continue
        core, block = int(told["sm"]), int(told["x"])
        is_new = told["kernel"] != launch.kernel or core < launch.core or block in launch.blocks
        if is_new:
            launch = _Launch(launch.number + 1, told["kernel"])
        launch.core = core
        launch.blocks.add(block)
        current = _Block(launch.number, str(pid), init)
        found.append(current)
    return found


def _origins(trace: ChromeTrace, blocks: list[_Block | None]) -> dict[_Block, int]:
    """Return when each block began, in nanoseconds as the file counts them."""
    first: dict[_Block, int] = {}
    for block, begin in zip(blocks, trace.rows.begin, strict=True):
        if block is not None:
            first[block] = min(begin, first.get(block, begin))
    timed = [block.began for block in first if block.began is not None]
    zero = min(timed, default=0)
    return {
        block: begin if block.began is None else block.began - zero
        for block, begin in first.items()
    }


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
