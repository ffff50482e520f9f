// pure: what lies beside a box: box.json reads back as itself; a supervisor's note and a line of
// /proc, in which a program chose its own name, name one process or none.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "provision/box.h"
#include "provision/supervisor_note.h"

namespace {

using namespace agentbox;
using namespace agentbox::provision;

void expect(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void try_record(std::string_view text) {
  if (const auto record = parse_record(text); record.ok()) {
    const std::string written = render_record(*record);
    const auto again = parse_record(written);
    expect(again.ok() && render_record(*again) == written);
  }
}

void try_note(std::string_view text) {
  const auto note = parse_note(text);
  if (!note.ok()) {
    return;
  }
  expect(note->pid > 1 && note->start_ticks > 0);
  for (const ChildNote* child : {&note->door, &note->box}) {
    expect(child->pid >= 0 && is_printable_ascii(child->last_end));
  }
  const auto again = parse_note(render_note(*note));
  expect(again.ok() && again->pid == note->pid && again->start_ticks == note->start_ticks);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_record(text);
  try_note(text);
  static_cast<void>(start_ticks_of(text));
  return 0;
}
