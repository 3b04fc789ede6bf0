// What the annotations are in a compilation for the host: checked like on the device, then nothing.
#pragma once

namespace ktrace {

struct clocks {
  u64 memtime;
  u64 realtime;
};

class ref {
 public:
  KTRACE_BOTH void name_unit() {}
  template <u32>
  KTRACE_BOTH void word(u32) {}
  KTRACE_BOTH void word(u32, u32) {}
  template <u32>
  KTRACE_BOTH void event() {}
  KTRACE_BOTH void event(u32) {}
  template <u32>
  KTRACE_BOTH u32 start() {
    return static_cast<u32>(no_token);
  }
  template <u32>
  KTRACE_BOTH u32 range_begin() {
    return 0;
  }
  template <u32, class Values>
  KTRACE_BOTH void range_end(u32, Values) {}
};

namespace {

class wave : public ref {
 public:
  KTRACE_BOTH explicit wave(sink) {}
  KTRACE_BOTH ~wave() {}  // not trivial, as on the device: a kernel without markers has no unused variable
  wave(const wave&) = delete;
  wave& operator=(const wave&) = delete;
};

}  // namespace

KTRACE_BOTH ref side_of(const ref&) { return {}; }
KTRACE_BOTH void fence() {}
KTRACE_BOTH clocks read_clocks() { return {0, 0}; }

}  // namespace ktrace
