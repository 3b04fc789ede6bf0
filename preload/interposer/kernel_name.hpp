// What people call a kernel.
#pragma once

#include <string>

namespace ktrace {

// Without the parameter that annotating adds; "" for a name that is not mangled.
std::string demangled_kernel_name(const std::string& name);
// The same, or the name itself.
std::string readable_kernel_name(const std::string& name);
// As the tables of `ktrace summary` show it: with its template arguments, without its parameters.
std::string short_kernel_name(const std::string& name);
// The mangled name that the kernel has when it is compiled without ktrace.
std::string mangled_kernel_name(const std::string& name);

}  // namespace ktrace
