"""`ktrace view`: a recording in the Perfetto UI, or in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

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
from ktrace_cli.commands.sources import (
    NamesOption,
    ShapeOption,
    is_buffer,
    is_shown_as_buffer,
    read_source_or_time,
)
from ktrace_cli.commands.view_browser import Browsing, decoded, serve
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
from ktrace_cli.errors import UsageError
from ktrace_cli.export.formats import default_output
from ktrace_cli.export.opening import plan_opening
from ktrace_cli.export.tui import BLOCKS, By, View, draw, pick_dispatches
from ktrace_cli.foreign.source import Source
from ktrace_cli.model import Timeline
from ktrace_cli.progress import part_of
from ktrace_cli.timeline.progress import with_progress
from ktrace_cli.timeline.select import Selection, window_ns
from ktrace_cli.units import counted
from ktrace_cli.viewer.perfetto_ui import find_ui
from ktrace_cli.viewer.trace import is_recording

_ROWS = 40
_LEAST_ROWS = 16
_OTHER_LINES = 10  # of heading and legend
_PASSES = 3  # over what is drawn; rarely more, if lanes need more rows than there are


@dataclass(frozen=True)
class _Drawing:
    """How a recording is drawn in the terminal."""

    by: By = By.WORKGROUP
    rows: int | None = None
    is_ascii: bool = False


@dataclass(frozen=True)
class _Chosen:
    """What of it is drawn."""

    dispatches: Sequence[int]
    """Numbers that were asked for."""
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
    limit: LimitOption = None,
    names: NamesOption = None,
    shape: ShapeOption = None,
    strict: StrictOption = False,
) -> None:
    """Show FILE in the Perfetto UI, or in the terminal.

    Nothing is uploaded: the browser reads the trace from this machine.
    """
    source, since = read_source_or_time(begin, names, shape)
    selection = read_selection(
        kernel=kernel,
        dispatch=dispatch,
        blocks=blocks,
        waves=waves,
        xcd=xcd,
        begin=since,
        end=end,
        limit=limit,
    )
    browsing = Browsing(offline, no_browser, timeout)
    drawing = _Drawing(by, rows, ascii_only)
    _check_together(browsing, drawing, tui)
    if offline:
        find_ui()  # before a long recording is read
    path = find_recording(file)
    # A trace that was written for a browser goes there as it is.
    is_part = tui or not selection.is_everything
    has_waves = is_buffer if is_part else is_shown_as_buffer
    if has_waves(path, source) or is_recording(path):
        shown = _Shown(path, source, selection)
        _show(shown, browsing, drawing if tui else None, strict=strict)
    elif is_part:
        raise UsageError(
            f"{path} is no recording",
            why="`--tui`, and options that select a part, need one",
            fix="name the recording that it was made of",
        )
    else:
        serve(path, path.name, None, browsing)


def _check_together(browsing: Browsing, drawing: _Drawing, tui: bool) -> None:
    if tui and (browsing.is_offline or browsing.only_link):
        raise UsageError(
            "`--tui` opens no browser",
            why="`--offline` or `--no-browser` says how to open one",
            fix="leave out one of them",
        )
    if not tui and drawing != _Drawing():
        raise UsageError(
            "nothing is drawn in the terminal",
            why="`--by`, `--rows` and `--ascii` say how, but not that",
            fix="add `--tui`",
        )


@dataclass(frozen=True)
class _Shown:
    """What is read, and what of it is shown."""

    path: Path
    source: Source
    selection: Selection


def _show(
    shown: _Shown,
    browsing: Browsing,
    drawing: _Drawing | None,
    *,
    strict: bool,
) -> None:
    path, selection = shown.path, shown.selection
    whole = load_timeline(path, shown.source)
    timeline = select_waves(whole, selection)
    if drawing is None:
        with decoded(timeline, path) as trace:
            serve(trace, default_output(path).name, plan_opening(timeline), browsing)
    else:
        asked = timeline.dispatches["number"].tolist() if selection.dispatches else []
        chosen = _Chosen(asked, window_ns(whole, selection))
        _draw(timeline, drawing, chosen)
    check_losses(whole, strict=strict)


def _draw(timeline: Timeline, drawing: _Drawing, chosen: _Chosen) -> None:
    width, height = console.screen()
    room = max(_LEAST_ROWS, height - _OTHER_LINES) if height else _ROWS
    for row in pick_dispatches(timeline, chosen.dispatches):
        view = View(
            dispatch=row,
            by=drawing.by,
            width=width,
            rows=drawing.rows or room,
            is_ascii=drawing.is_ascii or not console.can_write(BLOCKS),
            zero_ns=timeline.zero_ns,
            window_ns=chosen.window_ns,
            about=_about(timeline, row, chosen.dispatches),
        )
        with console.progress("drawing") as advance:
            share = len(timeline.waves) / max(int(timeline.dispatches["waves"][row]), 1)
            told = with_progress(timeline, part_of(advance, share), _PASSES)
            picture = draw(told, view)
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
