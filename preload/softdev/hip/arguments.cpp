// Filling the kernarg segment.
#include "hip/arguments.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "core/mapped.hpp"
#include "hip/runtime.hpp"

namespace ktrace::softdev::hip {

namespace {

bool is_hidden(const KernelArgument& argument) { return argument.value_kind.compare(0, 7, "hidden_") == 0; }

struct ExtraBuffer {
  const uint8_t* data = nullptr;
  const size_t* size = nullptr;
};

// A list of keys and values with an end mark. HIP insists on pointer, size,
// end; so do we.
bool read_extra(void** extra, ExtraBuffer& buffer) {
  const auto key = [&](int place) { return reinterpret_cast<uintptr_t>(extra[place]); };
  if (key(0) != HIP_LAUNCH_PARAM_BUFFER_POINTER || key(2) != HIP_LAUNCH_PARAM_BUFFER_SIZE ||
      key(4) != HIP_LAUNCH_PARAM_END) {
    return false;
  }
  buffer = {static_cast<const uint8_t*>(extra[1]), static_cast<const size_t*>(extra[3])};
  return buffer.data != nullptr && buffer.size != nullptr;
}

bool fits(const KernelArgument& argument, const KernargSegment& segment) {
  return argument.offset <= segment.bytes && argument.size <= segment.bytes - argument.offset;
}

void put(const KernelArgument& argument, uint64_t value, KernargSegment& segment) {
  std::memcpy(segment.data() + argument.offset, &value, std::min<size_t>(argument.size, sizeof value));
}

// The last axis letter of "hidden_block_count_y".
unsigned axis_of(const std::string& kind) { return static_cast<unsigned>(kind.back() - 'x') % 3; }

uint64_t grid_dimensions(const LaunchShape& shape) {
  if (shape.global[2] > 1) {
    return 3;
  }
  return shape.global[1] > 1 ? 2 : 1;
}

bool begins_with(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

// The kinds whose value is 0 here. The pointers among them belong to features
// that need the host's help while the kernel runs (printf, malloc on the
// device, grid-wide sync across devices): a kernel that uses one faults at
// address 0, with its name.
bool is_absent(const std::string& kind) {
  // Never destroyed: threads launch while the process ends.
  static const auto& kinds = *new std::set<std::string>{
      "hidden_none",    "hidden_printf_buffer", "hidden_hostcall_buffer",  "hidden_multigrid_sync_arg",
      "hidden_heap_v1", "hidden_default_queue", "hidden_completion_action"};
  return kinds.count(kind) != 0 || begins_with(kind, "hidden_global_offset_");
}

void say_unknown_once(const std::string& kind, const std::string& kernel) {
  static auto& mutex = *new std::mutex;
  static auto& said = *new std::set<std::string>;
  const std::lock_guard<std::mutex> lock(mutex);
  if (said.insert(kind).second) {
    say("kernel `%s` wants the hidden argument `%s`, which is unknown; it gets "
        "0",
        kernel.c_str(), kind.c_str());
  }
}

uint64_t hidden_value(const std::string& kind, const LaunchShape& shape, uint64_t queue,
                      const Kernel& kernel) {
  const unsigned axis = axis_of(kind);
  if (begins_with(kind, "hidden_block_count_")) {
    return shape.global[axis] / shape.block[axis];  // whole workgroups only, by the ABI
  }
  if (begins_with(kind, "hidden_group_size_")) {
    return shape.block[axis];
  }
  if (begins_with(kind, "hidden_remainder_")) {
    return shape.global[axis] % shape.block[axis];
  }
  if (kind == "hidden_grid_dims") {
    return grid_dimensions(shape);
  }
  if (kind == "hidden_dynamic_lds_size") {
    return shape.dynamic_lds;
  }
  if (kind == "hidden_private_base") {
    return private_aperture >> 32;
  }
  if (kind == "hidden_shared_base") {
    return shared_aperture >> 32;
  }
  if (kind == "hidden_queue_ptr") {
    return queue;
  }
  if (!is_absent(kind)) {
    say_unknown_once(kind, kernel.name);
  }
  return 0;
}

}  // namespace

hipError_t fill_explicit_arguments(const Kernel& kernel, void** kernel_params, void** extra,
                                   KernargSegment& segment) {
  segment.bytes = kernel.kernarg_size;
  segment.words.assign((segment.bytes + 7) / 8 + 1, 0);
  if (kernel_params != nullptr && extra != nullptr) {
    return hipErrorInvalidValue;
  }
  size_t explicit_size = 0;
  size_t count = 0;
  for (const KernelArgument& argument : kernel.arguments) {
    if (!is_hidden(argument)) {
      if (!fits(argument, segment)) {
        say("kernel `%s`: argument %zu does not fit into the kernarg segment", kernel.name.c_str(), count);
        return hipErrorInvalidImage;
      }
      explicit_size = std::max(explicit_size, size_t{argument.offset} + argument.size);
      ++count;
    }
  }
  if (count == 0) {
    return hipSuccess;
  }
  if (extra != nullptr) {
    ExtraBuffer buffer;
    if (!read_extra(extra, buffer)) {
      return hipErrorInvalidValue;
    }
    if (*buffer.size < explicit_size) {
      say("kernel `%s`: the argument buffer has %zu bytes, its arguments need "
          "%zu",
          kernel.name.c_str(), *buffer.size, explicit_size);
      return hipErrorInvalidValue;
    }
    std::memcpy(segment.data(), buffer.data, explicit_size);
    return hipSuccess;
  }
  if (kernel_params == nullptr) {
    return hipErrorInvalidValue;
  }
  size_t index = 0;
  for (const KernelArgument& argument : kernel.arguments) {
    if (is_hidden(argument)) {
      continue;
    }
    const void* value = kernel_params[index++];
    if (value == nullptr) {
      return hipErrorInvalidValue;
    }
    if (!is_mapped(value, argument.size)) {  // the kernel has more arguments than the program gives, mostly
      say("kernel `%s`: its argument %zu points to no memory", kernel.name.c_str(), index - 1);
      return hipErrorInvalidValue;
    }
    std::memcpy(segment.data() + argument.offset, value, argument.size);
  }
  return hipSuccess;
}

void fill_hidden_arguments(const Kernel& kernel, const LaunchShape& shape, uint64_t queue,
                           KernargSegment& segment) {
  for (const KernelArgument& argument : kernel.arguments) {
    if (is_hidden(argument) && fits(argument, segment)) {
      put(argument, hidden_value(argument.value_kind, shape, queue, kernel), segment);
    }
  }
}

ArgumentCopy::ArgumentCopy(void** extra) : m_has_buffer(extra != nullptr) {
  ExtraBuffer buffer;
  if (m_has_buffer && read_extra(extra, buffer)) {
    m_buffer.assign(buffer.data, buffer.data + *buffer.size);
  }
}

ArgumentCopy& ArgumentCopy::operator=(const ArgumentCopy& other) {
  m_pointers.clear();
  m_buffer = other.m_buffer;
  m_has_buffer = other.m_has_buffer;
  return *this;
}

void** ArgumentCopy::kernel_params(const Kernel& kernel, KernargSegment& segment) {
  if (m_has_buffer) {
    return nullptr;
  }
  if (m_pointers.empty()) {
    for (const KernelArgument& argument : kernel.arguments) {
      if (!is_hidden(argument)) {
        m_pointers.push_back(segment.data() + argument.offset);
      }
    }
  }
  return m_pointers.data();
}

void** ArgumentCopy::extra() {
  if (!m_has_buffer) {
    return nullptr;
  }
  if (m_pointers.empty()) {
    m_buffer_size = m_buffer.size();
    m_pointers = {reinterpret_cast<void*>(HIP_LAUNCH_PARAM_BUFFER_POINTER), m_buffer.data(),
                  reinterpret_cast<void*>(HIP_LAUNCH_PARAM_BUFFER_SIZE), &m_buffer_size,
                  reinterpret_cast<void*>(HIP_LAUNCH_PARAM_END)};
  }
  return m_pointers.data();
}

}  // namespace ktrace::softdev::hip
