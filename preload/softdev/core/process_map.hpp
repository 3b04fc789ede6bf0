// What the process has mapped, asked of the kernel.
#pragma once

#include <cstdint>
#include <vector>

namespace ktrace::softdev {

// A range of host memory that may be read.
struct Region {
  uint64_t base = 0;
  uint64_t end = 0;
  bool writable = false;  // by kernels
  bool withheld = false;  // writable, but not by kernels
};

// All readable mappings by address; neighbours with the same permissions are one region. Empty without /proc.
// Kernels may write to anonymous and shared memory, and to the heap. Stacks (of threads: the caller's), the
// data of the program and its libraries, and mapped files are withheld: what goes astray must not end the
// program.
std::vector<Region> read_process_map();

// The part of it that one mapping makes up, the one that holds the address. Empty if there is none, or if the
// system answers no such questions (Linux before 6.11): the map as a whole has the answer then.
std::vector<Region> mapping_at(uint64_t address);

// How many bytes may be read from `pointer` on; 0 if none, or without /proc.
uint64_t readable_bytes(const void* pointer);

}  // namespace ktrace::softdev
