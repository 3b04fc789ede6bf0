// hipModule*: code objects that the program loads itself.
#include "hip/modules.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "hip/call.hpp"
#include "hip/fat_binary.hpp"
#include "hip/libraries.hpp"

namespace ktrace::softdev::hip {

namespace {

// A whole file, mapped for as long as the object lives.
class MappedFile {
 public:
  explicit MappedFile(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
      return;
    }
    struct stat status{};
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
      void* data = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
      if (data != MAP_FAILED) {
        m_data = data;
        m_size = static_cast<size_t>(status.st_size);
      }
    }
    close(file);
  }
  ~MappedFile() {
    if (m_data != nullptr) {
      munmap(m_data, m_size);
    }
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const void* data() const { return m_data; }
  size_t size() const { return m_size; }

 private:
  void* m_data = nullptr;
  size_t m_size = 0;
};

hipError_t load_image(const char* caller, hipModule_t* module, const void* image) {
  return call(cost::load, [&](Runtime& runtime) -> hipError_t {
    if (module == nullptr || image == nullptr) {
      return hipErrorInvalidValue;
    }
    return load_module(runtime, current_device(), image, 0, caller, module);
  });
}

template <class Owners>
bool is_of_one(const Owners& owners, hipModule_t module) {
  return std::any_of(owners.begin(), owners.end(), [module](const auto& owner) {
    const auto& modules = owner.second->module_by_device;
    return std::any_of(modules.begin(), modules.end(),
                       [module](const auto& entry) { return entry.second == module; });
  });
}

// Of a library or a fat binary, which unloads it: a program has its handle only if it kept one too long.
bool is_lent(const Runtime& runtime, hipModule_t module) {
  return is_of_one(runtime.libraries, module) || is_of_one(runtime.fat_binaries->binaries, module);
}

}  // namespace

std::string target_name(Arch arch) { return std::string(arch_name(arch)) + ":sramecc+:xnack-"; }

hipError_t load_module(Runtime& runtime, int device, const void* image, size_t limit, const char* caller,
                       hipModule_t* handle) {
  const Arch arch = runtime.device(device).machine.arch();
  const TargetId device_target = TargetId::parse(target_name(arch));
  const ExtractedImage extracted = extract_image(image, limit, device_target);
  if (extracted.error != hipSuccess) {
    say("%s: %s", caller, extracted.trouble.c_str());
    return extracted.error;
  }
  auto module = std::make_unique<Module>();
  module->device = device;
  try {
    module->code_object = CodeObject::load(extracted.data, extracted.size, runtime.registry);
  } catch (const LoadError& error) {
    say("%s: %s", caller, error.what());
    return hipErrorInvalidImage;
  }
  const std::string& target = module->code_object->target();
  if (!module->code_object->runs_on(arch) ||
      match_target(TargetId::parse(target), device_target) == TargetMatch::none) {
    say("%s: the code object is for %s, the device is %s", caller, target.c_str(), target_name(arch).c_str());
    return hipErrorNoBinaryForGpu;
  }
  *handle = reinterpret_cast<hipModule_t>(module.get());
  runtime.modules.emplace(*handle, std::move(module));
  return hipSuccess;
}

hipError_t unload_module(Runtime& runtime, hipModule_t handle) {
  const auto found = runtime.modules.find(handle);
  if (found == runtime.modules.end()) {
    return hipErrorNotFound;
  }
  for (const auto& [name, function] : found->second->function_by_name) {
    runtime.functions.erase(function.get());
  }
  runtime.modules.erase(found);
  return hipSuccess;
}

Function* find_module_function(Runtime& runtime, Module& module, const std::string& name) {
  const Kernel* kernel = module.code_object->find_kernel(name);
  if (kernel == nullptr) {
    return nullptr;
  }
  std::unique_ptr<Function>& function = module.function_by_name[kernel->name];
  if (function == nullptr) {
    function = std::make_unique<Function>();
    function->module = &module;
    function->kernel = kernel;
    runtime.functions.insert(function.get());
  }
  return function.get();
}

void list_functions(Runtime& runtime, Module& module, hipFunction_t* functions, size_t count) {
  const auto& known = module.code_object->kernels();
  for (size_t index = 0; index < std::min(count, known.size()); ++index) {
    functions[index] =
        reinterpret_cast<hipFunction_t>(find_module_function(runtime, module, known[index].name));
  }
}

