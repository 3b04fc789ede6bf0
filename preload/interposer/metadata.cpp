#include "metadata.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "msgpack.hpp"

namespace ktrace {
namespace {

// A number that does not fit is no offset and no size: it must not be taken for a smaller one.
std::uint32_t read_u32(MessagePackReader& reader) {
  const std::uint64_t value = reader.read_unsigned();
  if (value > 0xffffffffu) reader.reject();
  return static_cast<std::uint32_t>(value);
}

KernelArgument read_argument(MessagePackReader& reader) {
  KernelArgument argument;
  for (std::uint64_t left = reader.read_map_size(); left > 0 && !reader.failed(); --left) {
    const std::string key = reader.read_string();
    if (key == ".offset")
      argument.offset = read_u32(reader);
    else if (key == ".size")
      argument.size = read_u32(reader);
    else if (key == ".value_kind")
      argument.value_kind = reader.read_string();
    else
      reader.skip();
  }
  return argument;
}

void read_arguments(MessagePackReader& reader, KernelMetadata* kernel) {
  for (std::uint64_t left = reader.read_array_size(); left > 0 && !reader.failed(); --left) {
    KernelArgument argument = read_argument(reader);
    const bool is_hidden = argument.value_kind.compare(0, 7, "hidden_") == 0;
    (is_hidden ? kernel->hidden_arguments : kernel->arguments).push_back(std::move(argument));
  }
}

KernelMetadata read_kernel(MessagePackReader& reader) {
  KernelMetadata kernel;
  for (std::uint64_t left = reader.read_map_size(); left > 0 && !reader.failed(); --left) {
    const std::string key = reader.read_string();
    if (key == ".name")
      kernel.name = reader.read_string();
    else if (key == ".symbol")
      kernel.symbol = reader.read_string();
    else if (key == ".kernarg_segment_size")
      kernel.kernarg_size = read_u32(reader);
    else if (key == ".args")
      read_arguments(reader, &kernel);
    else
      reader.skip();
  }
  return kernel;
}

bool has_same_arguments(const KernelMetadata& a, const KernelMetadata& b) {
  return a.kernarg_size == b.kernarg_size &&
         std::equal(a.arguments.begin(), a.arguments.end(), b.arguments.begin(), b.arguments.end(),
                    [](const KernelArgument& x, const KernelArgument& y) {
                      return x.offset == y.offset && x.size == y.size && x.value_kind == y.value_kind;
                    });
}

}  // namespace

std::optional<Metadata> read_metadata(Bytes descriptor) {
  MessagePackReader reader(descriptor);
  Metadata metadata;
  for (std::uint64_t left = reader.read_map_size(); left > 0 && !reader.failed(); --left) {
    const std::string key = reader.read_string();
    if (key == "amdhsa.target") {
      metadata.target = reader.read_string();
    } else if (key == "amdhsa.kernels") {
      for (std::uint64_t kernels = reader.read_array_size(); kernels > 0 && !reader.failed(); --kernels)
        metadata.kernels.push_back(read_kernel(reader));
    } else {
      reader.skip();
    }
  }
  if (reader.failed()) return std::nullopt;
  return metadata;
}

Metadata merge_metadata(std::vector<Metadata> notes) {
  Metadata merged;
  std::unordered_map<std::string, std::size_t> index_by_symbol;
  for (Metadata& note : notes) {
    if (merged.target.empty()) merged.target = std::move(note.target);
    for (KernelMetadata& kernel : note.kernels) {
      const auto [known, is_new] = index_by_symbol.emplace(kernel.symbol, merged.kernels.size());
      if (is_new)
        merged.kernels.push_back(std::move(kernel));
      else if (!has_same_arguments(merged.kernels[known->second], kernel))
        merged.kernels[known->second].is_contradicted = true;
    }
  }
  return merged;
}

}  // namespace ktrace
