"""Reading recordings from files: what is there, and what is said of files that are none."""

import json
import os
import zlib
from pathlib import Path

import pytest

from ktrace_cli.errors import TraceFileError
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import ClockMethod, Kind, LossReason
from ktrace_cli.trace_file.reader import read_recording
from support.code_object import KernelSource, make_code_object, struct_bytes
from support.recording import RecordingBuilder, Wave, file_header
from support.words import mark, pop, push


def refusal(path: Path) -> TraceFileError:
    with pytest.raises(TraceFileError) as raised:
        read_recording(path)
    assert str(path) in raised.value.what
    return raised.value


def test_everything_that_was_recorded_is_read(tmp_path):
    image = make_code_object([KernelSource("_Z1kPf", unit_key=0x11)])
    recording = RecordingBuilder()
    code_object = recording.add_code_object(image)
    kernel = recording.add_kernel("_Z1kPf", code_object=code_object, unit_key=0x11)
    recording.add_dispatch(
        kernel,
        [Wave(main=[push(1, 1100), pop(1500)], side=[mark(2, 1200), mark(3, 1300)])],
        grid=(2, 3, 4),
        stream=9,
    )
    recording.add_clock(realtime=7, host_ns=99, uncertainty_ns=3)
    recording.add_loss(LossReason.CAPTURE, count=4, kernel="_Z1kPf", explanation="captured")
    path = recording.write(tmp_path / "run.bin", launches=12)

    read = read_recording(path)

    assert read.damage.counted() == {}
    assert read.version == (1, 0)
    assert read.process is not None
    assert (read.process.pid, read.process.host) == (4242, "host")
    assert read.process.arguments == ("app", "--size", "64")
    assert read.devices[0].target == "gfx942:sramecc+:xnack-"
    assert read.devices[0].is_software
    assert read.code_objects[0].image == image
    assert read.kernels[0].name == "_Z1kPf"
    assert read.kernels[0].symbol == "_Z1kPf.kd"
    (dispatch,) = read.dispatches
    assert (dispatch.number, dispatch.kernel, dispatch.device) == (1, 0, 0)
    assert dispatch.record["grid"].tolist() == [2, 3, 4]
    assert dispatch.record["stream"] == 9
    assert dispatch.headers["memtime_begin"].tolist() == [1000]
    assert dispatch.extents[["slot", "main_words", "side_words"]].tolist() == [(0, 2, 2)]
    # The newest side word comes first: side words grow downward.
    assert dispatch.words["clock"].tolist() == [1100, 1500, 1300, 1200]
    assert read.clocks.tolist() == [(0, ClockMethod.SOFTWARE, 7, 99, 3)]
    assert [(loss.reason, loss.count) for loss in read.losses] == [(LossReason.CAPTURE, 4)]
    assert read.end is not None
    assert read.end["launches"] == 12


def test_a_recording_that_is_only_a_header_was_not_closed(tmp_path):
    path = tmp_path / "run.bin"
    path.write_bytes(file_header())

    read = read_recording(path)

    assert read.process is None
    assert read.damage.counted() == {"not_closed": 1}


def test_a_newer_minor_version_is_read(tmp_path):
    path = RecordingBuilder(version=(1, 9)).write(tmp_path / "run.bin")

    assert read_recording(path).version == (1, 9)


def test_a_longer_file_header_is_read_past(tmp_path):
    path = tmp_path / "run.bin"
    chunks = RecordingBuilder().to_bytes()[24:]
    path.write_bytes(file_header(header_size=64) + chunks)

    read = read_recording(path)

    assert read.damage.counted() == {}
    assert read.process is not None


def test_another_major_version_is_refused(tmp_path):
    path = RecordingBuilder(version=(2, 0)).write(tmp_path / "run.bin")

    error = refusal(path)

    assert error.why == "its format is version 2 (offset 8); this ktrace reads version 1"
    assert error.fix == "read it with the ktrace release that recorded it"


def test_a_header_size_past_the_end_is_refused(tmp_path):
    path = tmp_path / "run.bin"
    before = struct_bytes(layout.FILE_HEADER, magic=layout.FILE_MAGIC, major=1, header_size=9000)[
        :-4
    ]
    path.write_bytes(before + zlib.crc32(before).to_bytes(4, "little"))

    assert "header size (offset 12) is 9000" in refusal(path).why


@pytest.mark.parametrize(
    ("content", "why", "fix"),
    [
        (b"", "it is empty", "record again"),
        (b"KTRA", "it ends at offset 4, inside the file header", "record again"),
        (file_header()[:20], "it ends at offset 20, inside the file header", "record again"),
        (b"hello world\n", "it is text", "`ktrace run`"),
        (json.dumps({"traceEvents": []}).encode(), "it is JSON", "`ktrace run`"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "Git LFS", "`git lfs pull`"),
        (b"\x7fELF\x02\x01\x01" + bytes(57), "it is an ELF file", "`ktrace inspect`"),
        (b"__CLANG_OFFLOAD_BUNDLE__" + bytes(8), "offload bundle", "`ktrace inspect`"),
        (b"\x1f\x8b\x08" + bytes(20), "gzip-compressed", "`gunzip`"),
        (b"SQLite format 3\0" + bytes(100), "an SQLite database", "`ktrace run`"),
        (bytes(4096), "zeros only", "`ktrace run`"),
        (b"\x12\x00\x00\x00\xff\xfe", "none of the kinds", "`ktrace run`"),
    ],
    ids=lambda value: repr(value[:12]) if isinstance(value, bytes) else "",
)
def test_a_file_that_is_no_recording_is_named_for_what_it_is(tmp_path, content, why, fix):
    path = tmp_path / "some.bin"
    path.write_bytes(content)

    error = refusal(path)

    assert why in error.why
    assert "offset" in error.why
    assert fix in error.fix


def test_a_missing_file_is_named(tmp_path):
    assert refusal(tmp_path / "no.bin").why == "No such file or directory"


def test_a_folder_is_named(tmp_path):
    assert refusal(tmp_path).why == "Is a directory"


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)

    assert refusal(path).why.startswith("it is no regular file")


def test_words_carry_their_kind_and_side(tmp_path):
    recording = RecordingBuilder()
    recording.add_dispatch(0, [Wave(main=[push(5, 10)], side=[mark(6, 20)])])
    path = recording.write(tmp_path / "run.bin")

    tags = read_recording(path).dispatches[0].words["tag"].tolist()

    assert tags == [
        Kind.PUSH << layout.TAG_KIND_SHIFT | 5,
        Kind.MARK << layout.TAG_KIND_SHIFT | layout.TAG_SIDE | 6,
    ]


def test_a_dispatch_without_waves_and_a_wave_without_words_are_read(tmp_path):
    recording = RecordingBuilder()
    recording.add_dispatch(0, [])
    recording.add_dispatch(0, [Wave()])
    path = recording.write(tmp_path / "run.bin")

    nothing, silent = read_recording(path).dispatches

    assert [len(column) for column in (nothing.headers, nothing.extents, nothing.words)] == [0] * 3
    assert [len(column) for column in (silent.headers, silent.extents, silent.words)] == [1, 1, 0]
