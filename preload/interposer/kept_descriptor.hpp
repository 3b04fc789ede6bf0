// A descriptor of ours that stays open in a process whose program closes descriptors by their numbers.
#pragma once

#include <sys/types.h>

#include <string>

#include "file_descriptor.hpp"

namespace ktrace {

// Of a regular file that is appended to. The program may close it, with all others or by mistake, and have a
// file of its own under the same number afterwards: that one is never written to, cut or closed.
class KeptDescriptor {
 public:
  KeptDescriptor() = default;
  // Not open, with the reason in errno, if the file cannot be kept.
  explicit KeptDescriptor(FileDescriptor file);
  KeptDescriptor(KeptDescriptor&& other) noexcept;
  KeptDescriptor& operator=(KeptDescriptor&& other) noexcept;
  KeptDescriptor(const KeptDescriptor&) = delete;
  KeptDescriptor& operator=(const KeptDescriptor&) = delete;
  ~KeptDescriptor() { reset(); }

  // Whether a file was given to keep, also where the program has closed it since.
  bool is_open() const { return m_number >= 0; }
  int get() const { return m_number; }
  // Whether the number still means the file. A moment later it may not: nothing in the system can say more.
  bool is_ours() const;
  // Opens `path` again where it is not; false, with the reason in errno (0: `path` is another file now).
  bool take_back(const std::string& path);
  void reset();

 private:
  int m_number = -1;
  dev_t m_device = 0;
  ino_t m_inode = 0;
};

}  // namespace ktrace
