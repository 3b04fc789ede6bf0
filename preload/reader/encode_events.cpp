// Single events of the encoder: a BEGIN, an END or a mark with all that is told about it.
#include "encode.hpp"

namespace ktrace::encode {
namespace {

std::uint8_t* put_value(std::uint8_t* out, std::uint64_t name, const ktrace_reader_value& value) {
  const std::uint64_t bits = value.bits;
  switch (value.type) {
    case KTRACE_VALUE_BOOL:
      return put_annotation(out, name, bool_tag, bits);
    case KTRACE_VALUE_I32: {
      const auto narrow = static_cast<std::int32_t>(static_cast<std::uint32_t>(bits));
      return put_annotation(out, name, int_tag, static_cast<std::uint64_t>(std::int64_t{narrow}));
    }
    case KTRACE_VALUE_I64:
      return put_annotation(out, name, int_tag, bits);
    case KTRACE_VALUE_F32: {
      const auto low = static_cast<std::uint32_t>(bits);
      float single;
      std::memcpy(&single, &low, sizeof(single));
      const double wide = static_cast<double>(single);
      std::uint64_t wide_bits;
      std::memcpy(&wide_bits, &wide, sizeof(wide));
      return put_annotation(out, name, double_tag, wide_bits);
    }
    case KTRACE_VALUE_F64:
      return put_annotation(out, name, double_tag, bits);
    default:
      return put_annotation(out, name, uint_tag, bits);
  }
}

std::int64_t end_of(const Slice& slice) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(slice.begin_ns) +
                                   static_cast<std::uint64_t>(slice.ns));
}

}  // namespace

ktrace_encoder_status Encoder::write_next(Cursor& cursor) {
  switch (cursor.type) {
    case begin_event:
      return write_begin(cursor);
    case end_event:
      return write_end(cursor);
    case instant_event:
      break;
  }
  return write_mark(cursor);
}

ktrace_encoder_status Encoder::write_begin(Cursor& cursor) {
  const Slice& slice = m_batch.slices[cursor.next];
  const bool is_neighbour = slice.lane == cursor.lane && slice.wave == m_batch.spans[m_span].row;
  std::uint64_t flow = 0, stop_flow = 0;
  if (!is_neighbour || static_cast<std::uint64_t>(static_cast<std::int64_t>(slice.event)) >= m_setup.events ||
      !has_values(slice.first_value, slice.values) || !flows_of(cursor.next, flow, stop_flow)) {
    return KTRACE_ENCODER_BAD_ROWS;
  }
  if (slice.ns < 0) return KTRACE_ENCODER_OUT_OF_ORDER;
  if (!has_room(slice.values + KTRACE_ENCODER_SLICE_FLAGS, stop_flow - flow)) return KTRACE_ENCODER_MORE;
  cursor.open.push_back({end_of(slice), cursor.next});
  const auto event = static_cast<std::size_t>(slice.event);
  const bool is_running = (slice.flags & m_setup.running_flag) != 0;
  std::uint8_t* out = put_head(cursor.ns, begin_event, cursor.track);
  out = (is_running ? m_running_names : m_event_names)[event].put(out);
  if (slice.values != 0) out = put_values(out, slice.first_value, slice.values);
  if (slice.flags != 0) out = put_flags(out, slice.flags);
  for (; flow < stop_flow; ++flow) {
    const ktrace_encoder_flow& arrow = m_batch.flows[flow];
    if (arrow.end == KTRACE_ENCODER_FLOW_BEGINS) out = put_flow(out, flow_field, arrow.id);
    if (arrow.end == KTRACE_ENCODER_FLOW_ENDS_AT_BEGIN) out = put_flow(out, terminating_flow_field, arrow.id);
  }
  finish(out);
  ++cursor.next;
  return KTRACE_ENCODER_DONE;
}

ktrace_encoder_status Encoder::write_end(Cursor& cursor) {
  std::uint64_t flow = 0, stop_flow = 0;
  if (!flows_of(cursor.open.back().row, flow, stop_flow)) return KTRACE_ENCODER_BAD_ROWS;
  if (!has_room(0, stop_flow - flow)) return KTRACE_ENCODER_MORE;
  std::uint8_t* out = put_head(cursor.ns, end_event, cursor.track);
  for (; flow < stop_flow; ++flow) {
    const ktrace_encoder_flow& arrow = m_batch.flows[flow];
    if (arrow.end == KTRACE_ENCODER_FLOW_ENDS_AT_END) out = put_flow(out, terminating_flow_field, arrow.id);
  }
  finish(out);
  cursor.open.pop_back();
  return KTRACE_ENCODER_DONE;
}

