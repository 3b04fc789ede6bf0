"""What the program that measures hands back: numbers, arrays, and what went wrong, in two files."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

_FACTS, _ARRAYS = "facts.json", "arrays.npz"
EVERYTHING = "everything"
"""Stands for all steps among the errors: the program did not come as far as any of them."""


@dataclass(frozen=True)
class Answer:
    """What one program found."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    """Why a step has no result, by the step's name."""

    def error_of(self, step: str) -> str:
        """Return why a step has no result; "" if it has one."""
        return self.errors.get(step) or self.errors.get(EVERYTHING, "")


def write_answer(folder: Path, answer: Answer) -> None:
    """Write an answer into a folder; the facts come last, so that they stand for all of it."""
    np.savez(folder / _ARRAYS, **answer.arrays)  # type: ignore[arg-type]  # names of arrays
    told = {"facts": dict(answer.facts), "errors": dict(answer.errors)}
    (folder / _FACTS).write_bytes(orjson.dumps(told))


def read_answer(folder: Path, status: int) -> Answer:
    """Read the answer of a program that ended with `status`."""
    try:
        told = orjson.loads((folder / _FACTS).read_bytes())
        with np.load(folder / _ARRAYS) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, orjson.JSONDecodeError, zipfile.BadZipFile):
        return Answer(errors={EVERYTHING: f"the program that measures ended with status {status}"})
    return Answer(told["facts"], arrays, told["errors"])
