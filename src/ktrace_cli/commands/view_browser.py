"""`ktrace view` in a browser: the trace is written, served and led to."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer

from ktrace_cli import console
from ktrace_cli.errors import KtraceError
from ktrace_cli.export.formats import Format, choose_target
from ktrace_cli.export.opening import Opening
from ktrace_cli.export.output import compressed
from ktrace_cli.export.perfetto import write_perfetto
from ktrace_cli.export.write import Looks, size_warning, write_timeline
from ktrace_cli.model import Timeline
from ktrace_cli.timeline.progress import with_progress
from ktrace_cli.viewer.browser import is_far, open_browser, tunnel
from ktrace_cli.viewer.perfetto_ui import HOSTED, HOSTED_PORT, Look, hosted_site, offline_site
from ktrace_cli.viewer.server import Server, serving

_INTERRUPTED = 130


@dataclass(frozen=True)
class Browsing:
    """How a trace is shown in a browser."""

    is_offline: bool
    only_link: bool
    timeout_s: float


@contextmanager
def decoded(timeline: Timeline, recording: Path) -> Iterator[Path]:
    """Write the trace where `decode` does, else where it vanishes with this process."""
    target = choose_target(recording, None, Format.PFTRACE, may_replace=True)
    if warning := size_warning(timeline, target.format):
        console.warn(warning)
    if _takes_files(target.path.parent):
        with console.progress("writing the trace") as advance:
            write_timeline(with_progress(timeline, advance), target, Looks())
        console.say(f"wrote {target.path}")
        yield target.path
        return
    with tempfile.TemporaryFile() as out:
        with compressed(out) as stream, console.progress("writing the trace") as advance:
            write_perfetto(with_progress(timeline, advance), stream)
        out.flush()
        console.say(f"{target.path.parent} cannot be written: the trace vanishes when this ends")
        yield Path(f"/proc/self/fd/{out.fileno()}")


def _takes_files(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def serve(trace: Path, name: str, opening: Opening | None, browsing: Browsing) -> None:
    """Serve a trace until a browser has it; with the UI, until the user has seen enough."""
    look = Look(opening.tracks, opening.begin_ns, opening.end_ns) if opening else None
    site = offline_site(trace, name, look) if browsing.is_offline else hosted_site(trace, look)
    ports = (HOSTED_PORT, 0) if browsing.is_offline else (HOSTED_PORT,)
    try:
        with serving(site, ports) as server:
            _invite(server, name, browsing)
            _wait(server, name, browsing)
    except KeyboardInterrupt:
        raise typer.Exit(_INTERRUPTED) from None


def _invite(server: Server, name: str, browsing: Browsing) -> None:
    where = "" if browsing.is_offline else f" at {HOSTED}"
    console.say(f"{name} opens{where} in a browser on this machine; nothing is uploaded")
    if is_far(os.environ):
        command = tunnel(os.environ, server.server_port)
        console.say(f"to use one on another machine, run `{command}` there first")
    console.data(f"{server.link}\n")
    if not browsing.only_link and not open_browser(server.link, os.environ):
        console.say("no browser could be opened here: open the link yourself")


def _wait(server: Server, name: str, browsing: Browsing) -> None:
    """Return when there is nothing left to do."""
    limit = f" for {browsing.timeout_s:g} s" if browsing.timeout_s else ""
    console.say(f"waiting{limit} until a browser reads it; `Ctrl-C` ends this")
    if not server.wait_for_fetch(browsing.timeout_s or None):
        raise KtraceError(
            f"no browser has read {name}",
            why=f"none came within {browsing.timeout_s:g} s (`--timeout`)",
            fix="open the link sooner, or wait longer with `--timeout`; 0 waits without end",
        )
    if not browsing.is_offline:
        console.say(f"a browser has read {name}: it needs ktrace no more")
        return
    console.say(f"a browser has read {name}; `Ctrl-C` ends the Perfetto UI, too")
    server.wait_forever()
