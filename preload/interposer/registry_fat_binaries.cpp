// What programs and libraries register before main, by their host functions.
#include <algorithm>
#include <mutex>
#include <utility>

#include "fat_binary.hpp"
#include "image_memory.hpp"
#include "loader.hpp"
#include "registry.hpp"

namespace ktrace {
namespace {

// Fat binaries up to this size are read when they are registered, so that a program which launches nothing
// can be told what it has. Larger ones wait for their first launch: reading them costs start-up time.
constexpr std::size_t read_at_once = std::size_t{4} << 20;

// Which file, where that is known.
std::string origin_of(const void* image) {
  const std::string path = object_path(image);
  return path.empty() ? "a fat binary" : "a fat binary of " + path;
}

}  // namespace

void Registry::add_fat_binary(const void* handle, const void* wrapper_address) {
  const FatBinaryWrapper wrapper = unwrap(wrapper_address);
  if (!wrapper.is_known)
    return m_store.count_unreadable(origin_of(wrapper_address), "it is of no kind that ktrace can read");
  std::string ignored;
  const Bytes image = image_at(wrapper.image, &ignored);
  FatBinary fat_binary;
  fat_binary.image = wrapper.image;
  fat_binary.content.is_open = wrapper.is_archive;
  fat_binary.is_read = wrapper.is_archive;
  fat_binary.is_counted_unread =
      wrapper.is_archive || is_compressed_bundle(image) || image.size > read_at_once;
  const bool is_put_off = fat_binary.is_counted_unread;
  if (wrapper.is_archive) m_has_unread_archive = true;
  {
    const std::unique_lock lock(m_mutex);
    drop_fat_binary(handle);
    fat_binary.serial = ++m_fat_binary_count;
    m_fat_binaries[handle] = std::move(fat_binary);
  }
  if (is_put_off)
    m_status->add_unread_fat_binary();
  else
    read_fat_binary(handle);
}

void Registry::read_fat_binary(const void* handle) {
  const void* address = nullptr;
  std::uint64_t serial = 0;
  {
    const std::shared_lock lock(m_mutex);
    const auto found = m_fat_binaries.find(handle);
    if (found == m_fat_binaries.end() || found->second.is_read) return;
    address = found->second.image;
    serial = found->second.serial;
  }
  std::string trouble;
  StoredImage content;
  const Bytes image = image_at(address, &trouble);
  if (image.size > 0)
    content = m_store.read(image, origin_of(address));
  else
    m_store.count_unreadable(origin_of(address), trouble);
  const std::unique_lock lock(m_mutex);
  const auto found = m_fat_binaries.find(handle);
  if (found == m_fat_binaries.end() || found->second.serial != serial || found->second.is_read) return;
  FatBinary& fat_binary = found->second;
  fat_binary.content = std::move(content);
  fat_binary.is_read = true;
  if (std::exchange(fat_binary.is_counted_unread, false)) m_status->remove_unread_fat_binary();
}

void Registry::read_late(const void* handle) {
  {
    const std::unique_lock lock(m_mutex);
    const auto found = m_fat_binaries.find(handle);
    if (found == m_fat_binaries.end() || !found->second.is_counted_unread || !found->second.image) return;
    std::string ignored;
    const std::uint64_t size = content_size_of(image_at(found->second.image, &ignored));
    if (size == 0 || size > m_late_budget || m_status->counts().annotated_launches > 0) return;
    m_late_budget -= size;
  }
  read_fat_binary(handle);
}

void Registry::read_unread() {
  std::vector<const void*> handles;
  {
    const std::shared_lock lock(m_mutex);
    // Elsewhere, the program may have freed the memory by now.
    for (const auto& [handle, fat_binary] : m_fat_binaries)
      if (fat_binary.image && is_in_loaded_object(fat_binary.image)) handles.push_back(handle);
  }
  for (const void* handle : handles) read_late(handle);
}

// Most programs unregister their own at exit, before this library's turn comes to close the session.
void Registry::remove_fat_binary(const void* handle) {
  read_late(handle);
  const std::unique_lock lock(m_mutex);
  drop_fat_binary(handle);
}

void Registry::drop_fat_binary(const void* handle) {
  const auto found = m_fat_binaries.find(handle);
  if (found == m_fat_binaries.end()) return;
  for (const void* host_function : found->second.host_functions) m_host_functions.erase(host_function);
  for (const void* function : found->second.functions) erase_function(function, handle);
  m_fat_binaries.erase(found);
}

void Registry::add_host_function(const void* handle, const void* host_function, const std::string& name) {
  const std::unique_lock lock(m_mutex);
  const auto found = m_fat_binaries.find(handle);
  if (found == m_fat_binaries.end()) return;
  // HIP keeps the first registration, too.
  if (m_host_functions.emplace(host_function, HostFunction{handle, name, false, {}}).second)
    found->second.host_functions.push_back(host_function);
}

void Registry::add_alias(const void* function, const void* host_function) {
  const FoundFunction known = find_host_function(host_function);
  const std::unique_lock lock(m_mutex);
  const auto host = m_host_functions.find(host_function);
  if (host == m_host_functions.end()) {
    m_functions.erase(function);
    return;
  }
  const void* const handle = host->second.handle;
  const auto fat_binary = m_fat_binaries.find(handle);
  if (fat_binary == m_fat_binaries.end()) return;
  const auto before = m_functions.find(function);
  if (before == m_functions.end() || before->second.owner != handle)
    fat_binary->second.functions.push_back(function);
  m_functions[function] = {known, handle};
}

FoundFunction Registry::find_host_function(const void* host_function) {
  const void* handle = nullptr;
  {
    const std::shared_lock lock(m_mutex);
    const auto found = m_host_functions.find(host_function);
    if (found == m_host_functions.end()) return {};
    if (found->second.is_resolved) return found->second.found;
    handle = found->second.handle;
  }
  read_fat_binary(handle);
  const std::unique_lock lock(m_mutex);
  const auto found = m_host_functions.find(host_function);
  const auto fat_binary = m_fat_binaries.find(handle);
  if (found == m_host_functions.end() || fat_binary == m_fat_binaries.end()) return {};
  HostFunction& host = found->second;
  if (!host.is_resolved) {
    host.found = find_in(fat_binary->second.content, host.name);
    // HIP makes the code at the first launch, which is still to come.
    host.is_resolved = host.found.is_known || !fat_binary->second.content.is_open;
  }
  return host.found;
}

}  // namespace ktrace
