"""Whole programs on the software device: linked ones, hip-python, and ones whose kernels fault."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.compile_kernel import HEADERS, any_compiler
from support.hip import library_path

# What hip_runtime.h would declare for the host.
HOST_HEADER = """
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <mini_hip.hpp>
struct dim3 {
  uint32_t x, y, z;
  dim3(uint32_t a = 1, uint32_t b = 1, uint32_t c = 1) : x(a), y(b), z(c) {}
};
typedef struct ihipStream_t* hipStream_t;
typedef struct ihipModuleSymbol_t* hipFunction_t;
typedef unsigned hipError_t;
extern "C" {
hipError_t __hipPushCallConfiguration(dim3, dim3, size_t = 0, hipStream_t = nullptr);
hipError_t __hipPopCallConfiguration(dim3*, dim3*, size_t*, hipStream_t*);
hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, size_t, hipStream_t);
hipError_t hipLaunchKernel_spt(const void*, dim3, dim3, void**, size_t, hipStream_t);
hipError_t hipMallocManaged(void**, size_t, unsigned);
hipError_t hipDeviceSynchronize();
hipError_t hipSetDevice(int);
hipError_t hipMemcpyToSymbol(const void*, const void*, size_t, size_t, int);
hipError_t hipMemcpyFromSymbol(void*, const void*, size_t, size_t, int);
hipError_t hipGetSymbolSize(size_t*, const void*);
hipError_t hipGetFuncBySymbol(hipFunction_t*, const void*);
const char* hipKernelNameRef(hipFunction_t);
}
"""
CHEVRONS = """
__constant__ int factor;
__device__ int total[4];
__attribute__((managed)) int counter = 5;
__global__ void scale(const int* in, int* out, int n) {
  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = in[i] * factor;
  if (i == 0) { total[1] = 77; counter += 1; }
}
template <class T> __global__ void store(T* out, T value) { out[threadIdx.x] = value; }
int main() {
  int *in, *out, three = 3, seen = 0, wrong = 0;
  const int n = 100;
  hipMallocManaged((void**)&in, 4 * n, 1);
  hipMallocManaged((void**)&out, 4 * n, 1);
  for (int i = 0; i < n; i++) in[i] = i;
  printf("copy %u\\n", hipMemcpyToSymbol(&factor, &three, 4, 0, 1));
  scale<<<2, 64>>>(in, out, n);
  printf("run %u\\n", hipDeviceSynchronize());
  for (int i = 0; i < n; i++) wrong += out[i] != 3 * i;
  hipMemcpyFromSymbol(&seen, total, 4, 4, 2);
  printf("wrong %d total %d counter %d\\n", wrong, seen, counter);
  store<int><<<1, 64>>>(out, 42);
  hipDeviceSynchronize();
  size_t size = 0;
  hipGetSymbolSize(&size, total);
  hipError_t outside = hipMemcpyToSymbol(total, &three, 4, 13, 1);
  printf("stored %d size %zu outside %u\\n", out[63], size, outside);
  hipFunction_t function;
  hipGetFuncBySymbol(&function, (const void*)&scale);
  printf("%s\\n", hipKernelNameRef(function));
  hipSetDevice(1);
  counter = 0;
  scale<<<1, 64>>>(in, out, n);
  hipDeviceSynchronize();
  printf("device 1: %d %d\\n", out[2], counter);
}
"""
CHEVRONS_OUTPUT = """\
copy 0
run 0
wrong 0 total 77 counter 6
stored 42 size 16 outside 1
_Z5scalePKiPii
device 1: 0 1
"""
# One function of every symbol version that HIP 7.2 has, and of nodes that hold none of ours.
VERSIONED = {
    "hip_4.2": "hipInit",
    "hip_4.3": "hipStreamIsCapturing",
    "hip_4.4": "hipGraphGetNodes",
    "hip_4.5": "hipStreamGetCaptureInfo",
    "hip_5.0": "hipPointerGetAttribute",
    "hip_5.1": "hipMallocAsync",
    "hip_5.2": "hipMemcpy_spt",
    "hip_5.3": "hipLaunchHostFunc",
    "hip_5.5": "hipModuleLaunchCooperativeKernel",
    "hip_6.0": "hipGetDevicePropertiesR0600",
    "hip_6.1": "hipGetProcAddress",
    "hip_6.2": "hipGetFuncBySymbol",
    "hip_6.4": "hipEventRecordWithFlags",
    "hip_6.5": "hipLaunchKernelExC",
    "hip_7.1": "hipModuleLoadFatBinary",
}
SAXPY = """
import sys
import numpy as np
from hip import hip

