// The state in which a wave starts: what the command processor and the dispatcher put into its registers.
#pragma once

#include <cstdint>
#include <vector>

#include "core/machine.hpp"
#include "core/wave.hpp"

namespace ktrace::softdev {

// hsa_kernel_dispatch_packet_t, which kernels read block and grid sizes from.
struct DispatchPacket {
  uint16_t header;
  uint16_t setup;
  uint16_t workgroup_size[3];
  uint16_t reserved0;
  uint32_t grid_size[3];
  uint32_t private_segment_size;
  uint32_t group_segment_size;
  uint64_t kernel_object;
  uint64_t kernarg_address;
  uint64_t reserved2;
  uint64_t completion_signal;
};
static_assert(sizeof(DispatchPacket) == 64, "as the HSA specification has it");

// The part of amd_queue_t that kernels read.
struct QueueDescriptor {
  uint8_t before_apertures[0x40];
  uint32_t group_segment_aperture_base_hi;
  uint32_t private_segment_aperture_base_hi;
  uint8_t after_apertures[0x78];
};
static_assert(sizeof(QueueDescriptor) <= queue_bytes, "it fits where the dispatch says");

// The work-items of a workgroup: the last ones of a grid may be smaller.
struct GroupShape {
  uint32_t size[3];
  uint32_t work_items() const { return size[0] * size[1] * size[2]; }
  uint32_t waves() const { return (work_items() + lanes - 1) / lanes; }
  bool operator==(const GroupShape& other) const {
    return size[0] == other.size[0] && size[1] == other.size[1] && size[2] == other.size[2];
  }
};

// What is the same for all waves of a dispatch.
struct LaunchState {
  LaunchState(const Dispatch& dispatch, uint64_t dispatch_id, uint32_t lds_size);

  const Kernel& kernel;
  const Dispatch& dispatch;
  uint64_t dispatch_id;
  uint32_t lds_size;
  uint32_t vgprs;         // architectural, allocated
  uint32_t agprs;         // accumulation, allocated
  uint32_t scratch_size;  // bytes per lane
  uint32_t global[3];     // work-items
  DispatchPacket packet = {};
  QueueDescriptor own_queue = {};
  uint64_t queue;  // address
  GroupShape whole_group;
  uint64_t entry = 0;          // address of the first instruction
  const Text* text = nullptr;  // that has it, if any does
  std::vector<uint32_t> ids;   // the work-items' of a whole group, as they stand in v0
};

GroupShape shape_of(const LaunchState& launch, const uint32_t id[3]);

// Sets registers, EXEC, MODE and pc. `wave` has been reset and has its workgroup, its wave_in_group, and
// registers that are 0.
void set_up_wave(Wave& wave, const LaunchState& launch, const GroupShape& shape);

}  // namespace ktrace::softdev
