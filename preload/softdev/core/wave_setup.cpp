// The initial register state that a kernel descriptor asks for (code object versions 4 to 6).
#include "core/wave_setup.hpp"

#include <algorithm>
#include <cstring>

#include "core/text.hpp"

namespace ktrace::softdev {

namespace {

// Bits of the descriptor's kernel code properties, in the order in which their registers are handed out.
constexpr uint16_t enable_private_segment_buffer = 1u << 0;
constexpr uint16_t enable_dispatch_ptr = 1u << 1;
constexpr uint16_t enable_queue_ptr = 1u << 2;
constexpr uint16_t enable_kernarg_segment_ptr = 1u << 3;
constexpr uint16_t enable_dispatch_id = 1u << 4;
constexpr uint16_t enable_flat_scratch_init = 1u << 5;
constexpr uint16_t enable_private_segment_size = 1u << 6;
constexpr uint16_t uses_dynamic_stack = 1u << 11;

constexpr uint32_t rsrc2_private_segment = 1u << 0;
constexpr uint32_t dynamic_stack_size = 8192;  // bytes per lane, for recursion and indirect calls
constexpr unsigned user_sgprs_max = 16;
// A kernel with preloaded arguments begins with code for firmware that cannot preload; the real start is
// behind it.
constexpr uint64_t preload_prologue = 256;

uint32_t scratch_size_of(const Kernel& kernel) {
  const bool wanted = kernel.private_bytes || (kernel.rsrc2 & rsrc2_private_segment);
  if (!wanted) {
    return 0;
  }
  const bool dynamic = kernel.uses_dynamic_stack || (kernel.properties & uses_dynamic_stack);
  return (std::max(kernel.private_bytes, 16u) + (dynamic ? dynamic_stack_size : 0) + 15) & ~15u;
}

class UserRegisters {
 public:
  explicit UserRegisters(Wave& wave) : m_wave(wave) {}
  void put(uint32_t value) {
    if (m_next < user_sgprs_max) {
      m_wave.sgpr[m_next++] = value;
    }
  }
  void put64(uint64_t value) {
    put(static_cast<uint32_t>(value));
    put(static_cast<uint32_t>(value >> 32));
  }

 private:
  Wave& m_wave;
  unsigned m_next = 0;
};

void put_scratch_descriptor(UserRegisters& registers) {
  // Only recognised, never used as an address: swizzle enable in the second word, add-lane in the fourth.
  registers.put(0);
  registers.put(0x80000000u);
  registers.put(~0u);
  registers.put(1u << 23);
}

void preload_arguments(UserRegisters& registers, const LaunchState& launch) {
  const unsigned count = launch.kernel.kernarg_preload & 0x7f;
  const unsigned offset = launch.kernel.kernarg_preload >> 7;
  for (unsigned k = 0; k < count; ++k) {
    uint32_t value = 0;
    const size_t at = size_t{offset + k} * 4;
    if (at + sizeof value <= launch.dispatch.kernarg_size) {
      std::memcpy(&value, static_cast<const uint8_t*>(launch.dispatch.kernarg) + at, sizeof value);
    }
    registers.put(value);
  }
}

void set_user_registers(Wave& wave, const LaunchState& launch) {
  const uint16_t properties = launch.kernel.properties;
  UserRegisters registers(wave);
  if (properties & enable_private_segment_buffer) {
    put_scratch_descriptor(registers);
  }
  if (properties & enable_dispatch_ptr) {
    registers.put64(reinterpret_cast<uint64_t>(&launch.packet));
  }
  if (properties & enable_queue_ptr) {
    registers.put64(launch.queue);
  }
  if (properties & enable_kernarg_segment_ptr) {
    registers.put64(reinterpret_cast<uint64_t>(launch.dispatch.kernarg));
  }
  if (properties & enable_dispatch_id) {
    registers.put64(launch.dispatch_id);
  }
  if (properties & enable_flat_scratch_init) {
    registers.put64(0);
  }
  if (properties & enable_private_segment_size) {
    registers.put(launch.scratch_size);
  }
  preload_arguments(registers, launch);
}

void set_workgroup_registers(Wave& wave, const LaunchState& launch) {
  const uint32_t rsrc2 = launch.kernel.rsrc2;
  unsigned next = rsrc2 >> 1 & 31;  // the user registers come first, whether they were all set or not
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (rsrc2 >> (7 + axis) & 1) {
      wave.sgpr[next++] = wave.workgroup->id[axis];
    }
  }
  if (rsrc2 >> 10 & 1) {
    wave.sgpr[next++] = 0;  // workgroup info
  }
  if (wave.arch == Arch::gfx90a && (rsrc2 & rsrc2_private_segment)) {
    wave.sgpr[next] = 0;  // this wave's offset into scratch: every wave has its own
  }
}

// All three ids of each work-item in one word, ten bits each; whole waves.
std::vector<uint32_t> packed_ids(const GroupShape& shape) {
  std::vector<uint32_t> ids(size_t{shape.waves()} * lanes);
  uint32_t x = 0, y = 0, z = 0;
  for (uint32_t& id : ids) {
    id = x | y << 10 | z << 20;
    if (++x == shape.size[0]) {
      x = 0;
      if (++y == shape.size[1]) {
        y = 0;
        ++z;
      }
    }
  }
  return ids;
}

void set_work_item_ids(Wave& wave, const LaunchState& launch, const GroupShape& shape) {
  const size_t first = size_t{wave.wave_in_group} * lanes;
  if (shape == launch.whole_group) {
    std::memcpy(wave.vgpr(0), launch.ids.data() + first, lanes * sizeof(uint32_t));
  } else {
    const std::vector<uint32_t> ids = packed_ids(shape);
    std::memcpy(wave.vgpr(0), ids.data() + first, lanes * sizeof(uint32_t));
  }
}

}  // namespace

