"""Perfetto traces as rocprofv3 and others write them."""

import zlib
from pathlib import Path
from typing import Any

import pytest

from ktrace_cli.errors import KtraceError
from ktrace_cli.export.protobuf import message, number, text, varint
from ktrace_cli.importers.host_trace import HostProcess, HostTrace, HostTrack
from ktrace_cli.importers.perfetto_trace import read_perfetto
from ktrace_cli.importers.protobuf_fields import MalformedError, fields, signed
from support.host_traces import arrows, named_slices, told

PATH = Path("x.pftrace")
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
HEAD = number(10, 5)
PROCESS, THREAD, STREAM = 100, 101, 102


def packet(*parts: bytes) -> bytes:
    return message(1, HEAD, *parts)


def descriptors() -> bytes:
    process = message(3, number(1, 4242), text(6, "python"))
    thread = message(4, number(1, 4242), number(2, 77), text(5, "main"))
    return b"".join(
        packet(message(60, *track))
        for track in (
            (number(1, PROCESS), process),
            (number(1, THREAD), number(5, PROCESS), thread),
            (number(1, STREAM), number(5, PROCESS), text(2, "STREAM [1]")),
        )
    )


def event(ns: int, kind: int, track: int, *parts: bytes, **told: int | str) -> bytes:
    arguments = [
        message(4, text(10, name), number(3, value) if isinstance(value, int) else text(6, value))
        for name, value in told.items()
    ]
    body = message(11, number(9, kind), number(11, track), *parts, *arguments)
    return packet(number(8, ns), body)


def named(name: str, category: str = "hip_api") -> bytes:
    return text(22, category) + text(23, name)


def flow(field: int, number_: int) -> bytes:
    return varint(field << 3 | 1) + number_.to_bytes(8, "little")


def read(*packets: bytes) -> HostTrace:
    return read_perfetto(descriptors() + b"".join(packets), PATH)


def test_begins_and_ends_become_slices_of_their_tracks() -> None:
    trace = read(
        event(1_000, BEGIN, THREAD, named("hipLaunchKernel"), flow(47, 9), corr_id=9),
        event(1_400, END, THREAD),
        event(2_000, BEGIN, STREAM, named("gemm", "kernel_dispatch"), flow(48, 9)),
        event(3_000, END, STREAM, queue=4),
        event(1_200, INSTANT, THREAD, named("mark")),
    )

    assert named_slices(trace) == [
        ("hipLaunchKernel", "thread 77", 1_000, 1_400),
        ("mark", "thread 77", 1_200, 1_200),
        ("gemm", "STREAM [1]", 2_000, 3_000),
    ]
    assert trace.processes == (HostProcess(4242, "python"),)
    assert trace.tracks[0] == HostTrack(0, "thread 77", thread=77)
    assert trace.kernels.tolist() == [2]
    assert told(trace, "corr_id") == {0: 9}
    assert told(trace, "queue") == {2: 4}
    assert arrows(trace) == [("hipLaunchKernel", "gemm")]


def test_kernels_that_were_cut_have_their_own_times_again() -> None:
    """rocprofv3 cuts kernels that overlap in the middle; their arguments tell the truth."""
    trace = read(
        event(1_000, BEGIN, STREAM, named("a", "kernel_dispatch"), begin_ns=1_000, end_ns=2_000),
        event(1_750, END, STREAM),
        event(1_750, BEGIN, STREAM, named("b", "kernel_dispatch"), begin_ns=1_500, end_ns=3_000),
        event(3_000, END, STREAM),
    )

    assert named_slices(trace) == [
        ("a", "STREAM [1]", 1_000, 2_000),
        ("b", "STREAM [1]", 1_500, 3_000),
    ]
    assert trace.repairs.counted() == {"uncut_kernels": 2}


def test_interned_names_are_those_of_their_sequence() -> None:
    def interned(sequence: int, name: str) -> bytes:
        entry = message(2, number(1, 1), text(2, name))
        return message(1, number(10, sequence), number(13, 1), message(12, entry))

    def begin(sequence: int, ns: int) -> bytes:
        body = message(11, number(9, INSTANT), number(11, THREAD), number(10, 1))
        return message(1, number(10, sequence), number(8, ns), body)

    trace = read(interned(5, "five"), interned(6, "six"), begin(5, 10), begin(6, 20), begin(5, 30))

    assert [name for name, *_ in named_slices(trace)] == ["five", "six", "five"]


