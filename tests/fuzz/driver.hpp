// What the drivers share: numbers out of a seed, outcomes that are counted, and the loop around the trials.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fuzz {

using Bytes = std::vector<uint8_t>;

// SplitMix64: the same seed gives the same trial everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : m_state(seed) {}
  uint64_t next();
  uint32_t word() { return static_cast<uint32_t>(next()); }
  uint64_t below(uint64_t limit) { return limit == 0 ? 0 : next() % limit; }
  bool one_in(uint64_t n) { return below(n) == 0; }
  template <class Container>
  auto& pick(Container& container) {
    return *(std::begin(container) + static_cast<std::ptrdiff_t>(below(std::size(container))));
  }
  // Mostly a number that code gets wrong: around powers of two, and around the number that stood there.
  uint64_t odd_number(uint64_t was);

 private:
  uint64_t m_state;
};

uint64_t hash_of(const Bytes& bytes);

// Counts an outcome. The numbers of a message are left out, so that one kind of message is one outcome.
void note(const std::string& outcome);
void note_message(const std::string& kind, const std::string& message);
// A trial went wrong without crashing: says so and aborts.
[[noreturn]] void give_up(const std::string& why);

struct Driver {
  // An input for `attempt`, from the files of the command line.
  Bytes (*make)(Random& random, const std::vector<Bytes>& corpus);
  // Feeds it to what is tested; every exception that may come out is counted in here.
  void (*attempt)(const Bytes& input);
};

extern const Driver driver;  // of the program that this is linked into

}  // namespace fuzz
