#include "copy_back.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ktrace {
namespace {

constexpr std::uint64_t word_size = sizeof(ktrace_word);

template <class Struct>
bool is_all_zero(const Struct& record) {
  const Struct zero{};
  return std::memcmp(&record, &zero, sizeof record) == 0;
}

// A tag is never 0 in a word that was written.
std::uint32_t trim(const std::uint8_t* words, std::uint32_t count) {
  for (; count > 0; --count) {
    ktrace_word word;
    std::memcpy(&word, words + (count - 1) * word_size, sizeof word);
    if (word.clock != 0 || word.tag != 0) return count;
  }
  return 0;
}

// A ring and its side words have a half of the region each, so they never meet.
Streams streams_of_ring(const ktrace_wave_header& header, const Layout& layout) {
  const std::uint64_t half = layout.region_size() / 2;
  const std::uint64_t ring = half / word_size;
  const std::uint64_t room = ring - words_of_header;
  Streams streams{};
  streams.is_unfinished = header.main_cursor == 0;
  const std::uint64_t main = header.main_cursor > half ? (header.main_cursor - half) / word_size : 0;
  const std::int64_t side_bytes = static_cast<std::int64_t>(half) - static_cast<std::int64_t>(word_size) -
                                  static_cast<std::int32_t>(header.side_cursor);
  const std::uint64_t side = side_bytes > 0 ? static_cast<std::uint64_t>(side_bytes) / word_size : 0;
  streams.main_words = static_cast<std::uint32_t>(streams.is_unfinished ? ring : std::min(main, ring));
  streams.side_words = static_cast<std::uint32_t>(std::min(side, room));
  // What was overwritten was not to be kept, so the next launch needs no larger regions for it.
  streams.attempted = std::max(std::min(main, ring), words_of_header + side) * 2;
  streams.dropped = side > room ? side - room : 0;
  return streams;
}

}  // namespace

Streams streams_of(const ktrace_wave_header& header, const Layout& layout) {
  if (layout.is_ring()) return streams_of_ring(header, layout);
  const std::uint64_t region = layout.region_size();
  const std::uint64_t capacity = (region - KTRACE_REGION_HEADER) / word_size;
  Streams streams{};
  streams.is_unfinished = header.main_cursor == 0;
  const std::uint64_t main =
      header.main_cursor > KTRACE_REGION_HEADER ? (header.main_cursor - KTRACE_REGION_HEADER) / word_size : 0;
  // The side cursor begins at the region's last word and may go on below zero. It is 0 before the wave set
  // it, which it does in the same store as everything else.
  const auto side_cursor = static_cast<std::int32_t>(header.side_cursor);
  const std::int64_t side_bytes =
      static_cast<std::int64_t>(region) - static_cast<std::int64_t>(word_size) - side_cursor;
  const std::uint64_t side = side_bytes > 0 ? static_cast<std::uint64_t>(side_bytes) / word_size : 0;
  streams.attempted = words_of_header + main + side;
  streams.dropped = main + side > capacity ? main + side - capacity : 0;
  streams.have_met = side > 0 && std::min(main, capacity) + std::min(side, capacity) > capacity;
  streams.main_words = static_cast<std::uint32_t>(streams.have_met ? capacity : std::min(main, capacity));
  streams.side_words = static_cast<std::uint32_t>(streams.have_met ? 0 : std::min(side, capacity));
  if (streams.is_unfinished && !streams.have_met)
    streams.main_words = static_cast<std::uint32_t>(capacity) - streams.side_words;
  return streams;
}

std::uint8_t* CopyBack::Arena::hold(const HipLibrary& hip, std::size_t size) {
  if (size <= m_pinned_size) return m_pinned;
  if (m_pinned) hip.hipHostFree(m_pinned);
  m_pinned = nullptr;
  m_pinned_size = 0;
  void* memory = nullptr;
  if (hip.hipHostMalloc(&memory, size, 0) == hip_success) {
    m_pinned = static_cast<std::uint8_t*>(memory);
    m_pinned_size = size;
    return m_pinned;
  }
  m_pageable.resize(size);
  return m_pageable.data();
}

bool CopyBack::check(hipError_t error, const char* what) {
  if (error == hip_success) return true;
  m_trouble = std::string(what) + " returned " + error_words(m_hip, error);
  return false;
}

bool CopyBack::synchronize() { return check(m_hip.hipStreamSynchronize(m_stream), "hipStreamSynchronize"); }

void CopyBack::forget_what_a_reset_destroyed() {
  const std::uint64_t epoch = m_device.epoch();
  if (std::exchange(m_epoch, epoch) == epoch) return;
  m_stream = nullptr;
  for (Arena* arena : {&m_header_arena, &m_main_arena, &m_side_arena}) arena->forget();
}

bool CopyBack::start(const TraceBuffer& buffer) {
  forget_what_a_reset_destroyed();
  if (!check(m_hip.hipSetDevice(m_device.index()), "hipSetDevice")) return false;
  // Blocking streams and the null stream wait for each other: ours must never be in between.
  if (!m_stream &&
      !check(m_hip.hipStreamCreateWithFlags(&m_stream, hip_stream_non_blocking), "hipStreamCreateWithFlags"))
    return false;
  return check(m_hip.hipStreamWaitEvent(m_stream, buffer.finished, 0), "hipStreamWaitEvent");
}

