#include "decompress.hpp"

#include <dlfcn.h>

#include "loader.hpp"

namespace ktrace {
namespace {

// A bundle that claims more is damaged: it would not fit beside the program in memory either.
constexpr std::uint64_t largest_content = std::uint64_t{1} << 32;
constexpr std::uint64_t best_zlib_ratio = 1032;      // of the deflate format
constexpr std::uint64_t best_zstd_ratio = 1u << 16;  // a block of 128 KiB takes at least 4 bytes

// Loaded when a compressed bundle is met, and never linked: the program may bring its own copies.
template <class Function>
Function function_of(void* library, const char* name) {
  return reinterpret_cast<Function>(library && real_dlsym() ? real_dlsym()(library, name) : nullptr);
}

void* open_library(const char* name) {
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) dlerror();  // ours, and the application may ask for its own
  return library;
}

std::string decompress_zstd(Bytes stream, std::uint64_t content_size, std::vector<std::uint8_t>* content,
                            std::uint64_t* used) {
  using Decompress = std::size_t (*)(void*, std::size_t, const void*, std::size_t);
  using IsError = unsigned (*)(std::size_t);
  using FrameSize = std::size_t (*)(const void*, std::size_t);
  using ContentSize = unsigned long long (*)(const void*, std::size_t);
  static void* const library = open_library("libzstd.so.1");
  const auto run = function_of<Decompress>(library, "ZSTD_decompress");
  const auto is_error = function_of<IsError>(library, "ZSTD_isError");
  const auto frame_size = function_of<FrameSize>(library, "ZSTD_findFrameCompressedSize");
  const auto frame_content = function_of<ContentSize>(library, "ZSTD_getFrameContentSize");
  if (!run || !is_error || !frame_size || !frame_content)
    return "a bundle compressed with zstd, but there is no libzstd.so.1";
  const std::size_t size = frame_size(stream.data, stream.size);
  // Two sizes that must agree, before so much memory is taken.
  if (is_error(size) || frame_content(stream.data, stream.size) != content_size ||
      content_size / best_zstd_ratio > size)
    return "a bundle's zstd stream is damaged";
  content->resize(static_cast<std::size_t>(content_size));
  const std::size_t written = run(content->data(), content->size(), stream.data, size);
  if (is_error(written) || written != content->size()) return "a bundle's zstd stream is damaged";
  *used = size;
  return "";
}

std::string decompress_zlib(Bytes stream, std::uint64_t content_size, std::vector<std::uint8_t>* content,
                            std::uint64_t* used) {
  using Uncompress2 = int (*)(std::uint8_t*, unsigned long*, const std::uint8_t*, unsigned long*);
  static void* const library = open_library("libz.so.1");
  const auto run = function_of<Uncompress2>(library, "uncompress2");
  if (!run) return "a bundle compressed with zlib, but there is no libz.so.1 with uncompress2";
  if (content_size / best_zlib_ratio > stream.size) return "a bundle's zlib stream is damaged";
  content->resize(static_cast<std::size_t>(content_size));
  unsigned long written = content->size(), taken = stream.size;
  if (run(content->data(), &written, stream.data, &taken) != 0 || written != content->size())
    return "a bundle's zlib stream is damaged";
  *used = taken;
  return "";
}

}  // namespace

std::string decompress(std::uint16_t method, Bytes stream, std::uint64_t content_size,
                       std::vector<std::uint8_t>* content, std::uint64_t* used) {
  if (content_size > largest_content)
    return "a compressed bundle of " + std::to_string(content_size) + " bytes";
  if (method == 0) return decompress_zlib(stream, content_size, content, used);
  if (method == 1) return decompress_zstd(stream, content_size, content, used);
  return "a bundle compressed by method " + std::to_string(method);
}

}  // namespace ktrace
