// edge: the folder of boxes.
#include "provision/state.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "provision/supervisor.h"
#include "sample.h"
#include "support/catch.h"
#include "temporary_folder.h"

using namespace agentbox;
using namespace agentbox::provision;
using sample::TemporaryFolder;

namespace {

Store store_in(const std::string& folder) {
  ::setenv("AGENTBOX_STATE_DIR", folder.c_str(), 1);
  auto store = Store::find();
  ::unsetenv("AGENTBOX_STATE_DIR");
  REQUIRE(store.ok());
  return std::move(store).value();
}

BoxName demo() { return BoxName::parse("demo").value(); }

}  // namespace

TEST_CASE("looking makes nothing; a box that is not there has no lock, no record, no supervisor") {
  const TemporaryFolder folder;
  const Store store = store_in(folder / "state");
  CHECK_FALSE(store.load(demo())->has_value());
  CHECK_FALSE(store.lock(demo())->has_value());
  CHECK(store.names()->empty());
  CHECK(store.load_existing(demo()).error().exit == Exit::kNoSuchBox);
  CHECK_FALSE(find_supervisor(store.paths(demo()))->has_value());
  CHECK_FALSE(std::filesystem::exists(folder / "state"));
}

TEST_CASE("a saved box is listed and loaded, and gone after its removal") {
  const TemporaryFolder folder;
  const Store store = store_in(folder / "state");
  {
    const auto lock = store.lock_new(demo());
    REQUIRE(lock.ok());
    CHECK(store.names()->empty());
    REQUIRE(store.save(sample::record()).ok());
    CHECK(store.names()->size() == 1);
    CHECK(store.load(demo())->value().port == 20123);
    CHECK(store.ports_in_use() == std::vector<std::uint16_t>{20123});
    REQUIRE(store.remove(demo(), *lock).ok());
  }
  CHECK(store.names()->empty());
  CHECK(std::filesystem::is_empty(folder / "state/boxes"));
}

TEST_CASE("a box whose agent locked its own folders can be removed") {
  const TemporaryFolder folder;
  const Store store = store_in(folder / "state");
  const auto lock = store.lock_new(demo());
  REQUIRE(lock.ok());
  const std::string deep = store.paths(demo()).box + "/a/b";
  std::filesystem::create_directories(deep);
  REQUIRE(replace_file(deep + "/file", "x", 0600).ok());
  REQUIRE(::chmod(deep.c_str(), 0) == 0);
  REQUIRE(::chmod((store.paths(demo()).box + "/a").c_str(), 0) == 0);
  CHECK(store.remove(demo(), *lock).ok());
  CHECK(std::filesystem::is_empty(folder / "state/boxes"));
}

TEST_CASE("what a removal that was cut short has left is swept up by the next box") {
  const TemporaryFolder folder;
  const Store store = store_in(folder / "state");
  std::filesystem::create_directories(folder / "state/boxes/.removed-old-0123/local");
  const auto lock = store.lock_new(demo());
  REQUIRE(lock.ok());
  CHECK_FALSE(std::filesystem::exists(folder / "state/boxes/.removed-old-0123"));
}

TEST_CASE(
    "a box.json that was damaged or belongs to another box is an error that says how to go on") {
  const TemporaryFolder folder;
  const Store store = store_in(folder / "state");
  const auto lock = store.lock_new(demo());
  REQUIRE(lock.ok());
  REQUIRE(replace_file(store.paths(demo()).record, "{", 0600).ok());
  CHECK(store.load(demo()).error().next.find("delete demo") != std::string::npos);
  BoxRecord other = sample::record();
  other.name = BoxName::parse("other").value();
  REQUIRE(replace_file(store.paths(demo()).record, render_record(other), 0600).ok());
  CHECK_FALSE(store.load(demo()).ok());
}

TEST_CASE("a state folder whose path cannot be printed safely is refused") {
  ::setenv("AGENTBOX_STATE_DIR", "/tmp/a\nb", 1);
  CHECK(Store::find().error().exit == Exit::kUsage);
  ::unsetenv("AGENTBOX_STATE_DIR");
}
