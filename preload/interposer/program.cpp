#include "program.hpp"

#include <unistd.h>

#include <climits>

namespace ktrace {
namespace {

constexpr std::size_t longest_name = 100;  // bytes

}  // namespace

std::string program_path() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "";
}

std::string short_program_name() {
  const std::string path = program_path();
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.empty() ? "program" : name.substr(0, longest_name);
}

}  // namespace ktrace
