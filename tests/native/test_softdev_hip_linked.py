"""Calls that take host functions and variables: they need a program with device code of its own."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.compile_kernel import HEADERS
from support.hip import library_path

# What hip_runtime.h would declare for the host.
HEAD = """
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <mini_hip.hpp>
struct dim3 {
  uint32_t x, y, z;
  dim3(uint32_t a = 1, uint32_t b = 1, uint32_t c = 1) : x(a), y(b), z(c) {}
};
struct hipKernelNodeParams {
  dim3 block;
  void** extra;
  void* func;
  dim3 grid;
  void** params;
  unsigned shared;
};
struct hipLaunchParams {
  void* func;
  dim3 grid, block;
  void** args;
  size_t shared;
  void* stream;
};
extern "C" {
unsigned __hipPushCallConfiguration(dim3, dim3, size_t = 0, void* = nullptr);
unsigned __hipPopCallConfiguration(dim3*, dim3*, size_t*, void**);
unsigned hipLaunchKernel(const void*, dim3, dim3, void**, size_t, void*);
unsigned hipConfigureCall(dim3, dim3, size_t, void*);
unsigned hipSetupArgument(const void*, size_t, size_t);
unsigned hipLaunchByPtr(const void*);
unsigned hipMallocManaged(void**, size_t, unsigned);
unsigned hipDeviceSynchronize();
unsigned hipSetDevice(int);
unsigned hipStreamCreate(void**);
unsigned hipStreamSynchronize(void*);
unsigned hipStreamBeginCapture(void*, int);
unsigned hipStreamEndCapture(void*, void**);
unsigned hipMemcpyToSymbolAsync(const void*, const void*, size_t, size_t, int, void*);
unsigned hipGraphCreate(void**, unsigned);
unsigned hipGraphGetNodes(void*, void**, size_t*);
unsigned hipGraphNodeGetType(void*, int*);
unsigned hipGraphInstantiate(void**, void*, void**, char*, size_t);
unsigned hipGraphLaunch(void*, void*);
unsigned hipGraphAddKernelNode(void**, void*, void* const*, size_t, const hipKernelNodeParams*);
unsigned hipGraphKernelNodeGetParams(void*, hipKernelNodeParams*);
unsigned hipGraphAddMemcpyNodeToSymbol(void**, void*, void* const*, size_t, const void*,
                                       const void*, size_t, size_t, int);
unsigned hipGraphMemcpyNodeSetParamsToSymbol(void*, const void*, const void*, size_t, size_t, int);
unsigned hipGraphExecMemcpyNodeSetParamsToSymbol(void*, void*, const void*, const void*, size_t,
                                                 size_t, int);
unsigned hipGraphAddMemcpyNodeFromSymbol(void**, void*, void* const*, size_t, void*, const void*,
                                         size_t, size_t, int);
unsigned hipLaunchCooperativeKernelMultiDevice(hipLaunchParams*, int, unsigned);
unsigned hipExtLaunchMultiKernelMultiDevice(hipLaunchParams*, int, unsigned);
}
__constant__ int factors[4];
__device__ int total;
__global__ void scale(int* data, int by) {
  data[threadIdx.x] = by * factors[1];
  if (threadIdx.x == 0) total = by;
}
int* managed() {
  void* memory;
  hipMallocManaged(&memory, 4 * 64, 1);
  return (int*)memory;
}
"""
SYMBOL_NODES = """
int main() {
  int* data = managed();
  int by = 10, values[2] = {0, 3}, seen = 0, type = -1;
  void *graph, *to, *kernel, *from, *exec, *stream;
  void* args[] = {&data, &by};
  hipKernelNodeParams params = {64, nullptr, (void*)&scale, 1, args, 0}, asked;
  hipStreamCreate(&stream);
  hipGraphCreate(&graph, 0);
  hipGraphAddMemcpyNodeToSymbol(&to, graph, nullptr, 0, &factors, values, 8, 0, 1);
  hipGraphAddKernelNode(&kernel, graph, &to, 1, &params);
  hipGraphAddMemcpyNodeFromSymbol(&from, graph, &kernel, 1, &seen, &total, 4, 0, 2);
  hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0);
  hipGraphLaunch(exec, stream);
  hipStreamSynchronize(stream);
  printf("%d %d\\n", data[63], seen);
  hipGraphNodeGetType(to, &type);
  hipGraphKernelNodeGetParams(kernel, &asked);
  printf("type %d, host function %d\\n", type, asked.func == (void*)&scale);
  int others[] = {5};
  printf("set %u\\n", hipGraphExecMemcpyNodeSetParamsToSymbol(exec, to, &factors, others, 4, 4, 1));
  hipGraphLaunch(exec, stream);
  hipStreamSynchronize(stream);
  printf("%d\\n", data[63]);
  printf("too far %u, not one %u, wrong way %u\\n",
         hipGraphMemcpyNodeSetParamsToSymbol(to, &factors, values, 8, 12, 1),
         hipGraphMemcpyNodeSetParamsToSymbol(to, &others, values, 8, 0, 1),
         hipGraphMemcpyNodeSetParamsToSymbol(to, &factors, values, 8, 0, 2));
  hipStreamBeginCapture(stream, 0);
  hipMemcpyToSymbolAsync(&factors, values, 8, 0, 1, stream);
  scale<<<1, 64, 0, stream>>>(data, 100);
  hipStreamEndCapture(stream, &graph);
  void* nodes[2];
  size_t count = 2;
  hipGraphGetNodes(graph, nodes, &count);
  hipGraphNodeGetType(nodes[0], &type);
  hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0);
  hipGraphLaunch(exec, stream);
  hipStreamSynchronize(stream);
  printf("captured %zu, type %d: %d\\n", count, type, data[63]);
}
"""
OLD_LAUNCH = """
int main() {
  int* data = managed();
  int by = 4, values[2] = {0, 2};
  void* stream;
  hipStreamCreate(&stream);
  hipMemcpyToSymbolAsync(&factors, values, 8, 0, 1, stream);
  hipStreamSynchronize(stream);
  printf("%u\\n", hipSetupArgument(&by, 4, 0));
  hipConfigureCall(1, 64, 0, stream);
  hipSetupArgument(&data, 8, 0);
  hipSetupArgument(&by, 4, 8);
  printf("%u\\n", hipLaunchByPtr((const void*)&scale));
  hipStreamSynchronize(stream);
  printf("%d %u\\n", data[63], hipLaunchByPtr((const void*)&scale));
}
"""
LISTS = """
int main() {
  int *data[2] = {managed(), managed()}, by[2] = {7, 9}, values[2] = {0, 1};
  void *streams[2], *args[2][2];
  hipLaunchParams list[2];
  for (int i = 0; i < 2; i++) {
    hipSetDevice(i);
    hipStreamCreate(&streams[i]);
    hipMemcpyToSymbolAsync(&factors, values, 8, 0, 1, streams[i]);
    args[i][0] = &data[i];
    args[i][1] = &by[i];
    list[i] = {(void*)&scale, 1, 64, args[i], 0, streams[i]};
  }
  printf("%u", hipExtLaunchMultiKernelMultiDevice(list, 2, 0));
  printf(" %d %d\\n", data[0][63], data[1][63]);
  by[0] = by[1] = 30;
  printf("%u", hipLaunchCooperativeKernelMultiDevice(list, 2, 0));
  printf(" %d %d\\n", data[0][63], data[1][63]);
  list[1].grid = 1 << 20;
  by[0] = by[1] = 50;
  printf("%u", hipLaunchCooperativeKernelMultiDevice(list, 2, 0));
  printf(" %d %d\\n", data[0][63], data[1][63]);
}
"""


def run_program(source: str, folder: Path, **environment: str) -> str:
    """Compile host and device code, link it to the software device, and run it."""
    compiler = shutil.which("clang++-19") or pytest.skip("clang++-19 is not installed")
    text, program = folder / "program.hip", folder / "program"
    text.write_text(HEAD + source)
    options = ["-x", "hip", "--offload-arch=gfx942", "-nogpuinc", "-nogpulib", "-O2"]
    built = [f"-I{HEADERS}", "-c", str(text), "-o", f"{program}.o"]
    for command in (
        [compiler, *options, *built],
        [compiler, f"{program}.o", "-o", str(program), str(library_path())],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    libraries = {"LD_LIBRARY_PATH": str(library_path().parent)}
    ran = subprocess.run(
        [str(program)],
        env={**os.environ, **libraries, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def test_graphs_copy_to_and_from_variables(tmp_path: Path) -> None:
    assert run_program(SYMBOL_NODES, tmp_path).splitlines() == [
        "30 10",
        "type 13, host function 1",
        "set 0",
        "50",
        "too far 1, not one 13, wrong way 21",
        "captured 2, type 13: 300",
    ]


def test_a_launch_in_three_steps_runs(tmp_path: Path) -> None:
    assert run_program(OLD_LAUNCH, tmp_path).splitlines() == ["52", "0", "8 52"]


def test_lists_launch_one_host_function_on_several_devices(tmp_path: Path) -> None:
    printed = run_program(LISTS, tmp_path, KTRACE_SOFT_DEVICES="2")

    assert printed.splitlines() == ["0 7 9", "0 30 30", "720 50 30"]
