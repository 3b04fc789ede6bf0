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
inline void wait_lgkmcnt(Wave& wave, uint32_t allowed) {
  Wave::Unordered& counter = wave.lgkmcnt;
  if (counter.count > allowed) {
    const uint32_t done = counter.count - allowed;
    advance_to(wave, counter.ready[(counter.head + done - 1) % Wave::Unordered::depth]);
    counter.head = (counter.head + done) % Wave::Unordered::depth;
    counter.count = allowed;
  }
}

// Keeps them sorted; there is room.
[[gnu::noinline]] inline void insert_lgkmcnt(Wave::Unordered& counter, uint64_t ready) {
  constexpr unsigned depth = Wave::Unordered::depth;
  uint32_t place = counter.head + counter.count++;
  for (; place != counter.head && counter.ready[(place - 1) % depth] > ready; --place) {
    counter.ready[place % depth] = counter.ready[(place - 1) % depth];
  }
  counter.ready[place % depth] = ready;
}

inline void push_lgkmcnt(Wave& wave, uint64_t ready) {
  constexpr unsigned depth = Wave::Unordered::depth;
  Wave::Unordered& counter = wave.lgkmcnt;
  if (__builtin_expect(counter.count == depth, 0)) {  // the hardware's counter is full
    wait_lgkmcnt(wave, depth - 1);
  }
  const uint32_t place = counter.head + counter.count;
  if (__builtin_expect(counter.count == 0 || counter.ready[(place - 1) % depth] <= ready, 1)) {
    counter.ready[place % depth] = ready;
    ++counter.count;
  } else {
    insert_lgkmcnt(counter, ready);
  }
}

}  // namespace ktrace::softdev
