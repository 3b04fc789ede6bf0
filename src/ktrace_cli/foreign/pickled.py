"""Reads what is plain in a pickle.

Nothing is imported, called or built: an object is no more than a place where its state goes.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable
from typing import Any

from ktrace_cli.errors import KtraceError

Plain = Any
"""None, bool, int, float, str, bytes, or dict, list and tuple of these; else OPAQUE."""

_MOST_OPCODES = 1_000_000
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_EMPTY: dict[str, Callable[[], Plain]] = {
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
}
_MARK = object()
OPAQUE = object()
"""What takes code to make: a class, a function, an object, a set."""
_LITERALS = frozenset({
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING",
    "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8",
    "BINBYTES", "SHORT_BINBYTES", "BINBYTES8",
})  # fmt: skip
# How many operands each takes off the stack; None: all above the last mark.
_OPERANDS: dict[str, int | None] = {
    "GLOBAL": 0, "STACK_GLOBAL": 2, "REDUCE": 2, "NEWOBJ": 2, "NEWOBJ_EX": 3, "OBJ": None,
    "INST": None, "EXT1": 0, "EXT2": 0, "EXT4": 0, "PERSID": 0, "BINPERSID": 1, "EMPTY_SET": 0,
    "FROZENSET": None, "BYTEARRAY8": 0, "NEXT_BUFFER": 0, "READONLY_BUFFER": 1,
}  # fmt: skip


class NotPlainError(Exception):
    """The bytes are no pickle, or one that no program writes."""


def dicts_in(data: bytes) -> list[dict[Plain, Plain]]:
    """Return all dictionaries of a pickle, in order of their begins.

    Raises:
        NotPlainError: it cannot be read.
    """
    machine = _Machine()
    try:
        for number, (opcode, argument, _) in enumerate(pickletools.genops(io.BytesIO(data))):
            if number >= _MOST_OPCODES:
                raise NotPlainError(f"it has more than {_MOST_OPCODES:,} steps")
            machine.step(opcode.name, argument)
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError) as problem:
        raise NotPlainError(str(problem) or type(problem).__name__) from problem
    return machine.dicts


class _Machine:
    """The stack that pickles are written for."""

    def __init__(self) -> None:
        self.dicts: list[dict[Plain, Plain]] = []
        self._stack: list[Plain] = []
        self._memo: dict[int, Plain] = {}

    def step(self, name: str, argument: Plain) -> None:
        """Do what one opcode says, as far as it is about plain data."""
        if name in _LITERALS:
            self._stack.append(argument)
        elif name in _CONSTANTS:
            self._stack.append(_CONSTANTS[name])
        elif name in _EMPTY:
            self._push_new(_EMPTY[name]())
        elif name in _OPERANDS:
            self._take(_OPERANDS[name])
            self._stack.append(OPAQUE)
        else:
            self._do(name, argument)

    def _do(self, name: str, argument: Plain) -> None:
        action = _ACTIONS.get(name)
        if action is not None:
            action(self)
        elif name == "MEMOIZE":
            self._memo[len(self._memo)] = self._stack[-1]
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            self._memo[argument] = self._stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            self._stack.append(self._memo[argument])
        elif name not in ("PROTO", "FRAME", "STOP"):
            raise NotPlainError(f"opcode {name} has no place in it")

    def _push_new(self, value: Plain) -> None:
        if isinstance(value, dict):
            self.dicts.append(value)
        self._stack.append(value)

    def _take(self, count: int | None) -> list[Plain]:
        if count is None:
            at = len(self._stack) - 1 - self._stack[::-1].index(_MARK)
            taken = self._stack[at + 1 :]
            del self._stack[at:]
            return taken
        if count > len(self._stack):
            raise NotPlainError("its stack runs out")
        taken = self._stack[len(self._stack) - count :]
        del self._stack[len(self._stack) - count :]
        return taken

    def mark(self) -> None:
        """Begin what the next opcode that asks for it takes."""
        self._stack.append(_MARK)

    def pop(self) -> None:
        """Forget the last value."""
        self._stack.pop()

    def pop_mark(self) -> None:
        """Forget all above the last mark."""
        self._take(None)

    def duplicate(self) -> None:
        """Push the last value once more."""
        self._stack.append(self._stack[-1])

    def add_items(self) -> None:
        """Put pairs into the dictionary below them."""
        self._set(self._take(None))

    def add_item(self) -> None:
        """Put one pair into the dictionary below it."""
        self._set(self._take(2))

    def _set(self, pairs: list[Plain]) -> None:
        target = self._stack[-1]
        if isinstance(target, dict):
            plain = (str, int, bytes, float, bool, type(None))
            for key, value in zip(pairs[::2], pairs[1::2], strict=True):
                target[key if isinstance(key, plain) else OPAQUE] = value

    def extend(self) -> None:
        """Put values into the list below them."""
        self._extend(self._take(None))

    def append(self) -> None:
        """Put one value into the list below it."""
        self._extend(self._take(1))

    def _extend(self, values: list[Plain]) -> None:
        if isinstance(self._stack[-1], list):
            self._stack[-1].extend(values)

    def make(self, kind: Callable[[list[Plain]], Plain], count: int | None) -> None:
        """Push a list, tuple or dictionary of the last values."""
        self._push_new(kind(self._take(count)))

    def build(self) -> None:
        """Forget an object's state, which is in `dicts` if it is one."""
        self._take(1)


def _to_dict(values: list[Plain]) -> dict[Plain, Plain]:
    return dict(zip(values[::2], values[1::2], strict=True))


_ACTIONS: dict[str, Callable[[_Machine], None]] = {
    "MARK": _Machine.mark,
    "POP": _Machine.pop,
    "POP_MARK": _Machine.pop_mark,
    "DUP": _Machine.duplicate,
    "SETITEMS": _Machine.add_items,
    "SETITEM": _Machine.add_item,
    "APPENDS": _Machine.extend,
    "APPEND": _Machine.append,
    "ADDITEMS": _Machine.pop_mark,
    "BUILD": _Machine.build,
    "TUPLE": lambda machine: machine.make(tuple, None),
    "TUPLE1": lambda machine: machine.make(tuple, 1),
    "TUPLE2": lambda machine: machine.make(tuple, 2),
    "TUPLE3": lambda machine: machine.make(tuple, 3),
    "LIST": lambda machine: machine.make(list, None),
    "DICT": lambda machine: machine.make(_to_dict, None),
}


def refuse(path: object, problem: NotPlainError) -> KtraceError:
    """Return what is said of a pickle that cannot be read."""
    return KtraceError(
        f"cannot read the names in {path}",
        why=f"it is no pickle that can be read without running code: {problem}",
        fix="name a JSON file: {name: id}",
    )
