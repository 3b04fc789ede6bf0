// The argument list of a traced launch: the application's, with the trace buffer's address put in, in our own
// arrays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "code_object.hpp"

namespace ktrace {

class LaunchArguments {
 public:
  // What the application passed, unchanged.
  LaunchArguments(void** params, void** extra) : m_params(params), m_extra(extra) {}
  LaunchArguments(const LaunchArguments&) = delete;
  LaunchArguments& operator=(const LaunchArguments&) = delete;

  // Rebuilds the list around `buffer`, an address on the device or 0. False, with the reason in `trouble`, if
  // the application's own list does not look as the kernel's metadata says; the list is unchanged then.
  bool insert(const Kernel& kernel, std::uint64_t buffer, std::string* trouble);
  // Changes the address that `insert` put in.
  void set_buffer(std::uint64_t buffer);
  // Puts a null address in, for a launch that is not traced. Does nothing where the host passes a null slot
  // itself.
  void insert_null(const Kernel& kernel);

  // What the application passes itself as the trace argument; 0 where that cannot be told.
  std::uint64_t given_buffer(const Kernel& kernel) const;

  // They hold until this object goes.
  void** params() const { return m_params; }
  void** extra() const { return m_extra; }

 private:
  void insert_into_params(const Kernel& kernel);
  bool insert_into_extra(const Kernel& kernel, std::string* trouble);

  void** m_params;
  void** m_extra;
  std::uint64_t m_buffer = 0;
  std::vector<void*> m_own_params;
  std::vector<std::uint8_t> m_own_segment;
  std::size_t m_own_size = 0;
  std::size_t m_offset = 0;  // of the address in m_own_segment
  void* m_own_extra[5] = {};
};

}  // namespace ktrace
