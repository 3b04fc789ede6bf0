// Formats of typed buffers: how components lie in memory, and what they are as 32-bit numbers.
#pragma once

#include <cstdint>

namespace ktrace::softdev {

// The numbers of gfx9's DATA_FORMAT and NUM_FORMAT.
struct BufferFormat {
  uint8_t data;
  uint8_t number;
};

constexpr unsigned component_count = 4;
struct Components {
  uint32_t at[component_count];  // f32 patterns, or integers
};

// Bytes of an element; 0 for a format that is none.
unsigned element_bytes(BufferFormat format);
bool is_integer(BufferFormat format);
// The value that absent components have last: 1, as the format writes it.
uint32_t format_one(BufferFormat format);

// Components that the format lacks are 0, 0, 0 and 1.
Components read_element(const uint8_t* memory, BufferFormat format);
void write_element(uint8_t* memory, BufferFormat format, const Components& components);

}  // namespace ktrace::softdev
