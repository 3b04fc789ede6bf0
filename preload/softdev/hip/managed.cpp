// Stream-ordered allocation, and advice about managed memory.
//
// hipMallocAsync takes memory at once and hipFreeAsync gives it back at once: whatever was enqueued to use it
// has been done by then. Only the time is the stream's.
#include <cstring>

#include "hip/call.hpp"
#include "hip/memory.hpp"

namespace ktrace::softdev::hip {

namespace {

hipError_t check_range(const Runtime& runtime, const void* pointer, size_t size) {
  const bool is_known = pointer != nullptr && size != 0 && runtime.registry.find(pointer);
  return is_known && is_within_allocation(runtime, pointer, size) ? hipSuccess : hipErrorInvalidValue;
}

// hipCpuDeviceId means the host.
bool is_place(const Runtime& runtime, int device) { return device == -1 || runtime.is_device(device); }

}  // namespace

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev;
using namespace ktrace::softdev::hip;

KTRACE_HIP_EXPORT hipError_t hipMallocAsync(void** pointer, size_t size, hipStream_t stream) {
  return stream_call(cost::enqueue, stream, hipErrorInvalidHandle,
                     [&](Runtime& runtime, DeviceState& state, Stream&, DeviceWork&) {
                       return allocate_device_memory(runtime, pointer, size, state.machine.index());
                     });
}

KTRACE_HIP_EXPORT hipError_t hipFreeAsync(void* pointer, hipStream_t stream) {
  return stream_call(cost::enqueue, stream, hipErrorInvalidHandle,
                     [&](Runtime& runtime, DeviceState& state, Stream&, DeviceWork&) -> hipError_t {
                       const auto allocation = runtime.registry.find(pointer);
                       if (!allocation || allocation->base != reinterpret_cast<uintptr_t>(pointer) ||
                           allocation->kind != MemoryKind::device ||
                           allocation->device != state.machine.index()) {
                         return hipErrorInvalidValue;
                       }
                       runtime.registry.release(pointer);
                       runtime.note_by_base.erase(allocation->base);
                       state.allocated -= allocation->size;
                       return hipSuccess;
                     });
}

KTRACE_HIP_EXPORT hipError_t hipMemPrefetchAsync(const void* pointer, size_t size, int device,
                                                 hipStream_t stream) {
  return stream_call(cost::enqueue, stream, hipErrorInvalidHandle,
                     [&](Runtime& runtime, DeviceState&, Stream& target, DeviceWork&) -> hipError_t {
                       if (!is_place(runtime, device)) {
                         return hipErrorInvalidDevice;
                       }
                       const hipError_t error = check_range(runtime, pointer, size);
                       if (error == hipSuccess) {
                         target.ready = runtime.begin_time(target) + device_cost::copy_latency +
                                        size * 1000 / device_cost::host_bytes_per_us;
                       }
                       return error;
                     });
}

// Advice changes nothing in a model where all memory is the host's; wrong advice is still refused.
KTRACE_HIP_EXPORT hipError_t hipMemAdvise(const void* pointer, size_t size, unsigned, int device) {
  return call(cost::call, [&](Runtime& runtime) {
    return is_place(runtime, device) ? check_range(runtime, pointer, size) : hipErrorInvalidDevice;
  });
}

KTRACE_HIP_EXPORT hipError_t hipStreamAttachMemAsync(hipStream_t stream, void* pointer, size_t, unsigned) {
  return stream_call(cost::enqueue, stream, hipErrorContextIsDestroyed,
                     [&](Runtime& runtime, DeviceState&, Stream&, DeviceWork&) {
                       const auto allocation = runtime.registry.find(pointer);
                       return allocation && allocation->kind == MemoryKind::managed ? hipSuccess
                                                                                    : hipErrorInvalidValue;
                     });
}
