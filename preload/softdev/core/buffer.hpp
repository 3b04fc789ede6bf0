// Buffer descriptors: addresses, swizzling and the range check, for MUBUF and MTBUF.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/buffer_format.hpp"
#include "core/wave.hpp"

namespace ktrace::softdev {

// Four SGPRs.
struct Buffer {
  Buffer(const Wave& wave, const Inst& inst);
  uint64_t base;
  uint32_t stride;
  uint32_t records;
  bool is_swizzled;
  bool adds_lane;
  bool is_scratch;  // gfx90a reaches scratch through the descriptor that the dispatch hands to the kernel
  uint32_t scalar_offset;
  // Swizzled buffers keep element_size bytes of index_stride records together.
  uint32_t index_stride;
  uint32_t element_size;
  BufferFormat format;
  uint32_t selectors;  // 3 bits for each component of a formatted load
};

struct Place {
  uint64_t address;
  unsigned bytes_inside;  // of the access, in whole dwords unless it is smaller than one
};

// Copies of the address registers: a load may overwrite them.
struct AddressRegisters {
  AddressRegisters(Wave& wave, const Inst& inst);
  uint32_t index[lanes];
  uint32_t offset[lanes];
};

Place buffer_place(const Inst& inst, const Buffer& buffer, const AddressRegisters& registers, unsigned lane,
                   unsigned size);

// The memory of a place with bytes inside; null for one without.
uint8_t* buffer_memory(Wave& wave, const Inst& inst, const Place& place, bool write, unsigned lane);

}  // namespace ktrace::softdev
