// Containers of code objects: offload bundles, compressed or not, one after another in any mixture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bytes.hpp"

namespace ktrace {

struct BundleEntry {
  std::string target;  // "gfx942:sramecc+:xnack-"; "" for an object that was in no bundle
  Bytes code_object;
};

struct Unbundled {
  std::vector<BundleEntry> entries;                // of GPUs, without the empty ones
  std::vector<std::vector<std::uint8_t>> storage;  // what decompressed entries point into
  std::string trouble;                             // what could not be read, in words; "" if everything was
};

// A plain ELF is its own only entry.
Unbundled unbundle(Bytes image);

// The size of an image that is known by its address alone; 0 if it is of no kind that is known here.
std::size_t size_of_image(const void* image);
// The same after decompression, as its header claims.
std::uint64_t content_size_of_image(const void* image);

}  // namespace ktrace
