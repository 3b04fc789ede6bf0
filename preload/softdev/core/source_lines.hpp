// Which source line an instruction came from, out of .debug_line of DWARF 4 and 5. Knows nothing of ELF.
//
// Debug information helps messages and nothing else: what is damaged or unknown in it is as if it were not
// there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace ktrace::softdev {

class SourceLines {
 public:
  // Takes a copy of the sections: programs free a code object's image once it is loaded.
  SourceLines(std::vector<uint8_t> debug_line, std::vector<uint8_t> debug_line_str)
      : m_lines(std::move(debug_line)), m_strings(std::move(debug_line_str)) {}

  // "saxpy.hip:12", without folders, for an address as the linker gave it; empty where nothing is known.
  std::string find(uint64_t address) const;

  struct Row {
    uint64_t begin;
    uint64_t end;
    uint32_t file;  // of m_files
    uint32_t line;
  };

 private:
  // Tables are read when a message first needs them.
  mutable std::vector<uint8_t> m_lines;
  std::vector<uint8_t> m_strings;
  mutable std::once_flag m_is_read;
  mutable std::vector<Row> m_rows;  // by begin
  mutable std::vector<std::string> m_files;

  void read() const;
};

}  // namespace ktrace::softdev
