// Checking node parameters, and copying what they point to.
#include "hip/graph_work.hpp"

#include "hip/fat_binary.hpp"
#include "hip/transfers.hpp"

namespace ktrace::softdev::hip {

namespace {

// The end of a copy that is a registered variable, checked against its size.
hipError_t find_place(Runtime& runtime, const void* symbol, size_t size, size_t offset, void*& place) {
  const FoundVariable found = find_registered_variable(runtime, symbol, current_device());
  if (found.error != hipSuccess) {
    return found.error;
  }
  if (offset > found.size || size > found.size - offset) {
    return hipErrorInvalidValue;
  }
  place = static_cast<uint8_t*>(found.address) + offset;
  return hipSuccess;
}

hipError_t prepare(Runtime& runtime, const hipKernelNodeParams& params, PreparedLaunch& prepared) {
  const int device = current_device();
  Function* function = runtime.find_function(static_cast<hipFunction_t>(params.func));
  if (function == nullptr) {
    const FoundFunction found = find_registered_function(runtime, params.func, device);
    if (found.error != hipSuccess) {
      return found.error;
    }
    function = found.function;
  }
  Launch launch;
  const hipError_t error = set_shape(launch, &params.gridDim.x, &params.blockDim.x);
  if (error != hipSuccess) {
    return error;
  }
  launch.dynamic_lds = params.sharedMemBytes;
  launch.kernel_params = params.kernelParams;
  launch.extra = params.extra;
  launch.given = params.func;
  return prepare_launch(runtime.device(device), *function, launch, prepared);
}

}  // namespace

hipError_t make_kernel(Runtime& runtime, const hipKernelNodeParams* params, NodeWork& work) {
  if (params == nullptr || params->func == nullptr) {
    return hipErrorInvalidValue;
  }
  auto prepared = std::make_shared<PreparedLaunch>();
  const hipError_t error = prepare(runtime, *params, *prepared);
  if (error == hipSuccess) {
    work = KernelWork{std::move(prepared)};
  }
  return error;
}

void read_kernel(PreparedLaunch& launch, hipKernelNodeParams& params) {
  const LaunchShape& shape = launch.shape;
  params.func = const_cast<void*>(launch.given);
  params.gridDim = {shape.grid[0], shape.grid[1], shape.grid[2]};
  params.blockDim = {shape.block[0], shape.block[1], shape.block[2]};
  params.sharedMemBytes = shape.dynamic_lds;
  params.kernelParams = launch.arguments.kernel_params(*launch.kernel, launch.segment);
  params.extra = launch.arguments.extra();
}

hipError_t make_copy(const Runtime& runtime, const hipMemcpy3DParms* box, NodeWork& work) {
  if (box == nullptr) {
    return hipErrorInvalidValue;
  }
  const hipError_t error = check_copy(runtime, *box);
  if (error == hipSuccess) {
    work = CopyWork{*box};
  }
  return error;
}

hipError_t make_linear_copy(const Runtime& runtime, void* destination, const void* source, size_t size,
                            hipMemcpyKind kind, NodeWork& work) {
  const hipMemcpy3DParms box = box_of(destination, size, source, size, size, 1, kind);
  return size == 0 ? hipErrorInvalidValue : make_copy(runtime, &box, work);
}

hipError_t make_copy_to_symbol(Runtime& runtime, const void* symbol, const void* source, size_t size,
                               size_t offset, hipMemcpyKind kind, NodeWork& work) {
  if (kind == hipMemcpyDeviceToHost || kind == hipMemcpyHostToHost) {
    return hipErrorInvalidMemcpyDirection;
  }
  void* place = nullptr;
  const hipError_t error = find_place(runtime, symbol, size, offset, place);
  return error != hipSuccess ? error : make_linear_copy(runtime, place, source, size, kind, work);
}

hipError_t make_copy_from_symbol(Runtime& runtime, void* destination, const void* symbol, size_t size,
                                 size_t offset, hipMemcpyKind kind, NodeWork& work) {
  if (kind == hipMemcpyHostToDevice || kind == hipMemcpyHostToHost) {
    return hipErrorInvalidMemcpyDirection;
  }
  void* place = nullptr;
  const hipError_t error = find_place(runtime, symbol, size, offset, place);
  return error != hipSuccess ? error : make_linear_copy(runtime, destination, place, size, kind, work);
}

hipError_t make_fill(const Runtime& runtime, const hipMemsetParams* params, NodeWork& work) {
  if (params == nullptr || params->width == 0 || params->height == 0 ||
      (params->elementSize != 1 && params->elementSize != 2 && params->elementSize != 4)) {
    return hipErrorInvalidValue;
  }
  const hipError_t error = check_fill(runtime, *params);
  if (error == hipSuccess) {
    work = FillWork{*params};
  }
  return error;
}

hipError_t make_host(const hipHostNodeParams* params, NodeWork& work) {
  if (params == nullptr || params->fn == nullptr) {
    return hipErrorInvalidValue;
  }
  work = HostWork{*params, nullptr};
  return hipSuccess;
}

hipError_t make_event(Runtime& runtime, hipEvent_t event, NodeWork& work) {
  if (runtime.find_event(event) == nullptr) {
    return hipErrorInvalidValue;
  }
  work = EventWork{event};
  return hipSuccess;
}

hipError_t make_child(Runtime& runtime, void* graph, NodeWork& work) {
  const Graph* found = find_graph(runtime, graph);
  if (found == nullptr) {
    return hipErrorInvalidValue;
  }
  work = ChildWork{found->clone(runtime.graph_registry.get())};
  return hipSuccess;
}

}  // namespace ktrace::softdev::hip
