// pure: the record of an upload: what is kept comes back, what agent code wrote does not get far.
#include "agentbox/upload_record.h"

#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::mcp;

namespace {

UploadRecord sample() {
  return {.id = std::string(32, 'a'),
          .path = "/workspace/a",
          .temporary = ".agentbox-tmp-1",
          .device = 5,
          .inode = 7,
          .total_size = 9,
          .sha256 = std::string(64, 'b'),
          .mode = 0640,
          .if_sha256 = {},
          .if_absent = true,
          .made_folders = 2,
          .started_ms = 11,
          .complete = false};
}

bool taken(void (*change)(UploadRecord&)) {
  UploadRecord record = sample();
  change(record);
  return decode_upload_record(encode_upload_record(record)).ok();
}

}  // namespace

TEST_CASE("the record of an upload comes back as it was") {
  const std::string text = encode_upload_record(sample());
  const auto record = decode_upload_record(text);
  REQUIRE(record.ok());
  CHECK(encode_upload_record(*record) == text);
}

TEST_CASE("a record that names what no upload can have is refused") {
  CHECK(taken([](UploadRecord&) {}));
  CHECK_FALSE(taken([](UploadRecord& r) { r.id = "x"; }));
  CHECK_FALSE(taken([](UploadRecord& r) { r.temporary = "file"; }));
  CHECK_FALSE(taken([](UploadRecord& r) { r.temporary = ".agentbox-tmp-/../x"; }));
  CHECK_FALSE(taken([](UploadRecord& r) { r.total_size = kMaxUploadBytes + 1; }));
  CHECK_FALSE(taken([](UploadRecord& r) { r.sha256 = "b"; }));
  CHECK_FALSE(taken([](UploadRecord& r) { r.if_sha256 = "b"; }));
  CHECK_FALSE(taken([](UploadRecord& r) { r.mode = 010000; }));
  CHECK_FALSE(taken([](UploadRecord& r) { r.made_folders = 1U << 30U; }));
  CHECK_FALSE(decode_upload_record("").ok());
  CHECK_FALSE(decode_upload_record("{}").ok());
  CHECK_FALSE(decode_upload_record(std::string(kMaxUploadRecordBytes + 1, ' ')).ok());
}
