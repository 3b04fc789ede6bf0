// The decoder as an exported function, for tools and for the test that compares it with a disassembler.
#include <cstdio>
#include <cstring>

#include "core/decode.hpp"
#include "core/decode_parts.hpp"
#include "core/machine.hpp"
#include "core/text.hpp"

namespace ktrace::softdev {

bool find_arch(const char* name, Arch& arch) {
  for (const Arch candidate : {Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
    if (std::strcmp(name, arch_name(candidate)) == 0) {
      arch = candidate;
      return true;
    }
  }
  return false;
}

// Decodes the instruction at `words`, of which `count` dwords may be read. Returns its size in bytes,
// negative if it is none that the software device executes, and 0 for an unknown target or no words. `text`
// receives the mnemonic.
extern "C" __attribute__((visibility("default"))) int ktrace_softdev_decode(const uint32_t* words,
                                                                            size_t count, const char* target,
                                                                            char* text, size_t text_size) {
  Arch arch = Arch::gfx942;
  if (!count || !find_arch(target, arch)) {
    return 0;
  }
  const Inst inst = decode(words, count, arch);
  std::snprintf(text, text_size, "%s", mnemonic(inst).c_str());
  return find_handler(inst) ? inst.size : -int{inst.size};
}

}  // namespace ktrace::softdev
