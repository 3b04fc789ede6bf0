"""Everything that a developer or CI runs: `nox -l` lists it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import nox

nox.options.sessions = ["lint", "types", "layers", "native", "tests"]
nox.options.default_venv_backend = "venv"
nox.options.reuse_existing_virtualenvs = True

ROOT = Path(__file__).parent
RUFF = "0.17.6"
PYTHONS = ("3.10", "3.11", "3.12", "3.13")


def add_pyenv_to_path() -> None:
    """Put pyenv's interpreters on PATH in place of its stand-ins, which may refuse to start."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    if not (root / "versions").is_dir():
        return
    folders = [part for part in os.environ["PATH"].split(":") if part != str(root / "shims")]
    chosen = [path for path in root.glob("versions/3.1[0-3].*/bin") if path.is_dir()]
    os.environ["PATH"] = ":".join([*folders, *map(str, sorted(chosen, reverse=True))])


def lowest_and_highest() -> list[str]:
    """Find the lowest and the highest supported Python at hand; our own where none has a name."""
    found = [version for version in PYTHONS if shutil.which(f"python{version}")]
    return sorted({found[0], found[-1]}, key=PYTHONS.index) if found else []


add_pyenv_to_path()


def install(session: nox.Session, extras: str = "") -> None:
    """Install the package; all sessions share one native build."""
    session.install(f".{extras}")


def project() -> dict[str, Any]:
    """Read what pyproject.toml says of the project."""
    return nox.project.load_toml("pyproject.toml")["project"]


def dependencies() -> list[str]:
    """List what the package depends on: enough for what only reads its source."""
    return project()["dependencies"]


def extra(name: str) -> list[str]:
    """List what an extra of the package depends on."""
    return project()["optional-dependencies"][name]


def outside_packages() -> list[str]:
    """List the packages whose programs tests/outside runs, with their versions."""
    lines = (ROOT / "tests" / "outside" / "requirements.txt").read_text().splitlines()
    return [line for line in lines if "==" in line]


def ziglang() -> list[str]:
    """Name the compiler that the tests ask for."""
    return [need for need in extra("tests") if need.startswith("ziglang")]


@nox.session
def demo(session: nox.Session) -> None:
    """Install, trace the gemm sample on the software device, decode it and summarise it."""
    install(session)
    environment = {"PATH": f"{session.bin}:{os.environ['PATH']}"}
    gemm = ["python", "samples/gemm/run.py"]
    session.run("ktrace", "run", "--force", "-o", "demo.bin", "--", *gemm, env=environment)
    session.run("ktrace", "decode", "demo.bin")
    session.run("ktrace", "summary", "demo.bin")


