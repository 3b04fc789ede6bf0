// The loop: `fuzz_x [--seed N] [--runs N] [--seconds N] [--budget N] [--save FILE] FILE...`. A trial is a
// function of its seed, and the trials' seeds are consecutive: `--seed N --runs 1` does trial N again.
#include "driver.hpp"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

#if defined(__SANITIZE_ADDRESS__) || defined(__clang__)
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));
#endif

// A trial that wants 2 GiB at once, or keeps 4, was led astray by a number in its input.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "max_allocation_size_mb=2048:hard_rss_limit_mb=4096:detect_stack_use_after_return=0:handle_abort=1";
}
extern "C" __attribute__((visibility("default"))) const char* __ubsan_default_options() {
  return "print_stacktrace=1";
}

namespace fuzz {

namespace {

constexpr unsigned seconds_of_a_trial = 60;  // beyond: it hangs

struct State {
  std::map<std::string, uint64_t> count_by_outcome;
  volatile uint64_t seed = 0;
  const Bytes* input = nullptr;
  const char* save = nullptr;
};
State& state() {
  static State instance;
  return instance;
}

// Also runs in signal handlers: nothing here allocates.
void tell_seed() {
  char text[120];
  const int length = std::snprintf(text, sizeof text, "fuzz: do it again with --seed %llu --runs 1\n",
                                   static_cast<unsigned long long>(state().seed));
  if (length > 0 && write(STDERR_FILENO, text, static_cast<size_t>(length)) < 0) {
    return;
  }
  if (state().save && state().input) {
    if (std::FILE* file = std::fopen(state().save, "wb")) {
      std::fwrite(state().input->data(), 1, state().input->size(), file);
      std::fclose(file);
    }
  }
}

void on_signal(int number) {
  if (number == SIGALRM) {
    static const char text[] = "fuzz: the trial hangs\n";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
  }
  tell_seed();
  signal(SIGABRT, SIG_DFL);
  std::abort();
}

void watch_for_crashes() {
  signal(SIGALRM, on_signal);
  if (__sanitizer_set_death_callback) {
    __sanitizer_set_death_callback(tell_seed);
    return;
  }
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    signal(number, on_signal);
  }
}

Bytes read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "fuzz: cannot read %s\n", path);
    std::exit(2);
  }
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

struct Options {
  uint64_t seed = 1;
  uint64_t runs = ~uint64_t{0};
  uint64_t seconds = 10;
  std::vector<Bytes> corpus;
};

Options read_options(int count, char** arguments) {
  Options options;
  for (int k = 1; k < count; ++k) {
    const std::string name = arguments[k];
    if (name.compare(0, 2, "--") != 0) {
      options.corpus.push_back(read_file(arguments[k]));
      continue;
    }
    if (++k == count) {
      std::fprintf(stderr, "fuzz: %s needs a value\n", name.c_str());
      std::exit(2);
    }
    if (name == "--save") {
      state().save = arguments[k];
      continue;
    }
    const uint64_t value = std::strtoull(arguments[k], nullptr, 0);
    (name == "--seed" ? options.seed : name == "--runs" ? options.runs : options.seconds) = value;
  }
  return options;
}

void print_outcomes(uint64_t trials) {
  std::printf("%llu trials\n", static_cast<unsigned long long>(trials));
  for (const auto& [outcome, count] : state().count_by_outcome) {
    std::printf("%10llu  %s\n", static_cast<unsigned long long>(count), outcome.c_str());
  }
}

// Digits, and what stands in quotes.
std::string without_numbers(const std::string& text) {
  std::string result;
  for (size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '`') {
      const size_t end = text.find('`', k + 1);
      result += "`..`";
      k = end == std::string::npos ? text.size() : end;
    } else if (std::isdigit(static_cast<unsigned char>(text[k]))) {
      result += '#';
      while (k + 1 < text.size() &&
             std::isxdigit(static_cast<unsigned char>(text[k + 1] == 'x' ? '0' : text[k + 1]))) {
        ++k;
      }
    } else {
      result += text[k];
    }
  }
  return result;
}

}  // namespace

uint64_t Random::next() {
  uint64_t z = (m_state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

uint64_t Random::odd_number(uint64_t was) {
  switch (below(6)) {
    case 0:
      return was + below(17) - 8;
    case 1:
      return (uint64_t{1} << below(64)) + below(5) - 2;
    case 2:
      return ~uint64_t{0} << below(64);
    case 3:
      return was ^ uint64_t { 1 } << below(64);
    case 4:
      return below(64);
    default:
      return next();
  }
}

uint64_t hash_of(const Bytes& bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const uint8_t byte : bytes) {
    hash = (hash ^ byte) * 0x100000001b3u;
  }
  return hash;
}

void note(const std::string& outcome) { ++state().count_by_outcome[outcome]; }

void note_message(const std::string& kind, const std::string& message) {
  constexpr size_t enough = 70;
  note(kind + ": " + without_numbers(message).substr(0, enough));
}

void give_up(const std::string& why) {
  std::fprintf(stderr, "fuzz: %s\n", why.c_str());
  std::abort();
}

}  // namespace fuzz

#if defined(KTRACE_FUZZ_LIBFUZZER)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::driver.attempt(fuzz::Bytes(data, data + size));
  return 0;
}

#else

int main(int count, char** arguments) {
  using Clock = std::chrono::steady_clock;
  const fuzz::Options options = fuzz::read_options(count, arguments);
  fuzz::watch_for_crashes();
  const auto end = Clock::now() + std::chrono::seconds(options.seconds);
  uint64_t trials = 0;
  for (; trials < options.runs && Clock::now() < end; ++trials) {
    fuzz::state().seed = options.seed + trials;
    fuzz::Random random(options.seed + trials);
    const fuzz::Bytes input = fuzz::driver.make(random, options.corpus);
    fuzz::state().input = &input;
    alarm(fuzz::seconds_of_a_trial);
    fuzz::driver.attempt(input);
    alarm(0);
  }
  fuzz::state().input = nullptr;
  fuzz::print_outcomes(trials);
  return 0;
}

#endif
