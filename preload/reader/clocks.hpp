// 32-bit clocks continued to 64 bits: what a first count, word by word, got wrong.
#pragma once

#include "events.hpp"

namespace ktrace::reader {

// Correct the ticks of both streams by the wave's end and by its ANCHOR words; those in conflict with their
// wave become VALUE words, which are no events.
void continue_clocks(const Wave& wave, WaveWords& words, ktrace_reader_losses& losses);

}  // namespace ktrace::reader
