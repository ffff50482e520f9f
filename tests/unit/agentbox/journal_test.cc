// pure: a journal comes back as it was written, and what leads elsewhere is none.
#include "agentbox/journal.h"

#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::mcp;

namespace {

Journal sample() {
  return {.root_device = 1,
          .root_inode = 2,
          .made = {{.folder = ".", .name = "a"}, {.folder = "a", .name = "b\n\xff"}},
          .staged = {{.folder = "a/b\n\xff", .name = ".agentbox-tmp-1"}},
          .stashed = {{.folder = ".", .name = ".agentbox-tmp-2"}},
          .steps = {{.kind = StepKind::kRename,
                     .at = {.folder = ".", .name = "x"},
                     .from = {.folder = "a", .name = ".agentbox-tmp-1"},
                     .new_inode = 3},
                    {.kind = StepKind::kReplace,
                     .at = {.folder = ".", .name = "y"},
                     .from = {.folder = ".", .name = ".agentbox-tmp-3"},
                     .kept = ".agentbox-tmp-2",
                     .new_inode = 4,
                     .old_inode = 5},
                    {.kind = StepKind::kInPlace,
                     .at = {.folder = ".", .name = "z"},
                     .kept = "kept-0",
                     .old_inode = 6,
                     .old_mode = 0644},
                    {.kind = StepKind::kMode,
                     .at = {.folder = ".", .name = "m"},
                     .old_inode = 7,
                     .old_mode = 0600}}};
}

bool taken(void (*change)(Journal&)) {
  Journal journal = sample();
  change(journal);
  return decode_journal(encode_journal(journal)).ok();
}

}  // namespace

TEST_CASE("a journal comes back as it was, whatever bytes its names have") {
  const auto journal = decode_journal(encode_journal(sample()));
  REQUIRE(journal.ok());
  CHECK(encode_journal(*journal) == encode_journal(sample()));
  CHECK(journal->made[1].name == "b\n\xff");
}

TEST_CASE("a journal whose places lead elsewhere is none") {
  CHECK(taken([](Journal&) {}));
  for (const char* const folder : {"", "/", "/etc", "..", "a/..", "a//b", "a/", "./a"}) {
    Journal journal = sample();
    journal.steps[0].at.folder = folder;
    INFO(folder);
    CHECK_FALSE(decode_journal(encode_journal(journal)).ok());
  }
  CHECK_FALSE(taken([](Journal& j) { j.steps[0].at.name = ".."; }));
  CHECK_FALSE(taken([](Journal& j) { j.steps[0].at.name = "a/b"; }));
  CHECK_FALSE(taken([](Journal& j) { j.steps[0].at.name = ""; }));
  CHECK_FALSE(taken([](Journal& j) { j.staged[0].name = "precious"; }));
  CHECK_FALSE(taken([](Journal& j) { j.stashed[0].name = "precious"; }));
  CHECK_FALSE(taken([](Journal& j) { j.steps[1].kept = "precious"; }));
  CHECK_FALSE(taken([](Journal& j) { j.steps[2].kept = "../x"; }));
  CHECK_FALSE(taken([](Journal& j) { j.steps[3].old_mode = 0100000; }));
  CHECK_FALSE(decode_journal("").ok());
  CHECK_FALSE(decode_journal("{}").ok());
  CHECK_FALSE(decode_journal("[]").ok());
}
