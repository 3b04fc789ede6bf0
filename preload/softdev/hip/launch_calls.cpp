// Every HIP call that launches kernels.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>
#include <vector>

#include "hip/capture.hpp"
#include "hip/fat_binary.hpp"
#include "hip/launch.hpp"

namespace ktrace::softdev::hip {

namespace {

hipError_t launch_kernel(Runtime& runtime, DeviceState& state, Stream& stream, DeviceWork& work,
                         Function& function, const Launch& launch) {
  auto prepared = std::make_shared<PreparedLaunch>();
  const hipError_t error = prepare_launch(state, function, launch, *prepared);
  return error != hipSuccess ? error
                             : run_or_capture(runtime, state, stream, work, NodeType::kernel,
                                              KernelWork{std::move(prepared)});
}

hipError_t launch_function(hipFunction_t handle, hipStream_t stream, Launch launch) {
  launch.given = handle;
  return stream_call(cost::enqueue, stream, hipErrorInvalidValue,
                     [&](Runtime& runtime, DeviceState& state, Stream& target, DeviceWork& work) {
                       Function* function = runtime.find_function(handle);
                       return function == nullptr
                                  ? hipErrorInvalidResourceHandle
                                  : launch_kernel(runtime, state, target, work, *function, launch);
                     });
}

hipError_t launch_host_function(const void* host_function, hipStream_t stream, Launch launch) {
  launch.given = host_function;
  return stream_call(
      cost::enqueue, stream, hipErrorInvalidValue,
      [&](Runtime& runtime, DeviceState& state, Stream& target, DeviceWork& work) -> hipError_t {
        const FoundFunction found = find_registered_function(runtime, host_function, target.device);
        if (found.error != hipSuccess) {
          return found.error;
        }
        return launch_kernel(runtime, state, target, work, *found.function, launch);
      });
}

hipError_t launch_blocks(const void* host_function, dim3 grid, dim3 block, void** args, size_t shared_bytes,
                         hipStream_t stream, bool is_cooperative, hipEvent_t start = nullptr,
                         hipEvent_t stop = nullptr) {
  Launch launch;
  const hipError_t error = set_shape(launch, &grid.x, &block.x);
  if (error != hipSuccess) {
    return finish_call(error);
  }
  launch.dynamic_lds = shared_bytes;
  launch.kernel_params = args;
  launch.is_cooperative = is_cooperative;
  launch.start = start;
  launch.stop = stop;
  return launch_host_function(host_function, stream, launch);
}

hipError_t launch_module_blocks(hipFunction_t function, dim3 grid, dim3 block, unsigned shared_bytes,
                                hipStream_t stream, void** kernel_params, void** extra, bool is_cooperative) {
  Launch launch;
  const hipError_t error = set_shape(launch, &grid.x, &block.x);
  if (error != hipSuccess) {
    return finish_call(error);
  }
  launch.dynamic_lds = shared_bytes;
  launch.kernel_params = kernel_params;
  launch.extra = extra;
  launch.is_cooperative = is_cooperative;
  return launch_function(function, stream, launch);
}

hipError_t launch_work_items(hipFunction_t function, dim3 global, dim3 block, size_t shared_bytes,
                             hipStream_t stream, void** kernel_params, void** extra, hipEvent_t start,
                             hipEvent_t stop) {
  Launch launch;
  std::memcpy(launch.global, &global, sizeof launch.global);
  std::memcpy(launch.block, &block, sizeof launch.block);
  launch.dynamic_lds = shared_bytes;
  launch.kernel_params = kernel_params;
  launch.extra = extra;
  launch.start = start;
  launch.stop = stop;
  return launch_function(function, stream, launch);
}

bool is_cooperative(const hipLaunchAttribute* attributes, unsigned count) {
  return std::any_of(attributes, attributes + count, [](const hipLaunchAttribute& attribute) {
    return attribute.id == hipLaunchAttributeCooperative && attribute.val.cooperative != 0;
  });
}

}  // namespace

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev::hip;

KTRACE_HIP_EXPORT hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y,
                                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                                   unsigned block_z, unsigned shared_bytes,
                                                   hipStream_t stream, void** kernel_params, void** extra) {
  return launch_module_blocks(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes,
                              stream, kernel_params, extra, false);
}

KTRACE_HIP_EXPORT hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned grid_x,
                                                              unsigned grid_y, unsigned grid_z,
                                                              unsigned block_x, unsigned block_y,
                                                              unsigned block_z, unsigned shared_bytes,
                                                              hipStream_t stream, void** kernel_params) {
  return launch_module_blocks(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes,
                              stream, kernel_params, nullptr, true);
}

KTRACE_HIP_EXPORT hipError_t hipDrvLaunchKernelEx(const HIP_LAUNCH_CONFIG* config, hipFunction_t function,
                                                  void** kernel_params, void** extra) {
  if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr)) {
    return finish_call(hipErrorInvalidValue);
  }
  return launch_module_blocks(function, {config->gridDimX, config->gridDimY, config->gridDimZ},
                              {config->blockDimX, config->blockDimY, config->blockDimZ},
                              config->sharedMemBytes, config->hStream, kernel_params, extra,
                              is_cooperative(config->attrs, config->numAttrs));
}

