// One code object: which of its kernels are annotated and how each wants its trace buffer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bytes.hpp"
#include "ktrace/format.h"
#include "metadata.hpp"
#include "sha256.hpp"

namespace ktrace {

struct CodeObject;

// An annotated kernel.
struct Kernel {
  const CodeObject* code_object = nullptr;
  KernelMetadata metadata;
  ktrace_kernel_note note{};
  std::uint32_t trace_index = 0;   // of the trace argument among the explicit ones
  std::uint32_t trace_offset = 0;  // of it in the kernarg segment
  // Why it cannot be traced: a ktrace_loss_reason and words. 0 if it can.
  std::uint32_t refusal = 0;
  std::string refusal_words;
  bool is_of_flydsl = false;  // with FlyDSL's own tracer, not with our annotations: flydsl.hpp

  bool has_placeholder() const { return (note.flags & KTRACE_KERNEL_PLACEHOLDER) != 0; }

  // Of all launches so far: the most words that a wave attempted, its header's included.
  mutable std::atomic<std::uint32_t> attempted_words{0};
  // Whether its name is asked for: matching names takes longer than a launch.
  enum class Wanted : unsigned char { unknown, yes, no };
  mutable std::atomic<Wanted> wanted{Wanted::unknown};
  // So far, where single launches are chosen.
  mutable std::atomic<std::uint64_t> launches{0};
};

struct CodeObject {
  Sha256 digest{};                               // only if a kernel is annotated
  std::vector<std::uint8_t> bytes;               // the same
  std::string target;                            // "gfx942:sramecc+:xnack-"; "" if it does not say
  std::vector<std::unique_ptr<Kernel>> kernels;  // the annotated ones
  std::string trouble;                           // what of it could not be read, in words

  // By the name that hosts use: the symbol's or the metadata's.
  const Kernel* find_kernel(const std::string& name) const;
};

std::unique_ptr<CodeObject> read_code_object(Bytes file);

// What most code objects need: to be told apart from those with annotations, without reading all of them.
struct Glance {
  bool needs_reading = false;     // there are annotations, or something is damaged
  std::uint64_t fingerprint = 0;  // of its size, its headers, its notes and samples of the rest
  std::string target;
};
Glance glance_at(Bytes file);

// The names of all its kernels, annotated or not, as hosts use them.
std::vector<std::string> kernel_names(Bytes file);

}  // namespace ktrace
