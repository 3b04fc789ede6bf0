#include "crc32.hpp"

#include <array>
#include <cstring>

namespace ktrace {
namespace {

// Eight bytes per step: table k advances a byte that lies k positions before the last one.
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) ? 0xedb88320u : 0u);
    tables[0][byte] = sum;
  }
  for (std::uint32_t byte = 0; byte < 256; ++byte)
    for (std::size_t k = 1; k < 8; ++k)
      tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 0xff];
  return tables;
}

constexpr Tables tables = make_tables();

}  // namespace

std::uint32_t crc32(const void* data, std::size_t size, std::uint32_t sum) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  sum = ~sum;
  for (; size >= 8; size -= 8, bytes += 8) {
    std::uint32_t low, high;
    std::memcpy(&low, bytes, 4);
    std::memcpy(&high, bytes + 4, 4);
    low ^= sum;
    sum = tables[7][low & 0xff] ^ tables[6][(low >> 8) & 0xff] ^ tables[5][(low >> 16) & 0xff] ^
          tables[4][low >> 24] ^ tables[3][high & 0xff] ^ tables[2][(high >> 8) & 0xff] ^
          tables[1][(high >> 16) & 0xff] ^ tables[0][high >> 24];
  }
  for (; size > 0; --size, ++bytes) sum = (sum >> 8) ^ tables[0][(sum ^ *bytes) & 0xff];
  return ~sum;
}

}  // namespace ktrace
