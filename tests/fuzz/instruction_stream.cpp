#include "instruction_stream.hpp"

#include <elf.h>

#include <cstring>
#include <initializer_list>

namespace fuzz {

namespace {

constexpr uint32_t end_program = 0xbf810000;

using Words = std::vector<uint32_t>;

uint32_t field(Random& random, unsigned high, unsigned low) {
  return static_cast<uint32_t>(random.next() & ((uint64_t{1} << (high - low + 1)) - 1)) << low;
}

// Registers that hold something, mostly; sometimes the last ones, where groups of registers run over the end.
uint32_t vgpr(Random& random) {
  const uint32_t chosen[] = {0, 1, 2, 4, 6, 8, 10, 12, 13, 20, 32, 64, 252, 253, 254, 255};
  return random.one_in(8) ? static_cast<uint32_t>(random.below(256)) : random.pick(chosen);
}

uint32_t sgpr(Random& random) {
  const uint32_t chosen[] = {16, 18, 20,  22,  24,  48,  52,  60,  64, 72,
                             96, 99, 100, 101, 102, 106, 124, 126, 127};
  return random.one_in(8) ? static_cast<uint32_t>(random.below(128)) : random.pick(chosen);
}

uint32_t scalar_source(Random& random) {
  return random.one_in(2) ? sgpr(random) : static_cast<uint32_t>(random.below(256));
}

// Nine bits: registers, constants, and now and then SDWA, DPP or a literal.
uint32_t source(Random& random) {
  const uint32_t extensions[] = {249, 250, 255};
  if (random.one_in(8)) {
    return random.pick(extensions);
  }
  return random.one_in(3) ? scalar_source(random) : 256 + vgpr(random);
}

void sop2(Random& r, Words& words) {
  words.push_back(2u << 30 | field(r, 29, 23) | sgpr(r) << 16 | scalar_source(r) << 8 | scalar_source(r));
}
void sop1(Random& r, Words& words) {
  words.push_back(0x17du << 23 | sgpr(r) << 16 | field(r, 15, 8) | scalar_source(r));
}
void sopc(Random& r, Words& words) {
  words.push_back(0x17eu << 23 | field(r, 22, 16) | scalar_source(r) << 8 | scalar_source(r));
}
void sopk(Random& r, Words& words) {
  words.push_back(0xbu << 28 | field(r, 27, 23) | sgpr(r) << 16 | field(r, 15, 0));
}
void sopp(Random& r, Words& words) {
  const uint32_t op = r.one_in(3) ? static_cast<uint32_t>(r.below(128)) : r.one_in(4) ? 10 : 12;
  words.push_back(0x17fu << 23 | op << 16 | (r.one_in(2) ? field(r, 15, 0) : field(r, 3, 0)));
}
void smem(Random& r, Words& words) {
  words.push_back(0x30u << 26 | field(r, 25, 18) | field(r, 17, 13) | sgpr(r) << 6 | sgpr(r) >> 1);
  words.push_back(r.one_in(2) ? field(r, 8, 0) << 2 : r.word());
}
void vop2(Random& r, Words& words) {
  words.push_back(field(r, 30, 25) | vgpr(r) << 17 | vgpr(r) << 9 | source(r));
}
void vop1(Random& r, Words& words) {
  words.push_back(0x3fu << 25 | vgpr(r) << 17 | field(r, 16, 9) | source(r));
}
void vopc(Random& r, Words& words) {
  words.push_back(0x3eu << 25 | field(r, 24, 17) | vgpr(r) << 9 | source(r));
}

uint32_t three_sources(Random& r) {
  return source(r) | source(r) << 9 | source(r) << 18 | (r.one_in(2) ? field(r, 31, 27) : 0);
}
void vop3(Random& r, Words& words) {
  words.push_back(0x34u << 26 | field(r, 25, 16) | (r.one_in(2) ? field(r, 15, 8) : 0) | vgpr(r));
  words.push_back(three_sources(r));
}
void vop3p(Random& r, Words& words) {
  words.push_back(0x1a7u << 23 | field(r, 22, 16) | field(r, 15, 8) | vgpr(r));
  words.push_back(three_sources(r));
}
void matrix(Random& r, Words& words) {
  if (r.one_in(4)) {  // the scales of gfx950
    words.push_back(0x1a7u << 23 | 44u << 16 | field(r, 15, 8) | field(r, 7, 0));
    words.push_back(three_sources(r));
  }
  words.push_back(0x1a7u << 23 | static_cast<uint32_t>(44 + r.below(84)) << 16 | field(r, 15, 8) | vgpr(r));
  words.push_back((256 + vgpr(r)) | (256 + vgpr(r)) << 9 | (256 + vgpr(r)) << 18 |
                  (r.one_in(2) ? field(r, 31, 27) : 0));
}
void ds(Random& r, Words& words) {
  words.push_back(0x36u << 26 | field(r, 25, 17) | (r.one_in(4) ? field(r, 15, 0) : field(r, 5, 0)));
  words.push_back(vgpr(r) << 24 | vgpr(r) << 16 | vgpr(r) << 8 | (r.one_in(2) ? 1 : vgpr(r)));
}
void flat(Random& r, Words& words) {
  words.push_back(0x37u << 26 | field(r, 25, 18) | field(r, 17, 16) | field(r, 15, 13) | field(r, 12, 0));
  const uint32_t addresses[] = {0, 1, 2, 2, 4, 6, 6, 255};
  const uint32_t base = r.one_in(2) ? 0x7f : sgpr(r);
  words.push_back(vgpr(r) << 24 | field(r, 23, 23) | base << 16 | vgpr(r) << 8 | r.pick(addresses));
}
void buffer(Random& r, Words& words) {
  const uint32_t encoding = r.one_in(4) ? 0x3a : 0x38;  // the typed ones are of graphics, mostly
  words.push_back(encoding << 26 | field(r, 25, 18) | field(r, 17, 12) | field(r, 11, 0));
  const uint32_t descriptor = r.one_in(3) ? static_cast<uint32_t>(r.below(32)) : 12;
  words.push_back(scalar_source(r) << 24 | field(r, 23, 21) | descriptor << 16 | vgpr(r) << 8 | vgpr(r));
}
void any_word(Random& r, Words& words) { words.push_back(r.word()); }

using Form = void (*)(Random&, Words&);
constexpr Form forms[] = {sop2, sop1,  sopc,   sopk, sopp, smem, vop2, vop1,   vopc,    vop3,
                          vop3, vop3p, matrix, ds,   ds,   flat, flat, buffer, any_word};

template <class T>
void put(Bytes& image, size_t offset, const T& value) {
  std::memcpy(image.data() + offset, &value, sizeof value);
}

constexpr size_t descriptor_at = 0x200, names_at = 0x280, symbols_at = 0x2a0, sections_at = 0x300,
                 code_at = 0x400;

void put_headers(Bytes& image, uint32_t machine) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_OSABI] = 64;
  header.e_ident[EI_ABIVERSION] = 3;
  header.e_type = ET_DYN;
  header.e_machine = 224;
  header.e_flags = machine;
  header.e_phoff = sizeof header;
  header.e_phnum = 1;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_shoff = sections_at;
  header.e_shnum = 3;
  header.e_shentsize = sizeof(Elf64_Shdr);
  put(image, 0, header);
  put(image, sizeof header, Elf64_Phdr{PT_LOAD, PF_R | PF_X, 0, 0, 0, image.size(), image.size(), 4096});
}

