"""What `nox -s wheel` built: KTRACE_DIST names the folder with the sdist and the wheel."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from elftools.elf.sections import SymbolTableSection

from integration.test_interposer_exports import EXPORTS, LIBRARIES

ROOT = Path(__file__).parents[2]
VERSION = "0.1.0"
WHEEL = f"ktrace-{VERSION}-py3-none-manylinux_2_17_x86_64.whl"
NATIVE = ("libamdhip64.so.7", "libktrace_preload.so", "libktrace_reader.so")
NEWEST_GLIBC = (2, 17)
DATA = (
    "analysis/compare/diff.schema.json",
    "analysis/summary.schema.json",
    "att/hotspots.schema.json",
    "export/html/page.html",
    "kernel_code/inspect.schema.json",
    "py.typed",
    "report/style.css",
    *(f"selftest/kernels/{name}.{target}.co"
      for name in ("markers", "probes") for target in ("gfx90a", "gfx942", "gfx950")),
    "selftest_file/selftest.schema.json",
)  # fmt: skip


@pytest.fixture(scope="module")
def dist() -> Path:
    folder = os.environ.get("KTRACE_DIST")
    if not folder:
        pytest.skip("KTRACE_DIST is not set: `nox -s wheel` builds what is looked at here")
    return Path(folder)


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(dist / WHEEL) as archive:
        yield archive


def in_clone() -> set[str]:
    """Return the files that git knows or would take."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no clone, or there is no git")
    return {name for name in done.stdout.splitlines() if (ROOT / name).is_file()}


def library(wheel: zipfile.ZipFile, name: str) -> ELFFile:
    return ELFFile(io.BytesIO(wheel.read(f"ktrace_cli/native/{name}")))


def names_below(wheel: zipfile.ZipFile, folder: str) -> list[str]:
    return sorted(name.removeprefix(folder) for name in wheel.namelist() if name.startswith(folder))


def versions_needed(elf: ELFFile) -> set[str]:
    return {
        auxiliary.name
        for section in elf.iter_sections()
        if isinstance(section, GNUVerNeedSection)
        for _, auxiliaries in section.iter_versions()
        for auxiliary in auxiliaries
    }


def test_there_is_one_wheel_and_one_sdist(dist: Path) -> None:
    assert sorted(path.name for path in dist.iterdir()) == [WHEEL, f"ktrace-{VERSION}.tar.gz"]


def test_the_wheel_says_what_it_runs_on(wheel: zipfile.ZipFile) -> None:
    said = wheel.read(f"ktrace-{VERSION}.dist-info/WHEEL").decode().splitlines()

    assert "Tag: py3-none-manylinux_2_17_x86_64" in said
    assert "Root-Is-Purelib: false" in said


def test_the_wheel_holds_no_links(wheel: zipfile.ZipFile) -> None:
    modes = [info.external_attr >> 16 for info in wheel.infolist()]

    assert [mode for mode in modes if stat.S_ISLNK(mode)] == []


def test_the_wheel_holds_libraries_headers_and_the_cmake_package(wheel: zipfile.ZipFile) -> None:
    include = ROOT / "preload" / "include"
    headers = sorted(str(p.relative_to(include)) for p in include.rglob("*") if p.is_file())

    assert names_below(wheel, "ktrace_cli/native/") == list(NATIVE)
    assert names_below(wheel, "ktrace_cli/include/") == headers
    assert names_below(wheel, "ktrace_cli/cmake/") == [
        "ktraceConfig.cmake",
        "ktraceConfigVersion.cmake",
    ]


def test_the_wheel_holds_every_file_of_the_package(wheel: zipfile.ZipFile) -> None:
    files = {name.removeprefix("src/") for name in in_clone() if name.startswith("src/")}

    assert files
    assert files - set(wheel.namelist()) == set()


@pytest.mark.parametrize("suffix", [".whl", ".tar.gz"])
def test_wheel_and_sdist_hold_what_commands_read_besides_python(dist: Path, suffix: str) -> None:
    (path,) = dist.glob(f"*{suffix}")
    if suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            names = set(wheel.namelist())
    else:
        with tarfile.open(path) as sdist:
            names = {name.removeprefix(f"ktrace-{VERSION}/src/") for name in sdist.getnames()}

    assert {f"ktrace_cli/{name}" for name in DATA} - names == set()


@pytest.mark.parametrize("name", NATIVE)
def test_no_library_needs_a_newer_glibc_than_2_17(wheel: zipfile.ZipFile, name: str) -> None:
    needed = versions_needed(library(wheel, name))

    numbers = [tuple(map(int, version.removeprefix("GLIBC_").split("."))) for version in needed]
    assert (2, 2, 5) in numbers
    assert max(numbers) <= NEWEST_GLIBC


@pytest.mark.parametrize("name", NATIVE)
def test_libraries_need_only_glibc(wheel: zipfile.ZipFile, name: str) -> None:
    dynamic = next(s for s in library(wheel, name).iter_sections() if isinstance(s, DynamicSection))
    needed = {tag.needed for tag in dynamic.iter_tags("DT_NEEDED")}

    assert "libc.so.6" in needed
    assert needed <= LIBRARIES
    assert not [t for kind in ("DT_RPATH", "DT_RUNPATH") for t in dynamic.iter_tags(kind)]


def test_the_interposer_in_the_wheel_exports_what_every_build_exports(
    wheel: zipfile.ZipFile,
) -> None:
    table = library(wheel, "libktrace_preload.so").get_section_by_name(".dynsym")
    assert isinstance(table, SymbolTableSection)

    assert {s.name for s in table.iter_symbols() if s.name and s["st_shndx"] != "SHN_UNDEF"} == (
        EXPORTS
    )


def test_the_sdist_holds_what_a_clone_holds(dist: Path) -> None:
    with tarfile.open(dist / f"ktrace-{VERSION}.tar.gz") as archive:
        members = archive.getmembers()
    names = {member.name.removeprefix(f"ktrace-{VERSION}/") for member in members}

    assert {name for name in in_clone() if not name.startswith(".ci/")} - names == set()
    assert {"CMakeLists.txt", "LICENSE", "README.md", "noxfile.py", "pyproject.toml"} <= names
    hidden = sorted(name for name in names if name.startswith((".", "build/", "dist/")))
    assert hidden == [".clang-format", ".gitignore"]
