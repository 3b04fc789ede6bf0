// ktrace annotations for GPU kernels: name what happens inside a kernel, record it with `ktrace run`.
//
// Compiled without -DKTRACE_ENABLE every macro vanishes and the code object is that of the unannotated
// source. docs/reference/device-api.md is the reference. This file knows names, payloads and notes; how a
// wave writes its words is in detail/, one file per family of targets.
#pragma once

#if __cplusplus < 201703L
#error "ktrace: C++17 is needed. Add -std=c++17."
#endif

namespace ktrace {

// Names a range between KTRACE_START and KTRACE_STOP. Declared by KTRACE_TOKEN; may be copied, assigned and
// compared.
enum class token : unsigned {};
constexpr token no_token = token{0xffffffffu};

}  // namespace ktrace

#ifndef KTRACE_ENABLE

#define KTRACE_PARAM
#define KTRACE_PARAM_AGAIN
#define KTRACE_ONLY_PARAM
#define KTRACE_ARG
#define KTRACE_FN_PARAM(trace)
#define KTRACE_FN_ARG(trace)
#define KTRACE_INLINE_PARAM(trace)
#define KTRACE_INLINE_ARG(trace)
#define KTRACE_WAVE(trace) ((void)0)
#define KTRACE_GROUP(trace, ...) ((void)0)
#define KTRACE_PUSH(trace, ...) ((void)0)
#define KTRACE_POP(trace) ((void)0)
#define KTRACE_RANGE(trace, ...) ((void)0)
#define KTRACE_MARK(trace, ...) ((void)0)
#define KTRACE_PHASE(trace, ...) ((void)0)
#define KTRACE_PHASE_END(trace) ((void)0)
#define KTRACE_TOKEN(token_name) [[maybe_unused]] ktrace::token token_name = ktrace::no_token
#define KTRACE_START(trace, token_name, ...) ((void)0)
#define KTRACE_STOP(trace, token_name) ((void)0)
#define KTRACE_ANCHOR(trace) ((void)0)
#define KTRACE_EDGE(source, destination) static_assert(true, "")

#else

#include "format.h"

#ifdef __clang__
#if __has_warning("-Wc2y-extensions")
#pragma clang diagnostic ignored "-Wc2y-extensions"  // __COUNTER__, under -Wpedantic, in every marker
#endif
#endif

#if defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__)  // __AMDGCN__ is defined in HIP's host pass too
#if !defined(__gfx90a__) && !defined(__gfx942__) && !defined(__gfx950__)
#error \
    "ktrace: this GPU target is not supported; gfx90a, gfx942 and gfx950 are. Build others without -DKTRACE_ENABLE."
#endif
#ifndef __OPTIMIZE__
#error "ktrace: markers need scalar registers, which -O0 does not keep. Compile with -O1 or more."
#endif
#define KTRACE_DEVICE_PASS_
#endif

#ifdef __HIP__
#define KTRACE_DEVICE __attribute__((device, always_inline)) inline
#define KTRACE_BOTH __attribute__((host, device, always_inline)) inline
#else
#define KTRACE_DEVICE inline
#define KTRACE_BOTH inline
#endif

// Ids of markers are small numbers within a translation unit, and the unit's key is part of every note. Two
// units of one code object that are compiled from one path need names of their own.
#ifndef KTRACE_UNIT_NAME
#define KTRACE_UNIT_NAME __BASE_FILE__
#endif
#ifndef KTRACE_SOURCE_FILE
#define KTRACE_SOURCE_FILE __FILE__
#endif

// What the names that macros declare mean outside of them. Enumerators, since -Wshadow lets these be hidden.
enum ktrace_undeclared { ktrace_sink };
enum ktrace_outside_of_waves : bool { ktrace_within_wave = false };

namespace ktrace {

using u32 = ktrace_u32;
using u64 = ktrace_u64;

// The last argument of an annotated kernel: where the dispatch's trace buffer begins. Null: record nothing.
struct sink {
  const ktrace_control* control = nullptr;
};
static_assert(sizeof(sink) == 8 && __is_trivially_copyable(sink), "hosts pass a null 8-byte slot");

// What KTRACE_WAVE found under the name of the kernel's last parameter.
template <class Found>
KTRACE_BOTH sink parameter(Found found) {
  static_assert(
      __is_same(Found, sink),
      "ktrace: KTRACE_WAVE finds no trace buffer; write KTRACE_PARAM after the kernel's last parameter "
      "(KTRACE_ONLY_PARAM if it has none)");
  if constexpr (__is_same(Found, sink)) {
    return found;
  }
  return {};
}

constexpr u64 fnv1a(const char* text) {
  u64 hash = 0xcbf29ce484222325u;
  for (; *text != '\0'; ++text) {
    hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3u;
  }
  return hash;
}
static constexpr u64 unit_key = fnv1a(KTRACE_UNIT_NAME);
static constexpr u32 first_count =
    __COUNTER__ + 1;  // others may have counted before us, and ranges have few ids

constexpr u32 event_tag(u32 kind, u32 id) { return kind << KTRACE_TAG_KIND_SHIFT | id; }
constexpr u32 value_tag(u32 type) { return event_tag(KTRACE_KIND_VALUE, type); }

}  // namespace ktrace

