// f16 arithmetic. Operands are widened, computed with in float, and rounded once: float has more than twice
// f16's precision, so that no sum, product, quotient or root is rounded wrongly by the detour. Fused
// operations need fma_half.
#include "vector/lanes/families.hpp"
#include "vector/lanes/real_math.hpp"
#include "vector/lanes/transcendental.hpp"
#include "vector/opcodes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {
namespace {

// v_mad and v_mac round the product.
float multiply_then_add(float a, float b, float c) {
  return widen_half(narrow_half(a * b, Rounding::even)) + c;
}

float reciprocal_square_root_half(float value) { return 1.0f / std::sqrt(value); }

int32_t frexp_exponent_half(float value) { return frexp_exponent(value); }

constexpr OpHandler f16_ops[] = {
    {op::v_add_f16, run<F16(F16, F16), add<float>>},
    {op::v_sub_f16, run<F16(F16, F16), subtract<float>>},
    {op::v_subrev_f16, run<F16(F16, F16), subtract_reversed<float>>},
    {op::v_mul_f16, run<F16(F16, F16), multiply<float>>},
    {op::v_min_f16, run<F16(F16, F16), minimum_number<float>>},
    {op::v_max_f16, run<F16(F16, F16), maximum_number<float>>},
    {op::v_mac_f16, run<F16(F16, F16, Old<F16>), multiply_then_add>},
    {op::v_madmk_f16, run<F16(F16, F16, F16), multiply_then_add>},
    {op::v_madak_f16, run<F16(F16, F16, F16), multiply_then_add>},
    {op::v_mad_f16, run<F16(F16, F16, F16), multiply_then_add>},
    {op::v_mad_legacy_f16, run<F16(F16, F16, F16), multiply_then_add>},
    {op::v_fma_f16, run<F16(F16, F16, F16), fma_half>},
    {op::v_fma_legacy_f16, run<F16(F16, F16, F16), fma_half>},
    {op::v_min3_f16, run<F16(F16, F16, F16), minimum_of_3<float>>},
    {op::v_max3_f16, run<F16(F16, F16, F16), maximum_of_3<float>>},
    {op::v_med3_f16, run<F16(F16, F16, F16), median_of_3<float>>},
    {op::v_rcp_f16, run<F16(F16), reciprocal<float>>},
    {op::v_sqrt_f16, run<F16(F16), square_root<float>>},
    {op::v_rsq_f16, run<F16(F16), reciprocal_square_root_half>},
    {op::v_log_f16, run<F16(F16), logarithm_2>},
    {op::v_exp_f16, run<F16(F16), exponential_2>},
    {op::v_sin_f16, run<F16(F16), sine_of_turns>},
    {op::v_cos_f16, run<F16(F16), cosine_of_turns>},
    {op::v_floor_f16, run<F16(F16), round_down<float>>},
    {op::v_ceil_f16, run<F16(F16), round_up<float>>},
    {op::v_trunc_f16, run<F16(F16), truncate<float>>},
    {op::v_rndne_f16, run<F16(F16), round_even<float>>},
    {op::v_fract_f16, run<F16(F16), fraction_half>},
    {op::v_frexp_mant_f16, run<F16(F16), frexp_mantissa<float>>},
    {op::v_frexp_exp_i16_f16, run<I16(F16), frexp_exponent_half>},
    {op::v_ldexp_f16, run<F16(F16, I16), load_exponent_f32>},
};

}  // namespace

void add_f16_ops(HandlerTable& table) { table.add(f16_ops); }

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
