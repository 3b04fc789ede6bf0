// hipMemset*: filling device memory with 1-, 2- and 4-byte patterns.
#include <cstdint>

#include "hip/call.hpp"
#include "hip/capture.hpp"
#include "hip/transfers.hpp"

namespace ktrace::softdev::hip {

namespace {

// The host waits in none of them, but no capture stands the calls without a stream.
enum class Call : uint8_t { asynchronous, synchronous };

hipError_t fill(hipStream_t stream, const hipMemsetParams& what, Call kind) {
  return stream_call(
      cost::enqueue, stream, hipErrorContextIsDestroyed,
      [&](Runtime& runtime, DeviceState& state, Stream& target, DeviceWork& work) -> hipError_t {
        if (what.width == 0 || what.height == 0) {
          return hipSuccess;
        }
        hipError_t error = check_fill(runtime, what);
        if (error == hipSuccess && kind == Call::synchronous) {
          error = refuse_all_captures(runtime, hipErrorStreamCaptureImplicit);
        }
        return error != hipSuccess
                   ? error
                   : run_or_capture(runtime, state, target, work, NodeType::fill, FillWork{what});
      });
}

hipMemsetParams elements(void* destination, uint32_t value, unsigned size, size_t count) {
  return {destination, size, 1, size * count, value, count};
}

hipError_t fill_bytes(void* destination, int value, size_t size, hipStream_t stream, Call kind) {
  return fill(stream, elements(destination, static_cast<uint32_t>(value), 1, size), kind);
}

hipError_t fill_2d(void* destination, size_t pitch, int value, size_t width, size_t height,
                   hipStream_t stream, Call kind) {
  return fill(stream, {destination, 1, height, pitch, static_cast<uint32_t>(value), width}, kind);
}

hipError_t fill_3d(const hipPitchedPtr& pitched, int value, const hipExtent& extent, hipStream_t stream,
                   Call kind) {
  const bool is_empty = extent.width == 0 || extent.height == 0 || extent.depth == 0;
  if (is_empty || extent.depth == 1) {
    return fill_2d(pitched.ptr, pitched.pitch, value, is_empty ? 0 : extent.width,
                   is_empty ? 0 : extent.height, stream, kind);
  }
  size_t layer_size = 0, reach = 0;
  const bool is_too_far = __builtin_mul_overflow(pitched.ysize, pitched.pitch, &layer_size) ||
                          __builtin_mul_overflow(layer_size, extent.depth, &reach) ||
                          reach > UINTPTR_MAX - reinterpret_cast<uintptr_t>(pitched.ptr);
  if (pitched.ptr == nullptr || is_too_far || pitched.ysize < extent.height || pitched.pitch < extent.width) {
    return finish_call(hipErrorInvalidValue);
  }
  for (size_t layer = 0; layer < extent.depth; ++layer) {
    uint8_t* place = static_cast<uint8_t*>(pitched.ptr) + layer * layer_size;
    const hipError_t error = fill_2d(place, pitched.pitch, value, extent.width, extent.height, stream, kind);
    if (error != hipSuccess) {
      return error;
    }
  }
  return hipSuccess;
}

}  // namespace

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev::hip;

KTRACE_HIP_EXPORT hipError_t hipMemset(void* destination, int value, size_t size) {
  return fill_bytes(destination, value, size, nullptr, Call::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemset_spt(void* destination, int value, size_t size) {
  return fill_bytes(destination, value, size, per_thread(nullptr), Call::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemsetAsync(void* destination, int value, size_t size, hipStream_t stream) {
  return fill_bytes(destination, value, size, stream, Call::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemsetAsync_spt(void* destination, int value, size_t size,
                                                hipStream_t stream) {
  return fill_bytes(destination, value, size, per_thread(stream), Call::asynchronous);
}

KTRACE_HIP_EXPORT hipError_t hipMemsetD8(hipDeviceptr_t destination, unsigned char value, size_t count) {
  return fill(nullptr, elements(destination, value, 1, count), Call::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemsetD8Async(hipDeviceptr_t destination, unsigned char value, size_t count,
                                              hipStream_t stream) {
  return fill(stream, elements(destination, value, 1, count), Call::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemsetD16(hipDeviceptr_t destination, unsigned short value, size_t count) {
  return fill(nullptr, elements(destination, value, 2, count), Call::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemsetD16Async(hipDeviceptr_t destination, unsigned short value, size_t count,
                                               hipStream_t stream) {
  return fill(stream, elements(destination, value, 2, count), Call::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemsetD32(hipDeviceptr_t destination, int value, size_t count) {
  return fill(nullptr, elements(destination, static_cast<uint32_t>(value), 4, count), Call::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemsetD32Async(hipDeviceptr_t destination, int value, size_t count,
                                               hipStream_t stream) {
  return fill(stream, elements(destination, static_cast<uint32_t>(value), 4, count), Call::asynchronous);
}

KTRACE_HIP_EXPORT hipError_t hipMemset2D(void* destination, size_t pitch, int value, size_t width,
                                         size_t height) {
  return fill_2d(destination, pitch, value, width, height, nullptr, Call::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemset2D_spt(void* destination, size_t pitch, int value, size_t width,
                                             size_t height) {
  return fill_2d(destination, pitch, value, width, height, per_thread(nullptr), Call::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemset2DAsync(void* destination, size_t pitch, int value, size_t width,
                                              size_t height, hipStream_t stream) {
  return fill_2d(destination, pitch, value, width, height, stream, Call::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemset2DAsync_spt(void* destination, size_t pitch, int value, size_t width,
                                                  size_t height, hipStream_t stream) {
  return fill_2d(destination, pitch, value, width, height, per_thread(stream), Call::asynchronous);
}

KTRACE_HIP_EXPORT hipError_t hipMemset3D(hipPitchedPtr pitched, int value, hipExtent extent) {
  return fill_3d(pitched, value, extent, nullptr, Call::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemset3DAsync(hipPitchedPtr pitched, int value, hipExtent extent,
                                              hipStream_t stream) {
  return fill_3d(pitched, value, extent, stream, Call::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemset3D_spt(hipPitchedPtr pitched, int value, hipExtent extent) {
  return fill_3d(pitched, value, extent, per_thread(nullptr), Call::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemset3DAsync_spt(hipPitchedPtr pitched, int value, hipExtent extent,
                                                  hipStream_t stream) {
  return fill_3d(pitched, value, extent, per_thread(stream), Call::asynchronous);
}

KTRACE_HIP_EXPORT hipError_t hipMemsetD2D8(hipDeviceptr_t destination, size_t pitch, unsigned char value,
                                           size_t width, size_t height) {
  return fill(nullptr, {destination, 1, height, pitch, value, width}, Call::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemsetD2D8Async(hipDeviceptr_t destination, size_t pitch, unsigned char value,
                                                size_t width, size_t height, hipStream_t stream) {
  return fill(stream, {destination, 1, height, pitch, value, width}, Call::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemsetD2D16(hipDeviceptr_t destination, size_t pitch, unsigned short value,
                                            size_t width, size_t height) {
  return fill(nullptr, {destination, 2, height, pitch, value, width}, Call::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemsetD2D16Async(hipDeviceptr_t destination, size_t pitch,
                                                 unsigned short value, size_t width, size_t height,
                                                 hipStream_t stream) {
  return fill(stream, {destination, 2, height, pitch, value, width}, Call::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemsetD2D32(hipDeviceptr_t destination, size_t pitch, unsigned value,
                                            size_t width, size_t height) {
  return fill(nullptr, {destination, 4, height, pitch, value, width}, Call::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemsetD2D32Async(hipDeviceptr_t destination, size_t pitch, unsigned value,
                                                 size_t width, size_t height, hipStream_t stream) {
  return fill(stream, {destination, 4, height, pitch, value, width}, Call::asynchronous);
}
