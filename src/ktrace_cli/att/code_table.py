"""code.json, the instructions of a bundle, to columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from ktrace_cli.att.faults import Faults
from ktrace_cli.errors import KtraceError
from ktrace_cli.importers.json_file import read_bytes

Ints = NDArray[np.int64]

_COLUMNS: Final = (
    "ISA", "_", "LineNumber", "Source", "Codeobj", "Vaddr", "Hit", "Latency", "Stall", "Idle",
)  # fmt: skip
_NUMBERS: Final = ("Codeobj", "Vaddr", "Hit", "Latency", "Stall", "Idle")
_BEGIN: Final = re.compile(r'"code"\s*:\s*\[')
_HEADER: Final = re.compile(r'"header"\s*:\s*"([^"]*)"')
_BETWEEN_ROWS: Final = re.compile(r'\]\s*,\s*\[(?=\s*")')
_ROW: Final = re.compile(
    r'^\s*"(?P<isa>.*?)"\s*,\s*(?P<zero>-?\d+)\s*,\s*(?P<line>-?\d+)\s*,\s*"(?P<source>.*)"\s*,'
    r"(?P<rest>(?:\s*-?\d+\s*,){5}\s*-?\d+\s*(?:,.*)?)$",
    re.DOTALL,
)
_END: Final = re.compile(r"\]\s*\](?P<rest>[^\[\]]*(?:\[.*)?)$", re.DOTALL)


@dataclass(frozen=True)
class CodeTable:
    """The rows of code.json, in their order: wave files name instructions by their place in it."""

    text: list[str]
    """Disassembly; of a label `; name`."""
    source: list[str]
    """`path:line`, of inlined code a chain with the innermost first; of a label a readable name."""
    code_object: Ints
    address: Ints
    """As symbols and notes of the code object count."""
    hit: Ints
    """How often it was executed, by all waves that were decoded."""
    latency: Ints
    """Cycles: stall and issue, or on gfx10 and later stall and execution."""
    stall: Ints
    """Cycles for which it could not be issued."""
    idle: Ints
    """Cycles between the end of the instruction before and the first attempt to issue this one."""
    function: Ints
    """Which of `labels` each row lies under; -1 before the first one."""
    labels: list[str]
    """Names of the functions, in the order of their labels."""
    names: list[str]
    """The same, readable."""

    @property
    def is_instruction(self) -> NDArray[np.bool_]:
        """False for labels and rows that could not be read."""
        return np.array([bool(one) and not one.startswith(";") for one in self.text], np.bool_)


def read_code(path: Path, faults: Faults) -> CodeTable:
    """Read code.json; what is torn or not escaped is repaired and counted.

    Raises:
        KtraceError: it does not exist, holds nothing, or is no code.json.
    """
    data = read_bytes(path)
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as problem:
        document = _salvage(data.decode("utf-8", "replace"), faults)
        if not document["code"]:
            raise _not_code(path, f"it is no JSON: {problem}") from problem
    if not isinstance(document, dict) or "code" not in document:
        raise _not_code(path, "it has no key `code`")
    rows = document["code"]
    if not rows:
        raise KtraceError(
            f"{path} holds no instructions",
            why="`code` is null: rocprofv3 decoded no instruction of any wave"
            if rows is None
            else "`code` is empty",
            fix="trace a CU that runs the kernel (`--att-target-cu`, `--att-shader-engine-mask"
            " 0xf`), with a larger `--att-buffer-size`, and look for errors of the decoder in"
            " rocprofv3's output",
        )
    if not isinstance(rows, list):
        raise _not_code(path, "`code` is no list")
    return _table(rows, _columns(document.get("header"), faults), faults, path)


def _not_code(path: Path, why: str) -> KtraceError:
    return KtraceError(
        f"cannot read {path}",
        why=why,
        fix="give the folder `ui_output_agent_…_dispatch_…` that rocprofv3 wrote",
    )


def _columns(header: object, faults: Faults) -> dict[str, int]:
    names = header.split(",") if isinstance(header, str) else header
    if not isinstance(names, list) or not names:
        faults["missing_header"] += 1
        names = list(_COLUMNS)
    index_by_name: dict[str, int] = {}
    for index, name in enumerate(names):
        index_by_name.setdefault(str(name).strip(), index)
    return index_by_name


def _table(
    rows: Sequence[Any], index_by_name: dict[str, int], faults: Faults, path: Path
) -> CodeTable:
    if "ISA" not in index_by_name or "Stall" not in index_by_name:
        raise _not_code(path, f"its header names {', '.join(index_by_name)}; wanted ISA and Stall")
    width = max(index_by_name[name] for name in _COLUMNS if name in index_by_name) + 1
    whole = [row if isinstance(row, list) and len(row) >= width else None for row in rows]
    faults["lost_rows"] += sum(
        row is None and given != [] for row, given in zip(whole, rows, strict=True)
    )
    empty: list[Any] = [""] * width
    filled = [empty if row is None else row for row in whole]
    texts = _texts(filled, index_by_name["ISA"])
    sources = (
        _texts(filled, index_by_name["Source"]) if "Source" in index_by_name else [""] * len(rows)
    )
    faults["missing_columns"] += sum(name not in index_by_name for name in ("Source", *_NUMBERS))
    is_label = np.array([text.startswith(";") for text in texts], np.bool_)
    labels = [text[1:].strip() for text in texts if text.startswith(";")]
    names = [source for source, text in zip(sources, texts, strict=True) if text.startswith(";")]
    readable = [name or label for name, label in zip(names, labels, strict=True)]
    code_object, address, hit, latency, stall, idle = (
        _numbers(filled, index_by_name.get(name), faults) for name in _NUMBERS
    )
    function = np.cumsum(is_label) - 1
    return CodeTable(
        texts, sources, code_object, address, hit, latency, stall, idle, function, labels, readable
    )


def _texts(rows: Sequence[list[Any]], index: int) -> list[str]:
    values = (row[index] for row in rows)
    return [value if isinstance(value, str) else "" for value in values]


def _numbers(rows: Sequence[list[Any]], index: int | None, faults: Faults) -> Ints:
    if index is None:
        return np.zeros(len(rows), np.int64)
    return np.array([_count(row[index], faults) for row in rows], np.int64)


def _count(value: object, faults: Faults) -> int:
    if isinstance(value, int) and 0 <= value < 1 << 48:
        return int(value)
    faults["bad_numbers"] += value != ""
    return 0


def _salvage(text: str, faults: Faults) -> dict[str, Any]:
    """Read a file whose JSON is broken, row by row: strings may hold quotes, the end may miss."""
    begin = _BEGIN.search(text)
    header = _HEADER.search(text)
    if not begin:
        return {"code": []}
    body = text[begin.end() :].lstrip().removeprefix("[")
    end = _END.search(body)
    is_torn = end is None
    pieces = _BETWEEN_ROWS.split(body if end is None else body[: end.start()])
    rows = [_salvaged_row(piece.strip(), faults) for piece in pieces]
    if is_torn:
        if rows and rows[-1] is None:
            rows.pop()
        faults["torn_code"] += 1
    columns = header[1] if header else ", ".join(_COLUMNS)
    faults["missing_header"] += header is None and not is_torn
    # A row that was lost keeps its place.
    return {"code": rows, "header": columns}


def _salvaged_row(piece: str, faults: Faults) -> Any:
    try:
        return orjson.loads(f"[{piece.removesuffix(']')}]" if _is_open(piece) else f"[{piece}]")
    except orjson.JSONDecodeError:
        found = _ROW.match(piece)
    if not found:
        return None
    try:
        rest = orjson.loads(f"[{found['rest']}]")
    except orjson.JSONDecodeError:
        return None
    faults["unescaped_rows"] += 1
    return [found["isa"], int(found["zero"]), int(found["line"]), found["source"], *rest]


def _is_open(piece: str) -> bool:
    return piece.endswith("]") and piece.count("[") < piece.count("]")
