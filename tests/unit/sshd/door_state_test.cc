// edge: tests of sshd/door_state and state_folder.
#include "sshd/door_state.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/audit_chain.h"
#include "base/handle.h"
#include "base/text.h"
#include "sshd/audit_sink.h"
#include "sshd/state_folder.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::sshd;

namespace {

class Folder {
 public:
  Folder() { REQUIRE(::mkdtemp(path_.data()) != nullptr); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  void put(const std::string& name, const std::string& text) const {
    REQUIRE(replace_file(file(name), text, 0600).ok());
  }

 private:
  std::string path_ = "/tmp/agentbox-test-XXXXXX";
};

}  // namespace

TEST_CASE("a generation is a number and a whole line") {
  CHECK(parse_generation(render_generation(UINT64_MAX)).value() == UINT64_MAX);
  for (const char* bad : {"", "7", "\n", "-1\n", "7\n\n", "x\n"}) {
    CHECK_FALSE(parse_generation(bad).ok());
  }
}

TEST_CASE("the highest generation outlives the process, and never goes down") {
  const Folder folder;
  CHECK(read_generation(folder.path()).value() == 0);
  {
    auto file = GenerationFile::open(folder.path());
    REQUIRE(file.ok());
    CHECK(file->highest() == 0);
    CHECK(file->raise(41).ok());
    CHECK(file->raise(7).ok());
    CHECK(file->highest() == 41);
  }
  CHECK(read_generation(folder.path()).value() == 41);
  CHECK(GenerationFile::open(folder.path())->highest() == 41);
}

TEST_CASE("state that cannot be read is an error that names the file, never a fresh start") {
  const Folder folder;
  folder.put("keys_generation", "41");
  folder.put("audit_head", "");
  CHECK(GenerationFile::open(folder.path()).error().what.find("keys_generation") !=
        std::string::npos);
  CHECK_FALSE(read_generation(folder.path()).ok());
  CHECK(HeadFile::open(folder.path()).ok());  // empty: nothing was ever counted
  folder.put("audit_head", "rubbish");
  CHECK(HeadFile::open(folder.path()).error().what.find("audit_head") != std::string::npos);
  folder.put("audit_head", std::string(1000, '0'));
  CHECK_FALSE(HeadFile::open(folder.path()).ok());
  CHECK_FALSE(HeadFile::open(folder.path() + "/missing").ok());
  CHECK_FALSE(GenerationFile::open(folder.path() + "/missing").ok());
  for (const char* name : {"keys_generation", "audit_head"}) {
    ::unlink(folder.file(name).c_str());
    REQUIRE(::symlink("/dev/zero", folder.file(name).c_str()) == 0);
  }
  CHECK_FALSE(GenerationFile::open(folder.path()).ok());
  CHECK_FALSE(HeadFile::open(folder.path()).ok());
  for (const char* name : {"keys_generation", "audit_head"}) {
    ::unlink(folder.file(name).c_str());
    REQUIRE(::mkfifo(folder.file(name).c_str(), 0600) == 0);
  }
  CHECK_FALSE(GenerationFile::open(folder.path()).ok());
  CHECK_FALSE(HeadFile::open(folder.path()).ok());
}

TEST_CASE("audit lines are numbered and chained on over a restart") {
  const Folder folder;
  const std::string log = folder.file("audit.log");
  AuditHead expected;
  for (int i = 0; i < 2; ++i) {
    auto head = HeadFile::open(folder.path());
    REQUIRE(head.ok());
    auto sink = AuditSink::open(log, std::move(head).value());
    REQUIRE(sink.ok());
    CHECK(sink->head() == expected);
    sink->write(AuditEvent("listen"));
    sink->write(AuditEvent("limit"));
    expected = sink->head();
  }
  CHECK(expected.sequence == 4);
  CHECK(parse_head(read_file_capped(folder.file("audit_head"), 200).value()).value() == expected);
  AuditHead counted;
  std::string text = read_file_capped(log, 10'000).value();
  while (!text.empty()) {
    const auto end = text.find('\n') + 1;
    const std::string line = text.substr(0, end - 1);
    const auto parts = split_chain(line);
    REQUIRE(parts);
    CHECK(parts->hash == chain_hash(counted.hash, parts->body));
    counted = AuditHead{counted.sequence + 1, std::string(parts->hash)};
    text.erase(0, end);
  }
  CHECK(counted == expected);
}
