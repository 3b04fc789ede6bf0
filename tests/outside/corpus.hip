// One source for every compiler and target: kernels of one wave, whose results numpy can compute as well.
//
// Lane l of a kernel reads a[l], b[l], ... and writes row r of its results to out[64 * r + l].
#include "mini_hip.hpp"

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
typedef _Float16 half2 __attribute__((ext_vector_type(2)));
typedef short short2_t __attribute__((ext_vector_type(2)));
typedef u16 ushort2_t __attribute__((ext_vector_type(2)));
typedef short short4_t __attribute__((ext_vector_type(4)));
typedef float float2_t __attribute__((ext_vector_type(2)));
typedef float float4_t __attribute__((ext_vector_type(4)));
typedef float float16_t __attribute__((ext_vector_type(16)));
typedef double double4_t __attribute__((ext_vector_type(4)));
typedef u32 uint4_t __attribute__((ext_vector_type(4)));

#define LANE (__builtin_amdgcn_workitem_id_x())
#define PUT(value) (out[64 * row++ + LANE] = (value))

template <class T>
__device__ u32 bits(T value) {
  if constexpr (sizeof(T) == 2) {
    return __builtin_bit_cast(u16, value);
  } else {
    return __builtin_bit_cast(u32, value);
  }
}

extern "C" __global__ void integers(const int* a, const int* b, u32* out) {
  const int x = a[LANE], y = b[LANE];
  const u32 ux = u32(x), uy = u32(y);
  int row = 0;
  PUT(ux + uy);
  PUT(ux - uy);
  PUT(ux * uy);
  PUT(u32(i64(x) * y >> 32));
  PUT(u32(u64(ux) * uy >> 32));
  PUT(y == 0 || (x == -2147483647 - 1 && y == -1) ? 0 : u32(x / y));
  PUT(y == 0 || (x == -2147483647 - 1 && y == -1) ? 0 : u32(x % y));
  PUT(uy == 0 ? 0 : ux / uy);
  PUT(uy == 0 ? 0 : ux % uy);
  PUT(ux << (uy & 31));
  PUT(ux >> (uy & 31));
  PUT(u32(x >> (uy & 31)));
  PUT(u32(x < y ? x : y));
  PUT(ux < uy ? uy : ux);
  PUT(ux == 0 ? 32 : u32(__builtin_clz(ux)));
  PUT(ux == 0 ? 32 : u32(__builtin_ctz(ux)));
  PUT(u32(__builtin_popcount(ux)));
  PUT(__builtin_bitreverse32(ux));
  PUT(__builtin_bswap32(ux));
  PUT(__builtin_rotateleft32(ux, uy & 31));
  PUT(ux >> 5 & 0x1ff);
  PUT(u32(x < 0 ? -x : x));
  PUT((ux & uy) | (~ux & 0x0f0f0f0f));
  PUT(ux ^ uy ^ 0x55aa55aa);
  const u64 wide = (u64(ux) << 32 | uy) * (u64(uy) << 32 | ux) + 0x123456789abcdefull;
  PUT(u32(wide));
  PUT(u32(wide >> 32));
  const u64 divisor = (u64(uy) << 7) | 1, dividend = u64(ux) << 32 | uy;
  PUT(u32(dividend / divisor));
  PUT(u32((dividend % divisor) >> 32));
}

