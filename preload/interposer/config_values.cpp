#include "config_values.hpp"

#include <initializer_list>
#include <utility>

#include "name_patterns.hpp"

namespace ktrace {
namespace {

constexpr std::uint64_t largest_u32 = 0xffffffffu;
constexpr std::uint64_t largest_u63 = ~std::uint64_t{0} >> 1;
constexpr std::uint64_t largest_ms = largest_u63 / 1'000'000;  // so that it can be told in nanoseconds

bool is_power_of_two(std::uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

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

// `4` or `4-7`, both ends included.
std::optional<IterationRange> parse_range(const std::string& text, std::uint64_t largest) {
  const std::vector<std::string> ends = split(text, '-');
  const auto first = parse_number(ends.front(), largest);
  const auto last = parse_number(ends.back(), largest);
  if (ends.size() > 2 || !first || !last || *last < *first) return std::nullopt;
  return IterationRange{*first, *last};
}

bool parse_mask(const std::string& text, std::uint32_t* mask) {
  *mask = 0;
  for (const std::string& part : split(text, ',')) {
    const auto range = parse_range(part, 31);
    if (!range) return false;
    for (std::uint64_t bit = range->first; bit <= range->last; ++bit) *mask |= 1u << bit;
  }
  return true;
}

bool parse_milliseconds(const std::string& text, std::uint64_t* milliseconds) {
  const auto number = parse_number(text, largest_ms);
  if (!number || *number == 0) return false;
  *milliseconds = *number;
  return true;
}

bool parse_expressions(const std::string& text, std::vector<std::string>* expressions) {
  for (const std::string& expression : split(text, '\n')) {
    if (expression.empty()) continue;
    if (!is_ecmascript_expression(expression)) return false;
    expressions->push_back(expression);
  }
  return true;
}

bool parse_period(const std::string& text, Period* period) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() != 3) return false;
  const auto delay = parse_number(parts[0], largest_u63);
  const auto duration = parse_number(parts[1], largest_u63);
  const auto repeat = parse_number(parts[2], largest_u32);
  if (!delay || !duration || !repeat || *duration == 0 || *duration > largest_u63 - *delay) return false;
  *period = {*delay, *duration, *repeat};
  return true;
}

template <class Value>
bool choose(const std::string& text, std::initializer_list<std::pair<const char*, Value>> choices,
            Value* value) {
  for (const auto& [name, choice] : choices)
    if (text == name) return *value = choice, true;
  return false;
}

}  // namespace

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

bool parse_memory(const std::string& text, Config* config) {
  const auto bytes = parse_number(text, largest_u63);
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

bool parse_kernels(const std::string& text, Config* config) {
  for (const std::string& pattern : split(text, '\n')) {
    if (pattern.empty()) continue;
    if (!is_name_pattern(pattern)) return false;
    config->kernels.push_back(pattern);
  }
  return true;
}

bool parse_kernel_include(const std::string& text, Config* config) {
  return parse_expressions(text, &config->kernel_include);
}

bool parse_kernel_exclude(const std::string& text, Config* config) {
  return parse_expressions(text, &config->kernel_exclude);
}

bool parse_iterations(const std::string& text, Config* config) {
  for (const std::string& part : split(text, ',')) {
    const auto range = parse_range(part, largest_u32);
    if (!range || range->first == 0) return false;
    config->iterations.push_back(*range);
  }
  return true;
}

bool parse_periods(const std::string& text, Config* config) {
  for (const std::string& part : split(text, ',')) {
    Period period;
    if (!parse_period(part, &period)) return false;
    config->periods.push_back(period);
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

bool parse_waves(const std::string& text, Config* config) { return parse_mask(text, &config->wave_mask); }
bool parse_xcc(const std::string& text, Config* config) { return parse_mask(text, &config->xcc_mask); }

bool parse_mode(const std::string& text, Config* config) {
  return choose<SlotMode>(text, {{"direct", SlotMode::direct}, {"claim", SlotMode::claim}}, &config->mode);
}

bool parse_full(const std::string& text, Config* config) {
  return choose<WhenFull>(text, {{"saturate", WhenFull::saturate}, {"ring", WhenFull::ring}}, &config->full);
}

bool parse_on_full(const std::string& text, Config* config) {
  return choose<OnFull>(text, {{"drop", OnFull::drop}, {"wait", OnFull::wait}}, &config->on_full);
}

bool parse_on_full_ms(const std::string& text, Config* config) {
  return parse_milliseconds(text, &config->on_full_ms);
}

bool parse_hang_ms(const std::string& text, Config* config) {
  return parse_milliseconds(text, &config->hang_ms);
}

bool parse_flydsl(const std::string& text, Config* config) {
  return choose<FlydslMode>(text, {{"process", FlydslMode::process}, {"launch", FlydslMode::launch}},
                            &config->flydsl);
}

bool parse_log_level(const std::string& text, Config* config) {
  return choose<LogLevel>(text,
                          {{"fatal", LogLevel::fatal},
                           {"error", LogLevel::error},
                           {"warning", LogLevel::warning},
                           {"info", LogLevel::info},
                           {"trace", LogLevel::trace}},
                          &config->log_level);
}

}  // namespace ktrace
