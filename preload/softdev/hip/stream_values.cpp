// hipStreamWriteValue*, hipStreamWaitValue*: memory as a flag between streams, and between streams and the
// host.
//
// Work is done when it is enqueued, so a wait that memory does not satisfy yet cannot be kept for later: it
// is refused, and said, rather than skipped. The attribute that promises waiting says no.
#include <cstring>
#include <functional>

#include "hip/capture.hpp"

namespace ktrace::softdev::hip {

namespace {

enum WaitCondition : unsigned { at_least = 0, equal = 1, any_bit = 2, not_all_bits = 3 };

bool holds(uint64_t value, uint64_t wanted, unsigned condition, bool is_64_bit) {
  switch (condition) {
    case at_least:  // cyclic, as the hardware compares
      return is_64_bit ? static_cast<int64_t>(value - wanted) >= 0
                       : static_cast<int32_t>(static_cast<uint32_t>(value - wanted)) >= 0;
    case equal:
      return value == wanted;
    case any_bit:
      return (value & wanted) != 0;
    default:
      return is_64_bit ? ~(value | wanted) != 0 : static_cast<uint32_t>(~(value | wanted)) != 0;
  }
}

// `body` gets a stream that does not capture and a pointer into memory that HIP knows.
template <class Body>
hipError_t with_value(hipStream_t stream, void* pointer, size_t size, Body&& body) {
  if (pointer == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  return stream_call(
      cost::enqueue, stream, hipErrorContextIsDestroyed,
      [&](Runtime& runtime, DeviceState&, Stream& target, DeviceWork&) -> hipError_t {
        const auto allocation = runtime.registry.find(pointer);
        if (!allocation ||
            allocation->size - (reinterpret_cast<uintptr_t>(pointer) - allocation->base) < size) {
          return hipErrorInvalidValue;
        }
        const hipError_t error = refuse_while_capturing(target);
        return error != hipSuccess ? error : body(runtime, target);
      });
}

template <class Value>
hipError_t write_value(hipStream_t stream, void* pointer, Value value) {
  return with_value(stream, pointer, sizeof value, [&](Runtime& runtime, Stream& target) {
    target.ready = runtime.begin_time(target) + cost::call;
    std::memcpy(pointer, &value, sizeof value);
    return hipSuccess;
  });
}

template <class Value>
hipError_t wait_value(hipStream_t stream, void* pointer, Value wanted, unsigned condition, Value mask) {
  if (condition > not_all_bits) {
    return finish_call(hipErrorInvalidValue);
  }
  return with_value(stream, pointer, sizeof wanted, [&](Runtime& runtime, Stream& target) -> hipError_t {
    Value value = 0;
    std::memcpy(&value, pointer, sizeof value);
    if (!holds(value & mask, wanted, condition, sizeof value == 8)) {
      say("hipStreamWaitValue: %p does not hold the value yet, and a stream cannot be kept waiting", pointer);
      return hipErrorNotSupported;
    }
    target.ready = runtime.begin_time(target) + cost::call;
    return hipSuccess;
  });
}

}  // namespace

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev::hip;

KTRACE_HIP_EXPORT hipError_t hipStreamWriteValue32(hipStream_t stream, void* pointer, uint32_t value,
                                                   unsigned) {
  return write_value(stream, pointer, value);
}
KTRACE_HIP_EXPORT hipError_t hipStreamWriteValue64(hipStream_t stream, void* pointer, uint64_t value,
                                                   unsigned) {
  return write_value(stream, pointer, value);
}
KTRACE_HIP_EXPORT hipError_t hipStreamWaitValue32(hipStream_t stream, void* pointer, uint32_t value,
                                                  unsigned condition, uint32_t mask) {
  return wait_value(stream, pointer, value, condition, mask);
}
KTRACE_HIP_EXPORT hipError_t hipStreamWaitValue64(hipStream_t stream, void* pointer, uint64_t value,
                                                  unsigned condition, uint64_t mask) {
  return wait_value(stream, pointer, value, condition, mask);
}
