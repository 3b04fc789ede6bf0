// Findings of the checks on standard error: each place of a kernel once, and how many there were at the end.
#pragma once

#include <cstdint>
#include <string>

#include "core/wave.hpp"

namespace ktrace::softdev {

enum class Rule : uint8_t { wait, matrix, allocation, lds };

// `what` has neither newline nor full stop. More of one rule at the same instruction is only counted.
void report_finding(const Wave& wave, const Inst& inst, Rule rule, const std::string& what);

}  // namespace ktrace::softdev
