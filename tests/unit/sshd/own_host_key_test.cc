// edge: tests of sshd/own_host_key.
#include "sshd/own_host_key.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "base/handle.h"
#include "base/ssh_key.h"
#include "sshd/state_folder.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::sshd;

namespace {

// What the pod of a pool's box has mounted: the volume's folder of the door, and the projection.
class Pod {
 public:
  Pod() {
    REQUIRE(::mkdtemp(path_.data()) != nullptr);
    for (const char* folder : {"/state", "/keys"}) {
      REQUIRE(std::filesystem::create_directory(path_ + folder));
      REQUIRE(::chmod((path_ + folder).c_str(), 0755) == 0);
    }
  }
  Pod(const Pod&) = delete;
  Pod& operator=(const Pod&) = delete;
  ~Pod() { std::filesystem::remove_all(path_); }

  [[nodiscard]] Config config() const {
    Config config;
    config.state_dir = path_ + "/state";
    config.keys_dir = path_ + "/keys";
    return with_own_host_key(config);
  }
  void is(const std::string& ns, const std::string& name) const {
    REQUIRE(replace_file(path_ + "/keys/box_namespace", ns, 0644).ok());
    REQUIRE(replace_file(path_ + "/keys/box_name", name, 0644).ok());
  }
  // The public half of the key that a start ends with.
  [[nodiscard]] std::string start() const {
    REQUIRE(settle_own_host_key(config()).ok());
    return key();
  }
  [[nodiscard]] std::string key() const {
    auto text = read_file_capped(config().host_key, 65536);
    REQUIRE(text.ok());
    const auto half = public_half(SecretText(std::move(text).value()));
    REQUIRE(half.ok());
    return half->text();
  }

 private:
  std::string path_ = "/tmp/agentbox-test-XXXXXX";
};

}  // namespace

TEST_CASE("own host key: made at the first start, closed to others, and kept") {
  const Pod pod;
  pod.is("boxes", "pool-x9f2");
  const std::string first = pod.start();
  struct stat info {};
  REQUIRE(::stat(pod.config().host_key.c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0600);
  CHECK(first.starts_with("ssh-ed25519 "));
  CHECK(pod.start() == first);
}

TEST_CASE("own host key: a volume that was another box's gives neither key nor generation away") {
  const Pod pod;
  pod.is("boxes", "pool-x9f2");
  const std::string first = pod.start();
  auto generation = GenerationFile::open(pod.config().state_dir);
  REQUIRE(generation.ok());
  REQUIRE(generation->raise(40).ok());
  CHECK(pod.start() == first);
  CHECK(read_generation(pod.config().state_dir).value() == 40);
  pod.is("boxes", "pool-b7k1");
  const std::string second = pod.start();
  CHECK(second != first);
  CHECK(read_generation(pod.config().state_dir).value() == 0);
  pod.is("others", "pool-b7k1");
  CHECK(pod.start() != second);
}

TEST_CASE("own host key: a start that was cut short before the owner's name begins anew") {
  const Pod pod;
  pod.is("boxes", "pool-x9f2");
  const std::string first = pod.start();
  REQUIRE(std::filesystem::remove(pod.config().state_dir + "/host_key_owner"));
  const std::string second = pod.start();
  CHECK(second != first);
  REQUIRE(std::filesystem::remove(pod.config().host_key));
  CHECK(pod.start() != second);
}

TEST_CASE("own host key: what cannot be told or kept stops the start and leaves the key alone") {
  const Pod pod;
  pod.is("boxes", "pool-x9f2");
  const std::string first = pod.start();
  pod.is("boxes", "two words");
  CHECK_FALSE(settle_own_host_key(pod.config()).ok());
  pod.is("boxes", "pool-x9f2");
  REQUIRE(::chmod((pod.config().keys_dir + "/box_name").c_str(), 0666) == 0);
  CHECK_FALSE(settle_own_host_key(pod.config()).ok());
  CHECK(pod.key() == first);
  Config nowhere = pod.config();
  nowhere.state_dir += "/none";
  CHECK_FALSE(settle_own_host_key(with_own_host_key(nowhere)).ok());
}

TEST_CASE("own host key: a name that the pod does not know is one too") {
  const Pod pod;
  const std::string first = pod.start();
  CHECK(pod.start() == first);
  pod.is("boxes", "pool-x9f2");
  CHECK(pod.start() != first);
}
