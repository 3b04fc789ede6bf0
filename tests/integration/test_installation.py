"""What an installation holds besides Python."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

HEADERS = Path(__file__).parents[2] / "preload" / "include"
INSTALLED = Path(str(files("ktrace_cli")))


@pytest.fixture(autouse=True)
def is_installed() -> None:
    if INSTALLED.parent.name == "src":
        pytest.skip("ktrace runs from its source tree here")


def test_the_headers_are_installed_whole() -> None:
    sources = sorted(path for path in HEADERS.rglob("*") if path.is_file())

    assert len(sources) >= 3
    for source in sources:
        assert (
            INSTALLED / "include" / source.relative_to(HEADERS)
        ).read_bytes() == source.read_bytes()


def test_the_native_libraries_are_installed_under_their_names() -> None:
    names = sorted(path.name for path in (INSTALLED / "native").iterdir())

    assert names == ["libamdhip64.so.7", "libktrace_preload.so", "libktrace_reader.so"]


def test_the_package_is_typed() -> None:
    assert (INSTALLED / "py.typed").exists()


def test_the_cmake_package_is_installed_beside_the_headers() -> None:
    names = sorted(path.name for path in (INSTALLED / "cmake").iterdir())

    assert names == ["ktraceConfig.cmake", "ktraceConfigVersion.cmake"]
