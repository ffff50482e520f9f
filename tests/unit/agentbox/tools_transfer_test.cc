// edge: upload_chunk and download_chunk: what arrives, what is refused, and what is left.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "agentbox/private_folder.h"
#include "agentbox/upload_record.h"
#include "agentbox/uploads.h"
#include "base/text.h"
#include "support/catch.h"
#include "unit/agentbox/small_disk.h"
#include "unit/agentbox/tool_fixture.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::test;

namespace {

struct Sender : ToolFixture {
  OrderedJson send(OrderedJson arguments, std::string_view data = {}) {
    if (!data.empty()) {
      arguments["data"] = base64_encode(data);
    }
    return structured(upload_chunk_tool(), dump_json(arguments));
  }
  std::string refused(OrderedJson arguments, std::string_view data = {}) {
    if (!data.empty()) {
      arguments["data"] = base64_encode(data);
    }
    const ToolResult result = call(upload_chunk_tool(), dump_json(arguments));
    details = result.error ? result.error->details : OrderedJson();
    return result.error ? result.error->code : "";
  }
  std::string begin(const std::string& path, std::int64_t size) {
    return send({{"path", path}, {"total_size", size}}).at("upload_id").get<std::string>();
  }
  OrderedJson load(OrderedJson arguments) {
    return structured(download_chunk_tool(), dump_json(arguments));
  }
  // Names in the workspace's top folder that only unfinished things have.
  [[nodiscard]] std::size_t unfinished() const {
    std::size_t count = 0;
    const UniqueFd folder(::open(root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (const std::string& name : list_names(folder.get(), 100)) {
      count += is_temporary_name(name) ? 1U : 0U;
    }
    return count;
  }
  OrderedJson details = {};
};

bool exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

}  // namespace

TEST_CASE("a file in pieces appears whole, when all has arrived, and with its hash") {
  Sender box;
  const auto first = box.send({{"path", "d/e/f"}, {"total_size", 6}}, "abc");
  CHECK(first.at("received_bytes") == 3);
  CHECK(first.at("complete") == false);
  CHECK(first.at("path") == box.at("d/e/f"));
  CHECK_FALSE(exists(box.at("d/e/f")));
  const std::string id = first.at("upload_id");
  const auto last =
      box.send({{"upload_id", id}, {"offset", 3}, {"sha256", sha256_hex("abcdef")}}, "def");
  CHECK(last.at("complete") == true);
  CHECK(last.at("sha256") == sha256_hex("abcdef"));
  CHECK(file_content(box.at("d/e/f")) == "abcdef");
  CHECK(mode_of(box.at("d/e/f")) == (0644U & ~box.box().workspace->umask_bits()));
}

TEST_CASE("a whole file can come in one call, an empty one without data") {
  Sender box;
  CHECK(box.send({{"path", "a"}, {"total_size", 3}}, "abc").at("complete") == true);
  CHECK(box.send({{"path", "e"}, {"total_size", 0}}).at("complete") == true);
  CHECK(file_content(box.at("a")) == "abc");
  CHECK(file_content(box.at("e")).empty());
  CHECK(box.unfinished() == 0);
}

TEST_CASE("its size may be told with the last piece only") {
  Sender box;
  const std::string id = box.send({{"path", "a"}}, "abc").at("upload_id");
  const auto last = box.send({{"upload_id", id}, {"offset", 3}, {"total_size", 4}}, "d");
  CHECK(last.at("complete") == true);
  CHECK(file_content(box.at("a")) == "abcd");
}

TEST_CASE("a piece that is stored already is success, and any session can go on") {
  Sender box;
  const std::string id = box.begin("a", 6);
  box.send({{"upload_id", id}, {"offset", 0}}, "abc");
  CHECK(box.send({{"upload_id", id}, {"offset", 0}}, "abc").at("received_bytes") == 3);
  CHECK(box.send({{"upload_id", id}}).at("received_bytes") == 3);
  // Overlapping: what is known is compared, the rest is taken.
  CHECK(box.send({{"upload_id", id}, {"offset", 1}}, "bcd").at("received_bytes") == 4);
  CHECK(box.refused({{"upload_id", id}, {"offset", 1}}, "xcd") == "OFFSET_MISMATCH");
  CHECK(box.refused({{"upload_id", id}, {"offset", 5}}, "f") == "OFFSET_MISMATCH");
  CHECK(box.details.at("received_bytes") == 4);
  CHECK(box.send({{"upload_id", id}, {"offset", 4}}, "ef").at("complete") == true);
  // Who missed the answer sends the last one again.
  CHECK(box.send({{"upload_id", id}, {"offset", 4}}, "ef").at("complete") == true);
  CHECK(file_content(box.at("a")) == "abcdef");
}

TEST_CASE("a session that was killed between the last two steps is told of by the next") {
  Sender box;
  const std::string id = box.begin("a", 3);
  box.send({{"upload_id", id}, {"offset", 0}, {"sha256", sha256_hex("abc")}}, "abc");
  // Take the record back to what it was before the file got its name.
  const std::string path = box.output() + "/agentbox-uploads/" + id + ".json";
  auto record = decode_upload_record(file_content(path));
  REQUIRE(record.ok());
  CHECK(record->complete);
  record->complete = false;
  put_file(path, encode_upload_record(*record));
  CHECK(box.send({{"upload_id", id}}).at("complete") == true);
}

TEST_CASE("what does not fit is refused and stores nothing") {
  Sender box;
  CHECK(box.refused({}, "abc") == "INVALID_ARGUMENT");
  CHECK(box.refused({{"path", "a"}, {"offset", 1}}, "abc") == "INVALID_ARGUMENT");
  CHECK(box.refused({{"path", "a"}, {"abort", true}}) == "INVALID_ARGUMENT");
  CHECK(box.refused({{"path", "a"}, {"data", "%"}}) == "INVALID_ENCODING");
  CHECK(box.refused({{"path", "a"}, {"total_size", 2}}, "abc") == "INVALID_ARGUMENT");
  CHECK(box.refused({{"path", "a"}, {"chunk_sha256", sha256_hex("x")}}, "abc") == "HASH_MISMATCH");
  CHECK(box.refused({{"upload_id", std::string(32, 'a')}}, "abc") == "UNKNOWN_UPLOAD");
  CHECK(box.refused({{"upload_id", "../../x"}}, "abc") == "UNKNOWN_UPLOAD");
  CHECK(box.unfinished() == 0);
  const std::string id = box.begin("a", 6);
  CHECK(box.refused({{"upload_id", id}, {"path", "b"}}) == "INVALID_ARGUMENT");
  CHECK(box.refused({{"upload_id", id}, {"total_size", 7}}) == "INVALID_ARGUMENT");
  CHECK(box.refused({{"upload_id", id}}, "abc") == "INVALID_ARGUMENT");
  CHECK(box.refused({{"upload_id", id}, {"offset", 0}}, "abcdefg") == "INVALID_ARGUMENT");
  CHECK(box.send({{"upload_id", id}}).at("received_bytes") == 0);
}

TEST_CASE("what arrived with another hash is dropped, the old file stays") {
  Sender box;
  put_file(box.at("a"), "old");
  const std::string id = box.begin("a", 3);
  CHECK(box.refused({{"upload_id", id}, {"offset", 0}, {"sha256", sha256_hex("abd")}}, "abc") ==
        "HASH_MISMATCH");
  CHECK(file_content(box.at("a")) == "old");
  CHECK(box.refused({{"upload_id", id}}) == "UNKNOWN_UPLOAD");
  CHECK(box.unfinished() == 0);
}

TEST_CASE("conditions hold at the beginning and at the end") {
  Sender box;
  put_file(box.at("a"), "old");
  CHECK(box.refused({{"path", "a"}, {"if_absent", true}}) == "EEXIST");
  CHECK(box.refused({{"path", "a"}, {"if_sha256", sha256_hex("x")}}) == "PRECONDITION_FAILED");
  CHECK(box.refused({{"path", "n"}, {"if_sha256", sha256_hex("x")}}) == "PRECONDITION_FAILED");
  CHECK(box.unfinished() == 0);
  const std::string id =
      box.send({{"path", "a"}, {"total_size", 3}, {"if_sha256", sha256_hex("old")}})
          .at("upload_id");
  put_file(box.at("a"), "changed");
  CHECK(box.refused({{"upload_id", id}, {"offset", 0}}, "new") == "PRECONDITION_FAILED");
  CHECK(file_content(box.at("a")) == "changed");
  put_file(box.at("a"), "old");
  CHECK(box.send({{"upload_id", id}}).at("complete") == true);
  CHECK(file_content(box.at("a")) == "new");
}

TEST_CASE("an upload that is dropped leaves neither file nor folder") {
  Sender box;
  const std::string id = box.begin("x/y/z", 3);
  CHECK(exists(box.at("x/y")));
  const auto dropped = box.send({{"upload_id", id}, {"abort", true}});
  CHECK(dropped.at("aborted") == true);
  CHECK_FALSE(exists(box.at("x")));
  CHECK(box.refused({{"upload_id", id}}) == "UNKNOWN_UPLOAD");
}

TEST_CASE("the mode of the old file stays unless another is given, all names of it change") {
  Sender box;
  put_file(box.at("a"), "old", 0750);
  box.send({{"path", "a"}, {"total_size", 3}}, "new");
  CHECK(mode_of(box.at("a")) == 0750);
  box.send({{"path", "a"}, {"total_size", 3}, {"mode", "0600"}}, "new");
  CHECK(mode_of(box.at("a")) == 0600);
  REQUIRE(::link(box.at("a").c_str(), box.at("b").c_str()) == 0);
  box.send({{"path", "a"}, {"total_size", 5}}, "third");
  CHECK(file_content(box.at("b")) == "third");
  CHECK(box.unfinished() == 0);
}

TEST_CASE("an upload goes through a link that stays inside, and never out") {
  Sender box;
  TemporaryFolder outside;
  put_file(box.at("t"), "target");
  REQUIRE(::symlink("t", box.at("in").c_str()) == 0);
  REQUIRE(::symlink(outside.path().c_str(), box.at("out").c_str()) == 0);
  box.send({{"path", "in"}, {"total_size", 3}}, "new");
  CHECK(file_content(box.at("t")) == "new");
  CHECK(box.refused({{"path", "out/x"}, {"total_size", 3}}, "new") == "ESCAPE");
  CHECK(box.refused({{"path", box.output() + "/x"}, {"total_size", 3}}, "new") == "EROFS");
  CHECK(box.refused({{"path", ".agentbox-tmp-x"}, {"total_size", 3}}, "new") == "INVALID_ARGUMENT");
  REQUIRE(::mkfifo(box.at("fifo").c_str(), 0600) == 0);
  CHECK(box.refused({{"path", "fifo"}, {"total_size", 3}}, "new") == "INVALID_ARGUMENT");
}

TEST_CASE("no more than eight are open at once, and those that nobody goes on with are dropped") {
  Sender box;
  std::string first;
  for (std::size_t i = 0; i < kMaxOpenUploads; ++i) {
    const std::string id = box.begin("f" + std::to_string(i), 3);
    first = first.empty() ? id : first;
  }
  CHECK(box.refused({{"path", "more"}, {"total_size", 3}}) == "QUOTA");
  CHECK(box.details.at("upload_ids").size() == kMaxOpenUploads);
  // One that began, and was last heard of, more than a day ago.
  const std::string path = box.output() + "/agentbox-uploads/" + first + ".json";
  auto record = decode_upload_record(file_content(path));
  REQUIRE(record.ok());
  record->started_ms -= (kUploadIdleSeconds + 1) * 1000;
  put_file(path, encode_upload_record(*record));
  const std::array<timespec, 2> long_ago{timespec{1, 0}, timespec{1, 0}};
  REQUIRE(::utimensat(AT_FDCWD, box.at(record->temporary).c_str(), long_ago.data(), 0) == 0);
  CHECK(box.refused({{"path", "more"}, {"total_size", 3}}).empty());
  CHECK(box.refused({{"upload_id", first}}) == "UNKNOWN_UPLOAD");
  CHECK(box.unfinished() == kMaxOpenUploads);
}

TEST_CASE("a record that agent code wrote leads nowhere else") {
  Sender box;
  const std::string id = box.begin("a", 3);
  const std::string path = box.output() + "/agentbox-uploads/" + id + ".json";
  auto record = decode_upload_record(file_content(path));
  REQUIRE(record.ok());
  record->path = "/etc/x";
  put_file(path, encode_upload_record(*record));
  CHECK(box.refused({{"upload_id", id}}) == "ESCAPE");
  put_file(path, "{");
  CHECK(box.refused({{"upload_id", id}}) == "UNKNOWN_UPLOAD");
}

TEST_CASE("a disk without room says so at the beginning, and nothing stays") {
  Sender box;
  REQUIRE(::mkdir(box.at("small").c_str(), 0755) == 0);
  const SmallDisk disk(box.at("small"));
  if (!disk.mounted()) {
    WARN("skipped: only root can mount the small disk this test fills");
    return;
  }
  CHECK(box.refused({{"path", "small/a"}, {"total_size", 1 << 20}}) == "ENOSPC");
  const std::string big(200 << 10, 'x');
  const std::string id = box.send({{"path", "small/a"}}, big).at("upload_id");
  CHECK(box.refused({{"upload_id", id}, {"offset", big.size()}}, big) == "ENOSPC");
  CHECK(box.details.at("received_bytes") == big.size());
  CHECK(box.send({{"upload_id", id}, {"total_size", big.size()}}).at("complete") == true);
  CHECK(file_content(box.at("small/a")) == big);
}

TEST_CASE("a file comes back in pieces, each with its hash, and a change in between is noticed") {
  Sender box;
  put_file(box.at("a"), "abcdef");
  const auto first = box.load({{"path", "a"}, {"length", 4}, {"file_sha256", true}});
  CHECK(base64_decode(first.at("data").get<std::string>()).value() == "abcd");
  CHECK(first.at("chunk_sha256") == sha256_hex("abcd"));
  CHECK(first.at("sha256") == sha256_hex("abcdef"));
  CHECK(first.at("size") == 6);
  CHECK(first.at("eof") == false);
  const std::string etag = first.at("etag");
  const auto last = box.load({{"path", "a"}, {"offset", 4}, {"if_etag", etag}});
  CHECK(base64_decode(last.at("data").get<std::string>()).value() == "ef");
  CHECK(last.at("eof") == true);
  CHECK(last.at("etag") == etag);
  CHECK(box.load({{"path", "a"}, {"offset", 6}}).at("length") == 0);
  put_file(box.at("b"), "abcdeg");
  REQUIRE(::rename(box.at("b").c_str(), box.at("a").c_str()) == 0);
  const auto code = [&](const OrderedJson& arguments) {
    return box.code(download_chunk_tool(), dump_json(arguments));
  };
  CHECK(code({{"path", "a"}, {"if_etag", etag}}) == "PRECONDITION_FAILED");
  CHECK(code({{"path", "a"}, {"if_sha256", sha256_hex("abcdef")}}) == "PRECONDITION_FAILED");
  CHECK(code({{"path", "a"}, {"if_sha256", sha256_hex("abcdeg")}}).empty());
  CHECK(code({{"path", "a"}, {"offset", 7}}) == "RANGE");
  CHECK(code({{"path", "../a"}}) == "ESCAPE");
  CHECK(code({{"path", "."}}) == "EISDIR");
  CHECK(code({{"path", "nope"}}) == "ENOENT");
}