#include "detail/arguments.hpp"
#ifdef KTRACE_DEVICE_PASS_
#include "detail/amdgcn.hpp"
#else
#include "detail/host_pass.hpp"
#endif
#include "detail/notes.hpp"

namespace ktrace {

template <u32 kind, u32 id, class Wave, class Values>
KTRACE_BOTH void record(Wave& trace, Values values) {
  fence();
  if constexpr (kind != KTRACE_KIND_POP && kind != KTRACE_KIND_PHASE_END) {  // these have no id
    trace.name_unit();
  }
  values.write(trace);
  trace.template event<event_tag(kind, id)>();
  fence();
}

template <u32 id, class Wave, class Values>
KTRACE_BOTH token start(Wave& trace, Values values) {
  fence();
  trace.name_unit();
  values.write(trace);
  const token started{trace.template start<event_tag(KTRACE_KIND_START, id)>()};
  fence();
  return started;
}

// A branch of its own, not part of the event: where lanes hold different tokens, those without one leave
// here.
template <class Wave>
KTRACE_BOTH void stop(Wave& trace, token started) {
  if (started != no_token) {
    fence();
    trace.event(event_tag(KTRACE_KIND_STOP, static_cast<u32>(started)));
    fence();
  }
}

// The clocks of a moment in the midst of a long wave: the reader needs one after 2^31 cycles without a word.
template <class Wave>
KTRACE_BOTH void anchor(Wave& trace) {
  fence();
  const clocks now = read_clocks();
  gather(now.realtime).write(trace);
  trace.word(static_cast<u32>(now.memtime),
             event_tag(KTRACE_KIND_ANCHOR, static_cast<u32>(now.memtime >> 32) & KTRACE_TAG_ID_MASK));
  fence();
}

// `begin` is defined and used within one scope, so it never becomes part of a merge of control flow.
template <u32 id, class Wave, class Values>
class range {
  static_assert(id < KTRACE_SPAN_IDS,
                "ktrace: only the first 2048 markers of a translation unit can be a "
                "KTRACE_RANGE; use KTRACE_PUSH and KTRACE_POP, or split the source");

 public:
  KTRACE_BOTH range(Wave& trace, Values values) : m_trace(trace), m_values(values) {
    fence();
    m_begin = trace.template range_begin<id>();
    fence();
  }
  KTRACE_BOTH ~range() {
    fence();
    m_trace.template range_end<id>(m_begin, m_values);
    fence();
  }
  range(const range&) = delete;
  range& operator=(const range&) = delete;

 private:
  Wave& m_trace;
  Values m_values;
  u32 m_begin;
};
// Returned in place, so that the range lives in its variable: a KTRACE_RANGE is one declaration, all of which
// an `if` without braces governs.
template <u32 id, class Wave, class Values>
KTRACE_BOTH range<id, Wave, Values> open_range(Wave& trace, Values values) {
  return range<id, Wave, Values>(trace, values);
}

}  // namespace ktrace

// ------------------------------------------------------------------------------------------------------------
// macros

#define KTRACE_PARAM , ktrace::sink ktrace_sink = {}
#define KTRACE_PARAM_AGAIN , ktrace::sink ktrace_sink
#define KTRACE_ONLY_PARAM ktrace::sink ktrace_sink = {}
#define KTRACE_ARG \
  , ktrace::sink {}
#define KTRACE_FN_PARAM(trace) , ktrace::ref trace
#define KTRACE_FN_ARG(trace) , ktrace::side_of(trace)
#define KTRACE_INLINE_PARAM(trace) , ktrace::wave& trace
#define KTRACE_INLINE_ARG(trace) , trace

// The wave comes first: after an `if` without braces it ends there, and markers that use it do not compile.
#define KTRACE_WAVE(trace)                                                                                \
  ktrace::wave trace(ktrace::parameter(ktrace_sink));                                                     \
  static_assert(!ktrace_within_wave,                                                                      \
                "ktrace: a KTRACE_WAVE within the scope of another one would overwrite its record; keep " \
                "the outer one");                                                                         \
  [[maybe_unused]] constexpr bool ktrace_within_wave = true;                                              \
  KTRACE_KERNEL_NOTE_()