void put_symbol(Bytes& image) {
  put(image, symbols_at + sizeof(Elf64_Sym), Elf64_Sym{1, 0x11, 0, 1, descriptor_at, 64});
  std::memcpy(image.data() + names_at, "\0k.kd", 6);
  constexpr size_t size = sizeof(Elf64_Shdr);
  put(image, sections_at + size,
      Elf64_Shdr{0, SHT_DYNSYM, 0, 0, symbols_at, 2 * sizeof(Elf64_Sym), 2, 0, 8, sizeof(Elf64_Sym)});
  put(image, sections_at + 2 * size, Elf64_Shdr{0, SHT_STRTAB, 0, 0, names_at, 6, 0, 0, 1, 0});
}

void put_descriptor(Bytes& image, const KernelImage& kernel) {
  constexpr uint32_t all_registers = 63;
  const uint32_t has_scratch = kernel.private_bytes != 0;
  constexpr uint32_t two_user_registers = 2 << 1, workgroup_ids = 7 << 7;
  constexpr uint16_t kernarg_pointer = 8;
  put(image, descriptor_at, kernel.lds_bytes);
  put(image, descriptor_at + 4, kernel.private_bytes);
  put(image, descriptor_at + 8, kernel.kernarg_bytes);
  put(image, descriptor_at + 16, int64_t{code_at - descriptor_at});
  put(image, descriptor_at + 44, all_registers);
  put(image, descriptor_at + 48, all_registers | kernel.float_mode << 12 | 1u << 21 | 1u << 23);
  put(image, descriptor_at + 52, has_scratch | two_user_registers | workgroup_ids);
  put(image, descriptor_at + 56, static_cast<uint16_t>(kernarg_pointer | kernel.more_properties));
  put(image, descriptor_at + 58, kernel.kernarg_preload);
}

}  // namespace

