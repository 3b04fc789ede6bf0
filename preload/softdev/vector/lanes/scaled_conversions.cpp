// gfx950's conversions between f32, f16, bf16 and the 8-, 6- and 4-bit formats with a scale, and its
// stochastic rounding to f16 and bf16.
//
// The scale is the exponent of an f32 operand: values are multiplied with that power of two on the way from a
// small format, divided on the way to one. Elements lie packed in registers, lowest first; where they fill
// less than a register, op_sel says which part.
#include <cmath>
#include <limits>

#include "vector/lanes/families.hpp"
#include "vector/lanes/integer_math.hpp"
#include "vector/lanes/small_float.hpp"
#include "vector/opcodes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {
namespace {

// ---- formats: width, fraction bits, and the way to and from float

struct AsF32 {
  static constexpr unsigned width = 32;
  static constexpr unsigned fraction_bits = 23;
  static float widen(uint32_t bits) { return bits_as<float>(bits); }
  static uint32_t narrow(float value) { return bits_as<uint32_t>(value); }
};
struct AsF16 {
  static constexpr unsigned width = 16;
  static constexpr unsigned fraction_bits = 10;
  static float widen(uint32_t bits) { return widen_half(bits); }
  static uint32_t narrow(float value) { return narrow_half(value, Rounding::even); }
};
struct AsBf16 {
  static constexpr unsigned width = 16;
  static constexpr unsigned fraction_bits = 7;
  static float widen(uint32_t bits) { return widen_bfloat(bits); }
  static uint32_t narrow(float value) { return narrow_bfloat(value); }
};
template <SmallFloat kind_>
struct Small {
  static constexpr SmallFloat kind = kind_;
  static constexpr unsigned width = small_formats[static_cast<unsigned>(kind_)].width;
};
using Fp8 = Small<SmallFloat::fp8>;
using Bf8 = Small<SmallFloat::bf8>;
using Fp6 = Small<SmallFloat::fp6>;
using Bf6 = Small<SmallFloat::bf6>;
using Fp4 = Small<SmallFloat::fp4>;

// ---- elements in registers

constexpr unsigned most_registers = 32;

// A source of one or more registers. Only a single one may be a constant.
class PackedSource {
 public:
  PackedSource(Wave& wave, const Inst& inst, unsigned n, unsigned first_bit = 0, unsigned bits = 32)
      : m_first_bit(first_bit), m_abs((inst.abs >> n & 1u) != 0), m_neg((inst.neg >> n & 1u) != 0) {
    const unsigned code = inst.src[n];
    if (code >= code_vgpr) {
      m_rows = wave.vgpr(code - code_vgpr);
      return;
    }
    if (first_bit + bits > 32) {
      fault(wave, inst, "a source of %u bits is no register of a lane", bits);
    }
    const uint32_t value = read_scalar(wave, inst, code);
    KTRACE_EACH_LANE(l) { m_constant.at[l] = value; }
    m_rows = m_constant.at;
  }
  PackedSource(const PackedSource&) = delete;
  PackedSource& operator=(const PackedSource&) = delete;

  uint32_t element(unsigned number, unsigned width, unsigned lane) const {
    const unsigned bit = m_first_bit + number * width;
    const uint32_t* row = m_rows + size_t{bit / 32} * lanes;
    uint64_t bits = row[lane];
    if (bit % 32 + width > 32) {
      bits |= uint64_t{row[lanes + lane]} << 32;
    }
    return static_cast<uint32_t>(bits >> (bit % 32) & ((uint64_t{1} << width) - 1));
  }
  // The same with the operand's modifiers.
  uint32_t number(unsigned which, unsigned width, unsigned lane) const {
    const uint32_t sign = 1u << (width - 1);
    const uint32_t bits = element(which, width, lane) & ~(m_abs ? sign : 0u);
    return bits ^ (m_neg ? sign : 0u);
  }