// Sizes are work-items, not workgroups.
KTRACE_HIP_EXPORT hipError_t hipExtModuleLaunchKernel(hipFunction_t function, uint32_t global_x,
                                                      uint32_t global_y, uint32_t global_z, uint32_t block_x,
                                                      uint32_t block_y, uint32_t block_z, size_t shared_bytes,
                                                      hipStream_t stream, void** kernel_params, void** extra,
                                                      hipEvent_t start, hipEvent_t stop, uint32_t) {
  return launch_work_items(function, {global_x, global_y, global_z}, {block_x, block_y, block_z},
                           shared_bytes, stream, kernel_params, extra, start, stop);
}

KTRACE_HIP_EXPORT hipError_t hipHccModuleLaunchKernel(hipFunction_t function, uint32_t global_x,
                                                      uint32_t global_y, uint32_t global_z, uint32_t block_x,
                                                      uint32_t block_y, uint32_t block_z, size_t shared_bytes,
                                                      hipStream_t stream, void** kernel_params, void** extra,
                                                      hipEvent_t start, hipEvent_t stop) {
  return launch_work_items(function, {global_x, global_y, global_z}, {block_x, block_y, block_z},
                           shared_bytes, stream, kernel_params, extra, start, stop);
}

// HIP's headers declare the two with C++ linkage, so that C++ callers ask for mangled names.
extern "C" __attribute__((visibility("default"),
                          alias("hipExtModuleLaunchKernel"))) decltype(hipExtModuleLaunchKernel)
    _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j;
extern "C" __attribute__((visibility("default"),
                          alias("hipHccModuleLaunchKernel"))) decltype(hipHccModuleLaunchKernel)
    _Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_;

KTRACE_HIP_EXPORT hipError_t hipLaunchKernel(const void* function, dim3 grid, dim3 block, void** args,
                                             size_t shared_bytes, hipStream_t stream) {
  return launch_blocks(function, grid, block, args, shared_bytes, stream, false);
}

KTRACE_HIP_EXPORT hipError_t hipLaunchKernel_spt(const void* function, dim3 grid, dim3 block, void** args,
                                                 size_t shared_bytes, hipStream_t stream) {
  return launch_blocks(function, grid, block, args, shared_bytes, per_thread(stream), false);
}

KTRACE_HIP_EXPORT hipError_t hipLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block,
                                                        void** args, unsigned shared_bytes,
                                                        hipStream_t stream) {
  return launch_blocks(function, grid, block, args, shared_bytes, stream, true);
}

KTRACE_HIP_EXPORT hipError_t hipLaunchCooperativeKernel_spt(const void* function, dim3 grid, dim3 block,
                                                            void** args, unsigned shared_bytes,
                                                            hipStream_t stream) {
  return launch_blocks(function, grid, block, args, shared_bytes, per_thread(stream), true);
}

KTRACE_HIP_EXPORT hipError_t hipExtLaunchKernel(const void* function, dim3 grid, dim3 block, void** args,
                                                size_t shared_bytes, hipStream_t stream, hipEvent_t start,
                                                hipEvent_t stop, int) {
  return launch_blocks(function, grid, block, args, shared_bytes, stream, false, start, stop);
}

// The launch in three steps of compilers before <<<>>> called hipLaunchKernel.
KTRACE_HIP_EXPORT hipError_t hipConfigureCall(dim3 grid, dim3 block, size_t shared_bytes,
                                              hipStream_t stream) {
  ThreadState::get().call_configurations.push_back({grid, block, shared_bytes, stream, {}});
  return hipSuccess;
}
KTRACE_HIP_EXPORT hipError_t hipSetupArgument(const void* argument, size_t size, size_t offset) {
  auto& configurations = ThreadState::get().call_configurations;
  if (configurations.empty() || argument == nullptr) {
    return finish_call(configurations.empty() ? hipErrorMissingConfiguration : hipErrorInvalidValue);
  }
  constexpr size_t most_bytes = 1 << 20;  // of arguments: hardware's segment has far less
  if (size > most_bytes || offset > most_bytes) {
    return finish_call(hipErrorInvalidValue);
  }
  if (size == 0) {
    return hipSuccess;
  }
  std::vector<char>& arguments = configurations.back().arguments;
  arguments.resize(std::max(arguments.size(), offset + size));
  std::memcpy(arguments.data() + offset, argument, size);
  return hipSuccess;
}
KTRACE_HIP_EXPORT hipError_t hipLaunchByPtr(const void* function) {
  auto& configurations = ThreadState::get().call_configurations;
  if (configurations.empty()) {
    return finish_call(hipErrorMissingConfiguration);
  }
  ThreadState::CallConfiguration top = std::move(configurations.back());
  configurations.pop_back();
  size_t size = top.arguments.size();
  void* extra[] = {reinterpret_cast<void*>(HIP_LAUNCH_PARAM_BUFFER_POINTER), top.arguments.data(),
                   reinterpret_cast<void*>(HIP_LAUNCH_PARAM_BUFFER_SIZE), &size,
                   reinterpret_cast<void*>(HIP_LAUNCH_PARAM_END)};
  Launch launch;
  const hipError_t error = set_shape(launch, &top.grid.x, &top.block.x);
  launch.dynamic_lds = top.shared_bytes;
  launch.extra = size == 0 ? nullptr : extra;
  return error != hipSuccess ? finish_call(error) : launch_host_function(function, top.stream, launch);
}

