// hipMemPool*: every device has a default pool, programs can make more; memory comes from the device either
// way.
#include <cstring>

#include "hip/call.hpp"
#include "hip/memory.hpp"
#include "hip/memory_abi.hpp"

extern "C" {

typedef struct hipMemPoolProps {
  int allocType;
  int handleTypes;
  hipMemLocation location;
  void* win32SecurityAttributes;
  size_t maxSize;
  unsigned char reserved[56];
} hipMemPoolProps;
}

static_assert(sizeof(hipMemPoolProps) == 88);

namespace ktrace::softdev::hip {

namespace {

enum PoolAttribute : int {
  reuse_follow_event_dependencies = 1,
  reuse_allow_opportunistic = 2,
  reuse_allow_internal_dependencies = 3,
  release_threshold = 4,
  reserved_memory_current = 5,
  reserved_memory_high = 6,
  used_memory_current = 7,
  used_memory_high = 8,
};

MemoryPool* find_pool(Runtime& runtime, hipMemPool_t handle) {
  const auto found = runtime.pools.find(handle);
  return found == runtime.pools.end() ? nullptr : found->second.get();
}

hipMemPool_t add_pool(Runtime& runtime, int device) {
  auto pool = std::make_unique<MemoryPool>();
  pool->device = device;
  const auto handle = reinterpret_cast<hipMemPool_t>(pool.get());
  runtime.pools.emplace(handle, std::move(pool));
  return handle;
}

hipMemPool_t default_pool(Runtime& runtime, int device) {
  DeviceState& state = runtime.device(device);
  if (state.default_pool == nullptr) {
    state.default_pool = add_pool(runtime, device);
  }
  return state.default_pool;
}

hipError_t store_pool(hipMemPool_t* pool, int device, bool is_default) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    if (pool == nullptr) {
      return hipErrorInvalidValue;
    }
    if (!runtime.is_device(device)) {
      return hipErrorInvalidDevice;
    }
    const DeviceState& state = runtime.device(device);
    *pool = is_default || state.current_pool == nullptr ? default_pool(runtime, device) : state.current_pool;
    return hipSuccess;
  });
}

template <class Body>
hipError_t with_pool(hipMemPool_t handle, Body&& body) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    MemoryPool* pool = find_pool(runtime, handle);
    return pool == nullptr ? hipErrorInvalidValue : body(runtime, *pool);
  });
}

// The first three attributes are ints, the others 64-bit.
bool is_flag(int attribute) { return attribute <= reuse_allow_internal_dependencies; }

}  // namespace

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev;
using namespace ktrace::softdev::hip;

KTRACE_HIP_EXPORT hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t* pool, int device) {
  return store_pool(pool, device, true);
}

KTRACE_HIP_EXPORT hipError_t hipDeviceGetMemPool(hipMemPool_t* pool, int device) {
  return store_pool(pool, device, false);
}

KTRACE_HIP_EXPORT hipError_t hipDeviceSetMemPool(int device, hipMemPool_t pool) {
  return with_pool(pool, [&](Runtime& runtime, MemoryPool& found) -> hipError_t {
    if (!runtime.is_device(device) || found.device != device) {
      return hipErrorInvalidDevice;
    }
    runtime.device(device).current_pool = pool;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipMemPoolCreate(hipMemPool_t* pool, const hipMemPoolProps* properties) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    constexpr int on_device = 1;
    if (pool == nullptr || properties == nullptr || properties->location.type != on_device ||
        !runtime.is_device(properties->location.id)) {
      return hipErrorInvalidValue;
    }
    if (properties->handleTypes != 0) {
      return hipErrorNotSupported;  // pools that other processes can open
    }
    *pool = add_pool(runtime, properties->location.id);
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipMemPoolDestroy(hipMemPool_t handle) {
  return with_pool(handle, [&](Runtime& runtime, MemoryPool& pool) -> hipError_t {
    DeviceState& state = runtime.device(pool.device);
    if (state.default_pool == handle) {
      return hipErrorInvalidValue;
    }
    if (state.current_pool == handle) {
      state.current_pool = nullptr;
    }
    runtime.pools.erase(handle);
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipMemPoolSetAttribute(hipMemPool_t handle, int attribute, void* value) {
  return with_pool(handle, [&](Runtime&, MemoryPool& pool) -> hipError_t {
    if (value == nullptr || attribute < reuse_follow_event_dependencies || attribute > used_memory_high) {
      return hipErrorInvalidValue;
    }
    if (is_flag(attribute)) {
      int flag = 0;
      std::memcpy(&flag, value, sizeof flag);
      pool.attributes[attribute] = static_cast<uint64_t>(flag != 0);
      return hipSuccess;
    }
    uint64_t number = 0;
    std::memcpy(&number, value, sizeof number);
    // The watermarks can only be reset.
    const bool is_watermark = attribute == reserved_memory_high || attribute == used_memory_high;
    if (attribute != release_threshold && (!is_watermark || number != 0)) {
      return hipErrorInvalidValue;
    }
    pool.attributes[attribute] = number;
    return hipSuccess;
  });
}

// The amounts are the device's: pools of one device are not told apart.
KTRACE_HIP_EXPORT hipError_t hipMemPoolGetAttribute(hipMemPool_t handle, int attribute, void* value) {
  return with_pool(handle, [&](Runtime& runtime, MemoryPool& pool) -> hipError_t {
    if (value == nullptr || attribute < reuse_follow_event_dependencies || attribute > used_memory_high) {
      return hipErrorInvalidValue;
    }
    if (is_flag(attribute)) {
      const auto set = pool.attributes.find(attribute);
      const int flag = set == pool.attributes.end() ? 1 : static_cast<int>(set->second);
      std::memcpy(value, &flag, sizeof flag);
      return hipSuccess;
    }
    const uint64_t number =
        attribute == release_threshold ? pool.attributes[attribute] : runtime.device(pool.device).allocated;
    std::memcpy(value, &number, sizeof number);
    return hipSuccess;
  });
}

// Freed memory is given back at once: there is never anything to trim.
KTRACE_HIP_EXPORT hipError_t hipMemPoolTrimTo(hipMemPool_t handle, size_t) {
  return with_pool(handle, [](Runtime&, MemoryPool&) { return hipSuccess; });
}

KTRACE_HIP_EXPORT hipError_t hipMallocFromPoolAsync(void** pointer, size_t size, hipMemPool_t pool,
                                                    hipStream_t stream) {
  return stream_call(cost::enqueue, stream, hipErrorInvalidHandle,
                     [&](Runtime& runtime, DeviceState& state, Stream&, DeviceWork&) -> hipError_t {
                       const MemoryPool* found = find_pool(runtime, pool);
                       if (found == nullptr || found->device != state.machine.index()) {
                         return hipErrorInvalidValue;
                       }
                       return allocate_device_memory(runtime, pointer, size, found->device);
                     });
}
