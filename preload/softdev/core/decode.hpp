// From instruction words to Inst.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/inst.hpp"
#include "core/wave.hpp"

namespace ktrace::softdev {

// Decodes the instruction at `words`, of which `available` dwords may be read (at least 1). Always sets
// `size`; sets `encoding` to unknown for what no supported target has. Does not set `handler`.
Inst decode(const uint32_t* words, size_t available, Arch arch);

// The mnemonic, or the encoding and opcode number if it has none that we know.
std::string mnemonic(const Inst& inst);
bool has_mnemonic(const Inst& inst);

}  // namespace ktrace::softdev