KTRACE_HIP_EXPORT hipError_t hipLaunchKernelExC(const hipLaunchConfig_t* config, const void* function,
                                                void** args) {
  if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr)) {
    return finish_call(hipErrorInvalidValue);
  }
  return launch_blocks(function, config->gridDim, config->blockDim, args, config->dynamicSmemBytes,
                       config->stream, is_cooperative(config->attrs, config->numAttrs));
}

namespace {

constexpr unsigned no_wait_before = 1;
constexpr unsigned no_wait_after = 2;

// The streams of a list must exist and belong to different devices.
hipError_t check_streams(const std::vector<hipStream_t>& streams) {
  return call(0, [&](Runtime& runtime) -> hipError_t {
    std::set<int> devices;
    for (const hipStream_t handle : streams) {
      const Stream* stream = handle == nullptr ? nullptr : runtime.find_stream(handle);
      if (stream == nullptr) {
        return handle == nullptr ? hipErrorInvalidResourceHandle : hipErrorInvalidValue;
      }
      if (!devices.insert(stream->device).second) {
        return hipErrorInvalidDevice;
      }
    }
    return hipSuccess;
  });
}

// The host waits, as in HIP.
hipError_t wait_for(const std::vector<hipStream_t>& streams) {
  for (const hipStream_t stream : streams) {
    const hipError_t error = stream_call(0, stream, hipErrorContextIsDestroyed,
                                         [](Runtime& runtime, DeviceState&, Stream& target, DeviceWork&) {
                                           runtime.clock.advance_to(runtime.begin_time(target));
                                           return refuse_while_capturing(target);
                                         });
    if (error != hipSuccess) {
      return error;
    }
  }
  return hipSuccess;
}

// The lists of the multi-device calls: one launch per device, each on its own stream.
template <class Params, class StreamOf, class One>
hipError_t launch_list(const Params* list, unsigned count, unsigned flags, StreamOf&& stream_of,
                       One&& launch_one) {
  if (list == nullptr || count == 0 || count > Runtime::get().devices.size() ||
      flags > (no_wait_before | no_wait_after)) {
    return finish_call(hipErrorInvalidValue);
  }
  std::vector<hipStream_t> streams;
  std::transform(list, list + count, std::back_inserter(streams), stream_of);
  hipError_t error = check_streams(streams);
  if (error == hipSuccess && (flags & no_wait_before) == 0) {
    error = wait_for(streams);
  }
  for (unsigned index = 0; index < count && error == hipSuccess; ++index) {
    error = launch_one(list[index]);
  }
  return error == hipSuccess && (flags & no_wait_after) == 0 ? wait_for(streams) : error;
}

hipError_t launch_host_list(const hipLaunchParams* list, int count, unsigned flags, bool cooperative) {
  return launch_list(
      list, static_cast<unsigned>(std::max(count, 0)), flags,
      [](const hipLaunchParams& params) { return params.stream; },
      [&](const hipLaunchParams& params) {
        return launch_blocks(params.func, params.gridDim, params.blockDim, params.args, params.sharedMem,
                             params.stream, cooperative);
      });
}

}  // namespace

KTRACE_HIP_EXPORT hipError_t hipModuleLaunchCooperativeKernelMultiDevice(hipFunctionLaunchParams* list,
                                                                         unsigned count, unsigned flags) {
  return launch_list(
      list, count, flags, [](const hipFunctionLaunchParams& params) { return params.hStream; },
      [](const hipFunctionLaunchParams& params) {
        return launch_module_blocks(params.function, {params.gridDimX, params.gridDimY, params.gridDimZ},
                                    {params.blockDimX, params.blockDimY, params.blockDimZ},
                                    params.sharedMemBytes, params.hStream, params.kernelParams, nullptr,
                                    true);
      });
}

KTRACE_HIP_EXPORT hipError_t hipLaunchCooperativeKernelMultiDevice(hipLaunchParams* list, int count,
                                                                   unsigned flags) {
  return launch_host_list(list, count, flags, true);
}

KTRACE_HIP_EXPORT hipError_t hipExtLaunchMultiKernelMultiDevice(hipLaunchParams* list, int count,
                                                                unsigned flags) {
  return launch_host_list(list, count, flags, false);
}
