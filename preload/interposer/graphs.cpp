#include "graphs.hpp"

#include <algorithm>

#include "own_thread.hpp"

namespace ktrace {

Graphs::Entry Graphs::find(const HipLibrary& hip, hipGraphExec_t exec) const {
  const std::lock_guard lock(m_mutex);
  const auto found = m_entries.find({&hip, exec});
  return found == m_entries.end() ? nullptr : found->second;
}

void Graphs::insert(const HipLibrary& hip, hipGraphExec_t exec, Entry graph) {
  const std::lock_guard lock(m_mutex);
  m_entries[{&hip, exec}] = std::move(graph);
}

Graphs::Entry Graphs::take(const HipLibrary& hip, hipGraphExec_t exec) {
  const std::lock_guard lock(m_mutex);
  const auto found = m_entries.find({&hip, exec});
  if (found == m_entries.end()) return nullptr;
  Entry entry = std::move(found->second);
  m_entries.erase(found);
  return entry;
}

void Graphs::note_device(const HipLibrary& hip, hipGraph_t graph, int device) {
  const std::lock_guard lock(m_mutex);
  m_device_by_graph[{&hip, graph}] = device;
}

int Graphs::device_of(const HipLibrary& hip, hipGraph_t graph) const {
  const std::lock_guard lock(m_mutex);
  const auto found = m_device_by_graph.find({&hip, graph});
  return found == m_device_by_graph.end() ? -1 : found->second;
}

void Graphs::forget_graph(const HipLibrary& hip, hipGraph_t graph) {
  const std::lock_guard lock(m_mutex);
  m_device_by_graph.erase({&hip, graph});
}

hipStream_t Graphs::copies(const Device& device) {
  {
    const std::lock_guard lock(m_mutex);
    const auto found = m_stream_by_device.find(&device);
    if (found != m_stream_by_device.end()) return found->second;
  }
  const HipLibrary& hip = device.hip();
  hipStream_t made = nullptr;
  run_aside(hip, device.index(), [&] {
    if (hip.hipStreamCreateWithFlags(&made, hip_stream_non_blocking) != hip_success) made = nullptr;
  });
  if (!made) return nullptr;
  const std::lock_guard lock(m_mutex);
  return m_stream_by_device.emplace(&device, made).first->second;
}

// Half of the memory is for slots, and half for the buffers that their contents go to.
std::uint64_t Graphs::room(const Device& device, std::uint64_t memory) const {
  const std::lock_guard lock(m_mutex);
  const auto found = m_bytes_by_device.find(&device);
  const std::uint64_t used = found == m_bytes_by_device.end() ? 0 : found->second;
  return memory / 2 - std::min(memory / 2, used);
}

void Graphs::charge(const Device& device, std::uint64_t size) {
  const std::lock_guard lock(m_mutex);
  m_bytes_by_device[&device] += size;
}

void Graphs::discharge(const Device& device, std::uint64_t size) {
  const std::lock_guard lock(m_mutex);
  std::uint64_t& bytes = m_bytes_by_device[&device];
  bytes -= std::min(bytes, size);
}

void Graphs::forget_device(const Device& device) {
  const std::lock_guard lock(m_mutex);
  for (auto it = m_entries.begin(); it != m_entries.end();)
    it = it->second->device == &device ? m_entries.erase(it) : std::next(it);
  m_stream_by_device.erase(&device);
  m_bytes_by_device.erase(&device);
}

}  // namespace ktrace
