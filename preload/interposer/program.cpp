#include "program.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <climits>

#include "file_descriptor.hpp"
#include "script.hpp"

namespace ktrace {
namespace {

constexpr std::size_t longest_name = 100;  // bytes

}  // namespace

std::string program_path() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "";
}

std::string read_text(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char block[4096];
  for (ssize_t count; file.is_open() && (count = read(file.get(), block, sizeof block)) > 0;)
    text.append(block, static_cast<std::size_t>(count));
  return text;
}

std::string short_program_name() {
  const std::string path = program_path();
  const std::string program = path.substr(path.rfind('/') + 1);
  const std::string script = python_script(program, split_arguments(read_text("/proc/self/cmdline")));
  const std::string name = script.empty() ? program : script;
  return name.empty() ? "program" : name.substr(0, longest_name);
}

}  // namespace ktrace
