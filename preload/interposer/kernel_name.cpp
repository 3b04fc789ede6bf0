#include "kernel_name.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>

namespace ktrace {
namespace {

std::string demangled_by_runtime(const std::string& name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string demangled = status == 0 && text ? text : "";
  std::free(text);
  return demangled;
}

void replace_all(std::string* text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text->find(from, at)) != std::string::npos; at += to.size())
    text->replace(at, from.size(), to);
}

// The C++ runtimes of GCC 12 and before do not know _Float16 and __bf16. Two builtin types that no kernel's
// parameters have stand in for them, because a builtin type does not change how the rest is numbered.
std::string demangle(std::string name) {
  std::string demangled = demangled_by_runtime(name);
  if (!demangled.empty()) return demangled;
  replace_all(&name, "DF16_", "Dd");
  replace_all(&name, "DF16b", "De");
  demangled = demangled_by_runtime(name);
  replace_all(&demangled, "decimal64", "_Float16");
  replace_all(&demangled, "decimal128", "__bf16");
  return demangled;
}

// Neither the parameter that annotating adds nor the `void` that only template functions have is anybody's
// idea of the kernel's name.
std::string without_additions(std::string name) {
  if (name.compare(0, 5, "void ") == 0) name.erase(0, 5);
  for (const char* sink : {", ktrace::sink)", "(ktrace::sink)"}) {
    const std::size_t length = std::strlen(sink);
    if (name.size() >= length && name.compare(name.size() - length, length, sink) == 0)
      return name.substr(0, name.size() - length) + (sink[0] == '(' ? "()" : ")");
  }
  return name;
}

// Cuts the last pair of parentheses outside of all others. `(anonymous namespace)::k` has no parameters, and
// `k(int)::{lambda...}` goes on behind them.
std::string without_parameters(const std::string& name) {
  const std::size_t end = name.rfind(')');
  if (end == std::string::npos || name.compare(end + 1, 2, "::") == 0) return name;
  int depth = 0;
  for (std::size_t at = end + 1; at-- > 0;) {
    depth += (name[at] == ')') - (name[at] == '(');
    if (depth == 0) return name.substr(0, at);
  }
  return name;
}

}  // namespace

std::string demangled_kernel_name(const std::string& name) { return without_additions(demangle(name)); }

std::string readable_kernel_name(const std::string& name) {
  const std::string demangled = demangled_kernel_name(name);
  return demangled.empty() ? name : demangled;
}

std::string short_kernel_name(const std::string& name) {
  const std::string demangled = demangled_kernel_name(name);
  return demangled.empty() ? mangled_kernel_name(name) : without_parameters(demangled);
}

std::string mangled_kernel_name(const std::string& name) {
  constexpr char sink[] = "N6ktrace4sinkE";
  constexpr std::size_t length = sizeof sink - 1;
  if (name.size() < length || name.compare(name.size() - length, length, sink) != 0) return name;
  const std::string rest = name.substr(0, name.size() - length);
  // A function that has no parameter at all is written with `v`.
  const std::string demangled = demangled_kernel_name(name);
  return demangled.size() > 2 && demangled.compare(demangled.size() - 2, 2, "()") == 0 ? rest + "v" : rest;
}

}  // namespace ktrace
