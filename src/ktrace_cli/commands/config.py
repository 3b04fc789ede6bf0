"""`ktrace config`: what a compiler or CMake needs to build annotated kernels."""

from __future__ import annotations

from typing import Annotated

import orjson
import typer

from ktrace_cli import console
from ktrace_cli.errors import UsageError
from ktrace_cli.headers import find_headers


def config(
    cflags: Annotated[
        bool, typer.Option("--cflags", help="Options for a compiler, with tracing.")
    ] = False,
    include_dir: Annotated[
        bool, typer.Option("--include-dir", help="The folder of `ktrace/ktrace.hpp`.")
    ] = False,
    cmake_dir: Annotated[
        bool, typer.Option("--cmake-dir", help="The folder for CMake's `ktrace_DIR`.")
    ] = False,
    version: Annotated[bool, typer.Option("--version", help="The version of ktrace.")] = False,
    json: Annotated[bool, typer.Option("--json", help="All of it as JSON.")] = False,
) -> None:
    """Show what a compiler or CMake needs to build annotated kernels."""
    asked = {
        "cflags": cflags, "include_dir": include_dir, "cmake_dir": cmake_dir, "version": version,
    }  # fmt: skip
    _refuse_several([name for name, is_asked in (asked | {"json": json}).items() if is_asked])
    headers = find_headers()
    values = {name: str(getattr(headers, name)) for name in asked}
    if json:
        console.data(orjson.dumps(values, option=orjson.OPT_INDENT_2).decode() + "\n")
    elif any(asked.values()):
        console.data("".join(f"{values[name]}\n" for name in asked if asked[name]))
    else:
        console.data("".join(f"{name}: {value}\n" for name, value in values.items()))


def _refuse_several(names: list[str]) -> None:
    if len(names) > 1:
        options = " and ".join("--" + name.replace("_", "-") for name in names)
        raise UsageError(
            f"`ktrace config` answers one question, not {options}",
            why="scripts could not tell the answers apart",
            fix="run it once for each, or `ktrace config --json`",
        )
