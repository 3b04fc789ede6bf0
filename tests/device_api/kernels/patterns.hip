// Every control flow that a marker may meet. tests/device_api/model.py says what each kernel must record.
#include <ktrace/ktrace.hpp>
#include <mini_hip.hpp>

#define LOOP _Pragma("clang loop unroll(disable)")

#define KERNEL(name) \
  extern "C" __global__ void name(int* out, const int* in, [[maybe_unused]] unsigned n KTRACE_PARAM)

KERNEL(nested_loops) {
  KTRACE_WAVE(t);
  int sum = 0;
  LOOP for (unsigned i = 0; i < n; ++i) {
    KTRACE_MARK(t, "outer", i);
    for (unsigned j = 0; j < 3; ++j) {
      KTRACE_MARK(t, "inner", j);
      sum += in[(threadIdx.x + i * 3 + j) & 255];
    }
  }
  KTRACE_MARK(t, "end", n);
  out[threadIdx.x] = sum;
}

KERNEL(wave_specialised) {
  KTRACE_WAVE(t);
  int sum = 0;
  if (threadIdx.x < 128) {
    KTRACE_GROUP(t, "producer");
    for (unsigned i = 0; i < n; ++i) {
      KTRACE_MARK(t, "produce", i);
      sum += in[(threadIdx.x + i) & 255];
    }
  } else {
    KTRACE_GROUP(t, "consumer");
    for (unsigned i = 0; i < n + 1; ++i) {
      KTRACE_MARK(t, "consume", i);
      sum ^= in[(threadIdx.x + i) & 255];
    }
  }
  KTRACE_MARK(t, "end", n);
  out[threadIdx.x] = sum;
}

KERNEL(odd_lanes) {
  KTRACE_WAVE(t);
  int value = in[threadIdx.x];
  KTRACE_MARK(t, "begin", 1);
  if (value & 1) {
    KTRACE_MARK(t, "odd", 2);
    value += in[value & 255];
  }
  KTRACE_MARK(t, "end", 3);
  out[threadIdx.x] = value;
}

KERNEL(both_arms) {
  KTRACE_WAVE(t);
  const int value = in[threadIdx.x];
  int sum = 0;
  for (unsigned i = 0; i < n; ++i) {
    KTRACE_MARK(t, "begin", i);
    if ((value >> i) & 1) {
      KTRACE_MARK(t, "then", i);
      sum += in[(sum + static_cast<int>(i)) & 255];
      KTRACE_MARK(t, "then end", i);
    } else {
      KTRACE_MARK(t, "else", i);
      sum ^= in[(sum + static_cast<int>(3 * i)) & 255];
      KTRACE_MARK(t, "else end", i);
    }
    KTRACE_MARK(t, "end", i);
  }
  out[threadIdx.x] = sum;
}

KERNEL(trip_counts) {
  KTRACE_WAVE(t);
  int sum = 0;
  const unsigned trips = static_cast<unsigned>(in[threadIdx.x]) % 7;
  for (unsigned i = 0; i < trips; ++i) {
    KTRACE_MARK(t, "trip", i);
    sum += in[(sum + static_cast<int>(i)) & 255];
  }
  KTRACE_MARK(t, "end", n);
  out[threadIdx.x] = sum;
}

KERNEL(return_before) {
  if (in[threadIdx.x] & 1) {
    out[threadIdx.x] = 7;
    return;
  }
  KTRACE_WAVE(t);
  int sum = 0;
  KTRACE_MARK(t, "begin", 1);
  for (unsigned i = 0; i < n; ++i) {
    KTRACE_MARK(t, "trip", i);
    sum += in[(sum + static_cast<int>(i)) & 255];
  }
  KTRACE_MARK(t, "end", 3);
  out[threadIdx.x] = sum;
}

