"""Files that rocprofv3 wrote while it counted, in any of its formats, to dispatches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ktrace_cli.counters.collecting import Collector
from ktrace_cli.counters.csv_file import is_counter_csv, read_counter_csv
from ktrace_cli.counters.json_file import read_counter_json
from ktrace_cli.counters.measured import Faults, Measured
from ktrace_cli.counters.rocpd_file import read_counter_rocpd
from ktrace_cli.errors import KtraceError, UsageError
from ktrace_cli.importers.json_file import read_bytes
from ktrace_cli.trace_file.file_kind import HEAD_SIZE, FileKind, identify

_WANTED = "wanted is a counter_collection.csv, results.json or results.db of rocprofv3"
_FIX = "count with `ktrace pmc -- PROGRAM`, or `rocprofv3 --pmc COUNTER… -f csv -- PROGRAM`"
_ENDINGS = ("counter_collection.csv", "results.json", "results.json.gz", "results.db")


def read_counters(given: Sequence[Path]) -> Measured:
    """Read files, and those in folders.

    Raises:
        KtraceError: one cannot be read, or is none that holds counters.
    """
    measured = Measured()
    for path in _files(given):
        collector = Collector()
        measured.notes += _read(path, collector)
        found = collector.dispatches()
        faults = Faults(**{name: n for name, n in collector.repairs.items() if n})
        if not found:
            raise _nothing_in(path, faults)
        measured.dispatches += found
        measured.faults[path] = faults
    return measured


def _files(given: Sequence[Path]) -> list[Path]:
    found: dict[Path, Path] = {}
    for path in given:
        for file in _in_folder(path) if path.is_dir() else [path]:
            if (own := file.resolve()) in found:
                raise UsageError(
                    f"{file} is named twice",
                    why="each dispatch counts once",
                    fix="leave one of them out",
                )
            found[own] = file
    return list(found.values())


def _in_folder(folder: Path) -> list[Path]:
    """Find files with counters; of one run that was written in several formats, one."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.name.endswith(_ENDINGS))
    best: dict[tuple[Path, str], Path] = {}
    for path in files:
        ending = next(end for end in _ENDINGS if path.name.endswith(end))
        run = (path.parent, path.name.removesuffix(ending))
        if run not in best:  # in the order of names counter_collection.csv is the first
            best[run] = path
    if not best:
        raise KtraceError(
            f"no counters in {folder}",
            why=f"none of its files ends in {', '.join(_ENDINGS)}",
            fix=_FIX,
        )
    return list(best.values())


def _read(path: Path, collector: Collector) -> list[str]:
    head = _head(path)
    kind = identify(head)
    if kind is FileKind.SQLITE:
        read_counter_rocpd(path, collector)
        return []
    if kind is FileKind.GZIP:
        head = read_bytes(path)[:HEAD_SIZE]
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
        read_counter_json(path, collector)
        return []
    if b"," in head.partition(b"\n")[0] and is_counter_csv(path):
        return read_counter_csv(path, collector)
    what = kind.value if b"," not in head.partition(b"\n")[0] else "a table without Counter_Name"
    raise KtraceError(f"{path} holds no counters", why=f"it is {what}; {_WANTED}", fix=_FIX)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(HEAD_SIZE)
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise KtraceError(f"cannot read {path}", why=why, fix="check the path") from problem


def _nothing_in(path: Path, faults: Faults) -> KtraceError:
    why = "it has no value of a counter for any dispatch"
    return KtraceError(
        f"{path} holds no counters",
        why="; ".join([why, *faults.sentences()]),
        fix="count with `--pmc`, for a kernel that the program launches: an empty table is what"
        " rocprofv3 writes where a filter leaves no kernel",
    )
