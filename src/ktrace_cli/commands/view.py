"""`ktrace view`: a recording in the Perfetto UI, or in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
from ktrace_cli.model import Timeline
from ktrace_cli.timeline.progress import with_progress
from ktrace_cli.timeline.select import window_ns, zero_ns
from ktrace_cli.units import counted
from ktrace_cli.viewer.trace import is_recording

_ROWS = 40
_LEAST_ROWS = 16
_OTHER_LINES = 10  # of heading and legend


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
    browsing = Browsing(offline, no_browser, timeout)
    path = find_recording(file)
    if not is_recording(path):
        if tui or not selection.is_everything:
            raise UsageError(
                f"{path} is no recording",
                why="`--tui`, and options that select a part, need one",
                fix="name the recording that it was made of",
            )
        serve(path, path.name, None, browsing)
        return
    whole = load_timeline(path)
    timeline = select_waves(whole, selection)
    if tui:
        window = window_ns(whole, selection)
        drawing = _Drawing(by, rows, ascii_only, selection.dispatches, zero_ns(whole), window)
        _draw(timeline, drawing)
    else:
        with decoded(timeline, path) as trace:
            serve(trace, default_output(path).name, plan_opening(timeline), browsing)
    check_losses(whole, strict=strict)


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
