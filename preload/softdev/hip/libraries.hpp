// Code objects that belong to no device yet.
#pragma once

#include <map>
#include <vector>

#include "hip/hip_abi.hpp"

namespace ktrace::softdev::hip {

struct Library {
  const void* image = nullptr;  // the program's, or null and
  std::vector<char> content;    // a file's
  std::map<int, hipModule_t> module_by_device;
};

}  // namespace ktrace::softdev::hip
