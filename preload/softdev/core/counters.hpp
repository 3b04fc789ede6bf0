// Bookkeeping of s_waitcnt's counters: when the operations that a wave has not waited for will be done.
#pragma once

#include "core/wave.hpp"

namespace ktrace::softdev {

inline void advance_to(Wave& wave, uint64_t time) { wave.time = wave.time < time ? time : wave.time; }

// Vector memory: in order.
inline void pop_vmcnt(Wave& wave) {
  Wave::Counter& counter = wave.vmcnt;
  advance_to(wave, counter.ready[counter.head]);
  counter.head = (counter.head + 1) % Wave::Counter::depth;
  --counter.count;
}

inline void push_vmcnt(Wave& wave, uint64_t ready) {
  Wave::Counter& counter = wave.vmcnt;
  if (counter.count == Wave::Counter::depth) {
    pop_vmcnt(wave);  // the hardware's counter is full: the wave waits for its oldest operation
  }
  counter.ready[(counter.head + counter.count) % Wave::Counter::depth] = ready;
  ++counter.count;
}

inline void wait_vmcnt(Wave& wave, uint32_t allowed) {
  while (wave.vmcnt.count > allowed) {
    pop_vmcnt(wave);
  }
}

// LDS and scalar memory: whatever is done first counts first.
void wait_lgkmcnt(Wave& wave, uint32_t allowed);

inline void push_lgkmcnt(Wave& wave, uint64_t ready) {
  Wave::Unordered& counter = wave.lgkmcnt;
  if (__builtin_expect(counter.count == Wave::Unordered::depth, 0)) {
    wait_lgkmcnt(wave, Wave::Unordered::depth - 1);
  }
  counter.ready[counter.count++] = ready;
}

}  // namespace ktrace::softdev
