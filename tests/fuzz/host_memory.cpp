// Kernels on plain memory of the process: pages of every permission, some of which another thread maps and
// unmaps meanwhile. Without that thread, whether a kernel faults is known beforehand. What the thread gets to
// do in time is not in the seed.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "device_harness.hpp"
#include "instruction_stream.hpp"

namespace fuzz {

namespace {

constexpr uint64_t page = 4096, pages = 32;
constexpr uint64_t arena = 0x200000000000;  // far from where the system maps what it may choose

// What a page is to a kernel.
enum Page : uint8_t { nothing, closed, read_only, plain, shared, of_file, past_the_file, page_kinds };
using Layout = std::array<Page, pages>;

bool is_readable(Page kind) { return kind != nothing && kind != closed && kind != past_the_file; }
bool is_writable(Page kind) { return kind == plain || kind == shared; }

int open_unlinked(const char* folder, off_t size) {
  std::string name = std::string(folder) + "/ktrace-fuzz-XXXXXX";
  const int file = mkstemp(name.data());
  if (file < 0 || unlink(name.c_str()) != 0 || ftruncate(file, size) != 0) {
    give_up("no file in " + std::string(folder));
  }
  return file;
}

void set_page(uint64_t number, Page kind) {
  static const int file = open_unlinked("/tmp", page);
  static const int empty = open_unlinked("/tmp", 0);
  void* const place = reinterpret_cast<void*>(arena + number * page);
  constexpr int both = PROT_READ | PROT_WRITE, fixed = MAP_FIXED, hidden = MAP_ANONYMOUS | MAP_PRIVATE;
  void* mapped = place;
  switch (kind) {
    case nothing:
    case page_kinds:
      munmap(place, page);
      break;
    case closed:
      mapped = mmap(place, page, PROT_NONE, fixed | hidden, -1, 0);
      break;
    case read_only:
      mapped = mmap(place, page, PROT_READ, fixed | hidden, -1, 0);
      break;
    case plain:
      mapped = mmap(place, page, both, fixed | hidden, -1, 0);
      break;
    case shared:
      mapped = mmap(place, page, both, fixed | MAP_ANONYMOUS | MAP_SHARED, -1, 0);
      break;
    case of_file:
      mapped = mmap(place, page, both, fixed | MAP_SHARED, file, 0);
      break;
    case past_the_file:
      mapped = mmap(place, page, both, fixed | MAP_SHARED, empty, 0);
      break;
  }
  if (mapped != place) {
    give_up("a page cannot be mapped");
  }
}

Page any_page(Random& random) { return static_cast<Page>(random.below(page_kinds)); }

// Mostly plain memory, so that a kernel gets somewhere.
Layout make_layout(Random& random) {
  Layout layout;
  const uint64_t rarity = uint64_t{1} << random.below(7);
  for (uint64_t k = 0; k < pages; ++k) {
    layout[k] = random.one_in(rarity) ? any_page(random) : plain;
    set_page(k, layout[k]);
  }
  return layout;
}

// One access of a kernel: lane l's is at start + (l << shift).
struct Access {
  uint32_t size = 4;
  bool writes = false;
  uint32_t start = 0;
  uint32_t shift = 0;
  uint32_t lanes = 64;
};

bool is_possible(const Access& access, const Layout& layout) {
  for (uint32_t lane = 0; lane < access.lanes; ++lane) {
    const uint64_t first = access.start + (uint64_t{lane} << access.shift);
    for (uint64_t at = first / page; at <= (first + access.size - 1) / page; ++at) {
      if (!(access.writes ? is_writable(layout[at]) : is_readable(layout[at]))) {
        return false;
      }
    }
  }
  return true;
}

struct Program {
  std::vector<uint32_t> words;
  std::vector<Access> accesses;
};

constexpr uint32_t no_register = 0x7f, base_register = 16, descriptor = 12;

// s[16:17] is the arena, s[48:51] a buffer of it, s60 what counts down.
void begin(Program& program, uint32_t rounds) {
  program.words = {
      0xc0060400,         0x00000000,    // s_load_dwordx2 s[16:17], s[0:1], 0x0
      0xbf8cc07f,                        // s_waitcnt lgkmcnt(0)
      0x260000bf,                        // v_and_b32 v0, 63, v0
      0xbeb00010,                        // s_mov_b32 s48, s16
      0x8631ff11,         0x0000ffff,    // s_and_b32 s49, s17, 0xffff
      0xbeb200ff,         pages * page,  // s_mov_b32 s50, ...
      0xbeb300ff,         0x00020000,    // s_mov_b32 s51, ...
      0xbefc0080,                        // s_mov_b32 m0, 0
      0xb03c0000 | rounds                // s_movk_i32 s60, rounds
  };
}

// v1 = start + (lane << shift), v[2:3] = arena + v1.
void put_addresses(Program& program, const Access& access) {
  const std::initializer_list<uint32_t> words = {
      0x24020080 | access.shift,  // v_lshlrev_b32 v1, shift, v0
      0x680202ff,
      access.start,  // v_add_u32 v1, start, v1
      0x7e060211,    // v_mov_b32 v3, s17
      0x32040210,    // v_add_co_u32 v2, vcc, s16, v1
      0x38060680,    // v_addc_co_u32 v3, vcc, 0, v3, vcc
  };
  program.words.insert(program.words.end(), words);
}

// FLAT's and MUBUF's numbers of plain loads and stores, of FLAT's atomics, and the bytes of each.
struct Operation {
  uint32_t number;
  uint32_t size;
  bool writes;
};
constexpr Operation moves[] = {
    {16, 1, false},  {17, 1, false},  {18, 2, false}, {19, 2, false}, {20, 4, false}, {21, 8, false},
    {22, 12, false}, {23, 16, false}, {24, 1, true},  {25, 1, true},  {26, 2, true},  {27, 2, true},
    {28, 4, true},   {29, 8, true},   {30, 12, true}, {31, 16, true}, {32, 1, false}, {33, 1, false},
    {34, 1, false},  {35, 1, false},  {36, 2, false}, {37, 2, false},
};
constexpr Operation atomics[] = {
    {64, 4, true}, {65, 4, true}, {66, 4, true}, {67, 4, true}, {77, 4, true}, {78, 4, true},
    {79, 8, true}, {80, 8, true}, {96, 8, true}, {97, 8, true}, {98, 8, true}, {107, 8, true},
};
constexpr Operation to_lds[] = {{38, 1, false}, {40, 2, false}, {42, 4, false}};
constexpr Operation scalar[] = {{0, 4, false}, {1, 8, false}, {2, 16, false}, {3, 32, false}, {4, 64, false}};

uint32_t shift_of(uint32_t size) { return size > 8 ? 4 : size > 4 ? 3 : size > 2 ? 2 : size - 1; }

// Somewhere that all lanes stay inside of the arena, in whole units or anywhere.
void place(Access& access, Random& random, bool is_aligned) {
  const uint32_t least = shift_of(access.size);
  access.shift = random.one_in(2) ? least : least + static_cast<uint32_t>(random.below(11 - least));
  access.start = static_cast<uint32_t>(random.below(pages * page / 2 - 64));
  if (is_aligned) {
    access.start = access.start >> least << least;
  }
}

void add_flat(Program& program, Random& random, const Operation& operation, bool is_atomic) {
  Access access{operation.size, operation.writes};
  place(access, random, is_atomic);
  put_addresses(program, access);
  const bool is_lds = operation.number >= 38 && operation.number <= 42;
  const uint32_t segment = is_lds || random.one_in(2) ? 2 : 0;  // global, or flat
  const bool has_base = segment == 2 && random.one_in(2);
  const uint32_t returns = is_atomic && random.one_in(2) ? 1u << 16 : 0;
  program.words.push_back(0x37u << 26 | operation.number << 18 | segment << 14 | returns);
  program.words.push_back(20u << 24 | (has_base ? base_register : no_register) << 16 | 8u << 8 |
                          (has_base ? 1u : 2u));
  program.accesses.push_back(access);
}

void add_buffer(Program& program, Random& random, const Operation& operation) {
  Access access{operation.size, operation.writes};
  place(access, random, true);
  put_addresses(program, access);
  program.words.push_back(0x38u << 26 | operation.number << 18 | 1u << 12);  // offen
  program.words.push_back(0x80u << 24 | descriptor << 16 | 20u << 8 | 1u);
  program.accesses.push_back(access);
}

void add_scalar(Program& program, Random& random, const Operation& operation) {
  const auto start = static_cast<uint32_t>(random.below(pages * page - 64)) & ~3u;
  program.words.push_back(0x30u << 26 | operation.number << 18 | 1u << 17 | 64u << 6 | base_register / 2);
  program.words.push_back(start);
  program.accesses.push_back({operation.size, false, start, 0, 1});
}

Program make_program(Random& random, uint32_t rounds) {
  Program program;
  begin(program, rounds);
  const size_t loop = program.words.size();
  for (uint64_t n = 1 + random.below(6); n > 0; --n) {
    switch (random.below(6)) {
      case 0:
        add_flat(program, random, random.pick(atomics), true);
        break;
      case 1:
        add_buffer(program, random, random.pick(moves));
        break;
      case 2:
        add_scalar(program, random, random.pick(scalar));
        break;
      case 3:
        add_flat(program, random, random.pick(to_lds), false);
        break;
      default:
        add_flat(program, random, random.pick(moves), false);
        break;
    }
  }
  const std::initializer_list<uint32_t> end = {
      0xbf8c0000,  // s_waitcnt 0
      0x80bc813c,  // s_sub_u32 s60, s60, 1
      0xbf07803c,  // s_cmp_lg_u32 s60, 0
  };
  program.words.insert(program.words.end(), end);
  const auto back = static_cast<int64_t>(loop) - static_cast<int64_t>(program.words.size()) - 1;
  program.words.push_back(0xbf850000 | (static_cast<uint32_t>(back) & 0xffff));  // s_cbranch_scc1 loop
  return program;
}

// Changes pages, and what HIP knows of, until it is told to stop.
class Meddler {
 public:
  explicit Meddler(uint64_t seed) : m_thread([this, seed] { meddle(seed); }) {}
  ~Meddler() {
    m_stops = true;
    m_thread.join();
  }
  Meddler(const Meddler&) = delete;
  Meddler& operator=(const Meddler&) = delete;

