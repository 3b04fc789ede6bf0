// What the environment asks of this process: the names, their meaning and their defaults.
//
// src/ktrace_cli/launch/environment.py writes what this file reads; docs/reference/environment.md is the
// contract.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ktrace {

inline constexpr const char* environment_session_dir = "KTRACE_SESSION_DIR";
inline constexpr const char* environment_output = "KTRACE_OUTPUT";
inline constexpr const char* environment_output_dir = "KTRACE_OUTPUT_DIR";
inline constexpr const char* environment_memory = "KTRACE_MEMORY";
inline constexpr const char* environment_words = "KTRACE_WORDS";
inline constexpr const char* environment_kernels = "KTRACE_KERNELS";
inline constexpr const char* environment_kernel_include = "KTRACE_KERNEL_INCLUDE";
inline constexpr const char* environment_kernel_exclude = "KTRACE_KERNEL_EXCLUDE";
inline constexpr const char* environment_kernel_iterations = "KTRACE_KERNEL_ITERATIONS";
inline constexpr const char* environment_periods = "KTRACE_PERIODS";
inline constexpr const char* environment_blocks = "KTRACE_BLOCKS";
inline constexpr const char* environment_waves = "KTRACE_WAVES";
inline constexpr const char* environment_xcc = "KTRACE_XCC";
inline constexpr const char* environment_mode = "KTRACE_MODE";
inline constexpr const char* environment_full = "KTRACE_FULL";
inline constexpr const char* environment_on_full = "KTRACE_ON_FULL";
inline constexpr const char* environment_on_full_ms = "KTRACE_ON_FULL_MS";
inline constexpr const char* environment_hang_ms = "KTRACE_HANG_MS";
inline constexpr const char* environment_flydsl = "KTRACE_FLYDSL";
inline constexpr const char* environment_log_level = "KTRACE_LOG_LEVEL";
inline constexpr const char* environment_version = "KTRACE_VERSION";

inline constexpr std::uint64_t default_memory = std::uint64_t{1} << 30;
inline constexpr std::uint64_t smallest_memory = std::uint64_t{1} << 16;
inline constexpr std::uint32_t smallest_words = 32;
inline constexpr std::uint32_t largest_words = 1u << 20;
inline constexpr std::uint32_t all_numbers = 0xffffffffu;
inline constexpr std::uint64_t default_wait_ms = 1000;

// Blocks lo, lo + stride, lo + 2 stride ... below hi. A stride is a power of two, so that the device needs
// only a mask.
struct AxisFilter {
  std::uint32_t lo = 0;
  std::uint32_t hi = 0xffffffffu;
  std::uint32_t stride_mask = 0;
};

// Launches of one kernel, counted from 1, both ends included.
struct IterationRange {
  std::uint64_t first = 1;
  std::uint64_t last = 1;
};

// Nothing for `delay_ns`, then everything for `duration_ns`; that `repeat` times, or for ever if it is 0.
struct Period {
  std::uint64_t delay_ns = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t repeat = 1;
};

enum class SlotMode {
  automatic,  // claim where not every wave can have a slot
  direct,     // never claim: what does not fit is lost
  claim       // always claim
};
enum class OnFull { drop, wait };           // a launch for which no trace buffer is left
enum class WhenFull { saturate, ring };     // a wave whose region is full
enum class FlydslMode { process, launch };  // whose buffers FlyDSL's launches write to
enum class LogLevel { fatal, error, warning, info, trace };

struct Config {
  std::string session_dir;
  std::string output;                       // the exact file of -o; empty without one
  std::string output_dir;                   // without -o
  std::uint64_t memory = default_memory;    // bytes of trace buffers per device
  std::uint32_t words = 0;                  // words of a wave's region; 0: by the sizing rule
  std::vector<std::string> kernels;         // patterns; empty: every annotated kernel
  std::vector<std::string> kernel_include;  // ECMAScript regular expressions; empty: every kernel
  std::vector<std::string> kernel_exclude;
  std::vector<IterationRange> iterations;  // empty: every launch
  std::vector<Period> periods;             // one after the other; empty: always
  AxisFilter blocks[3];
  std::uint32_t wave_mask = all_numbers;
  std::uint32_t xcc_mask = all_numbers;
  SlotMode mode = SlotMode::automatic;
  WhenFull full = WhenFull::saturate;
  OnFull on_full = OnFull::drop;
  std::uint64_t on_full_ms = default_wait_ms;  // the longest that a launch waits for a buffer
  std::uint64_t hang_ms = 0;                   // 0: buffers are in device memory
  FlydslMode flydsl = FlydslMode::process;
  LogLevel log_level = LogLevel::warning;

  // Whether waves of a traced dispatch may be left out by choice.
  bool has_filter() const;
};

struct ConfigResult {
  std::optional<Config> config;  // none: this process is not traced
  std::string session_dir;       // "" if nobody asked for tracing
  std::string trouble;           // why not, as one line without a prefix
};

ConfigResult read_config();

}  // namespace ktrace
