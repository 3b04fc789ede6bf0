#include "annotations.hpp"

#include <cstddef>
#include <optional>
#include <utility>

#include "notes.hpp"

namespace ktrace {
namespace {

constexpr std::uint32_t note_type_metadata = 32;

struct Event {
  std::uint16_t kind;
  std::string name, lane, place;

  // Inlining and unrolling repeat a note.
  bool is_same_as(const Event& other) const {
    return kind == other.kind && name == other.name && lane == other.lane;
  }
};

using EventKey = std::pair<std::uint64_t, std::uint32_t>;  // unit key, event id
using Events = std::map<EventKey, Event>;

void take_kernel(const Note& note, Annotations* out) {
  KernelNote kernel{};
  if (!note.descriptor.read(0, &kernel.note)) {
    out->is_damaged = true;
    return;
  }
  kernel.pc = note.address + offsetof(ktrace_kernel_note, pc) + static_cast<std::uint64_t>(kernel.note.pc);
  out->kernels.push_back(kernel);
}

void take_event(const Note& note, Events* events, Annotations* out) {
  ktrace_event_note record;
  if (!note.descriptor.read(0, &record)) {
    out->is_damaged = true;
    return;
  }
  Event event;
  event.kind = record.kind;
  event.name = note.descriptor.string_at(sizeof record);
  event.lane = std::string(record.lane, ::strnlen(record.lane, sizeof record.lane));
  event.place =
      note.descriptor.string_at(sizeof record + event.name.size() + 1) + ":" + std::to_string(record.line);
  const auto [known, is_new] = events->emplace(EventKey{record.unit_key, record.event_id}, event);
  const Event& first = known->second;
  if (is_new || first.is_same_as(event)) return;
  out->shared_units.emplace(
      record.unit_key, "event " + std::to_string(record.event_id) + " of its unit is `" + first.name + "` (" +
                           first.place + ") and `" + event.name + "` (" + event.place +
                           "): two translation units share one unit key; compile them with different "
                           "-DKTRACE_UNIT_NAME");
}

// A recorded event names its unit by the low half of the key.
void find_half_shared_units(const Events& events, Annotations* out) {
  std::map<std::uint32_t, std::uint64_t> unit_by_half;
  for (const auto& [key, event] : events) {
    const std::uint64_t unit = key.first;
    const std::uint64_t first = unit_by_half.emplace(static_cast<std::uint32_t>(unit), unit).first->second;
    if (first == unit) continue;
    for (const std::uint64_t shared : {first, unit})
      out->shared_units.emplace(shared,
                                "two translation units have keys with one low half; compile them with "
                                "different -DKTRACE_UNIT_NAME");
  }
}

}  // namespace

bool may_be_annotated(const ElfImage& image) {
  bool is_damaged = false;
  for (const NoteArea& area : image.note_areas(&is_damaged))
    for (const Note& note : read_notes(area, &is_damaged))
      if (note.owner == KTRACE_NOTE_OWNER) return true;
  return is_damaged;
}

Annotations read_annotations(const ElfImage& image) {
  Annotations result;
  Events events;
  std::vector<Metadata> parts;
  for (const NoteArea& area : image.note_areas(&result.is_damaged)) {
    for (const Note& note : read_notes(area, &result.is_damaged)) {
      if (note.owner == KTRACE_NOTE_OWNER && note.type == KTRACE_NOTE_KERNEL) {
        take_kernel(note, &result);
      } else if (note.owner == KTRACE_NOTE_OWNER && note.type == KTRACE_NOTE_EVENT) {
        take_event(note, &events, &result);
      } else if (note.owner == "AMDGPU" && note.type == note_type_metadata) {
        if (std::optional<Metadata> part = read_metadata(note.descriptor))
          parts.push_back(std::move(*part));
        else
          result.has_damaged_metadata = true;
      }
    }
  }
  find_half_shared_units(events, &result);
  result.has_metadata = !parts.empty();
  result.metadata = merge_metadata(std::move(parts));
  return result;
}

}  // namespace ktrace