extern "C" __global__ void floats(const float* a, const float* b, const float* c, u32* out) {
  const float x = a[LANE], y = b[LANE], z = c[LANE];
  int row = 0;
  PUT(bits(x + y));
  PUT(bits(x - y));
  PUT(bits(x * y));
  PUT(bits(__builtin_fmaf(x, y, z)));
  PUT(bits(x / y));
  PUT(bits(__builtin_sqrtf(__builtin_fabsf(x))));
  PUT(bits(__builtin_fminf(x, y)));
  PUT(bits(__builtin_fmaxf(x, y)));
  PUT(bits(__builtin_floorf(x)));
  PUT(bits(__builtin_ceilf(x)));
  PUT(bits(__builtin_truncf(x)));
  PUT(bits(__builtin_rintf(x)));
  PUT(bits(__builtin_copysignf(x, y)));
  PUT(bits(__builtin_amdgcn_fractf(x)));
  PUT(bits(__builtin_amdgcn_fmed3f(x, y, z)));
  PUT(u32(x < y) | u32(x <= y) << 1 | u32(x == y) << 2 | u32(x != y) << 3 | u32(x >= y) << 4);
  PUT(u32(__builtin_isnan(x * 0.0f)) | u32(__builtin_isinf(x)) << 1);
  PUT(bits(__builtin_amdgcn_frexp_mantf(x)));
  PUT(u32(__builtin_amdgcn_frexp_expf(x)));
  PUT(bits(__builtin_ldexpf(x, int(LANE) - 32)));
  // approximate
  PUT(bits(__builtin_amdgcn_rcpf(y)));
  PUT(bits(__builtin_amdgcn_rsqf(__builtin_fabsf(y))));
  PUT(bits(__builtin_exp2f(y * 0.01f)));
  PUT(bits(__builtin_log2f(__builtin_fabsf(y))));
}

extern "C" __global__ void halves(const _Float16* a, const _Float16* b, const _Float16* c, u32* out) {
  const _Float16 x = a[LANE], y = b[LANE], z = c[LANE];
  const half2 p = {x, y}, q = {y, z}, s = {z, x};
  int row = 0;
  PUT(bits(_Float16(x + y)));
  PUT(bits(_Float16(x - y)));
  PUT(bits(_Float16(x * y)));
  PUT(bits(__builtin_fmaf16(x, y, z)));
  PUT(bits(_Float16(x / y)));
  PUT(bits(__builtin_sqrtf16(__builtin_fabsf16(x))));
  PUT(bits(__builtin_fminf16(x, y)));
  PUT(bits(__builtin_fmaxf16(x, y)));
  PUT(bits(__builtin_rintf16(x)));
  PUT(bits(half2(p + q)));
  PUT(bits(half2(p * q)));
  PUT(bits(half2(__builtin_elementwise_fma(p, q, s))));
  PUT(bits(half2(__builtin_elementwise_max(p, q))));
  PUT(bits(float(x) * float(y) + float(z)));
}

extern "C" __global__ void conversions(const float* a, const int* b, u32* out) {
  const float x = a[LANE];
  const int n = b[LANE];
  int row = 0;
  PUT(u32(int(x)));
  PUT(u32(__builtin_fabsf(x)));
  PUT(bits(_Float16(x)));
  PUT(bits(float(_Float16(x))));
  PUT(bits(float(n)));
  PUT(bits(float(u32(n))));
  PUT(bits(float(i64(n) << 20 | 0x12345)));
  PUT(u32(i64(x)));
  PUT(u32(i64(x * 65536.0f) >> 16));
  const double d = double(x) * 1.0000001;
  PUT(u32(__builtin_bit_cast(u64, d)));
  PUT(u32(__builtin_bit_cast(u64, d) >> 32));
  PUT(bits(float(d)));
  PUT(u32(int(d)));
  PUT(bits(float(double(n) / 3.0)));
  PUT(bits(float(u8(n))));
  PUT(bits(float(u8(n >> 16))));
  PUT(u32(int(short(n))));
  PUT(u32(u16(n >> 8)));
  PUT(u32(int(static_cast<signed char>(n))));
  PUT(bits(__builtin_amdgcn_cvt_pkrtz(x, x * 3.0f)));
  PUT(bits(__builtin_amdgcn_cvt_pknorm_i16(x * 0.0001f, -x * 0.0001f)));
}

extern "C" __global__ void float8(const float* a, const u32* b, u32* out) {
  const float x = a[LANE];
  const u32 n = b[LANE];
  int row = 0;
  PUT(u32(__builtin_amdgcn_cvt_pk_fp8_f32(x, -x, 0, false)) & 0xffff);
  PUT(u32(__builtin_amdgcn_cvt_pk_bf8_f32(x, -x, 0, false)) & 0xffff);
  PUT(bits(__builtin_amdgcn_cvt_f32_fp8(int(n), 0)));
  PUT(bits(__builtin_amdgcn_cvt_f32_bf8(int(n), 1)));
  PUT(bits(float(__builtin_amdgcn_cvt_pk_f32_fp8(int(n), true)[1])));
}

