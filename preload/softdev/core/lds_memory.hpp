// The bytes of an LDS address, checked.
#pragma once

#include <cstdint>

#include "core/wave.hpp"

namespace ktrace::softdev {

inline uint8_t* lds_memory(Wave& wave, const Inst& inst, uint64_t address, unsigned size, unsigned lane) {
  std::vector<uint8_t>& lds = wave.workgroup->lds;
  if (__builtin_expect(address + size > lds.size(), 0)) {
    fault(wave, inst, "LDS access out of range: %u bytes at 0x%llx of %zu allocated, lane %u", size,
          static_cast<unsigned long long>(address), lds.size(), lane);
  }
  return lds.data() + address;
}

}  // namespace ktrace::softdev
