"""What a recording can be written as, and which file names stand for what."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from ktrace_cli.errors import UsageError
from ktrace_cli.export.output import STDOUT


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
        UsageError: the name stands for no format, or for another one.
    """
    if output is None:
        wanted = wanted or Format.PFTRACE
        path = default_output(recording, wanted)
        return Target(path, wanted, path.suffix == ".gz", may_replace=True)
    is_compressed = output.suffix == ".gz"
    named = _SUFFIXES.get((output.with_suffix("") if is_compressed else output).suffix)
    # A pipe or device has a name that says nothing.
    if wanted is None and (output == STDOUT or (output.exists() and not output.is_file())):
        wanted = Format.PFTRACE
    _check(output, wanted, named, is_compressed=is_compressed)
    return Target(output, wanted or named or Format.PFTRACE, is_compressed, may_replace)


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
