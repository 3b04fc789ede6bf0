"""The file that is to be seen: a recording, or a trace that the Perfetto UI opens as it is."""

from __future__ import annotations

from pathlib import Path

from ktrace_cli.errors import KtraceError
from ktrace_cli.trace_file.file_kind import HEAD_SIZE, FileKind, identify

_TRACES = (FileKind.GZIP, FileKind.JSON, FileKind.ZIP)
_FIXES = {
    FileKind.ELF: "`ktrace inspect` shows the kernels in it",
    FileKind.BUNDLE: "`ktrace inspect` shows the kernels in it",
    FileKind.COMPRESSED_BUNDLE: "`ktrace inspect` shows the kernels in it",
    FileKind.SQLITE: "`ktrace merge` makes a trace of what rocprofv3 wrote",
    FileKind.ZSTANDARD: "decompress it first: not every Perfetto UI does that",
    FileKind.LFS_POINTER: "`git lfs pull` gets the file itself",
}
_PACKET = b"\x0a"  # how each packet of a Perfetto trace begins
_TAR = b"ustar"
_TAR_AT = 257


def is_recording(path: Path) -> bool:
    """Tell whether a file is a recording; if not it is a trace.

    Raises:
        KtraceError: it cannot be read, or is neither.
    """
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_SIZE)
    except OSError as problem:
        raise KtraceError(
            f"cannot read {path}",
            why=problem.strerror or str(problem),
            fix="name a recording or a trace; without a name the newest recording is shown",
        ) from problem
    kind = identify(head)
    if kind is FileKind.RECORDING:
        return True
    if kind in _TRACES or (kind is FileKind.UNKNOWN and _is_perfetto(head)):
        return False
    raise KtraceError(
        f"cannot show {path}",
        why=f"it is {kind.value}",
        fix=_FIXES.get(kind, "name a recording, or a trace that the Perfetto UI opens"),
    )


def _is_perfetto(head: bytes) -> bool:
    return head.startswith(_PACKET) or head[_TAR_AT:].startswith(_TAR)
