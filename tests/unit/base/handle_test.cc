// edge: tests of base/handle.
#include "base/handle.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "support/catch.h"

using namespace agentbox;

namespace {

struct TempFolder {
  std::string path = "/tmp/agentbox-test-XXXXXX";
  TempFolder() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    for (const char* name : {"/file", "/fifo", "/link"}) {
      ::unlink((path + name).c_str());
    }
    ::rmdir(path.c_str());
  }
};

}  // namespace

TEST_CASE("a descriptor has one owner and is closed by it") {
  auto pipe = make_pipe();
  REQUIRE(pipe.ok());
  const int number = pipe->first.get();
  UniqueFd taken = std::move(pipe->first);
  CHECK(taken.get() == number);
  taken.reset();
  CHECK(::fcntl(number, F_GETFD) == -1);
}

TEST_CASE("a file is replaced whole, with the mode that was asked for") {
  const TempFolder folder;
  const std::string path = folder.path + "/file";
  REQUIRE(replace_file(path, "one", 0600).ok());
  REQUIRE(replace_file(path, "two", 0644).ok());
  CHECK(read_file_capped(path, 100).value() == "two");
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0644);
  CHECK(replace_file(folder.path + "/missing/file", "x", 0600).error().code == Code::kNotFound);
}

TEST_CASE("reading never blocks on a FIFO and never reads a folder or past its limit") {
  const TempFolder folder;
  REQUIRE(::mkfifo((folder.path + "/fifo").c_str(), 0600) == 0);
  CHECK(read_file_capped(folder.path + "/fifo", 10).error().code == Code::kInvalid);
  CHECK_FALSE(read_file_capped(folder.path, 10).ok());
  CHECK_FALSE(read_file_capped("/dev/zero", 10).ok());
  REQUIRE(replace_file(folder.path + "/file", "12345678901", 0600).ok());
  CHECK(read_file_capped(folder.path + "/file", 10).error().code == Code::kLimit);
  CHECK(read_file_capped(folder.path + "/file", 11).ok());
  CHECK(read_file_capped(folder.path + "/nothing", 10).error().code == Code::kNotFound);
}
