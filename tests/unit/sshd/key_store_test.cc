// edge: tests of sshd/key_store.
#include "sshd/key_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/handle.h"
#include "support/catch.h"
#include "tests/unit/sshd/keys.h"

using namespace agentbox;
using namespace agentbox::sshd;

namespace {

// A folder of keys as a mounted volume lays them out: files behind `..data`.
class Volume {
 public:
  Volume() {
    REQUIRE(::mkdtemp(path_.data()) != nullptr);
    turn_to("one");
  }
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;
  ~Volume() { std::filesystem::remove_all(path_); }

  [[nodiscard]] const std::string& path() const { return path_; }
  void turn_to(const std::string& projection) {
    std::filesystem::create_directories(path_ + "/.." + projection);
    ::chmod((path_ + "/.." + projection).c_str(), 0755);
    ::unlink((path_ + "/..new").c_str());
    REQUIRE(::symlink((".." + projection).c_str(), (path_ + "/..new").c_str()) == 0);
    REQUIRE(::rename((path_ + "/..new").c_str(), (path_ + "/..data").c_str()) == 0);
  }
  void put(const std::string& name, const std::string& text, unsigned mode = 0644) {
    REQUIRE(replace_file(path_ + "/..data/" + name, text, mode).ok());
  }

 private:
  std::string path_ = "/tmp/agentbox-test-XXXXXX";
};

}  // namespace

TEST_CASE("keys, generation and revoked come from one projection of the volume") {
  Volume volume;
  volume.put("authorized_keys", key_line('a') + "\n" + key_line('b') + "\nbad\n");
  volume.put("generation", "41\n");
  volume.put("revoked", "# gone\n" + key_fingerprint('b') + "\r\n");
  const auto loaded = load_keys(volume.path(), KeysTrust::kStrict);
  REQUIRE(loaded.ok());
  CHECK(loaded->present);
  CHECK(loaded->keys.entries.size() == 2);
  CHECK(loaded->keys.generation == 41);
  CHECK(loaded->keys.revoked.fingerprints == std::vector<std::string>{key_fingerprint('b')});
  CHECK(loaded->problems.size() == 1);

  const std::string before = keys_signature(volume.path());
  volume.turn_to("two");
  CHECK(keys_signature(volume.path()) != before);
  CHECK_FALSE(load_keys(volume.path(), KeysTrust::kStrict)->present);
}

TEST_CASE("a key that is in every projection is found while they are swapped and removed") {
  const Volume volume;
  std::atomic<bool> over = false;
  const auto swap = [&](int turn) {
    namespace fs = std::filesystem;
    const fs::path folder = volume.path();
    const fs::path fresh = folder / ("..turn" + std::to_string(turn));
    fs::create_directory(fresh);
    std::ofstream(fresh / "authorized_keys") << key_line('a') << '\n';
    const fs::path old = fs::canonical(folder / "..data");
    fs::create_directory_symlink(fresh.filename(), folder / "..new");
    fs::rename(folder / "..new", folder / "..data");
    fs::remove_all(old);
  };
  swap(0);
  std::thread swapper([&] {
    for (int turn = 1; !over; ++turn) {
      swap(turn);
      std::this_thread::yield();
    }
  });
  int found = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto loaded = load_keys(volume.path(), KeysTrust::kAny);
    found += loaded.ok() && loaded->keys.entries.size() == 1 ? 1 : 0;
  }
  over = true;
  swapper.join();
  CHECK(found == 2000);
}

TEST_CASE("no folder and no file are an empty set, not an error") {
  const auto loaded = load_keys("/no/such/folder", KeysTrust::kStrict);
  REQUIRE(loaded.ok());
  CHECK_FALSE(loaded->present);
  CHECK(loaded->keys.entries.empty());
}

