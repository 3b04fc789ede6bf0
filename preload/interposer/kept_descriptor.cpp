#include "kept_descriptor.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace ktrace {
namespace {

// Above what programs close by habit (up to 255), and below the usual limit of 1024.
constexpr rlim_t first_number = 900;
constexpr int first_free_of_standard_streams = 3;
constexpr int mode_flags = O_ACCMODE | O_APPEND;
constexpr int kept_mode = O_WRONLY | O_APPEND;

int lowest_wanted() {
  rlimit limit{};
  const bool is_low = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= first_number;
  return static_cast<int>(is_low ? limit.rlim_cur / 4 * 3 : first_number);
}

// Programs expect the lowest number that is free for what they open themselves. Stays where it is, if need
// be, but never as a standard stream: the program goes on writing to those.
FileDescriptor move_up(FileDescriptor file) {
  for (const int from : {lowest_wanted(), first_free_of_standard_streams})
    if (const int moved = fcntl(file.get(), F_DUPFD_CLOEXEC, from); moved >= 0) return FileDescriptor(moved);
  if (file.get() >= first_free_of_standard_streams) return file;
  const int error = errno;
  file.reset();
  errno = error;
  return file;
}

bool is_file(const struct stat& info, dev_t device, ino_t inode) {
  return info.st_dev == device && info.st_ino == inode;
}

}  // namespace

KeptDescriptor::KeptDescriptor(FileDescriptor file) {
  if (!file.is_open()) return;
  struct stat info;
  FileDescriptor moved = move_up(std::move(file));
  if (!moved.is_open() || fstat(moved.get(), &info) != 0) return;
  m_device = info.st_dev;
  m_inode = info.st_ino;
  m_number = moved.release();
}

KeptDescriptor::KeptDescriptor(KeptDescriptor&& other) noexcept
    : m_number(std::exchange(other.m_number, -1)), m_device(other.m_device), m_inode(other.m_inode) {}

KeptDescriptor& KeptDescriptor::operator=(KeptDescriptor&& other) noexcept {
  if (this == &other) return *this;
  reset();
  m_number = std::exchange(other.m_number, -1);
  m_device = other.m_device;
  m_inode = other.m_inode;
  return *this;
}

// The program may have opened the file, too, to read it.
bool KeptDescriptor::is_ours() const {
  struct stat info;
  return m_number >= 0 && fstat(m_number, &info) == 0 && is_file(info, m_device, m_inode) &&
         (fcntl(m_number, F_GETFL) & mode_flags) == kept_mode;
}

bool KeptDescriptor::take_back(const std::string& path) {
  if (is_ours()) return true;
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return false;
  errno = 0;
  if (!is_file(info, m_device, m_inode)) return false;  // opening something else might wait, or do something
  KeptDescriptor again(FileDescriptor(::open(path.c_str(), kept_mode | O_CLOEXEC)));
  if (!again.is_open()) return false;
  errno = 0;
  if (again.m_device != m_device || again.m_inode != m_inode) return false;
  m_number = std::exchange(again.m_number, -1);
  return true;
}

void KeptDescriptor::reset() {
  if (is_ours()) ::close(m_number);
  m_number = -1;
}

}  // namespace ktrace
