#include "registry.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <mutex>
#include <utility>

#include "fat_binary.hpp"
#include "file_descriptor.hpp"
#include "fork_lock.hpp"
#include "image_memory.hpp"
#include "target.hpp"

namespace ktrace {
namespace {

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

}  // namespace

const Kernel* FunctionBuilds::pick(const std::string& device) const {
  const Build* best = nullptr;
  for (const Build& build : builds) {
    if (!is_target_for(build.target, device)) continue;
    // HIP prefers a build for the processor itself to a generic one.
    const bool is_better =
        best && is_exact_target_for(build.target, device) && !is_exact_target_for(best->target, device);
    if (!best || is_better) best = &build;
  }
  return best ? best->kernel : nullptr;
}

Registry::Registry(Status* status, LossBook* losses)
    : m_status(status),
      m_losses(losses),
      m_store(status, losses),
      m_tap(&m_store),
      m_late_budget(most_bytes_read_late) {}

const FunctionBuilds* Registry::intern_builds(FunctionBuilds builds) {
  auto& known = m_builds[builds.builds];
  if (!known) known = std::make_unique<FunctionBuilds>(std::move(builds));
  return known.get();
}

FoundFunction Registry::find_in(const StoredImage& image, const std::string& name) {
  FunctionBuilds builds;
  bool is_annotated = false;
  for (const StoredObject& object : image.objects) {
    const Kernel* kernel = object.code_object ? object.code_object->find_kernel(name) : nullptr;
    builds.builds.push_back({object.target, kernel});
    is_annotated |= kernel != nullptr;
  }
  bool is_complete = !image.objects.empty();
  if (image.is_open) {
    const CodeObjectTap::Found made = m_tap.find(name);
    is_complete = made.is_known;
    if (made.is_known) builds.builds.push_back({made.target, made.kernel});
    is_annotated |= made.kernel != nullptr;
  }
  if (is_annotated) return {true, intern_builds(std::move(builds))};
  return {is_complete, nullptr};
}

FoundFunction Registry::find_tapped(const std::string& name) {
  const CodeObjectTap::Found found = m_tap.find(name);
  if (!found.kernel) return {found.is_known, nullptr};
  const std::unique_lock lock(m_mutex);
  return {true, intern_builds({{{found.target, found.kernel}}})};
}

void Registry::count_unread_archive() {
  if (m_has_unread_archive && m_has_unread_archive.exchange(false))
    m_store.count_unreadable("a kpack archive", "only HIP reads it, and what HIP took from it was not seen");
}

void Registry::insert_module(const void* module, StoredImage image) {
  const std::unique_lock lock(m_mutex);
  drop_module(module);
  m_modules[module] = {std::move(image), {}, nullptr};
}

void Registry::add_module(const void* module, const void* address) {
  constexpr char origin[] = "a code object in memory";
  StoredImage stored;
  const FatBinaryWrapper wrapper = unwrap(address);
  if (wrapper.is_archive) {
    stored.is_open = true;
    m_has_unread_archive = true;
  } else {
    std::string trouble;
    const Bytes image = image_at(wrapper.image, &trouble);
    if (image.size > 0)
      stored = m_store.read(image, origin);
    else
      m_store.count_unreadable(origin, trouble);
  }
  insert_module(module, std::move(stored));
}

void Registry::add_module_file(const void* module, const std::string& path) {
  const MappedFile file(path);
  StoredImage stored;
  if (file.bytes().size > 0)
    stored = m_store.read(file.bytes(), path);
  else
    m_store.count_unreadable(path, "it is empty, or ktrace cannot open it");
  insert_module(module, std::move(stored));
}

void Registry::add_module_of_library(const void* module, const void* library) {
  const std::unique_lock lock(m_mutex);
  const auto found = m_modules.find(library);
  if (module == library || found == m_modules.end() || m_modules.count(module)) return;
  Module added{found->second.image, {}, library};
  m_modules[module] = std::move(added);
}

void Registry::erase_function(const void* function, const void* owner) {
  const auto found = m_functions.find(function);
  if (found != m_functions.end() && found->second.owner == owner) m_functions.erase(found);
}

void Registry::drop_module(const void* module) {
  const auto found = m_modules.find(module);
  if (found == m_modules.end()) return;
  for (const void* function : found->second.functions) erase_function(function, module);
  m_modules.erase(found);
}

void Registry::drop_modules_of_library(const void* library) {
  std::vector<const void*> modules;
  for (const auto& [handle, module] : m_modules)
    if (module.library == library) modules.push_back(handle);
  for (const void* module : modules) drop_module(module);
}

Registry::TakenModule Registry::take_module(const void* module) {
  const std::unique_lock lock(m_mutex);
  TakenModule taken;
  const auto found = m_modules.find(module);
  if (found == m_modules.end()) return taken;
  taken.handle = module;
  for (const void* function : found->second.functions) {
    const auto known = m_functions.find(function);
    if (known != m_functions.end() && known->second.owner == module)
      taken.functions.emplace_back(function, known->second.found);
  }
  taken.module = found->second;
  drop_module(module);
  drop_modules_of_library(module);
  return taken;
}

void Registry::put_back(TakenModule taken) {
  if (!taken.handle) return;
  const std::unique_lock lock(m_mutex);
  if (!m_modules.emplace(taken.handle, std::move(taken.module)).second) return;
  for (const auto& [function, found] : taken.functions)
    m_functions.emplace(function, Function{found, taken.handle});
}

void Registry::add_function(const void* module, const void* function, const std::string& name) {
  const std::unique_lock lock(m_mutex);
  const auto found = m_modules.find(module);
  if (found == m_modules.end()) {
    m_functions.erase(function);  // of a module whose end was not seen
    return;
  }
  const auto known = m_functions.find(function);
  // HIP answers the same handle every time.
  if (known != m_functions.end() && known->second.owner == module && known->second.found.is_known) return;
  found->second.functions.insert(function);
  m_functions[function] = {find_in(found->second.image, name), module};
}

void Registry::add_function_of_kernel(const void* function, const void* kernel) {
  const std::unique_lock lock(m_mutex);
  if (function == kernel) return;
  const auto found = m_functions.find(kernel);
  if (found == m_functions.end()) {
    m_functions.erase(function);
    return;
  }
  const Function same = found->second;
  m_functions[function] = same;
  const auto module = m_modules.find(same.owner);
  if (module != m_modules.end()) module->second.functions.insert(function);
}

FoundFunction Registry::find_function(const void* function) const {
  const std::shared_lock lock(m_mutex);
  const auto found = m_functions.find(function);
  return found == m_functions.end() ? FoundFunction{} : found->second.found;
}

void Registry::lock_for_fork() {
  m_mutex.lock();
  m_tap.lock_for_fork();
  m_store.lock_for_fork();
}

void Registry::unlock_in_parent() {
  m_store.unlock_after_fork();
  m_tap.unlock_after_fork();
  m_mutex.unlock();
}

void Registry::renew_lock_in_child() {
  m_store.unlock_after_fork();
  m_tap.unlock_after_fork();
  renew_in_child(m_mutex);
}

}  // namespace ktrace
