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
  std::vector<BundleEntry> entries;                // machine code of GPUs, without the empty ones
  std::vector<std::vector<std::uint8_t>> storage;  // what decompressed entries point into
  std::string trouble;                             // what could not be read, in words; "" if everything was
  bool has_intermediate_code = false;  // SPIR-V, which HIP compiles for the device where nothing else fits
};

// A plain ELF is its own only entry.
Unbundled unbundle(Bytes image);

bool is_bundle(Bytes image);
bool is_compressed_bundle(Bytes image);

// The size of the bundle that `head` begins with, as its header claims; 0 if `head` does not hold all of
// that.
std::uint64_t claimed_size_of_bundle(Bytes head);

struct CompressedHeader {
  std::uint64_t header_size = 0;
  std::uint64_t total_size = 0;  // with the header; 0: not known, the stream's own end decides
  std::uint64_t content_size = 0;
  std::uint16_t method = 0;
};
// False, with the reason in `trouble`, if `head` holds no whole header of a known version.
bool read_compressed_header(Bytes head, CompressedHeader* out, std::string* trouble);

}  // namespace ktrace
