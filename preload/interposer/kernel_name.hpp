// What people call a kernel.
#pragma once

#include <string>

namespace ktrace {

// Without the parameter that annotating adds; "" for a name that is not mangled.
std::string demangled_kernel_name(const std::string& name);
// The same, or the name itself.
std::string readable_kernel_name(const std::string& name);

}  // namespace ktrace
