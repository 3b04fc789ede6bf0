"""What the user named, file by file: recordings, thread traces, counters, and JSON of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from ktrace_cli.att.document import to_document as hotspots_document
from ktrace_cli.att.hotspots import Request as AttRequest
from ktrace_cli.att.hotspots import analyse as analyse_att
from ktrace_cli.att.hotspots import find_bundle
from ktrace_cli.counters.counters import Request as CountersRequest
from ktrace_cli.counters.counters import analyse as analyse_counters
from ktrace_cli.counters.document import to_document as counters_document
from ktrace_cli.errors import KtraceError, UsageError
from ktrace_cli.planning.evidence import Stalls, read_stalls
from ktrace_cli.planning.findings import KernelTime
from ktrace_cli.planning.resources import Code, read_code_objects, read_codes
from ktrace_cli.trace_file.file_kind import HEAD_SIZE, FileKind, identify

_WANTED = (
    "wanted are recordings, thread traces, counters, code objects, and JSON of `ktrace hotspots`,"
    " `att`, `pmc`, `inspect` and `discover`"
)
_FIX = "leave it out, or write it with one of these commands"
_CODE = (FileKind.ELF, FileKind.BUNDLE, FileKind.COMPRESSED_BUNDLE)
_VERDICT = ("is_good", "text", "reason", "source")


@dataclass
class Inputs:
    """What was given."""

    recordings: list[Path] = field(default_factory=list)
    stalls: list[Stalls] = field(default_factory=list)
    counters: list[Mapping[str, Any]] = field(default_factory=list)
    """`kernels` in the JSON of `ktrace pmc`."""
    codes: list[Code] = field(default_factory=list)
    times: list[KernelTime] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def read_inputs(given: Sequence[Path]) -> Inputs:
    """Read everything but recordings, which are told apart only.

    Raises:
        KtraceError: one cannot be read, or rules have nothing to say of its kind.
    """
    inputs = Inputs()
    seen: dict[Path, Path] = {}
    for path in given:
        if (own := path.resolve()) in seen:
            raise UsageError(
                f"{path} is named twice",
                why="what it says counts once",
                fix="leave one of them out",
            )
        seen[own] = path
        if path.is_dir():
            _read_folder(path, inputs)
        else:
            _read_file(path, inputs)
    return inputs


def _read_folder(path: Path, inputs: Inputs) -> None:
    if (path / "code.json").exists() or any(path.rglob("ui_output_agent_*")):
        found = analyse_att(AttRequest(find_bundle(path)))
        inputs.stalls.append(read_stalls(hotspots_document(found), path))
        inputs.notes += found.notes
        inputs.faults += found.fault_sentences
    else:
        _read_counters(path, inputs)


def _read_file(path: Path, inputs: Inputs) -> None:
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_SIZE)
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise KtraceError(f"cannot read {path}", why=why, fix="check the path") from problem
    kind = identify(head)
    if kind is FileKind.RECORDING:
        inputs.recordings.append(path)
    elif kind in _CODE:
        codes, faults = read_code_objects(path)
        inputs.codes += codes
        inputs.faults += faults
    elif head.lstrip()[:1] == b"{" and (document := _own_document(path)) is not None:
        _read_document(path, document, inputs)
    elif kind is FileKind.SQLITE or path.suffix in (".csv", ".json", ".gz", ".db"):
        _read_counters(path, inputs)
    else:
        raise KtraceError(
            f"cannot plan with {path}", why=f"it is {kind.value}; {_WANTED}", fix=_FIX
        )


def _own_document(path: Path) -> dict[str, Any] | None:
    try:
        document = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError:
        return None
    known = isinstance(document, dict) and "rocprofiler-sdk-tool" not in document
    return document if known else None


def _read_document(path: Path, document: dict[str, Any], inputs: Inputs) -> None:
    if document.get("kind") == "pmc":
        inputs.counters += _kernels(path, document)
    elif document.get("kind") == "att" and isinstance(document.get("hotspots"), list):
        inputs.stalls += [read_stalls(one, path) for one in document["hotspots"]]
    elif isinstance(document.get("code_objects"), list):
        inputs.codes += [code for one in document["code_objects"] for code in read_codes(one, path)]
    elif document.get("kind") == "discover":
        inputs.times += _times(path, document)
    elif "by_instruction" in document:
        inputs.stalls.append(read_stalls(document, path))
    else:
        raise KtraceError(
            f"cannot plan with {path}", why=f"it is JSON of something else; {_WANTED}", fix=_FIX
        )


def _times(path: Path, document: Mapping[str, Any]) -> list[KernelTime]:
    try:
        return [
            KernelTime(str(one["name"]), int(one["calls"]), float(one["share"] or 0.0), str(path))
            for one in document["kernels"]
        ]
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise KtraceError(
            f"cannot read {path}",
            why=f"it is not made as `ktrace discover --json` makes it: {problem!r}",
            fix="write it again with this ktrace",
        ) from problem


def _kernels(path: Path, document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    kernels = document.get("kernels")
    is_right = isinstance(kernels, list) and all(_is_kernel(kernel) for kernel in kernels)
    if not is_right:
        raise KtraceError(
            f"cannot read {path}",
            why="it is not made as `ktrace pmc --json` makes it",
            fix="write it again with this ktrace, or name the files that it was made of",
        )
    return list(kernels or ())


def _is_kernel(kernel: Any) -> bool:
    if not isinstance(kernel, dict) or not isinstance(kernel.get("name"), str):
        return False
    verdicts = kernel.get("verdicts")
    return isinstance(verdicts, list) and all(
        isinstance(one, dict) and all(key in one for key in _VERDICT) for one in verdicts
    )


def _read_counters(path: Path, inputs: Inputs) -> None:
    result = analyse_counters(CountersRequest((path,)))
    inputs.counters += counters_document(result)["kernels"]
    inputs.notes += result.notes
    inputs.faults += result.faults
