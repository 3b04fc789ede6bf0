// One kernel launch.
#include "hip/launch.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

namespace ktrace::softdev::hip {

namespace {

constexpr uint64_t most_work_items = 1024;  // in a workgroup

uint64_t volume(const uint32_t size[3]) { return uint64_t{size[0]} * size[1] * size[2]; }

template <class Condition>
bool all_of_axes(const uint32_t size[3], Condition&& condition) {
  return std::all_of(size, size + 3, condition);
}

LaunchShape shape_of(const Launch& launch) {
  LaunchShape shape{};
  for (int axis = 0; axis < 3; ++axis) {
    shape.global[axis] = launch.global[axis];
    shape.block[axis] = std::min(launch.block[axis], launch.global[axis]);
    shape.grid[axis] = (launch.global[axis] - 1) / shape.block[axis] + 1;
  }
  shape.dynamic_lds = static_cast<uint32_t>(launch.dynamic_lds);
  return shape;
}

// HIP's own order and codes, also where one would have expected others.
hipError_t check_launch(const DeviceState& state, const Function& function, const Launch& launch) {
  if (launch.kernel_params != nullptr && launch.extra != nullptr) {
    return hipErrorInvalidValue;
  }
  if (!all_of_axes(launch.block, [](uint32_t size) { return size != 0; })) {
    return hipErrorInvalidConfiguration;
  }
  if (!all_of_axes(launch.global, [](uint32_t size) { return size != 0; })) {
    return hipErrorInvalidValue;
  }
  const Topology& topology = state.machine.topology();
  if (launch.dynamic_lds > topology.lds_bytes_per_cu ||
      !all_of_axes(launch.block, [](uint32_t size) { return size <= most_work_items; }) ||
      volume(launch.block) > most_work_items) {
    return hipErrorInvalidValue;
  }
  if (function.module->device != state.machine.index()) {
    return hipErrorInvalidDevice;
  }
  const Kernel& kernel = *function.kernel;
  if (volume(launch.block) > kernel.max_workgroup_size) {
    say("kernel `%s` was compiled for at most %u work-items in a workgroup and "
        "is launched with %llu",
        kernel.name.c_str(), kernel.max_workgroup_size,
        static_cast<unsigned long long>(volume(launch.block)));
    return hipErrorLaunchFailure;
  }
  const uint32_t resident = state.machine.occupancy(kernel, static_cast<uint32_t>(volume(launch.block)),
                                                    static_cast<uint32_t>(launch.dynamic_lds));
  if (resident == 0) {
    say("kernel `%s` does not fit on a compute unit: %u registers, %zu bytes "
        "of LDS",
        kernel.name.c_str(), kernel.vgpr_count, kernel.lds_bytes + launch.dynamic_lds);
    return hipErrorLaunchOutOfResources;
  }
  if (launch.is_cooperative && volume(shape_of(launch).grid) > uint64_t{resident} * topology.cus()) {
    return hipErrorCooperativeLaunchTooLarge;
  }
  return hipSuccess;
}

void record(Runtime& runtime, hipEvent_t handle, int device, Nanoseconds time) {
  Event* event = runtime.find_event(handle);
  if (event != nullptr) {
    event->is_recorded = true;
    event->device = device;
    event->enqueued = runtime.clock.now();
    event->time = time;
  }
}

hipError_t error_of(const Fault& fault) {
  return std::strstr(fault.what(), "memory access fault") != nullptr ? hipErrorIllegalAddress
                                                                     : hipErrorLaunchFailure;
}

// A kernarg segment at an address that is registered and aligned as HIP's are,
// for as long as the kernel runs.
class KernargMemory {
 public:
  KernargMemory(MemoryRegistry& registry, KernargSegment& segment, int device)
      : m_registry(registry),
        m_data(registry.allocate(std::max<size_t>(segment.bytes, 64), MemoryKind::internal, device)) {
    if (m_data == nullptr) {
      throw std::bad_alloc();
    }
    std::memcpy(m_data, segment.data(), segment.bytes);
  }
  ~KernargMemory() { m_registry.release(m_data); }
  KernargMemory(const KernargMemory&) = delete;
  KernargMemory& operator=(const KernargMemory&) = delete;

