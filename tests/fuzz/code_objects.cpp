// Code objects of the command line, damaged, loaded, and their kernels run.
#include "device_harness.hpp"
#include "elf_mutation.hpp"

namespace fuzz {

namespace {

Bytes make(Random& random, const std::vector<Bytes>& corpus) {
  if (corpus.empty()) {
    give_up("no code objects were given");
  }
  Bytes image = random.pick(corpus);
  mutate_elf(image, random);
  return image;
}

void attempt(const Bytes& input) {
  DeviceHarness& harness = DeviceHarness::get();
  Random random(hash_of(input));
  if (const auto object = harness.load(input)) {
    harness.run(object, random);
  }
  harness.check_nothing_is_left();
}

}  // namespace

const Driver driver{make, attempt};

}  // namespace fuzz
