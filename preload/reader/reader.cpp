// The C ABI: no exception leaves it. A reader that had no memory once is of no use any more.
#define KTRACE_READER_BUILD
#include "reader.h"

#include <new>

#include "decoder.hpp"

struct ktrace_reader {
  ktrace::reader::Decoder decoder;
  bool is_broken = false;
};

namespace {

template <typename Call>
ktrace_i32 guarded(ktrace_reader* reader, Call call) noexcept {
  if (reader->is_broken) return KTRACE_READER_NO_MEMORY;
  try {
    return call(reader->decoder) ? KTRACE_READER_DONE : KTRACE_READER_CHANGED;
  } catch (...) {
    reader->is_broken = true;
    return KTRACE_READER_NO_MEMORY;
  }
}

template <typename Rows>
auto list(const Rows& rows, ktrace_u64* count) {
  *count = rows.size();
  return rows.data();
}

}  // namespace

extern "C" {

ktrace_u32 ktrace_reader_abi(void) { return KTRACE_READER_ABI; }

ktrace_reader* ktrace_reader_open(const ktrace_u32* units, ktrace_u64 kernels,
                                  const ktrace_reader_event* events, ktrace_u64 event_count,
                                  ktrace_u32 bases) {
  try {
    return new ktrace_reader{ktrace::reader::Decoder({units, kernels, events, event_count, bases})};
  } catch (...) {
    return nullptr;
  }
}

void ktrace_reader_close(ktrace_reader* reader) { delete reader; }

ktrace_i32 ktrace_reader_scan(ktrace_reader* reader, const ktrace_reader_wave* waves, ktrace_u64 count,
                              ktrace_reader_scanned* scanned, ktrace_reader_losses* losses) {
  return guarded(reader, [&](ktrace::reader::Decoder& decoder) {
    decoder.scan(waves, count, scanned, *losses);
    return true;
  });
}

const ktrace_reader_anchor* ktrace_reader_anchors(const ktrace_reader* reader, ktrace_u64* count) {
  return list(reader->decoder.anchors(), count);
}

const ktrace_reader_event* ktrace_reader_events(const ktrace_reader* reader, ktrace_u64* count) {
  return list(reader->decoder.events(), count);
}

const ktrace_reader_lane* ktrace_reader_lanes(const ktrace_reader* reader, ktrace_u64* count) {
  return list(reader->decoder.lanes(), count);
}

ktrace_i32 ktrace_reader_arrange(ktrace_reader* reader, const ktrace_i32* event_rows, ktrace_u64 events,
                                 const ktrace_i32* lane_rows, ktrace_u64 lanes) {
  return guarded(reader, [&](ktrace::reader::Decoder& decoder) {
    return decoder.arrange(event_rows, events, lane_rows, lanes);
  });
}

ktrace_i32 ktrace_reader_decode(ktrace_reader* reader, const ktrace_reader_wave* waves, ktrace_u64 count,
                                const ktrace_reader_clock* clock, const ktrace_reader_rows* rows) {
  return guarded(
      reader, [&](ktrace::reader::Decoder& decoder) { return decoder.decode(waves, count, *clock, *rows); });
}

}  // extern "C"
