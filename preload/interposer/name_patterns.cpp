#include "name_patterns.hpp"

#include <fnmatch.h>
#include <regex.h>

#include <regex>
#include <vector>

#include "kernel_name.hpp"

namespace ktrace {
namespace {

// libstdc++'s usual matcher calls itself once per character, and names have thousands: on a thread with a
// small stack that is a crash in the application. This one needs no stack and no exponential time; what it
// cannot do, back references, it refuses.
std::regex compile(const std::string& expression) {
#ifdef __GLIBCXX__
  return std::regex(expression, std::regex::ECMAScript | std::regex_constants::__polynomial);
#else
  return std::regex(expression, std::regex::ECMAScript);
#endif
}

bool is_between_slashes(const std::string& pattern) {
  return pattern.size() >= 3 && pattern.front() == '/' && pattern.back() == '/';
}

class PosixExpression {
 public:
  explicit PosixExpression(const std::string& pattern)
      : m_is_compiled(regcomp(&m_expression, pattern.substr(1, pattern.size() - 2).c_str(),
                              REG_EXTENDED | REG_NOSUB) == 0) {}
  ~PosixExpression() {
    if (m_is_compiled) regfree(&m_expression);
  }
  PosixExpression(const PosixExpression&) = delete;
  PosixExpression& operator=(const PosixExpression&) = delete;
  bool is_compiled() const { return m_is_compiled; }
  bool finds(const std::string& name) const {
    return m_is_compiled && regexec(&m_expression, name.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t m_expression;
  bool m_is_compiled;
};

bool matches(const std::string& pattern, const std::string& name) {
  if (is_between_slashes(pattern)) return PosixExpression(pattern).finds(name);
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

bool match_any(const std::vector<std::string>& patterns, const std::string& name) {
  const std::string demangled = demangled_kernel_name(name);
  // `gemm` means gemm<64, 32>(float const*, ...), too.
  const std::string identifier = demangled.substr(0, demangled.find_first_of("<("));
  const std::string brief = short_kernel_name(name);
  for (const std::string& pattern : patterns)
    for (const std::string* spelling : {&name, &demangled, &identifier, &brief})
      if (!spelling->empty() && matches(pattern, *spelling)) return true;
  return false;
}

bool find_any(const std::vector<std::regex>& expressions, const std::vector<std::string>& spellings) {
  for (const std::regex& expression : expressions)
    for (const std::string& spelling : spellings)
      if (std::regex_search(spelling, expression)) return true;
  return false;
}

std::vector<std::regex> compile_all(const std::vector<std::string>& expressions) {
  std::vector<std::regex> compiled;
  for (const std::string& expression : expressions) compiled.push_back(compile(expression));
  return compiled;
}

}  // namespace

struct NamePatterns::Compiled {
  std::vector<std::regex> include, exclude;
};

bool is_name_pattern(const std::string& text) {
  return !is_between_slashes(text) || PosixExpression(text).is_compiled();
}

bool is_ecmascript_expression(const std::string& text) {
  try {
    compile(text);
    return true;
  } catch (const std::regex_error&) {
    return false;
  }
}

NamePatterns::NamePatterns(const Config& config)
    : m_config(config),
      m_compiled(std::make_unique<Compiled>(
          Compiled{compile_all(config.kernel_include), compile_all(config.kernel_exclude)})) {}

NamePatterns::~NamePatterns() = default;

bool NamePatterns::choose(const std::string& name) const {
  if (!m_config.kernels.empty() && !match_any(m_config.kernels, name)) return false;
  if (m_compiled->include.empty() && m_compiled->exclude.empty()) return true;
  // None has the sink: an expression such as `sink` is not meant for every annotated kernel.
  const std::vector<std::string> spellings = {readable_kernel_name(name), short_kernel_name(name),
                                              mangled_kernel_name(name)};
  if (find_any(m_compiled->exclude, spellings)) return false;
  return m_compiled->include.empty() || find_any(m_compiled->include, spellings);
}

}  // namespace ktrace
