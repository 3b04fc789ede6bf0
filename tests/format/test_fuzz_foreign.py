"""Whatever another tool's buffer, launches and names hold: a timeline, counts or words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktrace_cli.errors import KtraceError
from ktrace_cli.foreign.flydsl.layout import RECORD, WAVE_HEADER, whole_layout
from ktrace_cli.foreign.flydsl.recorded import build_recorded, holds_flydsl
from ktrace_cli.model import Timeline
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import ChunkType, ForeignTool
from ktrace_cli.trace_file.reader import parse_recording
from support.code_object import EventSource, KernelSource, make_code_object, struct_bytes
from support.recording import HOST_EPOCH_NS, RecordingBuilder, with_strings

PATH = Path("run.bin")
SIZE = 65536
FRONT = 512
"""Bytes in front of the first region, of one partition."""
IMAGE = make_code_object([KernelSource("k", unit_key=0x11)], [EventSource(1, "load")])
WORDS = st.integers(0, 2**32 - 1)
LONG = st.one_of(
    st.sampled_from([0, 1, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1]),
    st.integers(0, 2**64 - 1),
    st.integers(1000, 5000),
)
NUMBERS = st.one_of(st.integers(0, 3), WORDS)


class Bytes(bytes):
    """Bytes that hypothesis need not write out."""

    def __repr__(self) -> str:
        return f"<{len(self)} bytes, without zeros at the end {self.rstrip(bytes(1)).hex()[:400]}>"


def buffer_chunk(data: bytes, **fields: int) -> bytes:
    told = {"tool": ForeignTool.FLYDSL, "number": 1, "size": SIZE, "length": len(data), **fields}
    return struct_bytes(layout.FOREIGN_BUFFER, **told) + data


def launch_chunk(number: int = 1, **fields: object) -> bytes:
    record = np.zeros(1, layout.FOREIGN_LAUNCH)
    record["number"] = number
    told = {"grid": (1, 1, 1), "block": (64, 1, 1), "expected": 1, **fields}
    for name, value in told.items():
        record["launch"][name] = value
    return record.tobytes()


def names_chunk(text: str) -> bytes:
    return with_strings(layout.FOREIGN_NAMES, {"tool": ForeignTool.FLYDSL}, (text,))


def recording_with(*chunks: tuple[ChunkType, bytes], clock: int | None = None) -> bytes:
    recording = RecordingBuilder()
    code_object = recording.add_code_object(IMAGE)
    recording.add_kernel("k", code_object=code_object, unit_key=0x11)
    if clock is not None:
        recording.add_clock(realtime=clock)
    for kind, payload in chunks:
        recording.add_chunk(kind, payload, flags=layout.ChunkFlag.SKIPPABLE)
    return recording.to_bytes()


def words(error: KtraceError) -> None:
    assert error.what
    assert error.why


def decode(data: bytes) -> Timeline | None:
    """Decode a recording; None: it was refused in words, or has nothing of FlyDSL's."""
    try:
        recording = parse_recording(data, PATH)
        if not holds_flydsl(recording):
            return None
        found, notes = build_recorded(recording)
    except KtraceError as error:
        words(error)
        return None
    assert all(notes)
    assert all(count >= 0 for count in found.losses.counted().values())
    assert (found.slices["ticks"] >= 0).all()
    return found


