#include "fat_binary.hpp"

#include <cstring>

#include "image_memory.hpp"

namespace ktrace {
namespace {

constexpr std::uint32_t fat_binary_magic = 0x48495046;  // "HIPF"
constexpr std::uint32_t archive_magic = 0x4B504948;     // "HIPK"

struct Wrapper {
  std::uint32_t magic, version;
  const void* binary;
  const void* unused;
};

}  // namespace

FatBinaryWrapper unwrap(const void* address) {
  FatBinaryWrapper result;
  result.image = address;
  Wrapper wrapper{};
  if (!address || mapped_size(address, sizeof wrapper.magic) < sizeof wrapper.magic) return result;
  std::memcpy(&wrapper.magic, address, sizeof wrapper.magic);
  result.is_archive = wrapper.magic == archive_magic;
  result.is_known = result.is_archive || wrapper.magic == fat_binary_magic;
  if (!result.is_known) return result;
  result.image = nullptr;
  if (result.is_archive || mapped_size(address, sizeof wrapper) < sizeof wrapper) return result;
  std::memcpy(&wrapper, address, sizeof wrapper);
  result.image = wrapper.binary;
  return result;
}

}  // namespace ktrace
