/* The C ABI of the encoder in libktrace_reader.so: rows of a timeline to packets of a Perfetto trace. Knows
 * no name and no file: strings, tracks and arguments are numbers that the caller has given out.
 *
 * `src/ktrace_cli/export/encoder_layout.py` mirrors these structs; tests/format/test_encoder_layout.py
 * compares them. KTRACE_READER_ABI counts their versions, too. An encoder serves one thread at a time. Rows
 * are only read, and must stay where they are until the batch is done. Nobody vouches for them: what
 * contradicts itself is refused. */
#ifndef KTRACE_ENCODE_H
#define KTRACE_ENCODE_H

#include "reader.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KTRACE_ENCODER_SLICE_FLAGS 16

enum ktrace_encoder_status {
  KTRACE_ENCODER_DONE = 0,
  KTRACE_ENCODER_MORE = 1, /* no room is left: take what was written, then go on */
  KTRACE_ENCODER_NO_MEMORY = 2,
  KTRACE_ENCODER_BAD_ROWS = 3,    /* a row names one that does not exist */
  KTRACE_ENCODER_OUT_OF_ORDER = 4 /* times on a track go back: a viewer would show other durations */
};

/* A slice that holds others on its track: a wave or a dispatch. */
struct ktrace_encoder_span {
  ktrace_i64 row; /* of Timeline.waves; ascending */
  ktrace_i64 begin_ns;
  ktrace_i64 end_ns;
  ktrace_u64 track; /* 0: it is not shown */
  ktrace_u64 name;
};

enum ktrace_encoder_kind { KTRACE_ENCODER_NUMBER = 0, KTRACE_ENCODER_FLAG = 1 };

/* An argument of spans. */
struct ktrace_encoder_column {
  ktrace_u32 name;
  ktrace_u32 kind; /* ktrace_encoder_kind */
};

enum ktrace_encoder_end {
  KTRACE_ENCODER_FLOW_BEGINS = 0,
  KTRACE_ENCODER_FLOW_ENDS_AT_BEGIN = 1, /* where its slice begins */
  KTRACE_ENCODER_FLOW_ENDS_AT_END = 2
};

/* One end of an arrow. */
struct ktrace_encoder_flow {
  ktrace_u64 id;
  ktrace_u64 end; /* ktrace_encoder_end */
};

/* What all batches share. Everything is copied. */
struct ktrace_encoder_setup {
  const ktrace_u32* event_names;   /* by Timeline.events */
  const ktrace_u32* running_names; /* of slices with `running_flag` */
  ktrace_u64 events;
  const ktrace_u8* reset; /* the packet that sets the sequence's clock back to `zero_ns` */
  ktrace_u64 reset_size;
  ktrace_i64 zero_ns; /* no time is earlier */
  ktrace_u64 first_track;
  ktrace_u64 tracks; /* without those of lanes, which follow them: lanes - 1 for each of them */
  ktrace_u32 lanes;  /* lane 0 has no track of its own */
  ktrace_u32 sequence;
  ktrace_u32 running_flag;
  ktrace_u32 first_value_name;                       /* of an event's first payload; the next ones follow */
  ktrace_u32 flag_names[KTRACE_ENCODER_SLICE_FLAGS]; /* by bit of SliceFlag; 0: not told */
};

/* Rows of one part, or of spans that hold nothing. */
struct ktrace_encoder_batch {
  const struct ktrace_encoder_span* spans;
  const ktrace_i64* numbers; /* shape (spans, columns); negative: absent */
  const struct ktrace_encoder_column* columns;
  const struct ktrace_reader_slice* slices;
  const struct ktrace_reader_instant* instants;
  const struct ktrace_reader_value* values;
  const ktrace_u64* first_flow; /* by slice, and one more; NULL: no arrows */
  const struct ktrace_encoder_flow* flows;
  ktrace_u64 span_count;
  ktrace_u64 column_count;
  ktrace_u64 slice_count;
  ktrace_u64 instant_count;
  ktrace_u64 value_count;
  ktrace_u64 flow_count;
};

struct ktrace_encoder;

/* NULL: no memory. */
KTRACE_READER_API struct ktrace_encoder* ktrace_encoder_open(const struct ktrace_encoder_setup* setup);
KTRACE_READER_API void ktrace_encoder_close(struct ktrace_encoder* encoder);

/* Begin with a batch; the one before is done or dropped. */
KTRACE_READER_API void ktrace_encoder_start(struct ktrace_encoder* encoder,
                                            const struct ktrace_encoder_batch* batch);

/* Write whole packets, at most `room` bytes of them; `size` is how many. Nothing but MORE: `room` is too
 * small for one. */
KTRACE_READER_API ktrace_i32 ktrace_encoder_write(struct ktrace_encoder* encoder, ktrace_u8* out,
                                                  ktrace_u64 room, ktrace_u64* size);

/* The tracks of lanes that the last write used for the first time, and the most payloads of one event so far.
 */
KTRACE_READER_API const ktrace_u64* ktrace_encoder_new_tracks(const struct ktrace_encoder* encoder,
                                                              ktrace_u64* count);
KTRACE_READER_API ktrace_u32 ktrace_encoder_most_values(const struct ktrace_encoder* encoder);

#ifdef __cplusplus
}
#endif
#endif
