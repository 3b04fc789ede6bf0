// The wrapper around a registered image.
#pragma once

#include <cstdint>

namespace ktrace {

struct FatBinaryWrapper {
  const void* image = nullptr;  // null: there is none in memory
  bool is_archive = false;      // its code is in files that only HIP reads (kpack)
  bool is_known = false;        // there was a wrapper of a kind that is known here
};

// What an address that HIP takes for an image or a wrapper leads to; an image leads to itself.
FatBinaryWrapper unwrap(const void* address);

// Fat binaries that nobody launched from: a good half of a second at the process's end.
inline constexpr std::uint64_t most_bytes_read_late = std::uint64_t{256} << 20;

}  // namespace ktrace