@nox.session(python=lowest_and_highest() or None)
def tests(session: nox.Session) -> None:
    """Run the tests on the lowest and the highest Python at hand; of C++, jobs and sizes once."""
    install(session, "[tests]")
    is_first = session.python in (None, lowest_and_highest()[0])
    if is_first:
        # Others' host and device code in 43 MB; without the package its tests say so.
        peer = next(need for need in outside_packages() if need.startswith("bitsandbytes"))
        session.run("pip", "install", "--quiet", "--no-deps", peer, success_codes=[0, 1])
    once = (
        *("tests/native", "tests/device_api", "tests/integration/test_interposer_*"),
        *("tests/outside", "tests/integration/test_ci_*", "tests/perfetto/test_many_waves.py"),
    )
    left_out = ("tests/outside/test_code_objects.py",) if is_first else once  # half a minute
    skipped = [f"--ignore-glob={path}" for path in left_out]
    session.run("pytest", "-n", "2", *skipped, *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style: ruff for Python, clang-format for C++."""
    session.install(f"ruff=={RUFF}", "clang-format==19.1.7")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    sources = [
        str(path.relative_to(ROOT))
        for pattern in ("*.h", "*.hpp", "*.cpp")
        for path in sorted((ROOT / "preload").rglob(pattern))
    ]
    session.run("clang-format", "--dry-run", "--Werror", *sources)


@nox.session
def types(session: nox.Session) -> None:
    """Check types."""
    session.install("mypy>=1.11", "types-PyYAML", "pytest>=8", *dependencies())
    session.run("mypy")


@nox.session
def layers(session: nox.Session) -> None:
    """Check that imports point one way."""
    session.install("import-linter>=2", *dependencies())
    session.run("lint-imports", env={"PYTHONPATH": "src"})


@nox.session
def native(session: nox.Session) -> None:
    """Build the native code with warnings as errors."""
    session.install("cmake>=3.20", "ninja")
    build = session.create_tmp()
    session.run(
        "cmake", "-S", ".", "-B", build, "-G", "Ninja", "-DKTRACE_WERROR=ON",
        f"-DSKBUILD_PROJECT_VERSION={project()['version']}",
    )  # fmt: skip
    session.run("ninja", "-C", build)


@nox.session
def outside(session: nox.Session) -> None:
    """Run programs that nobody here wrote: of bitsandbytes, FlyDSL, Triton and JAX, 0.6 GB in all.

    A build of PyTorch without CUDA is enough: PIP_EXTRA_INDEX_URL may name an index that has it.
    """
    install(session, "[tests]")
    packages = outside_packages()
    session.install(*(need for need in packages if need.startswith("torch")))
    session.install("--no-deps", *packages)
    decoders = ROOT / "tests" / "outside" / "decoders.txt"
    session.install("--no-deps", "--ignore-requires-python", "-r", str(decoders))
    session.run("pytest", *(session.posargs or ("-n", "2", "--dist", "loadscope", "tests/outside")))


@nox.session
def samples(session: nox.Session) -> None:
    """Rebuild the code objects of samples and selftest: with hipcc, else ziglang or clang-19."""
    session.install(*ziglang())
    session.run("python", "samples/build.py", *session.posargs)
    session.run("python", "samples/build_selftest.py", *session.posargs)


@nox.session
def wheel(session: nox.Session) -> None:
    """Build dist/, an sdist and a wheel for glibc 2.17, and try that on every Python at hand."""
    session.install("build", "twine", *ziglang())
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    settings = (
        "-Ccmake.define.CMAKE_TOOLCHAIN_FILE=cmake/zig-toolchain.cmake",
        "-Cwheel.tags=py3-none-manylinux_2_17_x86_64",
    )
    session.run("python", "-m", "build", *settings)
    session.run("twine", "check", "--strict", *map(str, sorted(ROOT.glob("dist/*"))))
    built = next(iter(ROOT.glob("dist/*.whl")))
    session.install("--force-reinstall", "--no-deps", str(built))
    session.install(f"{built}[tests]")
    tested = session.posargs or ("tests/packaging", "tests/integration")
    session.run("pytest", "-n", "2", *tested, env={"KTRACE_DIST": str(ROOT / "dist")})
    for version in PYTHONS:
        if python := shutil.which(f"python{version}"):
            try_wheel(session, built, python, Path(session.create_tmp()) / version)


def try_wheel(session: nox.Session, built: Path, python: str, folder: Path) -> None:
    """Install the wheel alone into a clean environment, and run the demo with nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    session.run(python, "-m", "venv", str(folder), external=True)
    environment = {"PATH": str(folder / "bin"), "PYTHONPATH": None}
    ktrace, pip = (str(folder / "bin" / name) for name in ("ktrace", "pip"))
    recording = str(folder / "demo.bin")
    program = ("python", "samples/gemm/run.py")
    for command in (
        (pip, "install", "--quiet", f"{built}[parquet,view]"),
        (pip, "install", "--quiet", "--dry-run", f"{built}[flydsl]"),
        (ktrace, "run", "-o", recording, "--", *program),
        (ktrace, "decode", recording),
        (ktrace, "decode", recording, "-o", str(folder / "demo.parquet")),
        (ktrace, "summary", recording),
        (ktrace, "report", recording, "-o", str(folder / "site"), "--baseline", recording),
        (ktrace, "selftest", "--quick", "--device", "soft"),
        (ktrace, "config"),
    ):
        session.run(*command, env=environment, external=True)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure speed and memory of whole commands, as ratios to other tools in the same run."""
    install(session, "[tests]")
    # A peer: without it, its rows say so. Its compiler, and what that needs, is not wanted.
    flydsl = ("python", "-m", "pip", "install", "--quiet", "--no-deps", "flydsl")
    session.run(*flydsl, success_codes=[0, 1])
    session.run("python", "tests/bench/bench.py", *session.posargs)
    session.run("python", "tests/bench/launch_bench.py")
    session.run("python", "tests/bench/softdev_bench.py")


@nox.session
def stress(session: nox.Session) -> None:
    """Launch 100,000 times from 8 threads on 4 streams each, and account for every launch."""
    install(session, "[tests]")
    session.run("python", "tests/bench/launch_bench.py", "--stress")


@nox.session
def sanitize(session: nox.Session) -> None:
    """Run launches, races, dispatches and tests with libraries under each sanitizer of GCC."""
    install(session, "[tests]")
    session.install("cmake>=3.20", "ninja")
    for sanitizer in ("thread", "address"):
        build = Path(session.create_tmp()) / sanitizer
        session.run(
            "cmake", "-S", ".", "-B", str(build), "-G", "Ninja", "-DCMAKE_CXX_COMPILER=g++",
            f"-DKTRACE_SANITIZE={sanitizer}", f"-DSKBUILD_PROJECT_VERSION={project()['version']}",
        )  # fmt: skip
        device = ["softdev"] if sanitizer == "thread" else []
        session.run("ninja", "-C", str(build), "ktrace_preload", "ktrace_reader", *device)
        session.run("python", "tests/bench/sanitize.py", sanitizer, str(build))


@nox.session
def fuzz(session: nox.Session) -> None:
    """Feed the software device damaged code objects, random code and odd calls, sanitized."""
    install(session)
    session.install("cmake>=3.20", "ninja")
    session.run("python", "tests/fuzz/run.py", "--build", session.create_tmp(), *session.posargs)
