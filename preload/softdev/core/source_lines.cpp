// Reads line number tables; every byte through a cursor that knows its end.
#include "core/source_lines.hpp"

#include <algorithm>
#include <utility>

#include "core/debug_cursor.hpp"
#include "core/metadata.hpp"

namespace ktrace::softdev {

namespace {

using Bytes = std::vector<uint8_t>;

struct Header {
  unsigned version;
  unsigned offset_size;
  unsigned step;  // bytes, of an instruction
  int line_base;
  unsigned line_range;
  std::vector<uint8_t> operand_counts;  // of standard opcodes, from 1
  uint32_t first_file;                  // of this unit, among all
  uint64_t file_count;
};

// The last part of a path; empty if it is no name to print.
std::string shown(const std::string& path) {
  constexpr size_t longest = 255;
  const std::string name = path.substr(path.find_last_of('/') + 1);
  return is_text(name) && name.size() <= longest ? name : std::string();
}

// ---- DWARF 5's tables of folders and files

struct Format {
  uint64_t content, form;
};

std::vector<Format> read_formats(DebugCursor& cursor) {
  std::vector<Format> formats(cursor.byte());
  for (Format& format : formats) {
    format.content = cursor.unsigned_leb();
    format.form = cursor.unsigned_leb();
  }
  return formats;
}

std::string text_at(const Bytes& strings, uint64_t offset) {
  constexpr uint64_t longest = 4096;  // many entries may name one text: what is longer is read as none
  if (offset >= strings.size()) {
    return {};
  }
  const uint64_t size = std::min(strings.size() - offset, longest);
  return DebugCursor(strings.data() + offset, static_cast<size_t>(size)).text();
}

// Leaves the value behind; returns it if it is a text.
std::string read_form(DebugCursor& cursor, uint64_t form, unsigned offset_size, const Bytes& strings) {
  constexpr uint64_t data2 = 0x05, data4 = 0x06, data8 = 0x07, string = 0x08, block = 0x09, data1 = 0x0b,
                     strp = 0x0e, udata = 0x0f, data16 = 0x1e, line_strp = 0x1f;
  switch (form) {
    case string:
      return cursor.text();
    case line_strp:
      return text_at(strings, cursor.number(offset_size));
    case strp:
      cursor.take(offset_size);  // into .debug_str, which is large and which no compiler here uses for it
      return {};
    case data1:
    case data2:
    case data4:
      cursor.take(form == data1 ? 1 : form == data2 ? 2 : 4);
      return {};
    case data8:
    case data16:
      cursor.take(form == data8 ? 8 : 16);
      return {};
    case udata:
      cursor.unsigned_leb();
      return {};
    case block:
      cursor.take(cursor.unsigned_leb());
      return {};
    default:
      cursor.fail();
      return {};
  }
}

std::vector<std::string> read_entries(DebugCursor& cursor, unsigned offset_size, const Bytes& strings) {
  constexpr uint64_t path = 1;
  const std::vector<Format> formats = read_formats(cursor);
  const uint64_t count = cursor.unsigned_leb();
  if (count > cursor.left() || (formats.empty() && count > 0)) {
    cursor.fail();
    return {};
  }
  std::vector<std::string> names;
  for (uint64_t k = 0; k < count && cursor.is_good(); ++k) {
    names.emplace_back();
    for (const Format& format : formats) {
      const std::string text = read_form(cursor, format.form, offset_size, strings);
      if (format.content == path) {
        names.back() = shown(text);
      }
    }
  }
  return names;
}

// ---- DWARF 4's

std::vector<std::string> read_old_names(DebugCursor& cursor) {
  while (cursor.is_good() && !cursor.text().empty()) {  // folders
  }
  std::vector<std::string> names(1);  // files count from 1
  for (std::string name = cursor.text(); cursor.is_good() && !name.empty(); name = cursor.text()) {
    names.push_back(shown(name));
    for (unsigned k = 0; k < 3; ++k) {  // folder, time, size
      cursor.unsigned_leb();
    }
  }
  return names;
}

// ---- the line number program

class Unit {
 public:
  Unit(Header header, std::vector<SourceLines::Row>& rows) : m_header(std::move(header)), m_rows(rows) {}

  void run(DebugCursor program) {
    while (program.has_more()) {
      const uint8_t opcode = program.byte();
      if (opcode == 0) {
        run_extended(program);
      } else if (opcode <= m_header.operand_counts.size()) {
        run_standard(program, opcode);
      } else {
        const unsigned adjusted = opcode - static_cast<unsigned>(m_header.operand_counts.size()) - 1;
        advance(adjusted / m_header.line_range);
        m_line +=
            static_cast<uint32_t>(m_header.line_base + static_cast<int>(adjusted % m_header.line_range));
        add_row();
      }
    }
  }

 private:
  const Header m_header;
  std::vector<SourceLines::Row>& m_rows;
  uint64_t m_address = 0, m_file = 1;
  uint32_t m_line = 1;
  bool m_is_dead = false;  // the linker has removed the function
  bool m_has_row = false;
  SourceLines::Row m_row = {};

