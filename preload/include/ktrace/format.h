/* clang-format off */
/* The ktrace format: ELF notes, trace buffer, recording file. Knows no reader and no writer.
 *
 * C11 and C++17, for the host and for the device, with no include: the compiler's own type macros stand in for
 * <stdint.h>, so that a device pass without a C library can read it. Everything is little-endian and free of padding;
 * sizes are in bytes; reserved fields are written as 0. Enums are append-only and a number is never reused.
 *
 * `src/ktrace_cli/trace_file/layout.py` mirrors this file; tests/format/test_layout.py lets the C compiler print every
 * offset, size and enumerator and compares. docs/reference/format.md explains it in prose.
 */
#ifndef KTRACE_FORMAT_H
#define KTRACE_FORMAT_H

#ifdef __cplusplus
extern "C" {
#endif

typedef __UINT8_TYPE__ ktrace_u8;
typedef __UINT16_TYPE__ ktrace_u16;
typedef __UINT32_TYPE__ ktrace_u32;
typedef __UINT64_TYPE__ ktrace_u64;
typedef __INT64_TYPE__ ktrace_i64;

/* ---------------------------------------------------------------- ELF notes, section .note.ktrace, owner "KTRACE" */

#define KTRACE_NOTE_OWNER "KTRACE"
#define KTRACE_ABI_VERSION 1u
#define KTRACE_LAST_ARGUMENT 0xffffffffu /* arg_index, kernarg_offset: take the last explicit argument of the metadata */
#define KTRACE_LANE_SIZE 16              /* bytes of a lane's name in an EVENT note, NUL-padded, so 15 characters */

enum ktrace_note_type { KTRACE_NOTE_KERNEL = 1, KTRACE_NOTE_EVENT = 2, KTRACE_NOTE_EDGE = 3 };

enum ktrace_kernel_flag {
  KTRACE_KERNEL_PLACEHOLDER = 1, /* the host passes a null slot for the trace argument */
  KTRACE_KERNEL_RING = 2         /* built with KTRACE_RING: its waves can keep the last words instead of the first */
};

/* How words are packed. A target may choose what is cheapest on it; a reader refuses a number that it does not know. */
enum ktrace_record_format {
  KTRACE_RECORD_AMDGCN = 1 /* the words described below, low half of s_memtime */
};

struct ktrace_kernel_note {
  ktrace_u32 abi_version;
  ktrace_u32 flags;    /* ktrace_kernel_flag */
  ktrace_u64 unit_key; /* of the translation unit whose event ids this kernel writes */
  ktrace_i64 pc;       /* an address inside the kernel's code, relative to the address of this field */
  ktrace_u32 arg_index;
  ktrace_u32 kernarg_offset;
  ktrace_u32 record_format; /* ktrace_record_format */
  ktrace_u32 reserved;
};

/* Followed by the NUL-terminated name and the NUL-terminated source file. */
struct ktrace_event_note {
  ktrace_u64 unit_key;
  ktrace_i64 pc; /* the marker's address, relative to the address of this field */
  ktrace_u32 event_id;
  ktrace_u16 kind; /* ktrace_kind: RANGE, PUSH, START, PHASE, MARK or GROUP */
  ktrace_u16 flags;
  ktrace_u32 line;
  ktrace_u32 reserved;
  char lane[KTRACE_LANE_SIZE];
};

/* Followed by the NUL-terminated source name and the NUL-terminated destination name. */
struct ktrace_edge_note {
  ktrace_u64 unit_key;
};

/* ------------------------------------------------------------------------------------------------- words, 8 bytes
 * event word  {u32 clock, 0 | kind:4 | side:1 | id:26}
 * span word   {u32 end clock, 1 | id:11 | duration:20}        a whole RANGE; never in the side stream
 * value word  {u32 bits,  0 | VALUE | side:1 | type}          precedes the event that it belongs to
 * A tag (the second half) is never 0, so a word whose tag is 0 was not written.
 */
enum ktrace_kind {
  KTRACE_KIND_RANGE = 1,       /* in notes only: a scoped range, recorded as a span word or as LONG_BEGIN and LONG_END */
  KTRACE_KIND_PUSH = 2,        /* opens a nested range */
  KTRACE_KIND_POP = 3,         /* closes the innermost PUSH; id 0 */
  KTRACE_KIND_START = 4,       /* opens a range that may overlap others; its place is the token */
  KTRACE_KIND_STOP = 5,        /* closes a START; id is that word's number counted from the start of the region, in words */
  KTRACE_KIND_PHASE = 6,       /* ends the phase before it and begins a new one */
  KTRACE_KIND_PHASE_END = 7,   /* ends the phase before it; id 0 */
  KTRACE_KIND_MARK = 8,        /* a moment */
  KTRACE_KIND_GROUP = 9,       /* the role of this wave */
  KTRACE_KIND_VALUE = 10,      /* see ktrace_value_type */
  KTRACE_KIND_LONG_BEGIN = 11, /* begin of a RANGE that does not fit a span word; always in the side stream */
  KTRACE_KIND_LONG_END = 12,   /* its end, in either stream; matches the latest open LONG_BEGIN of the same id */
  KTRACE_KIND_ANCHOR = 13      /* id holds bits 32..57 of s_memtime; a U64 value before it holds s_memrealtime */
};

enum ktrace_value_type {
  KTRACE_VALUE_BOOL = 0,
  KTRACE_VALUE_I32 = 1,
  KTRACE_VALUE_U32 = 2,
  KTRACE_VALUE_F32 = 3,
  KTRACE_VALUE_I64 = 4,
  KTRACE_VALUE_U64 = 5,
  KTRACE_VALUE_F64 = 6,
  KTRACE_VALUE_HIGH = 8, /* or-ed to a 64-bit type: these bits are the high half; the low half precedes it */
  KTRACE_VALUE_UNIT = 15 /* low half of the unit key: the next event's id belongs to that unit, not to the kernel's */
};

#define KTRACE_TAG_KIND_SHIFT 27
#define KTRACE_TAG_SIDE 0x04000000u
#define KTRACE_TAG_ID_MASK 0x03ffffffu
#define KTRACE_TAG_SPAN 0x80000000u
#define KTRACE_SPAN_ID_SHIFT 20
#define KTRACE_SPAN_IDS 2048u           /* a RANGE's id is below this */
#define KTRACE_SPAN_LIMIT 0x00100000u   /* cycles: a RANGE of this length or longer is LONG_BEGIN and LONG_END */

struct ktrace_word {
  ktrace_u32 clock;
  ktrace_u32 tag;
};

/* ----------------------------------------------------------------------------------- trace buffer of one dispatch
 * A control block, written by the host and read once per wave, then one region per wave slot. A region is a power of
 * two: a wave header, main words upward from KTRACE_REGION_HEADER, side words downward from the region's end.
 * In a ring (KTRACE_CONTROL_RING) the upper half is for main words, again and again, and side words go downward from
 * there: the main word at cursor c is at half + (c mod half), and the cursor begins at half.
 * All of it is zero when a dispatch starts.
 */
#define KTRACE_CONTROL_MAGIC 0x4352544bu /* "KTRC" */
#define KTRACE_CONTROL_SIZE 256
#define KTRACE_REGION_HEADER 128
#define KTRACE_WAVE_SIZE 64 /* lanes */

enum ktrace_mode {
  KTRACE_MODE_DIRECT = 0, /* slot = linear block number * waves per block + wave in block */
  KTRACE_MODE_CLAIM = 1   /* slot = one atomic addition to `claimed` per wave */
};

enum ktrace_control_flag {
  KTRACE_CONTROL_EAGER = 1, /* every word is written back at once, through the side stream: a hang leaves all of them */
  KTRACE_CONTROL_RING = 2   /* a full region keeps the last words; only for kernels with KTRACE_KERNEL_RING */
};

/* A wave is recorded if lo <= block < hi and ((block - lo) & stride_mask) == 0 on each axis, bit min(wave, 31) of
 * wave_mask and bit xcc of xcc_mask are set, and its slot is below wave_slots. */
struct ktrace_control {
  ktrace_u32 magic;
  ktrace_u32 abi_version;
  ktrace_u32 mode;     /* ktrace_mode */
  ktrace_u32 dispatch; /* low half of the dispatch number; every wave header repeats it */
  ktrace_u64 regions;  /* device address of slot 0's region */
  ktrace_u32 region_log2;
  ktrace_u32 wave_slots;
  ktrace_u32 grid[3];  /* workgroups */
  ktrace_u32 block[3]; /* work-items */
  ktrace_u32 waves_per_block;
  ktrace_u32 wave_mask;
  ktrace_u32 block_lo[3];
  ktrace_u32 block_hi[3];
  ktrace_u32 block_stride_mask[3];
  ktrace_u32 xcc_mask;
  ktrace_u32 flags; /* ktrace_control_flag */
  ktrace_u32 reserved0[5];
  ktrace_u32 claimed; /* waves that asked for a slot in claim mode, also those that got none; a cache line of its own */
  ktrace_u32 reserved1[31];
};

enum ktrace_wave_state {
  KTRACE_WAVE_ABSENT = 0, /* the wave never began, or is not recorded */
  KTRACE_WAVE_BEGUN = 1,
  KTRACE_WAVE_ENDED = 2
};

struct ktrace_wave_header {
  ktrace_u32 state;       /* ktrace_wave_state */
  ktrace_u32 side_cursor; /* byte offset in the region of the next side word; goes on below the header when full */
  ktrace_u32 main_cursor; /* byte offset of the next main word, goes on past the region's end when full; 0 until the end */
  ktrace_u32 dispatch;    /* as in the control block: tells this dispatch's header from an earlier one's */
  ktrace_u32 block[3];
  ktrace_u32 wave;         /* wave in block */
  ktrace_u32 hw_id_begin;  /* hwreg HW_ID */
  ktrace_u32 xcc_id_begin; /* hwreg XCC_ID; 0 where the target has none */
  ktrace_u32 hw_id_end;
  ktrace_u32 xcc_id_end;
  ktrace_u64 memtime_begin; /* s_memtime, core clock cycles */
  ktrace_u64 realtime_begin; /* s_memrealtime, reference clock ticks */
  ktrace_u64 memtime_end;
  ktrace_u64 realtime_end;
  ktrace_u64 exec_begin; /* active lanes at the wave's start; an event with fewer goes to the side stream */
  ktrace_u64 exec_end;   /* active lanes at the last end that was written */
  ktrace_u32 reserved[8];
};

/* ------------------------------------------------------------------------------------------------- recording file
 * One append-only file per process: a file header, then chunks. Every chunk's payload is a multiple of 8 bytes. A file
 * without an END chunk was not closed: its process was killed, or the file was cut.
 */
#define KTRACE_FILE_MAGIC "KTRACE\x1a\n" /* 8 bytes, no terminator */
#define KTRACE_FILE_MAJOR 1u
#define KTRACE_FILE_MINOR 1u
#define KTRACE_CHUNK_SYNC 0x4b43544bu /* "KTCK": a reader finds the next chunk by it after damage */

struct ktrace_file_header {
  char magic[8];
  ktrace_u16 major;
  ktrace_u16 minor;
  ktrace_u32 header_size; /* of this struct; chunks follow */
  ktrace_u32 reserved;
  ktrace_u32 crc; /* CRC-32 (zlib) of the bytes before it */
};

enum ktrace_chunk_type {
  KTRACE_CHUNK_PROCESS = 1,
  KTRACE_CHUNK_DEVICE = 2,
  KTRACE_CHUNK_CODE_OBJECT = 3,
  KTRACE_CHUNK_KERNEL = 4,
  KTRACE_CHUNK_DISPATCH = 5,
  KTRACE_CHUNK_CLOCK = 6,
  KTRACE_CHUNK_LOSS = 7,
  KTRACE_CHUNK_END = 8,
  KTRACE_CHUNK_FOREIGN_BUFFER = 9,  /* these three since minor version 1, all skippable */
  KTRACE_CHUNK_FOREIGN_LAUNCH = 10,
  KTRACE_CHUNK_FOREIGN_NAMES = 11
};

enum ktrace_chunk_flag {
  KTRACE_CHUNK_SKIPPABLE = 1 /* a reader that does not know the type goes on without it, and counts it */
};

struct ktrace_chunk_header {
  ktrace_u32 sync; /* KTRACE_CHUNK_SYNC */
  ktrace_u16 type; /* ktrace_chunk_type */
  ktrace_u16 flags;
  ktrace_u64 length; /* of the payload, a multiple of 8 */
  ktrace_u32 number; /* 0, 1, 2 … in this file: a gap is a lost chunk */
  ktrace_u32 payload_crc;
  ktrace_u32 reserved;
  ktrace_u32 header_crc; /* CRC-32 (zlib) of the 28 bytes before it */
};

/* Strings in records: `strings_size` bytes of NUL-terminated UTF-8 after the struct, then zeros to a multiple of 8. */

/* Strings: host name, working folder, executable, then the arguments. All three clocks were read at one moment.
 * On the software device both ids, monotonic_ns and realtime_ns are 0 and boottime_ns is the model's, so that two runs of one
 * program give the same bytes. */
struct ktrace_process_record {
  ktrace_u32 pid;
  ktrace_u32 parent_pid;
  ktrace_u64 boottime_ns;
  ktrace_u64 monotonic_ns;
  ktrace_u64 realtime_ns;
  ktrace_u32 strings_size;
  ktrace_u32 reserved;
};

enum ktrace_device_flag {
  KTRACE_DEVICE_SOFTWARE = 1 /* times are modelled; host times of dispatches and clock samples are the model's too */
};

/* Strings: target id (gfx942:sramecc+:xnack-), marketing name. */
struct ktrace_device_record {
  ktrace_u32 device; /* HIP device index in this process */
  ktrace_u32 flags;  /* ktrace_device_flag */
  ktrace_u32 realtime_hz; /* rate of s_memrealtime; 0: not known */
  ktrace_u32 compute_units;
  ktrace_u32 xcc_count; /* 0: not known */
  ktrace_u32 core_khz; /* nominal core clock; 0: not known. Never used to convert times: headers hold both clocks */
  ktrace_u8 uuid[16];
  ktrace_u32 strings_size;
  ktrace_u32 reserved;
};

/* Followed by the code object, whole, and zeros to a multiple of 8. */
struct ktrace_code_object_record {
  ktrace_u8 sha256[32];
  ktrace_u64 size;
  ktrace_u32 code_object; /* 0, 1, 2 … in this file */
  ktrace_u32 reserved;
};

/* Strings: name (.name of the metadata), symbol (.symbol). */
struct ktrace_kernel_record {
  ktrace_u32 kernel; /* 0, 1, 2 … in this file */
  ktrace_u32 code_object;
  ktrace_u32 record_format;
  ktrace_u32 kernarg_offset; /* where the buffer's address was put */
  ktrace_u64 unit_key;
  ktrace_u32 strings_size;
  ktrace_u32 reserved;
};

enum ktrace_dispatch_flag {
  KTRACE_DISPATCH_FILTERED = 1,   /* filters of blocks, waves or XCCs were in force: waves are missing by choice */
  /* Copied while it was still running (--hang); `completed_ns` is when (0 on the software device). A later record of the
   * same number replaces this one. */
  KTRACE_DISPATCH_UNFINISHED = 2,
  KTRACE_DISPATCH_EAGER = 4,      /* KTRACE_CONTROL_EAGER was set: side words do not mean that lanes diverged */
  KTRACE_DISPATCH_RING = 8,       /* KTRACE_CONTROL_RING was set */
  KTRACE_DISPATCH_GRAPH = 16      /* a kernel node of a graph that was launched; `launched_ns` is the graph's */
};

/* Followed by `waves` wave headers as the device wrote them, `waves` extents, and the words of each wave in turn: its
 * main words, then its side words, both in address order (so the newest side word comes first). Where both streams met,
 * `main_words` is the whole region's and `side_words` 0; KTRACE_TAG_SIDE tells them apart. */
struct ktrace_dispatch_record {
  ktrace_u64 dispatch; /* number of the traced launch in this process, from 1 */
  ktrace_u64 launch;   /* number among all launches of this process, from 1 */
  ktrace_u32 kernel;
  ktrace_u32 device;
  ktrace_u64 stream; /* small number in order of first use; 0 is the null stream */
  ktrace_u32 grid[3];  /* workgroups */
  ktrace_u32 block[3]; /* work-items */
  ktrace_u32 shared_bytes; /* dynamic LDS */
  ktrace_u32 thread_id;    /* small number in order of first launch */
  ktrace_u64 launched_ns;  /* host clock (CLOCK_BOOTTIME; the model's on the software device): before HIP was called */
  ktrace_u64 submitted_ns; /* after HIP returned */
  ktrace_u64 completed_ns; /* when the host first knew that it was done */
  ktrace_u32 mode;
  ktrace_u32 region_log2;
  ktrace_u32 wave_slots;
  ktrace_u32 waves;    /* headers that follow: every slot whose header is not all zero, in slot order */
  ktrace_u32 expected; /* waves of the grid that pass the filters; 0: none, or not known (a filter of XCCs) */
  ktrace_u32 claimed;  /* claim mode: waves that asked for a slot */
  ktrace_u32 status;   /* HIP's error code seen at completion; 0 */
  ktrace_u32 flags;    /* ktrace_dispatch_flag */
};

struct ktrace_wave_extent {
  ktrace_u32 slot;
  ktrace_u32 main_words; /* as copied */
  ktrace_u32 side_words;
  ktrace_u32 reserved;
};

enum ktrace_clock_method {
  KTRACE_CLOCK_SOFTWARE = 1, /* the software device's own conversion */
  KTRACE_CLOCK_HSA = 2,      /* hsa_amd_profiling_convert_tick_to_system_domain */
  KTRACE_CLOCK_KFD = 3,      /* AMDKFD_IOC_GET_CLOCK_COUNTERS */
  KTRACE_CLOCK_BOUNDS = 4    /* no sample could be taken: launches and completions bound it */
};

/* One pair of readings of the reference clock and the host clock. */
struct ktrace_clock_record {
  ktrace_u32 device;
  ktrace_u32 method; /* ktrace_clock_method */
  ktrace_u64 realtime; /* ticks */
  ktrace_u64 host_ns;  /* same clock as launched_ns */
  ktrace_u64 uncertainty_ns;
};

/* Why a launch of an annotated kernel, or part of one, is not in the file. */
enum ktrace_loss_reason {
  KTRACE_LOSS_NO_MEMORY = 1,     /* the device had no memory for a trace buffer, or the process no thread or memory */
  KTRACE_LOSS_POOL_EXHAUSTED = 2, /* --memory was in use */
  KTRACE_LOSS_CAPTURE = 3,       /* launched during stream capture */
  KTRACE_LOSS_ENTRY_POINT = 4,   /* launched through a call that ktrace does not trace */
  KTRACE_LOSS_ARGUMENT = 5,      /* the trace argument is no 8-byte explicit argument, or the host did not pass it */
  KTRACE_LOSS_CODE_OBJECT = 6,   /* a code object could not be read */
  KTRACE_LOSS_LAUNCH_FAILED = 7, /* HIP refused the launch, or its grid was empty */
  KTRACE_LOSS_COPY_FAILED = 8,   /* the buffer could not be copied back */
  KTRACE_LOSS_WRITE_FAILED = 9,  /* the file could not be written */
  KTRACE_LOSS_NOT_FINISHED = 10, /* still running, or not copied back, when the process ended */
  KTRACE_LOSS_RECORD_FORMAT = 11, /* annotated with a format or an ABI that this interposer does not know */
  KTRACE_LOSS_UNIT_KEY = 12, /* two translation units share one unit key: nobody knows what the event ids mean */
  KTRACE_LOSS_FORKED = 13, /* launched in a child of fork whose parent had called HIP on hardware */
  KTRACE_LOSS_FAULTED = 14 /* the kernel faulted, and the memory that its waves wrote to is lost with the device */
};

/* Strings: kernel name or "", and what happened in words. */
struct ktrace_loss_record {
  ktrace_u32 reason; /* ktrace_loss_reason */
  ktrace_u32 reserved0;
  ktrace_u64 count; /* launches, or code objects */
  ktrace_u32 strings_size;
  ktrace_u32 reserved1;
};

/* Another tool's in-kernel tracer, whose buffers were copied as its kernels left them. */
enum ktrace_foreign_tool {
  KTRACE_FOREIGN_FLYDSL = 1 /* `ktrace` of FlyDSL */
};

enum ktrace_foreign_flag {
  KTRACE_FOREIGN_OF_ONE_LAUNCH = 1 /* ktrace gave the launch a buffer of its own; else all share the tool's */
};

/* Followed by the first `length` bytes of the buffer, and zeros to a multiple of 8: beyond them nothing was written. */
struct ktrace_foreign_buffer_record {
  ktrace_u32 tool;   /* ktrace_foreign_tool */
  ktrace_u32 flags;  /* ktrace_foreign_flag */
  ktrace_u64 number; /* of the copy, from 1 */
  ktrace_u64 size;   /* of the buffer on the device, in bytes */
  ktrace_u64 length;
  ktrace_u32 device;
  ktrace_u32 replays; /* launches into graphs whose replays wrote to it: those are in no FOREIGN_LAUNCH */
};

/* A launch that wrote to a copied buffer. Its kernel's `record_format` is 0. What only our own buffers have is 0 here;
 * `completed_ns` is 0 where several launches share a buffer. */
struct ktrace_foreign_launch_record {
  ktrace_u64 number; /* of the copy */
  struct ktrace_dispatch_record launch;
};

/* String: JSON, {"tool": name, "version": text, "names": {name: id}}. A later one knows more. */
struct ktrace_foreign_names_record {
  ktrace_u32 tool; /* ktrace_foreign_tool */
  ktrace_u32 strings_size;
};

/* Counts since the process began; the last chunk of a file that was closed. */
struct ktrace_end_record {
  ktrace_u64 code_objects;           /* distinct */
  ktrace_u64 annotated_code_objects;
  ktrace_u64 annotated_kernels;
  ktrace_u64 launches;           /* of any kernel */
  ktrace_u64 annotated_launches;
  ktrace_u64 dispatches;         /* chunks of type DISPATCH or FOREIGN_LAUNCH in this file */
  ktrace_u64 host_ns;
};

/* --------------------------------------------------------------------------------------------------- session status
 * `ktrace run` names a folder; each process that calls HIP maps one file there, <pid>.status, and keeps it up to date, so
 * that its counts survive any way of ending. It is read once, by the `ktrace run` of the same version.
 */
#define KTRACE_STATUS_MAGIC 0x5453544bu /* "KTST" */
#define KTRACE_LOSS_REASONS 16

enum ktrace_status_flag {
  KTRACE_STATUS_SOFTWARE_DEVICE = 1, /* HIP is the software device */
  KTRACE_STATUS_CLOSED = 2,          /* the recording, if any, was closed */
  KTRACE_STATUS_OUTPUT_FAILED = 4,   /* the recording could not be written; see message */
  KTRACE_STATUS_REFUSED = 8,         /* the configuration was not understood: nothing was traced; see message */
  KTRACE_STATUS_BYSTANDER = 16       /* it never called HIP: only untraced_children has a meaning */
};

struct ktrace_status {
  ktrace_u32 magic;
  ktrace_u32 size; /* of this struct */
  ktrace_u32 pid;
  ktrace_u32 flags; /* ktrace_status_flag */
  struct ktrace_end_record counts;
  ktrace_u64 bytes;                       /* written to the recording */
  ktrace_u64 losses[KTRACE_LOSS_REASONS]; /* launches (or code objects) by ktrace_loss_reason */
  ktrace_u64 unselected_launches; /* of annotated kernels that --kernel did not choose */
  ktrace_u64 unseen_launches;     /* of kernels whose code object ktrace never saw: annotated or not, nobody knows */
  ktrace_u64 unread_fat_binaries; /* registered, but never read: what is in them is in no count */
  ktrace_u64 claim_launches;      /* dispatches with fewer slots than waves: KTRACE_MODE_CLAIM */
  ktrace_u64 grown_launches;      /* dispatches with larger regions than the rule's, as an earlier launch needed them */
  ktrace_u64 dropped_words;       /* words that found no room in their wave's region */
  ktrace_u64 skipped_launches;    /* chosen by name, but outside of --kernel-iteration-range or --collection-period */
  ktrace_u64 waited_launches;     /* that waited for a buffer: --on-full wait */
  ktrace_u64 waited_ns;           /* for how long, in all */
  ktrace_u64 unfinished_dispatches; /* recorded while they were still running: --hang */
  ktrace_u64 saturated_launches;  /* lost words under --full ring: their kernel was not built for it */
  ktrace_u64 graph_launches;      /* kernel nodes of graphs that were launched, also in `launches` */
  ktrace_u64 untraced_children;   /* programs started with an environment without ktrace: nothing of them is known */
  ktrace_u64 unbound_libraries;   /* opened with RTLD_DEEPBIND, which was taken away so that their calls are seen */
  ktrace_u64 unhooked_copies;     /* copies of HIP past the most that can be told apart: their calls are not seen */
  ktrace_u64 replaced_dispatches; /* in `counts.dispatches`; the same dispatch was recorded again later: --hang */
  char program[256];
  char output[4096];  /* the recording; "" while none was begun */
  char message[1024]; /* the first trouble, in words */
};

#ifdef __cplusplus
}
#endif
#endif
