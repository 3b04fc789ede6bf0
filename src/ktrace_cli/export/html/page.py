"""The page: a skeleton, its style and script, and the recording in blocks, all in one file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any

from ktrace_cli.errors import KtraceError
from ktrace_cli.export.html.blocks import encode_rows, encode_waves
from ktrace_cli.export.html.tables import describe
from ktrace_cli.export.output import Sink
from ktrace_cli.model import Timeline

MOST_ROWS = 20_000_000
"""Slices and marks of a page. A browser needs some 40 bytes of memory for each."""

# In this order; each uses only those before it when it is loaded.
SCRIPTS = (
    "words.js",
    "columns.js",
    "recording.js",
    "colours.js",
    "rows.js",
    "paint.js",
    "arrows.js",
    "view.js",
    "overlay.js",
    "statistics.js",
    "search.js",
    "details.js",
    "controls.js",
    "main.js",
)
_COMPRESSION = 4  # half the time of zlib's default for files that are 1 % larger


@dataclass(frozen=True)
class Written:
    """What a page holds."""

    slices: int
    instants: int


def write_html(timeline: Timeline, out: Sink, notes: Sequence[str] = ()) -> Written:
    """Write a page that needs nothing but a browser, not even a network.

    Args:
        timeline: what is shown.
        out: where the page goes.
        notes: sentences for the page's line on data quality, such as what was selected.

    Raises:
        KtraceError: there is more than a browser can hold, or times are too far apart.
    """
    zero = timeline.zero_ns
    tables = describe(timeline, zero, notes)
    style, script = _read("page.css"), "".join(_read(name) for name in SCRIPTS)
    before, between, after = _read("page.html").split("@@@")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )
    title = html.escape(f"{tables['title']} · ktrace")
    head = before.replace("@policy@", policy).replace("@title@", title)
    out.write(head.encode(errors="replace"))
    # The script comes first, so that it can tell when the rest of the file is missing.
    out.write(f"<style>{style}</style>{between}<script>{script}</script>\n".encode())
    out.write(_json("tables", tables).encode())
    out.write(_element("waves", encode_waves(timeline, zero)))
    written = _write_rows(timeline, out)
    out.write(_json("totals", asdict(written)).encode())
    out.write(after.encode())
    return written


def _write_rows(timeline: Timeline, out: Sink) -> Written:
    slices = instants = 0
    for block in encode_rows(timeline):
        slices += block.slices
        instants += block.instants
        if slices + instants > MOST_ROWS:
            raise KtraceError(
                "cannot write an HTML page",
                why=f"a page holds at most {MOST_ROWS:,} slices and marks, and there are more",
                fix="select some, for example with `--dispatch` or `--limit`, or write another"
                " format",
            )
        out.write(_element("rows", block.data))
    return Written(slices, instants)


def _json(name: str, tables: dict[str, Any]) -> str:
    """Return an element of JSON in ASCII that nothing ends early, whatever names hold."""
    text = json.dumps(tables, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>\n'


def _element(kind: str, block: bytes) -> bytes:
    data = base64.b64encode(zlib.compress(block, _COMPRESSION))
    head = f'<script type="application/octet-stream" class="{kind}">'.encode()
    return head + data + b"</script>\n"


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _read(name: str) -> str:
    return files("ktrace_cli.export.html").joinpath(name).read_text("utf-8")
