"""Build the samples' code objects: every sample, for every target, with and without annotations.

    python samples/build.py             write samples/NAME/NAME.TARGET[.untraced].co
    python samples/build.py --check     say whether the files there are what this compiler makes

Works without ROCm: hipcc is taken if it is there, else the clang of `pip install ziglang`, else
clang-19. The same compiler version makes the same bytes wherever the repository lies.
"""

import argparse
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ("saxpy", "gemm")
TARGETS = ("gfx942", "gfx950")
COMPILERS = ("hipcc", "zig", "clang")
# Paths are relative to the repository and compilers run there, so that notes hold the same source
# names on every machine. Without -fuse-cuid=none clang hashes an absolute path into a symbol.
HIP_OPTIONS = ("-x", "hip", "-std=c++17", "-O3", "-Wall", "-Wextra", "-Werror", "-fuse-cuid=none")
MINIMAL_HIP = "samples/minimal_hip"


class BuildError(Exception):
    """What went wrong, in words for the user."""


@dataclass(frozen=True)
class Compiler:
    """A way to make code objects."""

    name: str
    driver: tuple[str, ...]
    linker: tuple[str, ...]
    """Empty: the driver links by itself."""
    targets: tuple[str, ...]


class Wanted(Protocol):
    """One file to make: where from, relative to the repository, and where it is kept."""

    target: str
    traced: bool
    source: str
    path: str


@dataclass(frozen=True)
class CodeObject:
    """A sample, for one target, with or without annotations."""

    sample: str
    target: str
    traced: bool

    @property
    def source(self) -> str:
        """The kernel's source, relative to the repository."""
        return f"samples/{self.sample}/{self.sample}.hip"

    @property
    def path(self) -> str:
        """Where it is kept, relative to the repository."""
        variant = "" if self.traced else ".untraced"
        return f"samples/{self.sample}/{self.sample}.{self.target}{variant}.co"


def find_compiler(name: str | None) -> Compiler:
    """Return the compiler called `name`, or the first that is here if it is None."""
    for candidate in (name,) if name else COMPILERS:
        compiler = _compiler(candidate)
        if compiler:
            return compiler
    raise BuildError(
        f"no compiler for AMD GPUs: {name or 'hipcc, ziglang and clang-19'} not found\n"
        "  try: pip install ziglang"
    )


def _compiler(name: str) -> Compiler | None:
    if name == "hipcc" and (hipcc := shutil.which("hipcc")):
        return Compiler(name, (hipcc,), (), TARGETS)
    if name == "zig" and importlib.util.find_spec("ziglang"):
        zig = (sys.executable, "-m", "ziglang")
        return Compiler(name, (*zig, "clang"), (*zig, "ld.lld"), TARGETS)
    clang, linker = shutil.which("clang-19"), shutil.which("ld.lld-19")
    if name == "clang" and clang and linker:
        return Compiler(name, (clang,), (linker,), ("gfx942",))
    return None


def code_objects(targets: Sequence[str]) -> Iterator[CodeObject]:
    """Yield what there is to make for `targets`."""
    for sample in SAMPLES:
        for target in targets:
            yield CodeObject(sample, target, traced=True)
            yield CodeObject(sample, target, traced=False)


def build(compiler: Compiler, wanted: Wanted, output: Path) -> None:
    """Compile `wanted` to the file `output`."""
    options = [*HIP_OPTIONS, f"-I{_ktrace_headers()}", f"--offload-arch={wanted.target}"]
    options += ["--offload-device-only", "--no-gpu-bundle-output"]
    if wanted.traced:
        options.append("-DKTRACE_ENABLE")
    output.parent.mkdir(parents=True, exist_ok=True)
    if compiler.linker:
        _build_in_steps(compiler, wanted, options, output)
    else:
        options += ["-Xoffload-linker", "--strip-all"]
        _run(*compiler.driver, *options, wanted.source, "-o", str(output))


def _build_in_steps(
    compiler: Compiler, wanted: Wanted, options: Sequence[str], output: Path
) -> None:
    # zig's clang cannot link for a GPU. The detour by assembly keeps the usual order of
    # optimisations; one by -emit-llvm would run them twice.
    machine = ("--target=amdgcn-amd-amdhsa", f"-mcpu={wanted.target}")
    without_rocm = ("-nogpuinc", "-nogpulib", f"-I{MINIMAL_HIP}")
    with tempfile.TemporaryDirectory() as scratch:
        text, unlinked = str(Path(scratch, "sample.s")), str(Path(scratch, "sample.o"))
        _run(*compiler.driver, *options, *without_rocm, "-S", wanted.source, "-o", text)
        _run(*compiler.driver, *machine, "-c", "-x", "assembler", text, "-o", unlinked)
        link = ("-shared", "--no-undefined", "--strip-all")
        _run(*compiler.linker, *link, unlinked, "-o", str(output))


def _ktrace_headers() -> str:
    if Path(ROOT, "preload/include/ktrace/ktrace.hpp").exists():
        return "preload/include"
    package = importlib.util.find_spec("ktrace_cli")
    if package and package.origin:
        return str(Path(package.origin).parent / "include")
    raise BuildError("ktrace/ktrace.hpp not found\n  try: pip install ktrace")


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{' '.join(command)}\n{done.stderr.rstrip()}")


def write_all(compiler: Compiler, objects: Iterable[Wanted]) -> None:
    """Replace the code objects in the repository."""
    for wanted in objects:
        build(compiler, wanted, ROOT / wanted.path)
        (ROOT / wanted.path).chmod(0o644)  # the linker thinks it made a program
        print(f"{wanted.path}: {(ROOT / wanted.path).stat().st_size} bytes")


def check_all(compiler: Compiler, objects: Iterable[Wanted]) -> bool:
    """Compare the code objects in the repository with new ones; say each that differs."""
    same = True
    with tempfile.TemporaryDirectory() as scratch:
        for wanted in objects:
            build(compiler, wanted, Path(scratch, wanted.path))
            verdict = _compare(ROOT / wanted.path, Path(scratch, wanted.path))
            same &= verdict == "same"
            print(f"{wanted.path}: {verdict}")
    return same


def _compare(committed: Path, made: Path) -> str:
    if not committed.exists():
        return "missing"
    if committed.read_bytes() == made.read_bytes():
        return "same"
    versions = compiler_of(committed), compiler_of(made)
    if versions[0] != versions[1]:
        return f"differs: made by {versions[0]}, checked with {versions[1]}"
    return "differs, although the compiler is the same version"


def compiler_of(code_object: Path) -> str:
    """Return the compiler's name for itself, from the ELF section .comment."""
    for text in code_object.read_bytes().split(b"\0"):
        if b"clang version" in text:
            return text[text.index(b"clang version") :].decode(errors="replace").strip()
    return "an unknown compiler"


def main(
    objects: Callable[[Sequence[str]], Iterable[Wanted]] = code_objects, whose: str = "the samples'"
) -> int:
    parser = argparse.ArgumentParser(description=f"Build {whose} code objects.")
    parser.add_argument("--compiler", choices=COMPILERS, help="default: the first that is here")
    parser.add_argument(
        "--check", action="store_true", help="compare only; status 1 if any differs"
    )
    options = parser.parse_args()
    try:
        compiler = find_compiler(options.compiler)
        if set(compiler.targets) != set(TARGETS):
            print(f"{compiler.name} builds {', '.join(compiler.targets)} only", file=sys.stderr)
        if options.check:
            return 0 if check_all(compiler, objects(compiler.targets)) else 1
        write_all(compiler, objects(compiler.targets))
    except BuildError as error:
        print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