@st.composite
def regions(draw: st.DrawFn) -> bytes:
    """Counters and up to three waves, each field of which may be anything."""
    front = np.zeros(FRONT // 4, "<u4")
    front[1], front[64] = draw(NUMBERS), draw(NUMBERS)
    parts = [front.tobytes()]
    for _ in range(draw(st.integers(0, 3))):
        header = struct_bytes(
            WAVE_HEADER, attempted=draw(NUMBERS), wave=draw(NUMBERS), dispatch=draw(LONG),
            queue=draw(LONG), block_x=draw(NUMBERS), block_y=draw(NUMBERS),
        )  # fmt: skip
        events = [
            struct_bytes(
                RECORD,
                ts=draw(LONG),
                payload=draw(LONG),
                hw_id=draw(WORDS),
                xcc_id=draw(NUMBERS),
                start=draw(NUMBERS),
                packed=draw(WORDS) if draw(st.booleans()) else draw(st.integers(0, 4)) << 24 | 1,
            )
            for _ in range(draw(st.integers(0, 4)))
        ]
        parts.append((header + b"".join(events)).ljust(8192, b"\0"))
    return Bytes(b"".join(parts))


LAUNCHES = st.builds(
    launch_chunk,
    number=st.sampled_from([1, 1, 2, 2**64 - 1]),
    kernel=st.sampled_from([0, 0, 0, 7, 2**32 - 1]),
    stream=LONG,
    grid=st.tuples(NUMBERS, NUMBERS, NUMBERS),
    block=st.tuples(NUMBERS, NUMBERS, NUMBERS),
    expected=NUMBERS,
    launched_ns=LONG,
    submitted_ns=LONG,
    completed_ns=LONG,
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(regions(), min_size=1, max_size=2),
    st.lists(LAUNCHES, max_size=4),
    st.sampled_from([0, 31, 32, 512, 4096, SIZE, 1 << 28, 2**63, 2**64 - 1]),
    st.sampled_from([0, 0, 0, 5]),
    st.sampled_from([None, 1000]),
)
def test_any_waves_and_launches_give_a_timeline_or_words(
    buffers: list[bytes], launches: list[bytes], size: int, device: int, clock: int | None
) -> None:
    chunks = [(ChunkType.FOREIGN_LAUNCH, each) for each in launches]
    for number, data in enumerate(buffers, 1):
        fields = {"size": size if number == 1 else SIZE, "number": number, "device": device}
        chunks.append((ChunkType.FOREIGN_BUFFER, buffer_chunk(data, **fields)))

    decode(recording_with(*chunks, clock=clock))


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([9, 10, 11]),
    st.binary(max_size=300),
    st.integers(0, 400),
    st.booleans(),
)
def test_any_bytes_in_such_a_chunk_are_counted(
    kind: int, noise: bytes, at: int, is_valid_besides: bool
) -> None:
    good = {9: buffer_chunk(bytes(SIZE)), 10: launch_chunk(), 11: names_chunk("{}")}[kind]
    payload = good[:at] + noise if is_valid_besides else noise
    others = (ChunkType.FOREIGN_BUFFER, buffer_chunk(bytes(FRONT + 8192), number=2))

    decode(recording_with((ChunkType(kind), payload), others))


@settings(max_examples=60, deadline=None)
@given(st.one_of(JSON, st.builds(lambda names: {"names": names, "version": "0.5.0"}, JSON)))
def test_any_names_leave_events_that_are_called_after_their_ids(document: object) -> None:
    names = (ChunkType.FOREIGN_NAMES, names_chunk(json.dumps(document)))
    found = decode(recording_with((ChunkType.FOREIGN_BUFFER, buffer_chunk(WAVE)), names))

    assert found is not None
    assert len(found.slices) == 1


def one_wave() -> bytes:
    front = np.zeros(FRONT // 4, "<u4")
    front[1], front[64] = 1, 1
    header = struct_bytes(WAVE_HEADER, attempted=2, queue=9, dispatch=1)
    begin = struct_bytes(RECORD, ts=1000, packed=1 << 24 | 1)
    end = struct_bytes(RECORD, ts=1100, packed=2 << 24 | 1)
    return front.tobytes() + (header + begin + end).ljust(8192, b"\0")


WAVE = one_wave()


def test_the_wave_that_is_damaged_here_is_read() -> None:
    assert whole_layout(SIZE).header_slots * 32 == FRONT
    launch = (ChunkType.FOREIGN_LAUNCH, launch_chunk(launched_ns=HOST_EPOCH_NS))

    found = decode(recording_with((ChunkType.FOREIGN_BUFFER, buffer_chunk(WAVE)), launch))

    assert found is not None
    assert found.slices["ns"].tolist() == [1000]
    assert [kernel.name for kernel in found.kernels] == ["k"]


@pytest.mark.parametrize("text", ["[" * 100_000, '{"names": ' + "9" * 5000 + "}"])
def test_names_that_python_refuses_to_read_are_no_names(text: str) -> None:
    chunks = (
        (ChunkType.FOREIGN_BUFFER, buffer_chunk(WAVE)),
        (ChunkType.FOREIGN_NAMES, names_chunk(text)),
    )

    found = decode(recording_with(*chunks))

    assert found is not None
    assert found.losses.counted() == {"unnamed_events": 1}


def test_a_stream_of_any_number_is_read() -> None:
    launches = [(ChunkType.FOREIGN_LAUNCH, launch_chunk(stream=2**63 - 1, kernel=9))]
    launches.append((ChunkType.FOREIGN_LAUNCH, launch_chunk(stream=2**32 - 1, number=7)))

    found = decode(recording_with((ChunkType.FOREIGN_BUFFER, buffer_chunk(WAVE)), *launches))

    assert found is not None
    assert len(found.slices) == 1
