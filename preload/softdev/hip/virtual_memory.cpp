// hipMemAddressReserve, hipMemCreate, hipMemMap ...: addresses and memory of the program's own choosing.
//
// A range that some device may write to is registered like memory of hipMalloc. One that may only be read is
// left to the page map, which says so in a fault, and one without access is no memory at all.
#include "hip/virtual_memory.hpp"

#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "hip/call.hpp"
#include "hip/capture.hpp"

namespace ktrace::softdev::hip {

namespace {

constexpr size_t granularity = 2u << 20;  // bytes: what ROCm recommends, and asks for
constexpr int pinned = 1;
constexpr int no_access = 0, read_only = 1, read_write = 3;

uint64_t address_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }
void* pointer_to(uint64_t address) { return reinterpret_cast<void*>(address); }

bool is_location(const Runtime& runtime, const hipMemLocation& location) {
  return location.type == location_is_device && runtime.is_device(location.id);
}

bool is_usable(const Runtime& runtime, const hipMemAllocationProp* properties) {
  return properties != nullptr && properties->type == pinned && is_location(runtime, properties->location);
}

// A range of addresses at which nothing may be touched.
void* reserve(size_t size, size_t alignment, void* wanted) {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  alignment = std::max(alignment, granularity);
  if (size > SIZE_MAX / 2 || alignment > SIZE_MAX / 2) {
    return nullptr;
  }
  void* const found = mmap(wanted, size + alignment, PROT_NONE, flags, -1, 0);
  if (found == MAP_FAILED) {
    return nullptr;
  }
  const uint64_t start = address_of(found);
  const uint64_t aligned = (start + alignment - 1) / alignment * alignment;
  if (aligned != start) {
    munmap(found, aligned - start);
  }
  if (start + alignment != aligned) {
    munmap(pointer_to(aligned + size), start + alignment - aligned);
  }
  return pointer_to(aligned);
}

// The entry that contains [address, address + size); `size_of` tells an entry's bytes.
template <class Map, class SizeOf>
auto containing(Map& map, uint64_t address, size_t size, SizeOf&& size_of) {
  auto entry = map.upper_bound(address);
  if (entry == map.begin()) {
    return map.end();
  }
  --entry;
  const size_t whole = size_of(entry->second), offset = address - entry->first;
  return offset < whole && size <= whole - offset ? entry : map.end();
}

auto mapping_at(VirtualMemory& state, const void* pointer) {
  return containing(state.mappings, address_of(pointer), 1, [](const Mapping& each) { return each.size; });
}

// The mappings that make up exactly [pointer, pointer + size), without a gap; none if there is one.
std::vector<uint64_t> mappings_of(const VirtualMemory& state, const void* pointer, size_t size) {
  std::vector<uint64_t> bases;
  const uint64_t end = address_of(pointer) + size;
  for (uint64_t at = address_of(pointer); at < end;) {
    const auto found = state.mappings.find(at);
    if (found == state.mappings.end() || found->second.size > end - at) {
      return {};
    }
    bases.push_back(at);
    at += found->second.size;
  }
  return bases;
}

bool overlaps_mapping(const VirtualMemory& state, uint64_t address, size_t size) {
  const auto next = state.mappings.lower_bound(address);
  if (next != state.mappings.end() && next->first - address < size) {
    return true;
  }
  return next != state.mappings.begin() && address - std::prev(next)->first < std::prev(next)->second.size;
}

int most_access(const Mapping& mapping) {
  int most = no_access;
  for (const auto& entry : mapping.access_by_device) {
    most |= entry.second;
  }
  return most;
}

// Lets the pages and the registry say what the devices may do.
bool apply_access(Runtime& runtime, uint64_t base, const Mapping& mapping) {
  const int access = most_access(mapping);
  const int protection = access == no_access   ? PROT_NONE
                         : access == read_only ? PROT_READ
                                               : PROT_READ | PROT_WRITE;
  if (mprotect(pointer_to(base), mapping.size, protection) != 0) {
    return false;
  }
  runtime.registry.abandon(pointer_to(base));
  return access != read_write || runtime.registry.adopt(pointer_to(base), mapping.size, MemoryKind::adopted,
                                                        mapping.memory->properties().location.id);
}

hipError_t create(Runtime& runtime, hipMemGenericAllocationHandle_t* handle, size_t size,
                  const hipMemAllocationProp& properties) {
  DeviceState& device = runtime.device(properties.location.id);
  const size_t total = device.machine.topology().memory_bytes;
  if (size > total || device.allocated > total - size) {
    return hipErrorOutOfMemory;
  }
  // glibc 2.17 has no memfd_create().
  const auto file = static_cast<int>(syscall(SYS_memfd_create, "ktrace softdev", MFD_CLOEXEC));
  if (file < 0) {
    return hipErrorOutOfMemory;
  }
  auto memory = std::make_shared<PhysicalMemory>(file, size, properties, device);
  if (ftruncate(file, static_cast<off_t>(size)) != 0) {
    return hipErrorOutOfMemory;
  }
  *handle = reinterpret_cast<hipMemGenericAllocationHandle_t>(memory.get());
  runtime.virtual_memory->handles[memory.get()] = {memory, 1};
  return hipSuccess;
}

MemoryHandle* find_handle(Runtime& runtime, hipMemGenericAllocationHandle_t handle) {
  const auto found = runtime.virtual_memory->handles.find(handle);
  return found == runtime.virtual_memory->handles.end() ? nullptr : &found->second;
}

void unmap(Runtime& runtime, uint64_t base) {
  VirtualMemory& state = *runtime.virtual_memory;
  const auto found = state.mappings.find(base);
  runtime.registry.abandon(pointer_to(base));
  // The addresses stay reserved.
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  mmap(pointer_to(base), found->second.size, PROT_NONE, flags, -1, 0);
  state.mappings.erase(found);
}

}  // namespace

