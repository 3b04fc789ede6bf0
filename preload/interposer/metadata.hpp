// The kernels that a code object's AMDGPU metadata describes, as far as launching them needs it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bytes.hpp"

namespace ktrace {

struct KernelArgument {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  std::string value_kind;
};

struct KernelMetadata {
  std::string name;
  std::string symbol;  // of the descriptor: "name.kd"
  std::uint32_t kernarg_size = 0;
  std::vector<KernelArgument> arguments;         // explicit ones, in the order in which hosts pass them
  std::vector<KernelArgument> hidden_arguments;  // that HIP fills in
  bool is_contradicted = false;                  // another note describes other arguments
};

struct Metadata {
  std::string target;  // "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"; "" before version 4
  std::vector<KernelMetadata> kernels;
};

// None if the MessagePack is damaged anywhere.
std::optional<Metadata> read_metadata(Bytes descriptor);

// What several notes say together: each unit of a linked code object may bring its own. A kernel that many
// describe is one.
Metadata merge_metadata(std::vector<Metadata> notes);

}  // namespace ktrace
