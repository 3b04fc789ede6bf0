#include "streams.hpp"

#include "own_thread.hpp"

namespace ktrace {
namespace {

// What one thread knows of the streams that it launches on. Without it, each launch would take a lock that
// all threads share.
struct Remembered {
  std::uint64_t generation;
  hipStream_t stream;
  const HipLibrary* hip;
  HipStreams::Facts facts;
};
constexpr std::size_t remembered_streams = 16;
thread_local Remembered remembered[remembered_streams] __attribute__((tls_model("initial-exec"))) = {};

Remembered& place_of(hipStream_t stream) {
  const auto bits = reinterpret_cast<std::uintptr_t>(stream);
  return remembered[((bits >> 4) ^ (bits >> 9) ^ (bits >> 14)) % remembered_streams];
}

bool is_default(hipStream_t stream) {
  return stream == stream_null || stream == stream_legacy || stream == stream_per_thread;
}

// On a thread of ours: a failure is not the application's last error.
int count_devices(const HipLibrary& hip) {
  int count = 0;
  if (!hip.hipGetDeviceCount) return 2;
  run_aside(hip, 0, [&] {
    if (hip.hipGetDeviceCount(&count) != hip_success) count = 0;
  });
  return count > 0 ? count : 2;  // as if there were several: then each is asked for
}

int current_device(const HipLibrary& hip) {
  int current = 0;
  hip.hipGetDevice(&current);
  return current;
}

}  // namespace

std::uint32_t number_of_this_thread() {
  static std::atomic<std::uint32_t> threads{0};
  static thread_local std::uint32_t number __attribute__((tls_model("initial-exec"))) =
      0;  // one more than the number
  if (number == 0) number = ++threads;
  return number - 1;
}

bool HipStreams::has_one_device(const HipLibrary& hip) {
  std::atomic<int>& known = m_device_counts[hip.index];
  int count = known.load(std::memory_order_relaxed);
  if (count == 0) known = count = count_devices(hip);
  return count == 1;
}

HipStreams::Facts HipStreams::facts_of(const HipLibrary& hip, hipStream_t stream) {
  Remembered& place = place_of(stream);
  const std::uint64_t generation = m_generation.load(std::memory_order_acquire);
  if (place.generation == generation && place.stream == stream && place.hip == &hip) {
    Facts facts = place.facts;
    if (is_default(stream) && !has_one_device(hip)) facts.device = current_device(hip);
    return facts;
  }
  const Facts facts = look_up(hip, stream);
  place = {generation, stream, &hip, facts};
  return facts;
}

HipStreams::Facts HipStreams::look_up(const HipLibrary& hip, hipStream_t stream) {
  Facts facts;
  if (!has_one_device(hip)) {
    facts.device = is_default(stream) || !hip.hipGetStreamDeviceId ? -1 : hip.hipGetStreamDeviceId(stream);
    if (facts.device < 0) facts.device = current_device(hip);
  }
  facts.number = number_of(stream);
  return facts;
}

// Each thread has its own default stream behind `stream_per_thread`.
std::uint64_t HipStreams::number_of(hipStream_t stream) {
  if (stream == stream_null || stream == stream_legacy) return 0;
  const Key key{stream, stream == stream_per_thread ? number_of_this_thread() : 0};
  const std::lock_guard lock(m_mutex);
  const auto [entry, is_new] = m_number_by_stream.emplace(key, m_next);
  if (is_new) ++m_next;
  return entry->second;
}

void HipStreams::forget(hipStream_t stream) {
  const std::lock_guard lock(m_mutex);
  m_number_by_stream.erase({stream, 0});
  ++m_generation;
}

void HipStreams::forget_all() {
  const std::lock_guard lock(m_mutex);
  m_number_by_stream.clear();
  ++m_generation;
}

}  // namespace ktrace
