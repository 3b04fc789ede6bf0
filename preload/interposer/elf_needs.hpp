// What a library that is about to be opened brings with it, read from files before the loader does.
#pragma once

#include <string>
#include <vector>

namespace ktrace {

struct Needs {
  bool has_hip = false;            // it is a HIP runtime, or needs one, directly or through another library
  bool is_known = true;            // whether all of them were found and could be read
  std::vector<std::string> files;  // it and what it needs, HIP runtimes aside
};

// `name` as it is given to dlopen by the code at `caller`.
Needs find_needs(const std::string& name, const void* caller);

}  // namespace ktrace
