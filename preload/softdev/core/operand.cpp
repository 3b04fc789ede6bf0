// Scalar operands, EXEC's expansion and the wording of faults.
#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "core/decode.hpp"
#include "core/dispatch.hpp"
#include "core/wave.hpp"

namespace ktrace::softdev {

namespace {

constexpr unsigned first_inline_float = 240;
constexpr unsigned last_inline_float = 248;
// 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1/(2*pi)
constexpr uint32_t inline_f32[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                   0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
constexpr uint16_t inline_f16[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};
constexpr uint64_t inline_f64[] = {0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
                                   0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
                                   0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};

bool is_inline_float(unsigned code) { return code >= first_inline_float && code <= last_inline_float; }

}  // namespace

uint32_t read_scalar(const Wave& wave, const Inst& inst, unsigned code) {
  if (code < 128) {
    return wave.sgpr[code];
  }
  if (code <= 192) {
    return code - 128;
  }
  if (code <= 208) {
    return 192 - code;
  }
  if (is_inline_float(code)) {
    return inline_f32[code - first_inline_float];
  }
  switch (code) {
    case 235:  // SRC_SHARED_BASE: the upper half, the lower being 0
      return static_cast<uint32_t>(shared_aperture >> 32);
    case 236:  // SRC_SHARED_LIMIT
      return static_cast<uint32_t>(shared_aperture >> 32);
    case 237:
    case 238:
      return static_cast<uint32_t>(private_aperture >> 32);
    case 251:
      return wave.vcc() == 0;
    case 252:
      return wave.exec() == 0;
    case 253:
      return wave.scc;
    case code_literal:
      return inst.literal;
    default:
      fault(wave, inst, "operand code %u is no scalar operand", code);
  }
}

uint64_t read_scalar64(const Wave& wave, const Inst& inst, unsigned code, OperandType type) {
  if (code < 127) {
    return wave.sgpr64(code);
  }
  if (code >= 128 && code <= 192) {
    return code - 128;
  }
  if (code > 192 && code <= 208) {
    return static_cast<uint64_t>(192 - static_cast<int64_t>(code));
  }
  if (is_inline_float(code)) {
    return inline_f64[code - first_inline_float];
  }
  if (code == code_literal) {
    return type == OperandType::real ? uint64_t{inst.literal} << 32 : inst.literal;
  }
  if (code >= 235 && code <= 238) {
    const bool limit = code == 236 || code == 238;
    return (code <= 236 ? shared_aperture : private_aperture) | (limit ? 0xffffffffu : 0);
  }
  return read_scalar(wave, inst, code);
}

uint32_t read_scalar16(const Wave& wave, const Inst& inst, unsigned code) {
  return is_inline_float(code) ? inline_f16[code - first_inline_float] : read_scalar(wave, inst, code);
}

void Wave::reset() {
  uint32_t* const file = vgprs;
  uint8_t* const private_memory = scratch;
  auto* const begin = reinterpret_cast<uint8_t*>(this);
  std::memset(begin, 0, static_cast<size_t>(reinterpret_cast<uint8_t*>(&lgkmcnt) - begin));
  lgkmcnt.head = lgkmcnt.count = 0;
  vmcnt.head = vmcnt.count = 0;
  std::fill(std::begin(matrix), std::end(matrix), MatrixResult());
  matrix_next = 0;
  vgprs = file;
  scratch = private_memory;
}

void Wave::expand_mask(uint64_t exec_value) {
  for (unsigned lane = 0; lane < lanes; ++lane) {
    m_mask[lane] = 0u - static_cast<uint32_t>(exec_value >> lane & 1);
  }
  m_mask_exec = exec_value;
}

std::string place_of(const Wave& wave, const Inst& inst) {
  std::string words;
  for (unsigned k = 0; k < inst.size / 4u; ++k) {
    char word[12];
    std::snprintf(word, sizeof word, "%s%08x", k ? " " : "", inst.words[k]);
    words += word;
  }
  const Kernel& kernel = *wave.dispatch->dispatch.kernel;
  const uint32_t* id = wave.workgroup->id;
  char place[160];
  std::snprintf(place, sizeof place, "workgroup (%u, %u, %u), wave %u, pc ", id[0], id[1], id[2],
                wave.wave_in_group);
  char pc[64];
  if (wave.pc >= kernel.entry) {
    std::snprintf(pc, sizeof pc, "+0x%" PRIx64, wave.pc - kernel.entry);
  } else {
    std::snprintf(pc, sizeof pc, "-0x%" PRIx64, kernel.entry - wave.pc);
  }
  const std::string source = wave.dispatch->dispatch.code_object->source_of(wave.pc);
  return "kernel `" + kernel.name + "`, " + place + pc + " [" + words + " " + mnemonic(inst) + "]" +
         (source.empty() ? "" : " at " + source);
}

void fault(const Wave& wave, const Inst& inst, const char* format, ...) {
  char cause[600];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(cause, sizeof cause, format, arguments);
  va_end(arguments);
  throw Fault(place_of(wave, inst) + ": " + cause);
}

}  // namespace ktrace::softdev
