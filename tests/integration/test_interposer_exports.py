"""What the interposer shows to the dynamic loader."""

from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerDefSection

from ktrace_cli.launch.native import INTERPOSER
from ktrace_cli.libraries import native_library

EXPORTS = {
    "dlopen",
    "dlsym",
    "dlvsym",
    "rocprofiler_register_library_api_table",
    "execve",
    "execv",
    "execvp",
    "execvpe",
    "fexecve",
    "execveat",
    "execl",
    "execlp",
    "execle",
    "posix_spawn",
    "posix_spawnp",
    "system",
    "popen",
    "_exit",
    "_Exit",
    "__hipRegisterFatBinary",
    "__hipRegisterFunction",
    "__hipUnregisterFatBinary",
    "hipInit",
    "hipGetDeviceCount",
    "hipSetDevice",
    "hipMalloc",
    "hipMemset",
    "hipModuleLoad",
    "hipModuleLoadData",
    "hipModuleLoadDataEx",
    "hipModuleLoadFatBinary",
    "hipModuleUnload",
    "hipModuleGetFunction",
    "hipModuleEnumerateFunctions",
    "hipLibraryGetModule",
    "hipGetFuncBySymbol",
    "hipLibraryLoadData",
    "hipLibraryLoadFromFile",
    "hipLibraryUnload",
    "hipLibraryGetKernel",
    "hipLibraryEnumerateKernels",
    "hipKernelGetFunction",
    "hipLaunchKernel",
    "hipLaunchKernel_spt",
    "hipLaunchKernelExC",
    "hipLaunchByPtr",
    "hipLaunchCooperativeKernel",
    "hipLaunchCooperativeKernel_spt",
    "hipLaunchCooperativeKernelMultiDevice",
    "hipExtLaunchKernel",
    "hipExtLaunchMultiKernelMultiDevice",
    "hipModuleLaunchKernel",
    "hipModuleLaunchCooperativeKernel",
    "hipModuleLaunchCooperativeKernelMultiDevice",
    "hipDrvLaunchKernelEx",
    "hipExtModuleLaunchKernel",
    "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j",
    "hipHccModuleLaunchKernel",
    "_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_",
    "hipGraphAddKernelNode",
    "hipGraphKernelNodeSetParams",
    "hipGraphExecKernelNodeSetParams",
    "hipGraphAddNode",
    "hipGraphNodeSetParams",
    "hipGraphExecNodeSetParams",
    "hipGraphInstantiate",
    "hipGraphInstantiateWithFlags",
    "hipGraphInstantiateWithParams",
    "hipGraphExecUpdate",
    "hipGraphExecChildGraphNodeSetParams",
    "hipGraphNodeSetEnabled",
    "hipGraphLaunch",
    "hipGraphLaunch_spt",
    "hipGraphExecDestroy",
    "hipGraphDestroy",
    "hipStreamEndCapture",
    "hipStreamEndCapture_spt",
    "hipStreamBeginCapture",
    "hipStreamBeginCapture_spt",
    "hipStreamBeginCaptureToGraph",
    "hipStreamDestroy",
    "hipDeviceReset",
    "hipGetProcAddress",
    "hipGetProcAddress_spt",
    "hipGetDriverEntryPoint",
    "hipGetDriverEntryPoint_spt",
    "hsa_code_object_reader_create_from_memory",
}
LIBRARIES = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2"}


@pytest.fixture(scope="module")
def elf():
    with Path(native_library(INTERPOSER)).open("rb") as file:
        yield ELFFile(file)


def symbols(elf: ELFFile, *, defined: bool) -> set[str]:
    table = elf.get_section_by_name(".dynsym")
    return {
        s.name for s in table.iter_symbols() if s.name and (s["st_shndx"] != "SHN_UNDEF") == defined
    }


def test_the_exported_names_are_these(elf: ELFFile) -> None:
    assert symbols(elf, defined=True) == EXPORTS


def test_no_version_node_is_defined(elf: ELFFile) -> None:
    assert not [s for s in elf.iter_sections() if isinstance(s, GNUVerDefSection)]


def test_no_c_plus_plus_runtime_is_needed_or_shown(elf: ELFFile) -> None:
    dynamic = next(s for s in elf.iter_sections() if isinstance(s, DynamicSection))
    needed = {tag.needed for tag in dynamic.iter_tags("DT_NEEDED")}

    assert needed <= LIBRARIES
    assert not [
        n
        for n in symbols(elf, defined=False)
        if n.startswith(("_ZS", "_ZNS", "__cxa_throw", "_Unwind"))
    ]
    assert not [n for n in symbols(elf, defined=False) if n.startswith(("hip", "__hip"))]


def test_it_has_no_soname_and_no_destructor_of_its_own_to_run(elf: ELFFile) -> None:
    dynamic = next(s for s in elf.iter_sections() if isinstance(s, DynamicSection))
    assert not list(dynamic.iter_tags("DT_SONAME"))
