// The values of the environment's variables: from text to what they mean. A text that is not understood is
// false, and may have changed part of the configuration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config.hpp"

namespace ktrace {

std::vector<std::string> split(const std::string& text, char separator);
std::optional<std::uint64_t> parse_number(const std::string& text, std::uint64_t largest);

bool parse_memory(const std::string& text, Config* config);
bool parse_words(const std::string& text, Config* config);
bool parse_kernels(const std::string& text, Config* config);
bool parse_kernel_include(const std::string& text, Config* config);
bool parse_kernel_exclude(const std::string& text, Config* config);
bool parse_iterations(const std::string& text, Config* config);
bool parse_periods(const std::string& text, Config* config);
bool parse_blocks(const std::string& text, Config* config);
bool parse_waves(const std::string& text, Config* config);
bool parse_xcc(const std::string& text, Config* config);
bool parse_mode(const std::string& text, Config* config);
bool parse_full(const std::string& text, Config* config);
bool parse_on_full(const std::string& text, Config* config);
bool parse_on_full_ms(const std::string& text, Config* config);
bool parse_hang_ms(const std::string& text, Config* config);
bool parse_flydsl(const std::string& text, Config* config);
bool parse_log_level(const std::string& text, Config* config);

}  // namespace ktrace
