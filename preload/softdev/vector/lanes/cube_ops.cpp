// Cube map coordinates, and packing of floats into bytes: graphics' instructions, which every target still
// has.
#include <cmath>

#include "vector/lanes/families.hpp"
#include "vector/lanes/real_math.hpp"
#include "vector/opcodes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {
namespace {

// The axis of the face that a direction points through; ties go to z, then to y.
enum class Axis : uint8_t { x, y, z };

Axis major_axis(float x, float y, float z) {
  const float x_size = std::fabs(x);
  const float y_size = std::fabs(y);
  const float z_size = std::fabs(z);
  if (z_size >= x_size && z_size >= y_size) {
    return Axis::z;
  }
  return y_size >= x_size ? Axis::y : Axis::x;
}

// +x, -x, +y, -y, +z, -z
float cube_face(float x, float y, float z) {
  switch (major_axis(x, y, z)) {
    case Axis::x:
      return x < 0 ? 1.0f : 0.0f;
    case Axis::y:
      return y < 0 ? 3.0f : 2.0f;
    default:
      return z < 0 ? 5.0f : 4.0f;
  }
}

float cube_s(float x, float y, float z) {
  switch (major_axis(x, y, z)) {
    case Axis::x:
      return x < 0 ? z : -z;
    case Axis::y:
      return x;
    default:
      return z < 0 ? -x : x;
  }
}

float cube_t(float x, float y, float z) {
  if (major_axis(x, y, z) == Axis::y) {
    return y < 0 ? -z : z;
  }
  return -y;
}

float cube_major(float x, float y, float z) {
  switch (major_axis(x, y, z)) {
    case Axis::x:
      return 2.0f * x;
    case Axis::y:
      return 2.0f * y;
    default:
      return 2.0f * z;
  }
}

// Rounds as MODE says (nearbyint follows RoundingScope), saturates, and makes NaN 0.
uint32_t byte_from_float(float value) {
  const float whole = std::nearbyint(value);
  return whole > 0 ? (whole < 255 ? static_cast<uint32_t>(whole) : 255u) : 0u;
}
uint32_t with_byte(uint32_t word, uint32_t place, uint32_t byte) {
  const uint32_t shift = (place & 3u) * 8;
  return (word & ~(0xffu << shift)) | byte << shift;
}

// `start`: what the other bytes come from.
template <class Start>
void pack_byte(Wave& wave, const Inst& inst) {
  Enable enable;
  const RoundingScope<F32> rounding(wave);
  const Source<F32> value(wave, inst, 0, enable);
  const Source<U32> place(wave, inst, 1, enable);
  const Source<Start> start(wave, inst, 2, enable);
  Result<U32> result;
  for (unsigned l = 0; l < lanes; ++l) {
    result.set(l, with_byte(start[l], place[l], byte_from_float(value[l])));
  }
  result.commit(wave, inst, enable);
}

constexpr OpHandler cube_ops[] = {
    {op::v_cubeid_f32, run<F32(F32, F32, F32), cube_face>},
    {op::v_cubesc_f32, run<F32(F32, F32, F32), cube_s>},
    {op::v_cubetc_f32, run<F32(F32, F32, F32), cube_t>},
    {op::v_cubema_f32, run<F32(F32, F32, F32), cube_major>},
    {op::v_cvt_pk_u8_f32, pack_byte<U32>},
    {op::v_cvt_pkaccum_u8_f32, pack_byte<Old<U32>>},
};

}  // namespace

void add_cube_ops(HandlerTable& table) { table.add(cube_ops); }

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
