// A bounds-checked MessagePack reader for the one document that code objects carry.
#include "core/metadata.hpp"

#include <algorithm>
#include <string>

namespace ktrace::softdev {

namespace {

constexpr unsigned depth_limit = 32;  // nesting; real documents have 5

class Reader {
 public:
  Reader(const uint8_t* data, size_t size) : m_begin(data), m_at(data), m_end(data + size) {}

  uint64_t map_size() { return container("a map", 0x80, 0xde, 0xdf); }
  uint64_t array_size() { return container("an array", 0x90, 0xdc, 0xdd); }

  std::string string() {
    const uint8_t tag = byte();
    uint64_t length = 0;
    if ((tag & 0xe0) == 0xa0) {
      length = tag & 0x1f;
    } else if (tag >= 0xd9 && tag <= 0xdb) {
      length = big_endian(1u << (tag - 0xd9));
    } else {
      complain("a string");
    }
    const uint8_t* text = take(length);
    return std::string(reinterpret_cast<const char*>(text), static_cast<size_t>(length));
  }

  uint64_t number() {
    const uint8_t tag = byte();
    if (tag < 0x80) {
      return tag;
    }
    if (tag >= 0xcc && tag <= 0xcf) {
      return big_endian(1u << (tag - 0xcc));
    }
    if (tag >= 0xd0 && tag <= 0xd3) {
      return big_endian(1u << (tag - 0xd0));  // signed, but what we read is never negative
    }
    if (tag == 0xc2 || tag == 0xc3) {
      return tag - 0xc2u;
    }
    complain("a number");
  }

  void skip(unsigned depth = 0) {
    if (depth > depth_limit) {
      complain("less nesting");
    }
    const uint8_t tag = peek();
    if ((tag & 0xf0) == 0x80 || tag == 0xde || tag == 0xdf) {
      for (uint64_t n = map_size(); n > 0; --n) {
        skip(depth + 1);
        skip(depth + 1);
      }
    } else if ((tag & 0xf0) == 0x90 || tag == 0xdc || tag == 0xdd) {
      for (uint64_t n = array_size(); n > 0; --n) {
        skip(depth + 1);
      }
    } else {
      skip_scalar(tag);
    }
  }

 private:
  const uint8_t* m_begin;
  const uint8_t* m_at;
  const uint8_t* m_end;

