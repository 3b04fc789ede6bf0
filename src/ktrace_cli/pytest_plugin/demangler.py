"""Loads what demangles names of kernels, without starting a program in the traced process."""

from __future__ import annotations

import contextlib
import ctypes.util

_SONAME_BY_NAME = {"c": "libc.so.6", "stdc++": "libstdc++.so.6"}


def load_demangler() -> None:
    """Import cxxfilt where the C++ library has its usual name.

    It looks for libraries by `ldconfig` with an environment of its own: ktrace would report these
    as programs that it could not trace. Where this fails, that is what happens.
    """
    find_library = ctypes.util.find_library
    ctypes.util.find_library = _SONAME_BY_NAME.get  # type: ignore[assignment] # for one import
    try:
        with contextlib.suppress(ImportError, OSError):
            import cxxfilt  # noqa: F401, PLC0415 - not before it is needed
    finally:
        ctypes.util.find_library = find_library
