"""HTML from Python: text is always escaped, and nothing else is written as it is."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass

from ktrace_cli.analysis.report import LONGEST_NAME, Name, Text, printable

_VOID = {"br", "meta"}
_ANY_LENGTH = 10_000


@dataclass(frozen=True)
class Html:
    """What is HTML already."""

    text: str


Content = Html | str | None
"""Text is escaped; None is nothing."""
NOTHING = Html("")


def tag(name: str, /, *content: Content, **attributes: str | int | None) -> Html:
    """Return an element; `class_` is `class`, `aria_label` is `aria-label`, None leaves it out."""
    written = "".join(
        f' {key.strip("_").replace("_", "-")}="{html.escape(_clean(str(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{join(content).text}</{name}>")


def join(content: Iterable[Content]) -> Html:
    """Return one behind the other."""
    return Html("".join(_written(each) for each in content))


def code(name: str, width: int = LONGEST_NAME) -> Html:
    """Return a name from the program; one that is shortened is told in full by its tip."""
    shown, full = printable(name, width), printable(name, _ANY_LENGTH)
    return tag("code", shown, title=None if shown == full else full)


def in_full(text: str) -> str:
    """Return a text from elsewhere on one line, nothing left out."""
    return printable(text, _ANY_LENGTH)


def rich_text(text: Text) -> Html:
    """Return a sentence of a written report."""
    return join(code(part.text) if isinstance(part, Name) else prose(part) for part in text)


def prose(text: str) -> Html:
    """Return a sentence in which what stands in backticks is code."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:  # they are not pairs
        return join([text])
    return join(tag("code", piece) if n % 2 else piece for n, piece in enumerate(pieces))


def _written(content: Content) -> str:
    if content is None:
        return ""
    return content.text if isinstance(content, Html) else html.escape(_clean(content))


def _clean(text: str) -> str:
    """Take out what a page may not hold: controls, and halves of characters."""
    bad = "\N{REPLACEMENT CHARACTER}"
    return "".join(c if c.isprintable() or c == "\n" else bad for c in text)
