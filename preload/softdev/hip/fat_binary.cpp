// What the compiler's start-up code calls: __hipRegister*, and the two halves of <<<>>>.
#include "hip/fat_binary.hpp"

#include <cstring>

#include "hip/call.hpp"
#include "hip/modules.hpp"

namespace ktrace::softdev::hip {

namespace {

struct LoadedBinary {
  hipError_t error = hipSuccess;
  Module* module = nullptr;
};

// The device's own copy of each __managed__ variable's address.
void set_managed_pointers(Runtime& runtime, const FatBinary& binary, const Module& module) {
  for (const auto& [address, variable] : runtime.fat_binaries->variable_by_host_address) {
    const auto symbol = module.code_object->symbols().find(variable.name);
    if (variable.binary == &binary && variable.managed != nullptr &&
        symbol != module.code_object->symbols().end()) {
      std::memcpy(reinterpret_cast<void*>(symbol->second.address), &variable.managed,
                  sizeof variable.managed);
    }
  }
}

LoadedBinary load_binary(Runtime& runtime, FatBinary& binary, int device) {
  const auto loaded = binary.module_by_device.find(device);
  if (loaded != binary.module_by_device.end()) {
    return {hipSuccess, runtime.modules.at(loaded->second).get()};
  }
  const auto failed = binary.failure_by_device.find(device);
  if (failed != binary.failure_by_device.end()) {
    return {failed->second, nullptr};
  }
  hipModule_t handle = nullptr;
  const hipError_t error = load_module(runtime, device, binary.image, 0, "fat binary", &handle);
  if (error != hipSuccess) {
    binary.failure_by_device[device] = error;
    return {error, nullptr};
  }
  binary.module_by_device[device] = handle;
  Module& module = *runtime.modules.at(handle);
  set_managed_pointers(runtime, binary, module);
  return {hipSuccess, &module};
}

FatBinary* find_binary(Runtime& runtime, void** modules) {
  const auto found = runtime.fat_binaries->binaries.find(modules);
  return found == runtime.fat_binaries->binaries.end() ? nullptr : found->second.get();
}

template <class Map>
void erase_of_binary(Map& map, const FatBinary* binary) {
  for (auto entry = map.begin(); entry != map.end();) {
    entry = entry->second.binary == binary ? map.erase(entry) : std::next(entry);
  }
}

}  // namespace

FoundFunction find_registered_function(Runtime& runtime, const void* host_function, int device) {
  const auto found = runtime.fat_binaries->function_by_host_address.find(host_function);
  if (found == runtime.fat_binaries->function_by_host_address.end()) {
    return {hipErrorInvalidDeviceFunction, nullptr};
  }
  const LoadedBinary loaded = load_binary(runtime, *found->second.binary, device);
  if (loaded.error != hipSuccess) {
    return {loaded.error, nullptr};
  }
  Function* function = find_module_function(runtime, *loaded.module, found->second.name);
  return {function == nullptr ? hipErrorInvalidDeviceFunction : hipSuccess, function};
}

FoundVariable find_registered_variable(Runtime& runtime, const void* host_variable, int device) {
  const auto found = runtime.fat_binaries->variable_by_host_address.find(host_variable);
  if (found == runtime.fat_binaries->variable_by_host_address.end()) {
    return {hipErrorInvalidSymbol, nullptr, 0};
  }
  const RegisteredVariable& variable = found->second;
  if (variable.managed != nullptr) {
    return {hipSuccess, variable.managed, variable.size};
  }
  const LoadedBinary loaded = load_binary(runtime, *variable.binary, device);
  if (loaded.error != hipSuccess) {
    return {loaded.error, nullptr, 0};
  }
  const auto& symbols = loaded.module->code_object->symbols();
  const auto symbol = symbols.find(variable.name);
  if (symbol == symbols.end()) {
    return {hipErrorInvalidSymbol, nullptr, 0};
  }
  return {hipSuccess, reinterpret_cast<void*>(symbol->second.address), symbol->second.size};
}

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev;
using namespace ktrace::softdev::hip;

KTRACE_HIP_EXPORT void** __hipRegisterFatBinary(const void* wrapper) {
  Runtime& runtime = Runtime::get();
  const std::lock_guard<std::mutex> lock(runtime.mutex);
  auto binary = std::make_unique<FatBinary>();
  binary->image = wrapper;
  auto** handle = reinterpret_cast<void**>(binary.get());
  runtime.fat_binaries->binaries.emplace(handle, std::move(binary));
  return handle;
}

// Also runs at exit, after the program's own objects are gone: it frees, and waits for nothing.
KTRACE_HIP_EXPORT void __hipUnregisterFatBinary(void** modules) {
  Runtime& runtime = Runtime::get();
  const std::lock_guard<std::mutex> lock(runtime.mutex);
  FatBinary* binary = find_binary(runtime, modules);
  if (binary == nullptr) {
    return;
  }
  for (const auto& [device, module] : binary->module_by_device) {
    unload_module(runtime, module);
  }
  erase_of_binary(runtime.fat_binaries->function_by_host_address, binary);
  erase_of_binary(runtime.fat_binaries->variable_by_host_address, binary);
  runtime.fat_binaries->binaries.erase(modules);
}

// The first registration of a host function wins, as in HIP: several translation units may share one.
KTRACE_HIP_EXPORT void __hipRegisterFunction(void** modules, const void* host_function, char*,
                                             const char* name, unsigned, void*, void*, dim3*, dim3*, int*) {
  Runtime& runtime = Runtime::get();
  const std::lock_guard<std::mutex> lock(runtime.mutex);
  FatBinary* binary = find_binary(runtime, modules);
  if (binary != nullptr && name != nullptr) {
    runtime.fat_binaries->function_by_host_address.emplace(host_function, RegisteredFunction{binary, name});
  }
}

KTRACE_HIP_EXPORT void __hipRegisterVar(void** modules, void* variable, char*, char* device_name, int,
                                        size_t size, int, int) {
  Runtime& runtime = Runtime::get();
  const std::lock_guard<std::mutex> lock(runtime.mutex);
  FatBinary* binary = find_binary(runtime, modules);
  if (binary != nullptr && device_name != nullptr) {
    runtime.fat_binaries->variable_by_host_address.emplace(
        variable, RegisteredVariable{binary, device_name, size, nullptr});
  }
}

KTRACE_HIP_EXPORT void __hipRegisterManagedVar(void* modules, void** pointer, void* initial_value,
                                               const char* name, size_t size, unsigned) {
  Runtime& runtime = Runtime::get();
  const std::lock_guard<std::mutex> lock(runtime.mutex);
  FatBinary* binary = find_binary(runtime, static_cast<void**>(modules));
  void* memory = runtime.registry.allocate(size, MemoryKind::managed);
  if (binary == nullptr || name == nullptr || memory == nullptr) {
    return;
  }
  std::memcpy(memory, initial_value, size);
  *pointer = memory;
  runtime.fat_binaries->variable_by_host_address.emplace(pointer,
                                                         RegisteredVariable{binary, name, size, memory});
}

// Nothing can be done with these on a device without images; programs register them all the same.
KTRACE_HIP_EXPORT void __hipRegisterSurface(void**, void*, char*, char*, int, int) {}
KTRACE_HIP_EXPORT void __hipRegisterTexture(void**, void*, char*, char*, int, int, int) {}

KTRACE_HIP_EXPORT hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                                        hipStream_t stream) {
  ThreadState::get().call_configurations.push_back({grid, block, shared_bytes, stream, {}});
  return hipSuccess;
}

KTRACE_HIP_EXPORT hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes,
                                                       hipStream_t* stream) {
  auto& configurations = ThreadState::get().call_configurations;
  if (configurations.empty()) {
    return finish_call(hipErrorMissingConfiguration);
  }
  const auto top = configurations.back();
  configurations.pop_back();
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *stream = top.stream;
  return hipSuccess;
}
