"""Read a selftest's JSON, and refuse what is none, or tells of another device."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import orjson

from ktrace_cli.errors import ExitStatus, KtraceError
from ktrace_cli.selftest_file.result import (
    SCHEMA_KEY,
    SCHEMA_VERSION,
    Check,
    Figure,
    MarkerCost,
    SelftestResult,
    Situation,
    Source,
    State,
)

VARIABLE = "KTRACE_SELFTEST"
"""Names the file where no option does."""
_MAKE_ONE = "make one with `ktrace selftest -o FILE`"
_MOST_BYTES = 16 << 20  # a thousand times what a selftest writes

Kind = TypeVar("Kind")


def find_selftest(option: Path | None) -> Path | None:
    """Return the file that an option or KTRACE_SELFTEST names; None if neither does."""
    if option is not None:
        return option
    named = os.environ.get(VARIABLE)
    return Path(named) if named else None


def read_schema() -> dict[str, Any]:
    """Return the JSON Schema of a selftest's document."""
    text = files(__package__).joinpath("selftest.schema.json").read_text()
    schema: dict[str, Any] = orjson.loads(text)
    return schema


def read_selftest(path: Path) -> SelftestResult:
    """Read the file of a selftest.

    Raises:
        KtraceError: it cannot be read, is no selftest's, or is of another version of the schema.
    """
    document = _load(path)
    if not isinstance(document, dict) or SCHEMA_KEY not in document:
        raise _refused(path, f"it has no `{SCHEMA_KEY}`: it is not a selftest's result")
    number = document[SCHEMA_KEY]
    if number != SCHEMA_VERSION or isinstance(number, bool):
        raise KtraceError(
            f"cannot use the selftest {path}",
            why=f"its schema is version {number!r}; this ktrace reads version {SCHEMA_VERSION}",
            fix=_MAKE_ONE,
        )
    try:
        return _result(document)
    except _MalformedError as problem:
        raise _refused(path, f"it is damaged: {problem}") from None


def check_target(
    result: SelftestResult, path: Path, devices: Iterable[tuple[str, bool]], recording: Path
) -> None:
    """Refuse to say of one device what was measured on another.

    Args:
        result: what was read from `path`.
        path: the selftest's file.
        devices: target id of each device of the recording, and whether its times are modelled.
        recording: where they were recorded.

    Raises:
        KtraceError: a device has another target, or one is a model and the other is not.
    """
    for target, is_modelled in devices:
        if (target.partition(":")[0], is_modelled) != (result.target, result.is_modelled):
            raise KtraceError(
                f"the selftest {path} does not fit {recording}",
                why=f"it is of {_named(result.target, result.is_modelled)}, and the recording of"
                f" {_named(target.partition(':')[0], is_modelled)}",
                fix="name a selftest of the recording's device, or leave out `--selftest`"
                f" and {VARIABLE}",
                status=ExitStatus.NOT_COMPARABLE,
            )


def _named(target: str, is_modelled: bool) -> str:
    return f"{target or 'no device'} ({'software device' if is_modelled else 'hardware'})"


def _load(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise KtraceError(
            f"cannot read the selftest {path}", why=error.strerror or str(error), fix=_MAKE_ONE
        ) from error
    if len(text) > _MOST_BYTES:
        raise _refused(path, f"it is larger than {_MOST_BYTES >> 20} MiB")
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise _refused(path, f"it is not JSON: {error}") from None


def _refused(path: Path, why: str) -> KtraceError:
    return KtraceError(f"cannot use the selftest {path}", why=why, fix=_MAKE_ONE)


class _MalformedError(Exception):
    """Where a document is not as its schema says."""


def _result(document: dict[str, Any]) -> SelftestResult:
    return SelftestResult(
        version=_get(document, "ktrace", str),
        date=_get(document, "date", str),
        is_quick=_get(document, "quick", bool),
        is_modelled=_get(document, "modelled_time", bool),
        machine=_machine(_get(document, "machine", dict)),
        checks=tuple(map(_check, _get(document, "checks", list))),
        costs=tuple(map(_cost, _get(document, "costs", list))),
    )


def _machine(facts: dict[str, Any]) -> dict[str, str | int | None]:
    for name, value in facts.items():
        if value is not None and not isinstance(value, (str, int)):
            raise _MalformedError(f"`machine.{name}` is {value!r}")
    if not isinstance(facts.get("target"), str):
        raise _MalformedError("`machine.target` is missing")
    return facts


def _check(one: Any) -> Check:
    return Check(
        name=_get(one, "name", str),
        state=_one_of(State, one, "state"),
        text=_get(one, "text", str),
        figures=tuple(map(_figure, _get(one, "figures", list))),
    )


def _figure(one: Any) -> Figure:
    name = _get(one, "name", str)
    value = one.get("value")
    if isinstance(value, bool) or not isinstance(value, (str, int, float, type(None))):
        raise _MalformedError(f"the value of `{name}` is {value!r}")
    return Figure(
        name=name,
        value=value,
        unit=_get(one, "unit", str),
        source=_one_of(Source, one, "source"),
        meaning=_get(one, "meaning", str),
    )


def _cost(one: Any) -> MarkerCost:
    return MarkerCost(
        marker=_get(one, "marker", str),
        situation=_one_of(Situation, one, "situation"),
        cycles=_number(one, "cycles"),
        ns=_number(one, "ns"),
    )


def _number(one: Any, name: str) -> float:
    value = one.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise _MalformedError(f"`{name}` of a cost is {value!r}")
    return float(value)


def _get(one: Any, name: str, kind: type[Kind]) -> Kind:
    value = one.get(name) if isinstance(one, dict) else None
    if not isinstance(value, kind):
        raise _MalformedError(f"`{name}` is {value!r}")
    return value


def _one_of(kind: Any, one: Any, name: str) -> Any:
    value = one.get(name) if isinstance(one, dict) else None
    if value not in [member.value for member in kind]:
        raise _MalformedError(f"`{name}` is {value!r}")
    return kind(value)
