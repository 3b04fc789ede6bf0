#include "image_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "bundle.hpp"
#include "decompress.hpp"
#include "elf_image.hpp"

namespace ktrace {
namespace {

constexpr std::size_t most_pages_at_once = std::size_t{1} << 16;
constexpr std::size_t largest_bundle_header = std::size_t{1} << 20;
constexpr std::size_t stream_overhead = std::size_t{1} << 16;  // of data that does not compress, at least

bool are_mapped(std::uintptr_t page, std::size_t pages, std::size_t page_size) {
  std::vector<unsigned char> residency(std::min(pages, most_pages_at_once));
  for (std::size_t done = 0; done < pages; done += most_pages_at_once) {
    const std::size_t count = std::min(pages - done, most_pages_at_once);
    void* const begin = reinterpret_cast<void*>(page + done * page_size);
    if (mincore(begin, count * page_size, residency.data()) != 0) return false;
  }
  return true;
}

Bytes mapped(const std::uint8_t* begin, std::uint64_t wanted) {
  return {begin, mapped_size(begin, static_cast<std::size_t>(wanted))};
}

std::uint64_t size_of_elf(const std::uint8_t* begin) {
  Elf64_Ehdr header;
  if (!mapped(begin, sizeof header).read(0, &header)) return 0;
  return ElfImage::size_of(
      mapped(begin, std::max<std::uint64_t>(ElfImage::end_of_tables(header), sizeof header)));
}

// The first version's header does not say how long its stream is: the stream does.
std::uint64_t size_of_compressed(const std::uint8_t* begin, std::string* trouble) {
  CompressedHeader header;
  if (!read_compressed_header(mapped(begin, 64), &header, trouble)) return 0;
  if (header.total_size) return header.total_size;
  const std::uint64_t longest = header.content_size + header.content_size / 64 + stream_overhead;
  std::vector<std::uint8_t> content;
  std::uint64_t used = 0;
  *trouble = decompress(header.method, mapped(begin, header.header_size + longest).from(header.header_size),
                        header.content_size, &content, &used);
  return trouble->empty() ? header.header_size + used : 0;
}

}  // namespace

std::size_t mapped_size(const void* begin, std::size_t wanted) {
  const auto page_size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  wanted = std::min<std::size_t>(wanted, ~std::uintptr_t{0} - address - page_size);
  const std::uintptr_t page = address & ~(page_size - 1);
  const std::size_t before = address - page;
  std::size_t pages = (before + wanted + page_size - 1) / page_size;
  if (wanted == 0 || are_mapped(page, pages, page_size)) return wanted;
  std::size_t good = 0;
  while (pages - good > 1) {
    const std::size_t middle = good + (pages - good) / 2;
    (are_mapped(page, middle, page_size) ? good : pages) = middle;
  }
  return good == 0 ? 0 : good * page_size - before;
}

Bytes image_at(const void* address, std::string* trouble) {
  const auto* begin = static_cast<const std::uint8_t*>(address);
  const Bytes head = begin ? mapped(begin, 24) : Bytes{};
  std::uint64_t size = 0;
  if (head.starts_with(ELFMAG, SELFMAG))
    size = size_of_elf(begin);
  else if (is_bundle(head))
    size = claimed_size_of_bundle(mapped(begin, largest_bundle_header));
  else if (is_compressed_bundle(head))
    size = size_of_compressed(begin, trouble);
  if (size == 0) {
    if (trouble->empty())
      *trouble = is_bundle(head) ? "its bundle's header is damaged" : "it is of no kind that ktrace can read";
    return {};
  }
  const Bytes image = mapped(begin, size);
  if (image.size == size) return image;
  *trouble = "it says that it has " + std::to_string(size) + " bytes; its memory ends after " +
             std::to_string(image.size);
  return {};
}

std::uint64_t content_size_of(Bytes image) {
  CompressedHeader header;
  std::string ignored;
  if (!is_compressed_bundle(image)) return image.size;
  return read_compressed_header(image, &header, &ignored) ? header.content_size : 0;
}

}  // namespace ktrace
