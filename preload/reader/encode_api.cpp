// The C ABI of the encoder: no exception leaves it. One that had no memory once is of no use any more.
#define KTRACE_READER_BUILD
#include "encode.hpp"

struct ktrace_encoder {
  ktrace::encode::Encoder encoder;
};

ktrace_encoder* ktrace_encoder_open(const ktrace_encoder_setup* setup) {
  try {
    return new ktrace_encoder{ktrace::encode::Encoder(*setup)};
  } catch (...) {
    return nullptr;
  }
}

void ktrace_encoder_close(ktrace_encoder* encoder) { delete encoder; }

void ktrace_encoder_start(ktrace_encoder* encoder, const ktrace_encoder_batch* batch) {
  encoder->encoder.start(*batch);
}

ktrace_i32 ktrace_encoder_write(ktrace_encoder* encoder, ktrace_u8* out, ktrace_u64 room, ktrace_u64* size) {
  try {
    std::size_t written = 0;
    const ktrace_i32 status = encoder->encoder.write(out, room, written);
    *size = written;
    return status;
  } catch (...) {
    *size = 0;
    return KTRACE_ENCODER_NO_MEMORY;
  }
}

const ktrace_u64* ktrace_encoder_new_tracks(const ktrace_encoder* encoder, ktrace_u64* count) {
  *count = encoder->encoder.new_tracks().size();
  return encoder->encoder.new_tracks().data();
}

ktrace_u32 ktrace_encoder_most_values(const ktrace_encoder* encoder) {
  return encoder->encoder.most_values();
}