bool CopyBack::copy_rows(const TraceBuffer& buffer, const Layout& layout, const Rows& rows,
                         std::uint8_t* target) {
  if (rows.count == 0 || rows.width == 0) return true;
  const auto* source = reinterpret_cast<const std::uint8_t*>(buffer.regions() +
                                                             rows.first * layout.region_size() + rows.offset);
  return check(m_hip.hipMemcpy2DAsync(target, rows.width, source, layout.region_size(), rows.width,
                                      rows.count, hip_memcpy_device_to_host, m_stream),
               "hipMemcpy2DAsync");
}

bool CopyBack::clear_rows(const TraceBuffer& buffer, const Layout& layout, const Rows& rows) {
  if (rows.count == 0 || rows.width == 0) return true;
  auto* target =
      reinterpret_cast<std::uint8_t*>(buffer.regions() + rows.first * layout.region_size() + rows.offset);
  return check(m_hip.hipMemset2DAsync(target, layout.region_size(), 0, rows.width, rows.count, m_stream),
               "hipMemset2DAsync");
}

// Only claiming waves write to the control block.
bool CopyBack::copy_control(const TraceBuffer& buffer, const Layout& layout, CopiedDispatch* out) {
  if (layout.mode != KTRACE_MODE_CLAIM) return true;
  std::uint8_t* target = m_header_arena.hold(m_hip, sizeof(ktrace_control));
  if (!check(m_hip.hipMemcpyAsync(target, buffer.memory, sizeof(ktrace_control), hip_memcpy_device_to_host,
                                  m_stream),
             "hipMemcpyAsync") ||
      !synchronize())
    return false;
  ktrace_control control;
  std::memcpy(&control, target, sizeof control);
  out->claimed = control.claimed;
  return true;
}

bool CopyBack::copy_headers(const TraceBuffer& buffer, const Layout& layout, CopiedDispatch* out) {
  const std::uint32_t slots =
      layout.mode == KTRACE_MODE_CLAIM ? std::min(out->claimed, layout.wave_slots) : layout.wave_slots;
  std::uint8_t* target = m_header_arena.hold(m_hip, std::size_t{slots} * KTRACE_REGION_HEADER);
  if (!copy_rows(buffer, layout, {0, slots, 0, KTRACE_REGION_HEADER}, target) || !synchronize()) return false;
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    ktrace_wave_header header;
    std::memcpy(&header, target + std::size_t{slot} * KTRACE_REGION_HEADER, sizeof header);
    if (is_all_zero(header)) continue;
    out->headers.push_back(header);
    out->extents.push_back({slot, 0, 0, 0});
  }
  return true;
}

// Main words of all used slots in one copy, side words in one more: as wide as the wave that used most.
bool CopyBack::copy_words(const TraceBuffer& buffer, const Layout& layout, CopiedDispatch* out) {
  m_main_rows = m_side_rows = {};
  if (out->extents.empty()) return true;
  std::uint64_t main_width = 0, side_width = 0;
  for (std::size_t i = 0; i < out->headers.size(); ++i) {
    const Streams streams = streams_of(out->headers[i], layout);
    out->extents[i].main_words = streams.main_words;
    out->extents[i].side_words = streams.side_words;
    main_width = std::max(main_width, streams.main_words * word_size);
    side_width = std::max(side_width, streams.side_words * word_size);
    out->attempted_words = static_cast<std::uint32_t>(
        std::max<std::uint64_t>(out->attempted_words, std::min<std::uint64_t>(streams.attempted, ~0u)));
    out->dropped_words += streams.dropped;
  }
  const std::uint32_t first = out->extents.front().slot;
  const std::uint32_t count = out->extents.back().slot - first + 1;
  m_main_rows = {first, count, layout.main_begin(), main_width};
  m_side_rows = {first, count, layout.side_end() - side_width, side_width};
  std::uint8_t* main = m_main_arena.hold(m_hip, count * main_width);
  std::uint8_t* side = m_side_arena.hold(m_hip, count * side_width);
  if (!copy_rows(buffer, layout, m_main_rows, main) || !copy_rows(buffer, layout, m_side_rows, side) ||
      !synchronize())
    return false;
  const auto append = [out](const std::uint8_t* bytes, std::uint32_t words) {
    const std::size_t at = out->words.size();
    out->words.resize(at + words);
    if (words > 0) std::memcpy(&out->words[at], bytes, words * word_size);
  };
  for (std::size_t i = 0; i < out->extents.size(); ++i) {
    ktrace_wave_extent& extent = out->extents[i];
    const std::uint8_t* main_row = main + (extent.slot - first) * main_width;
    if (streams_of(out->headers[i], layout).is_unfinished)
      extent.main_words = trim(main_row, extent.main_words);
    append(main_row, extent.main_words);
    const std::uint8_t* side_row =
        side + (extent.slot - first + 1) * side_width - extent.side_words * word_size;
    append(side_row, extent.side_words);
  }
  return true;
}

bool CopyBack::clear(const TraceBuffer& buffer, const Layout& layout) {
  Rows front = m_main_rows;
  if (front.count == 0) return true;
  if (layout.is_ring() && !clear_rows(buffer, layout, m_main_rows)) return false;
  front.offset = 0;
  front.width = KTRACE_REGION_HEADER + (layout.is_ring() ? 0 : m_main_rows.width);
  return clear_rows(buffer, layout, front) && clear_rows(buffer, layout, m_side_rows) && synchronize();
}

bool CopyBack::copy(const TraceBuffer& buffer, const Layout& layout, CopiedDispatch* out,
                    std::string* trouble) {
  const bool is_copied = start(buffer) && copy_control(buffer, layout, out) &&
                         copy_headers(buffer, layout, out) && copy_words(buffer, layout, out) &&
                         clear(buffer, layout);
  if (!is_copied) *trouble = m_trouble;
  return is_copied;
}

}  // namespace ktrace
