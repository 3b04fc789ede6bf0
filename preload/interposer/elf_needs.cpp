#include "elf_needs.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <string_view>

#include "file_descriptor.hpp"
#include "loader.hpp"

namespace ktrace {
namespace {

constexpr std::size_t most_files = 4096;

// A file's bytes; empty if there is no such file.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat facts{};
    if (file.get() < 0 || fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size == 0)
      return;
    const auto size = static_cast<std::size_t>(facts.st_size);
    void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (memory == MAP_FAILED) return;
    m_data = static_cast<const char*>(memory);
    m_size = size;
  }
  ~MappedFile() {
    if (m_data) munmap(const_cast<char*>(m_data), m_size);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  template <class T>
  bool read(std::uint64_t offset, T* value) const {
    if (offset > m_size || m_size - offset < sizeof(T)) return false;
    std::memcpy(value, m_data + offset, sizeof(T));
    return true;
  }
  std::string text(std::uint64_t offset) const {
    if (offset >= m_size) return "";
    return std::string(m_data + offset, strnlen(m_data + offset, m_size - offset));
  }
  std::size_t find(std::string_view bytes) const { return std::string_view(m_data, m_size).find(bytes); }

 private:
  const char* m_data = nullptr;
  std::size_t m_size = 0;
};

struct Dynamic {
  bool is_library = false;
  std::vector<std::string> needed;
  std::string run_path;  // DT_RUNPATH or DT_RPATH
};

std::uint64_t offset_of(const std::vector<Elf64_Phdr>& segments, std::uint64_t address) {
  for (const Elf64_Phdr& segment : segments)
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz)
      return address - segment.p_vaddr + segment.p_offset;
  return ~std::uint64_t{0};
}

std::vector<Elf64_Phdr> segments_of(const MappedFile& file) {
  Elf64_Ehdr header;
  if (!file.read(0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  for (std::size_t i = 0; i < segments.size(); ++i)
    if (!file.read(header.e_phoff + i * sizeof(Elf64_Phdr), &segments[i])) return {};
  return segments;
}

Dynamic dynamic_of(const std::string& path) {
  const MappedFile file(path);
  const std::vector<Elf64_Phdr> segments = segments_of(file);
  Dynamic found;
  std::vector<std::uint64_t> needed, run_paths;
  std::uint64_t strings = ~std::uint64_t{0};
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    found.is_library = true;
    Elf64_Dyn entry;
    for (std::uint64_t at = segment.p_offset; file.read(at, &entry) && entry.d_tag != DT_NULL;
         at += sizeof entry) {
      if (entry.d_tag == DT_NEEDED) needed.push_back(entry.d_un.d_val);
      if (entry.d_tag == DT_RUNPATH || entry.d_tag == DT_RPATH) run_paths.push_back(entry.d_un.d_val);
      if (entry.d_tag == DT_STRTAB) strings = offset_of(segments, entry.d_un.d_ptr);
    }
  }
  for (const std::uint64_t name : needed) found.needed.push_back(file.text(strings + name));
  for (const std::uint64_t name : run_paths) found.run_path += ":" + file.text(strings + name);
  return found;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == path.npos ? "." : path.substr(0, slash);
}

// $ORIGIN is the folder of the library that says it.
std::string expand(std::string path, const std::string& origin) {
  for (const char* token : {"${ORIGIN}", "$ORIGIN"})
    for (std::size_t at; (at = path.find(token)) != path.npos;) path.replace(at, std::strlen(token), origin);
  return path;
}

std::vector<std::string> split_paths(const std::string& list, const std::string& origin) {
  std::vector<std::string> paths;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    if (end > begin) paths.push_back(expand(list.substr(begin, end - begin), origin));
    begin = end + 1;
  }
  return paths;
}

// Where the loader looks for what the caller opens: run paths, LD_LIBRARY_PATH, the system's folders.
std::vector<std::string> search_path_of(const void* caller) {
  const std::string path = object_path(caller);
  void* handle = real_dlopen()(path.empty() ? nullptr : path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) handle = real_dlopen()(nullptr, RTLD_LAZY);
  std::vector<std::string> folders;
  Dl_serinfo size;
  if (handle && dlinfo(handle, RTLD_DI_SERINFOSIZE, &size) == 0) {
    const std::unique_ptr<char[]> memory(new char[size.dls_size]);
    auto* info = reinterpret_cast<Dl_serinfo*>(memory.get());
    *info = size;
    if (dlinfo(handle, RTLD_DI_SERINFO, info) == 0)
      for (unsigned i = 0; i < info->dls_cnt; ++i) folders.emplace_back(info->dls_serpath[i].dls_name);
  }
  if (handle) dlclose(handle);
  return folders;
}

// The loader's list of the libraries in the system's folders.
std::string find_in_cache(const std::string& name) {
  struct Header {
    char magic[20];
    std::uint32_t count, string_size, unused[5];
  };
  struct Entry {
    std::int32_t flags;
    std::uint32_t name, path, system;
    std::uint64_t hardware;
  };
  const MappedFile file("/etc/ld.so.cache");
  const std::size_t begin = file.find("glibc-ld.so.cache1.1");
  Header header;
  if (begin == std::string::npos || !file.read(begin, &header)) return "";
  for (std::uint32_t i = 0; i < header.count; ++i) {
    Entry entry;
    if (!file.read(begin + sizeof header + i * sizeof entry, &entry)) return "";
    if (file.text(begin + entry.name) == name) return file.text(begin + entry.path);
  }
  return "";
}

bool is_file(const std::string& path) {
  struct stat facts{};
  return stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

class Search {
 public:
  explicit Search(const void* caller) : m_folders(search_path_of(caller)) {}

  void follow(const std::string& name, const std::vector<std::string>& run_path) {
    if (is_hip_library(name)) m_needs.has_hip = true;
    if (m_needs.has_hip || !m_names.insert(name).second || m_names.size() > most_files) return;
    const std::string path = find_file(name, run_path);
    const Dynamic dynamic = path.empty() ? Dynamic{} : dynamic_of(path);
    if (!dynamic.is_library) {
      m_needs.is_known = false;
      return;
    }
    m_needs.files.push_back(path);
    const std::vector<std::string> own = split_paths(dynamic.run_path, folder_of(path));
    for (const std::string& needed : dynamic.needed) follow(needed, own);
  }

  Needs take() { return std::move(m_needs); }

 private:
  std::string find_file(const std::string& name, const std::vector<std::string>& run_path) const {
    if (name.find('/') != name.npos) return is_file(name) ? name : "";
    for (const auto* folders : {&run_path, &m_folders})
      for (const std::string& folder : *folders)
        if (const std::string path = folder + "/" + name; is_file(path)) return path;
    const std::string cached = find_in_cache(name);
    return !cached.empty() ? cached : path_of_loaded(name);
  }

  const std::vector<std::string> m_folders;
  std::set<std::string> m_names;
  Needs m_needs;
};

}  // namespace

Needs find_needs(const std::string& name, const void* caller) {
  Search search(caller);
  search.follow(expand(name, folder_of(object_path(caller))), {});
  return search.take();
}

}  // namespace ktrace
