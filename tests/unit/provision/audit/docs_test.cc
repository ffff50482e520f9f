// edge: docs/audit.md names what the program has.
#include "base/handle.h"
#include "provision/audit/paper.h"
#include "sample.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::provision::audit;

TEST_CASE("the page on the audit has every rule as the table has it, and every section") {
  const auto page = read_file_capped(AGENTBOX_SOURCE_DIR "/docs/audit.md", 1U << 20U);
  REQUIRE(page.ok());
  std::size_t rows = 0;
  for (const Rule& rule : all_rules()) {
    const std::string row = "| " + std::string(rule.code) + " | " +
                            std::string(name_of(rule.severity)) + " | " + std::string(rule.title) +
                            " | " + std::string(rule.reference) + " |";
    CAPTURE(row);
    CHECK(page->find(row) != std::string::npos);
  }
  for (std::size_t at = 0; (at = page->find("\n| AB", at)) != std::string::npos; ++at) {
    ++rows;
  }
  CHECK(rows == all_rules().size());
  for (const Section& section : describe(sound_box()).sections) {
    CAPTURE(section.id);
    CHECK(page->find("`" + section.id + "`") != std::string::npos);
  }
}