  void advance(uint64_t operations) { m_address += operations * m_header.step; }

  // A row ends where the next begins.
  void close_row() {
    m_row.end = m_address;
    if (m_has_row && !m_is_dead && m_row.end > m_row.begin && m_row.line != 0) {
      m_rows.push_back(m_row);
    }
    m_has_row = false;
  }

  void add_row() {
    close_row();
    m_has_row = m_file < m_header.file_count;
    m_row = {m_address, m_address, m_header.first_file + static_cast<uint32_t>(m_file), m_line};
  }

  void run_extended(DebugCursor& program) {
    constexpr uint8_t end_sequence = 1, set_address = 2;
    DebugCursor operands = program.part(program.unsigned_leb());
    switch (operands.byte()) {
      case end_sequence:
        close_row();
        m_address = 0;
        m_file = m_line = 1;
        m_is_dead = false;
        break;
      case set_address:
        m_address = operands.number(8);
        m_is_dead = m_address == 0 || !operands.is_good();  // lld writes 0
        break;
      default:
        break;
    }
  }

  void run_standard(DebugCursor& program, uint8_t opcode) {
    constexpr uint8_t copy = 1, advance_pc = 2, advance_line = 3, set_file = 4, const_add_pc = 8,
                      fixed_advance_pc = 9;
    switch (opcode) {
      case copy:
        return add_row();
      case advance_pc:
        return advance(program.unsigned_leb());
      case advance_line:
        m_line += static_cast<uint32_t>(program.signed_leb());
        return;
      case set_file:
        m_file = program.unsigned_leb();
        return;
      case const_add_pc:
        return advance((254 - m_header.operand_counts.size()) / m_header.line_range);
      case fixed_advance_pc:
        m_address += program.number(2);
        return;
      default:
        for (unsigned k = 0; k < m_header.operand_counts[opcode - 1u]; ++k) {
          program.unsigned_leb();
        }
    }
  }
};

// Before the names; not good where this is no table that we know.
Header read_header(DebugCursor& cursor, unsigned version, unsigned offset_size) {
  Header header = {};
  header.version = version;
  header.offset_size = offset_size;
  header.step = cursor.byte();
  const unsigned operations = cursor.byte();
  cursor.byte();  // whether rows are statements at first
  header.line_base = static_cast<int8_t>(cursor.byte());
  header.line_range = cursor.byte();
  const unsigned opcode_base = cursor.byte();
  if (operations != 1 || header.line_range == 0 || opcode_base == 0) {
    cursor.fail();
    return header;
  }
  for (unsigned k = 1; k < opcode_base; ++k) {
    header.operand_counts.push_back(cursor.byte());
  }
  return header;
}

void read_unit(DebugCursor unit, unsigned offset_size, const Bytes& strings, std::vector<std::string>& files,
               std::vector<SourceLines::Row>& rows) {
  const auto version = static_cast<unsigned>(unit.number(2));
  if (version != 4 && version != 5) {
    return;
  }
  if (version == 5 && unit.number(2) != 8) {  // size of an address, and of a segment's number
    return;
  }
  DebugCursor before = unit.part(unit.number(offset_size));
  Header header = read_header(before, version, offset_size);
  if (version == 5) {
    read_entries(before, offset_size, strings);  // folders
  }
  const std::vector<std::string> names =
      version == 5 ? read_entries(before, offset_size, strings) : read_old_names(before);
  if (!before.is_good() || !unit.is_good()) {
    return;
  }
  header.first_file = static_cast<uint32_t>(files.size());
  header.file_count = names.size();
  files.insert(files.end(), names.begin(), names.end());
  Unit(std::move(header), rows).run(unit);
}

}  // namespace

void SourceLines::read() const {
  DebugCursor cursor(m_lines.data(), m_lines.size());
  while (cursor.has_more()) {
    constexpr uint64_t wide = 0xffffffff;  // 64-bit DWARF
    const uint64_t length = cursor.number(4);
    const unsigned offset_size = length == wide ? 8 : 4;
    read_unit(cursor.part(length == wide ? cursor.number(8) : length), offset_size, m_strings, m_files,
              m_rows);
  }
  std::stable_sort(m_rows.begin(), m_rows.end(),
                   [](const Row& a, const Row& b) { return a.begin < b.begin; });
  m_lines = {};
}

std::string SourceLines::find(uint64_t address) const {
  std::call_once(m_is_read, [this] { read(); });
  const auto after = std::upper_bound(m_rows.begin(), m_rows.end(), address,
                                      [](uint64_t value, const Row& row) { return value < row.begin; });
  if (after == m_rows.begin()) {
    return {};
  }
  const Row& row = *(after - 1);
  if (address >= row.end || m_files[row.file].empty()) {
    return {};
  }
  return m_files[row.file] + ":" + std::to_string(row.line);
}

}  // namespace ktrace::softdev
