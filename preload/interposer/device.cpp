#include "device.hpp"

#include <algorithm>
#include <chrono>
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

constexpr std::uint32_t longest_allocation_pause = 256;  // requests

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

Device::Device(const HipLibrary& hip, int index, std::uint64_t budget, BufferMemory memory)
    : m_hip(hip),
      m_index(index),
      m_budget(budget),
      m_memory(memory),
      m_facts(read_device_facts(hip, index)) {}

std::unique_ptr<TraceBuffer> Device::take_idle(std::uint64_t size) {
  const std::lock_guard lock(m_mutex);
  for (auto it = m_idle.lower_bound(size); it != m_idle.end(); ++it) {
    if (it->second.empty()) continue;
    std::unique_ptr<TraceBuffer> buffer = std::move(it->second.back());
    it->second.pop_back();
    ++m_in_use;
    return buffer;
  }
  return nullptr;
}

// The others only stand in the way of a large enough one: they go.
std::unique_ptr<TraceBuffer> Device::take_largest_idle() {
  const std::lock_guard lock(m_mutex);
  std::unique_ptr<TraceBuffer> largest;
  for (auto it = m_idle.rbegin(); it != m_idle.rend(); ++it)
    for (auto& buffer : it->second) {
      if (largest)
        m_surplus.push_back(std::move(buffer));
      else
        largest = std::move(buffer);
    }
  m_idle.clear();
  m_in_use += largest != nullptr;
  return largest;
}

void Device::set_aside_idle() {
  const std::lock_guard lock(m_mutex);
  for (auto& [size, buffers] : m_idle)
    for (auto& buffer : buffers) m_surplus.push_back(std::move(buffer));
  m_idle.clear();
}

bool Device::reserve(std::uint64_t size) {
  const std::lock_guard lock(m_mutex);
  if (size > m_budget - std::min(m_allocated, m_budget)) return false;
  m_allocated += size;
  ++m_in_use;  // from now on: while it is being made, others have something to wait for
  return true;
}

// With the lock held.
void Device::unreserve(std::uint64_t size) {
  m_allocated -= std::min(m_allocated, size);
  m_in_use -= m_in_use > 0;
  announce_release();
}

bool Device::is_hopeless(std::uint64_t size) {
  const std::lock_guard lock(m_mutex);
  if (m_refused_size == 0 || size < m_refused_size || m_requests_to_refuse == 0) return false;
  --m_requests_to_refuse;
  return true;
}

bool Device::allocate_memory(TraceBuffer* buffer) {
  const auto size = static_cast<std::size_t>(buffer->capacity);
  if (m_memory == BufferMemory::device) return m_hip.hipMalloc(&buffer->memory, size) == hip_success;
  if (m_hip.hipHostMalloc(&buffer->host, size, hip_host_malloc_mapped | hip_host_malloc_coherent) !=
      hip_success)
    return false;
  std::memset(buffer->host, 0, size);
  buffer->is_zeroed = true;
  buffer->memory = buffer->host;
  return !m_hip.hipHostGetDevicePointer ||
         m_hip.hipHostGetDevicePointer(&buffer->memory, buffer->host, 0) == hip_success;
}

std::unique_ptr<TraceBuffer> Device::make_buffer(std::uint64_t size) {
  auto buffer = std::make_unique<TraceBuffer>();
  buffer->capacity = size;
  buffer->epoch = epoch();
  bool is_complete = false;
  run_aside(m_hip, m_index, [&] {
    void* staging = nullptr;
    is_complete = allocate_memory(buffer.get()) &&
                  m_hip.hipHostMalloc(&staging, sizeof(ktrace_control), 0) == hip_success &&
                  m_hip.hipEventCreateWithFlags(&buffer->finished, hip_event_disable_timing) == hip_success;
    buffer->staging = static_cast<ktrace_control*>(staging);
    if (!is_complete) free_memory(*buffer);  // never used, so there is nothing to wait for
  });
  return is_complete ? std::move(buffer) : nullptr;
}

std::unique_ptr<TraceBuffer> Device::allocate(std::uint64_t size) {
  std::unique_ptr<TraceBuffer> buffer;
  try {
    buffer = make_buffer(size);
  } catch (...) {  // no thread, or no memory of the host
    const std::lock_guard lock(m_mutex);
    unreserve(size);
    throw;
  }
  const std::lock_guard lock(m_mutex);
  if (buffer) {
    m_refused_size = 0;
    m_next_pause = 1;
    return buffer;
  }
  unreserve(size);
  m_refused_size = m_refused_size == 0 ? size : std::min(m_refused_size, size);
  m_requests_to_refuse = m_next_pause;
  m_next_pause = std::min(m_next_pause * 2, longest_allocation_pause);
  return nullptr;
}

