#include "registry.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "bundle.hpp"
#include "file_descriptor.hpp"
#include "loader.hpp"

namespace ktrace {
namespace {

constexpr std::uint32_t fat_binary_magic = 0x48495046;  // "HIPF"
constexpr std::uint32_t kpack_magic = 0x4B504948;       // "HIPK"

// Fat binaries up to this size are read when they are registered, so that a program which launches nothing
// can be told what it has. Larger ones wait for their first launch: reading them costs start-up time.
constexpr std::size_t read_at_once = std::size_t{4} << 20;

// Of fat binaries that no launch needed: a good half of a second at the process's end.
constexpr std::uint64_t read_late_in_all = std::uint64_t{256} << 20;

struct Wrapper {
  std::uint32_t magic, version;
  const void* binary;
  const void* unused;
};

// Only told apart from other contents, never trusted with more: 64 bits and the size.
std::uint64_t content_hash(Bytes bytes) {
  std::uint64_t hash = 0x9e3779b97f4a7c15u ^ bytes.size;
  const auto mix = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  };
  std::size_t at = 0;
  for (; bytes.size - at >= 8; at += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data + at, 8);
    mix(word);
  }
  std::uint64_t tail = 0;
  if (at < bytes.size) std::memcpy(&tail, bytes.data + at, bytes.size - at);
  mix(tail);
  return hash;
}

class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info;
    if (!file.is_open() || fstat(file.get(), &info) != 0 || info.st_size <= 0) return;
    const auto size = static_cast<std::size_t>(info.st_size);
    void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (mapped != MAP_FAILED) m_bytes = {static_cast<const std::uint8_t*>(mapped), size};
  }
  ~MappedFile() {
    if (m_bytes.data) munmap(const_cast<std::uint8_t*>(m_bytes.data), m_bytes.size);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  Bytes bytes() const { return m_bytes; }

 private:
  Bytes m_bytes;
};

const void* image_of(const void* image) {
  Wrapper wrapper;
  std::memcpy(&wrapper.magic, image, sizeof wrapper.magic);
  if (wrapper.magic != fat_binary_magic) return image;
  std::memcpy(&wrapper, image, sizeof wrapper);
  return wrapper.binary;
}

Bytes bytes_of(const void* image) { return {static_cast<const std::uint8_t*>(image), size_of_image(image)}; }

}  // namespace

const Kernel* FunctionBuilds::pick(const std::string& device) const {
  const std::string processor = device.substr(0, device.find(':'));
  const Build* best = nullptr;
  for (const Build& build : builds) {
    if (!is_target_for(build.target, device)) continue;
    // HIP prefers a build for the processor itself to a generic one.
    const bool is_exact = build.target.compare(0, processor.size(), processor) == 0;
    if (!best || (is_exact && best->target.compare(0, processor.size(), processor) != 0)) best = &build;
  }
  return best ? best->kernel : nullptr;
}

Registry::Registry(Status* status, LossBook* losses)
    : m_status(status), m_losses(losses), m_late_budget(read_late_in_all) {}

const CodeObject* Registry::intern(Bytes file, const std::string& origin) {
  const ContentKey key{file.size, content_hash(file)};
  {
    const std::shared_lock lock(m_mutex);
    const auto known = m_code_objects.find(key);
    if (known != m_code_objects.end()) return known->second.get();
  }
  std::unique_ptr<CodeObject> object = read_code_object(file);
  const std::unique_lock lock(m_mutex);
  const auto [entry, is_new] = m_code_objects.emplace(key, std::move(object));
  if (is_new) {
    const CodeObject& added = *entry->second;
    m_status->add_code_object(added.kernels.size());
    if (!added.trouble.empty()) m_losses->add(KTRACE_LOSS_CODE_OBJECT, "", origin + ": " + added.trouble);
  }
  return entry->second.get();
}

Registry::Objects Registry::read_image(Bytes image, const std::string& origin) {
  Objects objects;
  if (image.size == 0) {
    m_losses->add(KTRACE_LOSS_CODE_OBJECT, "", origin + ": it is of no kind that ktrace can read");
    return objects;
  }
  const Unbundled unbundled = unbundle(image);
  if (!unbundled.trouble.empty())
    m_losses->add(KTRACE_LOSS_CODE_OBJECT, "", origin + ": " + unbundled.trouble);
  for (const BundleEntry& entry : unbundled.entries) {
    const CodeObject* object = intern(entry.code_object, origin);
    objects.push_back({entry.target.empty() ? object->target : entry.target, object});
  }
  return objects;
}

FoundFunction Registry::find_in(const Objects& objects, const std::string& name) {
  if (objects.empty()) return {};  // nothing could be read: nobody knows what is annotated
  auto builds = std::make_unique<FunctionBuilds>();
  bool is_annotated = false;
  for (const Object& object : objects) {
    builds->builds.push_back({object.target, object.code_object->find_kernel(name)});
    is_annotated |= builds->builds.back().kernel != nullptr;
  }
  if (!is_annotated) return {true, nullptr};
  m_builds.push_back(std::move(builds));
  return {true, m_builds.back().get()};
}