 private:
  std::atomic<bool> m_stops{false};
  std::thread m_thread;

  void meddle(uint64_t seed) {
    softdev::MemoryRegistry& registry = DeviceHarness::get().registry();
    Random random(seed);
    while (!m_stops) {
      const uint64_t number = random.below(pages);
      void* const place = reinterpret_cast<void*>(arena + number * page);
      if (random.one_in(4)) {
        void* const own = registry.allocate(page, softdev::MemoryKind::device);
        registry.adopt(place, page, softdev::MemoryKind::host_registered);
        set_page(number, any_page(random));  // under the feet of what is registered
        registry.abandon(place);
        registry.release(own);
      } else {
        set_page(number, random.one_in(2) ? plain : any_page(random));
      }
    }
  }
};

struct sigaction handler_of(int number) {
  struct sigaction action = {};
  sigaction(number, nullptr, &action);
  return action;
}

bool reaches_host_memory() {
  const char* value = std::getenv("KTRACE_SOFT_HOST_MEMORY");
  return !value || std::strcmp(value, "0") != 0;
}

void check_outcome(bool ran, const Program& program, const Layout& layout) {
  const bool is_fine =
      reaches_host_memory() && std::all_of(program.accesses.begin(), program.accesses.end(),
                                           [&](const Access& one) { return is_possible(one, layout); });
  if (ran != is_fine) {
    give_up(ran ? "a kernel did what the memory does not allow"
                : "a kernel faulted on memory that is there: " + DeviceHarness::get().last_fault());
  }
  note(ran ? "nobody meddles: ran to its end" : "nobody meddles: faulted");
}

Bytes make(Random& random, const std::vector<Bytes>&) {
  Bytes input(8);
  const uint64_t seed = random.next();
  std::memcpy(input.data(), &seed, sizeof seed);
  return input;
}

void attempt(const Bytes& input) {
  Random random(hash_of(input));
  DeviceHarness& harness = DeviceHarness::get();
  const bool is_meddled_with = random.one_in(2);
  const Layout layout = make_layout(random);
  const Program program = make_program(random, is_meddled_with ? 200 : 2);
  KernelImage kernel;
  kernel.lds_bytes = 1024;
  auto object = harness.load(make_image(kernel, program.words));
  const struct sigaction before = handler_of(SIGSEGV);
  if (is_meddled_with) {
    const Meddler meddler(random.next());
    note(harness.run_one(object, arena) ? "meddled with: ran to its end" : "meddled with: faulted");
  } else {
    check_outcome(harness.run_one(object, arena), program, layout);
  }
  if (handler_of(SIGSEGV).sa_sigaction != before.sa_sigaction) {
    give_up("SIGSEGV goes to somebody else now");
  }
  object.reset();
  harness.check_nothing_is_left();
}

}  // namespace

const Driver driver{make, attempt};

}  // namespace fuzz
