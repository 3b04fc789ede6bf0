// What this process is running.
#pragma once

#include <string>

namespace ktrace {

std::string program_path();

// The last part of the path, short enough for a file name with more to follow.
std::string short_program_name();

}  // namespace ktrace
