"""What the user named, file by file: what each is, and which belong together."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from ktrace_cli.errors import KtraceError, UsageError
from ktrace_cli.importers.rocprofv3_csv import is_rocprofv3_csv
from ktrace_cli.trace_file.file_kind import HEAD_SIZE, FileKind, identify
from ktrace_cli.units import counted, format_bytes

_PEEK = 1 << 16
_TRACE_TAG = 0x0A  # the first byte of a Perfetto trace: field 1 of Trace
_ROCPROFV3_ROOT = b'"rocprofiler-sdk-tool"'
_AGENTS = "agent_info.csv"
_OF_PYTORCH = (b'"schemaVersion"', b'"deviceProperties"', b'"baseTimeNanoseconds"')
_MUCH_MEMORY = 2 << 30


class Input(Enum):
    """What can be merged; the value says it in words. Of one run's files the first is taken."""

    RECORDING = "ktrace recording"
    ROCPD = "rocpd database"
    ROCPROFV3_JSON = "rocprofv3 JSON"
    ROCPROFV3_CSV = "rocprofv3 CSV"
    PERFETTO = "Perfetto trace"
    CHROME_JSON = "PyTorch or Chrome JSON"


# Bytes of memory for each byte of a file, as measured; text packs some 14 times.
_MEMORY = {
    Input.CHROME_JSON: 8,
    Input.ROCPROFV3_JSON: 8,
    Input.ROCPROFV3_CSV: 10,
    Input.ROCPD: 10,
    Input.PERFETTO: 20,
}
_GZIP_RATIO = 14
# Of several formats of one run, that which tells most.
_PREFERENCE = (Input.ROCPD, Input.ROCPROFV3_JSON, Input.ROCPROFV3_CSV, Input.PERFETTO)


@dataclass(frozen=True)
class Found:
    """One input."""

    given: Path
    """What the user named: the file, or a folder that it is in."""
    kind: Input
    paths: tuple[Path, ...]
    """One file; of rocprofv3's CSV all that belong to one process."""


def find_inputs(
    given: Sequence[Path], recordings: Collection[Path] = ()
) -> tuple[list[Found], list[str]]:
    """Tell what files are, and which of a folder are meant; returns also what is passed over.

    Args:
        given: files and folders.
        recordings: those of them that are known to be read as recordings are.

    Raises:
        KtraceError: a file is none that can be merged, or a folder has none.
    """
    notes: list[str] = []
    files: dict[tuple[Path, str], list[Path]] = {}
    """By what names the run; all but CSV files are alone."""
    inputs: dict[tuple[Path, str], tuple[Path, Input]] = {}
    seen: dict[Path, Path] = {}
    for path in given:
        if (own := path.resolve()) in seen:
            raise UsageError(
                f"{path} is named twice",
                why="each file is shown once"
                if path == seen[own]
                else f"it is the same as {seen[own]}",
                fix="leave one of them out",
            )
        seen[own] = path
        members = _of_folder(path, notes) if path.is_dir() else [(path, _kind(path, recordings))]
        for member, kind in members:
            run = _prefix(member) if kind is Input.ROCPROFV3_CSV else (member, "")
            inputs.setdefault(run, (path, kind))
            files.setdefault(run, []).append(member)
    for run, (_, kind) in inputs.items():
        agents = run[0] / f"{run[1]}{_AGENTS}"
        if kind is Input.ROCPROFV3_CSV and agents not in files[run] and agents.is_file():
            files[run].append(agents)
            notes.append(f"{agents} is read, too: it tells which devices there are")
        notes += _memory(files[run], kind)
    return [Found(*inputs[run], tuple(own)) for run, own in files.items()], notes


def _memory(paths: Sequence[Path], kind: Input) -> list[str]:
    """Say how much memory large files take."""
    needed = 0
    for path in paths:
        with path.open("rb") as file:
            is_packed = identify(file.read(HEAD_SIZE)) is FileKind.GZIP
        size = path.stat().st_size * _MEMORY.get(kind, 0)
        needed += size * _GZIP_RATIO if is_packed else size
    if needed < _MUCH_MEMORY:
        return []
    return [f"{paths[0]}: reading it takes about {format_bytes(needed)} of memory"]


