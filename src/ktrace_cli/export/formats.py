"""What a recording can be written as, and which file names stand for what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from ktrace_cli.errors import UsageError
from ktrace_cli.export.output import STDOUT, check_place, refuse_inputs, refuse_terminal


class Format(str, Enum):
    """What `decode` writes."""

    PFTRACE = "pftrace"
    CHROME = "chrome"
    HTML = "html"
    CSV = "csv"
    PARQUET = "parquet"
    TEXT = "text"


@dataclass(frozen=True)
class Target:
    """What is written, and where."""

    path: Path
    format: Format
    is_compressed: bool
    may_replace: bool
    """Whether a file that exists is replaced."""


_SUFFIXES = {
    ".pftrace": Format.PFTRACE,
    ".perfetto-trace": Format.PFTRACE,
    ".json": Format.CHROME,
    ".html": Format.HTML,
    ".csv": Format.CSV,
    ".parquet": Format.PARQUET,
    ".txt": Format.TEXT,
}
_OWN_SUFFIX = {
    Format.PFTRACE: ".pftrace.gz",
    Format.CHROME: ".trace.json.gz",
    Format.HTML: ".html",
    Format.PARQUET: ".parquet",
}
_BINARY = (Format.PFTRACE, Format.PARQUET)
_PACKED = (Format.HTML, Format.PARQUET)
"""Compressed inside: a second time makes them useless, not smaller."""


def default_output(recording: Path, wanted: Format = Format.PFTRACE) -> Path:
    """Return where a format goes without `-o`; `decode` may replace that file."""
    return recording.with_suffix(_OWN_SUFFIX[wanted]) if wanted in _OWN_SUFFIX else STDOUT


def choose_target(
    recording: Path, output: Path | None, wanted: Format | None, *, may_replace: bool
) -> Target:
    """Return what to write where. A name says its format, and `.gz` at its end compresses.

    Args:
        recording: what is decoded.
        output: the file that was asked for; None is the format's own place.
        wanted: the format that was asked for; None is what the name says.
        may_replace: whether the file that was asked for may be replaced.

    Raises:
        KtraceError: nothing can be written there, or the file must not be replaced.
        UsageError: the name stands for no format, or for another one; the file is the recording, or
            a terminal that would get what is no text.
    """
    if output is not None:
        refuse_inputs(output, [recording])
        check_place(output, may_replace=may_replace)
    target = _target(recording, output, wanted, may_replace=may_replace)
    refuse_inputs(target.path, [recording])
    if target.format in _BINARY:
        refuse_terminal(target.path)
    return target


def _target(
    recording: Path, output: Path | None, wanted: Format | None, *, may_replace: bool
) -> Target:
    if output is None:
        wanted = wanted or Format.PFTRACE
        path = default_output(recording, wanted)
        return Target(path, wanted, path.suffix == ".gz", may_replace=True)
    named, is_compressed = _said_by(output)
    if wanted is None and _says_nothing(output):
        wanted = Format.PFTRACE
    _check(output, wanted, named, is_compressed=is_compressed)
    return Target(output, wanted or named or Format.PFTRACE, is_compressed, may_replace)


def choose_trace(output: Path, inputs: Sequence[Path], *, may_replace: bool) -> Target:
    """Return where to write what can only be a Perfetto trace.

    Args:
        output: the file that was asked for.
        inputs: what is read.
        may_replace: whether the file may be replaced.

    Raises:
        KtraceError: nothing can be written there, or the file must not be replaced.
        UsageError: the name stands for no Perfetto trace, or the file is an input or a terminal.
    """
    refuse_inputs(output, inputs, "input")
    refuse_terminal(output)
    check_place(output, may_replace=may_replace)
    named, is_compressed = _said_by(output)
    if named is not Format.PFTRACE and not _says_nothing(output):
        renamed = _renamed(output, Format.PFTRACE, is_compressed=is_compressed)
        raise UsageError(
            f"will not write a Perfetto trace to {output}",
            why=f"its name is that of {named.value}"
            if named
            else "its name ends with none of .pftrace, .perfetto-trace",
            fix=f"choose another name, such as {renamed}",
        )
    return Target(output, Format.PFTRACE, is_compressed, may_replace)


def _said_by(output: Path) -> tuple[Format | None, bool]:
    """Return the format that a name stands for, and whether it stands for a compressed file."""
    is_compressed = output.suffix.lower() == ".gz"
    bare = output.with_suffix("") if is_compressed else output
    return _SUFFIXES.get(bare.suffix.lower()), is_compressed


def _says_nothing(output: Path) -> bool:
    """Tell whether this is a pipe or device, whose name means nothing."""
    is_special = output.exists() and not output.is_file()
    return output == STDOUT or is_special


def _check(
    output: Path, wanted: Format | None, named: Format | None, *, is_compressed: bool
) -> None:
    if wanted is None and named is None:
        raise UsageError(
            f"cannot tell what to write to {output}",
            why="its name ends with none of " + ", ".join(_SUFFIXES),
            fix="say it with `-f`, for example `-f pftrace`",
        )
    if wanted and named and wanted is not named:
        raise UsageError(
            f"will not write {wanted.value} to {output}",
            why=f"its name is that of {named.value}",
            fix=f"leave out `-f`, or choose another name, such as"
            f" {_renamed(output, wanted, is_compressed=is_compressed)}",
        )
    if is_compressed and (wanted or named) in _PACKED:
        raise UsageError(
            f"will not compress {output}",
            why=f"{(wanted or named or Format.HTML).value} is compressed already",
            fix=f"name it {output.with_suffix('')}",
        )


def _renamed(output: Path, wanted: Format, *, is_compressed: bool) -> Path:
    """Return the name that a file would have in another format."""
    suffix = next(suffix for suffix, named in _SUFFIXES.items() if named is wanted)
    bare = output.with_suffix("") if is_compressed else output
    packed = ".gz" if is_compressed and wanted not in _PACKED else ""
    return bare.with_suffix(suffix + packed)
