// Which names of kernels a user asks for: patterns of KTRACE_KERNELS, and the regular expressions that
// rocprofv3 has, too.
#pragma once

#include <memory>
#include <string>

#include "config.hpp"

namespace ktrace {

// Whether `text` can be used in each place. A pattern is a shell pattern, or an extended regular expression
// between slashes.
bool is_name_pattern(const std::string& text);
bool is_ecmascript_expression(const std::string& text);

// Everything that `config` says about names, compiled once.
class NamePatterns {
 public:
  explicit NamePatterns(const Config& config);
  NamePatterns(const NamePatterns&) = delete;
  NamePatterns& operator=(const NamePatterns&) = delete;
  ~NamePatterns();

  // Patterns are tried on the mangled name, the demangled one, its identifier and the short name; expressions
  // on the readable, the short and the mangled name, all of them without the sink.
  bool choose(const std::string& name) const;

 private:
  struct Compiled;
  const Config& m_config;
  std::unique_ptr<const Compiled> m_compiled;
};

}  // namespace ktrace