Acquired Device::acquire(const Layout& wanted) {
  Acquired acquired;
  acquired.layout = wanted;
  acquired.refusal = KTRACE_LOSS_POOL_EXHAUSTED;
  if (wanted.wave_slots == 0) return acquired;
  const std::uint64_t size = wanted.buffer_size();
  acquired.buffer = take_idle(size);
  if (!acquired.buffer && is_hopeless(size)) {
    acquired.refusal = KTRACE_LOSS_NO_MEMORY;
  } else if (!acquired.buffer && reserve(size)) {
    acquired.buffer = allocate(size);
    if (!acquired.buffer) acquired.refusal = KTRACE_LOSS_NO_MEMORY;
  }
  if (acquired.buffer) return acquired;
  if (!wanted.may_claim) {
    set_aside_idle();
  } else if (std::unique_ptr<TraceBuffer> smaller = take_largest_idle()) {
    if (smaller->capacity >= size) {  // it was released meanwhile
      acquired.buffer = std::move(smaller);
      return acquired;
    }
    acquired.layout = claim_layout(wanted, smaller->capacity);
    smaller->is_outgrown = true;
    if (acquired.layout.wave_slots > 0)
      acquired.buffer = std::move(smaller);
    else
      release(std::move(smaller));
  }
  return acquired;
}

Acquired Device::acquire_within(const Layout& wanted, std::uint64_t timeout_ns) {
  if (wanted.wave_slots == 0) return acquire(wanted);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout_ns);
  std::unique_lock lock(m_mutex);
  ++m_waiting;
  Acquired acquired;
  for (bool is_in_time = true;;) {
    const std::uint64_t releases = m_releases;
    lock.unlock();
    acquired = acquire(wanted);
    lock.lock();
    if (acquired.buffer || acquired.refusal != KTRACE_LOSS_POOL_EXHAUSTED || !is_in_time) break;
    if (m_releases == releases && !is_worth_waiting()) break;  // else one came meanwhile
    is_in_time = m_released.wait_until(lock, deadline, [&] { return m_releases != releases; });
  }
  --m_waiting;
  return acquired;
}

// With the lock held.
bool Device::is_worth_waiting() { return m_in_use > 0 || !m_surplus.empty(); }

void Device::announce_release() {
  ++m_releases;
  if (m_waiting > 0) m_released.notify_all();
}

void Device::release(std::unique_ptr<TraceBuffer> buffer) {
  const std::lock_guard lock(m_mutex);
  if (buffer->epoch != m_epoch) return;  // it is gone
  m_in_use -= m_in_use > 0;
  if (buffer->is_outgrown) {
    m_surplus.push_back(std::move(buffer));
  } else {
    const std::uint64_t capacity = buffer->capacity;
    m_idle[capacity].push_back(std::move(buffer));
  }
  announce_release();
}

void Device::free_memory(const TraceBuffer& buffer) {
  if (buffer.finished) m_hip.hipEventDestroy(buffer.finished);
  if (buffer.host)
    m_hip.hipHostFree(buffer.host);
  else if (buffer.memory)
    m_hip.hipFree(buffer.memory);
  if (buffer.staging) m_hip.hipHostFree(buffer.staging);
}

// Until its memory is free, the buffer is in use: others may wait for it.
void Device::free_buffer(const TraceBuffer& buffer) {
  m_hip.hipSetDevice(m_index);
  free_memory(buffer);
  const std::lock_guard lock(m_mutex);
  if (buffer.epoch == m_epoch) unreserve(buffer.capacity);
}

void Device::destroy(std::unique_ptr<TraceBuffer> buffer) {
  if (buffer->epoch == epoch()) free_buffer(*buffer);
}

void Device::free_surplus() {
  std::vector<std::unique_ptr<TraceBuffer>> surplus;
  {
    const std::lock_guard lock(m_mutex);
    surplus.swap(m_surplus);
    m_in_use += surplus.size();
  }
  for (const auto& buffer : surplus) free_buffer(*buffer);
}

bool Device::has_surplus() {
  const std::lock_guard lock(m_mutex);
  return !m_surplus.empty();
}

void Device::forget_buffers() {
  const std::lock_guard lock(m_mutex);
  m_idle.clear();
  m_surplus.clear();
  m_allocated = 0;
  m_in_use = 0;
  m_refused_size = 0;
  ++m_epoch;
  announce_release();
}

}  // namespace ktrace
