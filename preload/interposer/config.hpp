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
inline constexpr const char* environment_blocks = "KTRACE_BLOCKS";
inline constexpr const char* environment_waves = "KTRACE_WAVES";
inline constexpr const char* environment_xcc = "KTRACE_XCC";
inline constexpr const char* environment_version = "KTRACE_VERSION";

inline constexpr std::uint64_t default_memory = std::uint64_t{1} << 30;
inline constexpr std::uint64_t smallest_memory = std::uint64_t{1} << 16;
inline constexpr std::uint32_t smallest_words = 32;
inline constexpr std::uint32_t largest_words = 1u << 20;
inline constexpr std::uint32_t all_numbers = 0xffffffffu;

// Blocks lo, lo + stride, lo + 2 stride ... below hi. A stride is a power of two, so that the device needs
// only a mask.
struct AxisFilter {
  std::uint32_t lo = 0;
  std::uint32_t hi = 0xffffffffu;
  std::uint32_t stride_mask = 0;
};

struct Config {
  std::string session_dir;
  std::string output;                     // the exact file of -o; empty without one
  std::string output_dir;                 // without -o
  std::uint64_t memory = default_memory;  // bytes of trace buffers per device
  std::uint32_t words = 0;                // words of a wave's region; 0: by the sizing rule
  std::vector<std::string> kernels;       // patterns; empty: every annotated kernel
  AxisFilter blocks[3];
  std::uint32_t wave_mask = all_numbers;
  std::uint32_t xcc_mask = all_numbers;

  // Whether waves of a traced dispatch may be left out by choice.
  bool has_filter() const;
};

struct ConfigResult {
  std::optional<Config> config;  // none: this process is not traced
  std::string session_dir;       // "" if nobody asked for tracing
  std::string trouble;           // why not, as one line without a prefix
};

ConfigResult read_config();

// Whether a kernel of this name is asked for: mangled, demangled, or only its identifier.
bool is_kernel_wanted(const Config& config, const std::string& name);

}  // namespace ktrace
