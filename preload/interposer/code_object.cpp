#include "code_object.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "annotations.hpp"
#include "content_hash.hpp"
#include "elf_image.hpp"
#include "flydsl_kernel.hpp"
#include "kernel_code.hpp"

namespace ktrace {
namespace {

void add_trouble(CodeObject* object, const std::string& words) {
  object->trouble += (object->trouble.empty() ? "" : "; ") + words;
}

void refuse(Kernel* kernel, std::uint32_t reason, std::string words) {
  if (kernel->refusal != 0) return;
  kernel->refusal = reason;
  kernel->refusal_words = std::move(words);
}

// Metadata that gives one place to two arguments cannot be told which of them it really is.
bool is_shared(const KernelArgument& argument, const std::vector<KernelArgument>& others) {
  return std::any_of(others.begin(), others.end(), [&](const KernelArgument& other) {
    return &other != &argument && other.offset < std::uint64_t{argument.offset} + argument.size &&
           argument.offset < std::uint64_t{other.offset} + other.size;
  });
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
  if (is_shared(argument, arguments) || is_shared(argument, kernel->metadata.hidden_arguments))
    return refuse(kernel, KTRACE_LOSS_ARGUMENT, "its trace argument shares its place with another argument");
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

void find_listed_kernels(const KernelCode& codes, Annotations* annotations, CodeObject* out) {
  std::size_t missing = 0;
  std::string example;
  for (const KernelMetadata& metadata : annotations->metadata.kernels) {
    const std::optional<CodeRange> code = codes.of(metadata.symbol);
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

// HIP launches by descriptor. Kernels that no metadata lists are kept so that their launches are counted.
void find_unlisted_kernels(const KernelCode& codes, Annotations* annotations, CodeObject* out) {
  std::set<std::string> listed;
  for (const KernelMetadata& metadata : annotations->metadata.kernels) listed.insert(metadata.symbol);
  for (const std::string& descriptor : codes.descriptors()) {
    if (listed.count(descriptor)) continue;
    KernelMetadata metadata;
    metadata.name = kernel_of_descriptor(descriptor);
    metadata.symbol = descriptor;
    const std::optional<CodeRange> code = codes.of(descriptor);
    std::unique_ptr<Kernel> kernel = code ? annotated_kernel(metadata, *code, annotations) : nullptr;
    if (!kernel) continue;
    refuse(kernel.get(), KTRACE_LOSS_ARGUMENT, "no metadata lists it, so its arguments are not known");
    kernel->code_object = out;
    out->kernels.push_back(std::move(kernel));
  }
}

// Linking units that define one kernel leaves the code of all but the first behind, with its note, where
// nobody can launch it; or drops the code, and the address that the note speaks of is 0.
bool is_left_behind(const KernelNote& note, const ElfImage& image) {
  return note.pc == 0 || image.is_executable(note.pc);
}

std::ptrdiff_t count_homeless(const Annotations& annotations) {
  return std::count_if(annotations.kernels.begin(), annotations.kernels.end(),
                       [](const KernelNote& note) { return !note.lies_in_a_kernel; });
}

void find_annotated_kernels(const ElfImage& image, Annotations* annotations, CodeObject* out) {
  if (image.is_relocatable()) return add_trouble(out, "it is relocatable, not loadable");
  const KernelCode codes(image);
  find_listed_kernels(codes, annotations, out);
  if (count_homeless(*annotations) == 0) return;
  find_unlisted_kernels(codes, annotations, out);
  const auto lost = std::count_if(
      annotations->kernels.begin(), annotations->kernels.end(),
      [&](const KernelNote& note) { return !note.lies_in_a_kernel && !is_left_behind(note, image); });
  if (lost > 0)
    add_trouble(out, "annotations that lie in no kernel's code: " + std::to_string(lost) + " of " +
                         std::to_string(annotations->kernels.size()));
}

void keep_bytes(Bytes file, CodeObject* object) {
  if (object->kernels.empty()) return;
  object->bytes.assign(file.data, file.data + file.size);
  object->digest = sha256(file);
}

constexpr std::size_t sample_count = 64;
constexpr std::size_t sample_size = 64;

std::uint64_t fingerprint_of(const ElfImage& image) {
  const Bytes& file = image.file();
  std::uint64_t hash = content_hash(file.part(0, std::min(file.size, sample_size)), file.size);
  bool ignored = false;
  for (const NoteArea& area : image.note_areas(&ignored)) hash = content_hash(area.bytes, hash);
  for (std::size_t i = 0; i < sample_count; ++i) {
    const std::size_t at = file.size / sample_count * i;
    hash = content_hash(file.part(at, std::min(sample_size, file.size - at)), hash);
  }
  return hash;
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
  result->target = at == std::string::npos ? image->target() : target.substr(at + 1);
  if (annotations.kernels.empty()) find_flydsl_kernels(*image, annotations.metadata, result.get());
  // Where nothing concerns us, nothing else is judged.
  if (annotations.kernels.empty()) return keep_bytes(file, result.get()), std::move(result);
  if (annotations.has_damaged_metadata)
    add_trouble(result.get(), "its AMDGPU metadata is damaged");
  else if (!annotations.has_metadata)
    add_trouble(result.get(), "it has no AMDGPU metadata");
  find_annotated_kernels(*image, &annotations, result.get());
  keep_bytes(file, result.get());
  return result;
}

Glance glance_at(Bytes file) {
  Glance glance;
  std::string trouble;
  const std::optional<ElfImage> image = ElfImage::open(file, &trouble);
  glance.needs_reading = !image || may_be_annotated(*image) || may_be_of_flydsl(*image);
  if (!image) return glance;
  glance.target = image->target();
  if (!glance.needs_reading) glance.fingerprint = fingerprint_of(*image);
  return glance;
}

std::vector<std::string> kernel_names(Bytes file) {
  std::string trouble;
  std::vector<std::string> names;
  const std::optional<ElfImage> image = ElfImage::open(file, &trouble);
  if (!image) return names;
  for (const ElfSymbol& symbol : image->symbols())
    if (std::string name = kernel_of_descriptor(symbol.name); !name.empty()) names.push_back(std::move(name));
  return names;
}

}  // namespace ktrace
