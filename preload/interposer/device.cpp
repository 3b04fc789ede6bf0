#include "device.hpp"

#include <algorithm>
#include <cstring>

#include "clocks.hpp"
#include "own_thread.hpp"

namespace ktrace {
namespace {

std::uint32_t attribute(const HipLibrary& hip, int device, int number) {
  int value = 0;
  if (!hip.hipDeviceGetAttribute || hip.hipDeviceGetAttribute(&value, number, device) != hip_success)
    return 0;
  return value > 0 ? static_cast<std::uint32_t>(value) : 0;
}

template <std::size_t Size>
std::string text_of(const char (&field)[Size]) {
  return {field, strnlen(field, Size)};
}

}  // namespace

DeviceFacts read_device_facts(const HipLibrary& hip, int device) {
  DeviceFacts facts;
  facts.record.device = static_cast<ktrace_u32>(device);
  facts.record.flags = hip.is_software() ? KTRACE_DEVICE_SOFTWARE : 0;
  run_aside(hip, device, [&] {
    facts.record.realtime_hz = attribute(hip, device, hip_attribute_wall_clock_rate) * 1000;
    facts.record.compute_units = attribute(hip, device, hip_attribute_multiprocessor_count);
    facts.record.xcc_count = attribute(hip, device, hip_attribute_number_of_xccs);
    facts.record.core_khz = attribute(hip, device, hip_attribute_clock_rate);
    const auto properties = std::make_unique<DeviceProperties>();
    if (hip.hipGetDevicePropertiesR0600 &&
        hip.hipGetDevicePropertiesR0600(properties.get(), device) == hip_success) {
      facts.name = text_of(properties->name);
      facts.target = text_of(properties->gcn_arch_name);
      std::memcpy(facts.record.uuid, properties->uuid, sizeof facts.record.uuid);
    }
    char bus_id[64] = "";
    if (hip.hipDeviceGetPCIBusId && hip.hipDeviceGetPCIBusId(bus_id, sizeof bus_id, device) == hip_success)
      facts.bus_id = text_of(bus_id);
    facts.first_sample = sample_clock(hip, device, facts.bus_id);
  });
  return facts;
}

Device::Device(const HipLibrary& hip, int index, std::uint64_t budget)
    : m_hip(hip), m_index(index), m_budget(budget), m_facts(read_device_facts(hip, index)) {}

std::unique_ptr<TraceBuffer> Device::take_idle(std::uint64_t size) {
  const std::lock_guard lock(m_mutex);
  auto best = m_idle.end();
  for (auto it = m_idle.begin(); it != m_idle.end(); ++it)
    if ((*it)->capacity >= size && (best == m_idle.end() || (*it)->capacity < (*best)->capacity)) best = it;
  if (best == m_idle.end()) return nullptr;
  std::unique_ptr<TraceBuffer> buffer = std::move(*best);
  m_idle.erase(best);
  return buffer;
}

// The others only stand in the way of a large enough one: they go.
std::unique_ptr<TraceBuffer> Device::take_largest_idle() {
  const std::lock_guard lock(m_mutex);
  if (m_idle.empty()) return nullptr;
  const auto largest = std::max_element(
      m_idle.begin(), m_idle.end(), [](const auto& a, const auto& b) { return a->capacity < b->capacity; });
  std::unique_ptr<TraceBuffer> buffer = std::move(*largest);
  m_idle.erase(largest);
  for (auto& other : m_idle) m_surplus.push_back(std::move(other));
  m_idle.clear();
  return buffer;
}

bool Device::reserve(std::uint64_t size) {
  const std::lock_guard lock(m_mutex);
  if (size > m_budget - std::min(m_allocated, m_budget)) return false;
  m_allocated += size;
  return true;
}

std::unique_ptr<TraceBuffer> Device::allocate(std::uint64_t size) {
  auto buffer = std::make_unique<TraceBuffer>();
  buffer->capacity = size;
  bool is_complete = false;
  run_aside(m_hip, m_index, [&] {
    void* staging = nullptr;
    is_complete = m_hip.hipMalloc(&buffer->memory, static_cast<std::size_t>(size)) == hip_success &&
                  m_hip.hipHostMalloc(&staging, sizeof(ktrace_control), 0) == hip_success &&
                  m_hip.hipEventCreateWithFlags(&buffer->finished, hip_event_disable_timing) == hip_success;
    buffer->staging = static_cast<ktrace_control*>(staging);
    if (!is_complete) free_memory(*buffer);  // never used, so there is nothing to wait for
  });
  if (is_complete) return buffer;
  const std::lock_guard lock(m_mutex);
  m_allocated -= size;
  return nullptr;
}

Acquired Device::acquire(const Layout& wanted) {
  Acquired acquired;
  acquired.layout = wanted;
  acquired.refusal = KTRACE_LOSS_POOL_EXHAUSTED;
  if (wanted.wave_slots == 0) return acquired;
  acquired.buffer = take_idle(wanted.buffer_size());
  if (!acquired.buffer && reserve(wanted.buffer_size())) {
    acquired.buffer = allocate(wanted.buffer_size());
    if (!acquired.buffer) acquired.refusal = KTRACE_LOSS_NO_MEMORY;
  }
  if (acquired.buffer) return acquired;
  if (std::unique_ptr<TraceBuffer> smaller = take_largest_idle()) {
    acquired.layout = claim_layout(wanted, smaller->capacity);
    smaller->is_outgrown = true;
    if (acquired.layout.wave_slots > 0)
      acquired.buffer = std::move(smaller);
    else
      release(std::move(smaller));
  }
  return acquired;
}

void Device::release(std::unique_ptr<TraceBuffer> buffer) {
  const std::lock_guard lock(m_mutex);
  (buffer->is_outgrown ? m_surplus : m_idle).push_back(std::move(buffer));
}

void Device::free_memory(const TraceBuffer& buffer) {
  if (buffer.finished) m_hip.hipEventDestroy(buffer.finished);
  if (buffer.memory) m_hip.hipFree(buffer.memory);
  if (buffer.staging) m_hip.hipHostFree(buffer.staging);
}

void Device::destroy(std::unique_ptr<TraceBuffer> buffer) {
  m_hip.hipSetDevice(m_index);
  free_memory(*buffer);
  const std::lock_guard lock(m_mutex);
  m_allocated -= std::min(m_allocated, buffer->capacity);
}

void Device::free_surplus() {
  std::vector<std::unique_ptr<TraceBuffer>> surplus;
  {
    const std::lock_guard lock(m_mutex);
    surplus.swap(m_surplus);
  }
  for (auto& buffer : surplus) destroy(std::move(buffer));
}

void Device::forget_buffers() {
  const std::lock_guard lock(m_mutex);
  m_idle.clear();
  m_surplus.clear();
  m_allocated = 0;
}

}  // namespace ktrace