def _prefix(path: Path) -> tuple[Path, str]:
    """Return the folder of a CSV file, and what the names of all of its run begin with."""
    for ending in ("agent_info", "kernel_trace", "memory_copy_trace", "memory_allocation_trace",
                   "scratch_memory_trace"):  # fmt: skip
        if path.stem.endswith(ending):
            return path.parent, path.stem.removesuffix(ending)
    # hip_api_trace, marker_api_trace …
    parts = path.stem.split("_")
    is_api = parts[-2:] == ["api", "trace"]
    return path.parent, "".join(f"{part}_" for part in parts[:-3]) if is_api else path.name


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            head = file.read(_PEEK)
            if identify(head[:HEAD_SIZE]) is not FileKind.GZIP:
                return head
        with gzip.open(path) as packed:
            return packed.read(_PEEK)
    except (OSError, EOFError, zlib.error) as problem:
        why = getattr(problem, "strerror", None) or str(problem)
        fix = "name recordings, traces, or folders of these"
        raise KtraceError(f"cannot read {path}", why=why, fix=fix) from problem


def _kind(path: Path, recordings: Collection[Path]) -> Input:
    return Input.RECORDING if path in recordings else _kind_of(path)


def _kind_of(path: Path) -> Input:
    head = _head(path)
    kind = _known(path, head)
    if kind is None:
        raise KtraceError(
            f"cannot merge {path}",
            why=f"it is {identify(head[:HEAD_SIZE]).value}; wanted are"
            f" {', '.join(f'a {kind.value}' for kind in Input)} or a folder of these",
            fix="leave it out, or let its tool write one of these",
        )
    return kind


def _known(path: Path, head: bytes) -> Input | None:
    kind = identify(head[:HEAD_SIZE])
    if kind is FileKind.RECORDING:
        return Input.RECORDING
    if kind is FileKind.SQLITE:
        return Input.ROCPD
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start in (b"{", b"["):
        is_rocprofv3 = _ROCPROFV3_ROOT in head
        return Input.ROCPROFV3_JSON if is_rocprofv3 else Input.CHROME_JSON
    if b"," in head.partition(b"\n")[0] and path.suffix == ".csv":
        return Input.ROCPROFV3_CSV if is_rocprofv3_csv(path) else None
    if head[:1] == bytes([_TRACE_TAG]) and kind is not FileKind.TEXT:
        return Input.PERFETTO
    return None


def _of_folder(folder: Path, notes: list[str]) -> list[tuple[Path, Input]]:
    """Return the inputs in a folder; what one run wrote in several formats once."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    known = []
    for path in files:
        kind = _known_of_folder(path)
        if kind is not None and _may_be_ours(path, kind):
            notes.append(f"{path} is passed over: it may be ktrace's own; name it to merge it")
        elif kind is not None:
            known.append((path, kind))
    if not known:
        raise KtraceError(
            f"cannot merge {folder}",
            why=f"none of its {counted(len(files), 'file')} is a ktrace recording or a trace",
            fix="name a folder with rocprofv3's output, or single files",
        )
    formats: dict[tuple[Path, str], set[Input]] = {}
    for path, kind in known:
        if not path.name.endswith(_AGENTS):
            formats.setdefault(_run_of(path, kind), set()).add(kind)
    kept = []
    for path, kind in known:
        own = formats.get(_run_of(path, kind))
        best = min(own, key=_rank) if own else kind
        if own is None:
            notes.append(f"{path} is passed over: there is nothing that it tells of")
        elif _rank(kind) > _rank(best):
            notes.append(f"{path} is passed over: the {best.value} beside it tells the same")
        else:
            kept.append((path, kind))
    return kept


def _rank(kind: Input) -> int:
    return _PREFERENCE.index(kind) if kind in _PREFERENCE else -1


def _run_of(path: Path, kind: Input) -> tuple[Path, str]:
    """Return what names the run of a file: `4242_` of `4242_results.db`, or the file itself."""
    if kind not in _PREFERENCE:
        return path, ""
    if kind is Input.ROCPROFV3_CSV:
        return _prefix(path)
    return path.parent, path.name.partition("results.")[0]


def _known_of_folder(path: Path) -> Input | None:
    endings = (".bin", ".csv", ".db", ".pftrace", ".json", ".json.gz", ".pftrace.gz")
    if not path.name.endswith(endings):
        return None
    head = _head(path)
    kind = _known(path, head)
    if kind is Input.CHROME_JSON and b'"traceEvents"' not in head:
        # Settings and tables are JSON, too.
        return None
    return kind


def _may_be_ours(path: Path, kind: Input) -> bool:
    """Tell whether a trace in a folder may be what `ktrace decode` or `merge` wrote there."""
    if kind is Input.PERFETTO:
        return not path.name.endswith("results.pftrace")
    is_pytorch = any(key in _head(path) for key in _OF_PYTORCH)
    return kind is Input.CHROME_JSON and not (is_pytorch or ".pt.trace.json" in path.name)


def inputs_of(found: Sequence[Found], kind: Input) -> Iterator[Found]:
    """Return those of one kind."""
    return (one for one in found if one.kind is kind)