  [[noreturn]] void complain(const char* wanted) const {
    throw LoadError("the kernel metadata is damaged at offset " + std::to_string(m_at - m_begin) + ": " +
                    wanted + " was expected");
  }
  const uint8_t* take(uint64_t size) {
    if (size > static_cast<uint64_t>(m_end - m_at)) {
      complain("more data");
    }
    const uint8_t* start = m_at;
    m_at += size;
    return start;
  }
  uint8_t peek() const {
    if (m_at == m_end) {
      complain("more data");
    }
    return *m_at;
  }
  uint8_t byte() { return *take(1); }
  uint64_t big_endian(unsigned size) {
    const uint8_t* bytes = take(size);
    uint64_t value = 0;
    for (unsigned k = 0; k < size; ++k) {
      value = value << 8 | bytes[k];
    }
    return value;
  }
  uint64_t container(const char* what, uint8_t fixed, uint8_t tag16, uint8_t tag32) {
    const uint8_t tag = byte();
    if ((tag & 0xf0) == fixed) {
      return tag & 15;
    }
    if (tag == tag16 || tag == tag32) {
      return big_endian(tag == tag16 ? 2 : 4);
    }
    complain(what);
  }
  void skip_scalar(uint8_t tag) {
    if ((tag & 0xe0) == 0xa0 || (tag >= 0xd9 && tag <= 0xdb)) {
      string();
    } else if (tag >= 0xc4 && tag <= 0xc6) {  // binary
      byte();
      take(big_endian(1u << (tag - 0xc4)));
    } else if (tag == 0xca || tag == 0xcb) {  // float
      byte();
      take(tag == 0xca ? 4 : 8);
    } else if (tag == 0xc0 || tag >= 0xe0) {  // nil, small negative
      byte();
    } else {
      number();
    }
  }
};

uint32_t number32(Reader& reader) {
  const uint64_t value = reader.number();
  if (value > 0xffffffffu) {
    throw LoadError("the kernel metadata holds " + std::to_string(value) + " where 32 bits are enough");
  }
  return static_cast<uint32_t>(value);
}

KernelArgument read_argument(Reader& reader) {
  KernelArgument argument;
  for (uint64_t n = reader.map_size(); n > 0; --n) {
    const std::string key = reader.string();
    if (key == ".offset") {
      argument.offset = number32(reader);
    } else if (key == ".size") {
      argument.size = number32(reader);
    } else if (key == ".value_kind") {
      argument.value_kind = reader.string();
    } else if (key == ".name") {
      argument.name = reader.string();
    } else {
      reader.skip();
    }
  }
  return argument;
}

struct NumberField {
  const char* key;
  uint32_t Kernel::* member;
};

constexpr NumberField number_fields[] = {
    {".kernarg_segment_size", &Kernel::kernarg_size},
    {".kernarg_segment_align", &Kernel::kernarg_alignment},
    {".group_segment_fixed_size", &Kernel::lds_bytes},
    {".private_segment_fixed_size", &Kernel::private_bytes},
    {".sgpr_count", &Kernel::sgpr_count},
    {".vgpr_count", &Kernel::vgpr_count},
    {".agpr_count", &Kernel::agpr_count},
    {".max_flat_workgroup_size", &Kernel::max_workgroup_size},
    {".wavefront_size", &Kernel::wavefront_size},
    {".sgpr_spill_count", &Kernel::sgpr_spills},
    {".vgpr_spill_count", &Kernel::vgpr_spills},
};

const NumberField* find_field(const std::string& key) {
  for (const NumberField& field : number_fields) {
    if (key == field.key) {
      return &field;
    }
  }
  return nullptr;
}

Kernel read_kernel(Reader& reader) {
  Kernel kernel;
  for (uint64_t n = reader.map_size(); n > 0; --n) {
    const std::string key = reader.string();
    if (key == ".name") {
      kernel.name = reader.string();
    } else if (key == ".symbol") {
      kernel.symbol = reader.string();
    } else if (key == ".uses_dynamic_stack") {
      kernel.uses_dynamic_stack = reader.number() != 0;
    } else if (key == ".args") {
      for (uint64_t count = reader.array_size(); count > 0; --count) {
        kernel.arguments.push_back(read_argument(reader));
      }
    } else if (const NumberField* field = find_field(key)) {
      kernel.*field->member = number32(reader);
    } else {
      reader.skip();
    }
  }
  return kernel;
}

void check_kernel(const Kernel& kernel) {
  if (kernel.name.empty() || kernel.symbol.empty()) {
    throw LoadError("the kernel metadata describes a kernel without a name or a symbol");
  }
  if (!is_text(kernel.name) || !is_text(kernel.symbol)) {
    throw LoadError("the kernel metadata names a kernel with a control character");
  }
  for (const KernelArgument& argument : kernel.arguments) {
    const bool hidden = argument.value_kind.compare(0, 7, "hidden_") == 0;
    if (uint64_t{argument.offset} + argument.size > kernel.kernarg_size && !hidden) {
      throw LoadError("kernel `" + kernel.name + "`: an argument of " + std::to_string(argument.size) +
                      " bytes at offset " + std::to_string(argument.offset) + " does not fit into " +
                      std::to_string(kernel.kernarg_size) + " bytes of arguments");
    }
  }
}

}  // namespace

bool is_text(const std::string& name) {
  return std::none_of(name.begin(), name.end(), [](char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return byte < ' ' || byte == 0x7f;
  });
}

std::vector<Kernel> read_metadata(const uint8_t* data, size_t size) {
  Reader reader(data, size);
  std::vector<Kernel> kernels;
  for (uint64_t n = reader.map_size(); n > 0; --n) {
    if (reader.string() != "amdhsa.kernels") {
      reader.skip();
      continue;
    }
    for (uint64_t count = reader.array_size(); count > 0; --count) {
      kernels.push_back(read_kernel(reader));
      check_kernel(kernels.back());
    }
  }
  return kernels;
}

}  // namespace ktrace::softdev
