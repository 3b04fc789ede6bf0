// Loading and unloading of code objects, for every call that does so.
#pragma once

#include <string>

#include "hip/container.hpp"
#include "hip/runtime.hpp"

namespace ktrace::softdev::hip {

// "gfx942:sramecc+:xnack-": what the device calls itself.
std::string target_name(Arch arch);

// Loads the code object for `device` out of `image`; see extract_image for `limit`. `caller` names the HIP
// call in messages. Needs Runtime::mutex.
hipError_t load_module(Runtime& runtime, int device, const void* image, size_t limit, const char* caller,
                       hipModule_t* module);
hipError_t unload_module(Runtime& runtime, hipModule_t handle);

// By metadata name; null if the module has no such kernel.
Function* find_module_function(Runtime& runtime, Module& module, const std::string& name);

// As many of the module's kernels as fit, in the order of the code object.
void list_functions(Runtime& runtime, Module& module, hipFunction_t* functions, size_t count);

// A variable of the code object; hipErrorNotFound if it has none of the name.
hipError_t read_global(const Module& module, const char* name, hipDeviceptr_t* address, size_t* size);

}  // namespace ktrace::softdev::hip
