#include "flydsl.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "own_thread.hpp"
#include "program.hpp"

namespace ktrace {
namespace {

std::uint64_t wanted_size() {
  const char* text = std::getenv("FLYDSL_KTRACE_BUFFER_BYTES");
  return text ? std::strtoull(text, nullptr, 10) : 0;
}

bool check(const HipLibrary& hip, hipError_t error, const char* what, std::string* trouble) {
  if (error == hip_success) return true;
  *trouble = std::string(what) + " returned " + error_words(hip, error);
  return false;
}

// One for each copy: they are rare, and a device's reset destroys streams.
class OwnStream {
 public:
  explicit OwnStream(const HipLibrary& hip) : m_hip(hip) {
    if (m_hip.hipStreamCreateWithFlags(&m_stream, hip_stream_non_blocking) != hip_success) m_stream = nullptr;
  }
  ~OwnStream() {
    if (m_stream) m_hip.hipStreamDestroy(m_stream);
  }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  hipStream_t get() const { return m_stream; }

 private:
  const HipLibrary& m_hip;
  hipStream_t m_stream = nullptr;
};

bool copy_begin(const FlydslMemory& memory, hipStream_t stream, std::uint64_t length,
                std::vector<std::uint8_t>* out, std::string* trouble) {
  const HipLibrary& hip = *memory.hip;
  out->resize(static_cast<std::size_t>(length));
  return check(hip,
               hip.hipMemcpyAsync(out->data(), reinterpret_cast<const void*>(memory.address), out->size(),
                                  hip_memcpy_device_to_host, stream),
               "hipMemcpyAsync", trouble) &&
         check(hip, hip.hipStreamSynchronize(stream), "hipStreamSynchronize", trouble);
}

// A hash spreads waves over partitions, not quite evenly.
std::uint64_t comfortable_waves(const FlydslLayout& layout) {
  return layout.partitions == 1 ? layout.regions : layout.regions / 8 * 7;
}

}  // namespace

bool copy_flydsl_buffer(const FlydslMemory& memory, bool clears, std::vector<std::uint8_t>* out,
                        std::string* trouble) {
  const HipLibrary& hip = *memory.hip;
  const FlydslLayout layout(memory.size);
  const OwnStream stream(hip);
  if (!copy_begin(memory, stream.get(), std::min(layout.header_bytes(), memory.size), out, trouble))
    return false;
  const std::uint64_t used = layout.used(*out).bytes;
  if (used > out->size() && !copy_begin(memory, stream.get(), used, out, trouble)) return false;
  if (!clears) return true;
  return check(hip, hip.hipMemsetAsync(reinterpret_cast<void*>(memory.address), 0, out->size(), stream.get()),
               "hipMemsetAsync", trouble) &&
         check(hip, hip.hipStreamSynchronize(stream.get()), "hipStreamSynchronize", trouble);
}

void FlydslBuffers::note_allocation(const void* memory, std::size_t size) {
  if (size == 0 || size != wanted_size()) return;
  const std::lock_guard lock(m_mutex);
  Buffer buffer;
  buffer.size = size;
  m_buffers[reinterpret_cast<std::uint64_t>(memory)] = std::move(buffer);
}

std::uint64_t FlydslBuffers::size_of(std::uint64_t address) {
  const std::lock_guard lock(m_mutex);
  const auto found = m_buffers.find(address);
  return found == m_buffers.end() ? 0 : found->second.size;
}

void FlydslBuffers::add(std::uint64_t address, const HipLibrary& hip, Device& device,
                        const FlydslLaunch& launch) {
  const std::lock_guard lock(m_mutex);
  Buffer& buffer = m_buffers[address];
  buffer.hip = &hip;
  buffer.device = &device;
  buffer.waves += launch.record.expected;
  buffer.launches.push_back(launch);
}

void FlydslBuffers::add_capture(std::uint64_t address, const HipLibrary& hip, Device& device) {
  const std::lock_guard lock(m_mutex);
  const auto found = m_buffers.find(address);
  if (found == m_buffers.end()) return;
  found->second.hip = &hip;
  found->second.device = &device;
  ++found->second.replays;
}

bool FlydslBuffers::would_overflow(std::uint64_t address, const HipLibrary& hip, std::uint64_t waves) {
  FlydslMemory memory;
  {
    const std::lock_guard lock(m_mutex);
    const auto found = m_buffers.find(address);
    if (found == m_buffers.end() || found->second.waves == 0) return false;
    const Buffer& buffer = found->second;
    if (buffer.waves + waves <= comfortable_waves(FlydslLayout(buffer.size))) return false;
    if (buffer.is_as_told) return true;
    memory = {&hip, buffer.device->index(), address, buffer.size};
  }
  // A filter of blocks, of which nobody told us, leaves most of these waves out.
  std::uint64_t claimed = 0;
  bool is_read = false;
  run_aside(hip, memory.device, [&] {
    std::vector<std::uint8_t> header;
    std::string trouble;
    const FlydslLayout layout(memory.size);
    const OwnStream stream(hip);
    is_read = hip.hipDeviceSynchronize() == hip_success &&
              copy_begin(memory, stream.get(), layout.header_bytes(), &header, &trouble);
    if (is_read) claimed = layout.used(header).waves;
  });
  if (!is_read) return false;
  const std::lock_guard lock(m_mutex);
  Buffer& buffer = m_buffers[address];
  buffer.is_as_told = claimed >= buffer.waves / 10 * 9;
  buffer.waves = claimed;
  return claimed + waves > comfortable_waves(FlydslLayout(buffer.size));
}

FlydslBuffers::Taken FlydslBuffers::take(std::uint64_t address, Buffer* buffer) {
  Taken taken;
  taken.memory = {buffer->hip, buffer->device->index(), address, buffer->size};
  taken.copy.hip = buffer->hip;
  taken.copy.device = buffer->device;
  taken.copy.size = buffer->size;
  taken.copy.replays = buffer->replays;
  taken.copy.launches = std::exchange(buffer->launches, {});
  buffer->waves = 0;
  buffer->is_as_told = false;
  return taken;
}

// A graph that was captured once may be replayed at any time, so its buffer is looked at every time.
std::vector<FlydslBuffers::Taken> FlydslBuffers::take_before_wipe(const void* memory, std::size_t size) {
  const auto address = reinterpret_cast<std::uint64_t>(memory);
  std::vector<Taken> all;
  const std::lock_guard lock(m_mutex);
  for (auto& [begin, buffer] : m_buffers) {
    const std::uint64_t length = buffer.size / flydsl_slot * flydsl_slot;
    const bool is_wiped = begin >= address && begin + length <= address + size;
    if (is_wiped && buffer.hip && (!buffer.launches.empty() || buffer.replays > 0))
      all.push_back(take(begin, &buffer));
  }
  return all;
}

std::vector<FlydslBuffers::Taken> FlydslBuffers::take_all() {
  return take_before_wipe(nullptr, ~std::size_t{0});
}

void FlydslBuffers::restart_in_child() {
  for (auto& [begin, buffer] : m_buffers) {
    buffer.launches.clear();
    buffer.replays = 0;
    buffer.waves = 0;
    buffer.hip = nullptr;
    buffer.device = nullptr;
  }
}

std::string read_flydsl_names(const std::string& session_dir) {
  return read_text(session_dir + "/flydsl." + std::to_string(getpid()) + ".json");
}

}  // namespace ktrace
