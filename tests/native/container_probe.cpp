// Reads a file the way the interposer reads images and prints what it finds, for
// test_interposer_containers.py. Built with -DKTRACE_FUZZER and -fsanitize=fuzzer it is a fuzz target
// instead.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bundle.hpp"
#include "code_object.hpp"
#include "image_memory.hpp"
#include "target.hpp"

namespace {

using namespace ktrace;
using Arguments = std::vector<std::string>;
using File = std::vector<std::uint8_t>;

// On the heap and of exactly that size, so that the sanitizer sees any look past the end.
void read_quietly(const std::uint8_t* bytes, std::size_t size) {
  const auto copy = std::make_unique<std::uint8_t[]>(size);
  std::copy(bytes, bytes + size, copy.get());
  for (const BundleEntry& entry : unbundle({copy.get(), size}).entries) {
    glance_at(entry.code_object);
    kernel_names(entry.code_object);
    read_code_object(entry.code_object);
  }
}

[[maybe_unused]] File read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

[[maybe_unused]] std::uint64_t number(const std::string& text) {
  return std::strtoull(text.c_str(), nullptr, 0);
}

// In memory that ends with the last byte: the next one is a fault, sanitizer or not.
class GuardedCopy {
 public:
  explicit GuardedCopy(const File& file) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t pages = (file.size() + page - 1) / page;
    m_size = (pages + 1) * page;
    m_memory = static_cast<std::uint8_t*>(
        mmap(nullptr, m_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    munmap(m_memory + pages * page, page);
    m_size = pages * page;
    m_image = m_memory + m_size - file.size();
    std::copy(file.begin(), file.end(), m_image);
  }
  ~GuardedCopy() { munmap(m_memory, m_size); }
  GuardedCopy(const GuardedCopy&) = delete;
  GuardedCopy& operator=(const GuardedCopy&) = delete;
  const std::uint8_t* image() const { return m_image; }

 private:
  std::uint8_t* m_memory;
  std::uint8_t* m_image;
  std::size_t m_size;
};

void print_code_object(const BundleEntry& entry) {
  const Glance glance = glance_at(entry.code_object);
  const auto object = read_code_object(entry.code_object);
  std::printf("object|%s|%s|%s|%s\n", entry.target.c_str(), object->target.c_str(),
              glance.needs_reading ? "read" : "plain", object->trouble.c_str());
  for (const auto& kernel : object->kernels)
    std::printf("kernel|%s|%s|%u|%u|%u|%s\n", kernel->metadata.name.c_str(), kernel->metadata.symbol.c_str(),
                kernel->trace_index, kernel->trace_offset, kernel->refusal, kernel->refusal_words.c_str());
}

// By its size, as a file is read.
[[maybe_unused]] void code(const Arguments& arguments) {
  const File file = read_file(arguments[0]);
  const Unbundled unbundled = unbundle({file.data(), file.size()});
  std::printf("container|%s%s\n", unbundled.trouble.c_str(),
              unbundled.has_intermediate_code ? "intermediate" : "");
  for (const BundleEntry& entry : unbundled.entries) print_code_object(entry);
}

// By its address alone, as what is registered or loaded from memory is read. `at N`: cut after N bytes.
[[maybe_unused]] void at(const Arguments& arguments) {
  File file = read_file(arguments[0]);
  if (arguments.size() > 1) file.resize(number(arguments[1]));
  const GuardedCopy copy(file);
  std::string trouble;
  const Bytes image = image_at(copy.image(), &trouble);
  std::printf("size %zu|%s\n", image.size, trouble.c_str());
  if (image.size == 0) return;
  for (const BundleEntry& entry : unbundle(image).entries) print_code_object(entry);
}

[[maybe_unused]] void names(const Arguments& arguments) {
  const File file = read_file(arguments[0]);
  for (const std::string& name : kernel_names({file.data(), file.size()})) std::printf("%s\n", name.c_str());
}

[[maybe_unused]] void is_for(const Arguments& arguments) {
  std::printf("%s%s\n", is_target_for(arguments[0], arguments[1]) ? "fits" : "no",
              is_exact_target_for(arguments[0], arguments[1]) ? " exactly" : "");
}

[[maybe_unused]] void target(const Arguments& arguments) {
  std::printf("%s\n", target_of_header(static_cast<std::uint32_t>(number(arguments[0])),
                                       static_cast<unsigned>(number(arguments[1])))
                          .c_str());
}

// Damage as files really have it: flipped bytes, counts of all ones, a cut, a piece twice.
void damage(File* file, std::mt19937_64& random) {
  const auto place = [&] { return static_cast<std::size_t>(random() % file->size()); };
  for (std::uint64_t left = 1 + random() % 6; left > 0 && !file->empty(); --left) {
    const std::size_t from = place();
    const std::size_t length = std::min<std::size_t>(1 + random() % 8, file->size() - from);
    switch (random() % 5) {
      case 0:
        (*file)[from] ^= static_cast<std::uint8_t>(1u << random() % 8);
        break;
      case 1:
        (*file)[from] = static_cast<std::uint8_t>(random());
        break;
      case 2:
        std::memset(file->data() + from, random() % 2 ? 0xff : 0, length);
        break;
      case 3:
        std::memmove(file->data() + from, file->data() + place() % (file->size() - length + 1), length);
        break;
      default:
        if (random() % 4 == 0) file->resize(from);
    }
  }
}

// `fuzz SEED ROUNDS FILE…`
[[maybe_unused]] void fuzz(const Arguments& arguments) {
  std::mt19937_64 random(number(arguments[0]));
  std::vector<File> files;
  for (std::size_t i = 2; i < arguments.size(); ++i) files.push_back(read_file(arguments[i]));
  const std::uint64_t rounds = number(arguments[1]);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    File file = files[random() % files.size()];
    damage(&file, random);
    read_quietly(file.data(), file.size());
    if (file.empty()) continue;
    const GuardedCopy copy(file);
    std::string trouble;
    const Bytes image = image_at(copy.image(), &trouble);
    read_quietly(image.data, image.size);
  }
  std::printf("read %llu\n", static_cast<unsigned long long>(rounds));
}

}  // namespace

#ifdef KTRACE_FUZZER
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_quietly(data, size);
  return 0;
}
#else
int main(int count, char** values) {
  const std::map<std::string, std::function<void(const Arguments&)> > commands = {
      {"code", code}, {"at", at}, {"names", names}, {"for", is_for}, {"target", target}, {"fuzz", fuzz}};
  commands.at(values[1])(Arguments(values + 2, values + count));
}
#endif
