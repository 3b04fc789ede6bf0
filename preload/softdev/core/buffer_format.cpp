#include "core/buffer_format.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/half_float.hpp"

namespace ktrace::softdev {

namespace {

struct Layout {
  uint8_t width[component_count];  // bits, lowest component first
};

// By DATA_FORMAT, whose names have the highest component first: 10_11_11, 2_10_10_10 ...
constexpr Layout layouts[16] = {
    {},
    {{8}},
    {{16}},
    {{8, 8}},
    {{32}},
    {{16, 16}},
    {{11, 11, 10}},
    {{10, 11, 11}},
    {{2, 10, 10, 10}},
    {{10, 10, 10, 2}},
    {{8, 8, 8, 8}},
    {{32, 32}},
    {{16, 16, 16, 16}},
    {{32, 32, 32}},
    {{32, 32, 32, 32}},
    {},
};

enum Number : uint8_t { unorm, snorm, uscaled, sscaled, uint, sint, reserved, real };

uint32_t pattern(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
float number(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

double largest_unsigned(unsigned width) { return std::ldexp(1.0, static_cast<int>(width)) - 1; }
double largest_signed(unsigned width) { return std::ldexp(1.0, static_cast<int>(width) - 1) - 1; }

int32_t sign_extended(uint32_t bits, unsigned width) {
  return static_cast<int32_t>(bits << (32 - width)) >> (32 - width);
}

// 11- and 10-bit floats have f16's exponent, no sign, and fewer fraction bits.
constexpr unsigned fraction_missing(unsigned width) { return 15 - width; }

uint32_t read_real(uint32_t bits, unsigned width) {
  switch (width) {
    case 32:
      return bits;
    case 16:
      return pattern(float_from_half(static_cast<uint16_t>(bits)));
    case 11:
    case 10:
      return pattern(float_from_half(static_cast<uint16_t>(bits << fraction_missing(width))));
    default:
      return 0;
  }
}

uint32_t write_real(uint32_t bits, unsigned width) {
  const float value = number(bits);
  switch (width) {
    case 32:
      return bits;
    case 16:
      return half_from_real(value);
    case 11:
    case 10:
      // Without a sign, negative numbers become 0; the rest is cut off.
      return value < 0 ? 0u : static_cast<uint32_t>(half_from_real(value)) >> fraction_missing(width);
    default:
      return 0;
  }
}

uint32_t read_component(uint32_t bits, unsigned width, uint8_t kind) {
  switch (kind) {
    case unorm:
      return pattern(static_cast<float>(bits / largest_unsigned(width)));
    case snorm:
      return pattern(static_cast<float>(std::max(sign_extended(bits, width) / largest_signed(width), -1.0)));
    case uscaled:
      return pattern(static_cast<float>(bits));
    case sscaled:
      return pattern(static_cast<float>(sign_extended(bits, width)));
    case sint:
      return static_cast<uint32_t>(sign_extended(bits, width));
    case real:
      return read_real(bits, width);
    default:
      return bits;
  }
}

// NaN becomes 0.
double clamped(double value, double low, double high) {
  return value != value ? 0 : std::min(std::max(value, low), high);
}
uint32_t low_bits(double value) { return static_cast<uint32_t>(static_cast<int64_t>(value)); }

uint32_t write_component(uint32_t bits, unsigned width, uint8_t kind) {
  const double value = number(bits), above = largest_unsigned(width), most = largest_signed(width);
  switch (kind) {
    case unorm:
      return low_bits(std::nearbyint(clamped(value, 0, 1) * above));
    case snorm:
      return low_bits(std::nearbyint(clamped(value, -1, 1) * most));
    case uscaled:
      return low_bits(clamped(value, 0, above));
    case sscaled:
      return low_bits(clamped(value, -most - 1, most));
    case real:
      return write_real(bits, width);
    default:
      return bits;
  }
}

uint32_t mask_of(unsigned width) { return 0xffffffffu >> (32 - width); }

unsigned element_bits(BufferFormat format) {
  unsigned bits = 0;
  for (const uint8_t width : layouts[format.data & 15u].width) {
    bits += width;
  }
  return bits;
}

}  // namespace

unsigned element_bytes(BufferFormat format) {
  return format.number == reserved ? 0 : element_bits(format) / 8;
}

bool is_integer(BufferFormat format) { return format.number == uint || format.number == sint; }

uint32_t format_one(BufferFormat format) { return is_integer(format) ? 1u : pattern(1.0f); }

Components read_element(const uint8_t* memory, BufferFormat format) {
  Components result{{0, 0, 0, format_one(format)}};
  const Layout& layout = layouts[format.data & 15u];
  unsigned bit = 0;
  for (unsigned k = 0; k < component_count && layout.width[k] != 0; ++k) {
    const unsigned width = layout.width[k];
    uint64_t bits = 0;
    std::memcpy(&bits, memory + bit / 8, (bit % 8 + width + 7) / 8);
    const auto component = static_cast<uint32_t>(bits >> (bit % 8)) & mask_of(width);
    result.at[k] = read_component(component, width, format.number);
    bit += width;
  }
  return result;
}

void write_element(uint8_t* memory, BufferFormat format, const Components& components) {
  const Layout& layout = layouts[format.data & 15u];
  uint8_t element[16] = {};
  unsigned bit = 0;
  for (unsigned k = 0; k < component_count && layout.width[k] != 0; ++k) {
    const unsigned width = layout.width[k], bytes = (bit % 8 + width + 7) / 8;
    const uint64_t value = write_component(components.at[k], width, format.number) & mask_of(width);
    uint64_t bits = 0;
    std::memcpy(&bits, element + bit / 8, bytes);
    bits |= value << (bit % 8);
    std::memcpy(element + bit / 8, &bits, bytes);
    bit += width;
  }
  std::memcpy(memory, element, bit / 8);
}

}  // namespace ktrace::softdev
