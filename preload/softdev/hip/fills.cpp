// hipMemset*: filling device memory with 1-, 2- and 4-byte patterns.
#include <cstdint>

#include "hip/call.hpp"
#include "hip/capture.hpp"
#include "hip/transfers.hpp"

namespace ktrace::softdev::hip {

namespace {

// The host does not wait, also not in the calls without a stream.
hipError_t fill(hipStream_t stream, const hipMemsetParams& what) {
  return stream_call(
      cost::enqueue, stream, hipErrorContextIsDestroyed,
      [&](Runtime& runtime, DeviceState& state, Stream& target, DeviceWork& work) -> hipError_t {
        if (what.width == 0 || what.height == 0) {
          return hipSuccess;
        }
        const hipError_t error = check_fill(runtime, what);
        return error != hipSuccess
                   ? error
                   : run_or_capture(runtime, state, target, work, NodeType::fill, FillWork{what});
      });
}

hipMemsetParams elements(void* destination, uint32_t value, unsigned size, size_t count) {
  return {destination, size, 1, size * count, value, count};
}

hipError_t fill_bytes(void* destination, int value, size_t size, hipStream_t stream) {
  return fill(stream, elements(destination, static_cast<uint32_t>(value), 1, size));
}

hipError_t fill_2d(void* destination, size_t pitch, int value, size_t width, size_t height,
                   hipStream_t stream) {
  return fill(stream, {destination, 1, height, pitch, static_cast<uint32_t>(value), width});
}

hipError_t fill_3d(const hipPitchedPtr& pitched, int value, const hipExtent& extent, hipStream_t stream) {
  for (size_t layer = 0; layer < extent.depth; ++layer) {
    uint8_t* place = static_cast<uint8_t*>(pitched.ptr) + layer * pitched.ysize * pitched.pitch;
    const hipError_t error = fill_2d(place, pitched.pitch, value, extent.width, extent.height, stream);
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
  return fill_bytes(destination, value, size, nullptr);
}
KTRACE_HIP_EXPORT hipError_t hipMemset_spt(void* destination, int value, size_t size) {
  return fill_bytes(destination, value, size, per_thread(nullptr));
}
KTRACE_HIP_EXPORT hipError_t hipMemsetAsync(void* destination, int value, size_t size, hipStream_t stream) {
  return fill_bytes(destination, value, size, stream);
}
KTRACE_HIP_EXPORT hipError_t hipMemsetAsync_spt(void* destination, int value, size_t size,
                                                hipStream_t stream) {
  return fill_bytes(destination, value, size, per_thread(stream));
}

KTRACE_HIP_EXPORT hipError_t hipMemsetD8(hipDeviceptr_t destination, unsigned char value, size_t count) {
  return fill(nullptr, elements(destination, value, 1, count));
}
KTRACE_HIP_EXPORT hipError_t hipMemsetD8Async(hipDeviceptr_t destination, unsigned char value, size_t count,
                                              hipStream_t stream) {
  return fill(stream, elements(destination, value, 1, count));
}
KTRACE_HIP_EXPORT hipError_t hipMemsetD16(hipDeviceptr_t destination, unsigned short value, size_t count) {
  return fill(nullptr, elements(destination, value, 2, count));
}
KTRACE_HIP_EXPORT hipError_t hipMemsetD16Async(hipDeviceptr_t destination, unsigned short value, size_t count,
                                               hipStream_t stream) {
  return fill(stream, elements(destination, value, 2, count));
}
KTRACE_HIP_EXPORT hipError_t hipMemsetD32(hipDeviceptr_t destination, int value, size_t count) {
  return fill(nullptr, elements(destination, static_cast<uint32_t>(value), 4, count));
}
KTRACE_HIP_EXPORT hipError_t hipMemsetD32Async(hipDeviceptr_t destination, int value, size_t count,
                                               hipStream_t stream) {
  return fill(stream, elements(destination, static_cast<uint32_t>(value), 4, count));
}

KTRACE_HIP_EXPORT hipError_t hipMemset2D(void* destination, size_t pitch, int value, size_t width,
                                         size_t height) {
  return fill_2d(destination, pitch, value, width, height, nullptr);
}
KTRACE_HIP_EXPORT hipError_t hipMemset2D_spt(void* destination, size_t pitch, int value, size_t width,
                                             size_t height) {
  return fill_2d(destination, pitch, value, width, height, per_thread(nullptr));
}
KTRACE_HIP_EXPORT hipError_t hipMemset2DAsync(void* destination, size_t pitch, int value, size_t width,
                                              size_t height, hipStream_t stream) {
  return fill_2d(destination, pitch, value, width, height, stream);
}
KTRACE_HIP_EXPORT hipError_t hipMemset2DAsync_spt(void* destination, size_t pitch, int value, size_t width,
                                                  size_t height, hipStream_t stream) {
  return fill_2d(destination, pitch, value, width, height, per_thread(stream));
}

KTRACE_HIP_EXPORT hipError_t hipMemset3D(hipPitchedPtr pitched, int value, hipExtent extent) {
  return fill_3d(pitched, value, extent, nullptr);
}
KTRACE_HIP_EXPORT hipError_t hipMemset3DAsync(hipPitchedPtr pitched, int value, hipExtent extent,
                                              hipStream_t stream) {
  return fill_3d(pitched, value, extent, stream);
}
