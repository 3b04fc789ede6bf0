"""Into which programs the dynamic loader loads nothing for us."""

from __future__ import annotations

import os
import stat
import struct
import sys
from pathlib import Path

import pytest

from ktrace_cli.launch.preloadable import elf_loader, why_not_preloadable


def elf(path: Path, loader: str = "", bits: int = 64, mode: int = 0o755) -> Path:
    """Write the head of an ELF program that asks for `loader`, or is static without one."""
    name = loader.encode() + b"\0"
    head = bytearray(64)
    head[:6] = bytes([0x7F, *b"ELF", 2 if bits == 64 else 1, 1])
    head[32:40] = (64).to_bytes(8, "little")
    head[54:58] = struct.pack("<HH", 56, 2)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 176, 176, 4096)
    kind = 3 if loader else 4
    interp = struct.pack("<IIQQQQQQ", kind, 4, 176, 176, 176, len(name), len(name), 1)
    path.write_bytes(bytes(head) + load + interp + name)
    path.chmod(mode)
    return path


GLIBC = "/lib64/ld-linux-x86-64.so.2"


def test_this_python_takes_it() -> None:
    assert why_not_preloadable(Path(sys.executable)) == ""


def test_the_loader_is_read_from_the_program() -> None:
    assert elf_loader(Path(sys.executable).resolve().read_bytes()[: 64 * 1024]) == GLIBC


@pytest.mark.parametrize(
    ("loader", "bits", "why"),
    [
        (GLIBC, 64, ""),
        ("", 64, "it is statically linked"),
        ("/lib/ld-linux.so.2", 32, "it is a 32-bit program"),
        ("/lib/ld-musl-x86_64.so.1", 64, "its C library is musl (/lib/ld-musl-x86_64.so.1)"),
    ],
)
def test_what_the_loader_cannot_do_is_named(
    loader: str, bits: int, why: str, tmp_path: Path
) -> None:
    assert why_not_preloadable(elf(tmp_path / "program", loader, bits)) == why


def test_of_a_script_the_interpreter_counts(tmp_path: Path) -> None:
    static = elf(tmp_path / "static")
    inner = tmp_path / "inner"
    inner.write_text(f"#! {static} -x\n")
    outer = tmp_path / "outer"
    outer.write_text(f"#!{inner}\n")

    assert why_not_preloadable(outer) == "it is statically linked"


def test_scripts_that_name_each_other_come_to_an_end(tmp_path: Path) -> None:
    for one, other in (("a", "b"), ("b", "a")):
        (tmp_path / one).write_text(f"#!{tmp_path / other}\n")

    assert why_not_preloadable(tmp_path / "a") == ""


def test_setuid_and_setgid_count_where_they_change_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for the owner, not on a script, and not where no program may gain rights."""
    monkeypatch.setattr("ktrace_cli.launch.preloadable._is_locked_down", lambda: False)
    setuid = elf(tmp_path / "u", GLIBC, mode=0o755 | stat.S_ISUID)
    setgid = elf(tmp_path / "g", GLIBC, mode=0o755 | stat.S_ISGID)
    script = tmp_path / "script"
    script.write_text(f"#!{elf(tmp_path / 'plain', GLIBC)}\n")
    script.chmod(0o755 | stat.S_ISUID)
    if os.statvfs(tmp_path).f_flag & os.ST_NOSUID:
        pytest.skip("the file system ignores setuid")

    assert [why_not_preloadable(path) for path in (setuid, setgid, script)] == ["", "", ""]
    monkeypatch.setattr(os, "getuid", lambda: setuid.stat().st_uid + 1)
    monkeypatch.setattr(os, "getgid", lambda: setgid.stat().st_gid + 1)
    assert why_not_preloadable(setuid) == "it is setuid"
    assert why_not_preloadable(setgid) == "it is setgid"
    assert why_not_preloadable(script) == ""
    monkeypatch.setattr("ktrace_cli.launch.preloadable._is_locked_down", lambda: True)
    assert why_not_preloadable(setuid) == ""


def test_file_capabilities_count_for_all_but_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = elf(tmp_path / "program", GLIBC)
    monkeypatch.setattr("ktrace_cli.launch.preloadable._is_locked_down", lambda: False)
    monkeypatch.setattr(os, "getxattr", lambda path, name: b"\1" * (name == "security.capability"))

    assert why_not_preloadable(program) == ("" if os.getuid() == 0 else "it has file capabilities")
    monkeypatch.setattr(os, "getuid", lambda: program.stat().st_uid + 1)
    assert why_not_preloadable(program) == "it has file capabilities"
