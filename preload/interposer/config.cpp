#include "config.hpp"

#include <fnmatch.h>
#include <regex.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "kernel_name.hpp"

#ifndef KTRACE_PRELOAD_VERSION
#error "the build passes the project's version"
#endif

namespace ktrace {
namespace {

std::string value_of(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + 1)
    parts.push_back(text.substr(begin, end - begin));
  parts.push_back(text.substr(begin));
  return parts;
}

std::optional<std::uint64_t> parse_number(const std::string& text, std::uint64_t largest) {
  if (text.empty() || text.size() > 19) return std::nullopt;
  std::uint64_t value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return value <= largest ? std::optional(value) : std::nullopt;
}

// Programs change their folder.
void make_absolute(std::string* path) {
  char folder[PATH_MAX];
  if (path->empty() || path->front() == '/' || !getcwd(folder, sizeof folder)) return;
  *path = std::string(folder) + "/" + *path;
}

bool is_power_of_two(std::uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

constexpr std::uint64_t largest_u32 = 0xffffffffu;

bool parse_memory(const std::string& text, Config* config) {
  const auto bytes = parse_number(text, ~std::uint64_t{0} >> 1);
  if (!bytes || *bytes < smallest_memory) return false;
  config->memory = *bytes;
  return true;
}

bool parse_words(const std::string& text, Config* config) {
  const auto words = parse_number(text, largest_words);
  if (!words || *words < smallest_words || !is_power_of_two(*words)) return false;
  config->words = static_cast<std::uint32_t>(*words);
  return true;
}

bool parse_axis(const std::string& text, AxisFilter* axis) {
  if (text == "*") return true;
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() > 3) return false;
  if (!parts[0].empty()) {
    const auto lo = parse_number(parts[0], largest_u32 - 1);
    if (!lo) return false;
    axis->lo = static_cast<std::uint32_t>(*lo);
  }
  if (parts.size() == 1) {
    axis->hi = axis->lo + 1;
    return !parts[0].empty();
  }
  if (!parts[1].empty()) {
    const auto hi = parse_number(parts[1], largest_u32);
    if (!hi || *hi <= axis->lo) return false;
    axis->hi = static_cast<std::uint32_t>(*hi);
  }
  if (parts.size() == 3) {
    const auto stride = parse_number(parts[2], largest_u32);
    if (!stride || !is_power_of_two(*stride)) return false;
    axis->stride_mask = static_cast<std::uint32_t>(*stride - 1);
  }
  return true;
}

bool parse_blocks(const std::string& text, Config* config) {
  const std::vector<std::string> axes = split(text, ',');
  if (axes.size() > 3) return false;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (!parse_axis(axes[i], &config->blocks[i])) return false;
  return true;
}

bool parse_mask(const std::string& text, std::uint32_t* mask) {
  *mask = 0;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> ends = split(part, '-');
    const auto first = parse_number(ends.front(), 31);
    const auto last = parse_number(ends.back(), 31);
    if (ends.size() > 2 || !first || !last || *last < *first) return false;
    for (std::uint64_t bit = *first; bit <= *last; ++bit) *mask |= 1u << bit;
  }
  return true;
}

bool is_regular_expression(const std::string& pattern) {
  return pattern.size() >= 3 && pattern.front() == '/' && pattern.back() == '/';
}

class RegularExpression {
 public:
  explicit RegularExpression(const std::string& pattern)
      : m_compiled(regcomp(&m_expression, pattern.substr(1, pattern.size() - 2).c_str(),
                           REG_EXTENDED | REG_NOSUB) == 0) {}
  ~RegularExpression() {
    if (m_compiled) regfree(&m_expression);
  }
  RegularExpression(const RegularExpression&) = delete;
  RegularExpression& operator=(const RegularExpression&) = delete;
  bool is_compiled() const { return m_compiled; }
  bool finds(const std::string& name) const {
    return regexec(&m_expression, name.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t m_expression;
  bool m_compiled;
};

bool parse_kernels(const std::string& text, Config* config) {
  for (const std::string& pattern : split(text, '\n')) {
    if (pattern.empty()) continue;
    if (is_regular_expression(pattern) && !RegularExpression(pattern).is_compiled()) return false;
    config->kernels.push_back(pattern);
  }
  return true;
}

struct Variable {
  const char* name;
  bool (*parse)(const std::string& text, Config* config);
  const char* expected;
};

constexpr Variable variables[] = {
    {environment_memory, parse_memory, "a number of bytes, 65536 or more"},
    {environment_words, parse_words, "a power of two from 32 to 1048576"},
    {environment_kernels, parse_kernels, "shell patterns or /regular expressions/, one per line"},
    {environment_blocks, parse_blocks,
     "up to three of *, N, LO:HI or LO:HI:STRIDE (a power of two), separated by commas"},
    {environment_waves,
     [](const std::string& text, Config* config) { return parse_mask(text, &config->wave_mask); },
     "numbers and ranges from 0 to 31, such as 0,4-7"},
    {environment_xcc,
     [](const std::string& text, Config* config) { return parse_mask(text, &config->xcc_mask); },
     "numbers and ranges from 0 to 31, such as 0,4-7"},
};

bool matches(const std::string& pattern, const std::string& name) {
  if (is_regular_expression(pattern)) return RegularExpression(pattern).finds(name);
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
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
    result.trouble = "libktrace_preload.so is version " KTRACE_PRELOAD_VERSION ", `ktrace` is " + version +
                     ": the program runs untraced";
    return result;
  }
  config.output = value_of(environment_output);
  config.output_dir = value_of(environment_output_dir);
  if (config.output_dir.empty()) config.output_dir = "ktrace_out";
  make_absolute(&config.output);
  make_absolute(&config.output_dir);
  for (const Variable& variable : variables) {
    const std::string text = value_of(variable.name);
    if (text.empty() || variable.parse(text, &config)) continue;
    result.trouble = std::string(variable.name) + " is `" + text + "`, not " + variable.expected +
                     ": the program runs untraced";
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

bool is_kernel_wanted(const Config& config, const std::string& name) {
  if (config.kernels.empty()) return true;
  const std::string demangled = demangled_kernel_name(name);
  // `gemm` means gemm<64, 32>(float const*, ...), too.
  const std::string identifier = demangled.substr(0, demangled.find_first_of("<("));
  for (const std::string& pattern : config.kernels)
    for (const std::string* spelling : {&name, &demangled, &identifier})
      if (!spelling->empty() && matches(pattern, *spelling)) return true;
  return false;
}

}  // namespace ktrace
