"""Compile device code for AMD GPUs with whatever compiler is at hand, without ROCm.

clang-19 (apt) serves gfx90a and gfx942, `ziglang` (PyPI) gfx942 and gfx950. Outputs are cached by
content in a temporary folder.
"""

import functools
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

HEADERS = Path(__file__).parent / "device"  # mini_hip.hpp: what hip_runtime.h would define
TARGETS = ("gfx90a", "gfx942", "gfx950")
_HIP_FLAGS = ("-x", "hip", "--offload-device-only", "-nogpuinc", "-nogpulib", "-std=c++17")
# clang otherwise hashes the source into a symbol.
_SAME_SYMBOLS = ("-fuse-cuid=none",)


class CompileError(Exception):
    """The compiler rejected the source; the text is its own message."""


@dataclass(frozen=True)
class Compiler:
    """One way to turn device source into a code object or assembly for one target."""

    name: str  # "clang-19" or "ziglang": goes into test ids
    target: str
    driver: tuple[str, ...]
    linker: tuple[str, ...]
    version: str

    def hip(self, source: str, *options: str, includes: Sequence[Path] = ()) -> Path:
        """Compile HIP C++ text to a code object (.co); -O2 unless `options` says otherwise."""
        return self._cached("hip", source, options, includes, self._hip_code_object)

    def hip_assembly(self, source: str, *options: str, includes: Sequence[Path] = ()) -> Path:
        """Compile HIP C++ text to assembly (.s)."""
        return self._cached("hip-s", source, options, includes, self._hip_assembly)

    def assemble(self, source: str, *options: str) -> Path:
        """Assemble AMDGPU assembly text, directives included, to a code object (.co)."""
        return self._cached("asm", source, options, (), self._assemble)

    def _cached(
        self,
        kind: str,
        source: str,
        options: tuple[str, ...],
        includes: Sequence[Path],
        build: Callable[[Path, list[str], Path], None],
    ) -> Path:
        folders = [HEADERS, *includes]
        digest = _digest([kind, self.version, self.target, source, *options], folders)
        folder = _cache_folder()
        result = folder / f"{digest}{'.s' if kind == 'hip-s' else '.co'}"
        if result.exists():
            return result
        arguments = list(options)
        if kind != "asm":
            if not any(option.startswith("-O") for option in options):
                arguments.append("-O2")
            arguments += [f"-I{path}" for path in folders]
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            # The same name in every run: it may end up in the output.
            text = Path(scratch) / ("kernel.s" if kind == "asm" else "kernel.hip")
            text.write_text(source)
            made = Path(scratch) / "made"
            build(text, arguments, made)
            made.replace(result)  # atomic: parallel test workers share the folder
        return result

    def _hip_code_object(self, text: Path, options: list[str], made: Path) -> None:
        if self.name == "ziglang":
            # zig's clang cannot link for the GPU in one step.
            bitcode, obj = made.with_suffix(".bc"), made.with_suffix(".o")
            self._to_bitcode(text, options, bitcode)
            self._from_bitcode(bitcode, options, obj, "-c")
            self._link(obj, made)
            return
        arch = f"--offload-arch={self.target}"
        _run(
            [*self.driver, *_HIP_FLAGS, arch, "--no-gpu-bundle-output", *options],
            [*_SAME_SYMBOLS, text.name, "-o", str(made)],
            text.parent,
        )

    def _hip_assembly(self, text: Path, options: list[str], made: Path) -> None:
        if self.name == "ziglang":
            bitcode = made.with_suffix(".bc")
            self._to_bitcode(text, options, bitcode)
            self._from_bitcode(bitcode, options, made, "-S")
            return
        arch = f"--offload-arch={self.target}"
        _run(
            [*self.driver, *_HIP_FLAGS, arch, "-S", *options],
            [*_SAME_SYMBOLS, text.name, "-o", str(made)],
            text.parent,
        )

    def _to_bitcode(self, text: Path, options: list[str], bitcode: Path) -> None:
        arch = f"--offload-arch={self.target}"
        _run(
            [*self.driver, *_HIP_FLAGS, arch, "-fgpu-rdc", "-c", "-emit-llvm", *options],
            ["--no-gpu-bundle-output", *_SAME_SYMBOLS, text.name, "-o", str(bitcode)],
            text.parent,
        )

    def _from_bitcode(self, bitcode: Path, options: list[str], out: Path, what: str) -> None:
        levels = [o for o in options if o.startswith(("-O", "-mllvm", "-mcode"))]
        _run(
            [*self.driver, "--target=amdgcn-amd-amdhsa", f"-mcpu={self.target}", "-nogpulib"],
            [*levels, what, "-x", "ir", str(bitcode), "-o", str(out)],
            bitcode.parent,
        )

    def _assemble(self, text: Path, options: list[str], made: Path) -> None:
        obj = made.with_suffix(".o")
        _run(
            [*self.driver, "--target=amdgcn-amd-amdhsa", f"-mcpu={self.target}"],
            ["-x", "assembler", "-c", *options, text.name, "-o", str(obj)],
            text.parent,
        )
        self._link(obj, made)

    def _link(self, obj: Path, made: Path) -> None:
        _run([*self.linker, "-shared", "--gc-sections"], [str(obj), "-o", str(made)], obj.parent)


def compilers_for(target: str) -> list[Compiler]:
    """Every compiler at hand that can compile for `target`; empty if there is none."""
    assert target in TARGETS, target
    found = []
    clang, lld = _clang(), shutil.which("ld.lld-19") or shutil.which("ld.lld")
    if clang and lld and target != "gfx950":
        found.append(Compiler("clang-19", target, (clang,), (lld,), _version((clang,))))
    if importlib.util.find_spec("ziglang") and target != "gfx90a":
        zig = (sys.executable, "-m", "ziglang")
        driver = (*zig, "clang")
        found.append(Compiler("ziglang", target, driver, (*zig, "ld.lld"), _version(driver)))
    return found


def any_compiler(target: str) -> Compiler:
    """The first compiler for `target`; skips the test if there is none."""
    found = compilers_for(target)
    if not found:
        pytest.skip(f"no compiler for {target}: clang-19 (not gfx950) or `pip install ziglang`")
    return found[0]


def _clang() -> str | None:
    return shutil.which("clang++-19") or shutil.which("clang++-20") or shutil.which("clang++-21")


@functools.cache
def _version(driver: tuple[str, ...]) -> str:
    return subprocess.run([*driver, "--version"], check=True, capture_output=True, text=True).stdout


def _digest(parts: Sequence[str], folders: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() + b"\0")
    for folder in folders:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:32]


def _cache_folder() -> Path:
    folder = Path(tempfile.gettempdir()) / f"ktrace-test-kernels-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _run(program: list[str], arguments: list[str], cwd: Path) -> None:
    command = program + arguments
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CompileError(f"{' '.join(command)}\n{done.stderr}")
