// Lines on the process's standard error, which is the application's: none by default but for what keeps it
// from being traced at all.
#pragma once

#include <cstdio>
#include <string>

#include "config.hpp"

namespace ktrace {

inline void say(const Config& config, LogLevel level, const std::string& line) {
  if (level <= config.log_level) std::fprintf(stderr, "ktrace: %s\n", line.c_str());
}

}  // namespace ktrace