  const void* data() const { return m_data; }

 private:
  MemoryRegistry& m_registry;
  void* m_data;
};

Dispatch make_dispatch(const PreparedLaunch& launch, const void* kernarg) {
  Dispatch dispatch;
  dispatch.code_object = launch.code_object;
  dispatch.kernel = launch.kernel;
  std::copy_n(launch.shape.grid, 3, dispatch.grid);
  std::copy_n(launch.shape.block, 3, dispatch.block);
  std::copy_n(launch.shape.global, 3, dispatch.global);
  dispatch.dynamic_lds = launch.shape.dynamic_lds;
  dispatch.kernarg = kernarg;
  dispatch.kernarg_size = launch.segment.bytes;
  return dispatch;
}

}  // namespace

hipError_t set_shape(Launch& launch, const uint32_t blocks[3], const uint32_t block[3]) {
  // HIP's limits of a grid.
  if (blocks[0] > 0x7fffffffu || blocks[1] > 0x10000u || blocks[2] > 0x10000u) {
    return hipErrorInvalidValue;
  }
  for (int axis = 0; axis < 3; ++axis) {
    const uint64_t items = uint64_t{blocks[axis]} * block[axis];
    if (items > std::numeric_limits<uint32_t>::max()) {
      return hipErrorInvalidConfiguration;
    }
    launch.global[axis] = static_cast<uint32_t>(items);
    launch.block[axis] = block[axis];
  }
  return hipSuccess;
}

hipError_t prepare_launch(const DeviceState& state, Function& function, const Launch& launch,
                          PreparedLaunch& prepared) {
  hipError_t error = check_launch(state, function, launch);
  if (error == hipSuccess) {
    error = fill_explicit_arguments(*function.kernel, launch.kernel_params, launch.extra, prepared.segment);
  }
  if (error == hipSuccess) {
    prepared.arguments = ArgumentCopy(launch.extra);
  }
  if (error != hipSuccess) {
    return error;
  }
  prepared.given = launch.given;
  prepared.code_object = function.module->code_object;
  prepared.kernel = function.kernel;
  prepared.device = state.machine.index();
  prepared.shape = shape_of(launch);
  prepared.start = launch.start;
  prepared.stop = launch.stop;
  fill_hidden_arguments(*prepared.kernel, prepared.shape, reinterpret_cast<uintptr_t>(state.queues[0]),
                        prepared.segment);
  return hipSuccess;
}

hipError_t run_launch(Runtime& runtime, DeviceState& state, Stream& stream, DeviceWork& work,
                      PreparedLaunch& launch) {
  if (launch.device != state.machine.index()) {
    return hipErrorInvalidDevice;
  }
  const KernargMemory kernarg(runtime.registry, launch.segment, launch.device);
  Dispatch dispatch = make_dispatch(launch, kernarg.data());
  dispatch.queue = state.queue_of(stream);

  // Streams of one device take turns on it: the core runs one dispatch at a
  // time.
  const Nanoseconds wanted = runtime.begin_time(stream) + device_cost::dispatch_latency;
  if (state.machine.now_ns() < wanted) {
    state.machine.advance_host(wanted - state.machine.now_ns());
  }
  Nanoseconds begin = state.machine.now_ns();
  try {
    const DispatchResult result = work.without_state_lock([&] { return state.machine.run(dispatch); });
    begin = Device::cycles_to_ns(result.start_cycles);
  } catch (const Fault& fault) {
    say("%s", fault.what());
    state.fault = DeviceFault{error_of(fault)};
  }
  const Nanoseconds end = state.machine.now_ns();
  stream.ready = std::max(stream.ready, end);
  record(runtime, launch.start, stream.device, begin);
  record(runtime, launch.stop, stream.device, end);
  return hipSuccess;
}

}  // namespace ktrace::softdev::hip
