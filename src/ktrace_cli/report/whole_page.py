"""What all pages have in common: head, style, the way back."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

from ktrace_cli.report.markup import Html, in_full, tag
from ktrace_cli.report.results import Frame


def whole_page(frame: Frame, title: str, content: Html, *, depth: int) -> str:
    """Return a page that needs nothing but the files beside it.

    Args:
        frame: what all pages have in common.
        title: of the page.
        content: all of it.
        depth: how many folders are between it and the index.
    """
    style = read_style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    # The timeline is a frame; `file:` lets it be one where the site lies on a disk.
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; frame-src 'self' file:;"
        " base-uri 'none'; form-action 'none'"
    )
    whole = title if not depth else f"{title} · {in_full(frame.title)}"
    back = tag("nav", tag("a", "all runs", href=f"{'../' * depth}index.html"), aria_label="Report")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{whole} · ktrace"),
        Html(f"<style>{style}</style>"),
    )
    body = tag("body", back if depth else None, tag("main", content))
    page = tag("html", head, "\n", body, lang="en")
    return f"<!doctype html>\n{page.text}\n"


@cache
def read_style() -> str:
    """Return the style of all pages."""
    return files(__package__).joinpath("style.css").read_text("utf-8")
