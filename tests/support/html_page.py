"""Reads the page of `decode -f html` back, as docs/reference/html.md says that it is made."""

import base64
import json
import re
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from ktrace_cli.export.html.columns import decode_block
from ktrace_cli.export.html.page import write_html
from ktrace_cli.model import FLOW, INSTANT, SLICE, VALUE, Columns, Timeline

_ELEMENT = re.compile(rb'<script type="application/octet-stream" class="(\w+)">([^<]*)</script>')
_JSON = re.compile(rb'<script type="application/json" id="(\w+)">([^<]*)</script>')


class Bytes:
    """A sink that keeps everything."""

    def __init__(self) -> None:
        self.data = b""
        self.writes = 0

    def write(self, data: bytes, /) -> None:
        self.data += data
        self.writes += 1


@dataclass(frozen=True)
class Page:
    """What a page holds, in the model's own terms; rows of waves and times count from theirs."""

    tables: dict[str, Any]
    totals: dict[str, int]
    waves: dict[str, Columns]
    blocks: int
    slices: Columns
    instants: Columns
    values: Columns
    flows: Columns


def page_of(timeline: Timeline) -> bytes:
    out = Bytes()
    write_html(timeline, out)
    return out.data


def read_page(page: bytes, timeline: Timeline) -> Page:
    """Decode a page; `timeline.waves` lends what times count from."""
    json_by_id = {name.decode(): json.loads(text) for name, text in _JSON.findall(page)}
    tables = json_by_id["tables"]
    blocks = [
        (kind.decode(), decode_block(zlib.decompress(base64.b64decode(text))))
        for kind, text in _ELEMENT.findall(page)
    ]
    assert blocks[0][0] == "waves"
    waves = dict(zip(tables["columns"]["waves"], blocks[0][1], strict=True))
    waves["begin"] = np.cumsum(waves["begin"])
    rows: list[list[Columns]] = [[], [], [], []]
    at = value_at = 0
    for kind, columns in blocks[1:]:
        assert kind == "rows"
        block = dict(zip(tables["columns"]["rows"], columns, strict=True))
        parts = _block_rows(block, timeline.waves, at, value_at)
        for whole, part in zip(rows, parts, strict=True):
            whole.append(part)
        at += len(parts[0])
        value_at += len(parts[2])
    joined = [
        np.concatenate([np.zeros(0, dtype), *parts])
        for dtype, parts in zip((SLICE, INSTANT, VALUE, FLOW), rows, strict=True)
    ]
    return Page(tables, json_by_id["totals"], waves, len(blocks) - 1, *joined)


def _block_rows(
    block: dict[str, Columns], waves: Columns, at: int, value_at: int
) -> tuple[Columns, Columns, Columns, Columns]:
    slices = np.zeros(len(block["slice.event"]), SLICE)
    instants = np.zeros(len(block["instant.event"]), INSTANT)
    for name in ("event", "lane", "depth", "flags", "values"):
        slices[name] = block[f"slice.{name}"]
    for name in ("event", "values"):
        instants[name] = block[f"instant.{name}"]
    slices["ticks"] = block["slice.ticks"]
    wave_rows = np.cumsum(block["wave.row"])
    slices["wave"] = np.repeat(wave_rows, block["wave.slices"])
    instants["wave"] = np.repeat(wave_rows, block["wave.instants"])
    _set_slice_times(slices, block, waves)
    _set_instant_times(instants, block, waves)
    _set_parents(slices, at)
    values = []
    for name, rows in (("slice", slices), ("instant", instants)):
        own = np.zeros(len(block[f"{name}.value_type"]), VALUE)
        own["type"] = block[f"{name}.value_type"]
        own["bits"] = block[f"{name}.value_bits"].view(np.uint64)
        counts = rows["values"].astype(np.int64)
        assert counts.sum() == len(own)
        rows["first_value"] = np.cumsum(counts) - counts + value_at
        value_at += len(own)
        values.append(own)
    flows = np.zeros(len(block["flow.edge"]), FLOW)
    flows["source"] = np.cumsum(block["flow.source"]) + at
    flows["destination"] = flows["source"] + block["flow.destination"]
    flows["edge"] = block["flow.edge"]
    return slices, instants, np.concatenate(values), flows


def _set_slice_times(slices: Columns, block: dict[str, Columns], waves: Columns) -> None:
    place, tick = (-1, -1), 0
    for row, step, begin_off, end_off in zip(
        slices,
        block["slice.begin_ticks"].tolist(),
        block["slice.begin_off"].tolist(),
        block["slice.end_off"].tolist(),
        strict=True,
    ):
        here = (int(row["wave"]), int(row["lane"]))
        tick = tick + step if here == place else step
        place = here
        wave = waves[row["wave"]]
        begin = _ns(wave, tick) + begin_off
        row["begin_ticks"] = wave["begin_ticks"] + tick
        row["begin_ns"] = wave["begin_ns"] + begin
        row["ns"] = _ns(wave, tick + int(row["ticks"])) + end_off - begin


def _set_instant_times(instants: Columns, block: dict[str, Columns], waves: Columns) -> None:
    last, tick = -1, 0
    for row, step, off in zip(
        instants, block["instant.ticks"].tolist(), block["instant.off"].tolist(), strict=True
    ):
        tick = tick + step if row["wave"] == last else step
        last = row["wave"]
        wave = waves[last]
        row["ticks"] = wave["begin_ticks"] + tick
        row["ns"] = wave["begin_ns"] + _ns(wave, tick) + off


def _ns(wave: Columns, tick: int) -> int:
    ticks = int(wave["end_ticks"] - wave["begin_ticks"])
    rate = float(wave["end_ns"] - wave["begin_ns"]) / ticks if ticks > 0 else 0.0
    return int(np.floor(tick * rate + 0.5))


def _set_parents(slices: Columns, at: int) -> None:
    """The slice around one is the last one before it on its lane that is one less deep."""
    for row in range(len(slices)):
        slices["parent"][row] = -1
        depth = slices["depth"][row]
        for before in range(row - 1, -1, -1) if depth else ():
            if slices["depth"][before] == depth - 1:
                slices["parent"][row] = before + at
                break
