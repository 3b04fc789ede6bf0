// Calls one part of the interposer on a file or on numbers and prints what it answers, for
// test_interposer_units.py.
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

#include "arguments.hpp"
#include "bundle.hpp"
#include "code_object.hpp"
#include "config.hpp"
#include "copy_back.hpp"
#include "crc32.hpp"
#include "name_patterns.hpp"
#include "placeholders.hpp"
#include "registry.hpp"
#include "script.hpp"
#include "selection.hpp"
#include "sha256.hpp"
#include "sizing.hpp"

namespace {

using namespace ktrace;
using Arguments = std::vector<std::string>;
using File = std::vector<std::uint8_t>;

File read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::uint64_t number(const std::string& text) { return std::strtoull(text.c_str(), nullptr, 0); }
std::uint32_t number32(const std::string& text) { return static_cast<std::uint32_t>(number(text)); }

void print_code_object(const BundleEntry& entry) {
  const auto object = read_code_object(entry.code_object);
  std::printf("object|%s|%s|%s\n", entry.target.c_str(), object->target.c_str(), object->trouble.c_str());
  for (const auto& kernel : object->kernels)
    std::printf("kernel|%s|%s|%u|%u|%u|%s\n", kernel->metadata.name.c_str(), kernel->metadata.symbol.c_str(),
                kernel->trace_index, kernel->trace_offset, kernel->refusal, kernel->refusal_words.c_str());
}

void code(const Arguments& arguments) {
  const File file = read_file(arguments[0]);
  const Unbundled unbundled = unbundle({file.data(), file.size()});
  std::printf("container|%s\n", unbundled.trouble.c_str());
  for (const BundleEntry& entry : unbundled.entries) print_code_object(entry);
}

// On the heap and of exactly that size, so that the sanitizer sees any look past the end.
void read_quietly(const std::uint8_t* bytes, std::size_t size) {
  const auto copy = std::make_unique<std::uint8_t[]>(size);
  std::copy(bytes, bytes + size, copy.get());
  for (const BundleEntry& entry : unbundle({copy.get(), size}).entries) read_code_object(entry.code_object);
}

void truncate(const Arguments& arguments) {
  const File file = read_file(arguments[0]);
  for (std::size_t size = 0; size <= file.size(); ++size) read_quietly(file.data(), size);
  std::printf("read %zu\n", file.size() + 1);
}

void flip(const Arguments& arguments) {
  const File file = read_file(arguments[0]);
  std::mt19937_64 random(number(arguments[1]));
  const std::uint64_t rounds = number(arguments[2]);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    File damaged = file;
    for (std::uint64_t flips = 1 + random() % 8; flips > 0; --flips)
      damaged[random() % damaged.size()] = static_cast<std::uint8_t>(random());
    read_quietly(damaged.data(), damaged.size());
  }
  std::printf("read %llu\n", static_cast<unsigned long long>(rounds));
}

void sums(const Arguments& arguments) {
  const File file = read_file(arguments[0]);
  std::printf("%08x ", crc32(file.data(), file.size()));
  for (const std::uint8_t byte : sha256({file.data(), file.size()})) std::printf("%02x", byte);
  std::printf("\n");
}

void script(const Arguments& arguments) {
  std::printf("%s", python_script(arguments[0], {arguments.begin() + 1, arguments.end()}).c_str());
}

Config configuration() {
  ConfigResult result = read_config();
  if (result.config) return *result.config;
  std::printf("refused|%s\n", result.trouble.c_str());
  std::exit(0);
}

Shape shape_of(const Arguments& arguments) {
  return {{number32(arguments[0]), number32(arguments[1]), number32(arguments[2])},
          {number32(arguments[3]), number32(arguments[4]), number32(arguments[5])}};
}

void layout(const Arguments& arguments) {
  const Config config = configuration();
  const Shape shape = shape_of(arguments);
  const Layout chosen = choose_layout(shape, config, number32(arguments[6]));
  std::printf("mode %u words %llu slots %u expected %llu\n", chosen.mode,
              static_cast<unsigned long long>(chosen.region_size() / sizeof(ktrace_word)), chosen.wave_slots,
              static_cast<unsigned long long>(expected_waves(shape, config)));
}

void streams(const Arguments& arguments) {
  ktrace_wave_header header{};
  header.main_cursor = number32(arguments[1]);
  header.side_cursor = number32(arguments[2]);
  Layout layout;
  layout.region_log2 = number32(arguments[0]);
  layout.flags = arguments.size() > 3 ? number32(arguments[3]) : 0;
  const Streams found = streams_of(header, layout);
  std::printf("main %u side %u met %d attempted %llu dropped %llu unfinished %d\n", found.main_words,
              found.side_words, found.have_met, static_cast<unsigned long long>(found.attempted),
              static_cast<unsigned long long>(found.dropped), found.is_unfinished);
}

void print_config(const Arguments&) {
  const Config config = configuration();
  std::printf("memory %llu words %u waves %#x xcc %#x\n", static_cast<unsigned long long>(config.memory),
              config.words, config.wave_mask, config.xcc_mask);
  for (const AxisFilter& axis : config.blocks)
    std::printf("axis %u %u %u\n", axis.lo, axis.hi, axis.stride_mask);
  std::printf("output|%s|%s\n", config.output.c_str(), config.output_dir.c_str());
  std::printf("mode %d full %d on_full %d on_full_ms %llu hang_ms %llu log_level %d\n",
              static_cast<int>(config.mode), static_cast<int>(config.full), static_cast<int>(config.on_full),
              static_cast<unsigned long long>(config.on_full_ms),
              static_cast<unsigned long long>(config.hang_ms), static_cast<int>(config.log_level));
  for (const IterationRange& range : config.iterations)
    std::printf("launches %llu-%llu\n", static_cast<unsigned long long>(range.first),
                static_cast<unsigned long long>(range.last));
  for (const Period& period : config.periods)
    std::printf("period %llu %llu %llu\n", static_cast<unsigned long long>(period.delay_ns),
                static_cast<unsigned long long>(period.duration_ns),
                static_cast<unsigned long long>(period.repeat));
}

