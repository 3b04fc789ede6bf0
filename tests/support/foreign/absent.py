"""Stands for packages that only a device or a compiler needs, so that a decoder can be imported."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar


class _Anything:
    def __getattr__(self, name: str) -> Any:
        return _Anything()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return arguments[0] if arguments and callable(arguments[0]) else _Anything()

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (object,)


class _Module(types.ModuleType):
    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything()


def load_part(package: str, part: str, absent: Iterable[str]) -> Any | None:
    """Import a module of a package, without what the package itself imports; None: it is absent.

    Args:
        package: whose `__init__` is not run.
        part: module within it.
        absent: what there need not be.
    """
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        return None
    places = list(found.submodule_search_locations)
    if not any((Path(place) / f"{part.replace('.', '/')}.py").is_file() for place in places):
        return None
    stand_ins: dict[str, types.ModuleType] = {name: _Module(name) for name in absent}
    outer = [package, *(f"{package}.{part}".rsplit(".", 1)[:1] if "." in part else [])]
    for name in outer:
        stand_ins[name] = types.ModuleType(name)
        below = name.removeprefix(package).strip(".").replace(".", "/")
        stand_ins[name].__path__ = [str(Path(place) / below) for place in places]
    before = {name: sys.modules.get(name) for name in stand_ins}
    sys.modules.update(stand_ins)
    try:
        return importlib.import_module(f"{package}.{part}")
    finally:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
