#include "captures.hpp"

namespace ktrace {
namespace {

thread_local char this_thread;

}  // namespace

// Each thread has a per-thread stream of its own.
Captures::Key Captures::key_of(const HipLibrary& hip, hipStream_t stream) {
  return {&hip, stream, stream == stream_per_thread ? &this_thread : nullptr};
}

void Captures::begin(const HipLibrary& hip, hipStream_t stream, int device) {
  const std::lock_guard lock(m_mutex);
  m_device_by_stream[key_of(hip, stream)] = device;
  m_open = m_device_by_stream.size();
}

void Captures::end(const HipLibrary& hip, hipStream_t stream) {
  if (!is_any_open()) return;
  const std::lock_guard lock(m_mutex);
  m_device_by_stream.erase(key_of(hip, stream));
  m_open = m_device_by_stream.size();
}

void Captures::end_on_device(const HipLibrary& hip, int device) {
  if (!is_any_open()) return;
  const std::lock_guard lock(m_mutex);
  for (auto capture = m_device_by_stream.begin(); capture != m_device_by_stream.end();)
    if (std::get<0>(capture->first) == &hip && capture->second == device)
      capture = m_device_by_stream.erase(capture);
    else
      ++capture;
  m_open = m_device_by_stream.size();
}

}  // namespace ktrace
