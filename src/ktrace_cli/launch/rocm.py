"""A stand-in for ROCm's folder: the software device, and what programs look for beside HIP.

It knows no HIP: compilers ask for a linker, and some programs ask ROCm's tools which GPU there is.
"""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

_DEFAULT = "/opt/rocm"
_LINKER = "ld.lld"
_LINKER_RELEASES = range(25, 16, -1)  # newest first
# What ROCm's own tools print, as far as programs are known to read it.
_TOOLS = {
    "rocm_agent_enumerator": """#!/bin/sh
# of ktrace: the GPUs are those of its software device
count=${KTRACE_SOFT_DEVICES:-1}
while [ "$count" -gt 0 ]; do
  echo "${KTRACE_SOFT_ARCH:-gfx942}"
  count=$((count - 1))
done
""",
    "rocminfo": """#!/bin/sh
# of ktrace: the GPUs are those of its software device
echo "HSA Agents"
agent=1
while [ "$agent" -le "${KTRACE_SOFT_DEVICES:-1}" ]; do
  echo "*******"
  echo "Agent $agent"
  echo "*******"
  echo "  Name:                    ${KTRACE_SOFT_ARCH:-gfx942}"
  echo "  Marketing Name:          KTRACE software device (${KTRACE_SOFT_ARCH:-gfx942})"
  echo "  Device Type:             GPU"
  agent=$((agent + 1))
done
""",
}


def fill_rocm(folder: Path, inherited: Mapping[str, str]) -> None:
    """Put beside the lib/ of `folder` what an installed ROCm has, and else what stands for it.

    Its tools that list GPUs stay out, and its libraries: a program finds those where it always
    does, and LD_LIBRARY_PATH, which leads here, would put them before those that it brings along.
    """
    installed = Path(inherited.get("ROCM_PATH") or _DEFAULT)
    tools = folder / "bin"
    tools.mkdir()
    for name, text in _TOOLS.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    for kept in ("", "bin"):
        _link_missing(installed / kept, folder / kept)
    if (installed / "lib" / "llvm").is_dir():  # which llvm of newer releases leads to
        (folder / "lib" / "llvm").symlink_to(installed / "lib" / "llvm")
    if not (folder / "llvm" / "bin" / _LINKER).exists():
        _provide_linker(folder, inherited.get("PATH"))


def _link_missing(source: Path, target: Path) -> None:
    try:
        entries = list(source.iterdir())
    except OSError:
        return  # no ROCm, or none that may be read
    for entry in entries:
        if not (target / entry.name).exists():
            (target / entry.name).symlink_to(entry)


def _provide_linker(folder: Path, path: str | None) -> None:
    """Let llvm/bin/ld.lld be a linker of this machine, else of the `ziglang` package."""
    bin_folder = folder / "llvm" / "bin"
    if (folder / "llvm").is_symlink() or (folder / "llvm").exists():
        return  # ROCm's own, without its linker
    names = (_LINKER, *(f"{_LINKER}-{release}" for release in _LINKER_RELEASES))
    found = next((linker for name in names if (linker := shutil.which(name, path=path))), None)
    if found:
        bin_folder.mkdir(parents=True)
        (bin_folder / _LINKER).symlink_to(found)
    elif importlib.util.find_spec("ziglang"):
        bin_folder.mkdir(parents=True)
        command = f'exec {shlex.quote(sys.executable)} -m ziglang ld.lld "$@"\n'
        (bin_folder / _LINKER).write_text(f"#!/bin/sh\n{command}")
        (bin_folder / _LINKER).chmod(0o755)
