// Which script an interpreter runs: a recording called `python3.12` tells nobody what it is of.
#pragma once

#include <string>
#include <vector>

namespace ktrace {

// The script's name of a Python that was started with `arguments`, without folder and `.py`; the package of
// `-m`. "" for another program, and for a Python without a script (`-c`, or nothing).
std::string python_script(const std::string& program, const std::vector<std::string>& arguments);

// What /proc/<pid>/cmdline holds: arguments that end with a zero byte each.
std::vector<std::string> split_arguments(const std::string& text);

}  // namespace ktrace