TEST_CASE("FIFOs, folders, devices and huge files are refused at once") {
  Volume volume;
  const std::string file = volume.path() + "/..data/authorized_keys";
  REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  CHECK_FALSE(load_keys(volume.path(), KeysTrust::kAny).ok());
  ::unlink(file.c_str());
  REQUIRE(::mkdir(file.c_str(), 0700) == 0);
  CHECK_FALSE(load_keys(volume.path(), KeysTrust::kAny).ok());
  ::rmdir(file.c_str());
  REQUIRE(::symlink("/dev/zero", file.c_str()) == 0);
  CHECK_FALSE(load_keys(volume.path(), KeysTrust::kAny).ok());
  ::unlink(file.c_str());
  volume.put("authorized_keys", std::string(kMaxKeysFileBytes + 1, '#'));
  CHECK_FALSE(load_keys(volume.path(), KeysTrust::kAny).ok());
}

TEST_CASE("a file that others can write is refused, unless the weakening is named") {
  Volume volume;
  volume.put("authorized_keys", key_line('a'), 0666);
  const auto refused = load_keys(volume.path(), KeysTrust::kStrict);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::kDenied);
  CHECK(load_keys(volume.path(), KeysTrust::kAny).ok());
  volume.put("authorized_keys", key_line('a'), 0644);
  CHECK(load_keys(volume.path(), KeysTrust::kStrict).ok());
  ::chmod((volume.path() + "/..one").c_str(), 0777);
  CHECK_FALSE(load_keys(volume.path(), KeysTrust::kStrict).ok());
  ::chmod((volume.path() + "/..one").c_str(), 01777);  // sticky: as closed as /tmp
  CHECK(load_keys(volume.path(), KeysTrust::kStrict).ok());
}

TEST_CASE("a revoked file that says something unknown lets nobody in") {
  Volume volume;
  volume.put("authorized_keys", key_line('a'));
  volume.put("revoked", "serial:7\nid:anna\n");
  CHECK(load_keys(volume.path(), KeysTrust::kStrict)->keys.revoked.size() == 2);
  volume.put("revoked", "serial:7\nseriel:8\n");
  CHECK_FALSE(load_keys(volume.path(), KeysTrust::kStrict).ok());
  volume.put("revoked", "");
  volume.put("generation", "-1");
  CHECK_FALSE(load_keys(volume.path(), KeysTrust::kStrict).ok());
}

TEST_CASE("a CA counts with the box's name beside it, and nonsense in either lets no key down") {
  Volume volume;
  volume.put("authorized_keys", key_line('a') + "\n");
  volume.put("user_ca", key_line('c') + "\n");
  auto loaded = load_keys(volume.path(), KeysTrust::kStrict);
  REQUIRE(loaded.ok());
  CHECK(loaded->keys.authorities.empty());
  CHECK(loaded->certificates_refused.starts_with("box_name: not there"));
  const std::string before = keys_signature(volume.path());
  volume.put("box_name", "demo\n");
  CHECK(keys_signature(volume.path()) != before);
  loaded = load_keys(volume.path(), KeysTrust::kStrict);
  REQUIRE(loaded.ok());
  CHECK(loaded->keys.authorities.size() == 1);
  CHECK(loaded->keys.box_name == "demo");
  CHECK(loaded->certificates_refused.empty());
  volume.put("user_ca", key_line('c') + "\nnonsense\n");
  loaded = load_keys(volume.path(), KeysTrust::kStrict);
  REQUIRE(loaded.ok());
  CHECK(loaded->keys.authorities.empty());
  CHECK(loaded->keys.entries.size() == 1);
  CHECK(loaded->certificates_refused.starts_with("user_ca: line 2"));
  volume.put("user_ca", key_line('c') + "\n", 0666);
  CHECK_FALSE(load_keys(volume.path(), KeysTrust::kStrict).ok());
  volume.put("user_ca", "");
  CHECK(load_keys(volume.path(), KeysTrust::kStrict)->certificates_refused.empty());
}
