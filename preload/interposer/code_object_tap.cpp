#include "code_object_tap.hpp"

#include "content_hash.hpp"
#include "kernel_code.hpp"

namespace ktrace {
namespace {

constexpr std::size_t most_names = std::size_t{1} << 20;  // some 64 MiB

std::uint64_t key_of(const std::string& name) {
  return content_hash({reinterpret_cast<const std::uint8_t*>(name.data()), name.size()});
}

}  // namespace

void CodeObjectTap::add(Bytes code_object) {
  const StoredObject stored = m_store->read_code_object(code_object, "a code object that HIP made");
  const std::lock_guard lock(m_mutex);
  for (const std::string& name : kernel_names(code_object)) {
    const Kernel* kernel = stored.code_object ? stored.code_object->find_kernel(name) : nullptr;
    add_name(name, {kernel, stored.target, false});
    // HIP may call a kernel by either name.
    if (kernel && kernel->metadata.name != name)
      add_name(kernel->metadata.name, {kernel, stored.target, false});
  }
}

void CodeObjectTap::add_name(const std::string& name, Named named) {
  if (m_named.size() >= most_names) m_is_full = true;
  if (m_is_full) return;
  const auto [known, is_new] = m_named.emplace(key_of(name), named);
  if (!is_new && known->second.kernel != named.kernel) known->second.is_ambiguous = true;
}

bool CodeObjectTap::is_empty() const {
  const std::lock_guard lock(m_mutex);
  return m_named.empty();
}

CodeObjectTap::Found CodeObjectTap::find(const std::string& name) const {
  const std::lock_guard lock(m_mutex);
  const auto found = m_named.find(key_of(name));
  if (m_is_full || found == m_named.end() || found->second.is_ambiguous) return {};
  return {true, found->second.kernel, found->second.target};
}

}  // namespace ktrace
