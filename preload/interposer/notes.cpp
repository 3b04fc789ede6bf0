#include "notes.hpp"

#include <algorithm>

namespace ktrace {
namespace {

struct Walk {
  std::vector<Note> notes;
  bool is_sound = true;
};

std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

bool is_zero(Bytes bytes) {
  return std::all_of(bytes.data, bytes.data + bytes.size, [](std::uint8_t byte) { return byte == 0; });
}

// The gaps of a layout are zero: that is what tells the two layouts apart.
Walk walk(const NoteArea& area, std::uint64_t alignment) {
  Walk result;
  const Bytes bytes = area.bytes;
  std::uint64_t at = 0;
  while (at < bytes.size) {
    if (is_zero(bytes.from(at))) return result;  // padding of the section
    std::uint32_t header[3];
    if (!bytes.read(at, &header)) return result.is_sound = false, result;
    const std::uint64_t name = at + sizeof header;
    const std::uint64_t name_end = name + header[0];
    const std::uint64_t descriptor = align_up(name_end, alignment);
    const std::uint64_t end = descriptor + header[1];
    const bool fits = header[0] > 0 && bytes.holds(name, header[0]) && bytes.data[name_end - 1] == 0 &&
                      bytes.holds(descriptor, header[1]) &&
                      is_zero(bytes.part(name_end, descriptor - name_end));
    if (!fits) return result.is_sound = false, result;
    result.notes.push_back(
        {bytes.string_at(name), header[2], bytes.part(descriptor, header[1]), area.address + descriptor});
    at = align_up(end, alignment);
    if (at < bytes.size && !is_zero(bytes.part(end, at - end))) return result.is_sound = false, result;
  }
  return result;
}

}  // namespace

std::vector<Note> read_notes(const NoteArea& area, bool* damaged) {
  const std::uint64_t declared = area.alignment == 8 ? 8 : 4;
  Walk first = walk(area, declared);
  if (first.is_sound) return first.notes;
  // Assemblers emit 4-byte notes into sections that are aligned to 8, too.
  Walk second = walk(area, declared == 8 ? 4 : 8);
  if (second.is_sound) return second.notes;
  *damaged = true;
  return first.notes.size() >= second.notes.size() ? first.notes : second.notes;
}

}  // namespace ktrace
