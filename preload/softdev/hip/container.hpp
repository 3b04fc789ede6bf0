// What code objects come wrapped in: offload bundles, compressed bundles, fat binary wrappers.
//
// Knows nothing about devices but their target id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hip/hip_abi.hpp"

namespace ktrace::softdev::hip {

// "gfx942:sramecc+:xnack-" in its parts.
struct TargetId {
  enum class Feature : uint8_t { any, off, on };

  std::string processor;
  Feature sramecc = Feature::any;
  Feature xnack = Feature::any;

  // Also takes what stands in a bundle or in an ELF's metadata: everything before "gfx" is skipped. The
  // processor is empty if there is none.
  static TargetId parse(const std::string& text);
};

// Whether code for `code` runs on `device`: the same processor, or a generic one that covers it, and no
// feature set otherwise.
enum class TargetMatch : uint8_t { none, generic, exact };
TargetMatch match_target(const TargetId& code, const TargetId& device);

struct ExtractedImage {
  hipError_t error = hipSuccess;
  std::string trouble;                          // in words, if there is an error
  const void* data = nullptr;                   // the ELF, in the caller's memory or in `owned`
  size_t size = 0;                              // bytes
  std::shared_ptr<std::vector<uint8_t>> owned;  // the decompressed bundle
};

// Finds the ELF for the device in `image`, which may be an ELF, a bundle, a compressed bundle or a "HIPF"
// wrapper. `limit` is the number of readable bytes, or 0 where nobody knows (hipModuleLoadData): then
// everything that is mapped there may be read.
ExtractedImage extract_image(const void* image, size_t limit, const TargetId& device);

}  // namespace ktrace::softdev::hip
