"""Tables and styled lines on stdout: on a terminal, with `NO_COLOR`, and in a pipe."""

import fcntl
import io
import os
import pty
import struct
import sys
import termios
import tty
from collections.abc import Callable

import pytest
from rich.table import Table as RichTable
from rich.tree import Tree

from ktrace_cli import console
from ktrace_cli.analysis.report import Column, Table
from ktrace_cli.commands.terminal import show_report

TABLE = Table(
    (Column("phase", is_number=False, is_name=True), Column("total"), Column("note", False)),
    (("load", "12 us", "long note"), ("mma", "9 ns", "")),
)
LINE = [("gemm", "bold"), (", dispatch 1", ""), (" o█", "#56b4e9")]


def on_a_terminal(
    write: Callable[[], None], monkeypatch: pytest.MonkeyPatch, columns: int = 60, **more: str
) -> str:
    """Return what a function writes to a terminal."""
    shown, own = pty.openpty()
    tty.setraw(own)
    fcntl.ioctl(own, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", "COLUMNS": str(columns), **more}.items():
        monkeypatch.setenv(name, value)
    with os.fdopen(own, "w", encoding="utf-8") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        write()
        monkeypatch.undo()
        text = os.read(shown, 65536).decode()
    os.close(shown)
    return text


def in_a_pipe(write: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> str:
    text = io.StringIO()
    monkeypatch.setattr(sys, "stdout", text)
    write()
    monkeypatch.undo()
    return text.getvalue()


def report() -> None:
    show_report([TABLE])


def test_a_table_has_no_blanks_at_the_ends_of_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [
        "",
        " phase   total   note",
        " " + "─" * 25,
        " load    12 us   long note",
        " mma      9 ns",
        "",
    ]

    assert in_a_pipe(report, monkeypatch).split("\n") == [*expected, ""]
    plain = on_a_terminal(report, monkeypatch, NO_COLOR="1")
    assert plain.split("\n") == [*expected, ""]


def test_a_table_that_is_too_wide_for_its_terminal_has_none_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = on_a_terminal(report, monkeypatch, columns=20, NO_COLOR="1")

    assert [line for line in shown.split("\n") if line != line.rstrip()] == []
    assert " load    12 us   long note" in shown


def test_no_color_leaves_no_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    def write() -> None:
        tree = Tree("[bold]top")
        tree.add("[cyan]leaf")
        table = RichTable("name", title="all")
        table.add_row("[red]one")
        for renderable in (tree, table):
            console.table(renderable)
        console.lines([LINE])
        report()

    assert "\x1b" in on_a_terminal(write, monkeypatch)
    shown = on_a_terminal(write, monkeypatch, NO_COLOR="1")
    assert "\x1b" not in shown
    assert "gemm, dispatch 1 o█\n" in shown


def test_a_terminal_gets_styles_without_blanks_around_them(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = on_a_terminal(report, monkeypatch)

    assert "\x1b[1mnote\x1b[0m\n" in shown.replace("\x1b[1m \x1b[0m", "")
    assert on_a_terminal(lambda: console.lines([LINE]), monkeypatch) == (
        "\x1b[1mgemm\x1b[0m, dispatch 1\x1b[38;5;74m o█\x1b[0m\n"
    )