void Registry::insert_module(const void* module, Objects objects) {
  const std::unique_lock lock(m_mutex);
  m_modules[module] = {std::move(objects), {}};
}

void Registry::add_module(const void* module, Bytes image) {
  insert_module(module, read_image(image, "a code object in memory"));
}

void Registry::add_module(const void* module, const void* image) {
  add_module(module, bytes_of(image_of(image)));
}

void Registry::add_module_file(const void* module, const std::string& path) {
  const MappedFile file(path);
  insert_module(module, read_image(file.bytes(), path));
}

void Registry::remove_module(const void* module) {
  const std::unique_lock lock(m_mutex);
  const auto found = m_modules.find(module);
  if (found == m_modules.end()) return;
  for (const void* function : found->second.functions) m_functions.erase(function);
  m_modules.erase(found);
}

void Registry::add_function(const void* module, const void* function, const std::string& name) {
  const std::unique_lock lock(m_mutex);
  const auto found = m_modules.find(module);
  if (found == m_modules.end()) return;
  // HIP answers the same handle every time.
  if (!found->second.functions.insert(function).second) return;
  m_functions[function] = find_in(found->second.objects, name);
}

void Registry::add_function_of_kernel(const void* function, const void* kernel) {
  const std::unique_lock lock(m_mutex);
  const auto found = m_functions.find(kernel);
  if (function == kernel || found == m_functions.end()) return;
  m_functions[function] = FoundFunction(found->second);
  for (auto& [handle, module] : m_modules)
    if (module.functions.count(kernel)) module.functions.insert(function);
}

void Registry::add_fat_binary(const void* handle, const void* wrapper_address) {
  Wrapper wrapper;
  std::memcpy(&wrapper, wrapper_address, sizeof wrapper);
  if (wrapper.magic != fat_binary_magic) {
    m_losses->add(
        KTRACE_LOSS_CODE_OBJECT, "",
        wrapper.magic == kpack_magic ? "a kpack archive is not read yet" : "an unknown kind of fat binary");
    return;
  }
  const bool is_compressed = std::memcmp(wrapper.binary, "CCOB", 4) == 0;
  FatBinary fat_binary;
  fat_binary.image = wrapper.binary;
  fat_binary.is_counted_unread = is_compressed || size_of_image(wrapper.binary) > read_at_once;
  const bool is_put_off = fat_binary.is_counted_unread;
  {
    const std::unique_lock lock(m_mutex);
    m_fat_binaries[handle] = std::move(fat_binary);
  }
  if (is_put_off)
    m_status->add_unread_fat_binary();
  else
    read_fat_binary(handle);
}

void Registry::read_fat_binary(const void* handle) {
  const void* image = nullptr;
  {
    const std::unique_lock lock(m_mutex);
    const auto found = m_fat_binaries.find(handle);
    if (found == m_fat_binaries.end() || found->second.is_read) return;
    image = found->second.image;
  }
  Objects objects = read_image(bytes_of(image), "a fat binary");
  const std::unique_lock lock(m_mutex);
  FatBinary& fat_binary = m_fat_binaries[handle];
  fat_binary.objects = std::move(objects);
  fat_binary.is_read = true;
  if (std::exchange(fat_binary.is_counted_unread, false)) m_status->remove_unread_fat_binary();
}

void Registry::read_late(const void* handle) {
  {
    const std::unique_lock lock(m_mutex);
    const auto found = m_fat_binaries.find(handle);
    if (found == m_fat_binaries.end() || !found->second.is_counted_unread) return;
    const std::uint64_t size = content_size_of_image(found->second.image);
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
      if (is_in_loaded_object(fat_binary.image)) handles.push_back(handle);
  }
  for (const void* handle : handles) read_late(handle);
}

// Most programs unregister their own at exit, before this library's turn comes to close the session.
void Registry::remove_fat_binary(const void* handle) {
  read_late(handle);
  const std::unique_lock lock(m_mutex);
  const auto found = m_fat_binaries.find(handle);
  if (found == m_fat_binaries.end()) return;
  for (const void* host_function : found->second.host_functions) m_host_functions.erase(host_function);
  for (const void* function : found->second.functions) m_functions.erase(function);
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
  const auto found = m_host_functions.find(host_function);
  if (!known.is_known || found == m_host_functions.end()) return;
  const auto fat_binary = m_fat_binaries.find(found->second.handle);
  if (fat_binary == m_fat_binaries.end()) return;
  m_functions[function] = known;
  fat_binary->second.functions.push_back(function);
}

FoundFunction Registry::find_function(const void* function) const {
  const std::shared_lock lock(m_mutex);
  const auto found = m_functions.find(function);
  return found == m_functions.end() ? FoundFunction{} : found->second;
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
  if (!found->second.is_resolved) {
    found->second.found = find_in(fat_binary->second.objects, found->second.name);
    found->second.is_resolved = true;
  }
  return found->second.found;
}

}  // namespace ktrace
