"""Which tool wrote a trace file, by what stands in it."""

from __future__ import annotations

import gzip
import re
import zlib
from enum import Enum
from pathlib import Path

from ktrace_cli.trace_file.file_kind import HEAD_SIZE, FileKind, identify

_PEEK = 1 << 18
_MOST_UNPACKED = 1 << 30
_PERFETTO_TAG = b"\x0a"


class Writer(Enum):
    """A tool that writes traces of waves, and the format that it writes."""

    PROTON = ("Triton Proton", "Chrome JSON")
    MORI = ("MORI-VIZ", "Chrome JSON")
    QUACK = ("QuACK", "Chrome JSON")
    WARPSCOPE = ("warpscope", "Chrome JSON")
    PROTON_PFTRACE = ("Triton Proton", "Perfetto trace")
    IKET = ("NVIDIA IKET", "Perfetto trace")
    FLYDSL = ("FlyDSL", "Perfetto trace")
    FLASHINFER = ("FlashInfer", "Perfetto trace")
    WARPSCOPE_PFTRACE = ("warpscope", "Perfetto trace")

    @property
    def tool(self) -> str:
        """What the tool is called."""
        return str(self.value[0])


_CHROME = (
    (Writer.PROTON, re.compile(rb'"[^"\n]+ Core\d+ CTA\d+"')),
    (Writer.QUACK, re.compile(rb'"args"\s*:\s*\{\s*"sm"\s*:\s*\d+\s*,\s*"block"\s*:')),
    (Writer.MORI, re.compile(rb'"cat"\s*:\s*"gpu_kernel"\s*,\s*"ph"\s*:\s*"[BEi]"')),
    (Writer.WARPSCOPE, re.compile(rb'"process_name"[^{}]*"args"\s*:\s*\{\s*"name"\s*:\s*"block_')),
)
_PERFETTO = (
    (Writer.PROTON_PFTRACE, re.compile(rb" Core\d+ CTA\d+ / warp \d+ \(line \d+\)")),
    (Writer.IKET, re.compile(rb"StackedRanges|Warp Life ?Time")),
    (Writer.FLYDSL, re.compile(rb"Wave Span")),
    (Writer.FLASHINFER, re.compile(rb"blk\d+_g\d+")),
    (Writer.WARPSCOPE_PFTRACE, re.compile(rb"[\x0a\x12\x32].block_\d+")),
)


def is_chrome(head: bytes) -> bool:
    """Tell whether a file's begin is that of JSON."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


def is_perfetto(head: bytes) -> bool:
    """Tell whether a file's begin is that of a Perfetto trace."""
    return head[:1] == _PERFETTO_TAG and identify(head[:HEAD_SIZE]) is FileKind.UNKNOWN


def peek(path: Path) -> tuple[bytes, bytes]:
    """Return begin and end of a file, unpacked; nothing where it cannot be read.

    Names of processes may stand at the end only.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_PEEK)
            if identify(head[:HEAD_SIZE]) is not FileKind.GZIP:
                file.seek(max(path.stat().st_size - _PEEK, len(head)))
                return head, file.read(_PEEK)
        with gzip.open(path) as packed:
            head = packed.read(_PEEK)
            if not (is_chrome(head) or is_perfetto(head)):
                return head, b""
            rest = packed.read(_MOST_UNPACKED)
            return head, rest[-_PEEK:]
    except (OSError, EOFError, zlib.error):
        return b"", b""


def find_writer(head: bytes, tail: bytes) -> Writer | None:
    """Return whose trace a file is; None: that of none of these."""
    known = _CHROME if is_chrome(head) else _PERFETTO if is_perfetto(head) else ()
    found = (writer for writer, sign in known if sign.search(head) or sign.search(tail))
    return next(found, None)
