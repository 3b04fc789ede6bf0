"""The model as a Parquet table: a row for each slice and mark, the columns of the CSV.

It needs pyarrow, which `ktrace[parquet]` installs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ktrace_cli.errors import KtraceError
from ktrace_cli.export.csv import column_names
from ktrace_cli.export.output import Sink
from ktrace_cli.export.records import Written, flag_names, kind_name, records_of
from ktrace_cli.export.values import owned_values, to_python, value_texts
from ktrace_cli.model import NONE, Columns, Part, SliceFlag, Timeline

_ROWS_PER_GROUP = 500_000


def load_pyarrow() -> tuple[Any, Any]:
    """Return pyarrow and pyarrow.parquet.

    Raises:
        KtraceError: it is not installed.
    """
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as problem:
        raise KtraceError(
            "cannot write Parquet",
            why=f"it needs pyarrow ({problem})",
            fix="pip install 'ktrace[parquet]'",
        ) from problem


def write_parquet(timeline: Timeline, out: Sink) -> Written:
    """Write `timeline` to `out`; a row group holds whole parts of the timeline.

    Raises:
        KtraceError: pyarrow is not installed.
    """
    arrow, parquet = load_pyarrow()
    table = _Table(arrow, timeline)
    file = arrow.PythonFile(_Stream(out), mode="w")
    with parquet.ParquetWriter(file, table.schema, compression="zstd") as writer:
        for batches in _groups(table.batch(part) for part in timeline.parts()):
            group = arrow.Table.from_batches(batches, table.schema)
            writer.write_table(group, row_group_size=max(1, len(group)))
    return table.written


def _groups(batches: Iterator[Any]) -> Iterator[list[Any]]:
    """Put small neighbours together."""
    pending: list[Any] = []
    for batch in batches:
        pending.append(batch)
        if sum(map(len, pending)) >= _ROWS_PER_GROUP:
            yield pending
            pending = []
    if pending:
        yield pending


class _Stream:
    """A sink as a file that is written from its begin to its end."""

    def __init__(self, out: Sink) -> None:
        self._out = out
        self._at = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        self._out.write(data)
        self._at += len(data)
        return len(data)

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        """The file's owner flushes it."""

    def close(self) -> None:
        """The file's owner closes it."""


class _Table:
    """Turns parts into rows."""

    def __init__(self, arrow: Any, timeline: Timeline) -> None:
        self._arrow = arrow
        self._timeline = timeline
        self.written = Written()
        text = arrow.dictionary(arrow.int32(), arrow.string())
        types = {
            **dict.fromkeys(("kernel", "role", "kind", "name", "lane", "flags"), text),
            **dict.fromkeys(("stream", "dispatch"), arrow.uint64()),
            **dict.fromkeys(("block_x", "block_y", "block_z", "wave"), arrow.uint32()),
            **dict.fromkeys(("xcc", "se", "cu", "simd", "slot", "depth"), arrow.uint16()),
            "device": arrow.int32(),
            "value": arrow.float64(),
            "values": arrow.list_(arrow.string()),
        }
        # `value` is for arithmetic; `values` has every payload as it is.
        names = [*column_names(timeline)[:-1], "value", "values"]
        self.schema = arrow.schema([(name, types.get(name, arrow.int64())) for name in names])
        self._kernels = [kernel.name for kernel in timeline.kernels]
        self._roles = [*(event.name for event in timeline.events), ""]
        self._kinds = sorted({kind_name(event) for event in timeline.events})
        kind_rows = [self._kinds.index(kind_name(event)) for event in timeline.events]
        self._kind_of_event = np.array(kind_rows, np.int32)

    def batch(self, part: Part) -> Any:
        """Return the rows of a part."""
        records = records_of(part)
        self.written.add(records)
        waves = self._timeline.waves[records["wave"]]
        dispatches = self._timeline.dispatches[waves["dispatch"]]
        columns = [
            *self._of_waves(waves, dispatches),
            *self._of_records(records, waves),
            *self._payloads(records, part.values),
        ]
        arrays = [
            column if isinstance(column, self._arrow.Array) else self._arrow.array(column, type_)
            for column, type_ in zip(columns, self.schema.types, strict=True)
        ]
        return self._arrow.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _of_waves(self, waves: Columns, dispatches: Columns) -> Iterator[Any]:
        yield from (dispatches[name] for name in ("number", "device", "stream"))
        yield self._named(dispatches["kernel"], self._kernels)
        yield from waves["block"].T
        yield waves["wave"]
        yield self._named(np.where(waves["group"] == NONE, -1, waves["group"]), self._roles)
        yield from (waves[name] for name in ("xcc", "se", "cu", "simd", "hardware_slot"))
        yield waves["begin_ns"]
        yield waves["end_ns"] - waves["begin_ns"]

    def _of_records(self, records: Columns, waves: Columns) -> Iterator[Any]:
        is_mark = records["lane"] == NONE
        yield self._named(self._kind_of_event[records["event"]], self._kinds)
        yield self._named(records["event"], [event.name for event in self._timeline.events])
        yield self._named(records["lane"], list(self._timeline.lanes))
        yield self._arrow.array(records["depth"], mask=is_mark)
        yield records["begin_ns"]
        yield records["ns"]
        yield records["begin_ticks"] - waves["begin_ticks"]
        yield records["ticks"]
        names = flag_names(SliceFlag)
        flags, which = np.unique(records["flags"], return_inverse=True)
        yield self._named(which, [names(flag) for flag in flags.tolist()])

    def _named(self, rows: Columns, names: Sequence[str]) -> Any:
        """Return a column of names; below 0 is none."""
        index = np.ascontiguousarray(rows, np.int32)
        indices = self._arrow.array(index, mask=index < 0)
        return self._arrow.DictionaryArray.from_arrays(
            indices, self._arrow.array(names, self._arrow.string())
        )

    def _payloads(self, records: Columns, values: Columns) -> Iterator[Any]:
        first = np.zeros(len(records))
        has = records["values"] > 0
        of_first = values[records["first_value"][has]]
        first[has] = [float(value) for value in to_python(of_first)]
        yield self._arrow.array(first, mask=~has)
        texts = value_texts(owned_values(records, values))
        sizes = np.append(0, records["values"]).astype(np.int32)
        yield self._arrow.ListArray.from_arrays(
            np.cumsum(sizes, dtype=np.int32), self._arrow.array(texts, self._arrow.string())
        )
