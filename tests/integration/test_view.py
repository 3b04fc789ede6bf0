"""`ktrace view`, as one calls it."""

from __future__ import annotations

import fcntl
import gzip
import http.client
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import tempfile
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from support.ktrace_command import Ktrace, ktrace_command, ktrace_environment
from support.recording import HOST_EPOCH_NS, Wave
from support.timelines import LOAD, MMA, OUTER, TILE, builder
from support.words import phase, phase_end, pop, push, span, start, stop

QUIET = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": "", "SSH_CONNECTION": "", "SSH_TTY": ""}
PORT = 9001


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Three dispatches of two waves; the second is the longest."""
    made, kernel = builder()
    for length in (8_000, 12_000, 10_000):
        words = [push(OUTER, 1_100), span(TILE, 1_200, 1_300), pop(1_500), phase(MMA, 2_000)]
        end = 1_000 + length
        waves = [Wave(wave=n, end=end, main=[*words, phase_end(end - 100)]) for n in (0, 1)]
        made.add_dispatch(kernel, waves, block=(128, 1, 1))
    return made.write(tmp_path / "run.bin")


@pytest.fixture(autouse=True)
def turn() -> Iterator[None]:
    """Wait until no other worker's test may have the port: `--offline` takes it where it can."""
    with (Path(tempfile.gettempdir()) / f"ktrace-test-{os.getuid()}").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture
def port(turn: None) -> int:
    """The one port from which the hosted UI reads."""
    try:
        socket.create_server(("127.0.0.1", PORT)).close()
    except OSError:
        pytest.skip("another program listens on port 9001")
    return PORT


