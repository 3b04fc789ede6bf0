// The AMDGPU metadata note of a code object: MessagePack that describes its kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/machine.hpp"

namespace ktrace::softdev {

// Returns the kernels that the note describes; descriptors are not filled in. Throws LoadError with the
// offset of what it cannot read. Never reads outside [data, data + size).
std::vector<Kernel> read_metadata(const uint8_t* data, size_t size);

// Whether a message can show the name: no control characters.
bool is_text(const std::string& name);

}  // namespace ktrace::softdev
