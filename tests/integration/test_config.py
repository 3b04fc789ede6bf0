"""`ktrace config`, and the CMake package that it leads to."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from ktrace_cli.errors import KtraceError
from ktrace_cli.headers import Headers, find_headers
from support.ktrace_command import Ktrace

ROOT = Path(__file__).parents[2]
VERSION = "0.1.0"
PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(kernels LANGUAGES CXX)
find_package(ktrace {version} REQUIRED CONFIG)
add_library(traced OBJECT kernel.cpp)
target_link_libraries(traced PRIVATE ktrace::ktrace)
add_library(plain OBJECT kernel.cpp)
target_link_libraries(plain PRIVATE ktrace::headers)
"""
KERNEL = """
#include <ktrace/format.h>
#if __cplusplus < 201703L
#error "C++17 was asked for"
#endif
#ifdef KTRACE_ENABLE
int ktrace_is_on = KTRACE_FILE_MAJOR;
#else
int ktrace_is_off = KTRACE_FILE_MAJOR;
#endif
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The headers and the CMake package as an installation has them, without the libraries."""
    if not shutil.which("cmake"):
        pytest.skip("no cmake")
    folder = tmp_path_factory.mktemp("installed")
    build = folder / "build"
    options = ["-S", ROOT, "-B", build, f"-DSKBUILD_PROJECT_VERSION={VERSION}"]
    cmake(*options)
    cmake("--install", build, "--component", "headers", "--prefix", folder)
    return folder / "ktrace_cli"


def cmake(*arguments: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        ["cmake", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


def build(package: Path, folder: Path, *options: str, version: str = VERSION) -> list[str]:
    """Build a project of its own against the package; return what its objects define."""
    folder.mkdir(exist_ok=True)
    (folder / "CMakeLists.txt").write_text(PROJECT.format(version=version))
    (folder / "kernel.cpp").write_text(KERNEL)
    headers = find_headers(package)
    cmake("-S", folder, "-B", folder / "build", f"-Dktrace_DIR={headers.cmake_dir}", *options)
    cmake("--build", folder / "build")
    objects = sorted((folder / "build").rglob("kernel.cpp.o"))
    return [
        f"{path.parent.name.removesuffix('.dir')}: {name}"
        for path in objects
        for name in ("ktrace_is_on", "ktrace_is_off")
        if name.encode() in path.read_bytes()
    ]


def test_a_project_finds_the_package_and_chooses_tracing_per_target(
    package: Path, tmp_path: Path
) -> None:
    assert build(package, tmp_path) == ["plain: ktrace_is_off", "traced: ktrace_is_on"]


def test_one_option_takes_tracing_out_of_a_project(package: Path, tmp_path: Path) -> None:
    assert build(package, tmp_path, "-DKTRACE_TRACING=OFF") == [
        "plain: ktrace_is_off",
        "traced: ktrace_is_off",
    ]


def test_a_project_that_asks_for_a_newer_ktrace_is_refused(package: Path, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"(found is not|that is) compatible"):
        build(package, tmp_path, version="0.2")


def test_headers_are_those_of_the_package(package: Path) -> None:
    assert find_headers(package) == Headers(VERSION, package / "include", package / "cmake")


def test_cflags_are_quoted_for_a_shell(tmp_path: Path) -> None:
    headers = Headers(VERSION, tmp_path / "my kernels", tmp_path)

    assert shlex.split(headers.cflags) == [f"-I{tmp_path}/my kernels", "-DKTRACE_ENABLE"]


def test_an_installation_without_headers_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(KtraceError) as problem:
        find_headers(tmp_path)

    assert problem.value.what == "this installation of ktrace has no headers"
    assert problem.value.why == f"{tmp_path}/include/ktrace/ktrace.hpp does not exist"


def installed(ktrace: Ktrace) -> dict[str, str]:
    done = ktrace("config", "--json")
    if "has no headers" in done.stderr:
        pytest.skip("ktrace runs from its source tree here")
    return json.loads(done.stdout)


def test_each_option_prints_one_value_and_json_all_of_them(ktrace: Ktrace) -> None:
    values = installed(ktrace)

    assert list(values) == ["cflags", "include_dir", "cmake_dir", "version"]
    assert values["version"] == VERSION
    assert values["cflags"] == f"-I{values['include_dir']} -DKTRACE_ENABLE"
    assert (Path(values["include_dir"]) / "ktrace" / "ktrace.hpp").is_file()
    assert (Path(values["cmake_dir"]) / "ktraceConfig.cmake").is_file()
    for name, value in values.items():
        assert ktrace("config", f"--{name.replace('_', '-')}").stdout == f"{value}\n"


def test_without_an_option_every_value_has_a_line(ktrace: Ktrace) -> None:
    values = installed(ktrace)

    assert ktrace("config").stdout == "".join(f"{k}: {v}\n" for k, v in values.items())


def test_two_questions_at_once_are_a_usage_error(ktrace: Ktrace) -> None:
    done = ktrace("config", "--cflags", "--json")

    assert done.returncode == 2
    assert done.stderr == (
        "ktrace: error: `ktrace config` answers one question, not --cflags and --json\n"
        "  why: scripts could not tell the answers apart\n"
        "  try: run it once for each, or `ktrace config --json`\n"
    )
