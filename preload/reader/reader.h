/* The C ABI of libktrace_reader.so: words of a recording to slices, instants and values. Knows no file and no
 * name.
 *
 * `src/ktrace_cli/timeline/native.py` mirrors these structs; tests/format/test_reader_layout.py compares
 * them. All rows are free of padding. A reader serves one thread at a time. Words are input that nobody
 * vouches for: whatever they are, every one of them is shown or counted. */
#ifndef KTRACE_READER_H
#define KTRACE_READER_H

#include "ktrace/format.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef __INT32_TYPE__ ktrace_i32;

#define KTRACE_READER_ABI 3u
#define KTRACE_READER_NONE (-1)
#define KTRACE_READER_OVERLAP 0xffffffffu /* the base of lanes for what crosses on a wave's own lane */

/* Ids without a name of which there are too many for each to be an event: all others of a kernel are one,
 * with this id. */
#define KTRACE_READER_MOST_UNNAMED 65536u
#define KTRACE_READER_OTHER_ID 0xffffffffu

enum ktrace_reader_status {
  KTRACE_READER_DONE = 0,
  KTRACE_READER_NO_MEMORY = 1,
  /* There are other rows than there is room for: the words are not those that were scanned. */
  KTRACE_READER_CHANGED = 2
};

/* Flags of model.WaveFlag, and what is known of a wave's dispatch. */
enum ktrace_reader_wave_flag {
  KTRACE_READER_UNFINISHED = 1,
  KTRACE_READER_TORN = 2, /* its words are not looked at */
  KTRACE_READER_DROPPED = 4,
  KTRACE_READER_CLAMPED = 16,
  KTRACE_READER_OVERWRITTEN = 128,
  KTRACE_READER_UNREADABLE = 256,
  KTRACE_READER_EAGER = 65536,
  KTRACE_READER_RING = 131072,
  KTRACE_READER_RUNNING = 262144 /* its dispatch was recorded before it ended: what is open has no end yet */
};

/* Flags of model.SliceFlag. */
enum ktrace_reader_slice_flag {
  KTRACE_READER_SLICE_UNCLOSED = 1,
  KTRACE_READER_SLICE_TRUNCATED = 2,
  KTRACE_READER_SLICE_CLAMPED = 4,
  KTRACE_READER_SLICE_LONG_GAP = 8
};

enum ktrace_reader_event_flag {
  KTRACE_READER_EVENT_LANE = 1, /* its marker names a lane */
  KTRACE_READER_EVENT_USED = 2  /* a slice or an instant has it */
};

/* An event: named ones are given, those whose ids have no name are added as they are met. */
struct ktrace_reader_event {
  ktrace_u32 kernel;
  ktrace_u32 unit; /* low half of the unit key */
  ktrace_u32 id;
  ktrace_u32 kind;  /* ktrace_kind */
  ktrace_u32 base;  /* number of the name that its lanes have if it has lanes of its own */
  ktrace_u32 flags; /* ktrace_reader_event_flag */
};

/* A lane: the `number`th, from 0, of those with one base. */
struct ktrace_reader_lane {
  ktrace_u32 base;
  ktrace_u32 number;
};

struct ktrace_reader_wave {
  ktrace_u64 words; /* address of its main words, then its side words, in any alignment */
  ktrace_u32 main_words;
  ktrace_u32 side_words;
  ktrace_u32 region_words;
  ktrace_u32 main_cursor; /* bytes */
  ktrace_u32 flags;       /* ktrace_reader_wave_flag */
  ktrace_u32 kernel;
  ktrace_i64 begin_ticks;
  ktrace_i64 end_ticks;
  ktrace_i64 begin_realtime; /* of the reference clock */
  ktrace_i64 end_realtime;   /* 0: it has not ended */
  ktrace_i32 row;            /* what rows call this wave */
  ktrace_u32 first_piece;    /* of its clock */
  ktrace_u32 pieces;
  ktrace_u32 reserved;
};

/* What a scan finds of a wave. */
struct ktrace_reader_scanned {
  ktrace_i64 end_ticks; /* of its last word, if that is later than the end it told */
  ktrace_i32 group;     /* event that names its role, or KTRACE_READER_NONE */
  ktrace_u32 flags;     /* ktrace_reader_wave_flag to add */
  ktrace_u32 words;
  ktrace_u32 side_words;
  ktrace_u32 slices;
  ktrace_u32 unclosed; /* of them */
  ktrace_u32 instants;
  ktrace_u32 reserved;
  ktrace_u64 slice_values;
  ktrace_u64 instant_values;
};

/* Both clocks, read at one moment. */
struct ktrace_reader_anchor {
  ktrace_i64 row;
  ktrace_i64 ticks;
  ktrace_i64 realtime;
};