ktrace_encoder_status Encoder::write_mark(Cursor& cursor) {
  const Instant& instant = m_batch.instants[cursor.next];
  if (instant.wave != m_batch.spans[m_span].row || !has_values(instant.first_value, instant.values) ||
      static_cast<std::uint64_t>(static_cast<std::int64_t>(instant.event)) >= m_setup.events) {
    return KTRACE_ENCODER_BAD_ROWS;
  }
  if (!has_room(instant.values, 0)) return KTRACE_ENCODER_MORE;
  std::uint8_t* out = put_head(cursor.ns, instant_event, cursor.track);
  out = m_event_names[static_cast<std::size_t>(instant.event)].put(out);
  finish(put_values(out, instant.first_value, instant.values));
  ++cursor.next;
  return KTRACE_ENCODER_DONE;
}

// Tell whether an event of so many arguments and arrows is certain to fit.
bool Encoder::has_room(std::size_t annotations, std::size_t flows) const {
  const std::size_t wanted = m_reset.size() + event_room + annotations * annotation_room + flows * flow_room;
  return static_cast<std::size_t>(m_limit - m_out) >= wanted;
}

bool Encoder::has_values(std::int64_t first, std::uint32_t count) const {
  const auto from = static_cast<std::uint64_t>(first);
  return count == 0 || (from < m_batch.value_count && count <= m_batch.value_count - from);
}

bool Encoder::flows_of(std::uint64_t slice, std::uint64_t& first, std::uint64_t& stop) const {
  if (m_batch.first_flow == nullptr) return true;
  first = m_batch.first_flow[slice];
  stop = m_batch.first_flow[slice + 1];
  return first <= stop && stop <= m_batch.flow_count;
}

std::uint8_t* Encoder::put_head(std::int64_t ns, EventType type, const Fields& track) {
  if (ns < m_now) {
    std::memcpy(m_out, m_reset.data(), m_reset.size());
    m_out += m_reset.size();
    m_now = m_setup.zero_ns;
  }
  std::uint8_t* out = m_out;
  *out = packet_tag;
  m_packet = out + 2;
  out = m_packet;
  *out++ = timestamp_tag;
  out = put_varint(out, static_cast<std::uint64_t>(ns) - static_cast<std::uint64_t>(m_now));
  m_now = ns;
  out = m_sequence.put(out);
  *out = track_event_tag;
  m_event = out + 2;
  out = m_event;
  *out++ = type_tag;
  *out++ = type;
  return track.put(out);
}

std::uint8_t* Encoder::put_values(std::uint8_t* out, std::int64_t first, std::uint32_t count) {
  if (count > m_most_values) m_most_values = count;
  for (std::uint32_t number = 0; number < count; ++number) {
    const std::uint64_t name = std::uint64_t{m_setup.first_value_name} + number;
    out = put_value(out, name, m_batch.values[static_cast<std::uint64_t>(first) + number]);
  }
  return out;
}

std::uint8_t* Encoder::put_flags(std::uint8_t* out, std::uint32_t flags) const {
  for (unsigned bit = 0; bit < KTRACE_ENCODER_SLICE_FLAGS; ++bit) {
    const bool is_told = (flags >> bit & 1) != 0 && m_setup.flag_names[bit] != 0;
    if (is_told) out = put_annotation(out, m_setup.flag_names[bit], bool_tag, 1);
  }
  return out;
}

std::uint8_t* Encoder::put_columns(std::uint8_t* out) const {
  const ktrace_i64* const numbers = m_batch.numbers + m_span * m_batch.column_count;
  for (std::uint64_t column = 0; column < m_batch.column_count; ++column) {
    if (numbers[column] < 0) continue;
    const ktrace_encoder_column& argument = m_batch.columns[column];
    const std::uint8_t tag = argument.kind == KTRACE_ENCODER_FLAG ? bool_tag : uint_tag;
    out = put_annotation(out, argument.name, tag, static_cast<std::uint64_t>(numbers[column]));
  }
  return out;
}

void Encoder::finish(std::uint8_t* out) {
  out = close_message(m_event, out);
  m_out = close_message(m_packet, out);
}

}  // namespace ktrace::encode
