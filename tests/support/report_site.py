"""Reads the pages of `ktrace report` back, as a browser without style or script would show them."""

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

_VOID = {"br", "meta"}


class _Parser(HTMLParser):
    """Checks that elements are closed in order, and collects text, tables and links."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.texts: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.links: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        assert len(found) == len(attrs)
        self.elements.append((tag, found))
        if tag not in _VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("th", "td"):
            self.tables[-1][-1].append("")
        self.links += [found[name] or "" for name in ("href", "src") if name in found]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            return
        if "title" in self.open and "svg" in self.open:
            return
        self.texts.append(data)
        if any(cell in self.open for cell in ("th", "td")):
            self.tables[-1][-1][-1] += data


@dataclass(frozen=True)
class Page:
    path: Path
    text: str
    tables: list[list[list[str]]]
    """Rows of cells; the first row is the head."""
    links: list[str]
    elements: list[tuple[str, dict[str, str | None]]] = field(repr=False)

    def row(self, name: str) -> list[str]:
        """Return the first row of any table that begins with `name`."""
        return next(row for table in self.tables for row in table if row[0] == name)

    def tags(self, name: str) -> list[dict[str, str | None]]:
        """Return the attributes of each element of a name."""
        return [attributes for tag, attributes in self.elements if tag == name]


def read_page(path: Path) -> Page:
    parser = _Parser()
    parser.feed(path.read_text("utf-8"))
    parser.close()
    assert parser.open == []
    return Page(path, "".join(parser.texts), parser.tables, parser.links, parser.elements)


def read_report(site: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((site / "report.json").read_text())
    return document


def pages(site: Path) -> list[Page]:
    """Return all pages but timelines."""
    return [read_page(path) for path in sorted(site.rglob("index.html"))]


def bytes_by_file(site: Path) -> dict[str, bytes]:
    return {
        path.relative_to(site).as_posix(): path.read_bytes()
        for path in sorted(site.rglob("*"))
        if path.is_file()
    }
