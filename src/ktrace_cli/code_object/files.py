"""Reads every code object of a file, whatever holds it: also a recording."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ktrace_cli.code_object.containers import find_images
from ktrace_cli.code_object.contents import CodeObject
from ktrace_cli.code_object.reader import read_code_object
from ktrace_cli.errors import CodeObjectError
from ktrace_cli.model import Losses
from ktrace_cli.trace_file.file_kind import HEAD_SIZE, FileKind, identify
from ktrace_cli.trace_file.mapping import map_file
from ktrace_cli.trace_file.reader import read_recording
from ktrace_cli.trace_file.recording import Recording


@dataclass(frozen=True)
class FoundCodeObject:
    """A code object and where it was found."""

    origin: str
    """The file, and the place in it: `libfoo.so, bundle at offset 4096, gfx942`."""
    code_object: CodeObject
    image: bytes | memoryview = field(default=b"", repr=False)
    """The ELF file."""


@dataclass
class FileCodeObjects:
    """The code objects of one file, and what in it could not be read."""

    found: list[FoundCodeObject] = field(default_factory=list)
    problems: list[CodeObjectError] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    recording: Recording | None = None
    """What the file is, if it is one."""


def read_file(path: Path) -> FileCodeObjects:
    """Read the code objects of a code object, bundle, program, library or recording.

    Raises:
        CodeObjectError: the file cannot be read, or cannot hold code objects.
        TraceFileError: it is a recording that cannot be read.
    """
    data = map_file(path, CodeObjectError)
    if identify(data[:HEAD_SIZE]) is FileKind.RECORDING:
        return _read_recording(path)
    contents = find_images(data, _printable(path))
    result = FileCodeObjects([], contents.problems, contents.notices)
    for image in contents.images:
        _read_image(image.data, image.origin, result)
    if not (result.found or result.problems):
        result.problems.append(
            CodeObjectError(
                f"{path} holds no code object",
                why="; ".join(result.notices) or "its bundles have entries for the host only",
                fix="build it for a GPU, for example with `--offload-arch=gfx942`",
            )
        )
    return result


def _read_recording(path: Path) -> FileCodeObjects:
    recording = read_recording(path)
    result = FileCodeObjects(recording=recording)
    for index, record in sorted(recording.code_objects.items()):
        _read_image(record.image, f"{_printable(path)}, code object {index}", result)
    damage = Losses(**recording.damage.counted()).sentences()
    result.notices += [f"{_printable(path)}: {sentence}" for sentence in damage]
    if not recording.code_objects:
        result.problems.append(
            CodeObjectError(
                f"{path} holds no code object",
                why="a recording has those whose annotated kernels were launched",
                fix="record a program that launches an annotated kernel",
            )
        )
    return result


def _read_image(image: bytes | memoryview, origin: str, result: FileCodeObjects) -> None:
    # A bad entry of a bundle must not hide the others.
    try:
        result.found.append(FoundCodeObject(origin, read_code_object(image, origin), image))
    except CodeObjectError as problem:
        result.problems.append(problem)


def _printable(path: Path) -> str:
    # A file's name may be any bytes; JSON and terminals take Unicode.
    return str(path).encode("utf-8", "backslashreplace").decode()
