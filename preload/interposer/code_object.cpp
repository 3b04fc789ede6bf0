#include "code_object.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "annotations.hpp"
#include "elf_image.hpp"

namespace ktrace {
namespace {

constexpr std::uint64_t descriptor_size = 64;          // of a kernel, in .rodata
constexpr std::uint64_t descriptor_entry_offset = 16;  // i64, from the descriptor to the code
constexpr std::string_view descriptor_suffix = ".kd";

const ElfSymbol* find_symbol(const std::vector<ElfSymbol>& symbols, const std::string& name) {
  const auto found = std::find_if(symbols.begin(), symbols.end(),
                                  [&](const ElfSymbol& symbol) { return symbol.name == name; });
  return found == symbols.end() ? nullptr : &*found;
}

struct CodeRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// The descriptor says where a kernel begins. Its end is its symbol's, or the next function's begin.
std::optional<CodeRange> code_of(const ElfImage& image, const std::vector<ElfSymbol>& symbols,
                                 const KernelMetadata& kernel) {
  const ElfSymbol* descriptor = find_symbol(symbols, kernel.symbol);
  std::int64_t entry = 0;
  if (!descriptor ||
      !image.at_address(descriptor->address, descriptor_size).read(descriptor_entry_offset, &entry))
    return std::nullopt;
  CodeRange range;
  range.begin = descriptor->address + static_cast<std::uint64_t>(entry);
  range.end = ~std::uint64_t{0};
  for (const ElfSymbol& symbol : symbols) {
    if (!symbol.is_function) continue;
    if (symbol.address == range.begin && symbol.size > 0)
      return CodeRange{range.begin, range.begin + symbol.size};
    if (symbol.address > range.begin) range.end = std::min(range.end, symbol.address);
  }
  return range;
}

void add_trouble(CodeObject* object, const std::string& words) {
  object->trouble += (object->trouble.empty() ? "" : "; ") + words;
}

void refuse(Kernel* kernel, std::uint32_t reason, std::string words) {
  if (kernel->refusal != 0) return;
  kernel->refusal = reason;
  kernel->refusal_words = std::move(words);
}

// Resolves KTRACE_LAST_ARGUMENT and checks that the buffer's address lands on an argument that is ours.
void find_trace_argument(Kernel* kernel) {
  const std::vector<KernelArgument>& arguments = kernel->metadata.arguments;
  if (arguments.empty())
    return refuse(kernel, KTRACE_LOSS_ARGUMENT, "its metadata lists no explicit argument");
  const std::uint32_t last = static_cast<std::uint32_t>(arguments.size() - 1);
  const bool named = kernel->note.arg_index != KTRACE_LAST_ARGUMENT;
  if (named && kernel->note.arg_index > last)
    return refuse(kernel, KTRACE_LOSS_ARGUMENT,
                  "its trace argument is number " + std::to_string(kernel->note.arg_index) + " of " +
                      std::to_string(arguments.size()));
  kernel->trace_index = named ? kernel->note.arg_index : last;
  const KernelArgument& argument = arguments[kernel->trace_index];
  kernel->trace_offset = argument.offset;
  if (kernel->note.kernarg_offset != KTRACE_LAST_ARGUMENT && kernel->note.kernarg_offset != argument.offset)
    return refuse(kernel, KTRACE_LOSS_ARGUMENT,
                  "its note puts the trace argument at offset " +
                      std::to_string(kernel->note.kernarg_offset) + ", its metadata at " +
                      std::to_string(argument.offset));
  const bool is_pointer_like = argument.value_kind == "by_value" || argument.value_kind == "global_buffer";
  if (argument.size != 8 || !is_pointer_like || argument.offset % 8 != 0)
    return refuse(kernel, KTRACE_LOSS_ARGUMENT,
                  "its trace argument has " + std::to_string(argument.size) + " bytes and is `" +
                      argument.value_kind +
                      "`; an explicit argument of 8 bytes, by_value or global_buffer, is needed");
  if (std::uint64_t{argument.offset} + 8 > kernel->metadata.kernarg_size)
    return refuse(kernel, KTRACE_LOSS_ARGUMENT, "its trace argument lies outside its kernarg segment");
  // A host that does not pass the argument has arrays that end before it.
  if (!kernel->has_placeholder() && kernel->trace_index != last)
    refuse(kernel, KTRACE_LOSS_ARGUMENT,
           "its host does not pass the trace argument, which is not the last one");
}

void check_note(Kernel* kernel) {
  if (kernel->note.abi_version != KTRACE_ABI_VERSION)
    return refuse(kernel, KTRACE_LOSS_RECORD_FORMAT,
                  "its annotations have ABI version " + std::to_string(kernel->note.abi_version) +
                      "; this ktrace knows " + std::to_string(KTRACE_ABI_VERSION));
  if (kernel->note.record_format != KTRACE_RECORD_AMDGCN)
    refuse(kernel, KTRACE_LOSS_RECORD_FORMAT,
           "its record format is " + std::to_string(kernel->note.record_format) + "; this ktrace knows " +
               std::to_string(KTRACE_RECORD_AMDGCN));
}

// Inlining and unrolling repeat a note, so equal ones are one.
bool is_same_note(const ktrace_kernel_note& a, const ktrace_kernel_note& b) {
  return a.abi_version == b.abi_version && a.flags == b.flags && a.unit_key == b.unit_key &&
         a.arg_index == b.arg_index && a.kernarg_offset == b.kernarg_offset &&
         a.record_format == b.record_format;
}

// None if no note of the list lies in the kernel's code.
std::unique_ptr<Kernel> annotated_kernel(const KernelMetadata& metadata, const CodeRange& code,
                                         Annotations* annotations) {
  std::unique_ptr<Kernel> kernel;
  for (KernelNote& candidate : annotations->kernels) {
    if (candidate.pc < code.begin || candidate.pc >= code.end) continue;
    candidate.lies_in_a_kernel = true;
    if (kernel && !is_same_note(kernel->note, candidate.note)) {
      refuse(kernel.get(), KTRACE_LOSS_RECORD_FORMAT, "annotations of several kinds met in it");
    } else if (!kernel) {
      kernel = std::make_unique<Kernel>();
      kernel->metadata = metadata;
      kernel->note = candidate.note;
    }
  }
  if (kernel) check_note(kernel.get());
  return kernel;
}

void check_unit(Kernel* kernel, const Annotations& annotations) {
  const auto shared = annotations.shared_units.find(kernel->note.unit_key);
  if (shared != annotations.shared_units.end()) refuse(kernel, KTRACE_LOSS_UNIT_KEY, shared->second);
}

void find_listed_kernels(const ElfImage& image, const std::vector<ElfSymbol>& symbols,
                         Annotations* annotations, CodeObject* out) {
  std::size_t missing = 0;
  std::string example;
  for (const KernelMetadata& metadata : annotations->metadata.kernels) {
    const std::optional<CodeRange> code = code_of(image, symbols, metadata);
    if (!code) {
      if (missing++ == 0) example = metadata.name;
      continue;
    }
    std::unique_ptr<Kernel> kernel = annotated_kernel(metadata, *code, annotations);
    if (!kernel) continue;
    check_unit(kernel.get(), *annotations);
    if (metadata.is_contradicted)
      refuse(kernel.get(), KTRACE_LOSS_ARGUMENT, "two notes of metadata describe its arguments differently");
    find_trace_argument(kernel.get());
    kernel->code_object = out;
    out->kernels.push_back(std::move(kernel));
  }
  if (missing > 0)
    add_trouble(out, "kernels whose descriptors could not be found: " + std::to_string(missing) +
                         ", such as `" + example + "`");
}

bool is_descriptor(const ElfSymbol& symbol) {
  const std::size_t length = descriptor_suffix.size();
  return symbol.name.size() > length &&
         symbol.name.compare(symbol.name.size() - length, length, descriptor_suffix) == 0;
}

// HIP launches by descriptor. Kernels that no metadata lists are kept so that their launches are counted.
void find_unlisted_kernels(const ElfImage& image, const std::vector<ElfSymbol>& symbols,
                           Annotations* annotations, CodeObject* out) {
  std::set<std::string> seen;  // a symbol may be in two tables
  for (const KernelMetadata& listed : annotations->metadata.kernels) seen.insert(listed.symbol);
  for (const ElfSymbol& symbol : symbols) {
    if (!is_descriptor(symbol) || !seen.insert(symbol.name).second) continue;
    KernelMetadata metadata;
    metadata.name = symbol.name.substr(0, symbol.name.size() - descriptor_suffix.size());
    metadata.symbol = symbol.name;
    const std::optional<CodeRange> code = code_of(image, symbols, metadata);
    std::unique_ptr<Kernel> kernel = code ? annotated_kernel(metadata, *code, annotations) : nullptr;
    if (!kernel) continue;
    refuse(kernel.get(), KTRACE_LOSS_ARGUMENT, "no metadata lists it, so its arguments are not known");
    kernel->code_object = out;
    out->kernels.push_back(std::move(kernel));
  }
}

std::ptrdiff_t count_homeless(const Annotations& annotations) {
  return std::count_if(annotations.kernels.begin(), annotations.kernels.end(),
                       [](const KernelNote& note) { return !note.lies_in_a_kernel; });
}

void find_annotated_kernels(const ElfImage& image, Annotations* annotations, CodeObject* out) {
  const std::vector<ElfSymbol> symbols = image.symbols();
  find_listed_kernels(image, symbols, annotations, out);
  if (count_homeless(*annotations) > 0) find_unlisted_kernels(image, symbols, annotations, out);
  if (const std::ptrdiff_t homeless = count_homeless(*annotations); homeless > 0)
    add_trouble(out, "annotations that lie in no kernel's code: " + std::to_string(homeless) + " of " +
                         std::to_string(annotations->kernels.size()));
}

std::string processor_of(const std::string& target) { return target.substr(0, target.find(':')); }

// '+', '-', or 0 where the target leaves the feature open.
char feature_of(const std::string& target, const std::string& feature) {
  const std::size_t at = target.find(":" + feature);
  return at == std::string::npos ? '\0' : target.c_str()[at + 1 + feature.size()];
}

bool is_generic_for(const std::string& generic, const std::string& processor) {
  if (generic == "gfx9-4-generic")
    return processor == "gfx940" || processor == "gfx941" || processor == "gfx942" || processor == "gfx950";
  return false;
}

}  // namespace

const Kernel* CodeObject::find_kernel(const std::string& name) const {
  for (const auto& kernel : kernels)
    if (kernel->metadata.name == name || kernel->metadata.symbol == name ||
        kernel->metadata.symbol == name + ".kd")
      return kernel.get();
  return nullptr;
}

std::unique_ptr<CodeObject> read_code_object(Bytes file) {
  auto result = std::make_unique<CodeObject>();
  const std::optional<ElfImage> image = ElfImage::open(file, &result->trouble);
  if (!image) return result;
  Annotations annotations = read_annotations(*image);
  if (annotations.is_damaged) add_trouble(result.get(), "its ELF notes are damaged");
  const std::string& target = annotations.metadata.target;
  const std::size_t at = target.rfind("-gfx");
  if (at != std::string::npos) result->target = target.substr(at + 1);
  // Where nothing concerns us, nothing else is judged.
  if (annotations.kernels.empty()) return result;
  if (annotations.has_damaged_metadata)
    add_trouble(result.get(), "its AMDGPU metadata is damaged");
  else if (!annotations.has_metadata)
    add_trouble(result.get(), "it has no AMDGPU metadata");
  find_annotated_kernels(*image, &annotations, result.get());
  if (!result->kernels.empty()) {
    result->bytes.assign(file.data, file.data + file.size);
    result->digest = sha256(file);
  }
  return result;
}

bool is_target_for(const std::string& target, const std::string& device) {
  if (target.empty() || device.empty()) return true;
  const std::string processor = processor_of(device);
  if (processor_of(target) != processor && !is_generic_for(processor_of(target), processor)) return false;
  for (const char* feature : {"sramecc", "xnack"}) {
    const char wanted = feature_of(target, feature);
    const char has = feature_of(device, feature);
    if (wanted && has && wanted != has) return false;
  }
  return true;
}

}  // namespace ktrace
