"""Arguments and arrows of track events as bytes that are appended to each event."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ktrace_cli.export.protobuf import Bytes, Ints, Rows, varint, varint_sizes
from ktrace_cli.export.values import as_doubles
from ktrace_cli.model import Columns
from ktrace_cli.trace_file.layout import ValueType

_NAME_IID, _BOOL, _UINT, _INT, _DOUBLE = (varint(tag) for tag in (0x08, 0x10, 0x18, 0x20, 0x29))

_ANNOTATION = varint(4 << 3 | 2)
_FLOW = varint(47 << 3 | 1)
_TERMINATING_FLOW = varint(48 << 3 | 1)


@dataclass
class Annotations:
    """What is appended to events: pieces of bytes, each with the event that it belongs to."""

    _owners: list[Ints] = field(default_factory=list)
    _sizes: list[Ints] = field(default_factory=list)
    _bytes: list[Bytes] = field(default_factory=list)

    def add_payload(self, owners: Ints, names: Ints, values: Columns) -> None:
        """Add one argument per row of model.VALUE."""
        kind = values["type"]
        bits = values["bits"]
        is_signed = (kind == ValueType.I32) | (kind == ValueType.I64)
        is_double = (kind == ValueType.F32) | (kind == ValueType.F64)
        is_bool = kind == ValueType.BOOL
        narrow = bits.astype(np.uint32).view(np.int32).astype(np.int64).view(np.uint64)
        bits = np.where(kind == ValueType.I32, narrow, bits)
        head = [(_BOOL, is_bool), (_INT, is_signed), (_UINT, ~(is_bool | is_signed | is_double))]
        sizes = 1 + varint_sizes(names) + 1 + np.where(is_double, 8, varint_sizes(bits))
        rows = Rows(len(owners))
        rows.constant(_ANNOTATION)
        rows.varint(sizes)
        rows.constant(_NAME_IID)
        rows.varint(names)
        for tag, where in head:
            rows.constant(tag, where)
        rows.varint(bits, ~is_double)
        rows.constant(_DOUBLE, is_double)
        rows.fixed64(as_doubles(values).view(np.uint64), is_double)
        self._append(owners, rows)

    def add_numbers(self, owners: Ints, name: int, values: Ints) -> None:
        """Add an argument with a number that is not negative."""
        self._add_varint(owners, name, _UINT, values)

    def add_flags(self, owners: Ints, name: int) -> None:
        """Add an argument that is true."""
        self._add_varint(owners, name, _BOOL, np.ones(len(owners), np.int64))

    def add_flows(self, sources: Ints, destinations: Ints) -> None:
        """Add an arrow from each source to the destination of the same row."""
        for tag, owners in ((_FLOW, sources), (_TERMINATING_FLOW, destinations)):
            rows = Rows(len(owners))
            rows.constant(tag)
            rows.fixed64(np.arange(1, len(owners) + 1, dtype=np.uint64))
            self._append(owners, rows)

    def _add_varint(self, owners: Ints, name: int, tag: bytes, values: Ints) -> None:
        rows = Rows(len(owners))
        rows.constant(_ANNOTATION)
        rows.varint(1 + len(varint(name)) + len(tag) + varint_sizes(values))
        rows.constant(_NAME_IID + varint(name) + tag)
        rows.varint(values)
        self._append(owners, rows)

    def _append(self, owners: Ints, rows: Rows) -> None:
        if len(owners):
            content, sizes = rows.flatten()
            self._owners.append(owners)
            self._sizes.append(sizes)
            self._bytes.append(content)

    def per_event(self, count: int) -> tuple[Bytes, Ints]:
        """Return all bytes in order of the events, and how many each of `count` events has."""
        if not self._owners:
            return np.zeros(0, np.uint8), np.zeros(count, np.int64)
        owners, sizes = np.concatenate(self._owners), np.concatenate(self._sizes)
        content = np.concatenate(self._bytes)
        order = np.argsort(owners, kind="stable")
        begins = (np.cumsum(sizes) - sizes)[order]
        sizes = sizes[order]
        before = np.cumsum(sizes) - sizes
        index = np.repeat(begins - before, sizes) + np.arange(int(sizes.sum()))
        per_event = np.bincount(owners[order], weights=sizes, minlength=count)
        return content[index], per_event.astype(np.int64)
