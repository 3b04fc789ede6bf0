// A program's own library that calls HIP: by name, as it was linked.
//
// Compiled with -DEXT_CXX_NAMES it calls the launch that HIP declares for C++.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>

#define EXT_EXPORT extern "C" __attribute__((visibility("default")))

struct ihipModuleSymbol_t;
struct ihipStream_t;
struct ihipEvent_t;

extern "C" int hipGetDeviceCount(int*);
extern "C" int hipModuleLaunchKernel(ihipModuleSymbol_t*, unsigned, unsigned, unsigned, unsigned, unsigned,
                                     unsigned, unsigned, ihipStream_t*, void**, void**);
int hipExtModuleLaunchKernel(ihipModuleSymbol_t*, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,
                             std::uint32_t, std::uint32_t, std::size_t, ihipStream_t*, void**, void**,
                             ihipEvent_t*, ihipEvent_t*, std::uint32_t);
int hipHccModuleLaunchKernel(ihipModuleSymbol_t*, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,
                             std::uint32_t, std::uint32_t, std::size_t, ihipStream_t*, void**, void**,
                             ihipEvent_t*, ihipEvent_t*);

EXT_EXPORT int ext_launch(ihipModuleSymbol_t* function, void** params) {
  return hipModuleLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, nullptr, params, nullptr);
}
// A call that leaves no return address of this library behind.
EXT_EXPORT int ext_count(int* count) { return hipGetDeviceCount(count); }
// What a program asks before it uses a newer call.
EXT_EXPORT void* ext_find(const char* name) { return dlsym(RTLD_DEFAULT, name); }

#ifdef EXT_CXX_NAMES
EXT_EXPORT int ext_launch_ext(ihipModuleSymbol_t* function, void** params) {
  return hipExtModuleLaunchKernel(function, 1024, 1, 1, 256, 1, 1, 0, nullptr, params, nullptr, nullptr,
                                  nullptr, 0);
}
EXT_EXPORT int ext_launch_hcc(ihipModuleSymbol_t* function, void** params) {
  return hipHccModuleLaunchKernel(function, 1024, 1, 1, 256, 1, 1, 0, nullptr, params, nullptr, nullptr,
                                  nullptr);
}
#endif
