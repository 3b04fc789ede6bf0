"""Whether two tools mean the same kernel: one may mangle, cut or qualify what another does not."""

from __future__ import annotations

from functools import lru_cache

from ktrace_cli.code_object.names import demangle, display_name

_CUT = ("...", "…")
_CLONE = " [clone .kd]"
_ABRIDGED = "<…"
_SHORTEST = 8


@lru_cache(maxsize=65536)
def shown_name(name: str) -> str:
    """Return what a kernel of any tool is called: without parameters, return type and `.kd`."""
    return display_name(name.strip().removesuffix(".kd").removesuffix(_CLONE).strip())


def is_same_kernel(ours: str, theirs: str) -> bool:
    """Tell whether a kernel of another tool may be one of ours.

    Args:
        ours: mangled, as HIP knows it.
        theirs: mangled or not, whole, without namespaces and template arguments, or cut.
    """
    mine, other = _compact(shown_name(ours)), _compact(shown_name(theirs))
    if mine == other:
        return True
    cut = _compact(theirs)
    for ending in _CUT:
        if cut.endswith(ending) and len(cut) > _SHORTEST:
            begin = cut.removesuffix(ending)
            return mine.startswith(begin) or _compact(demangle(ours)).startswith(begin)
    if _base(other) == other:  # rocprofv3 --truncate-kernels
        return _base(mine) == other
    if _ABRIDGED in mine:
        # Our demangler gave up on its template arguments: what is before them must do.
        return mine.split(_ABRIDGED)[0] == other.split("<")[0]
    return False


def _compact(name: str) -> str:
    return name.replace(" ", "")


def _base(name: str) -> str:
    """Return the last identifier without its template arguments."""
    if name.endswith(">") and not name.endswith(("operator>", "operator->", "operator>>")):
        name = name[: _opening(name, "<", ">")]
    depth = 0
    for position in range(len(name) - 1, -1, -1):
        depth += (name[position] in ")>") - (name[position] in "(<")
        if name[position] == ":" and depth == 0:
            return name[position + 1 :]
    return name


def _opening(name: str, opening: str, closing: str) -> int:
    """Return where the bracket begins that the name ends with; its end if it begins nowhere."""
    depth = 0
    for position in range(len(name) - 1, -1, -1):
        depth += (name[position] == closing) - (name[position] == opening)
        if depth == 0:
            return position
    return len(name)