KERNEL(return_after) {
  KTRACE_WAVE(t);
  int sum = 0;
  KTRACE_MARK(t, "begin", 1);
  if (in[threadIdx.x] & 1) {
    out[threadIdx.x] = 7;
    return;
  }
  KTRACE_MARK(t, "left", 2);
  for (unsigned i = 0; i < n; ++i) {
    KTRACE_MARK(t, "trip", i);
    sum += in[(sum + static_cast<int>(i)) & 255];
  }
  out[threadIdx.x] = sum;
}

__device__ __noinline__ int deeper(int sum KTRACE_FN_PARAM(t)) {
  KTRACE_MARK(t, "deeper", 7);
  return sum * 3;
}

__device__ __noinline__ int helper(int sum, const int* in KTRACE_FN_PARAM(t)) {
  KTRACE_PUSH(t, "helper", 5);
  KTRACE_TOKEN(token);
  KTRACE_START(t, token, "helper load", 6);
  int result = 0;
  {
    KTRACE_RANGE(t, "helper loop", 2.5);
    LOOP for (int i = 0; i < 3; ++i) { result += in[(sum + i) & 255]; }
  }
  result += deeper(result KTRACE_FN_ARG(t));
  KTRACE_STOP(t, token);
  KTRACE_POP(t);
  return result;
}

KERNEL(noinline_function) {
  KTRACE_WAVE(t);
  int sum = static_cast<int>(threadIdx.x);
  KTRACE_MARK(t, "begin", 1);
  for (unsigned i = 0; i < n; ++i) {
    KTRACE_MARK(t, "trip", i);
    sum += helper(sum, in KTRACE_FN_ARG(t));
  }
  if (in[threadIdx.x] & 1) {
    sum += helper(sum, in KTRACE_FN_ARG(t));
  }
  KTRACE_MARK(t, "end", 3);
  out[threadIdx.x] = sum;
}

KERNEL(break_and_continue) {
  KTRACE_WAVE(t);
  int sum = 0;
  const int value = in[threadIdx.x];
  for (int i = 0; i < 8; ++i) {
    KTRACE_MARK(t, "trip", i);
    if ((value & 15) == i) {
      break;
    }
    if ((value ^ i) & 16) {
      KTRACE_MARK(t, "continue", i);
      sum += in[(sum + i) & 255];
      continue;
    }
    KTRACE_MARK(t, "fall", i);
    sum ^= in[(sum + i) & 255];
  }
  KTRACE_MARK(t, "end", n);
  out[threadIdx.x] = sum;
}

KERNEL(switch_in_wave_branch) {
  KTRACE_WAVE(t);
  int sum = 0;
  const int value = in[threadIdx.x];
  if (threadIdx.x & 64) {
    switch (value & 3) {
      case 0:
        KTRACE_MARK(t, "zero", 0);
        sum = in[value & 127];
        break;
      case 1:
        KTRACE_MARK(t, "one", 1);
        sum = in[value & 63] * 3;
        break;
      case 2:
        KTRACE_MARK(t, "two", 2);
        sum = in[value & 31] ^ 5;
        break;
      default:
        sum = 1;
    }
    KTRACE_MARK(t, "joined", 4);
  } else {
    KTRACE_MARK(t, "other", 5);
  }
  KTRACE_MARK(t, "end", n);
  out[threadIdx.x] = sum;
}

// Ranges that lanes leave in every way: at the end, by continue, by break, by return.
KERNEL(ranges_left_early) {
  KTRACE_WAVE(t);
  int sum = 0;
  const int value = in[threadIdx.x];
  LOOP for (int i = 0; i < 6; ++i) {
    KTRACE_RANGE(t, "trip", i);
    if ((value & 7) == i) {
      continue;
    }
    KTRACE_RANGE(t, "rest", i);
    sum += in[(sum + i) & 255];
  }
  KTRACE_MARK(t, "end", n);
  out[threadIdx.x] = sum;
}

KERNEL(tokens) {
  KTRACE_WAVE(t);
  int sum = 0;
  KTRACE_TOKEN(oldest);
  KTRACE_TOKEN(middle);
  KTRACE_TOKEN(newest);
  LOOP for (unsigned i = 0; i < n; ++i) {
    KTRACE_RANGE(t, "tile", i);
    KTRACE_START(t, newest, "load", i, KTRACE_LANE("vmem"));
    sum += in[(threadIdx.x + i) & 255];
    KTRACE_STOP(t, oldest);  // of two iterations before; nothing in the first two
    oldest = middle;
    middle = newest;
  }
  out[threadIdx.x] = sum;
}

