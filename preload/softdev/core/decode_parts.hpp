// The parts of the decoder, one function per instruction format in three files, and what they share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/inst.hpp"
#include "core/wave.hpp"

namespace ktrace::softdev {

constexpr uint32_t bits(uint32_t word, unsigned high, unsigned low) {
  return (word >> low) & (0xffffffffu >> (31 - (high - low)));
}
constexpr uint8_t bits8(uint32_t word, unsigned high, unsigned low) {
  return static_cast<uint8_t>(bits(word, high, low));
}
constexpr uint16_t bits16(uint32_t word, unsigned high, unsigned low) {
  return static_cast<uint16_t>(bits(word, high, low));
}
constexpr int32_t sign_extend(uint32_t value, unsigned width) {
  return static_cast<int32_t>(value << (32 - width)) >> (32 - width);
}

// The literal is the instruction's second dword.
inline void take_literal(Inst& inst) {
  inst.size = 8;
  inst.literal = inst.words[1];
}

// decode_vector.cpp
void decode_vector_32(Inst& inst, uint32_t word, uint32_t high, Arch arch);
void decode_vector_64(Inst& inst, size_t available, Arch arch);

// decode_memory.cpp
void decode_smem(Inst& inst, uint32_t word, uint32_t high);
void decode_ds(Inst& inst, uint32_t word, uint32_t high);
void decode_flat(Inst& inst, uint32_t word, uint32_t high, Arch arch);
void decode_mubuf(Inst& inst, uint32_t word, uint32_t high);
void decode_mtbuf(Inst& inst, uint32_t word, uint32_t high);

// targets.cpp
bool exists_on(const Inst& inst, Arch arch);

// decode_call.cpp: "gfx942" to Arch; false if it is no target of ours.
bool find_arch(const char* name, Arch& arch);

}  // namespace ktrace::softdev
