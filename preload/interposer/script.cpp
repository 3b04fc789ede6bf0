#include "script.hpp"

namespace ktrace {
namespace {

// What an option of Python does with the script's place.
enum class Option { alone, takes_next, is_module, is_code };

struct Parsed {
  Option option;
  std::string value;  // what follows in the same argument
};

bool is_python(const std::string& program) {
  return program.compare(0, 6, "python") == 0 || program.compare(0, 4, "pypy") == 0;
}

// Letters may stand together, as in `-um package`.
Parsed parse_option(const std::string& argument) {
  if (argument.compare(0, 2, "--") == 0)
    return {argument == "--check-hash-based-pycs" ? Option::takes_next : Option::alone, ""};
  for (std::size_t at = 1; at < argument.size(); ++at) {
    const std::string value = argument.substr(at + 1);
    if (argument[at] == 'c') return {Option::is_code, value};
    if (argument[at] == 'm') return {Option::is_module, value};
    if (argument[at] == 'W' || argument[at] == 'X')
      return {value.empty() ? Option::takes_next : Option::alone, value};
  }
  return {Option::alone, ""};
}

std::string file_name(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  std::string name = path.substr(path.rfind('/') + 1);
  const std::size_t length = name.size();
  if (length > 3 && name.compare(length - 3, 3, ".py") == 0) name.resize(length - 3);
  return name == "." || name == ".." ? "" : name;
}

std::string module_name(const std::string& name) { return name.find('/') == std::string::npos ? name : ""; }

}  // namespace

std::string python_script(const std::string& program, const std::vector<std::string>& arguments) {
  if (!is_python(program)) return "";
  for (std::size_t at = 1; at < arguments.size(); ++at) {
    const std::string& argument = arguments[at];
    if (argument == "-") return "";
    if (argument.empty() || argument.front() != '-') return file_name(argument);
    const Parsed parsed = parse_option(argument);
    const std::string next = at + 1 < arguments.size() ? arguments[at + 1] : "";
    if (parsed.option == Option::is_code) return "";
    if (parsed.option == Option::is_module) return module_name(parsed.value.empty() ? next : parsed.value);
    if (parsed.option == Option::takes_next) ++at;
  }
  return "";
}

std::vector<std::string> split_arguments(const std::string& text) {
  std::vector<std::string> arguments;
  for (std::size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = text.find('\0', begin);
    if (end == std::string::npos) end = text.size();
    arguments.push_back(text.substr(begin, end - begin));
  }
  return arguments;
}

}  // namespace ktrace
