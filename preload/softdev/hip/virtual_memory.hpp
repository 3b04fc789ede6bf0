// What virtual memory management keeps: reserved addresses, memory, and which lies where.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "hip/memory_abi.hpp"

namespace ktrace::softdev::hip {

struct DeviceState;

// Memory without an address. It is an anonymous file: it can lie at several addresses at once.
class PhysicalMemory {
 public:
  PhysicalMemory(int file, size_t size, const hipMemAllocationProp& properties, DeviceState& device);
  ~PhysicalMemory();
  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;

  int file() const { return m_file; }
  size_t size() const { return m_size; }
  const hipMemAllocationProp& properties() const { return m_properties; }

 private:
  const int m_file;
  const size_t m_size;
  const hipMemAllocationProp m_properties;
  DeviceState& m_device;  // whose memory it takes up
};

struct MemoryHandle {
  std::shared_ptr<PhysicalMemory> memory;
  unsigned references = 0;  // of the program
};

struct Mapping {
  size_t size = 0;
  std::shared_ptr<PhysicalMemory> memory;
  std::map<int, int> access_by_device;  // hipMemAccessFlags
};

struct VirtualMemory {
  std::map<uint64_t, size_t> reserved;    // by address: bytes
  std::map<uint64_t, Mapping> mappings;   // by address
  std::map<void*, MemoryHandle> handles;  // by handle
};

}  // namespace ktrace::softdev::hip
