"""Recordings of an older, a newer and another ktrace: read, read but for what is new, refused.

tests/golden holds a recording of format 1.0 that stays as it is.
"""

from __future__ import annotations

import struct
from io import BytesIO
from pathlib import Path

import numpy as np

from ktrace_cli.export.text import write_text
from ktrace_cli.timeline.build import build_timeline
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import ChunkFlag
from ktrace_cli.trace_file.reader import parse_recording
from support.ktrace_command import Done, run_ktrace
from support.recording import chunk, file_header

GOLDEN = Path(__file__).parents[1] / "golden" / "small.bin"
NEW_TYPE = 200
HEADER_SIZE = layout.FILE_HEADER.itemsize


def as_of(version: tuple[int, int], flags: int = ChunkFlag.SKIPPABLE) -> bytes:
    """Return the stored recording as another ktrace would write it, with a chunk that it added."""
    chunks = GOLDEN.read_bytes()[HEADER_SIZE:]
    new = chunk(NEW_TYPE, b"what 1.0 does not know..", number=number_of(chunks), flags=flags)
    return file_header(version) + chunks + new


def number_of(chunks: bytes) -> int:
    position = number = 0
    while position < len(chunks):
        header = np.frombuffer(chunks, layout.CHUNK_HEADER, 1, position)[0]
        position += layout.CHUNK_HEADER.itemsize + int(header["length"])
        number += 1
    return number


def text_of(data: bytes) -> list[str]:
    out = BytesIO()
    write_text(build_timeline(parse_recording(data, GOLDEN)), out)
    return out.getvalue().decode().splitlines()


def read(folder: Path, data: bytes, *options: str) -> Done:
    (folder / "run.bin").write_bytes(data)
    return run_ktrace(folder, "decode", "run.bin", "-f", "text", "-o", "run.txt", *options)


def test_the_stored_recording_is_of_the_first_version() -> None:
    assert struct.unpack_from("<HH", GOLDEN.read_bytes(), 8) == (1, 0)


def test_of_a_newer_minor_version_everything_is_read_but_what_is_new(tmp_path: Path) -> None:
    older = text_of(GOLDEN.read_bytes())
    newer = text_of(as_of((1, 7)))

    assert [line for line in newer if line not in older] == ["# loss unknown_chunks 1"]
    assert [line for line in older if line not in newer] == []


def test_what_is_new_is_said_and_is_a_loss_under_strict(tmp_path: Path) -> None:
    done = read(tmp_path, as_of((1, 7)), "--strict")

    assert "ktrace: warning: run.bin: 1 chunk of an unknown type was skipped" in done.stderr
    assert done.returncode == 5


def test_a_new_chunk_that_may_not_be_skipped_is_refused(tmp_path: Path) -> None:
    done = read(tmp_path, as_of((1, 7), flags=0))

    assert done.returncode == 1
    assert done.stderr.startswith("ktrace: error: cannot read run.bin\n")
    assert not (tmp_path / "run.txt").exists()


def test_another_major_version_is_refused_with_both_numbers(tmp_path: Path) -> None:
    done = read(tmp_path, as_of((2, 0)))

    assert done.returncode == 1
    assert done.stderr == (
        "ktrace: error: cannot read run.bin\n"
        "  why: its format is version 2 (offset 8); this ktrace reads version 1\n"
        "  try: read it with the ktrace release that recorded it\n"
    )