def test_clocks_of_a_sequence_are_moved_to_boottime() -> None:
    clocks = [
        message(1, number(1, 6), number(2, 5_000)),
        message(1, number(1, 3), number(2, 1_000)),
        message(1, number(1, 64), number(2, 0), number(3, 1), number(4, 10)),
    ]
    delta = message(59, number(58, 64))

    def mark(clock: bytes, ns: int) -> bytes:
        body = message(11, number(9, INSTANT), number(11, THREAD), text(23, "m"))
        return packet(number(8, ns), clock, body)

    trace = read(
        packet(message(6, *clocks)),
        packet(delta),
        mark(b"", 2),
        mark(b"", 3),
        mark(number(58, 3), 1_700),
        mark(number(58, 6), 5_900),
        mark(number(58, 99), 1),
    )

    assert [begin for _, _, begin, _ in named_slices(trace)] == [5_020, 5_050, 5_700, 5_900]
    assert trace.repairs.counted() == {"no_times": 1}


def test_what_is_lost_is_counted() -> None:
    stats = message(35, message(1, number(18, 7), number(3, 2)))
    trace = read(
        event(1_000, END, THREAD),
        event(2_000, BEGIN, THREAD, named("open")),
        event(3_000, COUNTER, THREAD),
        event(4_000, INSTANT, THREAD, named("done"), flow(48, 1)),
        packet(stats),
        packet(stats),
    )

    assert named_slices(trace) == [
        ("open", "thread 77", 2_000, 2_000),
        ("done", "thread 77", 4_000, 4_000),
    ]
    assert trace.repairs.counted() == {
        "unclosed": 1,
        "stray_ends": 1,
        "loose_flows": 1,
        "recorder_losses": 9,
        "not_shown": 1,
    }


def test_compressed_packets_are_read() -> None:
    inner = event(1_000, INSTANT, THREAD, named("mark"))

    trace = read(message(1, message(50, zlib.compress(inner))))

    assert named_slices(trace) == [("mark", "thread 77", 1_000, 1_000)]


def test_compressed_packets_in_compressed_packets_are_not_followed() -> None:
    inner = message(1, message(50, zlib.compress(event(1_000, INSTANT, THREAD, named("mark")))))

    trace = read(message(1, message(50, zlib.compress(inner))))

    assert len(trace.slices) == 0
    assert trace.repairs.counted() == {"malformed_rows": 1}


def test_a_torn_end_is_counted_and_what_is_before_it_shown() -> None:
    whole = event(1_000, INSTANT, THREAD, named("mark"))

    trace = read(whole, whole[:-3])

    assert len(trace.slices) == 1
    assert trace.repairs.counted() == {"cut_off": 1}


def test_a_file_that_is_no_trace_is_an_error() -> None:
    with pytest.raises(KtraceError, match=r"cannot read x\.pftrace"):
        read_perfetto(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", PATH)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"\x08\x96\x01", [(1, 150)]),
        (b"\x12\x02hi\x19\x01\0\0\0\0\0\0\0", [(2, b"hi"), (3, 1)]),
        (b"\x25\xff\0\0\0", [(4, 255)]),
        (b"\x08" + b"\xff" * 9 + b"\x01", [(1, (1 << 64) - 1)]),
    ],
)
def test_fields_are_numbers_and_bytes(data: bytes, found: list[tuple[int, Any]]) -> None:
    assert list(fields(data)) == found


@pytest.mark.parametrize("data", [b"\x08", b"\x12\x05hi", b"\x0b", b"\x08" + b"\xff" * 11])
def test_bytes_that_are_no_message_are_refused(data: bytes) -> None:
    with pytest.raises(MalformedError):
        list(fields(data))


def test_numbers_of_64_bits_may_be_negative() -> None:
    assert [signed(5), signed((1 << 64) - 1)] == [5, -1]
