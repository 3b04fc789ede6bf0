"""Build the stand-in HIP with API tables, and what it registers them with."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from ktrace_cli.launch.native import INTERPOSER, SOFTWARE_DEVICE
from ktrace_cli.libraries import native_library
from support.sanitizer import sanitizer_runtime

SUPPORT = Path(__file__).parent
MAP = SUPPORT.parents[1] / "preload" / "softdev" / "hip" / "hip.map"
# The runtime's table, in HIP's order, up to the newest entry known.
RUNTIME = [line.split()[1] for line in (SUPPORT / "hip_table.txt").read_text().splitlines()]
COMPILER = [
    "__hipPopCallConfiguration",
    "__hipPushCallConfiguration",
    "__hipRegisterFatBinary",
    "__hipRegisterFunction",
    "__hipRegisterManagedVar",
    "__hipRegisterSurface",
    "__hipRegisterTexture",
    "__hipRegisterVar",
    "__hipUnregisterFatBinary",
]
# Two functions have a C++ name besides, which is the same slot.
LAUNCH_PARAMETERS = "P18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_"
MANGLED = {
    388: f"_Z24hipExtModuleLaunchKernel{LAUNCH_PARAMETERS}j",
    389: f"_Z24hipHccModuleLaunchKernel{LAUNCH_PARAMETERS}",
}


@dataclass(frozen=True)
class TableHip:
    """A folder of libraries."""

    folder: Path

    @property
    def hip(self) -> Path:
        return self.folder / "libamdhip64.so.7"

    @property
    def profiler(self) -> Path:
        return self.folder / "stand_in_profiler.so"

    def environment(self, *preloads: Path) -> dict[str, str]:
        """Find HIP by name here; preload `preloads` in this order."""
        return {
            "LD_LIBRARY_PATH": str(self.folder),
            "TABLE_HIP_CORE": str(self.folder / "core.so"),
            "LD_PRELOAD": ":".join(map(str, (*sanitizer_runtime(), *preloads))),
            "STAND_IN_REGISTER_LOG": str(self.folder / "registrations.txt"),
        }


def interposer() -> Path:
    return native_library(INTERPOSER)


def compile_cpp(source: Path, output: Path, *options: str) -> Path:
    compiler = shutil.which("c++") or shutil.which("clang++") or shutil.which("clang++-19")
    if not compiler:
        pytest.skip("no C++ compiler")
    flags = ["-std=c++17", "-O1", "-fPIC", "-shared", f"-I{SUPPORT}"]
    subprocess.run([compiler, *flags, source, "-o", output, *options], check=True)
    return output


def build_hip(
    folder: Path,
    name: str = "libamdhip64.so.7",
    *,
    slots: int = len(RUNTIME),
    is_registered: bool = True,
) -> Path:
    """Build a copy whose table has `slots` entries; it exports exactly what is in its table.

    Not registered: as a distribution builds it, without rocprofiler-register.
    """
    register = folder / "librocprofiler-register.so.0"
    kind = [str(register)] if is_registered else ["-DTABLE_HIP_UNREGISTERED"]
    names = folder / f"{name}.inc"
    lines = [f"RUNTIME({slot}, {function})" for slot, function in enumerate(RUNTIME[:slots])]
    lines += [f"RUNTIME({slot}, {function})" for slot, function in MANGLED.items()]
    lines += [f"COMPILER({slot}, {function})" for slot, function in enumerate(COMPILER)]
    names.write_text("\n".join(lines) + "\n")
    return compile_cpp(
        SUPPORT / "table_hip.cpp",
        folder / name,
        f'-DTABLE_HIP_NAMES="{names}"',
        f"-DTABLE_HIP_SLOTS={slots}",
        f"-Wl,-soname,{name}",
        f"-Wl,--version-script={MAP}",
        "-Wl,--no-as-needed",
        *kind,
    )


def build(folder: Path, *, slots: int = len(RUNTIME), is_registered: bool = True) -> TableHip:
    """Build all libraries into `folder`."""
    compile_cpp(
        SUPPORT / "stand_in_register.cpp",
        folder / "librocprofiler-register.so.0",
        "-Wl,-soname,librocprofiler-register.so.0",
    )
    compile_cpp(SUPPORT / "stand_in_profiler.cpp", folder / "stand_in_profiler.so")
    (folder / "core.so").symlink_to(native_library(SOFTWARE_DEVICE))
    build_hip(folder, slots=slots, is_registered=is_registered)
    return TableHip(folder)
