"""Programs and libraries that are linked to HIP, and how the loader can hide HIP from us."""

import shutil
import subprocess
from pathlib import Path

import pytest

from ktrace_cli.launch.native import SOFTWARE_DEVICE
from ktrace_cli.libraries import native_library
from support.bundles import compress_bundle, hip_entry, make_bundle
from support.preloaded import ROOT, SAXPY, SAXPY_UNTRACED, Outcome, run_preloaded, run_script

SOURCE = ROOT / "tests" / "support" / "fat_binary_host.cpp"
CALLS = (
    "hipLaunchKernel",
    "hipLaunchKernel_spt",
    "hipLaunchCooperativeKernel",
    "hipExtLaunchKernel",
    "hipLaunchKernelExC",
)


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory):
    """Compile the host with the given options; built once per set of options."""
    compiler = shutil.which("c++") or shutil.which("clang++") or shutil.which("clang++-19")
    if not compiler:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("host")

    def run(name: str, *options: str, link: bool = True) -> Path:
        path = folder / name
        if not path.exists():
            hip = [str(native_library(SOFTWARE_DEVICE))] if link else []
            command = [compiler, "-std=c++17", "-O1", "-fPIC", *options, SOURCE, *hip, "-o", path]
            subprocess.run(command, check=True)
        return path

    return run


def fat_binary(folder: Path) -> dict[str, str]:
    """A bundle of which the device must get the second entry, in the environment of the host."""
    path = folder / "fat.hipfb"
    entries = [
        ("host-x86_64-unknown-linux-gnu-", b""),
        hip_entry("gfx942:sramecc-:xnack-", SAXPY_UNTRACED.read_bytes()),
        hip_entry("gfx942:sramecc+:xnack-", SAXPY.read_bytes()),
        hip_entry("gfx950", Path(str(SAXPY).replace("gfx942", "gfx950")).read_bytes()),
    ]
    path.write_bytes(make_bundle(entries))
    return {"FAT_BINARY": str(path)}


def assert_traced(outcome: Outcome) -> None:
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    recording = outcome.recording
    assert [len(dispatch.headers) for dispatch in recording.dispatches] == [16]
    assert recording.damage.not_closed == 0
    assert recording.code_objects[0].image == SAXPY.read_bytes()


@pytest.mark.parametrize("call", CALLS)
def test_a_linked_program_with_a_fat_binary_is_traced(call: str, build, tmp_path: Path) -> None:
    outcome = run_preloaded(
        [build("program")], tmp_path, environment={**fat_binary(tmp_path), "LAUNCH": call}
    )

    if outcome.returncode == -11:
        pytest.skip(f"the software device has no {call}")
    assert_traced(outcome)


def test_a_linked_program_finds_hip_by_its_own_means(build, tmp_path: Path) -> None:
    outcome = run_preloaded(
        [build("program")], tmp_path, preload_device=False, environment=fat_binary(tmp_path)
    )

    assert_traced(outcome)


def test_a_build_for_another_device_is_not_taken_for_the_devices_own(build, tmp_path: Path) -> None:
    path = tmp_path / "fat.hipfb"
    path.write_bytes(
        make_bundle(
            [
                hip_entry("gfx942", SAXPY_UNTRACED.read_bytes()),
                hip_entry("gfx950", Path(str(SAXPY).replace("gfx942", "gfx950")).read_bytes()),
            ]
        )
    )

    outcome = run_preloaded([build("program")], tmp_path, environment={"FAT_BINARY": str(path)})

    assert (outcome.returncode, outcome.stdout) == (0, "right\n")
    assert (outcome.status.launches, outcome.status.annotated_launches) == (1, 0)
    assert outcome.status.annotated_kernels == 1
    assert not outcome.path.exists()


@pytest.mark.parametrize(
    ("mode", "unbound"),
    [("os.RTLD_LOCAL | os.RTLD_NOW", 0), ("os.RTLD_NOW | os.RTLD_DEEPBIND", 1)],
    ids=["local", "deepbind"],
)
def test_a_library_that_is_linked_to_hip_calls_the_hip_that_it_is_bound_to(
    mode: str, unbound: int, build, tmp_path: Path
) -> None:
    library = build("library.so", "-shared", "-DLIBRARY")
    script = f"raise SystemExit(ctypes.CDLL({str(library)!r}, mode={mode}).run())"

    outcome = run_script(script, tmp_path, preload_device=False, environment=fat_binary(tmp_path))

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    assert_traced(outcome)
    assert outcome.status.unbound_libraries == unbound