def check(result):
    assert int(result[0]) == 0, result[0]
    return result[1] if len(result) == 2 else result[1:]

check(hip.hipInit(0))
n = 1000
x, y = np.arange(n, dtype=np.float32), np.ones(n, dtype=np.float32)
device_x, device_y = check(hip.hipMalloc(4 * n)), check(hip.hipMalloc(4 * n))
check(hip.hipMemcpy(device_x, x, 4 * n, hip.hipMemcpyKind.hipMemcpyHostToDevice))
stream = check(hip.hipStreamCreate())
kind = hip.hipMemcpyKind.hipMemcpyHostToDevice
check(hip.hipMemcpyAsync(device_y, y, 4 * n, kind, stream))
module = check(hip.hipModuleLoad(sys.argv[1].encode()))
function = check(hip.hipModuleGetFunction(module, b"saxpy"))
import ctypes
values = (device_y, device_x, ctypes.c_float(2.5), ctypes.c_int(n))
start, stop = check(hip.hipEventCreate()), check(hip.hipEventCreate())
check(hip.hipEventRecord(start, stream))
check(hip.hipModuleLaunchKernel(function, gridDimX=(n + 255) // 256, gridDimY=1, gridDimZ=1,
    blockDimX=256, blockDimY=1, blockDimZ=1, sharedMemBytes=0, stream=stream, kernelParams=None,
    extra=values))