LaunchState::LaunchState(const Dispatch& wanted, uint64_t id, uint32_t lds)
    : kernel(*wanted.kernel),
      dispatch(wanted),
      dispatch_id(id),
      lds_size(lds),
      vgprs(((kernel.rsrc3 & 63) + 1) * 4),
      agprs(0),
      scratch_size(scratch_size_of(kernel)),
      queue(reinterpret_cast<uint64_t>(wanted.queue ? wanted.queue : &own_queue)) {
  const uint32_t allocated = ((kernel.rsrc1 & 63) + 1) * 8;
  // The accumulation registers follow the architectural ones.
  agprs = allocated > vgprs ? std::min(allocated - vgprs, 256u) : 0;
  vgprs = std::min(vgprs, 256u);
  constexpr uint16_t dispatch_packet_header = 0x1502;
  packet.header = dispatch_packet_header;
  packet.setup = 3;
  for (unsigned axis = 0; axis < 3; ++axis) {
    const uint32_t whole = wanted.grid[axis] * wanted.block[axis];
    global[axis] = wanted.global[axis] ? wanted.global[axis] : whole;
    packet.workgroup_size[axis] = static_cast<uint16_t>(wanted.block[axis]);
    packet.grid_size[axis] = global[axis];
    whole_group.size[axis] = wanted.block[axis];
  }
  ids = packed_ids(whole_group);
  entry = kernel.entry + ((kernel.kernarg_preload & 0x7f) ? preload_prologue : 0);
  for (const auto& segment : wanted.code_object->texts()) {
    text = segment->contains(entry) ? segment.get() : text;
  }
  packet.private_segment_size = scratch_size;
  packet.group_segment_size = lds_size;
  packet.kernel_object = kernel.descriptor;
  packet.kernarg_address = reinterpret_cast<uint64_t>(wanted.kernarg);
  own_queue.group_segment_aperture_base_hi = static_cast<uint32_t>(shared_aperture >> 32);
  own_queue.private_segment_aperture_base_hi = static_cast<uint32_t>(private_aperture >> 32);
  if (wanted.queue) {
    std::memcpy(wanted.queue, &own_queue, sizeof own_queue);
  }
}

GroupShape shape_of(const LaunchState& launch, const uint32_t id[3]) {
  GroupShape shape;
  for (unsigned axis = 0; axis < 3; ++axis) {
    const uint32_t block = launch.dispatch.block[axis];
    // 64 bits: the last workgroup's end may lie beyond 2^32.
    const uint64_t begin = uint64_t{id[axis]} * block;
    const uint64_t whole = launch.dispatch.global[axis] ? launch.global[axis] : begin + block;
    shape.size[axis] = static_cast<uint32_t>(std::min<uint64_t>(block, whole - begin));
  }
  return shape;
}

void set_up_wave(Wave& wave, const LaunchState& launch, const GroupShape& shape) {
  const uint32_t left = shape.work_items() - wave.wave_in_group * lanes;
  wave.set_exec(left >= lanes ? ~uint64_t{0} : (uint64_t{1} << left) - 1);
  set_user_registers(wave, launch);
  set_workgroup_registers(wave, launch);
  set_work_item_ids(wave, launch, shape);
  // FLOAT_MODE, then DX10_CLAMP and IEEE_MODE, which lie elsewhere in the descriptor.
  constexpr unsigned float_mode_shift = 12, dx10_clamp_shift = 21, ieee_shift = 23;
  wave.mode = (launch.kernel.rsrc1 >> float_mode_shift & 0xff) |
              (launch.kernel.rsrc1 >> dx10_clamp_shift & 1) * mode_dx10_clamp |
              (launch.kernel.rsrc1 >> ieee_shift & 1) * mode_ieee;
  wave.pc = launch.entry;
  wave.text = launch.text;
}

}  // namespace ktrace::softdev
