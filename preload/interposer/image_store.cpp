#include "image_store.hpp"

#include "content_hash.hpp"

namespace ktrace {

StoredImage ImageStore::read(Bytes image, const std::string& origin) {
  StoredImage stored;
  const Unbundled unbundled = unbundle(image);
  if (!unbundled.trouble.empty()) count_unreadable(origin, unbundled.trouble);
  stored.is_open = unbundled.has_intermediate_code;
  for (const BundleEntry& entry : unbundled.entries) {
    StoredObject object = read_code_object(entry.code_object, origin);
    if (!entry.target.empty()) object.target = entry.target;
    stored.objects.push_back(std::move(object));
  }
  return stored;
}

StoredObject ImageStore::read_code_object(Bytes file, const std::string& origin) {
  const Glance glance = glance_at(file);
  if (glance.needs_reading) {
    const CodeObject* object = intern(file, origin);
    return {object->target, object->kernels.empty() ? nullptr : object};
  }
  const std::lock_guard lock(m_mutex);
  if (m_plain.insert({file.size, glance.fingerprint}).second) m_status->add_code_object(0);
  return {glance.target, nullptr};
}

const CodeObject* ImageStore::intern(Bytes file, const std::string& origin) {
  const ContentKey key{file.size, content_hash(file)};
  {
    const std::lock_guard lock(m_mutex);
    const auto known = m_code_objects.find(key);
    if (known != m_code_objects.end()) return known->second.get();
  }
  std::unique_ptr<CodeObject> object = ktrace::read_code_object(file);
  const std::lock_guard lock(m_mutex);
  const auto [entry, is_new] = m_code_objects.emplace(key, std::move(object));
  const CodeObject& added = *entry->second;
  if (is_new) {
    m_status->add_code_object(added.kernels.size());
    if (!added.trouble.empty()) count_unreadable(origin, added.trouble);
  }
  return &added;
}

void ImageStore::count_unreadable(const std::string& origin, const std::string& trouble) {
  m_losses->add(KTRACE_LOSS_CODE_OBJECT, "", origin + ": " + trouble);
}

}  // namespace ktrace
