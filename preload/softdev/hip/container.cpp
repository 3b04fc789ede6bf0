// Finding a device's ELF in a bundle.
#include "hip/container.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/machine.hpp"
#include "core/process_map.hpp"
#include "hip/decompress.hpp"

namespace ktrace::softdev::hip {

namespace {

constexpr std::string_view bundle_magic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view compressed_magic = "CCOB";
constexpr std::string_view elf_magic =
    "\x7f"
    "ELF";
constexpr uint32_t wrapper_magic = 0x48495046;         // "HIPF"
constexpr uint32_t packed_wrapper_magic = 0x4b504948;  // "HIPK": the code is in .kpack archives elsewhere
constexpr uint64_t most_entries = 4096;
constexpr uint64_t largest_bundle = uint64_t{4} << 30;  // bytes
constexpr uint64_t best_ratio = 1 << 15;                // zstd's: four bytes stand for 128 KiB of one value

struct Bytes {
  const uint8_t* data;
  uint64_t limit;

  bool has(uint64_t offset, uint64_t size) const { return offset <= limit && size <= limit - offset; }
  bool begins_with(std::string_view magic) const {
    return has(0, magic.size()) && std::memcmp(data, magic.data(), magic.size()) == 0;
  }
  template <class T>
  T read(uint64_t offset) const {
    T value;
    std::memcpy(&value, data + offset, sizeof value);
    return value;
  }
};

ExtractedImage failure(hipError_t error, std::string trouble) {
  ExtractedImage image;
  image.error = error;
  image.trouble = std::move(trouble);
  return image;
}

ExtractedImage extract_elf(const Bytes& bytes, const TargetId& device) {
  ExtractedImage image;
  image.data = bytes.data;
  if (!bytes.has(0, 64)) {
    return failure(hipErrorInvalidImage, "the code object ends within its ELF header");
  }
  image.size = CodeObject::elf_size(bytes.data, bytes.limit);
  (void)device;  // the ELF's own target is checked when it has been loaded
  return image;
}

// "hipv4-amdgcn-amd-amdhsa--gfx942:xnack-"; the host's entry and other offload kinds have no code for us.
bool is_hip_entry(std::string_view id) {
  const std::string_view kind = id.substr(0, id.find('-'));
  return (kind == "hip" || kind == "hipv4" || kind == "hcc") && id.find("amdgcn") != std::string_view::npos;
}

ExtractedImage extract_bundle(const Bytes& bytes, const TargetId& device) {
  if (!bytes.has(0, 32)) {
    return failure(hipErrorInvalidImage, "the offload bundle ends within its header");
  }
  const auto count = bytes.read<uint64_t>(24);
  if (count > most_entries) {
    return failure(hipErrorInvalidImage,
                   "the offload bundle says that it has " + std::to_string(count) + " entries");
  }
  TargetMatch best = TargetMatch::none;
  Bytes found{};
  std::string targets;
  uint64_t place = 32;
  for (uint64_t entry = 0; entry < count; ++entry) {
    if (!bytes.has(place, 24) || !bytes.has(place + 24, bytes.read<uint64_t>(place + 16))) {
      return failure(hipErrorInvalidImage, "the offload bundle ends within its table of entries");
    }
    const auto offset = bytes.read<uint64_t>(place);
    const auto size = bytes.read<uint64_t>(place + 8);
    const auto id_size = bytes.read<uint64_t>(place + 16);
    const std::string id(reinterpret_cast<const char*>(bytes.data + place + 24), id_size);
    place += 24 + id_size;
    if (!is_hip_entry(id) || size == 0) {
      continue;
    }
    if (!bytes.has(offset, size)) {
      return failure(hipErrorInvalidImage, "the offload bundle ends within its entry " + id);
    }
    const TargetId target = TargetId::parse(id);
    targets +=
        (targets.empty() ? "" : ", ") + id.substr(id.find("gfx") == std::string::npos ? 0 : id.find("gfx"));
    const TargetMatch match = match_target(target, device);
    if (match > best) {
      best = match;
      found = {bytes.data + offset, size};
    }
  }
  if (best == TargetMatch::none) {
    return failure(hipErrorNoBinaryForGpu, "no code object for " + device.processor + "; there are " +
                                               (targets.empty() ? "none" : targets));
  }
  return extract_elf(found, device);
}

ExtractedImage extract_plain(const Bytes& bytes, const TargetId& device) {
  if (bytes.begins_with(elf_magic)) {
    return extract_elf(bytes, device);
  }
  if (bytes.begins_with(bundle_magic)) {
    return extract_bundle(bytes, device);
  }
  return failure(hipErrorInvalidImage, "the image is neither an ELF nor an offload bundle");
}

struct CompressedHeader {
  uint64_t size = 0;   // of the header
  uint64_t total = 0;  // of the file, 0: not known
  uint64_t uncompressed = 0;
};

// Version 1 has no total size; version 3 has 64-bit sizes.
bool read_compressed_header(const Bytes& bytes, CompressedHeader& header) {
  switch (bytes.read<uint16_t>(4)) {
    case 1:
      header = {20, 0, bytes.read<uint32_t>(8)};
      return true;
    case 2:
      header = {24, bytes.read<uint32_t>(8), bytes.read<uint32_t>(12)};
      return true;
    case 3:
      header = {32, bytes.read<uint64_t>(8), bytes.read<uint64_t>(16)};
      return true;
    default:
      return false;
  }
}

ExtractedImage extract_compressed(const Bytes& bytes, const TargetId& device) {
  CompressedHeader header;
  if (!bytes.has(0, 32) || !read_compressed_header(bytes, header)) {
    return failure(hipErrorInvalidImage, "a compressed bundle of an unknown version");
  }
  const auto method = bytes.read<uint16_t>(6);
  if (method > 1 || header.uncompressed > largest_bundle ||
      (header.total != 0 && header.total < header.size) || !bytes.has(0, header.total)) {
    return failure(hipErrorInvalidImage, "the compressed bundle's header is damaged");
  }
  // Without a total (version 1) the stream itself knows where it ends.
  const uint64_t size = (header.total != 0 ? header.total : bytes.limit) - header.size;
  if (header.uncompressed > size * best_ratio) {
    return failure(hipErrorInvalidImage, "the compressed bundle claims " +
                                             std::to_string(header.uncompressed) + " bytes out of " +
                                             std::to_string(size));
  }
  auto owned = std::make_shared<std::vector<uint8_t>>(header.uncompressed);
  const std::string trouble =
      decompress(static_cast<Compression>(method), bytes.data + header.size, size, *owned);
  if (!trouble.empty()) {
    return failure(hipErrorNoBinaryForGpu, "the code object cannot be unpacked: " + trouble);
  }
  ExtractedImage image = extract_plain({owned->data(), owned->size()}, device);
  image.owned = std::move(owned);
  return image;
}

// A wrapper holds an address, which only the program's own memory can mean.
ExtractedImage extract_wrapped(const Bytes& bytes, bool is_memory, const TargetId& device) {
  if (!is_memory || !bytes.has(0, 24)) {
    return failure(hipErrorInvalidImage,
                   is_memory ? "the fat binary's wrapper is cut" : "a file cannot be a fat binary's wrapper");
  }
  const auto* content = bytes.read<const uint8_t*>(8);
  const Bytes wrapped{content, readable_bytes(content)};
  return wrapped.begins_with(compressed_magic) ? extract_compressed(wrapped, device)
                                               : extract_plain(wrapped, device);
}

TargetId::Feature feature_of(std::string_view text, std::string_view name) {
  const size_t place = text.find(":" + std::string(name));
  if (place == std::string_view::npos) {
    return TargetId::Feature::any;
  }
  const size_t sign = place + 1 + name.size();
  if (sign >= text.size()) {
    return TargetId::Feature::any;
  }
  return text[sign] == '+' ? TargetId::Feature::on : TargetId::Feature::off;
}

bool is_compatible(TargetId::Feature code, TargetId::Feature device) {
  return code == TargetId::Feature::any || device == TargetId::Feature::any || code == device;
}

}  // namespace

TargetId TargetId::parse(const std::string& text) {
  TargetId target;
  const size_t begin = text.find("gfx");
  if (begin == std::string::npos) {
    return target;
  }
  const std::string_view rest = std::string_view(text).substr(begin);
  target.processor = rest.substr(0, rest.find(':'));
  target.sramecc = feature_of(rest, "sramecc");
  target.xnack = feature_of(rest, "xnack");
  return target;
}

TargetMatch match_target(const TargetId& code, const TargetId& device) {
  if (!is_compatible(code.sramecc, device.sramecc) || !is_compatible(code.xnack, device.xnack)) {
    return TargetMatch::none;
  }
  if (code.processor == device.processor && !code.processor.empty()) {
    return TargetMatch::exact;
  }
  const bool is_gfx9_4 = device.processor == "gfx942" || device.processor == "gfx950";
  return is_gfx9_4 && code.processor == "gfx9-4-generic" ? TargetMatch::generic : TargetMatch::none;
}

ExtractedImage extract_image(const void* image, size_t limit, const TargetId& device) {
  const Bytes bytes{static_cast<const uint8_t*>(image), limit != 0 ? limit : readable_bytes(image)};
  if (!bytes.has(0, 8)) {
    return failure(hipErrorInvalidImage, "the image has only " + std::to_string(bytes.limit) + " bytes");
  }
  if (bytes.begins_with(compressed_magic)) {
    return extract_compressed(bytes, device);
  }
  const auto magic = bytes.read<uint32_t>(0);
  if (magic == wrapper_magic) {
    return extract_wrapped(bytes, limit == 0, device);
  }
  if (magic == packed_wrapper_magic) {
    return failure(hipErrorNoBinaryForGpu, "its code is in .kpack archives, which are not read");
  }
  return extract_plain(bytes, device);
}

}  // namespace ktrace::softdev::hip
