"""JSON that other tools write, strict or not: numbers and commas that JSON does not have."""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import orjson

from ktrace_cli.errors import KtraceError

_GZIP = b"\x1f\x8b"
_CUT_OFF = "unexpected end of data"  # orjson's words
_REPLACED = "\N{REPLACEMENT CHARACTER}"
_TOKEN = re.compile(
    r'"[^"\\]*(?:\\.[^"\\]*)*"'  # a text, whatever is in it
    r"|-?\b(?:[Nn]a[Nn]|[Ii]nf(?:inity)?)\b"
    r"|,(?=\s*[\]}])",
    re.DOTALL,
)
_CONTROL = re.compile("[\0-\x1f]")
_OPENING = {"{": "}", "[": "]"}


def read_bytes(path: Path) -> bytes:
    """Return a file's content, decompressed.

    Raises:
        KtraceError: it cannot be read.
    """
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data.startswith(_GZIP) else data
    except (OSError, EOFError, zlib.error) as problem:
        why = getattr(problem, "strerror", None) or str(problem)
        raise KtraceError(f"cannot read {path}", why=why) from problem


def parse_json(data: bytes, path: Path, repairs: Counter[str]) -> Any:
    """Parse JSON; what breaks its rules, as is known of profilers, is repaired and counted.

    Raises:
        KtraceError: it is broken in a way that cannot be repaired.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        text = _repaired(data, repairs)
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as problem:
        is_cut = problem.msg == _CUT_OFF
        whole = _up_to_last_whole_record(text) if is_cut else None
        if whole is None:
            raise KtraceError(
                f"cannot read {path}",
                why=f"it is no JSON: {problem}",
                fix="write it again with the tool that made it",
            ) from problem
    try:
        result = orjson.loads(whole)
    except orjson.JSONDecodeError as problem:
        raise KtraceError(f"cannot read {path}", why=f"it is no JSON: {problem}") from problem
    repairs["cut_off"] += 1
    return result


def _repaired(data: bytes, repairs: Counter[str]) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("utf-8-sig", errors="replace")
        repairs["invalid_utf8"] += text.count(_REPLACED)

    def repair(match: re.Match[str]) -> str:
        token = match[0]
        if token[0] == '"':
            if not _CONTROL.search(token):
                return token
            repairs["json_controls"] += len(_CONTROL.findall(token))
            return _CONTROL.sub(lambda char: f"\\u{ord(char[0]):04x}", token)
        repairs["json_commas" if token == "," else "json_numbers"] += 1
        return "" if token == "," else "null"

    return _TOKEN.sub(repair, text)


_STRUCTURE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]', re.DOTALL)


def _up_to_last_whole_record(text: str) -> str | None:
    """Return what stands before the place where a file was cut off, closed; None if it was not.

    The last whole record is the last object that was closed inside of an array.
    """
    open_: list[str] = []
    end, closing = 0, ""
    for match in _STRUCTURE.finditer(text):
        token = match[0]
        if token in _OPENING:
            open_.append(token)
        elif token in ("}", "]"):
            if not open_ or _OPENING[open_.pop()] != token:
                return None
            if token == "}" and open_ and open_[-1] == "[":
                end = match.end()
                closing = "".join(_OPENING[part] for part in reversed(open_))
    return text[:end] + closing if open_ and end else None
