// hipMemset*: filling device memory with 1-, 2- and 4-byte patterns.
#include <cstdint>
#include <cstring>

#include "hip/call.hpp"
#include "hip/graph.hpp"
#include "hip/memory.hpp"

namespace ktrace::softdev::hip {

namespace {

// Rows of `count` elements of `element` bytes, `pitch` bytes apart.
struct Fill {
  void* destination;
  size_t pitch;
  uint32_t value;
  size_t element;  // bytes
  size_t count;    // elements in a row
  size_t rows;

  size_t width() const { return element * count; }
  size_t span() const { return (rows - 1) * pitch + width(); }
};

void write_rows(const Fill& fill) {
  for (size_t row = 0; row < fill.rows; ++row) {
    uint8_t* place = static_cast<uint8_t*>(fill.destination) + row * fill.pitch;
    if (fill.element == 1) {
      std::memset(place, static_cast<int>(fill.value & 0xff), fill.count);
      continue;
    }
    for (size_t index = 0; index < fill.count; ++index) {
      std::memcpy(place + index * fill.element, &fill.value, fill.element);
    }
  }
}

// Unlike a copy, a fill must know its memory: host pointers that HIP did not see are refused, as HIP does.
hipError_t check(const Runtime& runtime, const Fill& fill) {
  if (fill.destination == nullptr || !runtime.registry.find(fill.destination)) {
    return hipErrorInvalidValue;
  }
  if (fill.rows > 1 && fill.pitch < fill.width()) {
    return hipErrorInvalidValue;
  }
  return is_within_allocation(runtime, fill.destination, fill.span()) ? hipSuccess : hipErrorInvalidValue;
}

hipError_t run_fill(Runtime& runtime, Stream& stream, const Fill& what) {
  const hipError_t error = check(runtime, what);  // again at each replay: the memory may be gone
  if (error == hipSuccess) {
    stream.ready = runtime.begin_time(stream) + device_cost::copy_latency +
                   what.width() * what.rows * 1000 / device_cost::device_bytes_per_us;
    write_rows(what);
  }
  return error;
}

// The host does not wait, also not in the calls without a stream.
hipError_t fill(hipStream_t stream, const Fill& what) {
  return stream_call(
      cost::enqueue, stream, hipErrorContextIsDestroyed,
      [&](Runtime& runtime, DeviceState& state, Stream& target, DeviceWork& work) -> hipError_t {
        if (what.count == 0 || what.rows == 0) {
          return hipSuccess;
        }
        const hipError_t error = check(runtime, what);
        if (error != hipSuccess) {
          return error;
        }
        return run_or_capture(runtime, state, target, work, NodeType::fill,
                              [what](Runtime& now, DeviceState&, Stream& where, DeviceWork&) {
                                return run_fill(now, where, what);
                              });
      });
}

hipError_t fill_bytes(void* destination, int value, size_t size, hipStream_t stream) {
  return fill(stream, {destination, size, static_cast<uint32_t>(value), 1, size, 1});
}

hipError_t fill_2d(void* destination, size_t pitch, int value, size_t width, size_t height,
                   hipStream_t stream) {
  return fill(stream, {destination, pitch, static_cast<uint32_t>(value), 1, width, height});
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

Operation fill_operation(void* destination, size_t pitch, uint32_t value, size_t element, size_t count,
                         size_t rows) {
  const Fill what{destination, pitch, value, element, count, rows};
  return [what](Runtime& runtime, DeviceState&, Stream& stream, DeviceWork&) {
    return run_fill(runtime, stream, what);
  };
}

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
  return fill(nullptr, {destination, count, value, 1, count, 1});
}
KTRACE_HIP_EXPORT hipError_t hipMemsetD8Async(hipDeviceptr_t destination, unsigned char value, size_t count,
                                              hipStream_t stream) {
  return fill(stream, {destination, count, value, 1, count, 1});
}
KTRACE_HIP_EXPORT hipError_t hipMemsetD16(hipDeviceptr_t destination, unsigned short value, size_t count) {
  return fill(nullptr, {destination, count * 2, value, 2, count, 1});
}
KTRACE_HIP_EXPORT hipError_t hipMemsetD16Async(hipDeviceptr_t destination, unsigned short value, size_t count,
                                               hipStream_t stream) {
  return fill(stream, {destination, count * 2, value, 2, count, 1});
}
KTRACE_HIP_EXPORT hipError_t hipMemsetD32(hipDeviceptr_t destination, int value, size_t count) {
  return fill(nullptr, {destination, count * 4, static_cast<uint32_t>(value), 4, count, 1});
}
KTRACE_HIP_EXPORT hipError_t hipMemsetD32Async(hipDeviceptr_t destination, int value, size_t count,
                                               hipStream_t stream) {
  return fill(stream, {destination, count * 4, static_cast<uint32_t>(value), 4, count, 1});
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