void process_names(const Arguments& arguments) { std::printf("%s\n", fill_in_process(arguments[0]).c_str()); }

void collecting(const Arguments& arguments) {
  const Config config = configuration();
  for (const std::string& elapsed : arguments)
    std::printf("%s", is_collecting(config.periods, number(elapsed)) ? "1" : "0");
  std::printf("\n");
}

void names(const Arguments&) {
  for (const char* name : {environment_session_dir,
                           environment_output,
                           environment_output_dir,
                           environment_memory,
                           environment_words,
                           environment_kernels,
                           environment_kernel_include,
                           environment_kernel_exclude,
                           environment_kernel_iterations,
                           environment_periods,
                           environment_blocks,
                           environment_waves,
                           environment_xcc,
                           environment_mode,
                           environment_full,
                           environment_on_full,
                           environment_on_full_ms,
                           environment_hang_ms,
                           environment_log_level,
                           environment_version})
    std::printf("%s\n", name);
}

void wanted(const Arguments& arguments) {
  const Config config = configuration();
  std::printf("%s\n", NamePatterns(config).choose(arguments[0]) ? "yes" : "no");
}

// Builds `target=annotated` or `target=plain`, in order; says which one a device gets.
void pick(const Arguments& arguments) {
  static const Kernel annotated{};
  FunctionBuilds function;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::size_t equals = arguments[i].find('=');
    function.builds.push_back(
        {arguments[i].substr(0, equals), arguments[i].substr(equals + 1) == "plain" ? nullptr : &annotated});
  }
  std::printf("%s\n", function.pick(arguments[0]) ? "annotated" : "plain");
}

std::unique_ptr<Kernel> kernel_of(std::size_t arguments, std::uint32_t trace_index, bool has_placeholder) {
  auto kernel = std::make_unique<Kernel>();
  for (std::size_t i = 0; i < arguments; ++i)
    kernel->metadata.arguments.push_back({static_cast<std::uint32_t>(8 * i), 8, "by_value"});
  kernel->metadata.kernarg_size = static_cast<std::uint32_t>(8 * arguments);
  kernel->trace_index = trace_index;
  kernel->trace_offset = 8 * trace_index;
  kernel->note.flags = has_placeholder ? KTRACE_KERNEL_PLACEHOLDER : 0;
  return kernel;
}

std::uint64_t value_at(const void* address) {
  std::uint64_t value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

// The caller's array ends in front of the trace argument and lies on the heap: one slot too far is a report.
void params_without_placeholder(const Arguments&) {
  const auto kernel = kernel_of(3, 2, false);
  std::uint64_t values[2] = {11, 12};
  const std::unique_ptr<void*[]> own(new void*[2]{&values[0], &values[1]});
  LaunchArguments arguments(own.get(), nullptr);
  std::string trouble;
  const bool is_inserted = arguments.insert(*kernel, 77, &trouble);
  std::printf("%d %llu %llu %llu own %d\n", is_inserted,
              static_cast<unsigned long long>(value_at(arguments.params()[0])),
              static_cast<unsigned long long>(value_at(arguments.params()[1])),
              static_cast<unsigned long long>(value_at(arguments.params()[2])),
              own[0] == &values[0] && own[1] == &values[1] && arguments.params() != own.get());
}

// `size` bytes of the caller's buffer are there, for a kernel of three arguments whose last is the trace
// argument.
void extra(const Arguments& given) {
  const std::size_t size = static_cast<std::size_t>(number(given[0]));
  const auto kernel = kernel_of(3, 2, given[1] == "placeholder");
  const auto buffer = std::make_unique<std::uint8_t[]>(size);
  for (std::size_t i = 0; i < size; ++i) buffer[i] = static_cast<std::uint8_t>(i + 1);
  std::size_t told = size;
  void* own[5] = {reinterpret_cast<void*>(1), buffer.get(), reinterpret_cast<void*>(2), &told,
                  reinterpret_cast<void*>(3)};
  LaunchArguments arguments(nullptr, own);
  std::string trouble;
  if (!arguments.insert(*kernel, 0, &trouble)) {
    std::printf("refused|%s|%d\n", trouble.c_str(), arguments.extra() == own);
    return;
  }
  arguments.set_buffer(0x77);
  const auto* segment = static_cast<const std::uint8_t*>(arguments.extra()[1]);
  std::printf("size %zu first %u trace %llu\n", static_cast<std::size_t>(value_at(arguments.extra()[3])),
              segment[0], static_cast<unsigned long long>(value_at(segment + 16)));
}

}  // namespace

int main(int count, char** values) {
  const std::map<std::string, std::function<void(const Arguments&)>> commands = {
      {"code", code},
      {"truncate", truncate},
      {"flip", flip},
      {"sums", sums},
      {"layout", layout},
      {"streams", streams},
      {"config", print_config},
      {"wanted", wanted},
      {"pick", pick},
      {"params", params_without_placeholder},
      {"extra", extra},
      {"names", names},
      {"script", script},
      {"pids", process_names},
      {"collecting", collecting}};
  commands.at(values[1])(Arguments(values + 2, values + count));
}
