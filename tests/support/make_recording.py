"""Write a large recording for benchmarks: `python tests/support/make_recording.py --events N OUT`.

8,192 waves in 64 dispatches (or `--waves` in `--dispatches`), 32 names, depth 3; half of the ranges
push and pop, half spans (a span counts as two events), 10 % of the events with a payload, 5 %
marks, 2 % tokens. Every wave has the same structure and its own times. The same options give the
same bytes.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))

from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import ChunkType, Kind, ValueType
from support.code_object import UNIT_KEY, EventSource, KernelSource, make_code_object
from support.recording import RecordingBuilder, chunk, struct

NAMES = 32
FIRST_WORD = layout.REGION_HEADER // layout.WORD.itemsize
KERNEL = "_Z4busyPf"


@dataclass(frozen=True)
class Shape:
    """How many waves there are, and of how many dispatches. All have as many."""

    dispatches: int = 64
    waves: int = 8_192

    @property
    def waves_per_dispatch(self) -> int:
        """In workgroups of four."""
        return self.waves // self.dispatches // 4 * 4


def name_of(number: int) -> str:
    return f"{['phase', 'range', 'mark', 'token'][number % 4]}_{number}"


KIND_BY_NAME = (Kind.PUSH, Kind.RANGE, Kind.MARK, Kind.START)  # of name 4n, 4n + 1, …


class Template:
    """The words of one wave without their clocks, and how many events they are."""

    def __init__(self, events: int, rng: np.random.Generator) -> None:
        self.kinds: list[int] = []
        self.ids: list[int] = []
        self.events = 0
        self._rounds = 0
        self._rng = rng
        while self.events + 40 <= events:
            self._round()
        while self.events < events:
            self._word(Kind.MARK, self._name(2))

    def _round(self) -> None:
        """34 events: 20 in spans, 12 in pushes and pops, 2 marks; each third time a token, too."""
        self._rounds += 1
        start = self._word(Kind.START, self._name(3)) if self._rounds % 3 == 0 else None
        for _ in range(2):
            self._word(Kind.PUSH, self._name(0))
            self._word(Kind.RANGE, self._name(1))
            self._word(Kind.PUSH, self._name(0), payload=True)
            for _ in range(3):
                self._word(Kind.RANGE, self._name(1))
            self._word(Kind.PUSH, self._name(0))
            self._word(Kind.RANGE, self._name(1), payload=True)
            for _ in range(3):
                self._word(Kind.POP, 0)
            self._word(Kind.MARK, self._name(2))
        if start is not None:
            self._word(Kind.STOP, start)

    def _name(self, kind: int) -> int:
        return int(self._rng.integers(NAMES // 4)) * 4 + kind

    def _word(self, kind: int, event_id: int, *, payload: bool = False) -> int:
        if payload:
            self.kinds.append(Kind.VALUE)
            self.ids.append(ValueType.I32)
        self.kinds.append(kind)
        self.ids.append(event_id)
        self.events += 2 if kind == Kind.RANGE else 1
        return FIRST_WORD + len(self.kinds) - 1


def dispatch_words(
    template: Template, waves: int, begin: int, rng: np.random.Generator
) -> tuple[NDArray[np.void], NDArray[np.int64]]:
    """Return the words, shape (waves, words), and each wave's end in core clock cycles."""
    kinds = np.array(template.kinds, np.uint32)
    ids = np.array(template.ids, np.uint32)
    is_value, is_span = kinds == Kind.VALUE, kinds == Kind.RANGE
    steps = rng.integers(30, 400, (waves, len(kinds)))
    steps[:, is_value] = 0
    clock = begin + np.cumsum(steps, axis=1)
    words = np.zeros(clock.shape, layout.WORD)
    words["clock"] = clock & 0xFFFFFFFF
    words["clock"][:, is_value] = rng.integers(0, 1000, (waves, int(is_value.sum())))
    words["tag"] = kinds << layout.TAG_KIND_SHIFT | ids
    span_tags = layout.TAG_SPAN | ids[is_span] << layout.SPAN_ID_SHIFT
    words["tag"][:, is_span] = span_tags | (steps[:, is_span] - 10).astype(np.uint32)
    return words, clock[:, -1] + 50


