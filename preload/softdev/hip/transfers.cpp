// Copies and fills, without the calls.
#include "hip/transfers.hpp"

#include <cstring>
#include <optional>

#include "hip/memory.hpp"

namespace ktrace::softdev::hip {

namespace {

bool is_known(hipMemcpyKind kind) { return kind <= hipMemcpyDefault || kind == hipMemcpyDeviceToDeviceNoCU; }

// The device whose memory the pointer is into, if it is a device's.
std::optional<int> device_of(const Runtime& runtime, const void* pointer) {
  const auto allocation = runtime.registry.find(pointer);
  const bool is_device =
      allocation && (allocation->kind == MemoryKind::device || allocation->kind == MemoryKind::internal);
  return is_device ? std::optional<int>(allocation->device) : std::nullopt;
}

uint8_t* place_in(const hipPitchedPtr& pointer, const hipPos& position, size_t layer, size_t row) {
  return static_cast<uint8_t*>(pointer.ptr) +
         ((position.z + layer) * pointer.ysize + position.y + row) * pointer.pitch + position.x;
}

// All bytes from the box's first one to its last one.
bool is_inside(const Runtime& runtime, const hipPitchedPtr& pointer, const hipPos& position,
               const hipExtent& extent) {
  const uint8_t* first = place_in(pointer, position, 0, 0);
  const uint8_t* last = place_in(pointer, position, extent.depth - 1, extent.height - 1) + extent.width;
  return is_within_allocation(runtime, first, static_cast<size_t>(last - first));
}

size_t bytes_of(const hipExtent& extent) { return extent.width * extent.height * extent.depth; }

Nanoseconds duration_of(size_t bytes, bool on_device) {
  const uint64_t rate = on_device ? device_cost::device_bytes_per_us : device_cost::host_bytes_per_us;
  return device_cost::copy_latency + bytes * 1000 / rate;
}

size_t width_of(const hipMemsetParams& fill) { return fill.width * fill.elementSize; }

void write_rows(const hipMemsetParams& fill) {
  for (size_t row = 0; row < fill.height; ++row) {
    uint8_t* place = static_cast<uint8_t*>(fill.dst) + row * fill.pitch;
    if (fill.elementSize == 1) {
      std::memset(place, static_cast<int>(fill.value & 0xff), fill.width);
      continue;
    }
    for (size_t index = 0; index < fill.width; ++index) {
      std::memcpy(place + index * fill.elementSize, &fill.value, fill.elementSize);
    }
  }
}

}  // namespace

hipMemcpy3DParms box_of(void* destination, size_t destination_pitch, const void* source, size_t source_pitch,
                        size_t width, size_t height, hipMemcpyKind kind) {
  hipMemcpy3DParms box{};
  box.srcPtr = {const_cast<void*>(source), source_pitch, width, height};
  box.dstPtr = {destination, destination_pitch, width, height};
  box.extent = {width, height, 1};
  box.kind = kind;
  return box;
}

hipError_t check_copy(const Runtime& runtime, const hipMemcpy3DParms& box) {
  if (box.srcArray != nullptr || box.dstArray != nullptr) {
    return hipErrorNotSupported;  // images
  }
  if (box.srcPtr.ptr == nullptr || box.dstPtr.ptr == nullptr) {
    return hipErrorInvalidValue;
  }
  if (!is_known(box.kind)) {
    return hipErrorInvalidMemcpyDirection;
  }
  if (bytes_of(box.extent) == 0) {
    return hipSuccess;
  }
  const bool has_rows = box.extent.height > 1 || box.extent.depth > 1;
  if (has_rows && (box.extent.width > box.srcPtr.pitch || box.extent.width > box.dstPtr.pitch)) {
    return hipErrorInvalidPitchValue;
  }
  return is_inside(runtime, box.srcPtr, box.srcPos, box.extent) &&
                 is_inside(runtime, box.dstPtr, box.dstPos, box.extent)
             ? hipSuccess
             : hipErrorInvalidValue;
}

bool stays_on_device(const Runtime& runtime, const hipMemcpy3DParms& box) {
  const std::optional<int> source = device_of(runtime, box.srcPtr.ptr);
  return source && source == device_of(runtime, box.dstPtr.ptr);
}

hipError_t run_copy(Runtime& runtime, Stream& stream, const hipMemcpy3DParms& box) {
  const hipError_t error = check_copy(runtime, box);  // again at each replay: the memory may be gone
  if (error != hipSuccess) {
    return error;
  }
  stream.ready =
      runtime.begin_time(stream) + duration_of(bytes_of(box.extent), stays_on_device(runtime, box));
  for (size_t layer = 0; layer < box.extent.depth; ++layer) {
    for (size_t row = 0; row < box.extent.height; ++row) {
      std::memmove(place_in(box.dstPtr, box.dstPos, layer, row), place_in(box.srcPtr, box.srcPos, layer, row),
                   box.extent.width);
    }
  }
  return hipSuccess;
}

// Unlike a copy, a fill must know its memory: host pointers that HIP did not see are refused, as HIP does.
hipError_t check_fill(const Runtime& runtime, const hipMemsetParams& fill) {
  if (fill.dst == nullptr || !runtime.registry.find(fill.dst)) {
    return hipErrorInvalidValue;
  }
  if (fill.height > 1 && fill.pitch < width_of(fill)) {
    return hipErrorInvalidValue;
  }
  const size_t span = fill.height == 0 ? 0 : (fill.height - 1) * fill.pitch + width_of(fill);
  return is_within_allocation(runtime, fill.dst, span) ? hipSuccess : hipErrorInvalidValue;
}

hipError_t run_fill(Runtime& runtime, Stream& stream, const hipMemsetParams& fill) {
  const hipError_t error = check_fill(runtime, fill);  // again at each replay: the memory may be gone
  if (error == hipSuccess) {
    stream.ready = runtime.begin_time(stream) + device_cost::copy_latency +
                   width_of(fill) * fill.height * 1000 / device_cost::device_bytes_per_us;
    write_rows(fill);
  }
  return error;
}

bool is_within_allocation(const Runtime& runtime, const void* pointer, size_t size) {
  const auto allocation = runtime.registry.find(pointer);
  return !allocation || size <= allocation->size - (reinterpret_cast<uintptr_t>(pointer) - allocation->base);
}

}  // namespace ktrace::softdev::hip
