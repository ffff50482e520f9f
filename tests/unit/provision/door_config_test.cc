// pure: the door's configuration.
#include "provision/door_config.h"

#include <string>

#include "base/yaml.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::provision;

TEST_CASE("the door's configuration is YAML with every path as one value, whatever is in it") {
  const BoxPaths paths = paths_of("/st: {a\"b} #c", BoxName::parse("demo").value());
  auto map = YamlMap::parse(render_door_config(paths, 20001, 1234, Profile::kCore));
  REQUIRE(map.ok());
  std::string host_key;
  map->text("host_key", host_key);
  CHECK(host_key == paths.host_key);
  std::string state;
  map->text("state_dir", state);
  CHECK(state == paths.door_state);
  std::string profile;
  map->text("profile", profile);
  CHECK(profile == "core");
  YamlMap listen = map->map("listen");
  std::string address;
  std::uint64_t port = 0;
  listen.text("address", address);
  listen.number("port", port, 1, 65535);
  CHECK(address == "127.0.0.1");
  CHECK(port == 20001);
  YamlMap link = map->map("link");
  std::string socket;
  std::uint64_t uid = 0;
  link.text("socket", socket);
  link.number("box_uid", uid, 0, 65535);
  CHECK(socket == paths.socket);
  CHECK(uid == 1234);
}
