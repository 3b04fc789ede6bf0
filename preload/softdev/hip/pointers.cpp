// What HIP tells about a pointer: attributes, address ranges, symbols.
#include <cstring>

#include "hip/call.hpp"
#include "hip/fat_binary.hpp"

namespace ktrace::softdev::hip {

namespace {

bool is_host_memory(MemoryKind kind) {
  return kind == MemoryKind::host_pinned || kind == MemoryKind::host_registered;
}

hipMemoryType type_of(MemoryKind kind) {
  if (kind == MemoryKind::managed) {
    return hipMemoryTypeManaged;
  }
  return is_host_memory(kind) ? hipMemoryTypeHost : hipMemoryTypeDevice;
}

template <class T>
hipError_t store(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
  return hipSuccess;
}

// What HIP stores for memory that it does not know, besides returning hipErrorInvalidValue.
hipError_t store_unknown(void* data, hipPointer_attribute attribute) {
  switch (attribute) {
    case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
    case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      store<void*>(data, nullptr);
      break;
    case HIP_POINTER_ATTRIBUTE_IS_MANAGED:
    case HIP_POINTER_ATTRIBUTE_MAPPED:
    case HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      store(data, false);
      break;
    case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      store(data, hipInvalidDeviceId);
      break;
    case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case HIP_POINTER_ATTRIBUTE_BUFFER_ID:
    case HIP_POINTER_ATTRIBUTE_RANGE_SIZE:
    case HIP_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      store(data, uint32_t{0});
      break;
    default:
      break;
  }
  return hipErrorInvalidValue;
}

hipError_t store_known(void* data, hipPointer_attribute attribute, hipDeviceptr_t pointer,
                       const Allocation& allocation, const MemoryNote& note) {
  switch (attribute) {
    case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return store(data, static_cast<uint32_t>(type_of(allocation.kind)));
    case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return store(data, pointer);
    case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
      if (is_host_memory(allocation.kind) || allocation.kind == MemoryKind::managed) {
        return store(data, pointer);
      }
      store<void*>(data, nullptr);
      return hipErrorInvalidValue;
    case HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return store(data, note.sync_memops);
    case HIP_POINTER_ATTRIBUTE_BUFFER_ID:
      return store(data, static_cast<uint32_t>(allocation.serial));
    case HIP_POINTER_ATTRIBUTE_IS_MANAGED:
      return store(data, allocation.kind == MemoryKind::managed);
    case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return store(data, allocation.device);
    case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return store(data, allocation.base);
    case HIP_POINTER_ATTRIBUTE_RANGE_SIZE:
      return store(data, static_cast<uint32_t>(allocation.size));
    case HIP_POINTER_ATTRIBUTE_MAPPED:
      return store(data, true);
    case HIP_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return store(data, note.flags);
    default:
      return attribute >= HIP_POINTER_ATTRIBUTE_CONTEXT && attribute <= 17 ? hipErrorNotSupported
                                                                           : hipErrorInvalidValue;
  }
}

MemoryNote note_of(const Runtime& runtime, const Allocation& allocation) {
  const auto found = runtime.note_by_base.find(allocation.base);
  return found == runtime.note_by_base.end() ? MemoryNote{} : found->second;
}

hipError_t read_attribute(const Runtime& runtime, void* data, hipPointer_attribute attribute,
                          hipDeviceptr_t pointer) {
  const auto allocation = runtime.registry.find(pointer);
  return allocation ? store_known(data, attribute, pointer, *allocation, note_of(runtime, *allocation))
                    : store_unknown(data, attribute);
}

}  // namespace

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev;
using namespace ktrace::softdev::hip;

// Succeeds for any pointer: what HIP does not know is "unregistered".
KTRACE_HIP_EXPORT hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    if (attributes == nullptr || pointer == nullptr) {
      return hipErrorInvalidValue;
    }
    *attributes = {};
    attributes->device = hipInvalidDeviceId;
    const auto allocation = runtime.registry.find(pointer);
    if (!allocation) {
      return hipSuccess;
    }
    attributes->type = type_of(allocation->kind);
    attributes->device = allocation->device;
    attributes->devicePointer = const_cast<void*>(pointer);
    attributes->hostPointer = attributes->type == hipMemoryTypeDevice ? nullptr : const_cast<void*>(pointer);
    attributes->isManaged = attributes->type == hipMemoryTypeManaged ? 1 : 0;
    attributes->allocationFlags = note_of(runtime, *allocation).flags;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipPointerGetAttribute(void* data, hipPointer_attribute attribute,
                                                    hipDeviceptr_t pointer) {
  return call(cost::query, [&](Runtime& runtime) {
    return data == nullptr ? hipErrorInvalidValue : read_attribute(runtime, data, attribute, pointer);
  });
}

// Each attribute that cannot be told is set to HIP's default; the call succeeds all the same.
KTRACE_HIP_EXPORT hipError_t hipDrvPointerGetAttributes(unsigned count, hipPointer_attribute* attributes,
                                                        void** data, hipDeviceptr_t pointer) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    if (count == 0 || attributes == nullptr || data == nullptr || pointer == nullptr) {
      return hipErrorInvalidValue;
    }
    for (unsigned index = 0; index < count; ++index) {
      if (data[index] == nullptr) {
        return hipErrorInvalidValue;
      }
      const hipError_t error = read_attribute(runtime, data[index], attributes[index], pointer);
      if (error != hipSuccess && error != hipErrorInvalidValue) {
        return error;
      }
    }
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipPointerSetAttribute(const void* value, hipPointer_attribute attribute,
                                                    hipDeviceptr_t pointer) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    unsigned wanted = 0;
    if (value == nullptr || attribute != HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS) {
      return hipErrorInvalidValue;
    }
    std::memcpy(&wanted, value, sizeof wanted);
    if (wanted > 1) {
      return hipErrorInvalidValue;
    }
    const auto allocation = runtime.registry.find(pointer);
    if (!allocation) {
      return hipErrorInvalidDevicePointer;
    }
    runtime.note_by_base[allocation->base].sync_memops = wanted != 0;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipHostGetDevicePointer(void** device_pointer, void* host_pointer,
                                                     unsigned flags) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    if (device_pointer == nullptr || flags != 0 || !runtime.registry.find(host_pointer)) {
      return hipErrorInvalidValue;
    }
    *device_pointer = host_pointer;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipHostGetFlags(unsigned* flags, void* host_pointer) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    const auto allocation = runtime.registry.find(host_pointer);
    if (flags == nullptr || !allocation || !is_host_memory(allocation->kind)) {
      return hipErrorInvalidValue;
    }
    *flags = note_of(runtime, *allocation).flags;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, size_t* size,
                                                   hipDeviceptr_t pointer) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    const auto allocation = runtime.registry.find(pointer);
    if (!allocation) {
      return hipErrorNotFound;
    }
    if (base != nullptr) {
      *base = reinterpret_cast<void*>(allocation->base);
    }
    if (size != nullptr) {
      *size = allocation->size;
    }
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipMemPtrGetInfo(void* pointer, size_t* size) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    const auto allocation = runtime.registry.find(pointer);
    if (size == nullptr || !allocation) {
      return hipErrorInvalidValue;
    }
    *size = allocation->size;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGetSymbolAddress(void** address, const void* symbol) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    if (address == nullptr) {
      return hipErrorInvalidValue;
    }
    const FoundVariable found = find_registered_variable(runtime, symbol, current_device());
    *address = found.address;
    return found.error;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGetSymbolSize(size_t* size, const void* symbol) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    if (size == nullptr) {
      return hipErrorInvalidValue;
    }
    const FoundVariable found = find_registered_variable(runtime, symbol, current_device());
    *size = found.size;
    return found.error;
  });
}
