// Words to events: both streams of one wave, in the order in which they were written.
#pragma once

#include "events.hpp"

namespace ktrace::reader {

// Fill `into` with the wave's events. Their ticks go on from the wave's begin, word by word.
void read_words(const Wave& wave, Buffer<std::uint32_t>& ring_order, WaveWords& into,
                ktrace_reader_losses& losses);

}  // namespace ktrace::reader
