// Findings of the checks on standard error: each place of a kernel once, and how many there were at the end.
#pragma once

#include <string>

#include "core/wave.hpp"

namespace ktrace::softdev {

// `what` has neither newline nor full stop. The same at the same instruction is only counted.
void report_finding(const Wave& wave, const Inst& inst, const std::string& what);

}  // namespace ktrace::softdev