hipError_t read_global(const Module& module, const char* name, hipDeviceptr_t* address, size_t* size) {
  const auto& symbols = module.code_object->symbols();
  const auto symbol = symbols.find(name);
  if (symbol == symbols.end()) {
    return hipErrorNotFound;
  }
  if (address != nullptr) {
    *address = reinterpret_cast<void*>(symbol->second.address);
  }
  if (size != nullptr) {
    *size = symbol->second.size;
  }
  return hipSuccess;
}

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev;
using namespace ktrace::softdev::hip;

KTRACE_HIP_EXPORT hipError_t hipModuleLoad(hipModule_t* module, const char* path) {
  return call(cost::load, [&](Runtime& runtime) -> hipError_t {
    if (module == nullptr || path == nullptr) {
      return hipErrorInvalidValue;
    }
    const MappedFile file(path);
    if (file.data() == nullptr) {
      return hipErrorFileNotFound;
    }
    const std::string caller = std::string("hipModuleLoad of ") + path;
    return load_module(runtime, current_device(), file.data(), file.size(), caller.c_str(), module);
  });
}

KTRACE_HIP_EXPORT hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  return load_image("hipModuleLoadData", module, image);
}

// HIP ignores the options, too: they are for a compiler that it does not have.
KTRACE_HIP_EXPORT hipError_t hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned, int*,
                                                 void**) {
  return load_image("hipModuleLoadDataEx", module, image);
}

KTRACE_HIP_EXPORT hipError_t hipModuleLoadFatBinary(hipModule_t* module, const void* image) {
  return load_image("hipModuleLoadFatBinary", module, image);
}

KTRACE_HIP_EXPORT hipError_t hipModuleUnload(hipModule_t module) {
  int device = current_device();
  {
    Runtime& runtime = Runtime::get();
    const std::lock_guard<std::mutex> lock(runtime.mutex);
    const auto found = runtime.modules.find(module);
    if (found != runtime.modules.end()) {
      device = found->second->device;
    }
  }
  if (module == nullptr) {
    return finish_call(hipErrorInvalidResourceHandle);
  }
  // Not while a kernel of it runs.
  return device_call(cost::call, device, [&](Runtime& runtime, DeviceState& state, DeviceWork&) {
    runtime.clock.advance_to(runtime.idle_time(state));
    return is_lent(runtime, module) ? hipErrorNotFound : unload_module(runtime, module);
  });
}

KTRACE_HIP_EXPORT hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module,
                                                  const char* name) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    if (function == nullptr || name == nullptr || *name == '\0') {
      return hipErrorInvalidValue;
    }
    if (module == nullptr) {
      return hipErrorInvalidResourceHandle;
    }
    const auto loaded = runtime.modules.find(module);
    if (loaded == runtime.modules.end()) {
      return hipErrorNotFound;
    }
    Function* const found = find_module_function(runtime, *loaded->second, name);
    if (found == nullptr) {
      return hipErrorNotFound;
    }
    *function = reinterpret_cast<hipFunction_t>(found);
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipModuleGetFunctionCount(unsigned* count, hipModule_t module) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    const auto loaded = runtime.modules.find(module);
    if (count == nullptr || loaded == runtime.modules.end()) {
      return count == nullptr ? hipErrorInvalidValue : hipErrorInvalidResourceHandle;
    }
    *count = static_cast<unsigned>(loaded->second->code_object->kernels().size());
    return hipSuccess;
  });
}

// As many as fit, in the order of the code object.
KTRACE_HIP_EXPORT hipError_t hipModuleEnumerateFunctions(hipFunction_t* functions, unsigned count,
                                                         hipModule_t module) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    const auto loaded = runtime.modules.find(module);
    if (functions == nullptr || loaded == runtime.modules.end()) {
      return functions == nullptr ? hipErrorInvalidValue : hipErrorInvalidResourceHandle;
    }
    list_functions(runtime, *loaded->second, functions, count);
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipModuleGetGlobal(hipDeviceptr_t* address, size_t* size, hipModule_t module,
                                                const char* name) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    if ((address == nullptr && size == nullptr) || name == nullptr || *name == '\0') {
      return hipErrorInvalidValue;
    }
    if (module == nullptr) {
      return hipErrorInvalidResourceHandle;
    }
    const auto loaded = runtime.modules.find(module);
    if (loaded == runtime.modules.end()) {
      return hipErrorNotFound;
    }
    return read_global(*loaded->second, name, address, size);
  });
}
