"""The only module that prints: data to stdout, all else to stderr with `ktrace: ` in front."""

from __future__ import annotations

import io
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.control import Control
from rich.markup import escape
from rich.segment import ControlType, Segment, Segments
from rich.text import Text

from ktrace_cli.errors import KtraceError, StandardOutputError

_BAR_AFTER_S = 1.0  # what is done sooner needs no bar
_BAR_EACH_S = 0.1
_BAR_WIDTH = 30
_SIZE_WITHOUT_TERMINAL = (100, 0)
_ANY_WIDTH = 10_000
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if code != 0x0A}


def _stderr() -> Console:
    return Console(stderr=True, highlight=False, soft_wrap=True)


def data(text: str) -> None:
    """Write a command's result to stdout, as it is; what its encoding lacks is written as `?`.

    Raises:
        KtraceError: stdout is closed or full. A reader that left (`| head`) is no error of ours.
    """
    if sys.stdout is None:
        raise StandardOutputError("it is closed")
    if not can_write(text):
        encoding = sys.stdout.encoding
        text = text.encode(encoding, "replace").decode(encoding)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StandardOutputError(error.strerror or str(error)) from error


def table(renderable: RenderableType, least_width: int = 0) -> None:
    """Write a rich table to stdout; as wide as it needs where stdout is no terminal.

    A table that is at least `least_width` wide is not cut: the terminal breaks its lines.
    """
    width = max(table_width(), least_width)
    text, console = _written(width)
    rows = console.render_lines(renderable, console.options.update(width=width), pad=False)
    pieces = [piece for row in rows for piece in (*_without_trailing_blanks(row), Segment.line())]
    console.print(Segments(pieces), end="")
    data(text.getvalue())


def _without_trailing_blanks(row: Sequence[Segment]) -> list[Segment]:
    kept = list(row)
    while kept and not kept[-1].text.strip():
        kept.pop()
    if kept:
        kept[-1] = Segment(kept[-1].text.rstrip(), kept[-1].style)
    return kept


def table_width() -> int:
    """Return how wide a table may be: any width where stdout is no terminal."""
    terminal = Console(highlight=False)
    return terminal.width if terminal.is_terminal else _ANY_WIDTH


def lines(styled: Iterable[Sequence[tuple[str, str]]]) -> None:
    """Write lines to stdout whose pieces of text each name a style; none where it is no terminal.

    What the encoding of stdout lacks is written as `?`.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    text, console = _written(_ANY_WIDTH)
    for pieces in styled:
        console.print(Text.assemble(*pieces), soft_wrap=True, highlight=False)
    data(text.getvalue().encode(encoding, "replace").decode(encoding))


def _written(width: int) -> tuple[io.StringIO, Console]:
    """Return a console that styles as stdout does, and where what it prints ends up.

    With `NO_COLOR` nothing is styled: what is bold needs escapes, too.
    """
    text = io.StringIO()
    terminal = Console(highlight=False)
    is_styled = terminal.is_terminal and not terminal.no_color
    console = Console(
        file=text,
        highlight=False,
        force_terminal=terminal.is_terminal,
        color_system="auto" if is_styled else None,
        width=width,
    )
    return text, console


def screen() -> tuple[int, int]:
    """Return the columns and lines of the terminal that stdout is; 100 and 0 where it is none."""
    return shutil.get_terminal_size(_SIZE_WITHOUT_TERMINAL)


def can_write(text: str) -> bool:
    """Tell whether the encoding of stdout has all of these characters."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


@contextmanager
def progress(
    doing: str, clock: Callable[[], float] = time.monotonic, *, beside_stdout: bool = False
) -> Iterator[Callable[[float], None]]:
    """Show how far something is: on stderr if that is a terminal, after a second, until it ends.

    Gives a function to be told each share of the work that was done; all of them add up to 1.
    Nothing else may be printed meanwhile.

    Args:
        doing: what is being done.
        clock: tells seconds.
        beside_stdout: whether stdout is written to meanwhile, which may be the same terminal.
    """
    is_shown = _is_seen() and not (beside_stdout and sys.stdout is not None and sys.stdout.isatty())
    bar = _Bar(doing, clock, is_shown=is_shown)
    try:
        yield bar.advance
    finally:
        bar.remove()


class _Bar:
    """A line on stderr that is drawn again and again. It hides no cursor and starts no thread."""

    def __init__(self, doing: str, clock: Callable[[], float], *, is_shown: bool) -> None:
        self._doing = doing
        self._clock = clock
        self._began = clock()
        self._done = 0.0
        self._is_drawn = False
        self._next = self._began + _BAR_AFTER_S if is_shown else float("inf")

    def advance(self, share: float) -> None:
        self._done += share
        now = self._clock()
        if now >= self._next:
            self._next = now + _BAR_EACH_S
            self._draw(now - self._began)

    def _draw(self, passed_s: float) -> None:
        console = _stderr()
        done = min(self._done, 1.0)
        full, rest = ("#", "-") if console.options.ascii_only else ("━", "─")
        percent = round(100 * done)
        count = percent * _BAR_WIDTH // 100  # full when it says 100 %
        pieces = [(f"ktrace: {self._doing} ", ""), (full * count, "cyan")]
        pieces += [(rest * (_BAR_WIDTH - count), ""), (f" {percent} %", "")]
        if 0 < percent < 100:
            left = round(passed_s * (1 - done) / done)
            pieces.append((f", {left // 60}:{left % 60:02} left", ""))
        line = Text.assemble(*pieces)
        line.truncate(console.width - 1)
        console.control(_to_an_empty_line())
        console.print(line, end="\r")
        self._is_drawn = True

    def remove(self) -> None:
        if self._is_drawn:
            _stderr().control(_to_an_empty_line())


def _to_an_empty_line() -> Control:
    return Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2))


def _is_seen() -> bool:
    """Tell whether stderr is a terminal that shows what this job writes, and can take it back."""
    if sys.stderr is None or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return False
    try:
        return os.tcgetpgrp(sys.stderr.fileno()) == os.getpgrp()
    except OSError:  # a terminal, but not the one that controls us
        return True


def _shown(text: str) -> str:
    """Escape markup, and controls that a name may hold: they would command the terminal."""
    return escape(text.translate(_CONTROLS))


def say(text: str) -> None:
    """Tell the user something in one line."""
    _stderr().print(f"ktrace: {_shown(text)}")


def warn(text: str) -> None:
    """Tell the user about something that is missing or assumed."""
    _stderr().print(f"ktrace: [yellow]warning:[/yellow] {_shown(text)}")


def error(problem: KtraceError) -> None:
    """Show an error: what happened, why, what to do."""
    console = _stderr()
    console.print(f"ktrace: [red]error:[/red] {_shown(problem.what)}")
    if problem.why:
        console.print(f"  why: {_shown(problem.why)}")
    if problem.fix:
        console.print(f"  try: {_shown(problem.fix)}")