 private:
  const uint32_t* m_rows;
  unsigned m_first_bit;
  bool m_abs;
  bool m_neg;
  Row m_constant;
};

// Results are put together here and written afterwards: they may overlap the sources.
struct PackedResult {
  uint32_t registers[most_registers] = {};
  void put(unsigned number, unsigned width, uint32_t value) {
    const unsigned bit = number * width;
    const uint64_t bits = uint64_t{value} << (bit % 32);
    registers[bit / 32] |= static_cast<uint32_t>(bits);
    if (bit % 32 + width > 32) {
      registers[bit / 32 + 1] |= static_cast<uint32_t>(bits >> 32);
    }
  }
};

// Where `bits` bits lie in their register: by op_sel's low bits in a source, by its high ones in a result.
unsigned source_bit(const Inst& inst, unsigned bits) {
  return bits == 8 ? (inst.op_sel & 3u) * 8 : bits == 16 ? (inst.op_sel & 1u) * 16 : 0;
}
unsigned result_bit(const Inst& inst, unsigned bits) {
  return bits == 8 ? (inst.op_sel >> 2 & 3u) * 8 : bits == 16 ? (inst.op_sel >> 3 & 1u) * 16 : 0;
}

// Writes under EXEC; a part of a register leaves the rest alone.
template <unsigned bits>
class ResultRows {
 public:
  explicit ResultRows(const Inst& inst) : m_shift(result_bit(inst, bits)) {}
  void set(unsigned lane, const PackedResult& result) {
    for (unsigned k = 0; k < count; ++k) {
      m_rows[k].at[lane] = result.registers[k] << m_shift;
    }
  }
  void commit_all(Wave& wave, const Inst& inst) {
    if (bits < 32) {
      const uint32_t field = ((1u << bits % 32) - 1u) << m_shift;
      const uint32_t* old = wave.vgpr(inst.dst);
      KTRACE_EACH_LANE(l) { m_rows[0].at[l] |= old[l] & ~field; }
    }
    for (unsigned k = 0; k < count; ++k) {
      commit(wave, inst.dst + k, m_rows[k], Enable{});
    }
  }

