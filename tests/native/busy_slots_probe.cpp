// Compares BusySlots with a set of all slots that were ever taken. Arguments: seed, rounds, the chance in
// percent that a request is long. Prints the first disagreement, or how many requests agreed.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>

#include "core/busy_slots.hpp"

namespace {

using ktrace::softdev::BusySlots;

uint64_t first_free(const std::set<uint64_t>& busy, uint64_t slot) {
  while (busy.count(slot) != 0) {
    ++slot;
  }
  return slot;
}

}  // namespace

int main(int, char** arguments) {
  std::mt19937_64 random(std::strtoull(arguments[1], nullptr, 10));
  const uint64_t rounds = std::strtoull(arguments[2], nullptr, 10);
  const uint64_t long_percent = std::strtoull(arguments[3], nullptr, 10);
  BusySlots slots;
  std::set<uint64_t> busy;
  uint64_t latest = 1000;
  for (uint64_t k = 0; k < rounds; ++k) {
    latest += random() % 14 == 0 ? random() % 400 : random() % 7;
    const uint64_t asked = latest - random() % 64;  // waves run up to 128 cycles ahead
    const uint64_t count = random() % 100 < long_percent ? 1 + random() % 90 : 1 + random() % 4;
    const uint64_t found = slots.find(asked);
    const uint64_t wanted = first_free(busy, asked);
    if (found != wanted) {
      std::printf("request %llu: slot %llu, not %llu\n", static_cast<unsigned long long>(k),
                  static_cast<unsigned long long>(found), static_cast<unsigned long long>(wanted));
      return 0;
    }
    const uint64_t at_once = 1 + random() % count;
    slots.take(found, at_once);
    slots.take_more(count - at_once);
    for (uint64_t slot = wanted, left = count; left != 0; --left) {
      slot = first_free(busy, slot);
      busy.insert(slot);
      latest = slot > latest + 40 ? slot - 40 : latest;  // what waits is not left behind
    }
  }
  std::printf("%llu requests\n", static_cast<unsigned long long>(rounds));
  return 0;
}
