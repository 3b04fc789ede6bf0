"""Bytes against Google's own reader and writer."""

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktrace_cli.export.perfetto import write_perfetto
from ktrace_cli.export.protobuf import Rows, interleave, number, text, varint, varint_sizes
from support.recording import Wave
from support.timelines import OUTER, decode
from support.words import i32, pop, push

_numbers = st.integers(0, (1 << 64) - 1) | st.sampled_from(
    [0, 127, 128, 16383, 16384, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]
)


def test_varints_have_seven_bits_per_byte() -> None:
    assert varint(0) == b"\x00"
    assert varint(300) == b"\xac\x02"
    assert varint(-1) == b"\xff" * 9 + b"\x01"
    assert number(8, 1) == b"\x40\x01"
    assert text(2, "é") == b"\x12\x02\xc3\xa9"


@given(st.lists(_numbers))
def test_columns_of_varints_are_the_varints(values: list[int]) -> None:
    column = np.array(values, np.uint64)
    rows = Rows(len(values))
    rows.varint(column)

    content, sizes = rows.flatten()

    assert content.tobytes() == b"".join(varint(value) for value in values)
    assert sizes.tolist() == varint_sizes(column).tolist() == [len(varint(v)) for v in values]


@given(st.lists(st.tuples(_numbers, st.booleans(), st.binary(max_size=5))))
def test_rows_may_lack_columns_and_have_tails(rows: list[tuple[int, bool, bytes]]) -> None:
    values = np.array([value for value, _, _ in rows], np.uint64)
    is_used = np.array([used for _, used, _ in rows], np.bool_)
    builder = Rows(len(rows))
    builder.constant(b"ab")
    builder.varint(values, is_used)
    builder.fixed64(values, ~is_used)
    tails = np.frombuffer(b"".join(tail for _, _, tail in rows), np.uint8)
    sizes = np.array([len(tail) for _, _, tail in rows], np.int64)

    heads, head_sizes = builder.flatten()
    content = interleave(heads, head_sizes, tails, sizes).tobytes()

    assert content == b"".join(
        b"ab" + (varint(value) if used else value.to_bytes(8, "little")) + tail
        for value, used, tail in rows
    )


def test_google_s_reader_reads_a_whole_trace(tmp_path: Path) -> None:
    trace = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    wave = Wave(main=[push(OUTER, 3100, values=[i32(-1)]), pop(5200)])
    out = BytesIO()

    write_perfetto(decode([wave], tmp_path), out)

    packets = trace.Trace.FromString(out.getvalue()).packet
    events = [packet for packet in packets if packet.HasField("track_event")]
    assert [packet.track_event.type for packet in events] == [1, 1, 1, 2, 2, 2]
    (annotation,) = events[2].track_event.debug_annotations
    assert annotation.int_value == -1
    stamps = np.cumsum([packet.timestamp for packet in events])
    assert stamps.tolist() == [0, 0, 1001, 2002, 4290, 4290]
    assert {packet.trusted_packet_sequence_id for packet in events} == {75}
