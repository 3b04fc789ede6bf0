// What a marker is called with: checks of its name, its payload, its lane. Knows no target.
#pragma once

namespace ktrace {

struct lane_base {};  // what KTRACE_LANE makes

template <class T>
struct value_type {
  static constexpr bool known = false;
  static constexpr u32 type = 0;
};
#define KTRACE_VALUE_TYPE_(cpp_type, format_type) \
  template <>                                     \
  struct value_type<cpp_type> {                   \
    static constexpr bool known = true;           \
    static constexpr u32 type = format_type;      \
  }
KTRACE_VALUE_TYPE_(bool, KTRACE_VALUE_BOOL);
KTRACE_VALUE_TYPE_(char, KTRACE_VALUE_I32);
KTRACE_VALUE_TYPE_(signed char, KTRACE_VALUE_I32);
KTRACE_VALUE_TYPE_(short, KTRACE_VALUE_I32);
KTRACE_VALUE_TYPE_(int, KTRACE_VALUE_I32);
KTRACE_VALUE_TYPE_(long, KTRACE_VALUE_I64);
KTRACE_VALUE_TYPE_(long long, KTRACE_VALUE_I64);
KTRACE_VALUE_TYPE_(unsigned char, KTRACE_VALUE_U32);
KTRACE_VALUE_TYPE_(unsigned short, KTRACE_VALUE_U32);
KTRACE_VALUE_TYPE_(unsigned, KTRACE_VALUE_U32);
KTRACE_VALUE_TYPE_(unsigned long, KTRACE_VALUE_U64);
KTRACE_VALUE_TYPE_(unsigned long long, KTRACE_VALUE_U64);
KTRACE_VALUE_TYPE_(float, KTRACE_VALUE_F32);
KTRACE_VALUE_TYPE_(double, KTRACE_VALUE_F64);
#undef KTRACE_VALUE_TYPE_

// threadIdx.x is an object that converts to an integer; unary plus finds that out, and what an enumerator is.
template <class... Ignored>
using always_void = void;
template <class T>
T&& value_of();  // never defined
template <class T, bool known = value_type<T>::known, class = void>
struct stored {
  using type = T;
};
template <class T>
struct stored<T, false, always_void<decltype(+value_of<T>())>> {
  using type = decltype(+value_of<T>());
};

template <class T>
KTRACE_BOTH u64 bits_of(T value) {
  if constexpr (__is_same(T, float)) {
    return __builtin_bit_cast(u32, value);
  } else if constexpr (__is_same(T, double)) {
    return __builtin_bit_cast(u64, value);
  } else {
    return static_cast<u64>(value);
  }
}

constexpr u32 length(const char* text) {
  u32 count = 0;
  while (text[count] != '\0') {
    ++count;
  }
  return count;
}
// Eight characters of a lane's name as the assembler takes them, padded with NUL.
constexpr u64 packed(const char* text, u32 from) {
  u64 bits = 0;
  for (u32 i = from; i < from + 8 && i < length(text); ++i) {
    bits |= static_cast<u64>(static_cast<unsigned char>(text[i])) << 8 * (i - from);
  }
  return bits;
}

// What follows the name in a marker: payload in order, and at most one KTRACE_LANE, which is all in the type.
template <class... Arguments>
struct arguments;
template <>
struct arguments<> {
  static constexpr u32 count = 0;
  static constexpr u32 lanes = 0;
  static constexpr u64 lane_low = 0;
  static constexpr u64 lane_high = 0;
  template <class Wave>
  KTRACE_BOTH void write(Wave&) const {}
};
template <class Head, class... Tail>
struct arguments<Head, Tail...> {
  using rest_type = arguments<Tail...>;
  static constexpr bool is_lane = __is_base_of(lane_base, Head);
  static_assert(
      is_lane || value_type<Head>::known,
      "ktrace: a payload must be a bool, an integer, a float or a double; convert it, as in float(x)");
  static constexpr u32 count = rest_type::count + 1;
  static constexpr u32 lanes = rest_type::lanes + (is_lane ? 1 : 0);
  static_assert(lanes < 2, "ktrace: a marker has at most one KTRACE_LANE");

  template <u32 from>
  static constexpr u64 lane_part() {
    if constexpr (is_lane) {
      return packed(Head::text(), from);
    } else {
      return from == 0 ? rest_type::lane_low : rest_type::lane_high;
    }
  }
  static constexpr u64 lane_low = lane_part<0>();
  static constexpr u64 lane_high = lane_part<8>();

  template <class Wave>
  KTRACE_BOTH void write(Wave& trace) const {
    if constexpr (!is_lane) {
      const u64 bits = bits_of(head);
      trace.template word<value_tag(value_type<Head>::type)>(static_cast<u32>(bits));
      if constexpr (sizeof(Head) == 8) {
        trace.template word<value_tag(value_type<Head>::type | KTRACE_VALUE_HIGH)>(
            static_cast<u32>(bits >> 32));
      }
    }
    rest.write(trace);
  }

  Head head;
  rest_type rest;
};

KTRACE_BOTH arguments<> gather() { return {}; }
template <class Head, class... Tail>
KTRACE_BOTH arguments<Head, Tail...> gather(Head head, Tail... tail) {
  return {head, gather(tail...)};
}
// The name comes along so that a marker without payload needs no comma; it is not used.
template <class Name, class... Values>
KTRACE_BOTH auto after_name(const Name&, Values... values) {
  return gather(static_cast<typename stored<Values>::type>(values)...);
}

// A name goes into the text of an assembler statement.
constexpr bool is_literal(const char* spelling) {
  return length(spelling) >= 2 && spelling[0] == '"' && spelling[length(spelling) - 1] == '"';
}
constexpr bool is_plain(const char* text) {
  for (; *text != '\0'; ++text) {
    const char c = *text;
    if (static_cast<unsigned char>(c) < ' ' || c == '"' || c == '\\' || c == '%' || c == '{' || c == '|' ||
        c == '}') {
      return false;
    }
  }
  return true;
}

}  // namespace ktrace