def dispatch_chunk(
    number: int, words: NDArray[np.void], begin: int, end: NDArray[np.int64]
) -> bytes:
    waves, count = words.shape
    headers = np.zeros(waves, layout.WAVE_HEADER)
    region_log2 = max(10, int(np.ceil(np.log2(layout.REGION_HEADER + 8 * count))))
    index = np.arange(waves)
    headers["state"] = layout.WaveState.ENDED
    headers["side_cursor"] = (1 << region_log2) - 8
    headers["main_cursor"] = layout.REGION_HEADER + 8 * count
    headers["dispatch"] = number
    headers["block"][:, 0] = index // 4
    headers["wave"] = index % 4
    slot, simd, cu = index // 512 % 16, index % 4, index // 32 % 16
    headers["hw_id_begin"] = headers["hw_id_end"] = slot | simd << 4 | cu << 8
    headers["xcc_id_begin"] = headers["xcc_id_end"] = index // 4 % 8
    headers["memtime_begin"], headers["memtime_end"] = begin, end
    headers["realtime_begin"], headers["realtime_end"] = begin // 21, end // 21
    headers["exec_begin"] = headers["exec_end"] = 0xFFFFFFFFFFFFFFFF
    extents = np.zeros(waves, layout.WAVE_EXTENT)
    extents["slot"], extents["main_words"] = index, count
    record = struct(
        layout.DISPATCH, dispatch=number, launch=number, grid=(waves // 4, 1, 1), block=(256, 1, 1),
        launched_ns=begin * 10 // 21, submitted_ns=begin * 10 // 21 + 1,
        completed_ns=int(end.max()) * 10 // 21 + 100, region_log2=region_log2, wave_slots=waves,
        waves=waves, expected=waves,
    )  # fmt: skip
    return record + headers.tobytes() + extents.tobytes() + words.tobytes()


def chunks(events: int, shape: Shape) -> Iterator[bytes]:
    """Yield the whole file, a dispatch at a time."""
    rng = np.random.default_rng(1)
    template = Template(max(1, events // shape.waves), rng)
    builder = RecordingBuilder()
    names = [EventSource(i, name_of(i), KIND_BY_NAME[i % 4]) for i in range(NAMES)]
    image = make_code_object([KernelSource(KERNEL, UNIT_KEY)], names)
    builder.add_kernel(KERNEL, code_object=builder.add_code_object(image), unit_key=UNIT_KEY)
    builder.add_clock(realtime=0, host_ns=0)
    builder.add_clock(realtime=1_000_000_000, host_ns=10_000_000_000)
    head = builder.to_bytes(closed=False)
    yield head
    number = 6
    begin = 21_000
    for dispatch in range(1, shape.dispatches + 1):
        words, end = dispatch_words(template, shape.waves_per_dispatch, begin, rng)
        yield chunk(ChunkType.DISPATCH, dispatch_chunk(dispatch, words, begin, end), number=number)
        number += 1
        begin = int(end.max()) // 21 * 21 + 2_100
    count = shape.dispatches
    end_record = struct(layout.END, launches=count, annotated_launches=count, annotated_kernels=1,
                        code_objects=1, annotated_code_objects=1, dispatches=count)  # fmt: skip
    yield chunk(ChunkType.END, end_record, number=number)


def make_recording(path: Path, events: int, shape: Shape | None = None) -> int:
    """Write the recording and return how many events it holds."""
    shape = shape or Shape()
    with path.open("wb") as file:
        for part in chunks(events, shape):
            file.write(part)
    template = Template(max(1, events // shape.waves), np.random.default_rng(1))
    return template.events * shape.waves_per_dispatch * shape.dispatches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--dispatches", type=int, default=Shape.dispatches)
    parser.add_argument("--waves", type=int, default=Shape.waves)
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    made = make_recording(options.output, options.events, Shape(options.dispatches, options.waves))
    size = options.output.stat().st_size
    sys.stderr.write(f"{made:,} events, {size:,} bytes\n")


if __name__ == "__main__":
    main()
