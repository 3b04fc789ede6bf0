// zlib and zstd through the system's libraries, opened when first needed: few programs carry compressed
// bundles, and nothing else of this library needs them.
#include "hip/decompress.hpp"

#include <dlfcn.h>

namespace ktrace::softdev::hip {

namespace {

template <class Function>
Function find(const char* library, const char* symbol) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  return handle == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(handle, symbol));
}

std::string inflate_zlib(const uint8_t* data, size_t size, std::vector<uint8_t>& output) {
  using Uncompress = int (*)(uint8_t*, unsigned long*, const uint8_t*, unsigned long);
  const auto uncompress = find<Uncompress>("libz.so.1", "uncompress");
  if (uncompress == nullptr) {
    return "it is compressed with zlib, and libz.so.1 is not installed";
  }
  unsigned long length = output.size();
  if (uncompress(output.data(), &length, data, size) != 0 || length != output.size()) {
    return "its zlib stream is damaged";
  }
  return "";
}

std::string inflate_zstd(const uint8_t* data, size_t size, std::vector<uint8_t>& output) {
  using FrameSize = size_t (*)(const void*, size_t);
  using Decompress = size_t (*)(void*, size_t, const void*, size_t);
  const auto frame_size = find<FrameSize>("libzstd.so.1", "ZSTD_findFrameCompressedSize");
  const auto decompress = find<Decompress>("libzstd.so.1", "ZSTD_decompress");
  if (frame_size == nullptr || decompress == nullptr) {
    return "it is compressed with zstd, and libzstd.so.1 is not installed";
  }
  // ZSTD_decompress refuses bytes behind the frame. Errors are huge sizes.
  const size_t frame = frame_size(data, size);
  if (frame > size || decompress(output.data(), output.size(), data, frame) != output.size()) {
    return "its zstd stream is damaged";
  }
  return "";
}

}  // namespace

std::string decompress(Compression method, const uint8_t* data, size_t size, std::vector<uint8_t>& output) {
  return method == Compression::zlib ? inflate_zlib(data, size, output) : inflate_zstd(data, size, output);
}

}  // namespace ktrace::softdev::hip
