// Copies and fills, without the calls.
#include "hip/transfers.hpp"

#include <cstring>
#include <optional>

#include "core/mapped.hpp"
#include "hip/memory.hpp"

namespace ktrace::softdev::hip {

namespace {

bool is_known(hipMemcpyKind kind) { return kind <= hipMemcpyDefault || kind == hipMemcpyDeviceToDeviceNoCU; }

// The device whose memory the pointer is into, if it is a device's.
std::optional<int> device_of(const Runtime& runtime, const void* pointer) {
  const auto allocation = runtime.registry.find(pointer);
  const bool is_device =
      allocation && (allocation->kind == MemoryKind::device || allocation->kind == MemoryKind::internal ||
                     allocation->kind == MemoryKind::adopted);
  return is_device ? std::optional<int>(allocation->device) : std::nullopt;
}

uint8_t* place_in(const hipPitchedPtr& pointer, const hipPos& position, size_t layer, size_t row) {
  return static_cast<uint8_t*>(pointer.ptr) +
         ((position.z + layer) * pointer.ysize + position.y + row) * pointer.pitch + position.x;
}

// count * size + more, unless that is too much for any memory.
std::optional<size_t> scaled_sum(size_t count, size_t size, size_t more) {
  size_t product = 0, sum = 0;
  if (__builtin_mul_overflow(count, size, &product) || __builtin_add_overflow(product, more, &sum)) {
    return std::nullopt;
  }
  return sum;
}

// All bytes from the pointer to the box's last one.
std::optional<size_t> reach_of(const hipPitchedPtr& pointer, const hipPos& position,
                               const hipExtent& extent) {
  const auto layers = scaled_sum(1, position.z, extent.depth - 1);
  const auto rows_within = scaled_sum(1, position.y, extent.height - 1);
  const auto bytes = scaled_sum(1, position.x, extent.width);
  if (!layers || !rows_within || !bytes) {
    return std::nullopt;
  }
  const auto rows = scaled_sum(*layers, pointer.ysize, *rows_within);
  return rows ? scaled_sum(*rows, pointer.pitch, *bytes) : std::nullopt;
}

bool is_inside(const Runtime& runtime, const hipPitchedPtr& pointer, const hipPos& position,
               const hipExtent& extent) {
  const auto reach = reach_of(pointer, position, extent);
  return reach && is_within_allocation(runtime, pointer.ptr, *reach);
}

size_t bytes_of(const hipExtent& extent) { return extent.width * extent.height * extent.depth; }

Nanoseconds duration_of(size_t bytes, bool on_device) {
  const uint64_t rate = on_device ? device_cost::device_bytes_per_us : device_cost::host_bytes_per_us;
  return device_cost::copy_latency + bytes * 1000 / rate;
}

size_t width_of(const hipMemsetParams& fill) { return fill.width * fill.elementSize; }

void write_rows(const hipMemsetParams& fill) {
  if (fill.width == 0) {
    return;
  }
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
  if (box.extent.width == 0 || box.extent.height == 0 || box.extent.depth == 0) {
    return hipSuccess;
  }
  const bool has_rows = box.extent.height > 1 || box.extent.depth > 1;
  if (has_rows && (box.extent.width > box.srcPtr.pitch || box.extent.width > box.dstPtr.pitch)) {
    return hipErrorInvalidPitchValue;
  }
  const bool has_layers = box.extent.depth > 1;
  if (has_layers && (box.extent.height > box.srcPtr.ysize || box.extent.height > box.dstPtr.ysize)) {
    return hipErrorInvalidValue;
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
  const auto width = scaled_sum(fill.width, fill.elementSize, 0);
  if (!width || (fill.height > 1 && fill.pitch < *width)) {
    return hipErrorInvalidValue;
  }
  const auto span = fill.height == 0 ? size_t{0} : scaled_sum(fill.height - 1, fill.pitch, *width);
  return span && is_within_allocation(runtime, fill.dst, *span) ? hipSuccess : hipErrorInvalidValue;
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
  if (!allocation) {  // the program's own memory: of which HIP would find out by crashing
    return is_mapped(pointer, size);
  }
  const uint64_t begin = reinterpret_cast<uintptr_t>(pointer);
  uint64_t end = allocation->base + allocation->size;
  // Mapped memory goes on where more is mapped behind it.
  for (auto last = allocation; size > end - begin; end = last->base + last->size) {
    const auto next = runtime.registry.find(reinterpret_cast<const void*>(end));
    if (last->kind != MemoryKind::adopted || !next || next->kind != MemoryKind::adopted) {
      return false;
    }
    last = next;
  }
  return true;
}

}  // namespace ktrace::softdev::hip
