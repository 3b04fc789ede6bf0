#include "code_object.hpp"

#include <algorithm>
#include <optional>

#include "elf_image.hpp"
#include "notes.hpp"

namespace ktrace {
namespace {

constexpr std::uint32_t note_type_metadata = 32;
constexpr std::uint64_t descriptor_size = 64;          // of a kernel, in .rodata
constexpr std::uint64_t descriptor_entry_offset = 16;  // i64, from the descriptor to the code

struct KernelNote {
  ktrace_kernel_note note;
  std::uint64_t pc;  // absolute, in the loaded object's addresses
};

struct Notes {
  std::vector<KernelNote> kernels;
  std::optional<Metadata> metadata;
  bool has_metadata = false;
  bool damaged = false;
};

void take_kernel_note(const Note& note, Notes* out) {
  KernelNote kernel;
  if (!note.descriptor.read(0, &kernel.note)) {
    out->damaged = true;
    return;
  }
  kernel.pc = note.address + offsetof(ktrace_kernel_note, pc) + static_cast<std::uint64_t>(kernel.note.pc);
  out->kernels.push_back(kernel);
}

Notes collect_notes(const ElfImage& image) {
  Notes result;
  for (const NoteArea& area : image.note_areas()) {
    for (const Note& note : read_notes(area, &result.damaged)) {
      if (note.owner == KTRACE_NOTE_OWNER && note.type == KTRACE_NOTE_KERNEL) {
        take_kernel_note(note, &result);
      } else if (note.owner == "AMDGPU" && note.type == note_type_metadata) {
        result.has_metadata = true;
        result.metadata = read_metadata(note.descriptor);
      }
    }
  }
  return result;
}

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

std::unique_ptr<Kernel> annotated_kernel(const KernelMetadata& metadata, const CodeRange& code,
                                         const Notes& notes) {
  std::unique_ptr<Kernel> kernel;
  for (const KernelNote& candidate : notes.kernels) {
    if (candidate.pc < code.begin || candidate.pc >= code.end) continue;
    if (kernel && !is_same_note(kernel->note, candidate.note)) {
      refuse(kernel.get(), KTRACE_LOSS_RECORD_FORMAT, "annotations of several kinds met in it");
    } else if (!kernel) {
      kernel = std::make_unique<Kernel>();
      kernel->metadata = metadata;
      kernel->note = candidate.note;
    }
  }
  if (kernel) {
    check_note(kernel.get());
    find_trace_argument(kernel.get());
  }
  return kernel;
}

void find_annotated_kernels(const ElfImage& image, const Notes& notes, CodeObject* out) {
  const std::vector<ElfSymbol> symbols = image.symbols();
  for (const KernelMetadata& metadata : notes.metadata->kernels) {
    const std::optional<CodeRange> code = code_of(image, symbols, metadata);
    if (!code) {
      out->trouble = "the descriptor of kernel `" + metadata.name + "` could not be found";
      continue;
    }
    if (std::unique_ptr<Kernel> kernel = annotated_kernel(metadata, *code, notes)) {
      kernel->code_object = out;
      out->kernels.push_back(std::move(kernel));
    }
  }
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
  const Notes notes = collect_notes(*image);
  if (notes.damaged) result->trouble = "its ELF notes are damaged";
  if (notes.metadata) {
    const std::size_t at = notes.metadata->target.rfind("-gfx");
    if (at != std::string::npos) result->target = notes.metadata->target.substr(at + 1);
  }
  if (notes.kernels.empty()) return result;  // nothing of it concerns us, so nothing else of it is judged
  if (!notes.metadata) {
    result->trouble = notes.has_metadata ? "its AMDGPU metadata is damaged" : "it has no AMDGPU metadata";
    return result;
  }
  find_annotated_kernels(*image, notes, result.get());
  if (!result->kernels.empty()) {
    result->bytes.assign(file.data, file.data + file.size);
    result->digest = sha256(file);
  } else if (result->trouble.empty()) {
    result->trouble = "its annotations belong to no kernel";
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
