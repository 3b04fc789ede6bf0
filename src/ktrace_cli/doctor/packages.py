"""Which Python packages are met: extras of ktrace, and frameworks that launch kernels."""

from __future__ import annotations

import re

from ktrace_cli.doctor.findings import Finding, State
from ktrace_cli.doctor.machine import Machine

# Package, what it is for, how to get it.
_EXTRAS = (
    ("isal", "writes compressed traces faster", "pip install isal"),
    ("pyarrow", "`ktrace decode -f parquet` needs it", "pip install 'ktrace[parquet]'"),
    ("viztracer", "`ktrace view --offline` needs it", "pip install 'ktrace[view]'"),
)
# Package, its name, and the release that docs/reference/software-device.md tells of.
_COMPILERS = (("flydsl", "FlyDSL", "0.5"), ("triton", "Triton", "3.9"))
_SEEN = "launches are seen and counted; its compiler makes no annotated kernels"
_HIP = re.compile(r"^hip\b[^=]*= *'([^']*)'", re.MULTILINE)


def packages(machine: Machine) -> list[Finding]:
    """Examine what is installed for this Python; frameworks that are not are not mentioned."""
    found = [_extra(machine, *extra) for extra in _EXTRAS]
    found += [
        _compiler(name, version, tried)
        for package, name, tried in _COMPILERS
        if (version := machine.version_of(package))
    ]
    if version := machine.version_of("torch"):
        found.append(_torch(version, _hip_of_torch(machine)))
    return found


def _extra(machine: Machine, package: str, purpose: str, command: str) -> Finding:
    if version := machine.version_of(package):
        return Finding(package, State.OK, version, facts={"version": version})
    return Finding(package, State.NOTE, f"not installed; {purpose}", f"`{command}`")


def _compiler(name: str, version: str, tried: str) -> Finding:
    facts = {"version": version}
    if version == tried or version.startswith(f"{tried}."):
        return Finding(name, State.OK, f"{version}: {_SEEN}", facts=facts)
    text = f"{version}: {_SEEN}. ktrace was tried with {tried}"
    return Finding(name, State.NOTE, text, facts=facts)


def _torch(version: str, hip: str) -> Finding:
    facts = {"version": version, "hip": hip}
    if hip:
        text = f"{version}, for HIP {hip}: launches are seen, its own kernels have no annotations"
        return Finding("PyTorch", State.OK, text, facts=facts)
    text = f"{version} is not built for HIP: it launches nothing on an AMD GPU"
    return Finding("PyTorch", State.NOTE, text, "install PyTorch's build for ROCm", facts)


def _hip_of_torch(machine: Machine) -> str:
    """Read which HIP the installed torch is built for; "" if none."""
    for folder in machine.python_path:
        path = machine.at(f"{folder}/torch/version.py")
        if path.is_file():
            match = _HIP.search(path.read_text(encoding="utf-8", errors="replace"))
            return match[1] if match else ""
    return ""
