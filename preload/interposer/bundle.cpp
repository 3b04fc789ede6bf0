#include "bundle.hpp"

#include <algorithm>
#include <optional>

#include "decompress.hpp"

namespace ktrace {
namespace {

constexpr char bundle_magic[] = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::size_t bundle_magic_size = sizeof bundle_magic - 1;
constexpr char compressed_magic[] = "CCOB";
constexpr std::uint64_t most_entries = 4096;
constexpr std::uint64_t longest_entry_id = 4096;

struct EntryHeader {
  std::uint64_t offset, size, id_size;
};

struct Entry {
  EntryHeader header;
  std::string id;
  std::uint64_t end;  // of its description
};

std::optional<Entry> read_entry(Bytes image, std::uint64_t at) {
  Entry entry;
  if (!image.read(at, &entry.header) || entry.header.id_size > longest_entry_id ||
      !image.holds(at + sizeof entry.header, entry.header.id_size))
    return std::nullopt;
  const Bytes id = image.part(at + sizeof entry.header, entry.header.id_size);
  entry.id.assign(reinterpret_cast<const char*>(id.data), id.size);
  entry.end = at + sizeof entry.header + entry.header.id_size;
  return entry;
}

// `hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+` -> `gfx942:sramecc+`; "" for the host's entry. The triple may
// name an environment instead of leaving it empty, so its end is found by the processor's name.
std::string target_of(const std::string& id) {
  if (id.compare(0, 4, "host") == 0) return "";
  const std::size_t at = id.rfind("-gfx");
  return at == std::string::npos ? id : id.substr(at + 1);
}

bool is_spirv(const std::string& id) { return id.find("spirv") != std::string::npos; }

void take_entry(Bytes image, const Entry& entry, Unbundled* out) {
  const std::string target = target_of(entry.id);
  if (target.empty() || entry.header.size == 0) return;
  if (is_spirv(entry.id))
    out->has_intermediate_code = true;
  else
    out->entries.push_back({target, image.part(entry.header.offset, entry.header.size)});
}

// Returns the bundle's size, or 0 if it is damaged.
std::uint64_t read_bundle(Bytes image, Unbundled* out) {
  std::uint64_t count = 0;
  std::uint64_t at = bundle_magic_size;
  if (!image.read(at, &count) || count > most_entries)
    return out->trouble = "a bundle of " + std::to_string(count) + " entries", 0;
  at += sizeof count;
  std::uint64_t end = at;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::optional<Entry> entry = read_entry(image, at);
    if (!entry || !image.holds(entry->header.offset, entry->header.size))
      return out->trouble = "entry " + std::to_string(i) + " of a bundle leaves the file", 0;
    take_entry(image, *entry, out);
    at = entry->end;
    end = std::max({end, at, entry->header.offset + entry->header.size});
  }
  return end;
}

std::uint64_t read_field(Bytes image, std::uint64_t at, bool wide) {
  std::uint64_t value64 = 0;
  std::uint32_t value32 = 0;
  if (wide) return image.read(at, &value64) ? value64 : 0;
  return image.read(at, &value32) ? value32 : 0;
}

std::uint64_t read_compressed(Bytes image, Unbundled* out) {
  CompressedHeader header;
  if (!read_compressed_header(image, &header, &out->trouble)) return 0;
  if (header.total_size > image.size) {
    out->trouble = "a compressed bundle is cut: it says " + std::to_string(header.total_size) +
                   " bytes, there are " + std::to_string(image.size);
    return 0;
  }
  const std::uint64_t end = header.total_size ? header.total_size : image.size;
  std::vector<std::uint8_t> content;
  std::uint64_t used = 0;
  const Bytes stream = image.part(header.header_size, end - header.header_size);
  out->trouble = decompress(header.method, stream, header.content_size, &content, &used);
  if (!out->trouble.empty()) return 0;
  out->storage.push_back(std::move(content));
  const Bytes inner{out->storage.back().data(), out->storage.back().size()};
  if (!is_bundle(inner)) return out->trouble = "a compressed bundle holds something else", 0;
  if (read_bundle(inner, out) == 0) return 0;
  return header.total_size ? header.total_size : header.header_size + used;
}

}  // namespace

bool is_bundle(Bytes image) { return image.starts_with(bundle_magic, bundle_magic_size); }
bool is_compressed_bundle(Bytes image) { return image.starts_with(compressed_magic, 4); }

std::uint64_t claimed_size_of_bundle(Bytes head) {
  std::uint64_t count = 0;
  std::uint64_t at = bundle_magic_size;
  if (!head.read(at, &count) || count > most_entries) return 0;
  at += sizeof count;
  std::uint64_t end = at;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::optional<Entry> entry = read_entry(head, at);
    if (!entry || entry->header.offset + entry->header.size < entry->header.offset) return 0;
    at = entry->end;
    end = std::max({end, at, entry->header.offset + entry->header.size});
  }
  return end;
}

bool read_compressed_header(Bytes head, CompressedHeader* out, std::string* trouble) {
  std::uint16_t version = 0;
  if (!head.read(4, &version) || !head.read(6, &out->method))
    return *trouble = "a compressed bundle is cut inside its header", false;
  switch (version) {
    case 1:
      out->header_size = 20;
      out->content_size = read_field(head, 8, false);
      break;
    case 2:
      out->header_size = 24;
      out->total_size = read_field(head, 8, false);
      out->content_size = read_field(head, 12, false);
      break;
    case 3:
      out->header_size = 32;
      out->total_size = read_field(head, 8, true);
      out->content_size = read_field(head, 16, true);
      break;
    default:
      return *trouble = "a compressed bundle of version " + std::to_string(version), false;
  }
  if (!head.holds(0, out->header_size))
    return *trouble = "a compressed bundle is cut inside its header", false;
  const bool has_size = version != 1;
  if (has_size && out->total_size < out->header_size)
    return *trouble = "a compressed bundle says that it has " + std::to_string(out->total_size) + " bytes",
           false;
  return true;
}

Unbundled unbundle(Bytes image) {
  Unbundled result;
  if (!is_bundle(image) && !is_compressed_bundle(image)) {
    result.entries.push_back({"", image});
    return result;
  }
  // Linkers pad between the bundles of their inputs.
  while (image.size > 0) {
    const std::uint64_t size =
        is_bundle(image) ? read_bundle(image, &result) : read_compressed(image, &result);
    if (size == 0) break;
    image = image.from(size);
    const auto* begin = image.data;
    const auto* next = std::find_if(begin, begin + image.size, [](std::uint8_t byte) { return byte != 0; });
    image = image.from(static_cast<std::uint64_t>(next - begin));
    if (image.size > 0 && !is_bundle(image) && !is_compressed_bundle(image)) {
      result.trouble = std::to_string(image.size) + " bytes after a bundle are no bundle";
      break;
    }
  }
  return result;
}

}  // namespace ktrace
