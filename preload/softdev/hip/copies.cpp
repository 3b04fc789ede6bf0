// hipMemcpy*: the bytes move when the call is made, the time passes on the stream.
#include <algorithm>
#include <cstring>

#include "hip/call.hpp"
#include "hip/fat_binary.hpp"
#include "hip/graph.hpp"
#include "hip/memory.hpp"

namespace ktrace::softdev::hip {

namespace {

enum class Wait : uint8_t { asynchronous, synchronous };

bool is_known(hipMemcpyKind kind) { return kind <= hipMemcpyDefault || kind == hipMemcpyDeviceToDeviceNoCU; }

bool is_device_memory(const Runtime& runtime, const void* pointer) {
  const auto allocation = runtime.registry.find(pointer);
  return allocation && (allocation->kind == MemoryKind::device || allocation->kind == MemoryKind::internal);
}

struct Region {
  void* destination;
  size_t destination_pitch;
  const void* source;
  size_t source_pitch;
  size_t width;   // bytes
  size_t height;  // rows
  hipMemcpyKind kind;

  size_t destination_span() const { return (height - 1) * destination_pitch + width; }
  size_t source_span() const { return (height - 1) * source_pitch + width; }
};

hipError_t check(const Runtime& runtime, const Region& region) {
  if (region.destination == nullptr || region.source == nullptr) {
    return hipErrorInvalidValue;
  }
  if (!is_known(region.kind)) {
    return hipErrorInvalidMemcpyDirection;
  }
  if (region.height > 1 && (region.width > region.destination_pitch || region.width > region.source_pitch)) {
    return hipErrorInvalidPitchValue;
  }
  const bool is_inside = is_within_allocation(runtime, region.destination, region.destination_span()) &&
                         is_within_allocation(runtime, region.source, region.source_span());
  return is_inside ? hipSuccess : hipErrorInvalidValue;
}

void move_rows(const Region& region) {
  auto* destination = static_cast<uint8_t*>(region.destination);
  const auto* source = static_cast<const uint8_t*>(region.source);
  for (size_t row = 0; row < region.height; ++row) {
    std::memmove(destination + row * region.destination_pitch, source + row * region.source_pitch,
                 region.width);
  }
}

Nanoseconds duration_of(size_t bytes, bool stays_on_device) {
  const uint64_t rate = stays_on_device ? device_cost::device_bytes_per_us : device_cost::host_bytes_per_us;
  return device_cost::copy_latency + bytes * 1000 / rate;
}

hipError_t run_copy(Runtime& runtime, Stream& stream, const Region& region, Wait wait) {
  const hipError_t error = check(runtime, region);  // again at each replay: the memory may be gone
  if (error != hipSuccess) {
    return error;
  }
  const bool stays_on_device =
      is_device_memory(runtime, region.source) && is_device_memory(runtime, region.destination);
  stream.ready = runtime.begin_time(stream) + duration_of(region.width * region.height, stays_on_device);
  move_rows(region);
  // The host does not wait for copies within the device, also not in the synchronous calls.
  if (wait == Wait::synchronous && !stays_on_device) {
    runtime.clock.advance_to(stream.ready);
  }
  return hipSuccess;
}

hipError_t enqueue_copy(Runtime& runtime, DeviceState& state, Stream& stream, DeviceWork& work,
                        const Region& region, Wait wait) {
  if (region.width == 0 || region.height == 0) {
    return hipSuccess;
  }
  hipError_t error = check(runtime, region);
  if (error == hipSuccess && wait == Wait::synchronous) {
    error = refuse_during_any_capture(runtime);
  }
  if (error != hipSuccess) {
    return error;
  }
  return run_or_capture(runtime, state, stream, work, NodeType::copy,
                        [region, wait](Runtime& now, DeviceState&, Stream& target, DeviceWork&) {
                          return run_copy(now, target, region, wait);
                        });
}

hipError_t copy_rows(const Region& region, hipStream_t stream, Wait wait) {
  return stream_call(cost::enqueue, stream, hipErrorContextIsDestroyed,
                     [&](Runtime& runtime, DeviceState& state, Stream& target, DeviceWork& work) {
                       return enqueue_copy(runtime, state, target, work, region, wait);
                     });
}

hipError_t copy(void* destination, const void* source, size_t size, hipMemcpyKind kind, hipStream_t stream,
                Wait wait) {
  return copy_rows({destination, size, source, size, size, 1, kind}, stream, wait);
}

hipError_t copy_2d(void* destination, size_t destination_pitch, const void* source, size_t source_pitch,
                   size_t width, size_t height, hipMemcpyKind kind, hipStream_t stream, Wait wait) {
  if (width != 0 && height != 0 && (width > destination_pitch || width > source_pitch)) {
    return finish_call(hipErrorInvalidPitchValue);
  }
  return copy_rows({destination, destination_pitch, source, source_pitch, width, height, kind}, stream, wait);
}

// `offset` bytes into a registered variable; the kind decides which end the variable is.
hipError_t copy_symbol(const void* symbol, void* destination, const void* source, size_t size, size_t offset,
                       hipMemcpyKind kind, hipStream_t stream, Wait wait) {
  return stream_call(
      cost::enqueue, stream, hipErrorContextIsDestroyed,
      [&](Runtime& runtime, DeviceState& state, Stream& target, DeviceWork& work) -> hipError_t {
        const FoundVariable found = find_registered_variable(runtime, symbol, target.device);
        if (found.error != hipSuccess) {
          return found.error;
        }
        if (offset > found.size || size > found.size - offset) {
          return hipErrorInvalidValue;
        }
        void* place = static_cast<uint8_t*>(found.address) + offset;
        const Region region{destination != nullptr ? destination : place,
                            size,
                            source != nullptr ? source : place,
                            size,
                            size,
                            1,
                            kind};
        return enqueue_copy(runtime, state, target, work, region, wait);
      });
}

hipError_t copy_to_symbol(const void* symbol, const void* source, size_t size, size_t offset,
                          hipMemcpyKind kind, hipStream_t stream, Wait wait) {
  if (source == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  if (kind == hipMemcpyDeviceToHost || kind == hipMemcpyHostToHost) {
    return finish_call(hipErrorInvalidMemcpyDirection);
  }
  return copy_symbol(symbol, nullptr, source, size, offset, kind, stream, wait);
}

hipError_t copy_from_symbol(void* destination, const void* symbol, size_t size, size_t offset,
                            hipMemcpyKind kind, hipStream_t stream, Wait wait) {
  if (destination == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  if (kind == hipMemcpyHostToDevice || kind == hipMemcpyHostToHost) {
    return finish_call(hipErrorInvalidMemcpyDirection);
  }
  return copy_symbol(symbol, destination, nullptr, size, offset, kind, stream, wait);
}

hipError_t copy_param_2d(const hip_Memcpy2D* copy, hipStream_t stream, Wait wait) {
  if (copy == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  if (copy->srcArray != nullptr || copy->dstArray != nullptr) {
    return finish_call(hipErrorNotSupported);  // images
  }
  const void* source = copy->srcMemoryType == hipMemoryTypeHost ? copy->srcHost : copy->srcDevice;
  void* destination = copy->dstMemoryType == hipMemoryTypeHost ? copy->dstHost : copy->dstDevice;
  if (source == nullptr || destination == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  const size_t source_pitch = copy->srcPitch != 0 ? copy->srcPitch : copy->WidthInBytes + copy->srcXInBytes;
  const size_t destination_pitch =
      copy->dstPitch != 0 ? copy->dstPitch : copy->WidthInBytes + copy->dstXInBytes;
  return copy_2d(static_cast<uint8_t*>(destination) + copy->dstY * destination_pitch + copy->dstXInBytes,
                 destination_pitch,
                 static_cast<const uint8_t*>(source) + copy->srcY * source_pitch + copy->srcXInBytes,
                 source_pitch, copy->WidthInBytes, copy->Height, hipMemcpyDefault, stream, wait);
}

uint8_t* place_in(const hipPitchedPtr& pointer, const hipPos& position) {
  return static_cast<uint8_t*>(pointer.ptr) + (position.z * pointer.ysize + position.y) * pointer.pitch +
         position.x;
}

// A box is one rectangle per layer.
hipError_t copy_3d(const hipMemcpy3DParms* params, hipStream_t stream, Wait wait) {
  if (params == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  if (params->srcArray != nullptr || params->dstArray != nullptr) {
    return finish_call(hipErrorNotSupported);  // images
  }
  if (params->srcPtr.ptr == nullptr || params->dstPtr.ptr == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  for (size_t layer = 0; layer < params->extent.depth; ++layer) {
    hipPos source = params->srcPos;
    hipPos destination = params->dstPos;
    source.z += layer;
    destination.z += layer;
    const hipError_t error = copy_2d(place_in(params->dstPtr, destination), params->dstPtr.pitch,
                                     place_in(params->srcPtr, source), params->srcPtr.pitch,
                                     params->extent.width, params->extent.height, params->kind, stream, wait);
    if (error != hipSuccess) {
      return error;
    }
  }
  return hipSuccess;
}

}  // namespace

Operation copy_operation(void* destination, const void* source, size_t size, hipMemcpyKind kind) {
  const Region region{destination, size, source, size, size, 1, kind};
  return [region](Runtime& runtime, DeviceState&, Stream& stream, DeviceWork&) {
    return run_copy(runtime, stream, region, Wait::asynchronous);
  };
}

bool is_within_allocation(const Runtime& runtime, const void* pointer, size_t size) {
  const auto allocation = runtime.registry.find(pointer);
  return !allocation || size <= allocation->size - (reinterpret_cast<uintptr_t>(pointer) - allocation->base);
}

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev::hip;

// The plain call, its per-thread twin, and the asynchronous pair.
KTRACE_HIP_EXPORT hipError_t hipMemcpy(void* destination, const void* source, size_t size,
                                       hipMemcpyKind kind) {
  return copy(destination, source, size, kind, nullptr, Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpy_spt(void* destination, const void* source, size_t size,
                                           hipMemcpyKind kind) {
  return copy(destination, source, size, kind, per_thread(nullptr), Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyAsync(void* destination, const void* source, size_t size,
                                            hipMemcpyKind kind, hipStream_t stream) {
  return copy(destination, source, size, kind, stream, Wait::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyAsync_spt(void* destination, const void* source, size_t size,
                                                hipMemcpyKind kind, hipStream_t stream) {
  return copy(destination, source, size, kind, per_thread(stream), Wait::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyWithStream(void* destination, const void* source, size_t size,
                                                 hipMemcpyKind kind, hipStream_t stream) {
  return copy(destination, source, size, kind, stream, Wait::synchronous);
}

KTRACE_HIP_EXPORT hipError_t hipMemcpyHtoD(hipDeviceptr_t destination, const void* source, size_t size) {
  return copy(destination, source, size, hipMemcpyHostToDevice, nullptr, Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyDtoH(void* destination, hipDeviceptr_t source, size_t size) {
  return copy(destination, source, size, hipMemcpyDeviceToHost, nullptr, Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyDtoD(hipDeviceptr_t destination, hipDeviceptr_t source, size_t size) {
  return copy(destination, source, size, hipMemcpyDeviceToDevice, nullptr, Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t destination, const void* source, size_t size,
                                                hipStream_t stream) {
  return copy(destination, source, size, hipMemcpyHostToDevice, stream, Wait::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyDtoHAsync(void* destination, hipDeviceptr_t source, size_t size,
                                                hipStream_t stream) {
  return copy(destination, source, size, hipMemcpyDeviceToHost, stream, Wait::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t destination, hipDeviceptr_t source,
                                                size_t size, hipStream_t stream) {
  return copy(destination, source, size, hipMemcpyDeviceToDevice, stream, Wait::asynchronous);
}

KTRACE_HIP_EXPORT hipError_t hipMemcpyPeer(void* destination, int destination_device, const void* source,
                                           int source_device, size_t size) {
  const Runtime& runtime = Runtime::get();
  if (!runtime.is_device(destination_device) || !runtime.is_device(source_device)) {
    return finish_call(hipErrorInvalidDevice);
  }
  return copy(destination, source, size, hipMemcpyDefault, nullptr, Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyPeerAsync(void* destination, int destination_device, const void* source,
                                                int source_device, size_t size, hipStream_t stream) {
  const Runtime& runtime = Runtime::get();
  if (!runtime.is_device(destination_device) || !runtime.is_device(source_device)) {
    return finish_call(hipErrorInvalidDevice);
  }
  return copy(destination, source, size, hipMemcpyDefault, stream, Wait::asynchronous);
}

KTRACE_HIP_EXPORT hipError_t hipMemcpy2D(void* destination, size_t destination_pitch, const void* source,
                                         size_t source_pitch, size_t width, size_t height,
                                         hipMemcpyKind kind) {
  return copy_2d(destination, destination_pitch, source, source_pitch, width, height, kind, nullptr,
                 Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpy2D_spt(void* destination, size_t destination_pitch, const void* source,
                                             size_t source_pitch, size_t width, size_t height,
                                             hipMemcpyKind kind) {
  return copy_2d(destination, destination_pitch, source, source_pitch, width, height, kind,
                 per_thread(nullptr), Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpy2DAsync(void* destination, size_t destination_pitch, const void* source,
                                              size_t source_pitch, size_t width, size_t height,
                                              hipMemcpyKind kind, hipStream_t stream) {
  return copy_2d(destination, destination_pitch, source, source_pitch, width, height, kind, stream,
                 Wait::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpy2DAsync_spt(void* destination, size_t destination_pitch,
                                                  const void* source, size_t source_pitch, size_t width,
                                                  size_t height, hipMemcpyKind kind, hipStream_t stream) {
  return copy_2d(destination, destination_pitch, source, source_pitch, width, height, kind,
                 per_thread(stream), Wait::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyParam2D(const hip_Memcpy2D* copy) {
  return copy_param_2d(copy, nullptr, Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D* copy, hipStream_t stream) {
  return copy_param_2d(copy, stream, Wait::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipDrvMemcpy2DUnaligned(const hip_Memcpy2D* copy) {
  return copy_param_2d(copy, nullptr, Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpy3D(const hipMemcpy3DParms* params) {
  return copy_3d(params, nullptr, Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms* params, hipStream_t stream) {
  return copy_3d(params, stream, Wait::asynchronous);
}

KTRACE_HIP_EXPORT hipError_t hipMemcpyToSymbol(const void* symbol, const void* source, size_t size,
                                               size_t offset, hipMemcpyKind kind) {
  return copy_to_symbol(symbol, source, size, offset, kind, nullptr, Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyToSymbol_spt(const void* symbol, const void* source, size_t size,
                                                   size_t offset, hipMemcpyKind kind) {
  return copy_to_symbol(symbol, source, size, offset, kind, per_thread(nullptr), Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyToSymbolAsync(const void* symbol, const void* source, size_t size,
                                                    size_t offset, hipMemcpyKind kind, hipStream_t stream) {
  return copy_to_symbol(symbol, source, size, offset, kind, stream, Wait::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyFromSymbol(void* destination, const void* symbol, size_t size,
                                                 size_t offset, hipMemcpyKind kind) {
  return copy_from_symbol(destination, symbol, size, offset, kind, nullptr, Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyFromSymbol_spt(void* destination, const void* symbol, size_t size,
                                                     size_t offset, hipMemcpyKind kind) {
  return copy_from_symbol(destination, symbol, size, offset, kind, per_thread(nullptr), Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyFromSymbolAsync(void* destination, const void* symbol, size_t size,
                                                      size_t offset, hipMemcpyKind kind, hipStream_t stream) {
  return copy_from_symbol(destination, symbol, size, offset, kind, stream, Wait::asynchronous);
}
