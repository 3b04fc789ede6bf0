// The recording: an append-only file of chunks, each written whole by one call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kept_descriptor.hpp"
#include "ktrace/format.h"

namespace ktrace {

// A chunk's payload as it grows, always padded to a multiple of 8 when it is written.
class Payload {
 public:
  template <class Struct>
  void add(const Struct& record) {
    add_bytes(&record, sizeof record);
  }
  void add_bytes(const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::uint8_t*>(data);
    m_bytes.insert(m_bytes.end(), bytes, bytes + size);
  }
  void add_strings(const std::vector<std::string>& strings) {
    for (const std::string& text : strings) add_bytes(text.c_str(), text.size() + 1);
  }
  void reserve(std::size_t size) { m_bytes.reserve(sizeof(ktrace_chunk_header) + size + 8); }

 private:
  friend class RecordingFile;
  // Room for the chunk's header in front, so that one write takes both.
  std::vector<std::uint8_t> m_bytes = std::vector<std::uint8_t>(sizeof(ktrace_chunk_header));
};

std::uint32_t size_of_strings(const std::vector<std::string>& strings);

class RecordingFile {
 public:
  // Creates a file that did not exist: `exact`, or, where that is taken or empty, a name with the process id
  // in it. False, with the reason in `trouble`, if no file can be made.
  bool create(const std::string& exact, const std::string& dir, const std::string& program,
              std::string* trouble);
  // Returns the bytes written; 0, with the reason in `trouble`, if the chunk could not be written whole. The
  // file then ends with the chunk before it.
  std::uint64_t append(ktrace_chunk_type type, Payload payload, std::string* trouble);

  bool is_open() const { return m_file.is_open(); }
  const std::string& path() const { return m_path; }
  std::uint64_t size() const { return m_size; }
  // Leaves the file to the process that it belongs to: in a child of fork.
  void abandon() { m_file.reset(); }

 private:
  bool write_whole(const void* data, std::size_t size, std::string* trouble);

  bool is_writable(std::string* trouble);

  KeptDescriptor m_file;
  std::string m_path;
  std::uint64_t m_size = 0;
  std::uint32_t m_next_number = 0;
};

}  // namespace ktrace
