"""Payloads whose checksum is right but whose sizes lie: counted, never trusted, never a crash."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktrace_cli.errors import TraceFileError
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import ChunkFlag, ChunkType
from ktrace_cli.trace_file.reader import parse_recording
from ktrace_cli.trace_file.recording import Recording
from support.code_object import struct_bytes
from support.recording import RecordingBuilder, Wave, with_strings
from support.words import mark

DTYPE_BY_TYPE = {
    ChunkType.PROCESS: layout.PROCESS,
    ChunkType.DEVICE: layout.DEVICE,
    ChunkType.CODE_OBJECT: layout.CODE_OBJECT,
    ChunkType.KERNEL: layout.KERNEL,
    ChunkType.DISPATCH: layout.DISPATCH,
    ChunkType.CLOCK: layout.CLOCK,
    ChunkType.LOSS: layout.LOSS,
    ChunkType.END: layout.END,
}
STRINGS = {
    ChunkType.PROCESS: ("host", "/", "app"),
    ChunkType.DEVICE: ("gfx942", "name"),
    ChunkType.KERNEL: ("k", "k.kd"),
    ChunkType.LOSS: ("k", "why"),
}


def read_one(chunk_type: int, payload: bytes, flags: int = 0) -> Recording:
    recording = RecordingBuilder(empty=True)
    recording.add_chunk(chunk_type, payload, flags=flags)
    return parse_recording(recording.to_bytes(), Path("run.bin"))


def holds_a_record(recording: Recording) -> bool:
    tables = (recording.devices, recording.code_objects, recording.kernels, recording.dispatches)
    return bool(recording.process or any(tables) or len(recording.clocks) or recording.losses)


@pytest.mark.parametrize("chunk_type", list(DTYPE_BY_TYPE))
def test_an_empty_payload_is_a_damaged_chunk(chunk_type):
    recording = read_one(chunk_type, b"")

    assert not holds_a_record(recording)
    assert sum(recording.damage.counted().values()) == 1


@pytest.mark.parametrize("chunk_type", list(STRINGS))
@pytest.mark.parametrize("size", [0, 1, 1000, 0xFFFFFFFF])
def test_a_string_size_that_lies_is_a_damaged_chunk(chunk_type, size):
    payload = bytearray(with_strings(DTYPE_BY_TYPE[chunk_type], {}, STRINGS[chunk_type]))
    offset = DTYPE_BY_TYPE[chunk_type].fields["strings_size"][1]
    payload[offset : offset + 4] = size.to_bytes(4, "little")

    recording = read_one(chunk_type, bytes(payload))

    assert not holds_a_record(recording)
    assert recording.damage.counted() == {"damaged_chunks": 1}


@pytest.mark.parametrize("chunk_type", list(STRINGS))
def test_a_string_too_few_is_a_damaged_chunk(chunk_type):
    payload = with_strings(DTYPE_BY_TYPE[chunk_type], {}, STRINGS[chunk_type][:-1])

    recording = read_one(chunk_type, payload)

    assert recording.damage.counted() == {"damaged_chunks": 1}


def test_bytes_of_a_path_that_are_no_utf8_stay_visible():
    text = b"host\0/tmp/\xff\xfe\0/bin/app\0"
    payload = struct_bytes(layout.PROCESS, strings_size=len(text)) + text

    recording = read_one(ChunkType.PROCESS, payload)

    assert recording.process is not None
    assert recording.process.directory == r"/tmp/\xff\xfe"


@pytest.mark.parametrize("size", [0, 5, 1 << 40, (1 << 64) - 1])
def test_a_code_object_whose_size_lies_is_a_damaged_chunk(size):
    payload = struct_bytes(layout.CODE_OBJECT, size=size) + bytes(16)

    recording = read_one(ChunkType.CODE_OBJECT, payload)

    assert recording.damage.counted() == {"damaged_chunks": 1}


def test_a_code_object_with_another_hash_is_a_damaged_chunk():
    recording = RecordingBuilder()
    recording.add_code_object(b"\x7fELF and so on", sha256=bytes(range(32)))

    read = parse_recording(recording.to_bytes(), Path("run.bin"))

    assert read.code_objects == {}
    assert read.damage.counted() == {"damaged_chunks": 1}


def dispatch(waves: int, extents: list[tuple[int, int, int]], words: int, **fields: int) -> bytes:
    fields = {"region_log2": 10, "wave_slots": 8, **fields}
    payload = struct_bytes(layout.DISPATCH, waves=waves, **fields)
    payload += bytes(layout.WAVE_HEADER.itemsize * len(extents))
    for slot, main, side in extents:
        payload += struct_bytes(layout.WAVE_EXTENT, slot=slot, main_words=main, side_words=side)
    return payload + bytes(words * layout.WORD.itemsize)


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(dispatch(1 << 31, [], 0), id="more headers than bytes"),
        pytest.param(dispatch(1, [(0, 3, 0)], 2), id="fewer words than extents say"),
        pytest.param(dispatch(1, [(0, 1, 0)], 2), id="more words than extents say"),
        pytest.param(dispatch(1, [(0, 0xFFFFFFFF, 0xFFFFFFFF)], 2), id="counts that overflow"),
        pytest.param(dispatch(2, [(0, 1, 0)], 1), id="a header too few"),
        pytest.param(dispatch(2, [(3, 1, 0), (3, 1, 0)], 2), id="one slot twice"),
        pytest.param(dispatch(2, [(3, 1, 0), (1, 1, 0)], 2), id="slots out of order"),
        pytest.param(dispatch(1, [(8, 1, 0)], 1), id="a slot that does not exist"),
        pytest.param(dispatch(1, [(0, 1, 0)], 1, region_log2=7), id="a region without words"),
        pytest.param(dispatch(1, [(0, 1, 0)], 1, region_log2=99), id="a region of 2**99 bytes"),
    ],
)
def test_a_dispatch_that_contradicts_itself_is_counted_and_left_out(payload):
    recording = read_one(ChunkType.DISPATCH, payload)

    assert recording.dispatches == ()
    assert recording.damage.counted() == {"unreadable_dispatches": 1}


def test_a_dispatch_number_that_comes_twice_is_counted_and_read_once():
    recording = RecordingBuilder()
    recording.add_dispatch(0, [Wave(main=[mark(1, 10)])], dispatch=5)
    recording.add_dispatch(0, [Wave(main=[mark(2, 20)])], dispatch=5)

    read = parse_recording(recording.to_bytes(), Path("run.bin"))

    assert [d.words["clock"].tolist() for d in read.dispatches] == [[10]]
    assert read.damage.counted() == {"unreadable_dispatches": 1}


def test_an_unknown_skippable_chunk_is_counted():
    recording = read_one(77, bytes(8), ChunkFlag.SKIPPABLE)

    assert recording.damage.counted() == {"unknown_chunks": 1}


def test_an_unknown_chunk_that_may_not_be_skipped_is_refused():
    with pytest.raises(TraceFileError) as raised:
        read_one(77, bytes(8))

    assert raised.value.why == (
        "the chunk at offset 24 is of type 77, which this ktrace does not know and may not skip"
    )


def test_views_of_a_recording_cannot_be_written():
    recording = RecordingBuilder()
    recording.add_dispatch(0, [Wave(main=[mark(1, 10)])])

    words = parse_recording(recording.to_bytes(), Path("run.bin")).dispatches[0].words

    with pytest.raises(ValueError, match="read-only"):
        words["clock"] = 0


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(list(DTYPE_BY_TYPE)), st.binary(max_size=600))
def test_no_payload_crashes_the_reader(chunk_type, payload):
    recording = read_one(chunk_type, payload)

    for read in recording.dispatches:
        assert len(read.headers) == len(read.extents) == read.record["waves"]
        sizes = read.extents["main_words"].astype(np.uint64) + read.extents["side_words"]
        assert len(read.words) == sizes.sum()


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_dispatch_with_random_counts_crashes_the_reader(data):
    waves = data.draw(st.integers(0, 4))
    counts = st.one_of(st.integers(0, 3), st.integers(0, 0xFFFFFFFF))
    extents = data.draw(
        st.lists(st.tuples(st.integers(0, 9), counts, counts), min_size=waves, max_size=waves)
    )
    words = data.draw(st.integers(0, 12))

    recording = read_one(ChunkType.DISPATCH, dispatch(waves, extents, words))

    fits = sum(main + side for _, main, side in extents) == words
    slots = [slot for slot, _, _ in extents]
    is_ordered = slots == sorted(set(slots)) and max(slots, default=0) < 8
    assert bool(recording.dispatches) == (fits and is_ordered)
