// hipLibrary*, hipKernel*: code objects that belong to no device until a kernel of theirs is asked for.
//
// A hipKernel_t is the hipFunction_t of the device that was current when it was asked for.
#include "hip/libraries.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "hip/call.hpp"
#include "hip/modules.hpp"

namespace ktrace::softdev::hip {

namespace {

Library* find_library(Runtime& runtime, hipLibrary_t handle) {
  const auto found = runtime.libraries.find(handle);
  return found == runtime.libraries.end() ? nullptr : found->second.get();
}

struct LoadedLibrary {
  hipError_t error = hipSuccess;
  Module* module = nullptr;
};

LoadedLibrary load_on(Runtime& runtime, Library& library, int device) {
  const auto loaded = library.module_by_device.find(device);
  if (loaded != library.module_by_device.end()) {
    return {hipSuccess, runtime.modules.at(loaded->second).get()};
  }
  hipModule_t handle = nullptr;
  const void* image = library.content.empty() ? library.image : library.content.data();
  const hipError_t error = load_module(runtime, device, image, library.content.size(), "hipLibrary", &handle);
  if (error != hipSuccess) {
    return {error, nullptr};
  }
  library.module_by_device[device] = handle;
  return {hipSuccess, runtime.modules.at(handle).get()};
}

hipError_t add_library(hipLibrary_t* handle, const void* image, std::vector<char> content) {
  return call(cost::call, [&](Runtime& runtime) {
    auto library = std::make_unique<Library>();
    library->image = image;
    library->content = std::move(content);
    *handle = reinterpret_cast<hipLibrary_t>(library.get());
    runtime.libraries.emplace(*handle, std::move(library));
    return hipSuccess;
  });
}

// `body` gets the library's module on the current device.
template <class Body>
hipError_t with_library(hipLibrary_t handle, Body&& body) {
  return call(cost::load, [&](Runtime& runtime) -> hipError_t {
    Library* library = find_library(runtime, handle);
    if (library == nullptr) {
      return hipErrorInvalidResourceHandle;
    }
    const LoadedLibrary loaded = load_on(runtime, *library, current_device());
    return loaded.error != hipSuccess ? loaded.error : body(runtime, *loaded.module);
  });
}

template <class Body>
hipError_t with_kernel(hipFunction_t handle, Body&& body) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    Function* function = runtime.find_function(handle);
    return function == nullptr ? hipErrorInvalidHandle : body(runtime, *function);
  });
}

bool is_explicit(const KernelArgument& argument) { return argument.value_kind.rfind("hidden_", 0) != 0; }

}  // namespace

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev;
using namespace ktrace::softdev::hip;

// The image is not copied, as in HIP: it must live as long as the library. Options are for compilers.
KTRACE_HIP_EXPORT hipError_t hipLibraryLoadData(hipLibrary_t* library, const void* image, int*, void**,
                                                unsigned, int*, void**, unsigned) {
  if (library == nullptr || image == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  return add_library(library, image, {});
}

KTRACE_HIP_EXPORT hipError_t hipLibraryLoadFromFile(hipLibrary_t* library, const char* path, int*, void**,
                                                    unsigned, int*, void**, unsigned) {
  if (library == nullptr || path == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) {  // reading a folder throws
    return finish_call(hipErrorFileNotFound);
  }
  std::ifstream file(path, std::ios::binary);
  std::vector<char> content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (content.empty()) {
    return finish_call(hipErrorFileNotFound);
  }
  return add_library(library, nullptr, std::move(content));
}

KTRACE_HIP_EXPORT hipError_t hipLibraryUnload(hipLibrary_t handle) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    const Library* library = find_library(runtime, handle);
    if (library == nullptr) {
      return hipErrorInvalidResourceHandle;
    }
    for (const auto& [device, module] : library->module_by_device) {
      unload_module(runtime, module);
    }
    runtime.libraries.erase(handle);
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipLibraryGetKernel(hipFunction_t* kernel, hipLibrary_t library,
                                                 const char* name) {
  if (kernel == nullptr || name == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  return with_library(library, [&](Runtime& runtime, Module& module) {
    Function* found = find_module_function(runtime, module, name);
    *kernel = reinterpret_cast<hipFunction_t>(found);
    return found == nullptr ? hipErrorNotFound : hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipLibraryGetKernelCount(unsigned* count, hipLibrary_t library) {
  if (count == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  return with_library(library, [&](Runtime&, Module& module) {
    *count = static_cast<unsigned>(module.code_object->kernels().size());
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipLibraryEnumerateKernels(hipFunction_t* kernels, unsigned count,
                                                        hipLibrary_t library) {
  if (kernels == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  return with_library(library, [&](Runtime& runtime, Module& module) {
    list_functions(runtime, module, kernels, count);
    return hipSuccess;
  });
}

// The library's module on the current device.
KTRACE_HIP_EXPORT hipError_t hipLibraryGetModule(hipModule_t* module, hipLibrary_t library) {
  if (module == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  return with_library(library, [&](Runtime&, Module& loaded) {
    *module = reinterpret_cast<hipModule_t>(&loaded);
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipLibraryGetGlobal(hipDeviceptr_t* address, size_t* size, hipLibrary_t library,
                                                 const char* name) {
  if ((address == nullptr && size == nullptr) || name == nullptr || *name == '\0') {
    return finish_call(hipErrorInvalidValue);
  }
  return with_library(library,
                      [&](Runtime&, Module& module) { return read_global(module, name, address, size); });
}

KTRACE_HIP_EXPORT hipError_t hipKernelGetFunction(hipFunction_t* function, hipFunction_t kernel) {
  return with_kernel(kernel, [&](Runtime&, Function&) {
    if (function == nullptr) {
      return hipErrorInvalidValue;
    }
    *function = kernel;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipKernelGetName(const char** name, hipFunction_t kernel) {
  return with_kernel(kernel, [&](Runtime&, Function& function) {
    if (name == nullptr) {
      return hipErrorInvalidValue;
    }
    *name = function.kernel->name.c_str();
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipKernelGetLibrary(hipLibrary_t* library, hipFunction_t kernel) {
  return with_kernel(kernel, [&](Runtime& runtime, Function& function) {
    if (library == nullptr) {
      return hipErrorInvalidValue;
    }
    for (const auto& [handle, candidate] : runtime.libraries) {
      const auto loaded = candidate->module_by_device.find(function.module->device);
      if (loaded != candidate->module_by_device.end() &&
          runtime.modules.at(loaded->second).get() == function.module) {
        *library = handle;
        return hipSuccess;
      }
    }
    return hipErrorInvalidHandle;  // a kernel of a module
  });
}

KTRACE_HIP_EXPORT hipError_t hipKernelGetParamInfo(hipFunction_t kernel, size_t index, size_t* offset,
                                                   size_t* size) {
  return with_kernel(kernel, [&](Runtime&, Function& function) {
    size_t place = 0;
    for (const KernelArgument& argument : function.kernel->arguments) {
      if (is_explicit(argument) && place++ == index) {
        if (offset == nullptr) {
          return hipErrorInvalidValue;
        }
        *offset = argument.offset;
        if (size != nullptr) {
          *size = argument.size;
        }
        return hipSuccess;
      }
    }
    return hipErrorInvalidValue;
  });
}
