// Settings that HIP knows and AMD devices do not act on: kept to HIP's rules, without effect.
#include <algorithm>

#include "hip/call.hpp"

namespace ktrace::softdev::hip {

namespace {

constexpr int limit_stack = 0;
constexpr int limit_heap = 2;
constexpr size_t stack_bytes = 1024;

template <class Value>
hipError_t store(Value* out, Value value) {
  return call(cost::query, [&](Runtime&) -> hipError_t {
    if (out == nullptr) {
      return hipErrorInvalidValue;
    }
    *out = value;
    return hipSuccess;
  });
}

hipError_t check_range(int value, int last) {
  return call(cost::query,
              [&](Runtime&) { return value < 0 || value > last ? hipErrorInvalidValue : hipSuccess; });
}

}  // namespace

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev::hip;

KTRACE_HIP_EXPORT hipError_t hipDeviceGetCacheConfig(int* config) { return store(config, 0); }
KTRACE_HIP_EXPORT hipError_t hipDeviceSetCacheConfig(int config) { return check_range(config, 3); }
KTRACE_HIP_EXPORT hipError_t hipDeviceGetSharedMemConfig(int* config) { return store(config, 1); }
KTRACE_HIP_EXPORT hipError_t hipDeviceSetSharedMemConfig(int config) { return check_range(config, 2); }

KTRACE_HIP_EXPORT hipError_t hipDeviceGetLimit(size_t* value, int limit) {
  if (value != nullptr && limit != limit_stack && limit != limit_heap) {
    return finish_call(hipErrorUnsupportedLimit);
  }
  return store(value, limit == limit_stack ? stack_bytes : size_t{0});
}

KTRACE_HIP_EXPORT hipError_t hipDeviceSetLimit(int limit, size_t) {
  const bool is_known = limit == limit_stack || limit == limit_heap;
  return finish_call(is_known ? hipSuccess : hipErrorUnsupportedLimit);
}

// How a thread waits is of no consequence here.
KTRACE_HIP_EXPORT hipError_t hipSetDeviceFlags(unsigned flags) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    constexpr unsigned known = 0x1f;
    if ((flags & ~known) != 0) {
      return hipErrorInvalidValue;
    }
    runtime.device(current_device()).flags = flags;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGetDeviceFlags(unsigned* flags) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    if (flags == nullptr) {
      return hipErrorInvalidValue;
    }
    *flags = runtime.device(current_device()).flags;
    return hipSuccess;
  });
}

// HIP deprecated these in favour of roctracer; they do nothing there either.
KTRACE_HIP_EXPORT hipError_t hipProfilerStart() { return hipSuccess; }
KTRACE_HIP_EXPORT hipError_t hipProfilerStop() { return hipSuccess; }
