"""One request of a browser, and its answer."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from ktrace_cli.viewer.ranges import parse_range

HOST = "127.0.0.1"
_OWN_HOST = re.compile(r"(127\.0\.0\.1|localhost)(:[0-9]{1,5})?")  # of HOST, and any tunnel's port
_PIECE = 1 << 20
_TYPES = {
    ".css": "text/css",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript",
    ".json": "application/json",
    ".png": "image/png",
    ".wasm": "application/wasm",
    ".woff2": "font/woff2",
}


@dataclass(frozen=True)
class Site:
    """What is served: exactly these files."""

    files: Mapping[str, Path]
    """By the path of their URL."""
    trace: str
    """The path of the one that the user wants to see."""
    entry: str
    """The path that leads to the page which shows it."""
    page: Callable[[str], str]
    """Returns the address of that page, given the host and port that the browser knows us by."""
    reader: str = ""
    """The origin of the page elsewhere that may read the files; "" is none."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent with each answer."""


class Watcher(Protocol):
    """Whoever wants to know what becomes of the trace."""

    site: Site

    def transfer(self) -> AbstractContextManager[None]:
        """Note that a transfer is going on."""

    def note_fetched(self) -> None:
        """Note that all of it was sent."""


class Handler(BaseHTTPRequestHandler):
    """Answers with a file of the site, or with an error."""

    timeout = 60  # seconds that a connection may be silent
    server_version = "ktrace"
    sys_version = ""

    def do_GET(self) -> None:
        """Send a file, or the part of it that is asked for."""
        with self._watcher.transfer() if self._is_trace else nullcontext():
            self._answer(with_content=True)

    def do_HEAD(self) -> None:
        """Send what the answer to a GET would begin with."""
        self._answer(with_content=False)

    def do_OPTIONS(self) -> None:
        """Tell a browser that the page which it shows may ask this machine."""
        self.send_response(HTTPStatus.NO_CONTENT)
        if self._watcher.site.reader and self._is_for_this_machine:
            self.send_header("Access-Control-Allow-Methods", "GET, HEAD")
            self.send_header("Access-Control-Allow-Headers", "Range")
            self.send_header("Access-Control-Allow-Private-Network", "true")
        self.end_headers()

    @property
    def _watcher(self) -> Watcher:
        return cast(Watcher, self.server)

    @property
    def _name(self) -> str:
        return self.path.partition("?")[0]

    @property
    def _is_trace(self) -> bool:
        return self._name == self._watcher.site.trace

    @property
    def _is_for_this_machine(self) -> bool:
        """Tell whether the browser believes so: another host's name may be made to lead here."""
        return _OWN_HOST.fullmatch(self.headers.get("Host", "")) is not None

    def _answer(self, *, with_content: bool) -> None:
        site = self._watcher.site
        path = site.files.get(self._name)
        if not self._is_for_this_machine or (path is None and self._name != site.entry):
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        if path is None:
            self.send_response(HTTPStatus.FOUND)
            self.send_header("Location", site.page(self.headers["Host"]))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        try:
            file = path.open("rb")
        except OSError:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        with file:
            span = self._begin(file, path.suffix)
            if span is not None and with_content:
                self._send(file, span)

    def _begin(self, file: BinaryIO, suffix: str) -> range | None:
        """Send all but the content; return what of the file that is, or None: nothing."""
        size = os.fstat(file.fileno()).st_size
        asked = parse_range(self.headers.get("Range"), size)
        span = range(size) if asked is None else asked
        if asked is not None and not asked:
            self.send_response(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
            self.send_header("Content-Range", f"bytes */{size}")
        elif asked is not None:
            self.send_response(HTTPStatus.PARTIAL_CONTENT)
            self.send_header("Content-Range", f"bytes {span.start}-{span.stop - 1}/{size}")
        else:
            self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", _TYPES.get(suffix, "application/octet-stream"))
        self.send_header("Content-Length", str(len(span)))
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        return span if span or asked is None else None

    def _send(self, file: BinaryIO, span: range) -> None:
        size = os.fstat(file.fileno()).st_size
        file.seek(span.start)
        left = len(span)
        while left and (piece := file.read(min(left, _PIECE))):
            self.wfile.write(piece)
            left -= len(piece)
        if self._is_trace and not left and span.stop == size:
            self._watcher.note_fetched()

    def end_headers(self) -> None:
        """Add what each answer has."""
        site = self._watcher.site
        if site.reader:
            self.send_header("Access-Control-Allow-Origin", site.reader)
        for name, value in site.headers.items():
            self.send_header(name, value)
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - its name
        """Say nothing: requests are of no interest to the user."""
