// Waiting for operations that end in any order.
#include "core/counters.hpp"

#include <algorithm>

namespace ktrace::softdev {

void wait_lgkmcnt(Wave& wave, uint32_t allowed) {
  Wave::Unordered& counter = wave.lgkmcnt;
  if (counter.count <= allowed) {
    return;
  }
  uint64_t* end = counter.ready + counter.count;
  uint64_t* last = counter.ready + (counter.count - allowed - 1);
  if (allowed == 0) {
    advance_to(wave, *std::max_element(counter.ready, end));
    counter.count = 0;
    return;
  }
  std::nth_element(counter.ready, last, end);
  advance_to(wave, *last);
  std::copy(last + 1, end, counter.ready);
  counter.count = allowed;
}

}  // namespace ktrace::softdev