class Viewing:
    """A `ktrace view` that waits for a browser."""

    def __init__(self, folder: Path, *arguments: object, pass_fds: tuple[int, ...] = ()) -> None:
        self.process = subprocess.Popen(
            ktrace_command("view", *arguments),
            cwd=folder,
            env=ktrace_environment({**QUIET, "TMPDIR": str(folder)}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            pass_fds=pass_fds,
        )
        assert self.process.stdout is not None
        self.link = self.process.stdout.readline().strip()
        self._heard: list[str] = []

    def ask(self, path: str) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(urlsplit(self.link).netloc, timeout=30)
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()

    def address(self) -> str:
        """Where the link leads to."""
        status, headers, _ = self.ask(urlsplit(self.link).path)
        assert status == 302
        return headers["Location"]

    def trace_path(self) -> str:
        url = self.address().partition("url=")[2].partition("&")[0]
        return urlsplit(url).path

    def hear(self, wanted: str) -> None:
        """Read messages up to one that has these words."""
        assert self.process.stderr is not None
        while not self._heard or wanted not in self._heard[-1]:
            line = self.process.stderr.readline()
            assert line, self._heard
            self._heard.append(line.rstrip("\n"))

    def end(self) -> tuple[int, list[str]]:
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, [*self._heard, *errors.splitlines()]


@contextmanager
def viewing(folder: Path, *arguments: object, pass_fds: tuple[int, ...] = ()) -> Iterator[Viewing]:
    shown = Viewing(folder, *arguments, pass_fds=pass_fds)
    try:
        yield shown
    finally:
        shown.process.kill()
        shown.process.communicate()


@pytest.mark.usefixtures("port")
def test_a_recording_is_decoded_and_served_until_a_browser_has_it(
    recording: Path, tmp_path: Path
) -> None:
    with viewing(tmp_path, recording, "--no-browser") as shown:
        address = shown.address()
        _, headers, content = shown.ask(shown.trace_path())
        status, messages = shown.end()

    assert shown.link.startswith("http://127.0.0.1:9001/")
    assert address.startswith("https://ui.perfetto.dev/#!/?url=http://127.0.0.1:9001/")
    assert "run" not in address
    assert "gemm" not in unquote(address)
    assert headers["Access-Control-Allow-Origin"] == "https://ui.perfetto.dev"
    assert content == recording.with_name("run.pftrace.gz").read_bytes()
    assert gzip.decompress(content)[:1] == b"\x0a"
    assert status == 0
    assert messages == [
        f"ktrace: wrote {tmp_path}/run.pftrace.gz",
        "ktrace: run.pftrace.gz opens at https://ui.perfetto.dev in a browser on this machine;"
        " nothing is uploaded",
        f"ktrace: to use one on another machine, run `ssh -L 9001:127.0.0.1:9001"
        f" {login()}{socket.gethostname()}` there first",
        "ktrace: waiting for 60 s until a browser reads it; `Ctrl-C` ends this",
        "ktrace: a browser has read run.pftrace.gz: it needs ktrace no more",
    ]


def login() -> str:
    user = os.environ.get("USER") or os.environ.get("LOGNAME")
    return f"{user}@" if user else ""


@pytest.mark.usefixtures("port")
def test_a_port_that_is_taken_ends_view_before_it_waits(recording: Path, ktrace: Ktrace) -> None:
    with socket.create_server(("127.0.0.1", PORT)):
        done = ktrace("view", recording, **QUIET)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[1:] == [
        "ktrace: error: port 9001 of 127.0.0.1 is taken",
        f"  why: {Path('/proc/self/comm').read_text().strip()} (process {os.getpid()}) listens on"
        " it, and https://ui.perfetto.dev reads no other",
        "  try: end that program, or use `ktrace view --offline`, which takes any free port",
    ]


def test_the_perfetto_ui_is_served_offline_until_ctrl_c(recording: Path, tmp_path: Path) -> None:
    with viewing(tmp_path, recording, "--offline", "--no-browser") as shown:
        address = shown.address()
        page = shown.ask("/")
        _, headers, content = shown.ask(shown.trace_path())
        script = shown.ask("/service_worker.js")
        shown.hear("a browser has read")
        shown.process.send_signal(signal.SIGINT)
        status, messages = shown.end()

    assert address.startswith(f"/#!/?url=http://{urlsplit(shown.link).netloc}/")
    assert "/run.pftrace.gz&startupCommands=" in address
    assert address.endswith(f"&visStart={HOST_EPOCH_NS + 270}&visEnd={HOST_EPOCH_NS + 4_081}")
    assert (page[0], script[0]) == (200, 200)
    assert "Access-Control-Allow-Origin" not in headers
    assert content == recording.with_name("run.pftrace.gz").read_bytes()
    assert status == 130
    assert messages[-1] == (
        "ktrace: a browser has read run.pftrace.gz; `Ctrl-C` ends the Perfetto UI, too"
    )


def test_ctrl_c_while_waiting_ends_view_without_a_word(recording: Path, tmp_path: Path) -> None:
    with viewing(tmp_path, recording, "--offline", "--no-browser") as shown:
        shown.process.send_signal(signal.SIGINT)
        status, messages = shown.end()

    assert status == 130
    assert not [line for line in messages if "Traceback" in line or "error" in line]


def test_a_browser_that_does_not_come_is_an_error(recording: Path, ktrace: Ktrace) -> None:
    done = ktrace("view", recording, "--offline", "--timeout", "0.05", **QUIET)

    assert done.returncode == 1
    assert done.stderr.splitlines()[-3:] == [
        "ktrace: error: no browser has read run.pftrace.gz",
        "  why: none came within 0.05 s (`--timeout`)",
        "  try: open the link sooner, or wait longer with `--timeout`; 0 waits without end",
    ]


def test_over_ssh_the_hint_is_the_command_that_makes_the_tunnel(
    recording: Path, ktrace: Ktrace
) -> None:
    there = {**QUIET, "SSH_CONNECTION": "10.0.0.1 51234 10.0.0.7 2222", "USER": "ada"}

    done = ktrace("view", recording, "--offline", "--timeout", "0.05", **there)

    port = urlsplit(done.stdout.strip()).port
    assert (
        "ktrace: to use one on another machine, run `ssh -p 2222 -L"
        f" {port}:127.0.0.1:{port} ada@10.0.0.7` there first"
    ) in done.stderr.splitlines()


def test_a_browser_is_opened_where_there_is_one(recording: Path, ktrace: Ktrace) -> None:
    browser = recording.with_name("browser.sh")
    browser.write_text('#!/bin/sh\necho "$1" > opened\n')
    browser.chmod(0o755)

    environment = {**QUIET, "DISPLAY": ":0", "BROWSER": str(browser)}
    done = ktrace("view", recording, "--offline", "--timeout", "1", **environment)

    assert recording.with_name("opened").read_text() == done.stdout
    assert "another machine" not in done.stderr


def test_where_no_file_can_be_made_the_trace_is_kept_while_it_is_served(
    recording: Path, tmp_path: Path
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with recording.open("rb") as file:
        number = file.fileno()
        options = ("--offline", "--no-browser")
        with viewing(temporary, f"/dev/fd/{number}", *options, pass_fds=(number,)) as shown:
            _, _, content = shown.ask(shown.trace_path())
            shown.process.send_signal(signal.SIGINT)
            _, messages = shown.end()

    assert gzip.decompress(content)[:1] == b"\x0a"
    assert messages[0] == ("ktrace: /dev/fd cannot be written: the trace vanishes when this ends")
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("content", ['{"traceEvents": []}', '[{"pid": "gemm Core1 CTA2"}]'])
def test_a_trace_is_served_as_it_is(tmp_path: Path, content: str) -> None:
    trace = tmp_path / "merged.json"
    trace.write_text(content)

    with viewing(tmp_path, trace, "--offline", "--no-browser") as shown:
        address = shown.address()
        _, _, served = shown.ask(shown.trace_path())

    assert address.endswith("/merged.json")
    assert served == trace.read_bytes()


@pytest.mark.parametrize("options", [["--tui"], ["--kernel", "gemm"], ["--limit", "3"]])
def test_a_trace_has_no_parts_to_choose_from(
    tmp_path: Path, ktrace: Ktrace, options: list[str]
) -> None:
    trace = tmp_path / "merged.json"
    trace.write_text('{"traceEvents": []}')

    done = ktrace("view", trace, *options)

    assert done.returncode == 2
    assert done.stderr.startswith(f"ktrace: error: {trace} is no recording\n")


@pytest.mark.parametrize("options", [["--by", "cu"], ["--rows", "3"], ["--ascii"]])
def test_how_to_draw_is_not_asked_for_without_drawing(
    recording: Path, ktrace: Ktrace, options: list[str]
) -> None:
    done = ktrace("view", recording, *options)

    assert done.returncode == 2
    assert "add `--tui`" in done.stderr


@pytest.mark.parametrize("option", ["--offline", "--no-browser"])
def test_the_terminal_needs_no_browser(recording: Path, ktrace: Ktrace, option: str) -> None:
    done = ktrace("view", recording, "--tui", option)

    assert done.returncode == 2
    assert done.stderr.startswith("ktrace: error: `--tui` opens no browser\n")


def test_the_newest_recording_is_shown_where_none_is_named(
    recording: Path, tmp_path: Path, ktrace: Ktrace
) -> None:
    (tmp_path / "ktrace_out").mkdir()
    recording.rename(tmp_path / "ktrace_out" / "7.bin")

    done = ktrace("view", "--tui")

    assert done.stderr == "ktrace: reading ktrace_out/7.bin\n"
    assert done.stdout.startswith("gemm, dispatch 2\n")


def test_the_terminal_view_is_plain_text_in_a_pipe(recording: Path, ktrace: Ktrace) -> None:
    done = ktrace("view", recording, "--tui", COLUMNS="37")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "gemm, dispatch 2",
        "device 0: gfx942, modelled times (software device)",
        "the longest of 3 dispatches; `--dispatch NUMBER` shows another one",
        "5.72 us in columns of 286 ns; all 2 waves of 1 workgroup",
        "",
        "workgroup  wave  |0 ns               ",
        "0,0,0      0     om█████████████████▇",
        "           1     om█████████████████▇",
        "",
        "m█ mma 90.8 %   o█ outer 2.5 %",
        "t█ tile 0.8 %",
        "· outside phases 5.8 %",
        "a letter begins a phase; a block's height is its share of the column",
        "%: of the time of these waves, without phases that nest inside",
    ]


def test_dispatches_that_are_asked_for_are_drawn_one_after_the_other(
    recording: Path, ktrace: Ktrace
) -> None:
    done = ktrace("view", recording, "--tui", "--dispatch", "3", "--dispatch", "1")

    heads = [line for line in done.stdout.splitlines() if line.startswith("gemm")]
    assert heads == ["gemm, dispatch 1", "gemm, dispatch 3"]
    assert "the longest" not in done.stdout


def test_an_encoding_without_blocks_gets_letters(recording: Path, ktrace: Ktrace) -> None:
    done = ktrace("view", recording, "--tui", PYTHONIOENCODING="ascii")

    assert done.stdout.isascii()
    assert "upper case" in done.stdout


def test_losses_are_said_and_end_a_strict_view(tmp_path: Path, ktrace: Ktrace) -> None:
    made, kernel = builder()
    words = [pop(1100), start(LOAD, 1200, token="a"), stop("a", 1300)]
    made.add_dispatch(kernel, [Wave(main=words, dropped_main=120)])
    lossy = made.write(tmp_path / "lossy.bin")

    done = ktrace("view", lossy, "--tui", "--strict")

    assert done.returncode == 5
    assert "end has no begin" in done.stderr


def test_a_recording_without_dispatches_says_why(tmp_path: Path, ktrace: Ktrace) -> None:
    made, _ = builder()

    done = ktrace("view", made.write(tmp_path / "none.bin"), "--tui")

    assert (done.returncode, done.stdout) == (0, "")
    assert "nothing was recorded" in done.stderr


def on_a_terminal(folder: Path, *arguments: object, **environment: str) -> str:
    """Run ktrace on a terminal of 90 columns and 30 lines; return what it shows."""
    shown, own = pty.openpty()
    fcntl.ioctl(own, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 90, 0, 0))
    own_environment = {**os.environ, "TERM": "xterm-256color", **environment}
    own_environment.pop("COLUMNS", None)
    process = subprocess.Popen(
        ktrace_command(*arguments), cwd=folder, env=own_environment, stdout=own, stderr=own
    )
    os.close(own)
    pieces = []
    with suppress(OSError):  # how a terminal tells that nobody writes to it any more
        while True:
            pieces.append(os.read(shown, 65536))
    os.close(shown)
    assert process.wait(timeout=60) == 0
    return b"".join(pieces).decode()


def test_on_a_terminal_the_view_is_coloured_and_as_wide_as_it(
    recording: Path, tmp_path: Path
) -> None:
    shown = on_a_terminal(tmp_path, "view", recording, "--tui")

    lines = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in shown.splitlines()]
    row = next(line for line in lines if line.startswith("0,0,0"))
    assert len(row) == 90
    assert "\x1b[38;5;" in shown
    assert "\x1b[?" not in shown


def test_no_color_is_respected(recording: Path, tmp_path: Path) -> None:
    shown = on_a_terminal(tmp_path, "view", recording, "--tui", NO_COLOR="1")

    assert "\x1b" not in shown
    assert "█" in shown
