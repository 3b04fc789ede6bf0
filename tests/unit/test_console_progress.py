"""Progress bars: on a terminal, after a second, and gone in the end."""

import os
import pty
import sys
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from ktrace_cli import console

ERASE = "\r\x1b[2K"
Read = Callable[[], str]


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@contextmanager
def terminal(columns: int = 80, term: str = "xterm") -> Iterator[Read]:
    """Let stderr be a terminal; gives a function that returns what was written to it since.

    No fixture: pytest puts a stderr of its own in place between a fixture and its test.
    """
    shown, own = pty.openpty()
    tty.setraw(own)
    os.set_blocking(shown, False)

    def read() -> str:
        pieces = []
        with suppress(BlockingIOError):
            while True:
                pieces.append(os.read(shown, 4096))
        return b"".join(pieces).decode()

    with pytest.MonkeyPatch.context() as patch, os.fdopen(own, "w", encoding="utf-8") as stream:
        patch.setenv("TERM", term)
        patch.setenv("COLUMNS", str(columns))
        patch.setenv("NO_COLOR", "1")
        patch.setattr("sys.stderr", stream)
        yield read
    os.close(shown)


def test_nothing_is_shown_of_what_is_done_within_a_second(clock: Clock) -> None:
    with terminal() as written:
        with console.progress("decoding", clock) as advance:
            for _ in range(99):
                clock.now += 0.01
                advance(0.01)

        assert written() == ""


def test_a_bar_shows_share_and_time_left_and_is_removed(clock: Clock) -> None:
    with terminal() as written:
        with console.progress("decoding", clock) as advance:
            clock.now += 2
            advance(0.25)
            shown = written()

        assert shown == f"{ERASE}ktrace: decoding {'━' * 7}{'─' * 23} 25 %, 0:06 left\r"
        assert written() == ERASE


def test_a_bar_is_drawn_ten_times_a_second_at_most(clock: Clock) -> None:
    with terminal() as written, console.progress("decoding", clock) as advance:
        for _ in range(3000):
            clock.now += 0.001
            advance(1 / 3000)

        assert 20 <= written().count("decoding") <= 21


def test_a_bar_that_is_told_too_much_stays_full(clock: Clock) -> None:
    with terminal() as written, console.progress("decoding", clock) as advance:
        clock.now += 2
        advance(1.5)

        assert written() == f"{ERASE}ktrace: decoding {'━' * 30} 100 %\r"


def fail_halfway(clock: Clock) -> None:
    with console.progress("decoding", clock) as advance:
        clock.now += 2
        advance(0.5)
        raise ValueError("x")


def test_an_error_removes_the_bar_first(clock: Clock) -> None:
    with terminal() as written:
        with pytest.raises(ValueError, match="x"):
            fail_halfway(clock)

        assert written().endswith(f" left\r{ERASE}")


def test_a_bar_fits_a_narrow_terminal(clock: Clock) -> None:
    with terminal(columns=20) as written, console.progress("decoding", clock) as advance:
        clock.now += 2
        advance(0.5)

        assert written() == f"{ERASE}ktrace: decoding ━━\r"


def test_the_cursor_stays_visible_so_that_a_kill_leaves_a_usable_terminal(clock: Clock) -> None:
    with terminal() as written, console.progress("decoding", clock) as advance:
        clock.now += 2
        advance(0.5)

        assert "\x1b[?" not in written()


@pytest.mark.parametrize("name", ["FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"])
def test_nothing_is_shown_where_stderr_is_no_terminal(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "1")
    with (tmp_path / "stderr").open("w") as stream:
        monkeypatch.setattr("sys.stderr", stream)
        with console.progress("decoding", clock) as advance:
            clock.now += 5
            advance(0.5)

    assert (tmp_path / "stderr").read_text() == ""


def test_nothing_is_shown_on_a_terminal_that_cannot_erase(clock: Clock) -> None:
    with terminal(term="dumb") as written, console.progress("decoding", clock) as advance:
        clock.now += 5
        advance(0.5)

        assert written() == ""


def test_nothing_is_shown_between_the_lines_that_stdout_shows(clock: Clock) -> None:
    with terminal() as written, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", sys.stderr)
        with console.progress("decoding", clock, beside_stdout=True) as advance:
            clock.now += 2
            advance(0.5)

        assert written() == ""


def test_a_bar_is_shown_while_stdout_is_written_to_a_pipe(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with terminal() as written, (tmp_path / "stdout").open("w") as stdout:
        monkeypatch.setattr("sys.stdout", stdout)
        with console.progress("decoding", clock, beside_stdout=True) as advance:
            clock.now += 2
            advance(0.5)

        assert "decoding" in written()


def test_a_closed_stderr_is_no_error(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)

    with console.progress("decoding", clock) as advance:
        clock.now += 5
        advance(0.5)


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.9999999, "━" * 30 + " 100 %"), (0.996, "━" * 30 + " 100 %"), (0.99, "━" * 29 + "─ 99 %")],
)
def test_a_bar_is_full_when_it_says_so(clock: Clock, share: float, shown: str) -> None:
    with terminal() as written, console.progress("decoding", clock) as advance:
        clock.now += 2
        advance(share)

        assert shown in written()
