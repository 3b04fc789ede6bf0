"""The native encoder: rows of a timeline to packets of one sequence, in pieces."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.export.encoder_layout import Rows, Setup, Status
from ktrace_cli.model import INSTANT, SLICE, VALUE, Columns, Part, SliceFlag
from ktrace_cli.timeline.native import load_reader

_BUGS = {
    Status.BAD_ROWS: "a row of the timeline names one that does not exist",
    Status.OUT_OF_ORDER: "times on a track go back: a viewer would show other durations",
}
_ROOM = 1 << 20


@dataclass(frozen=True)
class Spans:
    """Slices that hold others, waves or dispatches, and their arguments."""

    rows: Columns
    """SPAN"""
    columns: Columns
    """COLUMN: the arguments."""
    numbers: NDArray[np.int64]
    """Shape (rows, columns); negative: absent."""


@dataclass(frozen=True)
class Arrows:
    """The ends of arrows, by slice."""

    first: NDArray[np.uint64]
    """Row of `ends` of each slice's first one, and one entry more."""
    ends: Columns
    """ARROW_END"""


@dataclass(frozen=True)
class Batch:
    """What is encoded at once."""

    spans: Spans
    """All waves of the part, or what holds nothing."""
    part: Part
    """The slices and instants of the spans' rows."""
    arrows: Arrows | None
    """None if there are none."""


@dataclass(frozen=True)
class Names:
    """The iids that an encoder writes."""

    of_event: NDArray[np.uint32]
    """Per row of Timeline.events."""
    of_running: NDArray[np.uint32]
    """Per row of Timeline.events: what is said where its dispatch was still running."""
    first_value: int
    """Of an event's first payload; the next ones have the next numbers."""
    flags: dict[int, int]
    """By SliceFlag."""


@dataclass(frozen=True)
class Tracks:
    """The uuids that spans may have; those of their lanes follow, `lanes` - 1 for each."""

    first: int
    count: int
    lanes: int

    def lane_of(self, uuid: int) -> tuple[int, int]:
        """Return the track to which a lane's track belongs, and its row in Timeline.lanes."""
        owner, lane = divmod(uuid - self.first - self.count, self.lanes - 1)
        return self.first + owner, lane + 1

    @property
    def stop(self) -> int:
        """The first uuid behind them all."""
        return self.first + self.count * self.lanes


@dataclass(frozen=True)
class Piece:
    """Whole packets, and what must be told before them."""

    content: memoryview
    """Only until the next piece is asked for."""
    new_tracks: list[int]
    """Tracks of lanes that occur for the first time."""
    most_values: int
    """Payloads of one event, so far."""


class Encoder:
    """Writes packets of one sequence."""

    def __init__(
        self, names: Names, tracks: Tracks, sequence: int, zero_ns: int, reset: bytes
    ) -> None:
        """Begin at `zero_ns`, to which the packet `reset` sets the sequence's clock back."""
        self._library = _library()
        setup = Setup(
            event_names=names.of_event.ctypes.data,
            running_names=names.of_running.ctypes.data,
            events=len(names.of_event),
            reset=ctypes.cast(ctypes.c_char_p(reset), ctypes.c_void_p),
            reset_size=len(reset),
            zero_ns=zero_ns,
            first_track=tracks.first,
            tracks=tracks.count,
            lanes=tracks.lanes,
            sequence=sequence,
            running_flag=int(SliceFlag.RUNNING),
            first_value_name=names.first_value,
        )
        for flag, name in names.flags.items():
            setup.flag_names[flag.bit_length() - 1] = name
        self._buffer = np.empty(_ROOM, np.uint8)
        self._handle = self._library.ktrace_encoder_open(ctypes.byref(setup))
        if not self._handle:
            raise MemoryError

    def __enter__(self) -> Encoder:
        return self

    def __exit__(self, *_: object) -> None:
        self._library.ktrace_encoder_close(self._handle)
        self._handle = None

    def encode(self, batch: Batch) -> Iterator[Piece]:
        """Yield the packets of spans and of all that they hold, in bounded pieces.

        Raises:
            ValueError: rows contradict each other.
            MemoryError: there is none left.
        """
        spans, part, arrows = batch.spans, batch.part, batch.arrows
        slices, instants, values = (
            np.ascontiguousarray(rows, dtype)
            for rows, dtype in (
                (part.slices, SLICE),
                (part.instants, INSTANT),
                (part.values, VALUE),
            )
        )
        numbers = np.ascontiguousarray(spans.numbers, np.int64)
        rows = Rows(
            spans=spans.rows.ctypes.data,
            numbers=numbers.ctypes.data,
            columns=spans.columns.ctypes.data,
            slices=slices.ctypes.data,
            instants=instants.ctypes.data,
            values=values.ctypes.data,
            first_flow=arrows.first.ctypes.data if arrows else None,
            flows=arrows.ends.ctypes.data if arrows else None,
            span_count=len(spans.rows),
            column_count=len(spans.columns),
            slice_count=len(slices),
            instant_count=len(instants),
            value_count=len(values),
            flow_count=len(arrows.ends) if arrows else 0,
        )
        self._library.ktrace_encoder_start(self._handle, ctypes.byref(rows))
        status = Status.MORE
        while status == Status.MORE:
            status, size = self._write()
            if size:
                yield self._piece(size)
            elif status == Status.MORE:
                self._buffer = np.empty(2 * len(self._buffer), np.uint8)
        if status == Status.NO_MEMORY:
            raise MemoryError
        if status != Status.DONE:
            raise ValueError(_BUGS[status])

    def _write(self) -> tuple[Status, int]:
        size = ctypes.c_uint64()
        status = self._library.ktrace_encoder_write(
            self._handle, self._buffer.ctypes.data, len(self._buffer), ctypes.byref(size)
        )
        return Status(status), size.value

    def _piece(self, size: int) -> Piece:
        count = ctypes.c_uint64()
        tracks = self._library.ktrace_encoder_new_tracks(self._handle, ctypes.byref(count))
        return Piece(
            content=self._buffer.data[:size],
            new_tracks=tracks[: count.value],
            most_values=int(self._library.ktrace_encoder_most_values(self._handle)),
        )


@cache
def _library() -> ctypes.CDLL:
    library = load_reader()
    pointer, size = ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64)
    for name, result, arguments in (
        ("open", pointer, [ctypes.POINTER(Setup)]),
        ("close", None, [pointer]),
        ("start", None, [pointer, ctypes.POINTER(Rows)]),
        ("write", ctypes.c_int32, [pointer, pointer, ctypes.c_uint64, size]),
        ("new_tracks", ctypes.POINTER(ctypes.c_uint64), [pointer, size]),
        ("most_values", ctypes.c_uint32, [pointer]),
    ):
        function = getattr(library, f"ktrace_encoder_{name}")
        function.restype, function.argtypes = result, arguments
    return library
