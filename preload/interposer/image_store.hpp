// Every code object that the process has shown, by content: the same image again costs a hash, and one
// without annotations not even that of all its bytes. Calls no HIP function.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bundle.hpp"
#include "code_object.hpp"
#include "losses.hpp"
#include "status.hpp"

namespace ktrace {

// One code object of an image, for one target.
struct StoredObject {
  std::string target;
  const CodeObject* code_object;  // null: nothing in it is annotated
};

struct StoredImage {
  std::vector<StoredObject> objects;
  // Some of its kernels will come from machine code that HIP makes or fetches itself.
  bool is_open = false;
};

class ImageStore {
 public:
  ImageStore(Status* status, LossBook* losses) : m_status(status), m_losses(losses) {}
  ImageStore(const ImageStore&) = delete;
  ImageStore& operator=(const ImageStore&) = delete;

  // Reads whatever an image holds; `origin` is what to call it in messages. What cannot be read is counted.
  StoredImage read(Bytes image, const std::string& origin);
  // Null if nothing in the code object is annotated. Valid as long as the process runs.
  StoredObject read_code_object(Bytes file, const std::string& origin);
  void count_unreadable(const std::string& origin, const std::string& trouble);

  void lock_for_fork() { m_mutex.lock(); }
  void unlock_after_fork() { m_mutex.unlock(); }

 private:
  using ContentKey = std::pair<std::uint64_t, std::uint64_t>;  // size, hash

  const CodeObject* intern(Bytes file, const std::string& origin);

  Status* m_status;
  LossBook* m_losses;
  std::mutex m_mutex;
  // Never removed from: launches and the writer keep pointers into them.
  std::map<ContentKey, std::unique_ptr<CodeObject>> m_code_objects;
  std::set<ContentKey> m_plain;  // without annotations
};

}  // namespace ktrace
