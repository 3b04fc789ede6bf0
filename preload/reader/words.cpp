#include "words.hpp"

#include <algorithm>
#include <cstring>

namespace ktrace::reader {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are little-endian, and are read as they are");

constexpr std::uint32_t header_words = KTRACE_REGION_HEADER / sizeof(ktrace_word);

bool is_side(std::uint32_t tag) { return (tag & (KTRACE_TAG_SPAN | KTRACE_TAG_SIDE)) == KTRACE_TAG_SIDE; }

// The words of a wave by their place, and each one's number counted from the start of the region.
class Words {
 public:
  explicit Words(const Wave& wave)
      : m_bytes(reinterpret_cast<const char*>(static_cast<std::uintptr_t>(wave.words))),
        m_size(wave.main_words + wave.side_words),
        m_main_words(wave.main_words),
        m_from_end((has(wave, KTRACE_READER_RING) ? wave.region_words / 2 : wave.region_words) - m_size),
        m_keeps_empty(is_ended(wave)) {}

  std::uint32_t size() const { return m_size; }
  ktrace_word operator[](std::uint32_t place) const {
    ktrace_word word;
    std::memcpy(&word, m_bytes + std::size_t{place} * sizeof word, sizeof word);
    return word;
  }
  std::uint32_t number(std::uint32_t place) const {
    return place + (place < m_main_words ? header_words : m_from_end);
  }
  // A word that was never written is damage if the wave says that it ended.
  bool is_there(ktrace_word word) const { return word.tag != 0 || m_keeps_empty; }

 private:
  const char* m_bytes;
  std::uint32_t m_size;
  std::uint32_t m_main_words;
  std::uint32_t m_from_end;
  bool m_keeps_empty;
};

// Takes the words of one stream, oldest first.
class Stream {
 public:
  Stream(const Wave& wave, bool is_ring_begin, WaveWords& into, ktrace_reader_losses& losses)
      : m_into(into),
        m_losses(losses),
        m_now(wave.begin_ticks),
        m_is_eager(has(wave, KTRACE_READER_EAGER)),
        m_is_remnant(is_ring_begin),
        m_first_value(into.values.size()) {}

  void take(ktrace_word word, std::uint32_t number) {
    if ((word.tag & KTRACE_TAG_SPAN) != 0) {
      Event& event =
          begin_event(KTRACE_KIND_RANGE, (word.tag >> KTRACE_SPAN_ID_SHIFT) & (KTRACE_SPAN_IDS - 1));
      event.duration = word.tag & (KTRACE_SPAN_LIMIT - 1);
      set_ticks(event, word.clock);
      return;
    }
    const std::uint32_t kind = word.tag >> KTRACE_TAG_KIND_SHIFT;
    if (kind == KTRACE_KIND_VALUE) {
      take_value(word);
    } else if (kind <= KTRACE_KIND_RANGE || kind > KTRACE_KIND_ANCHOR) {
      take_torn();
    } else {
      Event& event = begin_event(static_cast<std::uint8_t>(kind), word.tag & KTRACE_TAG_ID_MASK);
      event.link = number;
      take_kind(event, word.clock);
    }
  }

  void end() {
    m_losses.stray_values += m_value_words;
    m_into.values.resize(m_first_value);
  }

 private:
  Event& begin_event(std::uint8_t kind, std::uint32_t id) {
    Event& event = m_into.events.add();
    event.kind = kind;
    event.id = id;
    event.flags = m_has_unit ? has_unit : 0;
    event.unit = m_unit;
    event.duration = 0;
    event.first_value = static_cast<std::uint32_t>(m_first_value);
    event.values = 0;
    ++m_into.words;
    if (m_value_words != 0) {
      event.values = static_cast<std::uint32_t>(m_into.values.size() - m_first_value);
      m_losses.stray_values += m_strays + (m_open_type != none);
      forget_values();
    }
    m_is_remnant = false;
    return event;
  }

  void take_kind(Event& event, std::uint32_t clock) {
    switch (event.kind) {
      case KTRACE_KIND_LONG_BEGIN:
        m_into.has_long_ranges = true;
        // Written when its range ends, its clock is no step of the stream; but an eager wave writes it at its
        // time.
        if (!m_is_eager) {
          event.ticks = clock;
          return;
        }
        break;
      case KTRACE_KIND_LONG_END:
        m_into.has_long_ranges = true;
        break;
      case KTRACE_KIND_ANCHOR:
        m_into.has_anchors = true;
        break;
      case KTRACE_KIND_START:
        m_into.has_starts = true;
        break;
      default:
        break;
    }
    set_ticks(event, clock);
  }

  void set_ticks(Event& event, std::uint32_t clock) {
    const std::uint32_t step = clock - low_half(m_now);
    m_now += step;
    event.ticks = m_now;
    if (step > clock_range / 2) event.flags |= after_gap;
  }

