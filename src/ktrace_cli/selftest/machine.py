"""Facts of the machine that no call of HIP tells. None of them names the machine or its user."""

from __future__ import annotations

import platform
from pathlib import Path

_ROCM = "opt/rocm/.info/version"
_DRIVER = "sys/module/amdgpu/version"
_PROCESSOR = "proc/cpuinfo"


def machine_facts(root: Path = Path("/")) -> dict[str, str | None]:
    """Return versions of ROCm, driver, system and Python, and the processor's name."""
    return {
        "rocm_version": _line(root / _ROCM),
        "kernel_driver_version": _line(root / _DRIVER),
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(root / _PROCESSOR),
        "python": platform.python_version(),
    }


def _line(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def _processor(path: Path) -> str:
    for line in (_line(path) or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()
