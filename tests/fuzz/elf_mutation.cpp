#include "elf_mutation.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace fuzz {

namespace {

template <class T>
T read(const Bytes& image, size_t offset) {
  T value{};
  if (offset <= image.size() && sizeof value <= image.size() - offset) {
    std::memcpy(&value, image.data() + offset, sizeof value);
  }
  return value;
}

// Overwrites the number of `size` bytes (1, 2, 4 or 8) at `offset`.
void change_number(Bytes& image, size_t offset, size_t size, Random& random) {
  if (offset > image.size() || size > image.size() - offset) {
    return;
  }
  uint64_t value = 0;
  std::memcpy(&value, image.data() + offset, size);
  value = random.odd_number(value);
  std::memcpy(image.data() + offset, &value, size);
}

// One field of a structure whose fields have these sizes, one after the other.
void change_field(Bytes& image, size_t offset, std::initializer_list<size_t> sizes, Random& random) {
  const uint64_t wanted = random.below(sizes.size());
  const auto field = sizes.begin() + wanted;
  for (auto size = sizes.begin(); size != field; ++size) {
    offset += *size;
  }
  change_number(image, offset, *field, random);
}

void change_header(Bytes& image, Random& random) {
  if (random.one_in(4)) {
    change_number(image, random.below(16), 1, random);
    return;
  }
  change_field(image, 16, {2, 2, 4, 8, 8, 8, 4, 2, 2, 2, 2, 2, 2}, random);
}

size_t segment_at(const Bytes& image, Random& random) {
  const auto header = read<Elf64_Ehdr>(image, 0);
  return header.e_phoff + random.below(header.e_phnum) * sizeof(Elf64_Phdr);
}

size_t section_at(const Bytes& image, Random& random) {
  const auto header = read<Elf64_Ehdr>(image, 0);
  return header.e_shoff + random.below(header.e_shnum) * sizeof(Elf64_Shdr);
}

void change_segment(Bytes& image, Random& random) {
  change_field(image, segment_at(image, random), {4, 4, 8, 8, 8, 8, 8, 8}, random);
}

void change_section(Bytes& image, Random& random) {
  change_field(image, section_at(image, random), {4, 4, 8, 8, 8, 8, 4, 4, 8, 8}, random);
}

// The segments of a kind; kinds are rare, so none is no surprise.
Range segment_of(const Bytes& image, uint32_t type, uint32_t flags) {
  const auto header = read<Elf64_Ehdr>(image, 0);
  for (unsigned k = 0; k < header.e_phnum; ++k) {
    const auto segment = read<Elf64_Phdr>(image, header.e_phoff + k * sizeof(Elf64_Phdr));
    if (segment.p_type == type && (segment.p_flags & flags) == flags) {
      const size_t begin = std::min<uint64_t>(segment.p_offset, image.size());
      return {begin, begin + std::min<uint64_t>(segment.p_filesz, image.size() - begin)};
    }
  }
  return {};
}

Range section_of(const Bytes& image, uint32_t type) {
  const auto header = read<Elf64_Ehdr>(image, 0);
  for (unsigned k = 0; k < header.e_shnum; ++k) {
    const auto section = read<Elf64_Shdr>(image, header.e_shoff + k * sizeof(Elf64_Shdr));
    if (section.sh_type == type) {
      const size_t begin = std::min<uint64_t>(section.sh_offset, image.size());
      return {begin, begin + std::min<uint64_t>(section.sh_size, image.size() - begin)};
    }
  }
  return {};
}

// An entry of a table of `stride` bytes each.
void change_entry(Bytes& image, const Range& table, std::initializer_list<size_t> sizes, size_t stride,
                  Random& random) {
  if (table.size() >= stride) {
    change_field(image, table.begin + random.below(table.size() / stride) * stride, sizes, random);
  }
}

void change_symbol(Bytes& image, Random& random) {
  const Range table = section_of(image, random.one_in(2) ? SHT_DYNSYM : SHT_SYMTAB);
  change_entry(image, table, {4, 1, 1, 2, 8, 8}, sizeof(Elf64_Sym), random);
}

void change_dynamic(Bytes& image, Random& random) {
  change_entry(image, segment_of(image, PT_DYNAMIC, 0), {8, 8}, sizeof(Elf64_Dyn), random);
}

void change_relocation(Bytes& image, Random& random) {
  change_entry(image, section_of(image, SHT_RELA), {8, 4, 4, 8}, sizeof(Elf64_Rela), random);
}

void change_within(Bytes& image, const Range& range, Random& random) {
  if (range.size() > 0) {
    const uint64_t sizes[] = {1, 1, 1, 2, 4, 8};
    change_number(image, range.begin + random.below(range.size()), random.pick(sizes), random);
  }
}

// Tags of MessagePack that promise much: maps, arrays, strings, numbers.
void change_metadata(Bytes& image, Random& random) {
  const Range notes = segment_of(image, PT_NOTE, 0);
  if (notes.size() == 0 || random.one_in(3)) {
    change_within(image, notes, random);
    return;
  }
  const uint8_t tags[] = {0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc6, 0xc9, 0xcb, 0xcf,
                          0xd3, 0xd8, 0xdb, 0xdc, 0xdd, 0xde, 0xdf, 0xe0, 0xff, 0x00, 0x7f};
  image[notes.begin + random.below(notes.size())] = random.pick(tags);
}

// Descriptors have 64 bytes and lie, aligned, in what is read-only: wherever, some kernel has it.
void change_descriptor(Bytes& image, Random& random) {
  const Range table = section_of(image, SHT_DYNSYM);
  for (unsigned attempt = 0; table.size() >= sizeof(Elf64_Sym) && attempt < 16; ++attempt) {
    const size_t count = table.size() / sizeof(Elf64_Sym);
    const auto symbol = read<Elf64_Sym>(image, table.begin + random.below(count) * sizeof(Elf64_Sym));
    if (symbol.st_size == 64) {  // its address is its offset, as linkers lay the first segment out
      change_field(image, symbol.st_value, {4, 4, 4, 4, 8, 8, 8, 4, 4, 4, 4, 2, 2, 4}, random);
      return;
    }
  }
}

void change_code(Bytes& image, Random& random) {
  const Range code = code_of(image);
  for (uint64_t n = 1 + random.below(4); n > 0 && code.size() >= 4; --n) {
    const size_t place = code.begin + random.below(code.size() / 4) * 4;
    if (random.one_in(3)) {
      change_number(image, place, 4, random);
    } else {
      image[place + random.below(4)] ^= static_cast<uint8_t>(1u << random.below(8));
    }
  }
}

void change_length(Bytes& image, Random& random) {
  image.resize(random.one_in(3) ? image.size() + random.below(5000) : random.below(image.size() + 1));
}

// Copies an entry of a table over another one: things that come twice.
void repeat_segment(Bytes& image, Random& random) {
  const size_t from = segment_at(image, random), to = segment_at(image, random);
  const auto segment = read<Elf64_Phdr>(image, from);
  if (to <= image.size() && sizeof segment <= image.size() - to) {
    std::memcpy(image.data() + to, &segment, sizeof segment);
  }
}

}  // namespace

Range code_of(const Bytes& image) { return segment_of(image, PT_LOAD, PF_X); }

void mutate_bytes(Bytes& bytes, Random& random) {
  for (uint64_t n = 1 + random.below(6); n > 0 && !bytes.empty(); --n) {
    const uint64_t sizes[] = {1, 1, 2, 4, 8};
    change_number(bytes, random.below(bytes.size()), random.pick(sizes), random);
  }
}

void mutate_elf(Bytes& image, Random& random) {
  using Change = void (*)(Bytes&, Random&);
  const Change changes[] = {change_header,     change_segment,    change_section,  change_symbol,
                            change_dynamic,    change_relocation, change_metadata, change_metadata,
                            change_descriptor, change_descriptor, change_code,     change_code,
                            change_code,       repeat_segment,    mutate_bytes};
  for (uint64_t n = 1 + random.below(3); n > 0; --n) {
    random.pick(changes)(image, random);
  }
  if (random.one_in(20)) {
    change_length(image, random);
  }
}

}  // namespace fuzz
