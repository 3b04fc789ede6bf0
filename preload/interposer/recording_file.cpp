#include "recording_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "crc32.hpp"

namespace ktrace {
namespace {

constexpr int most_names = 1000;

bool is_folder(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool make_folders(const std::string& dir, std::string* trouble) {
  for (std::size_t at = 1; at <= dir.size(); ++at) {
    if (at < dir.size() && dir[at] != '/') continue;
    const std::string path = dir.substr(0, at);
    if (mkdir(path.c_str(), 0755) == 0) continue;
    const int error = errno == EEXIST ? ENOTDIR : errno;
    if (is_folder(path)) continue;  // some file systems do not say so
    return *trouble = "cannot create the folder " + path + ": " + std::strerror(error), false;
  }
  return true;
}

int create_new(const std::string& path) {
  return open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
}

struct NameParts {
  std::string stem, suffix;
};

// out/run.bin -> out/run, .bin
NameParts split_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t first = slash == std::string::npos ? 0 : slash + 1;
  const std::size_t dot = path.rfind('.');
  if (dot == std::string::npos || dot <= first) return {path, ""};
  return {path.substr(0, dot), path.substr(dot)};
}

}  // namespace

std::uint32_t size_of_strings(const std::vector<std::string>& strings) {
  std::size_t size = 0;
  for (const std::string& text : strings) size += text.size() + 1;
  return static_cast<std::uint32_t>(size);
}

bool RecordingFile::create(const std::string& exact, const std::string& dir, const std::string& program,
                           std::string* trouble) {
  if (exact.empty() && !make_folders(dir, trouble)) return false;
  const NameParts parts = exact.empty() ? NameParts{dir + "/" + program, ".bin"} : split_name(exact);
  const std::string stem = parts.stem + "." + std::to_string(getpid());
  int descriptor = -1;
  m_path = exact;
  if (!exact.empty()) descriptor = create_new(m_path);
  // A folder whose name differs per process is known to nobody before.
  if (!exact.empty() && descriptor < 0 && errno == ENOENT) {
    if (!make_folders(exact.substr(0, exact.rfind('/')), trouble)) return false;
    descriptor = create_new(m_path);
  }
  for (int attempt = 1; descriptor < 0 && (attempt == 1 || errno == EEXIST) && attempt <= most_names;
       ++attempt) {
    if (!exact.empty() && attempt == 1 && errno != EEXIST) break;
    m_path = stem + (attempt == 1 ? "" : "." + std::to_string(attempt)) + parts.suffix;
    descriptor = create_new(m_path);
  }
  if (descriptor < 0) return *trouble = "cannot create " + m_path + ": " + std::strerror(errno), false;
  m_file = KeptDescriptor(FileDescriptor(descriptor));
  if (!m_file.is_open()) return *trouble = "cannot keep " + m_path + " open: " + std::strerror(errno), false;

  ktrace_file_header header{};
  std::memcpy(header.magic, KTRACE_FILE_MAGIC, sizeof header.magic);
  header.major = KTRACE_FILE_MAJOR;
  header.minor = KTRACE_FILE_MINOR;
  header.header_size = sizeof header;
  header.crc = crc32(&header, offsetof(ktrace_file_header, crc));
  return write_whole(&header, sizeof header, trouble);
}

std::uint64_t RecordingFile::append(ktrace_chunk_type type, Payload payload, std::string* trouble) {
  std::vector<std::uint8_t>& bytes = payload.m_bytes;
  bytes.resize((bytes.size() + 7) & ~std::size_t{7});
  ktrace_chunk_header header{};
  header.sync = KTRACE_CHUNK_SYNC;
  header.type = static_cast<ktrace_u16>(type);
  if (type >= KTRACE_CHUNK_FOREIGN_BUFFER) header.flags = KTRACE_CHUNK_SKIPPABLE;
  header.length = bytes.size() - sizeof header;
  header.number = m_next_number;
  header.payload_crc = crc32(bytes.data() + sizeof header, static_cast<std::size_t>(header.length));
  header.header_crc = crc32(&header, offsetof(ktrace_chunk_header, header_crc));
  std::memcpy(bytes.data(), &header, sizeof header);
  if (!write_whole(bytes.data(), bytes.size(), trouble)) return 0;
  ++m_next_number;
  return bytes.size();
}

// The program may have closed the descriptor: the file goes on where it ends, as long as it is there.
bool RecordingFile::is_writable(std::string* trouble) {
  if (m_file.take_back(m_path)) return true;
  const std::string reason = errno == 0 ? "it is another file now" : std::strerror(errno);
  *trouble = "cannot write " + m_path + ": the program closed it, and it cannot be opened again: " + reason;
  return false;
}

bool RecordingFile::write_whole(const void* data, std::size_t size, std::string* trouble) {
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  std::size_t done = 0;
  while (done < size) {
    if (!is_writable(trouble)) return m_size += done, false;
    const ssize_t count = ::write(m_file.get(), bytes + done, size - done);
    if (count < 0 && (errno == EINTR || errno == EBADF)) continue;  // EBADF: closed just now
    if (count <= 0) {
      *trouble = "cannot write " + m_path + ": " + std::strerror(count < 0 ? errno : ENOSPC);
      // Best effort: a torn tail is readable too, it only looks worse.
      if (!m_file.is_ours() || ftruncate(m_file.get(), static_cast<off_t>(m_size)) != 0) m_size += done;
      return false;
    }
    done += static_cast<std::size_t>(count);
  }
  m_size += size;
  return true;
}

}  // namespace ktrace