const std::vector<uint32_t>& prologue() {
  static const Words words = {
      0xc0120400, 0x00000000,  // s_load_dwordx16 s[16:31], s[0:1], 0x0
      0xc0120800, 0x00000040,  // s_load_dwordx16 s[32:47], s[0:1], 0x40
      0xbf8cc07f,              // s_waitcnt lgkmcnt(0)
      0x260000bf,              // v_and_b32 v0, 63, v0
      0x24080084,              // v_lshlrev_b32 v4, 4, v0
      0x7e040210, 0x7e060211,  // v_mov_b32 v2, s16; v_mov_b32 v3, s17
      0x24020082,              // v_lshlrev_b32 v1, 2, v0
      0x7e0c0212, 0x7e0e0213,  // v_mov_b32 v6, s18; v_mov_b32 v7, s19
      0xbeb00014,              // s_mov_b32 s48, s20
      0x8631ff15, 0x0000ffff,  // s_and_b32 s49, s21, 0xffff
      0xbeb200ff, 0x00008000,  // s_mov_b32 s50, 0x8000
      0xbeb30080,              // s_mov_b32 s51, 0
      0xb0340040,              // s_movk_i32 s52, 0x40
      0xbefc00ff, 0x00000100,  // s_mov_b32 m0, 0x100
      0x7e100d00,              // v_cvt_f32_u32 v8, v0
      0x7e142d00,              // v_cvt_f64_u32 v[10:11], v0
      0x7e124508,              // v_rcp_f32 v9, v8
      0x7e1802ff, 0x3c003c00,  // v_mov_b32 v12, 0x3c003c00
  };
  return words;
}

std::vector<uint32_t> random_instructions(Random& random) {
  Words words;
  const Form only = random.one_in(2) ? random.pick(forms) : nullptr;
  const uint64_t longest[] = {1, 4, 16, 64, 256};
  for (uint64_t n = 1 + random.below(random.pick(longest)); n > 0; --n) {
    (only ? only : random.pick(forms))(random, words);
    const uint32_t last = words.back();
    if ((last & 0xff) == 0xff || (last & 0x1ff) == 249 || (last & 0x1ff) == 250) {
      words.push_back(random.one_in(2) ? random.word()
                                       : 256 + vgpr(random));  // a literal, or what SDWA and DPP say
    }
  }
  return words;
}

Bytes make_image(const KernelImage& kernel, const std::vector<uint32_t>& words) {
  Bytes image(code_at + (words.size() + 1) * 4);
  put_headers(image, kernel.machine);
  put_symbol(image);
  put_descriptor(image, kernel);
  std::memcpy(image.data() + code_at, words.data(), words.size() * 4);
  put(image, image.size() - 4, end_program);
  return image;
}

}  // namespace fuzz
