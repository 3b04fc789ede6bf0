// f32 arithmetic.
#include "vector/lanes/families.hpp"
#include "vector/lanes/real_math.hpp"
#include "vector/lanes/transcendental.hpp"
#include "vector/opcodes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {
namespace {

#if defined(__AVX512F__)
// Some processors divide 8 lanes twice sooner than 16 at once.
template <__m256 (*operation)(__m256)>
void in_eights(Wave& wave, const Inst& inst) {
  Enable enable;
  const RoundingScope<F32> rounding(wave);
  const Source<F32> source(wave, inst, 0, enable);
  Target<F32> target(wave, inst, enable);
  uint32_t* const to = target.row();
  for (unsigned l = 0; l < lanes; l += 8) {
    const __m256i from = _mm256_load_si256(reinterpret_cast<const __m256i*>(source.row() + l));
    const __m256 result = operation(_mm256_castsi256_ps(from));
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + l), _mm256_castps_si256(result));
  }
  target.commit(wave, inst, enable);
}
__m256 reciprocal_of_8(__m256 value) { return _mm256_div_ps(_mm256_set1_ps(1.0f), value); }
__m256 square_root_of_8(__m256 value) { return _mm256_sqrt_ps(value); }
constexpr Handler reciprocal_f32 = in_eights<reciprocal_of_8>;
constexpr Handler square_root_f32 = in_eights<square_root_of_8>;
#else
constexpr Handler reciprocal_f32 = run<F32(F32), reciprocal<float>>;
constexpr Handler square_root_f32 = run<F32(F32), square_root<float>>;
#endif

constexpr OpHandler f32_ops[] = {
    {op::v_add_f32, run<F32(F32, F32), add<float>>},
    {op::v_sub_f32, run<F32(F32, F32), subtract<float>>},
    {op::v_subrev_f32, run<F32(F32, F32), subtract_reversed<float>>},
    {op::v_mul_f32, run<F32(F32, F32), multiply<float>>},
    {op::v_mul_legacy_f32, run<F32(F32, F32), multiply_legacy<float>>},
    {op::v_min_f32,
     by_ieee<run<F32(F32, F32), minimum_ieee<float>>, run<F32(F32, F32), minimum_number<float>>>},
    {op::v_max_f32,
     by_ieee<run<F32(F32, F32), maximum_ieee<float>>, run<F32(F32, F32), maximum_number<float>>>},
    {op::v_fma_f32, run<F32(F32, F32, F32), fused_multiply_add<float>>},
    {op::v_fmamk_f32, run<F32(F32, F32, F32), fused_multiply_add<float>>},
    {op::v_fmaak_f32, run<F32(F32, F32, F32), fused_multiply_add<float>>},
    {op::v_fmac_f32, run<F32(F32, F32, Old<F32>), fused_multiply_add<float>>},
    {op::v_min3_f32, run<F32(F32, F32, F32), minimum_of_3<float>>},
    {op::v_max3_f32, run<F32(F32, F32, F32), maximum_of_3<float>>},
    {op::v_med3_f32, run<F32(F32, F32, F32), median_of_3<float>>},
    {op::v_minimum3_f32, run<F32(F32, F32, F32), minimum_of_3_propagating<float>>},
    {op::v_maximum3_f32, run<F32(F32, F32, F32), maximum_of_3_propagating<float>>},
    {op::v_fract_f32, run<F32(F32), fraction<float>>},
    {op::v_trunc_f32, run<F32(F32), truncate<float>>},
    {op::v_ceil_f32, run<F32(F32), round_up<float>>},
    {op::v_rndne_f32, run<F32(F32), round_even<float>>},
    {op::v_floor_f32, run<F32(F32), round_down<float>>},
    {op::v_exp_f32, run<F32(F32), exponential_2_flushed>},
    {op::v_log_f32, run<F32(F32), logarithm_2_flushed>},
    {op::v_exp_legacy_f32, run<F32(F32), exponential_2_flushed>},
    {op::v_log_legacy_f32, run<F32(F32), logarithm_2_flushed>},
    {op::v_rcp_f32, reciprocal_f32},
    {op::v_rcp_iflag_f32, reciprocal_f32},
    {op::v_rsq_f32, run<F32(F32), reciprocal_square_root_f32>},
    {op::v_sqrt_f32, square_root_f32},
    {op::v_sin_f32, run<F32(F32), sine_of_turns>},
    {op::v_cos_f32, run<F32(F32), cosine_of_turns>},
    {op::v_frexp_exp_i32_f32, run<I32(F32), frexp_exponent<float>>},
    {op::v_frexp_mant_f32, run<F32(F32), frexp_mantissa<float>>},
    {op::v_ldexp_f32, run<F32(F32, I32), load_exponent_f32>},
};

}  // namespace

void add_f32_ops(HandlerTable& table) { table.add(f32_ops); }

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
