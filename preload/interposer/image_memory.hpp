// The image at an address that the application gave without a size: how far it goes, and no farther than
// memory does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "bytes.hpp"

namespace ktrace {

// How many of `wanted` bytes from `begin` on are mapped without a gap. HIP reads a registered image only when
// it is launched, so one that is damaged has harmed nobody before we look at it.
std::size_t mapped_size(const void* begin, std::size_t wanted);

// An ELF, a bundle or a compressed bundle. Empty, with the reason in `trouble`, if it is none or leaves its
// memory.
Bytes image_at(const void* address, std::string* trouble);

// Its size after decompression, as its header claims; 0 if it is of no known kind.
std::uint64_t content_size_of(Bytes image);

}  // namespace ktrace
