// What a device cannot run.
#include <string>

#include "core/scheduler.hpp"

namespace ktrace::softdev {

namespace {

// What a wave's size of scratch, 13 bits of KiB, leaves to each of its lanes.
constexpr uint32_t scratch_limit = ((1u << 13) - 1) * 1024 / lanes;  // bytes

[[noreturn]] void refuse(const Dispatch& dispatch, const std::string& why) {
  throw Fault("kernel `" + dispatch.kernel->name + "` cannot be dispatched: " + why);
}

}  // namespace

void check_dispatch(const Device& device, const Dispatch& dispatch) {
  const Kernel& kernel = *dispatch.kernel;
  if (!dispatch.code_object->runs_on(device.arch())) {
    refuse(dispatch, "it is for " + dispatch.code_object->target() + " and the device is " +
                         arch_name(device.arch()) + " (KTRACE_SOFT_ARCH selects it)");
  }
  uint64_t block = 1;
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (dispatch.grid[axis] == 0 || dispatch.block[axis] == 0 || dispatch.block[axis] > 1024) {
      refuse(dispatch, "its grid is " + std::to_string(dispatch.grid[axis]) + " blocks of " +
                           std::to_string(dispatch.block[axis]) + " on axis " + "xyz"[axis]);
    }
    block *= dispatch.block[axis];
  }
  if (block > kernel.max_workgroup_size) {
    refuse(dispatch, "a block has " + std::to_string(block) +
                         " work-items and the kernel was compiled for at most " +
                         std::to_string(kernel.max_workgroup_size));
  }
  if (device.occupancy(kernel, static_cast<uint32_t>(block), dispatch.dynamic_lds) == 0) {
    refuse(dispatch, "a block of " + std::to_string(block) + " work-items with " +
                         std::to_string(uint64_t{kernel.lds_bytes} + dispatch.dynamic_lds) +
                         " bytes of LDS and " + std::to_string(kernel.vgpr_count) +
                         " VGPRs does not fit on a CU");
  }
  if (kernel.private_bytes > scratch_limit) {
    refuse(dispatch, "it needs " + std::to_string(kernel.private_bytes) + " bytes of scratch per lane and " +
                         std::to_string(scratch_limit) + " are possible");
  }
  if (dispatch.kernarg_size < kernel.kernarg_size) {
    refuse(dispatch, "it got " + std::to_string(dispatch.kernarg_size) + " bytes of arguments and needs " +
                         std::to_string(kernel.kernarg_size));
  }
}

}  // namespace ktrace::softdev
