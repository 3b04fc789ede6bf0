"""A damaged recording gives what is intact and a count, or one error that names the offset."""

import dataclasses
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktrace_cli.errors import TraceFileError
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import LossReason
from ktrace_cli.trace_file.reader import parse_recording
from ktrace_cli.trace_file.recording import Recording
from support.code_object import EventSource, KernelSource, make_code_object
from support.recording import RecordingBuilder, Wave
from support.words import i64, mark, pop, push, span, start, stop

PATH = Path("run.bin")
HEADER = layout.CHUNK_HEADER.itemsize


def make_recording() -> RecordingBuilder:
    recording = RecordingBuilder()
    image = make_code_object([KernelSource("k", unit_key=0x11)], [EventSource(1, "load")])
    code_object = recording.add_code_object(image)
    kernel = recording.add_kernel("k", code_object=code_object, unit_key=0x11)
    recording.add_clock(realtime=10)
    first = Wave(main=[push(1, 1100), start(2, 1200, token="t", values=[i64(-3)]), stop("t", 1300)])
    second = Wave(wave=1, main=[span(2, 1100, 1200), pop(1250)], side=[mark(3, 1150)])
    recording.add_dispatch(kernel, [first, second])
    recording.add_loss(LossReason.CAPTURE, count=3, kernel="k", explanation="stream capture")
    recording.add_dispatch(kernel, [second])
    recording.add_clock(realtime=2000)
    return recording


FILE = make_recording().to_bytes()


def pieces(recording: Recording) -> set[tuple[object, ...]]:
    """Everything that a recording says, as separate facts."""
    facts: set[tuple[object, ...]] = {("version", recording.version)}
    for one in (recording.process, *recording.devices.values(), *recording.kernels.values()):
        if one is not None:
            facts.add((type(one).__name__, *dataclasses.astuple(one)))
    for index, code_object in recording.code_objects.items():
        facts.add(("code object", index, code_object.sha256, code_object.image))
    for dispatch in recording.dispatches:
        arrays = (dispatch.headers, dispatch.extents, dispatch.words)
        facts.add(("dispatch", dispatch.record.tobytes(), *(a.tobytes() for a in arrays)))
    facts.update(("clock", clock.tobytes()) for clock in recording.clocks)
    facts.update(("loss", *dataclasses.astuple(loss)) for loss in recording.losses)
    if recording.end is not None:
        facts.add(("end", recording.end.tobytes()))
    return facts


INTACT = pieces(parse_recording(FILE, PATH))


def chunks_of(file: bytes) -> list[bytes]:
    """Cut a well-formed file into its header and its chunks."""
    parts = [file[:24]]
    position = 24
    while position < len(file):
        length = int.from_bytes(file[position + 8 : position + 16], "little")
        parts.append(file[position : position + HEADER + length])
        position += HEADER + length
    return parts


def assert_nothing_silent(damaged: bytes) -> Recording | None:
    """Read damaged bytes; return None if they were refused in words."""
    refusal = None
    try:
        recording = parse_recording(damaged, PATH)
    except TraceFileError as error:
        refusal = error
    if refusal is not None:
        assert "run.bin" in refusal.what
        assert "offset" in refusal.why
        assert refusal.fix
        return None
    found = pieces(recording)
    assert found <= INTACT, "it shows something that was never recorded"
    if found != INTACT:
        assert recording.damage.counted(), "something is missing without a word"
    return recording


def test_an_undamaged_recording_has_no_damage():
    recording = parse_recording(FILE, PATH)

    assert recording.damage.counted() == {}
    assert [dispatch.number for dispatch in recording.dispatches] == [1, 2]
    assert len(INTACT) == 11


def test_a_recording_cut_at_any_byte_is_read_up_to_there():
    for size in range(len(FILE)):
        recording = assert_nothing_silent(FILE[:size])

        assert (recording is None) == (size < 24), size
        if recording is not None:
            assert recording.damage.not_closed == 1, size


def test_a_cut_at_a_chunks_end_tears_nothing():
    parts = chunks_of(FILE)

    recording = assert_nothing_silent(b"".join(parts[:-1]))

    assert recording is not None
    assert recording.damage.counted() == {"not_closed": 1}


def test_a_cut_inside_a_chunk_counts_the_bytes_of_its_beginning():
    recording = assert_nothing_silent(FILE[:-10])

    assert recording is not None
    assert recording.damage.counted() == {"torn_bytes": HEADER + 56 - 10, "not_closed": 1}
    assert len(recording.dispatches) == 2


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_any_changed_byte_is_noticed(flip):
    for offset in range(len(FILE)):
        damaged = bytearray(FILE)
        damaged[offset] ^= flip

        recording = assert_nothing_silent(bytes(damaged))

        if recording is not None:
            assert recording.damage.counted(), offset


