// The unfused multiply-add of gfx90a, which its compilers use to divide integers; later targets have lost it.
#include <cmath>
#include <cstring>

#include "core/dispatch.hpp"
#include "core/wave.hpp"

namespace ktrace::softdev {

namespace {

// v_mad_f32 knows no denormals, whatever MODE says, and rounds to nearest twice.
float flush(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

float modified(const Inst& inst, unsigned operand, uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  value = inst.abs >> operand & 1 ? std::fabs(value) : value;
  return flush(inst.neg >> operand & 1 ? -value : value);
}

float finished(const Inst& inst, float value) {
  constexpr float scales[] = {1.0f, 2.0f, 4.0f, 0.5f};
  value = flush(flush(value) * scales[inst.omod]);
  if (inst.clamp) {
    value = value > 0 ? std::fmin(value, 1.0f) : 0.0f;
  }
  return value;
}

float product_of(float left, float right) { return flush(left * right); }

// 0 times anything is 0, infinity and NaN included.
float legacy_product_of(float left, float right) {
  return left == 0.0f || right == 0.0f ? 0.0f : product_of(left, right);
}

template <float (*multiply)(float, float)>
void mad(Wave& wave, const Inst& inst) {
  alignas(64) float operands[3][lanes];
  for (unsigned k = 0; k < 3; ++k) {
    const bool is_register = inst.src[k] >= code_vgpr;
    const uint32_t* row = is_register ? wave.vgpr(inst.src[k] - 256u) : nullptr;
    const uint32_t constant = is_register ? 0 : read_scalar(wave, inst, inst.src[k]);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      operands[k][lane] = modified(inst, k, row ? row[lane] : constant);
    }
  }
  uint32_t* result = wave.vgpr(inst.dst);
  const uint32_t* mask = wave.mask();
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const float product = multiply(operands[0][lane], operands[1][lane]);
    const float value = finished(inst, product + operands[2][lane]);
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    result[lane] = mask[lane] ? bits : result[lane];
  }
}

}  // namespace

Handler mad_handler(const Inst& inst) {
  if (inst.sdwa || inst.dpp) {
    return nullptr;
  }
  return inst.op == op_mad_f32          ? mad<product_of>
         : inst.op == op_mad_legacy_f32 ? mad<legacy_product_of>
                                        : nullptr;
}

}  // namespace ktrace::softdev
