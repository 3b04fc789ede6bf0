"""One step of each optimizer by its formula, and a check of what bitsandbytes made of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
State = dict[str, Array]

LEARNING_RATE = 1e-2
BLOCK = 256  # of the states with 8 bits


class Step(NamedTuple):
    """What a step begins with, in float64."""

    number: int
    p: Array
    g: Array
    first: Array
    second: Array


def _adam(step: Step, decay: float = 0.0) -> tuple[Array, Array, Array]:
    first = 0.9 * step.first + 0.1 * step.g
    second = 0.999 * step.second + 0.001 * step.g**2
    update = (first / (1 - 0.9**step.number)) / (np.sqrt(second / (1 - 0.999**step.number)) + 1e-8)
    return (step.p - LEARNING_RATE * update) * (1 - LEARNING_RATE * decay), first, second


def _adamw(step: Step) -> tuple[Array, Array, Array]:
    return _adam(step, decay=0.05)


def _sgd(step: Step) -> tuple[Array, Array, Array]:
    first = step.g if step.number == 1 else 0.9 * step.first + step.g
    return step.p - LEARNING_RATE * first, first, step.second


def _rmsprop(step: Step) -> tuple[Array, Array, Array]:
    first = 0.99 * step.first + 0.01 * step.g**2
    return step.p - LEARNING_RATE * step.g / (np.sqrt(first) + 1e-8), first, step.second


def _adagrad(step: Step) -> tuple[Array, Array, Array]:
    first = step.first + step.g**2
    return step.p - LEARNING_RATE * step.g / (np.sqrt(first) + 1e-10), first, step.second


def _lion(step: Step) -> tuple[Array, Array, Array]:
    update = np.sign(0.9 * step.first + 0.1 * step.g)
    p = step.p * (1 - LEARNING_RATE * 0.05) - LEARNING_RATE * update
    return p, 0.99 * step.first + 0.01 * step.g, step.second


def _ademamix(step: Step) -> tuple[Array, Array, Array]:
    fast, slow = step.first
    fast = 0.9 * fast + 0.1 * step.g
    slow = 0.9999 * slow + 0.0001 * step.g
    second = 0.999 * step.second + 0.001 * step.g**2
    update = (fast / (1 - 0.9**step.number) + 5 * slow) / (
        np.sqrt(second / (1 - 0.999**step.number)) + 1e-8
    )
    p = (step.p - LEARNING_RATE * update) * (1 - LEARNING_RATE * 0.05)
    return p, np.stack([fast, slow]), second


FORMULAS = {
    "adam": _adam,
    "adamw": _adamw,
    "sgd": _sgd,
    "rmsprop": _rmsprop,
    "adagrad": _adagrad,
    "lion": _lion,
    "ademamix": _ademamix,
}


def check_step(
    name: str, number: int, arrays: State, before: State, after: State, rounding: float
) -> None:
    """Compare parameters and states after a step with the formula applied to those before it.

    `before` is empty in front of the first step; `rounding` is of the type of the parameters.
    """
    p, g = arrays["p"].astype(np.float64), arrays["g"].astype(np.float64)
    shape = (2, len(p)) if name == "ademamix" else p.shape
    first, second = _state(before, 1, shape), _state(before, 2, p.shape)
    q, first, second = FORMULAS[name](Step(number, p, g, first, second))
    # Lion rounds twice; roots and quotients are approximate
    allowed = 2 * rounding * np.maximum(np.abs(p), np.abs(q)) + 2e-6
    assert (np.abs(arrays["q"] - q) <= allowed).all(), name
    _check_state(after, 1, first, name)
    if "state2" in after:
        _check_state(after, 2, second, name)


def _state(state: State, index: int, shape: tuple[int, ...]) -> Array:
    values = state.get(f"state{index}")
    if values is None:
        return np.zeros(shape)
    if values.dtype != np.uint8:
        return values.astype(np.float64)
    return state[f"qmap{index}"].astype(np.float64)[values] * _scale(state, index, shape[-1])


def _scale(state: State, index: int, count: int) -> Array:
    return np.repeat(state[f"absmax{index}"], BLOCK, axis=-1)[..., :count].astype(np.float64)


def _check_state(state: State, index: int, wanted: Array, name: str) -> None:
    found = _state(state, index, wanted.shape)
    if state[f"state{index}"].dtype != np.uint8:
        # 1 - 0.999 in float32 is 0.0009999871.
        allowed = 2e-5 * np.abs(wanted) + 1e-6 * np.abs(wanted).max()
        assert (np.abs(found - wanted) <= allowed).all(), name
        return
    # As near as any code but for one step: signs are kept even where 0 would be nearer.
    scale = _scale(state, index, wanted.shape[-1])
    table = np.sort(state[f"qmap{index}"].astype(np.float64))
    gap = np.diff(table)[np.clip(np.searchsorted(table, wanted / scale) - 1, 0, len(table) - 2)]
    assert (np.abs(found - wanted) <= gap * scale * 1.01 + 1e-9).all(), name
