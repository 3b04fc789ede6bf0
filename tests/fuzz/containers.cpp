// Bundles, compressed bundles and code objects of the command line, damaged, and unpacked for each target.
#include "core/machine.hpp"
#include "elf_mutation.hpp"
#include "hip/container.hpp"

namespace fuzz {

namespace {

namespace softdev = ktrace::softdev;
namespace hip = ktrace::softdev::hip;

// Most of what matters stands in front.
void mutate_start(Bytes& bytes, Random& random) {
  Bytes start(bytes.begin(),
              bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() < 200 ? bytes.size() : 200));
  mutate_bytes(start, random);
  std::copy(start.begin(), start.end(), bytes.begin());
}

Bytes make(Random& random, const std::vector<Bytes>& corpus) {
  if (corpus.empty()) {
    give_up("no bundles were given");
  }
  Bytes bytes = random.pick(corpus);
  random.one_in(4) ? mutate_bytes(bytes, random) : mutate_start(bytes, random);
  if (random.one_in(6)) {
    bytes.resize(random.below(bytes.size() + 1));
  }
  return bytes;
}

void attempt(const Bytes& input) {
  if (input.empty()) {
    return;
  }
  static softdev::MemoryRegistry registry;
  for (const char* target : {"gfx942:sramecc+:xnack-", "gfx950:sramecc+:xnack-"}) {
    const hip::ExtractedImage image =
        hip::extract_image(input.data(), input.size(), hip::TargetId::parse(target));
    if (image.error != hipSuccess) {
      if (image.trouble.empty()) {
        give_up("an error without words");
      }
      note_message("error " + std::to_string(image.error), image.trouble);
      continue;
    }
    try {
      softdev::CodeObject::load(image.data, image.size, registry);
      note("unpacked and loaded");
    } catch (const softdev::LoadError& error) {
      note_message("unpacked, load error", error.what());
    }
  }
}

}  // namespace

const Driver driver{make, attempt};

}  // namespace fuzz
