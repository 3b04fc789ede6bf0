// The ELF notes that tell tools which kernels are annotated and what their ids mean, as sys/sdt.h of
// SystemTap does it.
//
// Flags "a?": strip keeps them, and a note joins the section group of its function, so that a discarded
// COMDAT copy takes its notes along. Inlining and unrolling duplicate a note, dead code drops it.
#pragma once

#ifdef KTRACE_DEVICE_PASS_

namespace ktrace {
#ifdef KTRACE_RING
static constexpr u32 kernel_flags = KTRACE_KERNEL_PLACEHOLDER | KTRACE_KERNEL_RING;
#else
static constexpr u32 kernel_flags = KTRACE_KERNEL_PLACEHOLDER;
#endif
}  // namespace ktrace

#define KTRACE_NOTE_ASM_(type, body)                                                      \
  ".Lktrace_pc%=:\n.pushsection .note.ktrace,\"a?\",@note\n.balign 4\n"                   \
  ".4byte 7, .Lktrace_end%=-.Lktrace_begin%=, %c[note_type]\n.asciz \"" KTRACE_NOTE_OWNER \
  "\"\n.balign 4\n"                                                                       \
  ".Lktrace_begin%=:\n" body ".Lktrace_end%=:\n.balign 4\n.popsection"

// In the order of ktrace_kernel_note.
#define KTRACE_KERNEL_NOTE_()                                                                         \
  asm volatile(                                                                                       \
      KTRACE_NOTE_ASM_(                                                                               \
          KTRACE_NOTE_KERNEL,                                                                         \
          ".4byte %c[abi], %c[flags]\n.8byte %c[unit]\n"                                              \
          ".8byte .Lktrace_pc%=-.\n"                                                                  \
          ".4byte %c[last], %c[last], %c[record_format], 0\n")::[note_type] "i"(KTRACE_NOTE_KERNEL),  \
      [abi] "i"(KTRACE_ABI_VERSION), [flags] "i"(ktrace::kernel_flags), [unit] "i"(ktrace::unit_key), \
      [last] "i"(KTRACE_LAST_ARGUMENT), [record_format] "i"(KTRACE_RECORD_AMDGCN))

// In the order of ktrace_event_note. The barrier keeps the note's address at the marker.
#define KTRACE_EVENT_NOTE_(kind, id, values, name)                                                         \
  static_assert(                                                                                           \
      ktrace::is_plain(KTRACE_SOURCE_FILE),                                                                \
      "ktrace: the path of this file has a character that a note cannot hold; define KTRACE_SOURCE_FILE"); \
  ktrace::fence();                                                                                         \
  asm volatile(                                                                                            \
      KTRACE_NOTE_ASM_(KTRACE_NOTE_EVENT,                                                                  \
                       ".8byte %c[unit], .Lktrace_pc%=-.\n"                                                \
                       ".4byte %c[event_id]\n.2byte %c[event_kind], 0\n"                                   \
                       ".4byte %c[line], 0\n.8byte %c[lane_low], %c[lane_high]\n"                          \
                       ".asciz \"" name "\"\n.asciz \"" KTRACE_SOURCE_FILE                                 \
                       "\"\n")::[note_type] "i"(KTRACE_NOTE_EVENT),                                        \
      [unit] "i"(ktrace::unit_key), [event_id] "i"(id), [event_kind] "i"(kind), [line] "i"(__LINE__),      \
      [lane_low] "i"(decltype(values)::lane_low), [lane_high] "i"(decltype(values)::lane_high))

#else

#define KTRACE_KERNEL_NOTE_() ((void)0)
#define KTRACE_EVENT_NOTE_(kind, id, values, name) ((void)0)

#endif

namespace ktrace {

// A whole note as data: an assembler statement outside of functions is ignored in a device pass.
template <u32 SourceSize, u32 DestinationSize>
struct edge_note {
  u32 owner_size = sizeof(KTRACE_NOTE_OWNER);
  u32 descriptor_size = sizeof(ktrace_edge_note) + SourceSize + DestinationSize;
  u32 type = KTRACE_NOTE_EDGE;
  char owner[8] = KTRACE_NOTE_OWNER;
  u32 unit_key_low = static_cast<u32>(unit_key);  // halves: notes are aligned to 4
  u32 unit_key_high = static_cast<u32>(unit_key >> 32);
  char names[(SourceSize + DestinationSize + 3) / 4 * 4] = {};

  constexpr edge_note(const char (&source)[SourceSize], const char (&destination)[DestinationSize]) {
    for (u32 i = 0; i < SourceSize; ++i) {
      names[i] = source[i];
    }
    for (u32 i = 0; i < DestinationSize; ++i) {
      names[SourceSize + i] = destination[i];
    }
  }
};

}  // namespace ktrace

#define KTRACE_EDGE(source, destination) KTRACE_EDGE_(__COUNTER__, source, destination)
#define KTRACE_EDGE_(count, source, destination) KTRACE_EDGE_NAMED_(count, source, destination)
#ifdef KTRACE_DEVICE_PASS_
#define KTRACE_EDGE_NAMED_(count, source, destination)         \
  static __attribute__((device, used, section(".note.ktrace"), \
                        aligned(4))) constexpr ktrace::edge_note ktrace_edge_##count(source, destination)
#else
#define KTRACE_EDGE_NAMED_(count, source, destination) \
  static_assert(sizeof(source) > 1 && sizeof(destination) > 1, "ktrace: an edge joins two names")
#endif
