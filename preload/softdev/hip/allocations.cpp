// Allocating, freeing and registering memory. Device pointers are host pointers.
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "core/mapped.hpp"
#include "hip/call.hpp"
#include "hip/capture.hpp"
#include "hip/memory.hpp"

namespace ktrace::softdev::hip {

namespace {

constexpr size_t pitch_alignment = 256;  // bytes

bool counts_as_device_memory(MemoryKind kind) {
  return kind == MemoryKind::device || kind == MemoryKind::managed;
}

size_t machine_bytes() {
  static const size_t bytes =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// A device's memory is only promised; pinned memory is the machine's own.
bool has_room(const Runtime& runtime, const DeviceState& state, MemoryKind kind, size_t size) {
  const bool is_device_memory = counts_as_device_memory(kind);
  const size_t total = is_device_memory ? state.machine.topology().memory_bytes : machine_bytes();
  const size_t used = is_device_memory ? state.allocated : runtime.pinned;
  return size <= total && used <= total - size;
}

size_t& count_of(Runtime& runtime, MemoryKind kind, int device) {
  return counts_as_device_memory(kind) ? runtime.device(device).allocated : runtime.pinned;
}

hipError_t allocate_on(Runtime& runtime, int device, void** pointer, size_t size, MemoryKind kind,
                       unsigned flags) {
  if (pointer == nullptr) {
    return hipErrorInvalidValue;
  }
  *pointer = nullptr;
  if (size == 0) {
    return hipSuccess;
  }
  DeviceState& state = runtime.device(device);
  void* memory =
      has_room(runtime, state, kind, size) ? runtime.registry.allocate(size, kind, device) : nullptr;
  if (memory == nullptr) {
    return hipErrorOutOfMemory;
  }
  state.is_active = true;
  count_of(runtime, kind, device) += size;
  runtime.note_by_base[reinterpret_cast<uintptr_t>(memory)].flags = flags;
  *pointer = memory;
  return hipSuccess;
}

hipError_t allocate(void** pointer, size_t size, MemoryKind kind, unsigned flags = 0) {
  return call(cost::allocation, [&](Runtime& runtime) {
    const hipError_t error = refuse_during_any_capture(runtime);
    return error != hipSuccess ? error : allocate_on(runtime, current_device(), pointer, size, kind, flags);
  });
}

// Coherent and non-coherent at once is a contradiction.
hipError_t allocate_host(void** pointer, size_t size, unsigned flags) {
  constexpr unsigned coherent = 0x40000000;
  constexpr unsigned non_coherent = 0x80000000;
  if ((flags & coherent) != 0 && (flags & non_coherent) != 0) {
    return finish_call(hipErrorInvalidValue);
  }
  return allocate(pointer, size, MemoryKind::host_pinned, flags);
}

void forget(Runtime& runtime, const Allocation& allocation) {
  runtime.registry.release(reinterpret_cast<void*>(allocation.base));
  const bool is_counted = runtime.note_by_base.erase(allocation.base) != 0;  // managed variables are not
  if (is_counted) {
    count_of(runtime, allocation.kind, allocation.device) -= allocation.size;
  }
}

bool is_from_hip_malloc(MemoryKind kind) {
  return counts_as_device_memory(kind) || kind == MemoryKind::host_pinned;
}

// Waits for the device, as HIP does: work that uses the memory may be under way. A faulted device's memory is
// freed, too.
hipError_t free_memory(void* pointer, bool (*is_wanted)(MemoryKind)) {
  if (pointer == nullptr) {
    return hipSuccess;
  }
  Runtime& runtime = Runtime::get();
  std::optional<Allocation> allocation;
  {
    const std::lock_guard<std::mutex> lock(runtime.mutex);
    allocation = runtime.registry.find(pointer);
  }
  if (!allocation || allocation->base != reinterpret_cast<uintptr_t>(pointer) ||
      !is_wanted(allocation->kind)) {
    return call(cost::call, [](Runtime&) { return hipErrorInvalidValue; });
  }
  bool is_freed = false;
  const hipError_t error =
      device_call(cost::call, allocation->device, [&](Runtime&, DeviceState& state, DeviceWork&) {
        const hipError_t refused = refuse_during_any_capture(runtime);
        if (refused != hipSuccess) {
          return refused;
        }
        runtime.clock.advance_to(runtime.idle_time(state));
        // Somebody else may have freed it since the look-up.
        const auto still = runtime.registry.find(pointer);
        if (!still || still->serial != allocation->serial) {
          return hipErrorInvalidValue;
        }
        forget(runtime, *allocation);
        is_freed = true;
        return hipSuccess;
      });
  if (!is_freed && runtime.is_device(allocation->device)) {
    const std::lock_guard<std::mutex> lock(runtime.mutex);
    if (runtime.device(allocation->device).fault) {
      forget(runtime, *allocation);
    }
  }
  return error;
}

hipError_t allocate_pitched(void** pointer, size_t* pitch, size_t width, size_t height, size_t depth) {
  if (pointer == nullptr || pitch == nullptr ||
      width > std::numeric_limits<size_t>::max() - pitch_alignment) {
    return finish_call(hipErrorInvalidValue);
  }
  const size_t row = (width + pitch_alignment - 1) / pitch_alignment * pitch_alignment;
  if (row != 0 && height != 0 && depth > std::numeric_limits<size_t>::max() / row / height) {
    return finish_call(hipErrorOutOfMemory);
  }
  const hipError_t error = allocate(pointer, row * height * depth, MemoryKind::device);
  if (error == hipSuccess) {
    *pitch = row;
  }
  return error;
}

}  // namespace

hipError_t allocate_device_memory(Runtime& runtime, void** pointer, size_t size, int device) {
  return allocate_on(runtime, device, pointer, size, MemoryKind::device, 0);
}

// Everything that belongs to a device goes with hipDeviceReset; pinned host memory stays.
void release_device_memory(Runtime& runtime, int device) {
  for (const Allocation& allocation : runtime.registry.allocations()) {
    if (allocation.device == device && counts_as_device_memory(allocation.kind) &&
        runtime.note_by_base.count(allocation.base) != 0) {
      forget(runtime, allocation);
    }
  }
}

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev;
using namespace ktrace::softdev::hip;

KTRACE_HIP_EXPORT hipError_t hipMalloc(void** pointer, size_t size) {
  return allocate(pointer, size, MemoryKind::device);
}

KTRACE_HIP_EXPORT hipError_t hipExtMallocWithFlags(void** pointer, size_t size, unsigned flags) {
  constexpr unsigned signal_memory = 2;
  if (flags > 4 || (flags == signal_memory && size != 8)) {
    return finish_call(hipErrorInvalidValue);
  }
  return allocate(pointer, size, MemoryKind::device, flags);
}

KTRACE_HIP_EXPORT hipError_t hipMallocManaged(void** pointer, size_t size, unsigned flags) {
  constexpr unsigned attach_global = 1;
  constexpr unsigned attach_host = 2;
  if (flags != attach_global && flags != attach_host) {
    return finish_call(hipErrorInvalidValue);
  }
  return allocate(pointer, size, MemoryKind::managed, flags);
}

KTRACE_HIP_EXPORT hipError_t hipHostMalloc(void** pointer, size_t size, unsigned flags) {
  return allocate_host(pointer, size, flags);
}
KTRACE_HIP_EXPORT hipError_t hipHostAlloc(void** pointer, size_t size, unsigned flags) {
  return allocate_host(pointer, size, flags);
}
KTRACE_HIP_EXPORT hipError_t hipExtHostAlloc(void** pointer, size_t size, unsigned flags) {
  return allocate_host(pointer, size, flags);
}
KTRACE_HIP_EXPORT hipError_t hipMallocHost(void** pointer, size_t size) {
  return allocate_host(pointer, size, 0);
}
KTRACE_HIP_EXPORT hipError_t hipMemAllocHost(void** pointer, size_t size) {
  return allocate_host(pointer, size, 0);
}

KTRACE_HIP_EXPORT hipError_t hipMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return allocate_pitched(pointer, pitch, width, height, 1);
}

KTRACE_HIP_EXPORT hipError_t hipMemAllocPitch(hipDeviceptr_t* pointer, size_t* pitch, size_t width,
                                              size_t height, unsigned element_size) {
  if (element_size != 4 && element_size != 8 && element_size != 16) {
    return finish_call(hipErrorInvalidValue);
  }
  return allocate_pitched(pointer, pitch, width, height, 1);
}

KTRACE_HIP_EXPORT hipError_t hipMalloc3D(hipPitchedPtr* pitched, hipExtent extent) {
  if (pitched == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  const hipError_t error =
      allocate_pitched(&pitched->ptr, &pitched->pitch, extent.width, extent.height, extent.depth);
  if (error == hipSuccess) {
    pitched->xsize = extent.width;
    pitched->ysize = extent.height;
  }
  return error;
}

KTRACE_HIP_EXPORT hipError_t hipFree(void* pointer) { return free_memory(pointer, is_from_hip_malloc); }

KTRACE_HIP_EXPORT hipError_t hipHostFree(void* pointer) {
  return free_memory(pointer, [](MemoryKind kind) { return kind == MemoryKind::host_pinned; });
}
KTRACE_HIP_EXPORT hipError_t hipFreeHost(void* pointer) {
  return free_memory(pointer, [](MemoryKind kind) { return kind == MemoryKind::host_pinned; });
}

KTRACE_HIP_EXPORT hipError_t hipHostRegister(void* pointer, size_t size, unsigned flags) {
  return call(cost::allocation, [&](Runtime& runtime) -> hipError_t {
    if (pointer == nullptr || size == 0 || flags > 15 || !is_mapped(pointer, size)) {
      return hipErrorInvalidValue;
    }
    if (!runtime.registry.adopt(pointer, size, MemoryKind::host_registered, current_device())) {
      return hipErrorHostMemoryAlreadyRegistered;
    }
    runtime.note_by_base[reinterpret_cast<uintptr_t>(pointer)].flags = flags;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipHostUnregister(void* pointer) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    if (pointer == nullptr) {
      return hipErrorInvalidValue;
    }
    const auto allocation = runtime.registry.find(pointer);
    if (!allocation || allocation->kind != MemoryKind::host_registered ||
        !runtime.registry.abandon(pointer)) {
      return hipErrorHostMemoryNotRegistered;
    }
    runtime.note_by_base.erase(reinterpret_cast<uintptr_t>(pointer));
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipMemGetInfo(size_t* free, size_t* total) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    if (free == nullptr || total == nullptr) {
      return hipErrorInvalidValue;
    }
    const DeviceState& state = runtime.device(current_device());
    *total = state.machine.topology().memory_bytes;
    *free = *total - state.allocated;
    return hipSuccess;
  });
}
