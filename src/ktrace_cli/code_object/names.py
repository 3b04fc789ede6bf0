"""Kernel names for people: demangled, without ktrace's own parameter."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Final

_SINK: Final = "ktrace::sink"
_MANGLED_SINK: Final = "N6ktrace4sinkE"
_SOURCE_NAME: Final = re.compile(r"([1-9]\d{0,3})")
_OPENING: Final = {"(": ")", "[": "]", "{": "}", "<": ">"}
_CLOSING: Final = frozenset(_OPENING.values())
# C++ libraries before GCC 13 cannot demangle these types, which GPU kernels use all the time. They
# are read as others that no kernel uses: also builtin, so that substitutions keep their numbers.
_NEWER_TYPES: Final = (
    ("DF16_", "De", "decimal128", "_Float16"),
    ("DF16b", "Dd", "decimal64", "__bf16"),
)


@lru_cache(maxsize=4096)
def demangle(mangled: str) -> str:
    """Return the C++ signature without a trailing `ktrace::sink`; no C++ name stays as it is."""
    if not mangled.startswith("_Z"):
        return mangled
    signature = _demangler()(mangled)
    if signature == mangled:
        return without_sink(mangled)
    for ending in (f", {_SINK})", f"({_SINK})"):
        if signature.endswith(ending):
            return signature.removesuffix(ending) + (")" if ending.startswith(",") else "()")
    return signature


def without_sink(mangled: str) -> str:
    """Return the mangled name that the kernel has when it is compiled without ktrace.

    Exact unless an earlier parameter names a type of namespace ktrace, which would abbreviate this
    one.
    """
    if not mangled.startswith("_Z") or not mangled.endswith(_MANGLED_SINK):
        return mangled
    rest = mangled.removesuffix(_MANGLED_SINK)
    # A function that has no parameter at all is written with `v`.
    return rest + "v" if _demangler()(mangled).endswith(f"({_SINK})") else rest


@lru_cache(maxsize=4096)
def display_name(mangled: str) -> str:
    """Return the name with its template arguments, without return type and parameter list.

    Different kernels have different display names.
    """
    signature = demangle(mangled)
    if signature.startswith("_Z"):
        return _abridged(signature)
    return _without_return_type(_without_parameters(signature))


def shorten(name: str, width: int) -> str:
    """Cut a name to at most `width` characters, keeping both ends around a `…`."""
    if len(name) <= width:
        return name
    # The end tells instances of one template apart, the beginning says which template.
    end = (width - 1) // 3
    return f"{name[: width - 1 - end]}…{name[len(name) - end :]}"


def _abridged(mangled: str) -> str:
    """Name a template that the C++ library refuses to demangle: GCC's gives up at 1024 characters.

    What lies between the angle brackets is replaced by a checksum, so that instances stay apart.
    """
    position = 3 if mangled.startswith("_ZN") else 2
    parts = []
    while found := _SOURCE_NAME.match(mangled, position):
        length = int(found[1])
        parts.append(mangled[found.end() : found.end() + length])
        position = found.end() + length
    if not parts or mangled[position : position + 1] != "I":
        return mangled
    return f"{'::'.join(parts)}<…{zlib.crc32(mangled.encode()):08x}>"


@lru_cache(maxsize=1)
def _demangler() -> Callable[[str], str]:
    try:
        import cxxfilt  # noqa: PLC0415 - names stay mangled where it is not installed
    except (ImportError, OSError):
        return str

    def demangled(name: str) -> str:
        try:
            return str(cxxfilt.demangle(name))
        except (cxxfilt.Error, UnicodeError):
            return name

    def with_newer_types(name: str) -> str:
        signature = demangled(name)
        if signature != name:
            return signature
        stand_in = name
        for code, other_code, _, _ in _NEWER_TYPES:
            stand_in = stand_in.replace(code, other_code)
        signature = demangled(stand_in)
        if signature == stand_in:
            return name
        for _, _, other_type, type_name in _NEWER_TYPES:
            signature = signature.replace(other_type, type_name)
        return signature

    return with_newer_types


def _without_parameters(signature: str) -> str:
    """Cut the last pair of parentheses outside of all others, and what follows it."""
    if ")" not in signature:
        return signature
    depth = 0
    end = signature.rindex(")")
    for position in range(end, -1, -1):
        depth += (signature[position] == ")") - (signature[position] == "(")
        if depth == 0:
            # `(anonymous namespace)::k` has no parameter list, and `k(int)::{lambda…}` goes on.
            return signature if signature[end + 1 :].startswith("::") else signature[:position]
    return signature


def _without_return_type(name: str) -> str:
    """Cut what lies before the last space outside of all parentheses and angle brackets."""
    depth = 0
    for position in range(len(name) - 1, -1, -1):
        char = name[position]
        if char in _CLOSING and name[position - 1 : position] != "-":
            depth += 1
        elif char in _OPENING:
            depth -= 1
        elif char == " " and depth == 0 and not name[:position].endswith("operator"):
            return name[position + 1 :]
    return name
