// Calls by which code objects and kernels come and go, and a few by which a program shows that it uses HIP at
// all.
#include <algorithm>
#include <utility>

#include "flydsl_recording.hpp"
#include "hooks.hpp"
#include "last_error.hpp"

namespace ktrace {
namespace {

// The names are asked for afterwards: the call gives handles only. What cannot be asked for stays unknown,
// and launches of it are counted as such.
void add_kernels(Session& session, const HipLibrary& hip, hipLibrary_t library, const hipKernel_t* kernels,
                 unsigned room) {
  if (!hip.hipLibraryGetKernelCount || !hip.hipKernelGetName) return;
  const hipError_t before = error_before(hip);
  unsigned count = 0;
  hipError_t error = hip.hipLibraryGetKernelCount(&count, library);
  for (unsigned i = 0; error == hip_success && i < std::min(count, room); ++i) {
    const char* name = nullptr;
    error = hip.hipKernelGetName(&name, kernels[i]);
    if (error == hip_success && name) session.registry().add_function(library, kernels[i], name);
  }
  if (error != hip_success) restore_error(hip, before);
}

void add_functions(Session& session, const HipLibrary& hip, hipModule_t module,
                   const hipFunction_t* functions, unsigned room) {
  if (!hip.hipModuleGetFunctionCount || !hip.hipKernelNameRef) return;
  const hipError_t before = error_before(hip);
  unsigned count = 0;
  if (hip.hipModuleGetFunctionCount(&count, module) != hip_success) return restore_error(hip, before);
  for (unsigned i = 0; i < std::min(count, room); ++i)
    if (const char* name = hip.hipKernelNameRef(functions[i]))
      session.registry().add_function(module, functions[i], name);
}

void forget_stream(Session& session, const HipLibrary& hip, hipStream_t stream) {
  session.streams().forget(stream);
  if (stream != stream_per_thread) session.captures().end(hip, stream);  // HIP refuses to destroy that one
}

}  // namespace

KTRACE_HOOK(hipInit, (unsigned flags), (flags), (void)0)
KTRACE_HOOK(hipGetDeviceCount, (int* count), (count), (void)0)
KTRACE_HOOK(hipSetDevice, (int device), (device), (void)0)
KTRACE_HOOK(hipMalloc, (void** pointer, std::size_t size), (pointer, size),
            session->flydsl().note_allocation(*pointer, size))
KTRACE_HOOK_BEFORE(hipMemset, (void* memory, int value, std::size_t size), (memory, value, size),
                   record_before_wipe(*session, memory, size))

KTRACE_HOOK(hipModuleLoad, (hipModule_t * module, const char* path), (module, path),
            session->registry().add_module_file(*module, path))
KTRACE_HOOK(hipModuleLoadData, (hipModule_t * module, const void* image), (module, image),
            session->registry().add_module(*module, image))
KTRACE_HOOK(hipModuleLoadDataEx,
            (hipModule_t * module, const void* image, unsigned count, void* options, void** values),
            (module, image, count, options, values), session->registry().add_module(*module, image))
KTRACE_HOOK(hipModuleLoadFatBinary, (hipModule_t * module, const void* image), (module, image),
            session->registry().add_module(*module, image))
#define KTRACE_UNLOAD_HOOK(name, Handle)                                                                  \
  KTRACE_HOOK_WITH_BODY(hipError_t, name, (Handle handle), (handle), {                                    \
    LeftBehind<Registry::TakenModule> storage;                                                            \
    Registry::TakenModule& taken = storage.make();                                                        \
    session->guarded([&] { taken = session->registry().take_module(handle); });                           \
    const hipError_t result = KTRACE_CALL_HIP(hip.name(handle));                                          \
    if (result != hip_success) session->guarded([&] { session->registry().put_back(std::move(taken)); }); \
    storage.destroy();                                                                                    \
    return result;                                                                                        \
  })
KTRACE_UNLOAD_HOOK(hipModuleUnload, hipModule_t)
KTRACE_UNLOAD_HOOK(hipLibraryUnload, hipLibrary_t)

KTRACE_HOOK(hipModuleGetFunction, (hipFunction_t * function, hipModule_t module, const char* name),
            (function, module, name), session->registry().add_function(module, *function, name))
KTRACE_HOOK(hipModuleEnumerateFunctions, (hipFunction_t * functions, unsigned count, hipModule_t module),
            (functions, count, module), add_functions(*session, hip, module, functions, count))
KTRACE_HOOK(hipGetFuncBySymbol, (hipFunction_t * function, const void* host_function),
            (function, host_function), session->registry().add_alias(*function, host_function))

// HIP loads a library when a kernel of it is asked for, from the image where it is: it is the application's
// to keep, and it is what HIP is going to load already now.
KTRACE_HOOK(hipLibraryLoadData,
            (hipLibrary_t * library, const void* image, void* jit_options, void** jit_values,
             unsigned jit_count, void* options, void** values, unsigned count),
            (library, image, jit_options, jit_values, jit_count, options, values, count),
            session->registry().add_module(*library, image))
KTRACE_HOOK(hipLibraryLoadFromFile,
            (hipLibrary_t * library, const char* path, void* jit_options, void** jit_values,
             unsigned jit_count, void* options, void** values, unsigned count),
            (library, path, jit_options, jit_values, jit_count, options, values, count),
            session->registry().add_module_file(*library, path))
KTRACE_HOOK(hipLibraryGetModule, (hipModule_t * module, hipLibrary_t library), (module, library),
            session->registry().add_module_of_library(*module, library))
KTRACE_HOOK(hipLibraryGetKernel, (hipKernel_t * kernel, hipLibrary_t library, const char* name),
            (kernel, library, name), session->registry().add_function(library, *kernel, name))
KTRACE_HOOK(hipLibraryEnumerateKernels, (hipKernel_t * kernels, unsigned count, hipLibrary_t library),
            (kernels, count, library), add_kernels(*session, hip, library, kernels, count))
KTRACE_HOOK(hipKernelGetFunction, (hipFunction_t * function, hipKernel_t kernel), (function, kernel),
            session->registry().add_function_of_kernel(*function, kernel))

KTRACE_HOOK_WITH_BODY(void**, __hipRegisterFatBinary, (const void* wrapper), (wrapper), {
  void** const handle = KTRACE_CALL_HIP(hip.__hipRegisterFatBinary(wrapper));
  session->guarded([&] { session->registry().add_fat_binary(handle, wrapper); });
  return handle;
})
KTRACE_HOOK_WITH_BODY(
    void, __hipRegisterFunction,
    (void** handle, const void* host_function, char* device_function, const char* name, unsigned thread_limit,
     void* thread, void* block, Dim3* block_size, Dim3* grid_size, int* wave_size),
    (handle, host_function, device_function, name, thread_limit, thread, block, block_size, grid_size,
     wave_size),
    {
      KTRACE_CALL_HIP(hip.__hipRegisterFunction(handle, host_function, device_function, name, thread_limit,
                                                thread, block, block_size, grid_size, wave_size));
      session->guarded([&] { session->registry().add_host_function(handle, host_function, name); });
    })
KTRACE_HOOK_WITH_BODY(void, __hipUnregisterFatBinary, (void** handle), (handle), {
  session->guarded([&] { session->registry().remove_fat_binary(handle); });
  KTRACE_CALL_HIP(hip.__hipUnregisterFatBinary(handle));
})

KTRACE_HOOK_BEFORE(hipStreamDestroy, (hipStream_t stream), (stream), forget_stream(*session, hip, stream))

KTRACE_HOOK_WITH_BODY(hipError_t, hipDeviceReset, (), (), {
  Session::Reset reset(*session, hip, std::nullopt);
  const hipError_t result = hip.hipDeviceReset();
  reset.finish(result);
  return result;
})

// In symbol mode what HIP answers are its own functions; the application is to get ours.
KTRACE_HOOK(hipGetProcAddress,
            (const char* name, void** function, int version, std::uint64_t flags, int* query),
            (name, function, version, flags, query), replace_by_hook(name, function, hip))
KTRACE_HOOK(hipGetProcAddress_spt,
            (const char* name, void** function, int version, std::uint64_t flags, int* query),
            (name, function, version, flags, query), replace_by_hook(name, function, hip))
KTRACE_HOOK(hipGetDriverEntryPoint, (const char* name, void** function, unsigned long long flags, int* query),
            (name, function, flags, query), replace_by_hook(name, function, hip))
KTRACE_HOOK(hipGetDriverEntryPoint_spt,
            (const char* name, void** function, unsigned long long flags, int* query),
            (name, function, flags, query), replace_by_hook(name, function, hip))

}  // namespace ktrace
