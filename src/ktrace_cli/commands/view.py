"""`ktrace view`: a recording in the Perfetto UI, or in the terminal."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import typer

from ktrace_cli import console
from ktrace_cli.commands.recording import (
    StrictOption,
    check_losses,
    describe_devices,
    find_recording,
    load_timeline,
)
from ktrace_cli.commands.selection import (
    BlocksOption,
    DispatchOption,
    FromOption,
    KernelOption,
    LimitOption,
    ToOption,
    WavesOption,
    XcdOption,
    read_selection,
    select_waves,
)
from ktrace_cli.commands.view_options import (
    AsciiOption,
    ByOption,
    FileArgument,
    NoBrowserOption,
    OfflineOption,
    RowsOption,
    TimeoutOption,
    TuiOption,
)
from ktrace_cli.errors import KtraceError, UsageError
from ktrace_cli.export.formats import Format, choose_target, default_output
from ktrace_cli.export.opening import Opening, plan_opening
from ktrace_cli.export.output import compressed
from ktrace_cli.export.perfetto import write_perfetto
from ktrace_cli.export.tui import BLOCKS, By, View, draw, pick_dispatches
from ktrace_cli.export.write import size_warning, write_timeline
from ktrace_cli.model import Timeline
from ktrace_cli.timeline.progress import with_progress
from ktrace_cli.timeline.select import window_ns, zero_ns
from ktrace_cli.units import counted
from ktrace_cli.viewer.browser import is_far, open_browser, tunnel
from ktrace_cli.viewer.perfetto_ui import (
    HOSTED,
    HOSTED_PORT,
    Look,
    hosted_site,
    offline_site,
)
from ktrace_cli.viewer.server import Server, serving
from ktrace_cli.viewer.trace import is_recording

_ROWS = 40
_LEAST_ROWS = 16
_OTHER_LINES = 10  # of heading and legend
_INTERRUPTED = 130


@dataclass(frozen=True)
class _Browsing:
    """How a trace is shown in a browser."""

    is_offline: bool
    only_link: bool
    timeout_s: float


@dataclass(frozen=True)
class _Drawing:
    """How a recording is shown in the terminal."""

    by: By
    rows: int | None
    is_ascii: bool
    dispatches: Sequence[int]
    zero_ns: int
    window_ns: tuple[int, int] | None


def view(
    file: FileArgument = None,
    offline: OfflineOption = False,
    no_browser: NoBrowserOption = False,
    timeout: TimeoutOption = 60,
    tui: TuiOption = False,
    by: ByOption = By.WORKGROUP,
    rows: RowsOption = None,
    ascii_only: AsciiOption = False,
    kernel: KernelOption = None,
    dispatch: DispatchOption = None,
    blocks: BlocksOption = None,
    waves: WavesOption = None,
    xcd: XcdOption = None,
    begin: FromOption = None,
    end: ToOption = None,
    limit: LimitOption = 0,
    strict: StrictOption = False,
) -> None:
    """Show FILE in the Perfetto UI, or in the terminal.

    Nothing is uploaded: the browser reads the trace from this machine.
    """
    selection = read_selection(
        kernel=kernel,
        dispatch=dispatch,
        blocks=blocks,
        waves=waves,
        xcd=xcd,
        begin=begin,
        end=end,
        limit=limit,
    )
    browsing = _Browsing(offline, no_browser, timeout)
    path = find_recording(file)
    if not is_recording(path):
        if tui or not selection.is_everything:
            raise UsageError(
                f"{path} is no recording",
                why="`--tui`, and options that select a part, need one",
                fix="name the recording that it was made of",
            )
        _serve(path, path.name, None, browsing)
        return
    whole = load_timeline(path)
    timeline = select_waves(whole, selection)
    if tui:
        window = window_ns(whole, selection)
        drawing = _Drawing(by, rows, ascii_only, selection.dispatches, zero_ns(whole), window)
        _draw(timeline, drawing)
    else:
        with _decoded(timeline, path) as trace:
            _serve(trace, default_output(path).name, plan_opening(timeline), browsing)
    check_losses(whole, strict=strict)


@contextmanager
def _decoded(timeline: Timeline, recording: Path) -> Iterator[Path]:
    """Write the trace where `decode` does, else where it vanishes with this process."""
    target = choose_target(recording, None, Format.PFTRACE, may_replace=True)
    if warning := size_warning(timeline, target.format):
        console.warn(warning)
    if _takes_files(target.path.parent):
        with console.progress("writing the trace") as advance:
            write_timeline(with_progress(timeline, advance), target, None)
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


def _serve(trace: Path, name: str, opening: Opening | None, browsing: _Browsing) -> None:
    look = Look(opening.tracks, opening.begin_ns, opening.end_ns) if opening else None
    site = offline_site(trace, name, look) if browsing.is_offline else hosted_site(trace, look)
    ports = (HOSTED_PORT, 0) if browsing.is_offline else (HOSTED_PORT,)
    try:
        with serving(site, ports) as server:
            _invite(server, name, browsing)
            _wait(server, name, browsing)
    except KeyboardInterrupt:
        raise typer.Exit(_INTERRUPTED) from None


def _invite(server: Server, name: str, browsing: _Browsing) -> None:
    where = "" if browsing.is_offline else f" at {HOSTED}"
    console.say(f"{name} opens{where} in a browser on this machine; nothing is uploaded")
    if is_far(os.environ):
        command = tunnel(os.environ, server.server_port)
        console.say(f"to use one on another machine, run `{command}` there first")
    console.data(f"{server.link}\n")
    if not browsing.only_link and not open_browser(server.link, os.environ):
        console.say("no browser could be opened here: open the link yourself")


def _wait(server: Server, name: str, browsing: _Browsing) -> None:
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


def _draw(timeline: Timeline, drawing: _Drawing) -> None:
    width, height = console.screen()
    room = max(_LEAST_ROWS, height - _OTHER_LINES) if height else _ROWS
    is_ascii = drawing.is_ascii or not console.can_write(BLOCKS)
    for row in pick_dispatches(timeline, drawing.dispatches):
        view = View(
            dispatch=row,
            by=drawing.by,
            width=width,
            rows=drawing.rows or room,
            is_ascii=is_ascii,
            zero_ns=drawing.zero_ns,
            window_ns=drawing.window_ns,
            about=_about(timeline, row, drawing.dispatches),
        )
        with console.progress("drawing") as advance:
            picture = draw(with_progress(timeline, advance, passes=3), view)
        console.lines(picture)


def _about(timeline: Timeline, row: int, asked: Sequence[int]) -> tuple[str, ...]:
    """Say which dispatch of how many this is, and of which device."""
    number = timeline.dispatches["device"][row]
    devices = tuple(device for device in timeline.devices if device.device == number)
    about = describe_devices(replace(timeline, devices=devices))
    if asked or len(timeline.dispatches) == 1:
        return (about,)
    count = counted(len(timeline.dispatches), "dispatch", "dispatches")
    return (about, f"the longest of {count}; `--dispatch NUMBER` shows another one")