def test_a_library_that_never_launches_tells_what_it_holds(build, tmp_path: Path) -> None:
    # It unregisters its compressed fat binary at exit, before the session is closed.
    environment = fat_binary(tmp_path)
    path = Path(environment["FAT_BINARY"])
    path.write_bytes(compress_bundle(path.read_bytes(), version=2))
    library = build("library.so", "-shared", "-DLIBRARY")

    outcome = run_script(f"ctypes.CDLL({str(library)!r})\n", tmp_path, environment=environment)

    assert (outcome.returncode, outcome.stderr) == (0, "")
    status = outcome.status
    assert (status.code_objects, status.annotated_code_objects, status.launches) == (3, 2, 0)
    assert (status.unread_fat_binaries, status.losses, status.is_closed) == (0, {}, True)


def test_without_any_hip_a_call_fails_and_nothing_crashes(build, tmp_path: Path) -> None:
    library = build("unlinked.so", "-shared", "-DLIBRARY", "-Wl,-z,undefs", link=False)
    script = (
        "import ctypes.util\n"
        "own = ctypes.CDLL(None)\n"
        "try:\n  own.hipInit\nexcept AttributeError: print('hidden')\n"
        f"raise SystemExit(ctypes.CDLL({str(library)!r}, mode=os.RTLD_LAZY).run())"
    )

    outcome = run_script(script, tmp_path, preload_device=False, environment=fat_binary(tmp_path))

    assert outcome.returncode == 1
    assert outcome.stdout.splitlines()[:2] == ["hidden", "hipMalloc: 303"]


def test_two_copies_of_hip_each_get_the_calls_of_their_own_callers(build, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(native_library(SOFTWARE_DEVICE), other / "libamdhip64.so.7")
    script = (
        f"other = Host(ctypes.CDLL({str(other / 'libamdhip64.so.7')!r}), SAXPY)\n"
        "own = Host(open_hip(), SAXPY)\n"
        "assert [host.launch() for host in (own, other, other)] == [0, 0, 0]\n"
        "print('right' if own.is_right() and other.is_right() else 'wrong')\n"
    )

    outcome = run_script(script, tmp_path)

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    assert len(outcome.recording.dispatches) == 3


def test_a_hip_compiler_s_program_is_traced(tmp_path: Path) -> None:
    compiler = shutil.which("clang++-19")
    if not compiler:
        pytest.skip("clang++-19 is not installed")
    source = tmp_path / "host.hip"
    source.write_text(CHEVRON)
    headers = [ROOT / "samples" / "minimal_hip", ROOT / "preload" / "include"]
    subprocess.run(
        [
            compiler,
            "-x",
            "hip",
            "--offload-arch=gfx942",
            "-nogpuinc",
            "-nogpulib",
            "-std=c++17",
            "-O2",
            "-no-hip-rt",
            "-DKTRACE_ENABLE",
            *(f"-I{path}" for path in headers),
            source,
            "-x",
            "none",
            native_library(SOFTWARE_DEVICE),
            "-o",
            tmp_path / "chevron",
        ],
        check=True,
    )

    outcome = run_preloaded([tmp_path / "chevron"], tmp_path)

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    (dispatch,) = outcome.recording.dispatches
    assert list(dispatch.extents["main_words"]) == [1] * 2


CHEVRON = """
#include <hip/hip_runtime.h>
#include <ktrace/ktrace.hpp>
#include <cstdio>
struct dim3 { unsigned x, y, z; };
extern "C" int hipMalloc(void**, unsigned long);
extern "C" int hipMemcpy(void*, const void*, unsigned long, int);
extern "C" int __hipPushCallConfiguration(dim3, dim3, unsigned long, void*);
extern "C" int hipLaunchKernel(const void*, dim3, dim3, void**, unsigned long, void*);
__global__ void twice(int* out KTRACE_PARAM) {
  KTRACE_WAVE(t);
  KTRACE_MARK(t, "here");
  out[threadIdx.x] = 2 * static_cast<int>(threadIdx.x);
}
int main() {
  int *memory, result[128];
  if (hipMalloc(reinterpret_cast<void**>(&memory), sizeof result)) return 1;
  ktrace::sink sink;
  void* arguments[] = {&memory, &sink};
  const void* handle = reinterpret_cast<const void*>(&twice);
  if (hipLaunchKernel(handle, {1, 1, 1}, {128, 1, 1}, arguments, 0, nullptr)) return 2;
  if (hipMemcpy(result, memory, sizeof result, 2)) return 3;
  for (int i = 0; i < 128; ++i) if (result[i] != 2 * i) return 4;
  return std::puts("right") < 0;
}
"""
