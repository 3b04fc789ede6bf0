#include "config.hpp"

#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "config_values.hpp"
#include "placeholders.hpp"

#ifndef KTRACE_PRELOAD_VERSION
#error "the build passes the project's version"
#endif

namespace ktrace {
namespace {

constexpr const char* untraced = ": the program runs untraced";

std::string value_of(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Programs change their folder.
void make_absolute(std::string* path) {
  char folder[PATH_MAX];
  if (path->empty() || path->front() == '/' || !getcwd(folder, sizeof folder)) return;
  *path = std::string(folder) + "/" + *path;
}

struct Variable {
  const char* name;
  bool (*parse)(const std::string& text, Config* config);
  const char* expected;
};

constexpr const char* expected_expressions = "regular expressions (ECMAScript), one per line";
constexpr const char* expected_numbers = "numbers and ranges from 0 to 31, such as 0,4-7";
constexpr const char* expected_milliseconds = "a number of milliseconds, 1 or more";

constexpr Variable variables[] = {
    {environment_memory, parse_memory, "a number of bytes, 65536 or more"},
    {environment_words, parse_words, "a power of two from 32 to 1048576"},
    {environment_kernels, parse_kernels, "shell patterns or /regular expressions/, one per line"},
    {environment_kernel_include, parse_kernel_include, expected_expressions},
    {environment_kernel_exclude, parse_kernel_exclude, expected_expressions},
    {environment_kernel_iterations, parse_iterations, "numbers and ranges from 1, such as 1,3-4"},
    {environment_periods, parse_periods, "DELAY:DURATION:REPEAT, the first two in nanoseconds, with commas"},
    {environment_blocks, parse_blocks,
     "up to three of *, N, LO:HI or LO:HI:STRIDE (a power of two), separated by commas"},
    {environment_waves, parse_waves, expected_numbers},
    {environment_xcc, parse_xcc, expected_numbers},
    {environment_mode, parse_mode, "direct or claim"},
    {environment_full, parse_full, "saturate or ring"},
    {environment_on_full, parse_on_full, "drop or wait"},
    {environment_on_full_ms, parse_on_full_ms, expected_milliseconds},
    {environment_hang_ms, parse_hang_ms, expected_milliseconds},
    {environment_flydsl, parse_flydsl, "process or launch"},
    {environment_log_level, parse_log_level, "fatal, error, warning, info or trace"},
};

bool read_output(const char* name, const char* otherwise, std::string* path, std::string* trouble) {
  const std::string text = value_of(name);
  if (!fill_in_environment(text.empty() ? otherwise : text, path, trouble)) {
    *trouble = std::string(name) + " is `" + text + "`, and " + *trouble + untraced;
    return false;
  }
  make_absolute(path);
  return true;
}

}  // namespace

ConfigResult read_config() {
  Config config;
  config.session_dir = value_of(environment_session_dir);
  if (config.session_dir.empty()) return {};
  make_absolute(&config.session_dir);
  ConfigResult result{std::nullopt, config.session_dir, ""};
  const std::string version = value_of(environment_version);
  if (!version.empty() && version != KTRACE_PRELOAD_VERSION) {
    result.trouble =
        "libktrace_preload.so is version " KTRACE_PRELOAD_VERSION ", `ktrace` is " + version + untraced;
    return result;
  }
  if (!read_output(environment_output, "", &config.output, &result.trouble) ||
      !read_output(environment_output_dir, "ktrace_out", &config.output_dir, &result.trouble))
    return result;
  for (const Variable& variable : variables) {
    const std::string text = value_of(variable.name);
    if (text.empty() || variable.parse(text, &config)) continue;
    result.trouble = std::string(variable.name) + " is `" + text + "`, not " + variable.expected + untraced;
    return result;
  }
  result.config = std::move(config);
  return result;
}

bool Config::has_filter() const {
  const AxisFilter all;
  for (const AxisFilter& axis : blocks)
    if (axis.lo != all.lo || axis.hi != all.hi || axis.stride_mask != all.stride_mask) return true;
  return wave_mask != all_numbers || xcc_mask != all_numbers;
}

}  // namespace ktrace
