#include "core/buffer.hpp"

#include "core/dispatch.hpp"

namespace ktrace::softdev {

namespace {

constexpr uint32_t field(uint32_t word, unsigned low, unsigned width) {
  return word >> low & ((1u << width) - 1u);
}

uint64_t swizzled(const Buffer& buffer, uint64_t index, uint64_t offset) {
  const uint64_t index_high = index / buffer.index_stride, index_low = index % buffer.index_stride;
  const uint64_t offset_high = offset / buffer.element_size, offset_low = offset % buffer.element_size;
  return (index_high * buffer.stride + offset_high * buffer.element_size) * buffer.index_stride +
         index_low * buffer.element_size + offset_low;
}

}  // namespace

Buffer::Buffer(const Wave& wave, const Inst& inst)
    : base(wave.sgpr64(inst.saddr) & 0xffffffffffffu),
      stride(field(wave.sgpr[inst.saddr + 1u], 16, 14)),
      records(wave.sgpr[inst.saddr + 2u]),
      is_swizzled(wave.sgpr[inst.saddr + 1u] >> 31 != 0),
      scalar_offset(read_scalar(wave, inst, inst.soffset)) {
  const uint32_t last = wave.sgpr[inst.saddr + 3u];
  adds_lane = field(last, 23, 1) != 0;
  is_scratch = is_swizzled && adds_lane && wave.arch == Arch::gfx90a;
  index_stride = 8u << field(last, 21, 2);
  element_size = 2u << field(last, 19, 2);
  selectors = field(last, 0, 12);
  format = {static_cast<uint8_t>(field(last, 15, 4)), static_cast<uint8_t>(field(last, 12, 3))};
  if (adds_lane) {
    stride |= field(last, 15, 4) << 14;  // instead of a format
  }
}

AddressRegisters::AddressRegisters(Wave& wave, const Inst& inst) {
  unsigned reg = inst.vaddr;
  if (inst.idxen) {
    std::memcpy(index, wave.vgpr(reg++), sizeof index);
  } else {
    std::memset(index, 0, sizeof index);
  }
  if (inst.offen) {
    std::memcpy(offset, wave.vgpr(reg), sizeof offset);
  } else {
    std::memset(offset, 0, sizeof offset);
  }
}

// Structured buffers (a stride and an index) check the index, raw ones each dword's offset.
Place buffer_place(const Inst& inst, const Buffer& buffer, const AddressRegisters& registers, unsigned lane,
                   unsigned size) {
  const uint64_t record = uint64_t{registers.index[lane]} + (buffer.adds_lane ? lane : 0);
  const uint64_t inside_record = registers.offset[lane] + static_cast<uint64_t>(inst.imm);
  const uint64_t within =
      buffer.is_swizzled ? swizzled(buffer, record, inside_record) : record * buffer.stride + inside_record;
  const uint64_t start = within + buffer.scalar_offset;
  const uint64_t address = buffer.base + start;
  if (buffer.stride && inst.idxen) {
    return {address, record < buffer.records ? size : 0};
  }
  if (start >= buffer.records) {
    return {address, 0};
  }
  const uint64_t left = buffer.records - start;
  return {address, left >= size ? size : size < 4 ? 0 : static_cast<unsigned>(left / 4 * 4)};
}

uint8_t* buffer_memory(Wave& wave, const Inst& inst, const Place& place, bool write, unsigned lane) {
  return place.bytes_inside
             ? host_address(wave, inst, place.address, place.bytes_inside, write, static_cast<int>(lane))
             : nullptr;
}

}  // namespace ktrace::softdev
