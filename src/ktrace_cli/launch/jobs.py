"""Input files of `run -i`: the jobs of rocprofv3, read strictly."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from ktrace_cli.errors import UsageError
from ktrace_cli.launch.options import RunOptions
from ktrace_cli.launch.rocprofv3 import key_of_rocprofv3
from ktrace_cli.wording import nearest

_LISTS = frozenset(field.name for field in fields(RunOptions) if field.default == ())
_KEYS = tuple(field.name for field in fields(RunOptions))
_FLAGS = ("force", "soft_check")
_NESTED = "kernel_iteration_range"  # rocprofv3's files write it as a text or as lists in lists
_DEEPEST = 8
_YES = frozenset({"y", "yes", "t", "true", "on", "1"})
_NO = frozenset({"n", "no", "f", "false", "off", "0"})


def read_jobs(path: Path) -> list[RunOptions]:
    """Read the jobs of an input file, in their order.

    Raises:
        UsageError: it cannot be read, or anything in it is not understood.
    """
    content = _content(path)
    if not isinstance(content, dict) or "jobs" not in content:
        other = nearest("jobs", content) if isinstance(content, dict) else ""
        raise UsageError(
            f"{path} has no list of jobs",
            why=f"its top has {other!r}" if other else "wanted the key `jobs` at the top",
            fix="write `jobs:`, and below it a `-` with options for each run",
        )
    if unknown := [key for key in content if key != "jobs"]:
        raise UsageError(
            f"cannot read {path}",
            why=f"{unknown[0]!r} at the top means nothing: only `jobs` may stand there",
            fix=f"move `{unknown[0]}` into a job" if unknown[0] in _KEYS else "remove it",
        )
    jobs = content["jobs"]
    if not isinstance(jobs, list) or not jobs:
        raise UsageError(
            f"cannot read {path}",
            why=f"`jobs` is {_kind(jobs)}, wanted a list of jobs",
            fix="begin every job with a `-`",
        )
    return [_job(f"job {number} of {path}", job) for number, job in enumerate(jobs, 1)]


def _content(path: Path) -> Any:
    readers = {".json": _read_json, ".yaml": _read_yaml, ".yml": _read_yaml}
    if path.suffix not in readers:
        raise UsageError(
            f"cannot read {path}",
            why=f"its name ends in {path.suffix!r}" if path.suffix else "its name says no format",
            fix="name the file .yaml, .yml or .json",
        )
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise UsageError(
            f"cannot read {path}", why=why or str(error), fix="check the path"
        ) from error
    return readers[path.suffix](path, text)


def _read_json(path: Path, text: str) -> Any:
    def no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return _without_duplicates(path, pairs)

    try:
        # Numbers stay as they are written, as on the command line.
        return json.loads(text, object_pairs_hook=no_key_twice, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"cannot read {path}", why=f"it is no JSON: {error}", fix="correct it there"
        ) from error


def _read_yaml(path: Path, text: str) -> Any:
    try:
        node = yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError as error:
        why = re.sub(r"\s+", " ", str(error)).replace("<unicode string>", str(path))
        raise UsageError(
            f"cannot read {path}", why=f"it is no YAML: {why}", fix="correct it there"
        ) from error
    return None if node is None else _texts(path, node)


def _texts(path: Path, node: yaml.Node, depth: int = 0) -> Any:
    """Keep every scalar as it is written: YAML would read `blocks: 1:30` as the number 90."""
    if depth > _DEEPEST:
        raise UsageError(
            f"cannot read {path}",
            why=f"more than {_DEEPEST} lists and keys lie in each other",
            fix="write one list of jobs, each with its options",
        )
    if isinstance(node, yaml.MappingNode):
        pairs = [(str(key.value), _texts(path, value, depth + 1)) for key, value in node.value]
        return _without_duplicates(path, pairs)
    if isinstance(node, yaml.SequenceNode):
        return [_texts(path, value, depth + 1) for value in node.value]
    return node.value


def _without_duplicates(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    if twice := [key for key in keys if keys.count(key) > 1]:
        raise UsageError(
            f"cannot read {path}",
            why=f"{twice[0]!r} stands twice in one place",
            fix="remove one, or begin another job with a `-`",
        )
    return dict(pairs)


def _job(where: str, job: Any) -> RunOptions:
    if not isinstance(job, dict):
        raise UsageError(
            f"cannot read {where}",
            why=f"it is {_kind(job)}, wanted options such as `output_file: run.bin`",
            fix="write one option per line, all with the same indent",
        )
    for key in job:
        if key not in _KEYS:
            raise _unknown_key(where, str(key))
    values: dict[str, Any] = {key: _value(where, key, value) for key, value in job.items()}
    return RunOptions(**values)


def _unknown_key(where: str, key: str) -> UsageError:
    plain = key.lstrip("-").replace("-", "_")
    if plain in _KEYS:
        return UsageError(
            f"cannot read {where}",
            why=f"{key!r} is the option, keys have no dashes",
            fix=f"write `{plain}`",
        )
    if known := key_of_rocprofv3(plain):
        why, fix = known
        return UsageError(f"cannot read {where}", why=f"`{key}` is rocprofv3's: {why}", fix=fix)
    meant = nearest(plain, _KEYS)
    return UsageError(
        f"cannot read {where}",
        why=f"there is no option {key!r}",
        fix=f"did you mean `{meant}`?" if meant else "`ktrace run --help` lists the options",
    )


def _value(where: str, key: str, value: Any) -> str | tuple[str, ...] | None:
    if key == _NESTED and isinstance(value, list):
        return (_nested(where, key, value),)
    if key in _LISTS:
        values = value if isinstance(value, list) else [value]
        return tuple(_text(where, key, each, "a text or a list of texts") for each in values)
    text = _text(where, key, value, "yes or no" if key in _FLAGS else "a text or a number")
    return _flag(where, key, text) if key in _FLAGS else text


def _nested(where: str, key: str, value: Any) -> str:
    if isinstance(value, list):
        return f"[{','.join(_nested(where, key, each) for each in value)}]"
    return _text(where, key, value, "numbers and ranges")


def _text(where: str, key: str, value: Any, wanted: str) -> str:
    if isinstance(value, bool):  # JSON's; YAML's are texts here
        value = "true" if value else "false"
    if not isinstance(value, str) or not value:
        raise UsageError(
            f"cannot read {where}",
            why=f"`{key}` is {_kind(value)}, wanted {wanted}",
            fix=f"give it a value, or remove `{key}`",
        )
    return value


def _flag(where: str, key: str, text: str) -> str | None:
    if text.lower() in _YES | _NO:
        return "yes" if text.lower() in _YES else None
    raise UsageError(
        f"cannot read {where}",
        why=f"`{key}` is {text!r}, wanted yes or no",
        fix=f"write `{key}: yes`",
    )


def _kind(value: Any) -> str:
    if value is None or value == "":
        return "empty"
    if value == []:
        return "an empty list"
    kinds = {dict: "a group of keys", list: "a list", bool: "yes or no"}
    return kinds.get(type(value), f"the text {value!r}")