  // The high half of a wide value is the next word, of the same type.
  void take_value(ktrace_word word) {
    if (m_is_remnant) {
      ++m_losses.overwritten_words;
      return;
    }
    ++m_into.words;
    ++m_value_words;
    const std::uint32_t type = word.tag & KTRACE_TAG_ID_MASK;
    if (m_open_type != none) {
      const bool is_high = type == (m_open_type | KTRACE_VALUE_HIGH);
      if (is_high) m_into.values.push({m_open_type, 0, std::uint64_t{word.clock} << 32 | m_open_bits});
      m_strays += !is_high;
      m_open_type = none;
      if (is_high) return;
    }
    if (type <= KTRACE_VALUE_F32) {
      m_into.values.push({type, 0, word.clock});
    } else if (type <= KTRACE_VALUE_F64) {
      m_open_type = type;
      m_open_bits = word.clock;
    } else if (type == KTRACE_VALUE_UNIT) {
      m_has_unit = true;
      m_unit = word.clock;
    } else {
      ++m_strays;
    }
  }

  // Payload before a word that means nothing belongs to nothing.
  void take_torn() {
    ++m_into.words;
    ++m_losses.torn_words;
    m_losses.stray_values += m_strays + (m_open_type != none) + (m_into.values.size() - m_first_value);
    m_into.values.resize(m_first_value);
    forget_values();
    m_is_remnant = false;
  }

  void forget_values() {
    m_first_value = m_into.values.size();
    m_value_words = m_strays = 0;
    m_open_type = none;
    m_has_unit = false;
  }

  WaveWords& m_into;
  ktrace_reader_losses& m_losses;
  std::int64_t m_now;
  bool m_is_eager;
  bool m_is_remnant;  // payload, the begin of which may have been overwritten
  // Since the last event:
  std::size_t m_first_value;
  std::uint64_t m_value_words = 0;
  std::uint64_t m_strays = 0;
  std::uint32_t m_open_type = none;  // of a wide value that waits for its high half
  std::uint32_t m_open_bits = 0;
  std::uint32_t m_unit = 0;
  bool m_has_unit = false;
};

// Return the place of the oldest of a ring's main words, which are in order of address.
std::size_t find_oldest(const Wave& wave, const Words& words, const Buffer<std::uint32_t>& places) {
  const std::size_t size = places.size();
  if (size == 0 || size != wave.region_words / 2) return 0;
  if (wave.main_cursor >= sizeof(ktrace_word)) return wave.main_cursor / sizeof(ktrace_word) % size;
  // The wave has not ended and its cursor is not known: time goes back where the ring begins.
  std::size_t oldest = 0;
  std::int32_t least = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint32_t after = words[places[i + 1 == size ? 0 : i + 1]].clock;
    const auto step = static_cast<std::int32_t>(after - words[places[i]].clock);
    if (i != 0 && step >= least) continue;
    least = step;
    oldest = i + 1;
  }
  return oldest % size;
}

// A ring's main words count on from word to word, in 26 bits; the last one's number is known.
std::uint32_t read_ring(const Wave& wave, const Words& words, Buffer<std::uint32_t>& places, Stream& stream) {
  std::uint32_t side_words = 0;
  places.clear();
  for (std::uint32_t place = 0; place < words.size(); ++place) {
    const ktrace_word word = words[place];
    if (!words.is_there(word)) continue;
    side_words += is_side(word.tag);
    if (!is_side(word.tag)) places.push(place);
  }
  std::rotate(places.begin(), places.begin() + find_oldest(wave, words, places), places.end());
  const auto end = static_cast<std::uint32_t>(wave.main_cursor / sizeof(ktrace_word));
  std::uint32_t number = end - static_cast<std::uint32_t>(places.size());
  for (const std::uint32_t place : places) stream.take(words[place], number++ & KTRACE_TAG_ID_MASK);
  return side_words;
}

std::uint32_t read_main(const Words& words, Stream& stream) {
  std::uint32_t side_words = 0;
  for (std::uint32_t place = 0; place < words.size(); ++place) {
    const ktrace_word word = words[place];
    if (is_side(word.tag))
      ++side_words;
    else if (words.is_there(word))
      stream.take(word, words.number(place));
  }
  return side_words;
}

}  // namespace

void read_words(const Wave& wave, Buffer<std::uint32_t>& ring_order, WaveWords& into,
                ktrace_reader_losses& losses) {
  into.clear();
  const Words words(wave);
  into.events.reserve(words.size());
  Stream main(wave, has(wave, KTRACE_READER_OVERWRITTEN), into, losses);
  const std::uint32_t side_words =
      has(wave, KTRACE_READER_RING) ? read_ring(wave, words, ring_order, main) : read_main(words, main);
  main.end();
  into.main_events = into.events.size();
  into.side_words = side_words;
  if (side_words == 0) return;
  Stream side(wave, false, into, losses);
  // Side words grow downward, so the one at the highest address was the first.
  for (std::uint32_t place = words.size(); place-- > 0;)
    if (is_side(words[place].tag)) side.take(words[place], words.number(place));
  side.end();
}

}  // namespace ktrace::reader
