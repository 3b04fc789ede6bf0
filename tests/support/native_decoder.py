"""The software device's decoder, called from Python."""

import ctypes
from collections.abc import Sequence


def decode(library: ctypes.CDLL, words: Sequence[int], target: str) -> tuple[int, str]:
    """Give the size in bytes, negative if the instruction cannot be executed, and the mnemonic."""
    text = ctypes.create_string_buffer(80)
    array = (ctypes.c_uint32 * len(words))(*words)
    size = library.ktrace_softdev_decode(
        array, ctypes.c_size_t(len(words)), target.encode(), text, ctypes.c_size_t(80)
    )
    return size, text.value.decode()


def not_executed(library: ctypes.CDLL, target: str) -> tuple[int, list[str]]:
    """Give how many instructions the target has, and the names of those not executed."""
    text = ctypes.create_string_buffer(1 << 16)
    count = library.ktrace_softdev_missing(target.encode(), text, ctypes.c_size_t(len(text)))
    return count, text.value.decode().split()