#define KTRACE_GROUP(trace, ...) KTRACE_RECORD_(trace, KTRACE_KIND_GROUP, KTRACE_NEXT_ID_, __VA_ARGS__)
#define KTRACE_PUSH(trace, ...) KTRACE_RECORD_(trace, KTRACE_KIND_PUSH, KTRACE_NEXT_ID_, __VA_ARGS__)
#define KTRACE_POP(trace) ktrace::record<KTRACE_KIND_POP, 0>(trace, ktrace::gather())
#define KTRACE_MARK(trace, ...) KTRACE_RECORD_(trace, KTRACE_KIND_MARK, KTRACE_NEXT_ID_, __VA_ARGS__)
#define KTRACE_PHASE(trace, ...) KTRACE_RECORD_(trace, KTRACE_KIND_PHASE, KTRACE_NEXT_ID_, __VA_ARGS__)
#define KTRACE_PHASE_END(trace) ktrace::record<KTRACE_KIND_PHASE_END, 0>(trace, ktrace::gather())
#define KTRACE_ANCHOR(trace) ktrace::anchor(trace)

#define KTRACE_RANGE(trace, ...) KTRACE_RANGE_(trace, __COUNTER__, __VA_ARGS__)
#define KTRACE_RANGE_(trace, count, ...) KTRACE_RANGE_NAMED_(trace, count, __VA_ARGS__)
#define KTRACE_RANGE_NAMED_(trace, count, ...)                                   \
  const auto ktrace_range_##count = __extension__({                              \
    KTRACE_MARKER_(KTRACE_KIND_RANGE, count - ktrace::first_count, __VA_ARGS__); \
    ktrace::open_range<ktrace_id>(trace, ktrace_values);                         \
  })

#define KTRACE_TOKEN(token_name) [[maybe_unused]] ktrace::token token_name = ktrace::no_token
#define KTRACE_START(trace, token_name, ...)                         \
  (token_name) = __extension__({                                     \
    KTRACE_MARKER_(KTRACE_KIND_START, KTRACE_NEXT_ID_, __VA_ARGS__); \
    ktrace::start<ktrace_id>(trace, ktrace_values);                  \
  })
#define KTRACE_STOP(trace, token_name) ktrace::stop(trace, token_name)

// A type of its own, because the note needs the characters as constants and a function's argument is none.
#define KTRACE_LANE(name)                                                         \
  __extension__({                                                                 \
    KTRACE_CHECK_NAME_(name);                                                     \
    static_assert(sizeof(name) <= KTRACE_LANE_SIZE,                               \
                  "ktrace: a lane's name has at most 15 characters; shorten it"); \
    struct ktrace_lane : ktrace::lane_base {                                      \
      static constexpr const char* text() { return name; }                        \
    };                                                                            \
    ktrace_lane{};                                                                \
  })

#define KTRACE_NEXT_ID_ (__COUNTER__ - ktrace::first_count)
#define KTRACE_RECORD_(trace, kind, id, ...)               \
  __extension__({                                          \
    KTRACE_MARKER_(kind, id, __VA_ARGS__);                 \
    ktrace::record<kind, ktrace_id>(trace, ktrace_values); \
  })
#define KTRACE_MARKER_(kind, id, ...)                         \
  KTRACE_CHECK_NAME_(KTRACE_FIRST_(__VA_ARGS__, ));           \
  constexpr unsigned ktrace_id = id;                          \
  const auto ktrace_values = ktrace::after_name(__VA_ARGS__); \
  KTRACE_CHECK_VALUES_(kind, ktrace_values);                  \
  KTRACE_EVENT_NOTE_(kind, ktrace_id, ktrace_values, KTRACE_FIRST_(__VA_ARGS__, ))

// A lane is a track of slices, and a group is only a name.
#define KTRACE_CHECK_VALUES_(kind, values)                                                                  \
  static_assert(kind != KTRACE_KIND_MARK || decltype(values)::lanes == 0,                                   \
                "ktrace: KTRACE_MARK takes no KTRACE_LANE, a moment stays on its wave's track; remove it, " \
                "or use KTRACE_RANGE, KTRACE_PUSH, KTRACE_PHASE or KTRACE_START");                          \
  static_assert(kind != KTRACE_KIND_GROUP || decltype(values)::count == 0,                                  \
                "ktrace: KTRACE_GROUP takes a name only, no payload and no KTRACE_LANE; put values into a " \
                "KTRACE_MARK")

#define KTRACE_FIRST_(first, ...) first
#define KTRACE_SPELLING_(text) KTRACE_SPELLING_2_(text)
#define KTRACE_SPELLING_2_(text) #text
#define KTRACE_CHECK_NAME_(name)                                                                        \
  static_assert(ktrace::is_literal(KTRACE_SPELLING_(name)), "ktrace: a name must be a string literal"); \
  static_assert(ktrace::is_plain(name),                                                                 \
                "ktrace: a name must have no control character and none of \" \\ % { | }")

#endif  // KTRACE_ENABLE
