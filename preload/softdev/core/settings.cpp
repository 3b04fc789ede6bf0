// Reads the environment variables of the software device, except for the number of devices.
#include "core/settings.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "core/machine.hpp"

namespace ktrace::softdev {

namespace {

constexpr uint64_t default_budget = 4000000000;

// Null if the variable is empty or not set: both ask for the default.
const char* value_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value ? value : nullptr;
}

[[noreturn]] void refuse(const char* variable, const char* value, const char* expected) {
  throw LoadError(std::string(variable) + " is `" + value + "`; " + expected);
}

Arch read_arch() {
  const char* value = value_of("KTRACE_SOFT_ARCH");
  if (!value) {
    return Arch::gfx942;
  }
  for (const Arch arch : {Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
    if (std::strcmp(value, arch_name(arch)) == 0) {
      return arch;
    }
  }
  refuse("KTRACE_SOFT_ARCH", value, "the software device can be gfx90a, gfx942 or gfx950");
}

// A number in digits, from 1 on; 0 if it is none.
template <typename Number>
Number parsed(const char* value) {
  Number number = 0;
  const char* end = value + std::strlen(value);
  const auto [stop, error] = std::from_chars(value, end, number);
  return error == std::errc{} && stop == end ? number : 0;
}

uint64_t read_budget() {
  const char* value = value_of("KTRACE_SOFT_BUDGET");
  if (!value) {
    return default_budget;
  }
  const auto budget = parsed<uint64_t>(value);
  if (budget == 0) {
    refuse("KTRACE_SOFT_BUDGET", value,
           "a number of wave instructions is expected, in digits, from 1 to 18446744073709551615");
  }
  return budget;
}

// Those that the process may run on: they may be fewer than the machine has.
unsigned processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    return std::max(1u, std::thread::hardware_concurrency());
  }
  return static_cast<unsigned>(CPU_COUNT(&allowed));
}

unsigned read_threads() {
  const char* value = value_of("KTRACE_SOFT_THREADS");
  if (!value) {
    return processors();
  }
  const auto threads = parsed<uint32_t>(value);
  if (threads == 0) {
    refuse("KTRACE_SOFT_THREADS", value, "a number of threads is expected, in digits, from 1 to 4294967295");
  }
  return threads;
}

bool read_check() {
  const char* value = value_of("KTRACE_SOFT_CHECK");
  if (value && std::strcmp(value, "0") != 0 && std::strcmp(value, "1") != 0) {
    refuse("KTRACE_SOFT_CHECK", value, "`1` is expected, or `0`, or nothing");
  }
  return value && *value == '1';
}

bool read_host_memory() {
  const char* value = value_of("KTRACE_SOFT_HOST_MEMORY");
  if (value && std::strcmp(value, "0") != 0 && std::strcmp(value, "1") != 0) {
    refuse("KTRACE_SOFT_HOST_MEMORY", value, "`0` is expected, or `1`, or nothing");
  }
  return !value || *value == '1';
}

LaneCode read_lane_code() {
  const char* value = value_of("KTRACE_SOFT_LANES");
  if (!value) {
    return LaneCode::avx512;
  }
  if (std::strcmp(value, "avx2") == 0) {
    return LaneCode::avx2;
  }
  if (std::strcmp(value, "baseline") == 0) {
    return LaneCode::baseline;
  }
  refuse("KTRACE_SOFT_LANES", value, "`baseline` is expected, or `avx2`, or nothing");
}

}  // namespace

// Read once, when the runtime starts: a program that changes its environment later changes nothing, and no
// dispatch meets a value that was not checked.
uint64_t budget_from_environment() {
  static const uint64_t budget = read_budget();
  return budget;
}

unsigned threads_from_environment() {
  static const unsigned threads = read_threads();
  return threads;
}

LaneCode lane_code_from_environment() {
  static const LaneCode fastest = read_lane_code();
  return fastest;
}

bool check_from_environment() {
  static const bool wanted = read_check();
  return wanted;
}

bool host_memory_from_environment() {
  static const bool wanted = read_host_memory();
  return wanted;
}

// Asked before there are devices: so this is where the other variables are refused too, rather than in
// the midst of a dispatch.
Arch arch_from_environment() {
  budget_from_environment();
  threads_from_environment();
  lane_code_from_environment();
  check_from_environment();
  host_memory_from_environment();
  return read_arch();
}

}  // namespace ktrace::softdev