 private:
  static constexpr unsigned count = (bits + 31) / 32;
  Row m_rows[count];
  unsigned m_shift;
};

// ---- scales

constexpr uint32_t not_a_scale = 0xff;
uint32_t scale_of(const PackedSource& source, unsigned lane) {
  return source.element(0, 32, lane) >> 23 & 0xffu;
}
int exponent_of(uint32_t scale) { return static_cast<int>(scale) - 127; }
double power_of_two(int exponent) {
  return bits_as<double>(static_cast<uint64_t>(exponent + 1023) << 52);  // -127..127
}
bool saturates(const Wave& wave) { return (wave.mode >> 23 & 1u) != 0; }  // MODE.FP16_OVFL
// Formats without NaN keep the sign.
float not_a_number(float value) { return std::copysign(std::numeric_limits<float>::quiet_NaN(), value); }

// ---- the conversions

template <class From, class To, unsigned count>
void widen_scaled(Wave& wave, const Inst& inst) {
  const PackedSource source(wave, inst, 0, source_bit(inst, From::width * count), From::width * count);
  const PackedSource scales(wave, inst, 1);
  const float* values = small_values(From::kind);
  ResultRows<To::width * count> rows(inst);
  for (unsigned l = 0; l < lanes; ++l) {
    const uint32_t scale = scale_of(scales, l);
    const double factor = power_of_two(exponent_of(scale));
    PackedResult result;
    for (unsigned e = 0; e < count; ++e) {
      const float value = values[source.element(e, From::width, l)];
      const float scaled =
          scale == not_a_scale ? not_a_number(value) : static_cast<float>(double{value} * factor);
      result.put(e, To::width, To::narrow(scaled));
    }
    rows.set(l, result);
  }
  rows.commit_all(wave, inst);
}

// How many operands the elements come from: with two, they alternate.
enum class Sources : uint8_t { one = 1, two = 2 };

template <class From, class To, unsigned count, Sources sources>
void narrow_scaled(Wave& wave, const Inst& inst) {
  constexpr unsigned operands = static_cast<unsigned>(sources);
  const PackedSource even(wave, inst, 0, 0, From::width * count / operands);
  const PackedSource odd(wave, inst, operands - 1, 0, From::width * count / operands);
  const PackedSource scales(wave, inst, operands);
  ResultRows<To::width * count> rows(inst);
  for (unsigned l = 0; l < lanes; ++l) {
    const uint32_t scale = scale_of(scales, l);
    const double factor = power_of_two(-exponent_of(scale));
    PackedResult result;
    for (unsigned e = 0; e < count; ++e) {
      const PackedSource& source = e % operands == 0 ? even : odd;
      const float value = From::widen(source.number(e / operands, From::width, l));
      const float scaled =
          scale == not_a_scale ? not_a_number(value) : static_cast<float>(double{value} * factor);
      result.put(e, To::width, narrow_small(scaled, To::kind, saturates(wave)));
    }
    rows.set(l, result);
  }
  rows.commit_all(wave, inst);
}

// Every element after the first takes the next number of v_prng_b32.
template <class From, class To, unsigned count>
void narrow_by_chance(Wave& wave, const Inst& inst) {
  const PackedSource source(wave, inst, 0, count == 1 && From::width == 16 ? (inst.op_sel & 1u) * 16 : 0,
                            From::width * count);
  const PackedSource random(wave, inst, 1);
  const PackedSource scales(wave, inst, 2);
  ResultRows<To::width * count> rows(inst);
  for (unsigned l = 0; l < lanes; ++l) {
    const uint32_t scale = scale_of(scales, l);
    ChanceRounding how{exponent_of(scale), From::fraction_bits, random.element(0, 32, l)};
    PackedResult result;
    for (unsigned e = 0; e < count; ++e) {
      const float value = From::widen(source.number(e, From::width, l));
      const float given = scale == not_a_scale ? not_a_number(value) : value;
      result.put(e, To::width, narrow_small_by_chance(given, To::kind, how, saturates(wave)));
      how.random = pseudo_random(how.random);
    }
    rows.set(l, result);
  }
  rows.commit_all(wave, inst);
}

// v_cvt_sr_f16_f32 and v_cvt_sr_bf16_f32: without scale.
template <class To, int bias>
void narrow_half_by_chance(Wave& wave, const Inst& inst) {
  Inst plain = inst;
  plain.op_sel = 0;
  Enable enable;
  const Source<F32> source(wave, plain, 0, enable);
  const Source<U32> random(wave, plain, 1, enable);
  ResultRows<16> rows(inst);
  const uint32_t infinity = To::narrow(std::numeric_limits<float>::infinity());
  for (unsigned l = 0; l < lanes; ++l) {
    const float value = source[l];
    PackedResult result;
    if (std::isnan(value) || std::isinf(value)) {
      result.put(0, 16, To::narrow(value));
    } else {
      const uint32_t kept =
          chance_magnitude(value, To::fraction_bits, bias, {0, AsF32::fraction_bits, random[l]});
      const uint32_t sign = bits_as<uint32_t>(value) >> 16 & 0x8000u;
      result.put(0, 16, sign | (kept < infinity ? kept : infinity));
    }
    rows.set(l, result);
  }
  rows.commit_all(wave, inst);
}

template <class From, class To>
constexpr Handler pack_2 = narrow_scaled<From, To, 2, Sources::one>;
template <class To>
constexpr Handler pack_2_f32 = narrow_scaled<AsF32, To, 2, Sources::two>;

constexpr OpHandler scaled_conversions[] = {
    {op::v_cvt_scalef32_pk_fp8_f32, pack_2_f32<Fp8>},
    {op::v_cvt_scalef32_pk_bf8_f32, pack_2_f32<Bf8>},
    {op::v_cvt_scalef32_pk_fp4_f32, pack_2_f32<Fp4>},
    {op::v_cvt_scalef32_pk_fp8_f16, pack_2<AsF16, Fp8>},
    {op::v_cvt_scalef32_pk_bf8_f16, pack_2<AsF16, Bf8>},
    {op::v_cvt_scalef32_pk_fp4_f16, pack_2<AsF16, Fp4>},
    {op::v_cvt_scalef32_pk_fp8_bf16, pack_2<AsBf16, Fp8>},
    {op::v_cvt_scalef32_pk_bf8_bf16, pack_2<AsBf16, Bf8>},
    {op::v_cvt_scalef32_pk_fp4_bf16, pack_2<AsBf16, Fp4>},
    {op::v_cvt_scalef32_2xpk16_fp6_f32, narrow_scaled<AsF32, Fp6, 32, Sources::two>},
    {op::v_cvt_scalef32_2xpk16_bf6_f32, narrow_scaled<AsF32, Bf6, 32, Sources::two>},
    {op::v_cvt_scalef32_pk32_fp6_f16, narrow_scaled<AsF16, Fp6, 32, Sources::one>},
    {op::v_cvt_scalef32_pk32_fp6_bf16, narrow_scaled<AsBf16, Fp6, 32, Sources::one>},
    {op::v_cvt_scalef32_pk32_bf6_f16, narrow_scaled<AsF16, Bf6, 32, Sources::one>},
    {op::v_cvt_scalef32_pk32_bf6_bf16, narrow_scaled<AsBf16, Bf6, 32, Sources::one>},

    {op::v_cvt_scalef32_sr_fp8_f32, narrow_by_chance<AsF32, Fp8, 1>},
    {op::v_cvt_scalef32_sr_bf8_f32, narrow_by_chance<AsF32, Bf8, 1>},
    {op::v_cvt_scalef32_sr_fp8_f16, narrow_by_chance<AsF16, Fp8, 1>},
    {op::v_cvt_scalef32_sr_bf8_f16, narrow_by_chance<AsF16, Bf8, 1>},
    {op::v_cvt_scalef32_sr_fp8_bf16, narrow_by_chance<AsBf16, Fp8, 1>},
    {op::v_cvt_scalef32_sr_bf8_bf16, narrow_by_chance<AsBf16, Bf8, 1>},
    {op::v_cvt_scalef32_sr_pk_fp4_f32, narrow_by_chance<AsF32, Fp4, 2>},
    {op::v_cvt_scalef32_sr_pk_fp4_f16, narrow_by_chance<AsF16, Fp4, 2>},
    {op::v_cvt_scalef32_sr_pk_fp4_bf16, narrow_by_chance<AsBf16, Fp4, 2>},
    {op::v_cvt_scalef32_sr_pk32_fp6_f32, narrow_by_chance<AsF32, Fp6, 32>},
    {op::v_cvt_scalef32_sr_pk32_bf6_f32, narrow_by_chance<AsF32, Bf6, 32>},
    {op::v_cvt_scalef32_sr_pk32_fp6_f16, narrow_by_chance<AsF16, Fp6, 32>},
    {op::v_cvt_scalef32_sr_pk32_bf6_f16, narrow_by_chance<AsF16, Bf6, 32>},
    {op::v_cvt_scalef32_sr_pk32_fp6_bf16, narrow_by_chance<AsBf16, Fp6, 32>},
    {op::v_cvt_scalef32_sr_pk32_bf6_bf16, narrow_by_chance<AsBf16, Bf6, 32>},

    {op::v_cvt_scalef32_f32_fp8, widen_scaled<Fp8, AsF32, 1>},
    {op::v_cvt_scalef32_f32_bf8, widen_scaled<Bf8, AsF32, 1>},
    {op::v_cvt_scalef32_f16_fp8, widen_scaled<Fp8, AsF16, 1>},
    {op::v_cvt_scalef32_f16_bf8, widen_scaled<Bf8, AsF16, 1>},
    {op::v_cvt_scalef32_pk_f32_fp8, widen_scaled<Fp8, AsF32, 2>},
    {op::v_cvt_scalef32_pk_f32_bf8, widen_scaled<Bf8, AsF32, 2>},
    {op::v_cvt_scalef32_pk_f32_fp4, widen_scaled<Fp4, AsF32, 2>},
    {op::v_cvt_scalef32_pk_f16_fp8, widen_scaled<Fp8, AsF16, 2>},
    {op::v_cvt_scalef32_pk_f16_bf8, widen_scaled<Bf8, AsF16, 2>},
    {op::v_cvt_scalef32_pk_f16_fp4, widen_scaled<Fp4, AsF16, 2>},
    {op::v_cvt_scalef32_pk_bf16_fp8, widen_scaled<Fp8, AsBf16, 2>},
    {op::v_cvt_scalef32_pk_bf16_bf8, widen_scaled<Bf8, AsBf16, 2>},
    {op::v_cvt_scalef32_pk_bf16_fp4, widen_scaled<Fp4, AsBf16, 2>},
    {op::v_cvt_scalef32_pk32_f32_fp6, widen_scaled<Fp6, AsF32, 32>},
    {op::v_cvt_scalef32_pk32_f32_bf6, widen_scaled<Bf6, AsF32, 32>},
    {op::v_cvt_scalef32_pk32_f16_fp6, widen_scaled<Fp6, AsF16, 32>},
    {op::v_cvt_scalef32_pk32_f16_bf6, widen_scaled<Bf6, AsF16, 32>},
    {op::v_cvt_scalef32_pk32_bf16_fp6, widen_scaled<Fp6, AsBf16, 32>},
    {op::v_cvt_scalef32_pk32_bf16_bf6, widen_scaled<Bf6, AsBf16, 32>},

    {op::v_cvt_sr_f16_f32, narrow_half_by_chance<AsF16, 15>},
    {op::v_cvt_sr_bf16_f32, narrow_half_by_chance<AsBf16, 127>},
};

}  // namespace

void add_scaled_conversions(HandlerTable& table) { table.add(scaled_conversions); }

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
