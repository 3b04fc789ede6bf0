// Names of recordings that differ per process: %pid% %ppid% %rank% %size% %env{X}%.
//
// src/ktrace_cli/launch/placeholders.py fills in those that are the same for every process of a run.
#pragma once

#include <string>

namespace ktrace {

// Fills in what the environment knows: rank, size and variables. False, with the reason in `trouble`, if it
// does not.
bool fill_in_environment(const std::string& text, std::string* result, std::string* trouble);

// Fills in the ids of the calling process, which a child of fork has of its own.
std::string fill_in_process(std::string text);

}  // namespace ktrace