check(hip.hipEventRecord(stop, stream))
check(hip.hipStreamSynchronize(stream))
assert check(hip.hipEventElapsedTime(start, stop)) > 0
back = np.zeros_like(y)
check(hip.hipMemcpy(back, device_y, 4 * n, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
assert (back == 2.5 * x + 1).all()
print("ok", check(hip.hipGetDeviceProperties(0)).gcnArchName)
"""
SAXPY_KERNEL = """
#include <mini_hip.hpp>
extern "C" __global__ void saxpy(float* y, const float* x, float a, int n) {
  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void wild(int* out) { out[threadIdx.x] = 1; }
extern "C" __global__ void trap() { __builtin_trap(); }
"""
FAULT = """
import ctypes, sys
hip = ctypes.CDLL(sys.argv[1])
module, function, good = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
assert hip.hipModuleLoad(ctypes.byref(module), sys.argv[2].encode()) == 0
assert hip.hipModuleGetFunction(ctypes.byref(function), module, sys.argv[3].encode()) == 0
memory, event = ctypes.c_void_p(), ctypes.c_void_p()
assert hip.hipMalloc(ctypes.byref(memory), ctypes.c_size_t(64)) == 0
assert hip.hipEventCreate(ctypes.byref(event)) == 0
null = ctypes.c_void_p(0)
params = (ctypes.c_void_p * 1)(ctypes.addressof(null))
print(hip.hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, None, params, None))
print(hip.hipGetLastError(), hip.hipPeekAtLastError())
print(hip.hipDeviceSynchronize(), hip.hipDeviceSynchronize())
print(hip.hipEventRecord(event, None), hip.hipEventQuery(event))
print(hip.hipMemset(memory, 0, ctypes.c_size_t(64)), hip.hipFree(memory))
print(hip.hipGetLastError(), hip.hipGetLastError())
hip.hipSetDevice(1)
print(hip.hipDeviceSynchronize(), hip.hipGetLastError())
hip.hipSetDevice(0)
print(hip.hipDeviceReset(), hip.hipGetLastError(), hip.hipDeviceSynchronize())
"""


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def clang() -> str:
    found = shutil.which("clang++-19")
    if found is None:
        pytest.skip("clang++-19 is not installed")
    return found


def build_program(source: str, folder: Path, *options: str) -> Path:
    """Compile host and device code and link it to the software device."""
    text, program = folder / "program.hip", folder / "program"
    text.write_text(HOST_HEADER + source)
    arch, include = "--offload-arch=gfx942", f"-I{HEADERS}"
    compiled = [clang(), "-x", "hip", arch, "-nogpuinc", "-nogpulib", "-O2", include, *options]
    for command in (
        [*compiled, "-c", str(text), "-o", str(folder / "program.o")],
        [clang(), str(folder / "program.o"), "-o", str(program), str(library_path())],
    ):
        done = run(command)
        assert done.returncode == 0, done.stderr
    return program


def rocm_folder(folder: Path) -> Path:
    """A ROCM_PATH with the library under each of its names."""
    (folder / "lib").mkdir()
    for name in ("libamdhip64.so", "libamdhip64.so.6", "libamdhip64.so.7"):
        (folder / "lib" / name).symlink_to(library_path())
    return folder


@pytest.fixture(scope="module")
def code_object() -> Path:
    return any_compiler("gfx942").hip(SAXPY_KERNEL)


@pytest.mark.parametrize(
    "options",
    [(), ("--offload-compress",), ("-fgpu-default-stream=per-thread",)],
    ids=["plain", "compressed", "per thread"],
)
def test_a_program_with_chevrons_runs(tmp_path: Path, options: tuple[str, ...]) -> None:
    program = build_program(CHEVRONS, tmp_path, *options)

    done = run([str(program)], LD_LIBRARY_PATH=str(library_path().parent), KTRACE_SOFT_DEVICES="2")

    assert done.stderr == ""
    assert done.stdout == CHEVRONS_OUTPUT
    assert done.returncode == 0


def test_a_program_for_another_target_is_told_what_there_is(tmp_path: Path) -> None:
    source = """
__constant__ int factor;
__global__ void nothing() {}
int main() {
  int one = 1;
  for (int i = 0; i < 2; i++) printf("%u\\n", hipMemcpyToSymbol(&factor, &one, 4, 0, 1));
  void* params[1];
  printf("%u\\n", hipLaunchKernel((const void*)&nothing, 1, 1, params, 0, nullptr));
}
"""
    program = build_program(source, tmp_path)

    done = run(
        [str(program)], LD_LIBRARY_PATH=str(library_path().parent), KTRACE_SOFT_ARCH="gfx950"
    )

    assert done.stdout == "209\n209\n209\n"
    said = "ktrace softdev: fat binary: no code object for gfx950; there are gfx942\n"
    assert done.stderr == said  # once


def test_a_program_linked_to_a_real_hip_starts_on_ours(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or pytest.skip("no C compiler")
    nodes, previous, functions = [], "", ""
    empty = ["hip_5.6", "hip_7.2"]
    for node in sorted([*VERSIONED, *empty]):
        name = VERSIONED.get(node)
        nodes.append(f"{node} {{ {f'global: {name};' if name else ''} }} {previous};")
        functions += f"int {name}(void) {{ return 0; }}\n" if name else ""
        previous = node
    calls = "".join(f"  p[{n}] = (void*){name};\n" for n, name in enumerate(VERSIONED.values()))
    declared = "".join(f"int {name}();\n" for name in VERSIONED.values())
    main = f"{declared}int main() {{ void* volatile p[32]; {calls}  return hipInit(0); }}\n"
    (tmp_path / "real.c").write_text(functions)
    (tmp_path / "real.map").write_text("\n".join(nodes))
    (tmp_path / "main.c").write_text(main)
    real, program = tmp_path / "libamdhip64.so", tmp_path / "program"
    soname = f"-Wl,-soname,libamdhip64.so.7,--version-script={tmp_path / 'real.map'}"
    for command in (
        [compiler, "-shared", "-fPIC", soname, str(tmp_path / "real.c"), "-o", str(real)],
        [compiler, "-w", "-Wl,-z,now", str(tmp_path / "main.c"), str(real), "-o", str(program)],
    ):
        assert run(command).returncode == 0, run(command).stderr

    done = run([str(program)], LD_LIBRARY_PATH=str(library_path().parent))

    assert (done.returncode, done.stderr) == (0, "")


def test_callers_with_cxx_linkage_find_the_mangled_names() -> None:
    library = str(library_path())
    program = (
        "import ctypes, sys; hip = ctypes.CDLL(sys.argv[1])\n"
        "for name in sys.argv[2:]: print(bool(getattr(hip, name)))\n"
    )
    names = [
        "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j",
        "_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_",
    ]

    done = run([sys.executable, "-c", program, library, *names])

    assert done.stdout == "True\nTrue\n"


def test_only_hip_and_our_own_names_are_exported() -> None:
    readelf = shutil.which("nm") or pytest.skip("nm is not installed")

    listed = run([readelf, "-D", "--defined-only", str(library_path())]).stdout

    names = [line.split()[-1].split("@")[0] for line in listed.splitlines()]
    known = ("hip", "__hip", "_Z24hip", "ktrace_softdev_")
    assert [name for name in names if not name.startswith(known)] == []
    assert "hipMalloc" in names


def test_hip_python_runs_saxpy(tmp_path: Path, code_object: Path) -> None:
    pytest.importorskip("rocm.bindings.hip")
    program = tmp_path / "saxpy.py"
    program.write_text(SAXPY)
    rocm = rocm_folder(tmp_path)

    done = run([sys.executable, str(program), str(code_object)], ROCM_PATH=str(rocm))

    assert done.stderr == ""
    assert done.stdout == "ok gfx942:sramecc+:xnack-\n"


@pytest.mark.parametrize(("kernel", "code"), [("wild", 700), ("trap", 719)])
def test_a_fault_is_reported_by_the_next_call_and_stays(
    code_object: Path, kernel: str, code: int
) -> None:
    command = [sys.executable, "-c", FAULT, str(library_path()), str(code_object), kernel]

    done = run(command, KTRACE_SOFT_DEVICES="2")

    assert done.stdout.splitlines() == [
        "0",  # the launch itself succeeds, as on hardware
        "0 0",
        f"{code} {code}",
        f"{code} {code}",
        f"{code} {code}",
        f"{code} {code}",
        "0 0",  # the other device is well
        "0 0 0",  # and so is this one after a reset
    ]
    said = done.stderr.splitlines()
    assert len(said) == 1
    assert said[0].startswith(f"ktrace softdev: kernel `{kernel}`, workgroup (0, 0, 0)")


def test_the_same_program_sees_the_same_times_twice(tmp_path: Path, code_object: Path) -> None:
    program = tmp_path / "times.py"
    program.write_text(
        """
import ctypes, sys
hip = ctypes.CDLL(sys.argv[1])
hip.ktrace_softdev_now_ns.restype = ctypes.c_uint64
print(hip.ktrace_softdev_now_ns())
module, function = ctypes.c_void_p(), ctypes.c_void_p()
hip.hipModuleLoad(ctypes.byref(module), sys.argv[2].encode())
hip.hipModuleGetFunction(ctypes.byref(function), module, b"wild")
memory = ctypes.c_void_p()
hip.hipMalloc(ctypes.byref(memory), ctypes.c_size_t(4096))
params = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
for _ in range(3):
    print(hip.hipModuleLaunchKernel(function, 8, 1, 1, 64, 1, 1, 0, None, params, None))
    print(hip.hipDeviceSynchronize(), hip.ktrace_softdev_now_ns())
"""
    )
    command = [sys.executable, str(program), str(library_path()), str(code_object)]

    first, second = run(command), run(command)

    assert first.stdout == second.stdout
    assert first.stdout.startswith("1000000000\n0\n0 1000")
