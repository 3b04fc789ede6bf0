// Random instructions on each target, with and without pointers in the registers that they use.
#include <algorithm>
#include <cstring>

#include "device_harness.hpp"
#include "instruction_stream.hpp"

namespace fuzz {

namespace {

// What stands in front of the words of an input: one byte each.
enum Choice : size_t {
  target,
  lds,
  scratch,
  float_mode,
  properties_low,
  properties_high,
  start,
  preload,
  choices
};

Bytes make(Random& random, const std::vector<Bytes>&) {
  Bytes input(choices);
  for (uint8_t& byte : input) {
    byte = static_cast<uint8_t>(random.next());
  }
  if (!random.one_in(8)) {
    input[properties_low] = input[properties_high] = input[preload] = 0;
  }
  const std::vector<uint32_t> words = random_instructions(random);
  input.resize(choices + words.size() * 4);
  std::memcpy(input.data() + choices, words.data(), words.size() * 4);
  return input;
}

void attempt(const Bytes& input) {
  if (input.size() < choices) {
    return;
  }
  constexpr uint32_t machines[] = {0x3f, 0x4c, 0x4f};
  constexpr uint32_t lds_sizes[] = {0, 64, 4096, 65536};
  constexpr uint32_t scratch_sizes[] = {0, 16, 256, 4096};
  KernelImage kernel;
  kernel.machine = machines[input[target] % 3];
  kernel.lds_bytes = lds_sizes[input[lds] % 4];
  kernel.private_bytes = scratch_sizes[input[scratch] % 4];
  kernel.float_mode = input[float_mode];
  kernel.more_properties =
      static_cast<uint16_t>((input[properties_low] | input[properties_high] << 8) & ~(1 << 10));
  kernel.kernarg_preload = input[preload];
  std::vector<uint32_t> words;
  if (input[start] % 8 != 0) {
    words = prologue();
  }
  const size_t at = words.size(), count = (input.size() - choices) / 4;
  words.resize(at + count);
  std::memcpy(words.data() + at, input.data() + choices, count * 4);
  DeviceHarness& harness = DeviceHarness::get();
  Random random(hash_of(input));
  if (const auto object = harness.load(make_image(kernel, words))) {
    harness.run(object, random);
  }
  harness.check_nothing_is_left();
}

}  // namespace

const Driver driver{make, attempt};

}  // namespace fuzz
