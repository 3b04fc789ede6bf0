"""Where results go, and that they are the same each time."""

import gzip
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from ktrace_cli.errors import KtraceError
from ktrace_cli.export import output
from ktrace_cli.export.output import STDOUT, compressed, open_output


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out"

    def write_half() -> None:
        with open_output(path, may_replace=False) as out:
            out.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_half()

    assert list(tmp_path.iterdir()) == []


def test_a_new_file_is_as_readable_as_any_other(tmp_path: Path) -> None:
    (tmp_path / "other").touch()

    with open_output(tmp_path / "out", may_replace=False) as out:
        out.write(b"content")

    assert (tmp_path / "out").read_bytes() == b"content"
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_an_existing_file_stays_unless_it_may_go(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")

    with pytest.raises(KtraceError, match="out exists"), open_output(path, may_replace=False):
        pass
    assert path.read_bytes() == b"old"

    with open_output(path, may_replace=True) as out:
        out.write(b"new")
    assert path.read_bytes() == b"new"


def test_a_device_is_written_to_and_stays_what_it_is() -> None:
    with open_output(Path("/dev/null"), may_replace=False) as out:
        out.write(b"gone")

    assert Path("/dev/null").is_char_device()


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(KtraceError, match=r"cannot write .*missing/out") as caught,
        open_output(tmp_path / "missing" / "out", may_replace=False),
    ):
        pass

    folder = tmp_path / "missing"
    assert caught.value.why == f"there is no folder {folder}, and ktrace makes none here"
    assert caught.value.fix == f"`mkdir -p {folder}`, or name another file"


def test_a_dash_is_stdout(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with open_output(STDOUT, may_replace=False) as out:
        out.write(b"data")

    assert capfdbinary.readouterr().out == b"data"


def _without_isal(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(output, "isal_zlib", None)


@pytest.mark.parametrize("prepare", [lambda _: None, _without_isal], ids=["isal", "zlib"])
def test_compressed_bytes_hold_no_time_and_no_name(
    prepare: Callable[[pytest.MonkeyPatch], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(monkeypatch)

    def once(path: Path) -> bytes:
        with open_output(path, may_replace=False) as out, compressed(out) as stream:
            stream.write(b"content" * 100)
        return path.read_bytes()

    first, second = once(tmp_path / "a.gz"), once(tmp_path / "b.gz")

    assert first == second
    assert first[:10] == b"\x1f\x8b\x08\x00" + bytes(4) + first[8:10]
    assert gzip.decompress(first) == b"content" * 100


def test_pieces_that_are_written_over_later_are_compressed_as_they_were() -> None:
    out, buffer = BytesIO(), bytearray(1000)

    with compressed(out) as stream:
        for number in range(3):
            buffer[:] = bytes([number]) * 1000
            stream.write(memoryview(buffer)[: 500 + number])

    assert gzip.decompress(out.getvalue()) == b"\0" * 500 + b"\1" * 501 + b"\2" * 502


def test_text_and_trace_are_the_same_each_time(tmp_path: Path) -> None:
    from ktrace_cli.export.perfetto import write_perfetto
    from ktrace_cli.export.text import write_text
    from support.recording import Wave
    from support.timelines import LOAD, OUTER, decode
    from support.words import pop, push, start, stop

    words = [push(OUTER, 1100), start(LOAD, 1200, token="a"), stop("a", 1300), pop(1400)]

    for write in (write_perfetto, write_text):
        contents = set()
        for _ in range(2):
            out = BytesIO()
            write(decode([Wave(main=words)], tmp_path), out)
            contents.add(out.getvalue())
        assert len(contents) == 1
