#include "arguments.hpp"

#include <algorithm>
#include <cstring>

#include "hip.hpp"

namespace ktrace {

bool LaunchArguments::insert(const Kernel& kernel, std::uint64_t buffer, std::string* trouble) {
  m_buffer = buffer;
  if (m_params && m_extra) return *trouble = "it was launched with both kinds of argument list", false;
  if (m_extra) return insert_into_extra(kernel, trouble);
  const bool has_only_ours = kernel.metadata.arguments.size() == 1;
  if (!m_params && !has_only_ours) return *trouble = "it was launched without an argument list", false;
  insert_into_params(kernel);
  return true;
}

// Slots after the trace argument exist only if the host passes a placeholder for it: reading further would be
// reading memory that the host never wrote.
void LaunchArguments::insert_into_params(const Kernel& kernel) {
  const std::size_t count = kernel.metadata.arguments.size();
  m_own_params.assign(count, nullptr);
  for (std::size_t i = 0; m_params && i < count; ++i)
    if (i != kernel.trace_index) m_own_params[i] = m_params[i];
  m_own_params[kernel.trace_index] = &m_buffer;
  m_params = m_own_params.data();
}

bool LaunchArguments::insert_into_extra(const Kernel& kernel, std::string* trouble) {
  // HIP itself takes no other order.
  if (m_extra[0] != extra_buffer_pointer || m_extra[2] != extra_buffer_size || m_extra[4] != extra_end ||
      !m_extra[1] || !m_extra[3])
    return *trouble = "the tags of its argument buffer are not pointer, size, end", false;
  std::size_t size = 0;
  std::memcpy(&size, m_extra[3], sizeof size);
  const std::size_t end = std::size_t{kernel.trace_offset} + sizeof m_buffer;
  for (std::size_t i = 0; i < kernel.metadata.arguments.size(); ++i) {
    const KernelArgument& argument = kernel.metadata.arguments[i];
    if (i != kernel.trace_index && std::size_t{argument.offset} + argument.size > size)
      return *trouble =
                 "its argument buffer has " + std::to_string(size) + " bytes and ends before its arguments",
             false;
  }
  m_own_segment.assign(std::max(size, end), 0);
  std::memcpy(m_own_segment.data(), m_extra[1], size);
  std::memcpy(m_own_segment.data() + kernel.trace_offset, &m_buffer, sizeof m_buffer);
  m_own_size = m_own_segment.size();
  m_offset = kernel.trace_offset;
  m_own_extra[0] = extra_buffer_pointer;
  m_own_extra[1] = m_own_segment.data();
  m_own_extra[2] = extra_buffer_size;
  m_own_extra[3] = &m_own_size;
  m_own_extra[4] = extra_end;
  m_extra = m_own_extra;
  return true;
}

void LaunchArguments::set_buffer(std::uint64_t buffer) {
  m_buffer = buffer;
  if (!m_own_segment.empty()) std::memcpy(m_own_segment.data() + m_offset, &buffer, sizeof buffer);
}

std::uint64_t LaunchArguments::given_buffer(const Kernel& kernel) const {
  std::uint64_t buffer = 0;
  if (m_params && !m_extra && m_params[kernel.trace_index]) {
    std::memcpy(&buffer, m_params[kernel.trace_index], sizeof buffer);
  } else if (m_extra && !m_params && m_extra[0] == extra_buffer_pointer && m_extra[1] &&
             m_extra[2] == extra_buffer_size && m_extra[3]) {
    std::size_t size = 0;
    std::memcpy(&size, m_extra[3], sizeof size);
    if (size >= kernel.trace_offset + sizeof buffer)
      std::memcpy(&buffer, static_cast<const std::uint8_t*>(m_extra[1]) + kernel.trace_offset, sizeof buffer);
  }
  return buffer;
}

void LaunchArguments::insert_null(const Kernel& kernel) {
  const bool is_inserted = (m_params && m_params == m_own_params.data()) || m_extra == m_own_extra;
  if (is_inserted || kernel.has_placeholder() || kernel.refusal != 0) return;
  std::string ignored;
  insert(kernel, 0, &ignored);
}

}  // namespace ktrace
