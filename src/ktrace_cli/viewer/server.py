"""Serves a site to a browser on this machine, and tells when it has the trace."""

from __future__ import annotations

import errno
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import ThreadingHTTPServer
from typing import Any

from ktrace_cli.errors import KtraceError
from ktrace_cli.viewer.handler import HOST, Handler, Site
from ktrace_cli.viewer.port_owner import describe_owner

_POLL_S = 0.05  # how soon the server ends once it shall


class Server(ThreadingHTTPServer):
    """Answers each request in a thread of its own; a handler.Watcher."""

    daemon_threads = True  # browsers keep connections that they may need later

    def __init__(self, site: Site, port: int) -> None:
        self.site = site
        self._changed = threading.Condition()
        self._transfers = 0
        self._is_fetched = False
        super().__init__((HOST, port), Handler)

    @property
    def link(self) -> str:
        """The address that leads to the trace."""
        return f"http://{HOST}:{self.server_port}{self.site.entry}"

    def wait_for_fetch(self, timeout_s: float | None) -> bool:
        """Wait until a browser has all of the trace; return whether it has.

        A transfer that has begun takes as long as it takes. After one that breaks off the time
        begins anew.
        """
        with self._changed:
            while not self._is_fetched:
                if not self._changed.wait_for(self._is_asked_for, timeout_s):
                    return False
                self._changed.wait_for(lambda: self._is_fetched or not self._transfers)
        return True

    def wait_forever(self) -> None:
        """Serve until the user interrupts it."""
        threading.Event().wait()

    def _is_asked_for(self) -> bool:
        return self._is_fetched or self._transfers > 0

    @contextmanager
    def transfer(self) -> Iterator[None]:
        """Note that a transfer of the trace is going on."""
        with self._changed:
            self._transfers += 1
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._transfers -= 1
                self._changed.notify_all()

    def note_fetched(self) -> None:
        """Note that a browser has all of the trace."""
        with self._changed:
            self._is_fetched = True
            self._changed.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Take it as it is when a browser leaves; all else is a fault of ours."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


@contextmanager
def serving(site: Site, ports: Sequence[int]) -> Iterator[Server]:
    """Serve on the first of `ports` that is free; 0 stands for any.

    Raises:
        KtraceError: none of them is free.
    """
    server = _listen(site, ports)
    thread = threading.Thread(target=server.serve_forever, args=(_POLL_S,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _listen(site: Site, ports: Sequence[int]) -> Server:
    *first, last = ports
    for port in first:
        with suppress(OSError):
            return Server(site, port)
    try:
        return Server(site, last)
    except OSError as problem:
        raise _cannot_listen(last, problem) from problem


def _cannot_listen(port: int, problem: OSError) -> KtraceError:
    if problem.errno != errno.EADDRINUSE:
        return KtraceError(
            f"cannot listen on port {port} of {HOST}", why=problem.strerror or str(problem)
        )
    return KtraceError(
        f"port {port} of {HOST} is taken",
        why=f"{describe_owner(port)} listens on it, and https://ui.perfetto.dev reads no other",
        fix="end that program, or use `ktrace view --offline`, which takes any free port",
    )
