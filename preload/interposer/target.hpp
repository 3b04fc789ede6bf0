// Target ids, gfx942:sramecc+:xnack-: which one an ELF header names, and which devices each one runs on.
#pragma once

#include <cstdint>
#include <string>

namespace ktrace {

// From e_flags and EI_ABIVERSION; "" for a processor that is not known here.
std::string target_of_header(std::uint32_t flags, unsigned abi_version);

// Whether a code object for `target` runs on a device that calls itself `device`: same processor or a generic
// one that covers it, no feature contradicted. An unknown one, "", is believed to.
bool is_target_for(const std::string& target, const std::string& device);

// The same, and `target` names the device's processor itself: HIP prefers that to a generic one.
bool is_exact_target_for(const std::string& target, const std::string& device);

}  // namespace ktrace
