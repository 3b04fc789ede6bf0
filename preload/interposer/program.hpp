// What this process is running.
#pragma once

#include <string>

namespace ktrace {

std::string program_path();

// A file of the kernel's, whole; "" if it cannot be read. C++ streams would bring their locales along.
std::string read_text(const std::string& path);

// The last part of the path, or the script that a Python runs; short enough for a file name with more to
// follow.
std::string short_program_name();

}  // namespace ktrace