def test_a_changed_payload_costs_its_own_chunk_only():
    parts = chunks_of(FILE)
    offset = sum(map(len, parts[:6])) + HEADER + 3  # in the first dispatch
    damaged = bytearray(FILE)
    damaged[offset] ^= 0xFF

    recording = assert_nothing_silent(bytes(damaged))

    assert recording is not None
    assert recording.damage.counted() == {"damaged_chunks": 1}
    assert [dispatch.number for dispatch in recording.dispatches] == [2]


def test_a_changed_chunk_header_skips_to_the_next_chunk():
    parts = chunks_of(FILE)
    damaged = bytearray(FILE)
    damaged[sum(map(len, parts[:6])) + 8] ^= 0xFF  # the first dispatch's length

    recording = assert_nothing_silent(bytes(damaged))

    assert recording is not None
    assert recording.damage.counted() == {"skipped_bytes": len(parts[6]), "missing_chunks": 1}
    assert [dispatch.number for dispatch in recording.dispatches] == [2]


def test_bytes_lost_from_the_middle_of_a_chunk_leave_the_next_chunk_readable():
    parts = chunks_of(FILE)
    parts[6] = parts[6][:-24]

    recording = assert_nothing_silent(b"".join(parts))

    assert recording is not None
    assert recording.damage.damaged_chunks == 1
    assert recording.damage.skipped_bytes == len(parts[6])
    assert [dispatch.number for dispatch in recording.dispatches] == [2]


def test_bytes_put_between_chunks_are_skipped_and_counted():
    parts = chunks_of(FILE)
    parts.insert(5, b"noise")

    recording = assert_nothing_silent(b"".join(parts))

    assert recording is not None
    assert recording.damage.counted() == {"skipped_bytes": 5}
    assert pieces(recording) == INTACT


def test_a_lost_chunk_is_missed_by_its_number():
    parts = chunks_of(FILE)
    del parts[6]

    recording = assert_nothing_silent(b"".join(parts))

    assert recording is not None
    assert recording.damage.counted() == {"missing_chunks": 1}


def test_chunks_out_of_order_say_the_same():
    header, *parts = chunks_of(FILE)
    random.Random(7).shuffle(parts)

    recording = parse_recording(header + b"".join(parts), PATH)

    assert pieces(recording) == INTACT
    assert [dispatch.number for dispatch in recording.dispatches] == [1, 2]
    assert recording.clocks["realtime"].tolist() == [10, 2000]


def test_a_repeated_chunk_is_counted_and_read_once():
    header, *parts = chunks_of(FILE)

    recording = parse_recording(b"".join([header, *parts, parts[5]]), PATH)

    assert pieces(recording) == INTACT
    assert recording.damage.counted() == {"damaged_chunks": 1}


def test_two_recordings_in_one_file_are_not_mixed():
    recording = assert_nothing_silent(FILE + FILE)

    assert recording is not None
    assert pieces(recording) == INTACT
    assert recording.damage.skipped_bytes == 24
    assert recording.damage.damaged_chunks == len(chunks_of(FILE)) - 1


def test_a_sync_word_among_the_words_of_a_wave_is_no_chunk():
    sync = int.from_bytes(layout.CHUNK_SYNC.to_bytes(4, "little"), "little")
    recording = RecordingBuilder()
    recording.add_dispatch(0, [Wave(main=[push(1, sync), pop(sync)])])
    damaged = bytearray(recording.to_bytes())
    damaged[-HEADER - 56 - 5] ^= 0xFF  # the dispatch's payload no longer matches

    read = parse_recording(bytes(damaged), PATH)

    assert read.damage.counted() == {"damaged_chunks": 1}
    assert read.end is not None


@st.composite
def mutations(draw: st.DrawFn) -> bytes:
    """Flip, cut, insert, repeat and move, several times."""
    file = FILE
    for _ in range(draw(st.integers(1, 4))):
        action = draw(st.sampled_from(["flip", "cut", "drop", "insert", "shuffle", "repeat"]))
        if action == "flip":
            content = bytearray(file)
            for _ in range(draw(st.integers(1, 8))):
                content[draw(st.integers(0, len(content) - 1))] ^= draw(st.integers(1, 255))
            file = bytes(content)
        elif action == "cut":
            file = file[: draw(st.integers(24, len(file)))]
        elif action == "drop":
            begin = draw(st.integers(24, len(file)))
            file = file[:begin] + file[begin + draw(st.integers(0, 600)) :]
        elif action == "insert":
            begin = draw(st.integers(24, len(file)))
            file = file[:begin] + draw(st.binary(max_size=64)) + file[begin:]
        else:
            header, *parts = chunks_of(FILE)
            if action == "shuffle":
                parts = draw(st.permutations(parts))
            else:
                parts.append(draw(st.sampled_from(parts)))
            file = header + b"".join(parts)
    return file


@settings(max_examples=300, deadline=None)
@given(mutations())
def test_no_mixture_of_damage_is_silent(damaged):
    assert_nothing_silent(damaged)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400))
def test_noise_after_the_file_header_is_counted(noise):
    recording = parse_recording(FILE[:24] + noise, PATH)

    assert pieces(recording) == {("version", (1, 0))}
    assert recording.damage.torn_bytes == len(noise)
