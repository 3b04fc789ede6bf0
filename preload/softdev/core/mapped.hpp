// Whether memory is there at all, asked of the kernel without reading the process's whole map.
#pragma once

#include <cstddef>

namespace ktrace::softdev {

// Every page of [pointer, pointer + size) is mapped. With which permissions is not asked.
bool is_mapped(const void* pointer, size_t size);

}  // namespace ktrace::softdev
