// From a finished dispatch's trace buffer to the words that the recording keeps, and the buffer back to zero.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device.hpp"

namespace ktrace {

struct CopiedDispatch {
  std::vector<ktrace_wave_header> headers;  // of the slots that were used, in slot order
  std::vector<ktrace_wave_extent> extents;
  std::vector<ktrace_word> words;
  std::uint32_t claimed = 0;
  std::uint32_t attempted_words = 0;  // the most of any wave, its header included
  std::uint64_t dropped_words = 0;    // of all waves
};

// What a wave's header says of its streams, in words that lie inside the region.
struct Streams {
  std::uint32_t main_words;
  std::uint32_t side_words;
  bool have_met;            // then both are in one run of words, which fills the region
  std::uint64_t attempted;  // also those that did not fit
  std::uint64_t dropped;    // those that did not
  bool is_unfinished;  // the end of the main words is not known: they go up to the last one that is not zero
};
Streams streams_of(const ktrace_wave_header& header, const Layout& layout);

// Belongs to the writer's thread.
class CopyBack {
 public:
  CopyBack(const HipLibrary& hip, Device& device) : m_hip(hip), m_device(device), m_epoch(device.epoch()) {}
  CopyBack(const CopyBack&) = delete;
  CopyBack& operator=(const CopyBack&) = delete;

  // Waits for its own stream only. False, with the reason in `trouble`, if HIP refused any step: the buffer
  // is not to be used again then.
  bool copy(const TraceBuffer& buffer, const Layout& layout, CopiedDispatch* out, std::string* trouble);

 private:
  // Pinned if there is such memory; the copies are right, only slower, without it.
  class Arena {
   public:
    std::uint8_t* hold(const HipLibrary& hip, std::size_t size);
    void forget() { *this = Arena(); }  // without freeing

   private:
    std::uint8_t* m_pinned = nullptr;
    std::size_t m_pinned_size = 0;
    std::vector<std::uint8_t> m_pageable;
  };
  struct Rows {  // the same `width` bytes at `offset` of each region from `first` on
    std::uint32_t first, count;
    std::uint64_t offset, width;
  };

  bool start(const TraceBuffer& buffer);
  void forget_what_a_reset_destroyed();
  bool copy_control(const TraceBuffer& buffer, const Layout& layout, CopiedDispatch* out);
  bool copy_headers(const TraceBuffer& buffer, const Layout& layout, CopiedDispatch* out);
  bool copy_words(const TraceBuffer& buffer, const Layout& layout, CopiedDispatch* out);
  bool clear(const TraceBuffer& buffer, const Layout& layout);
  bool copy_rows(const TraceBuffer& buffer, const Layout& layout, const Rows& rows, std::uint8_t* target);
  bool clear_rows(const TraceBuffer& buffer, const Layout& layout, const Rows& rows);
  bool check(hipError_t error, const char* what);
  bool synchronize();

  const HipLibrary& m_hip;
  Device& m_device;
  hipStream_t m_stream = nullptr;
  std::uint64_t m_epoch = 0;  // of the device, when the stream and the arenas were made
  Arena m_header_arena, m_main_arena, m_side_arena;
  Rows m_main_rows{}, m_side_rows{};  // what the last dispatch used
  std::string m_trouble;
};

}  // namespace ktrace
