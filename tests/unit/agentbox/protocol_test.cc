// pure: choosing a revision.
#include "agentbox/protocol.h"

#include "support/catch.h"

using namespace agentbox::mcp;

TEST_CASE("a handshake gets the revision it asked for where there is one") {
  for (const char* const name : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
    CHECK(features(negotiate(name)).name == name);
  }
}

TEST_CASE("a handshake for any other revision gets the newest that shakes hands") {
  for (const char* const name : {"2026-07-28", "2024-10-07", "2027-01-01", "x", ""}) {
    CHECK(negotiate(name) == Version::k2025_11_25);
  }
}

TEST_CASE("only the modern revision is found without a handshake") {
  CHECK(find_modern("2026-07-28") == Version::k2026_07_28);
  CHECK_FALSE(find_modern("2025-11-25"));
  CHECK_FALSE(find_modern(""));
}

TEST_CASE("all revisions are listed newest first") {
  const auto versions = all_versions();
  REQUIRE(versions.size() == 5);
  for (std::size_t i = 1; i < versions.size(); ++i) {
    CHECK(features(versions[i]).name < features(versions[i - 1]).name);
  }
}

TEST_CASE("batches belong to exactly one revision") {
  for (const Version version : all_versions()) {
    CHECK(features(version).batches == (version == Version::k2025_03_26));
  }
}

TEST_CASE("there are eight log levels, in order") {
  CHECK(find_log_level("debug") == LogLevel::kDebug);
  CHECK(find_log_level("emergency") == LogLevel::kEmergency);
  CHECK(LogLevel::kInfo < LogLevel::kWarning);
  CHECK(log_level_name(LogLevel::kCritical) == "critical");
  CHECK_FALSE(find_log_level("Debug"));
  CHECK_FALSE(find_log_level("trace"));
}