// Matrix instructions: operands as the registers of the lanes hold them, 8 bytes a lane.
extern "C" __global__ void matrices_bf16(const short4_t* a, const short4_t* b, float* out) {
  const float4_t d16 = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a[LANE], b[LANE], float4_t{}, 0, 0, 0);
  const float16_t d32 = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a[LANE], b[LANE], float16_t{}, 0, 0, 0);
  int row = 0;
  for (int r = 0; r < 4; ++r) PUT(d16[r]);
  for (int r = 0; r < 16; ++r) PUT(d32[r]);
}

extern "C" __global__ void matrices_fp8(const long* a, const long* b, float* out) {
  const float4_t d16 = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a[LANE], b[LANE], float4_t{}, 0, 0, 0);
  const float16_t d32 = __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(a[LANE], b[LANE], float16_t{}, 0, 0, 0);
  int row = 0;
  for (int r = 0; r < 4; ++r) PUT(d16[r]);
  for (int r = 0; r < 16; ++r) PUT(d32[r]);
}

extern "C" __global__ void matrices_f32(const float* a, const float* b, float* out) {
  const float4_t d16 = __builtin_amdgcn_mfma_f32_16x16x4f32(a[LANE], b[LANE], float4_t{}, 0, 0, 0);
  const float16_t d32 = __builtin_amdgcn_mfma_f32_32x32x2f32(a[LANE], b[LANE], float16_t{}, 0, 0, 0);
  int row = 0;
  for (int r = 0; r < 4; ++r) PUT(d16[r]);
  for (int r = 0; r < 16; ++r) PUT(d32[r]);
}

extern "C" __global__ void matrices_f64(const double* a, const double* b, double* out) {
  const double4_t d16 = __builtin_amdgcn_mfma_f64_16x16x4f64(a[LANE], b[LANE], double4_t{}, 0, 0, 0);
  int row = 0;
  for (int r = 0; r < 4; ++r) PUT(d16[r]);
  PUT(__builtin_amdgcn_mfma_f64_4x4x4f64(a[LANE], b[LANE], 0.0, 0, 0, 0));
}

extern "C" __global__ void places(u32* out) {
  int row = 0;
  out += 64 * 2 * __builtin_amdgcn_workgroup_id_x();
  PUT(__builtin_amdgcn_s_getreg(31 << 11 | 4));  // HW_ID
  PUT(__builtin_amdgcn_s_getreg(3 << 11 | 20));  // XCC_ID
}

extern "C" __global__ void votes(const u32* a, u32* out) {
  const u32 x = a[LANE];
  const int next = int((LANE + 5) % 64 * 4);
  int row = 0;
  const u64 odd = __builtin_amdgcn_ballot_w64(x & 1);
  PUT(u32(odd));
  PUT(u32(odd >> 32));
  PUT(__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)));
  PUT(__builtin_amdgcn_mbcnt_hi(u32(odd >> 32), __builtin_amdgcn_mbcnt_lo(u32(odd), 0)));
  PUT(__builtin_amdgcn_readfirstlane(x));
  PUT(__builtin_amdgcn_readlane(x, 37));
  PUT(u32(__builtin_amdgcn_ds_bpermute(next, int(x))));
  PUT(u32(__builtin_amdgcn_ds_permute(next, int(x))));
  PUT(u32(__builtin_amdgcn_ds_swizzle(int(x), 0x041f)));  // lane ^ 1 of each 32
  PUT(u32(__builtin_amdgcn_update_dpp(7, int(x), 0x111, 0xf, 0xf, false)));  // row_shr:1
  PUT(u32(__builtin_amdgcn_update_dpp(7, int(x), 0x101, 0xf, 0xf, true)));   // row_shl:1
  PUT(u32(__builtin_amdgcn_update_dpp(7, int(x), 0x140, 0xf, 0xf, false)));  // row_mirror
  PUT(u32(__builtin_amdgcn_update_dpp(7, int(x), 0x1b, 0xf, 0xf, false)));   // quad_perm:[3,2,1,0]
  u32 first = 0;
  if (x & 2) {
    first = __builtin_amdgcn_readfirstlane(x) + u32(__builtin_popcountll(__builtin_amdgcn_ballot_w64(true)));
  }
  PUT(first);
}