// Lanes hold different tokens: some none, some one.
KERNEL(tokens_of_some_lanes) {
  KTRACE_WAVE(t);
  const int value = in[threadIdx.x];
  KTRACE_TOKEN(token);
  if (value & 1) {
    KTRACE_START(t, token, "odd", 1);
  }
  KTRACE_MARK(t, "between", n);
  KTRACE_STOP(t, token);
  KTRACE_MARK(t, "end", n);
  out[threadIdx.x] = value;
}

// A wave that begins once per trip, and once on each side of a branch.
KERNEL(begins_again) {
  int sum = 0;
  LOOP for (unsigned i = 0; i < n; ++i) {
    KTRACE_WAVE(t);
    KTRACE_RANGE(t, "trip", i);
    sum += in[(threadIdx.x + i) & 255];
  }
  if (in[threadIdx.x] & 1) {
    KTRACE_WAVE(t);
    KTRACE_MARK(t, "odd", 1);
    sum += in[sum & 255];
  } else {
    KTRACE_WAVE(t);
    KTRACE_MARK(t, "even", 2);
    sum ^= in[sum & 255];
  }
  out[threadIdx.x] = sum;
}

KERNEL(payloads) {
  KTRACE_WAVE(t);
  [[maybe_unused]] const float quarter = 0.25f * static_cast<float>(n);
  KTRACE_MARK(t, "bool", n > 2, n > 200);
  KTRACE_MARK(t, "small", static_cast<signed char>(-3), static_cast<unsigned char>(200),
              static_cast<short>(-300), static_cast<unsigned short>(60000), 'a');
  KTRACE_MARK(t, "int", -5, 0x80000000u);
  KTRACE_MARK(t, "long", -6L - static_cast<long>(n), 0x123456789abcdef0ull + n, -7LL, 8ul);
  KTRACE_MARK(t, "float", quarter, -0.5f);
  KTRACE_MARK(t, "double", static_cast<double>(quarter) / 3, 1e300);
  KTRACE_PUSH(t, "push", KTRACE_LANE("lane of push"), 1);
  KTRACE_PHASE(t, "phase", 2, KTRACE_LANE("p"), 3);
  KTRACE_PHASE_END(t);
  KTRACE_POP(t);
  {
    KTRACE_RANGE(t, "range", 4u, KTRACE_LANE("123456789012345"));
  }
  KTRACE_ANCHOR(t);
  KTRACE_MARK(t, "first lane", threadIdx.x);
  out[threadIdx.x] = 1 + 0 * in[threadIdx.x];
}

// Spans around the limit of 2^20 cycles, whole waves and odd lanes, at both ends.
KERNEL(long_spans) {
  KTRACE_WAVE(t);
  {
    KTRACE_RANGE(t, "short", 1);
  }
  {
    KTRACE_RANGE(t, "long", 2);
    LOOP for (unsigned i = 0; i < n; ++i) { __builtin_amdgcn_s_sleep(127); }
  }
  {
    KTRACE_RANGE(t, "around", 3);
    if (in[threadIdx.x] & 1) {
      KTRACE_RANGE(t, "odd", 4);
      __builtin_amdgcn_s_sleep(3);
    }
  }
  KTRACE_MARK(t, "end", n);
  out[threadIdx.x] = 1;
}

// Which waves are recorded is a matter of the control block alone.
KERNEL(where) {
  KTRACE_WAVE(t);
  KTRACE_MARK(t, "where", n);
  if (in[threadIdx.x] == 12345) {
    out[0] = 1;
  }
}

extern "C" __global__ void only_the_sink(KTRACE_ONLY_PARAM) {
  KTRACE_WAVE(t);
  KTRACE_MARK(t, "alone");
}