PhysicalMemory::PhysicalMemory(int file, size_t size, const hipMemAllocationProp& properties,
                               DeviceState& device)
    : m_file(file), m_size(size), m_properties(properties), m_device(device) {
  m_device.allocated += size;
}

PhysicalMemory::~PhysicalMemory() {
  m_device.allocated -= m_size;
  close(m_file);
}

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev;
using namespace ktrace::softdev::hip;

KTRACE_HIP_EXPORT hipError_t hipMemGetAllocationGranularity(size_t* bytes, const hipMemAllocationProp* prop,
                                                            int option) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    if (bytes == nullptr || !is_usable(runtime, prop) || option < 0 || option > 1) {
      return hipErrorInvalidValue;
    }
    *bytes = granularity;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipMemAddressReserve(void** pointer, size_t size, size_t alignment, void* wanted,
                                                  unsigned long long flags) {
  return call(cost::allocation, [&](Runtime& runtime) -> hipError_t {
    if (pointer == nullptr || flags != 0) {
      return hipErrorInvalidValue;
    }
    *pointer = nullptr;
    if (size == 0 || size % granularity != 0 || (alignment & (alignment - 1)) != 0) {
      return hipErrorOutOfMemory;
    }
    *pointer = reserve(size, alignment, wanted);
    if (*pointer == nullptr) {
      return hipErrorOutOfMemory;
    }
    runtime.virtual_memory->reserved[address_of(*pointer)] = size;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipMemAddressFree(void* pointer, size_t size) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    VirtualMemory& state = *runtime.virtual_memory;
    const auto found = state.reserved.find(address_of(pointer));
    if (found == state.reserved.end() || found->second != size ||
        overlaps_mapping(state, found->first, size)) {
      return hipErrorInvalidValue;
    }
    munmap(pointer, size);
    state.reserved.erase(found);
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipMemCreate(hipMemGenericAllocationHandle_t* handle, size_t size,
                                          const hipMemAllocationProp* prop, unsigned long long flags) {
  return call(cost::allocation, [&](Runtime& runtime) -> hipError_t {
    if (handle == nullptr || size == 0 || size % granularity != 0 || flags != 0 ||
        !is_usable(runtime, prop)) {
      return hipErrorInvalidValue;
    }
    // Nothing can be shared with other processes: a program that wants that must not think it has it.
    return prop->requestedHandleType != 0 ? hipErrorNotSupported : create(runtime, handle, size, *prop);
  });
}

KTRACE_HIP_EXPORT hipError_t hipMemRelease(hipMemGenericAllocationHandle_t handle) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    MemoryHandle* const found = find_handle(runtime, handle);
    if (found == nullptr) {
      return hipErrorInvalidValue;
    }
    if (--found->references == 0) {
      runtime.virtual_memory->handles.erase(handle);  // what is mapped stays until it is unmapped
    }
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipMemRetainAllocationHandle(hipMemGenericAllocationHandle_t* handle,
                                                          void* pointer) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    VirtualMemory& state = *runtime.virtual_memory;
    const auto found = mapping_at(state, pointer);
    if (handle == nullptr || found == state.mappings.end()) {
      return hipErrorInvalidValue;
    }
    PhysicalMemory* const memory = found->second.memory.get();
    MemoryHandle& kept = state.handles[memory];
    kept.memory = found->second.memory;
    ++kept.references;
    *handle = reinterpret_cast<hipMemGenericAllocationHandle_t>(memory);
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipMemGetAllocationPropertiesFromHandle(hipMemAllocationProp* prop,
                                                                     hipMemGenericAllocationHandle_t handle) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    const MemoryHandle* const found = find_handle(runtime, handle);
    if (prop == nullptr || found == nullptr) {
      return hipErrorInvalidValue;
    }
    *prop = found->memory->properties();
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipMemMap(void* pointer, size_t size, size_t offset,
                                       hipMemGenericAllocationHandle_t handle, unsigned long long flags) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    VirtualMemory& state = *runtime.virtual_memory;
    const MemoryHandle* const found = find_handle(runtime, handle);
    const uint64_t base = address_of(pointer);
    if (found == nullptr || size == 0 || size % granularity != 0 || base % granularity != 0 || offset != 0 ||
        flags != 0 || size > found->memory->size()) {
      return hipErrorInvalidValue;
    }
    const auto place = containing(state.reserved, base, size, [](size_t bytes) { return bytes; });
    if (place == state.reserved.end() || overlaps_mapping(state, base, size) ||
        mmap(pointer, size, PROT_NONE, MAP_SHARED | MAP_FIXED, found->memory->file(), 0) == MAP_FAILED) {
      return hipErrorInvalidValue;
    }
    state.mappings[base] = {size, found->memory, {}};
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipMemUnmap(void* pointer, size_t size) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    const std::vector<uint64_t> bases = mappings_of(*runtime.virtual_memory, pointer, size);
    if (bases.empty()) {
      return hipErrorInvalidValue;
    }
    for (const auto& device : runtime.devices) {
      runtime.clock.advance_to(runtime.idle_time(*device));  // work that uses it may be under way
    }
    for (const uint64_t base : bases) {
      unmap(runtime, base);
    }
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipMemSetAccess(void* pointer, size_t size, const hipMemAccessDesc* wanted,
                                             size_t count) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    const std::vector<uint64_t> bases = mappings_of(*runtime.virtual_memory, pointer, size);
    if (bases.empty() || wanted == nullptr || count == 0) {
      return hipErrorInvalidValue;
    }
    for (size_t k = 0; k < count; ++k) {
      const int flags = wanted[k].flags;
      if (!is_location(runtime, wanted[k].location) ||
          (flags != no_access && flags != read_only && flags != read_write)) {
        return hipErrorInvalidValue;
      }
    }
    for (const uint64_t base : bases) {
      Mapping& mapping = runtime.virtual_memory->mappings[base];
      for (size_t k = 0; k < count; ++k) {
        mapping.access_by_device[wanted[k].location.id] = wanted[k].flags;
      }
      if (!apply_access(runtime, base, mapping)) {
        return hipErrorOutOfMemory;
      }
    }
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipMemGetAccess(unsigned long long* flags, const hipMemLocation* location,
                                             void* pointer) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    VirtualMemory& state = *runtime.virtual_memory;
    const auto found = mapping_at(state, pointer);
    if (flags == nullptr || location == nullptr || !is_location(runtime, *location) ||
        found == state.mappings.end()) {
      return hipErrorInvalidValue;
    }
    const auto& access = found->second.access_by_device;
    const auto entry = access.find(location->id);
    *flags = static_cast<unsigned long long>(entry == access.end() ? no_access : entry->second);
    return hipSuccess;
  });
}
