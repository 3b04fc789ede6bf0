"""FlyDSL's own decoder, where the package is installed."""

import importlib
import importlib.util
import sys
import types
from pathlib import Path
from typing import Any


def load_flydsl() -> tuple[Any, Any] | None:
    """Return its decoder and encoder. Its compiler, which needs torch, is not loaded."""
    found = importlib.util.find_spec("flydsl")
    if found is None or not found.submodule_search_locations:
        return None
    root = Path(next(iter(found.submodule_search_locations)))
    packages = ("", "expr", "expr/rocdl", "compiler", "compiler/backends", "runtime")
    for path in (*packages, "runtime/device_runtime"):
        name = ".".join(["flydsl", *filter(None, path.split("/"))])
        package = types.ModuleType(name)
        package.__path__ = [str(root / path)]
        sys.modules[name] = package
    meta = types.ModuleType("flydsl.expr.meta")
    meta.dsl_loc_tracing = lambda function: function  # type: ignore[attr-defined]
    sys.modules["flydsl.expr.meta"] = meta
    return (
        importlib.import_module("flydsl.runtime.device_runtime.rocm_ktrace_buffer"),
        importlib.import_module("flydsl.compiler.backends._rocm_ktrace_trace"),
    )
