// hipGetProcAddress: our own exports by name.
#include <dlfcn.h>

#include <cstring>
#include <string>

#include "hip/call.hpp"

namespace ktrace::softdev::hip {

namespace {

constexpr uint64_t per_thread_default_stream = 2;  // HIP_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
constexpr int version_6_0 = 600;
constexpr int any_version = 1 << 30;

// Asks the dynamic linker about this library and no other: an interposer in front of us sees the question, as
// it does with the real runtime.
void* find_export(const std::string& name) {
  static void* const self = [] {
    Dl_info info;
    return dladdr(reinterpret_cast<void*>(&say), &info) == 0
               ? nullptr
               : dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  }();
  return self == nullptr || name.find("hip") == std::string::npos ? nullptr : dlsym(self, name.c_str());
}

// Headers of HIP 6 renamed these two.
std::string name_in_version(const char* symbol, int version) {
  const bool was_renamed =
      std::strcmp(symbol, "hipGetDeviceProperties") == 0 || std::strcmp(symbol, "hipChooseDevice") == 0;
  return was_renamed && version >= version_6_0 ? std::string(symbol) + "R0600" : std::string(symbol);
}

hipError_t find_entry(const char* symbol, void** function, int version, uint64_t flags, int* status) {
  if (symbol == nullptr || *symbol == '\0' || function == nullptr || flags > per_thread_default_stream) {
    return finish_call(hipErrorInvalidValue);
  }
  const std::string name = name_in_version(symbol, version);
  *function = flags == per_thread_default_stream ? find_export(name + "_spt") : nullptr;
  if (*function == nullptr) {
    *function = find_export(name);
  }
  const bool is_found = *function != nullptr;
  if (status != nullptr) {
    *status = is_found ? HIP_GET_PROC_ADDRESS_SUCCESS : HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return is_found ? hipSuccess : finish_call(hipErrorInvalidValue);
}

}  // namespace

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev::hip;

KTRACE_HIP_EXPORT hipError_t hipGetProcAddress(const char* symbol, void** function, int version,
                                               uint64_t flags, int* status) {
  return find_entry(symbol, function, version, flags, status);
}

KTRACE_HIP_EXPORT hipError_t hipGetProcAddress_spt(const char* symbol, void** function, int version, uint64_t,
                                                   int* status) {
  return find_entry(symbol, function, version, per_thread_default_stream, status);
}

KTRACE_HIP_EXPORT hipError_t hipGetDriverEntryPoint(const char* symbol, void** function,
                                                    unsigned long long flags, int* status) {
  return find_entry(symbol, function, any_version, flags, status);
}

KTRACE_HIP_EXPORT hipError_t hipGetDriverEntryPoint_spt(const char* symbol, void** function,
                                                        unsigned long long, int* status) {
  return find_entry(symbol, function, any_version, per_thread_default_stream, status);
}