extern "C" __global__ void dots(const int* a, const int* b, const int* c, u32* out) {
  const int x = a[LANE], y = b[LANE], z = c[LANE];
  int row = 0;
  PUT(u32(__builtin_amdgcn_sdot4(x, y, z, false)));
  PUT(__builtin_amdgcn_udot4(u32(x), u32(y), u32(z), false));
  PUT(u32(__builtin_amdgcn_sdot8(x, y, z, false)));
  PUT(__builtin_amdgcn_udot8(u32(x), u32(y), u32(z), false));
  PUT(u32(__builtin_amdgcn_sdot2(__builtin_bit_cast(short2_t, x), __builtin_bit_cast(short2_t, y), z, false)));
  PUT(__builtin_amdgcn_udot2(__builtin_bit_cast(ushort2_t, x), __builtin_bit_cast(ushort2_t, y), u32(z), false));
}

extern "C" __global__ void dots_of_halves(const half2* a, const half2* b, const float* c, float* out) {
  int row = 0;
  PUT(__builtin_amdgcn_fdot2(a[LANE], b[LANE], c[LANE], false));
}

// Buffers of `bytes` bytes: what lies outside is read as 0 and not written.
extern "C" __global__ void buffers(u32* a, u32* out, int bytes) {
  const auto buffer = __builtin_amdgcn_make_buffer_rsrc(a, 0, bytes, 0x27000);
  int row = 0;
  PUT(__builtin_amdgcn_raw_buffer_load_b32(buffer, int(LANE * 4), 0, 0));
  PUT(__builtin_amdgcn_raw_buffer_load_b32(buffer, int(LANE * 4), 128, 0));
  PUT(u32(__builtin_amdgcn_raw_buffer_load_b8(buffer, int(LANE * 3), 0, 0)));
  PUT(u32(__builtin_amdgcn_raw_buffer_load_b16(buffer, int(LANE * 2), 0, 0)));
  const uint4_t four = __builtin_amdgcn_raw_buffer_load_b128(buffer, int(LANE * 16), 0, 0);
  for (int r = 0; r < 4; ++r) PUT(four[r]);
  __builtin_amdgcn_raw_buffer_store_b32(LANE + 1000, buffer, int(LANE * 8), 0, 0);
}

extern "C" __global__ void shared_vectors(const u32* a, u32* out) {
  __shared__ uint4_t wide[64];
  __shared__ u8 bytes[256];
  __shared__ u16 words[128];
  __shared__ u32 sums[4];
  const u32 x = a[LANE];
  int row = 0;
  wide[LANE] = uint4_t{x, x + 1, x + 2, x + 3};
  for (int k = 0; k < 4; ++k) bytes[LANE * 4 + k] = u8(x >> 8 * k);
  words[LANE * 2] = u16(x), words[LANE * 2 + 1] = u16(x >> 16);
  if (LANE < 4) sums[LANE] = 100 * LANE;
  __syncthreads();
  const uint4_t other = wide[63 - LANE];
  for (int r = 0; r < 4; ++r) PUT(other[r]);
  PUT(u32(bytes[255 - LANE]));
  PUT(u32(int(static_cast<signed char>(bytes[LANE]))));
  PUT(u32(words[(LANE + 64) % 128]));
  __hip_atomic_fetch_add(&sums[LANE & 1], x & 0xff, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __hip_atomic_fetch_max(&sums[2], x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __hip_atomic_fetch_or(&sums[3], 1u << (LANE & 31), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __syncthreads();
  PUT(sums[LANE & 3]);
}

// Generic addresses: lanes of one access reach global memory, LDS and scratch at once.
extern "C" __global__ void generic(u32* a, u32* out) {
  __shared__ u32 mine[64];
  volatile u32 own[4];
  mine[LANE] = LANE * 3;
  for (int k = 0; k < 4; ++k) own[k] = LANE * 5 + u32(k);
  __syncthreads();
  volatile u32* place = LANE % 3 == 0 ? a + LANE : LANE % 3 == 1 ? mine + LANE : own + LANE % 4;
  int row = 0;
  PUT(*place);
  *place = LANE + 7;
  __syncthreads();
  PUT(mine[LANE]);
  PUT(own[LANE % 4]);
}