struct ktrace_reader_losses {
  ktrace_u64 torn_words;
  ktrace_u64 clamped_words;
  ktrace_u64 overwritten_words;
  ktrace_u64 overwritten_begins;
  ktrace_u64 stray_ends;
  ktrace_u64 stray_values;
  ktrace_u64 long_gaps;
  ktrace_u64 clamped_slices;
  ktrace_u64 unnamed_events; /* roles, slices and instants */
  ktrace_u64 deep_slices;    /* on lanes for what crosses, as more are around them than `depth` can tell */
};

/* Pieces of lines from ticks to nanoseconds: clock.ClockMap. */
struct ktrace_reader_clock {
  const ktrace_i64* ticks;
  const ktrace_i64* ns;
  const double* slope;
  ktrace_u64 pieces;
};

/* model.SLICE, model.INSTANT and model.VALUE. */
struct ktrace_reader_slice {
  ktrace_i32 wave;
  ktrace_i32 event;
  ktrace_i32 lane;
  ktrace_u16 depth;
  ktrace_u16 flags;
  ktrace_i64 begin_ticks;
  ktrace_i64 ticks;
  ktrace_i64 begin_ns;
  ktrace_i64 ns;
  ktrace_i64 first_value;
  ktrace_u32 values;
  ktrace_i32 parent;
};

struct ktrace_reader_instant {
  ktrace_i32 wave;
  ktrace_i32 event;
  ktrace_i64 ticks;
  ktrace_i64 ns;
  ktrace_i64 first_value;
  ktrace_u32 values;
  ktrace_u32 reserved;
};

struct ktrace_reader_value {
  ktrace_u32 type;
  ktrace_u32 reserved;
  ktrace_u64 bits;
};

/* Where rows go; room for as many of each as the scan has counted. */
struct ktrace_reader_rows {
  struct ktrace_reader_slice* slices;
  struct ktrace_reader_instant* instants;
  struct ktrace_reader_value* values; /* those of slices, then those of instants */
  ktrace_u64 slice_count;
  ktrace_u64 instant_count;
  ktrace_u64 slice_values;
  ktrace_u64 instant_values;
};

struct ktrace_reader;

#ifdef KTRACE_READER_BUILD
#define KTRACE_READER_API __attribute__((visibility("default")))
#else
#define KTRACE_READER_API
#endif

KTRACE_READER_API ktrace_u32 ktrace_reader_abi(void);

/* `units` holds the low half of each kernel's own unit key; bases count from 0 and are below `bases`. NULL:
 * no memory. */
KTRACE_READER_API struct ktrace_reader* ktrace_reader_open(const ktrace_u32* units, ktrace_u64 kernels,
                                                           const struct ktrace_reader_event* events,
                                                           ktrace_u64 event_count, ktrace_u32 bases);
KTRACE_READER_API void ktrace_reader_close(struct ktrace_reader* reader);

/* Look at waves without making rows; `losses` are added to. */
KTRACE_READER_API ktrace_i32 ktrace_reader_scan(struct ktrace_reader* reader,
                                                const struct ktrace_reader_wave* waves, ktrace_u64 count,
                                                struct ktrace_reader_scanned* scanned,
                                                struct ktrace_reader_losses* losses);

/* What was met so far. These hold until the next call. Lane 0 is a wave's own and has no base. */
KTRACE_READER_API const struct ktrace_reader_anchor* ktrace_reader_anchors(
    const struct ktrace_reader* reader, ktrace_u64* count); /* of the last scan */
KTRACE_READER_API const struct ktrace_reader_event* ktrace_reader_events(const struct ktrace_reader* reader,
                                                                         ktrace_u64* count);
KTRACE_READER_API const struct ktrace_reader_lane* ktrace_reader_lanes(const struct ktrace_reader* reader,
                                                                       ktrace_u64* count);

/* Name rows from now on by these numbers, one for each event and lane that was met. */
KTRACE_READER_API ktrace_i32 ktrace_reader_arrange(struct ktrace_reader* reader, const ktrace_i32* event_rows,
                                                   ktrace_u64 events, const ktrace_i32* lane_rows,
                                                   ktrace_u64 lanes);

/* Make the rows of waves: slices by wave, lane and begin, parents before children; instants by wave and time.
 * `rows` says how much room there is; all of it is used, or the words have changed. */
KTRACE_READER_API ktrace_i32 ktrace_reader_decode(struct ktrace_reader* reader,
                                                  const struct ktrace_reader_wave* waves, ktrace_u64 count,
                                                  const struct ktrace_reader_clock* clock,
                                                  const struct ktrace_reader_rows* rows);

#ifdef __cplusplus
}
#endif
#endif
