// f64 arithmetic.
#include "vector/lanes/families.hpp"
#include "vector/lanes/real_math.hpp"
#include "vector/lanes/trigonometry.hpp"
#include "vector/opcodes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {
namespace {

constexpr OpHandler f64_ops[] = {
    {op::v_add_f64, run<F64(F64, F64), add<double>>},
    {op::v_mul_f64, run<F64(F64, F64), multiply<double>>},
    {op::v_min_f64,
     by_ieee<run<F64(F64, F64), minimum_ieee<double>>, run<F64(F64, F64), minimum_number<double>>>},
    {op::v_max_f64,
     by_ieee<run<F64(F64, F64), maximum_ieee<double>>, run<F64(F64, F64), maximum_number<double>>>},
    {op::v_fma_f64, run<F64(F64, F64, F64), fused_multiply_add<double>>},
    {op::v_fmac_f64, run<F64(F64, F64, Old<F64>), fused_multiply_add<double>>},
    {op::v_trunc_f64, run<F64(F64), truncate<double>>},
    {op::v_ceil_f64, run<F64(F64), round_up<double>>},
    {op::v_rndne_f64, run<F64(F64), round_even<double>>},
    {op::v_floor_f64, run<F64(F64), round_down<double>>},
    {op::v_fract_f64, run<F64(F64), fraction<double>>},
    {op::v_rcp_f64, run<F64(F64), reciprocal<double>>},
    {op::v_rsq_f64, run<F64(F64), reciprocal_square_root_f64>},
    {op::v_sqrt_f64, run<F64(F64), square_root<double>>},
    {op::v_frexp_exp_i32_f64, run<I32(F64), frexp_exponent<double>>},
    {op::v_frexp_mant_f64, run<F64(F64), frexp_mantissa<double>>},
    {op::v_ldexp_f64, run<F64(F64, I32), load_exponent_f64>},
    {op::v_trig_preop_f64, run<F64(F64, U32), two_over_pi_segment>},
};

}  // namespace

void add_f64_ops(HandlerTable& table) { table.add(f64_ops); }

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
