// pure: the box side's command line.
#include "provision/box_side.h"

#include <algorithm>
#include <string>
#include <vector>

#include "support/catch.h"

using namespace agentbox::provision;

namespace {

using Words = std::vector<std::string>;

BoxPaths paths() { return paths_of("/state", BoxName::parse("demo").value()); }

HostFacts host() {
  HostFacts facts;
  facts.bubblewrap = "/usr/bin/bwrap";
  facts.root_entries = {{"/bin", "usr/bin"}, {"/lib64", ""}};
  facts.etc = {"/etc/hosts", "/etc/ssl"};
  return facts;
}

Words plan() { return isolated_box_side(host(), paths(), "/srv/my work", "demo"); }

// True where PART stands in WORDS, one word after another.
bool holds(const Words& words, const Words& part) {
  return std::search(words.begin(), words.end(), part.begin(), part.end()) != words.end();
}

// Everything of this machine that is mounted into the box, with how.
std::vector<std::pair<std::string, std::string>> mounts(const Words& words) {
  std::vector<std::pair<std::string, std::string>> found;
  for (std::size_t i = 0; i + 2 < words.size() && words[i] != "--"; ++i) {
    if (words[i].find("bind") != std::string::npos) {
      found.emplace_back(words[i], words[i + 1]);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("the box has namespaces of its own and dies with its keeper") {
  for (const std::string flag :
       {"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent",
        "--new-session", "--as-pid-1", "--clearenv"}) {
    CAPTURE(flag);
    CHECK(holds(plan(), {flag}));
  }
  CHECK_FALSE(holds(plan(), {"--unshare-net"}));
}

TEST_CASE("only the box's own folders can be written") {
  std::vector<std::string> writable;
  for (const auto& [how, source] : mounts(plan())) {
    if (how == "--bind") {
      writable.push_back(source);
    } else {
      CHECK(how == "--ro-bind");
    }
  }
  CHECK(writable == std::vector<std::string>{"/state/boxes/demo/local/box/tmp",
                                             "/state/boxes/demo/local/box/out",
                                             "/state/boxes/demo/local/box/home", "/srv/my work"});
  CHECK(holds(plan(), {"--remount-ro", "/"}));
}

TEST_CASE("nothing of the door and nothing of the operator is mounted") {
  const std::vector<std::string> allowed = {
      "/usr",
      "/lib64",
      "/etc/hosts",
      "/etc/ssl",
      "/state/boxes/demo/local/etc/passwd",
      "/state/boxes/demo/local/etc/group",
      "/state/boxes/demo/local/box/tmp",
      "/state/boxes/demo/local/box/out",
      "/state/boxes/demo/local/box/home",
      "/srv/my work",
      "/state/boxes/demo/local/link",
      "/state/boxes/demo/local/programs/agent-box",
  };
  for (const auto& [how, source] : mounts(plan())) {
    CAPTURE(source);
    CHECK(std::find(allowed.begin(), allowed.end(), source) != allowed.end());
  }
  CHECK(mounts(plan()).size() == allowed.size());
}

TEST_CASE("links below / stay links, folders are mounted") {
  CHECK(holds(plan(), {"--symlink", "usr/bin", "/bin"}));
  CHECK(holds(plan(), {"--ro-bind", "/lib64", "/lib64"}));
}

TEST_CASE("the spawner sees the box's names, not this machine's") {
  const Words words = plan();
  const auto start = std::find(words.begin(), words.end(), "--");
  REQUIRE(start != words.end());
  CHECK(Words(start + 1, words.end()) == Words{"/agentbox/bin/agent-box", "spawner", "--link",
                                               "/agentbox/link/door.sock", "--workspace",
                                               "/workspace", "--home", "/home/agent", "--tmp",
                                               "/tmp", "--out", "/run/agentbox-out"});
}

TEST_CASE("without isolation the same spawner runs on the same folders") {
  CHECK(open_box_side(paths(), "/srv/w") ==
        Words{"/state/boxes/demo/local/programs/agent-box", "spawner", "--link",
              "/state/boxes/demo/local/link/door.sock", "--workspace", "/srv/w", "--home",
              "/state/boxes/demo/local/box/home", "--tmp", "/state/boxes/demo/local/box/tmp",
              "--out", "/state/boxes/demo/local/box/out"});
}

TEST_CASE("nothing of /etc that holds secrets or names people is on the list") {
  for (const std::string name :
       {"passwd", "group", "shadow", "ssh", "kubernetes", "sudoers", "fstab", "krb5.keytab",
        "machine-id", "environment", "docker", "subuid"}) {
    CAPTURE(name);
    CHECK(std::find(etc_allow_list().begin(), etc_allow_list().end(), name) ==
          etc_allow_list().end());
  }
}

TEST_CASE("the box knows its one user by name") {
  CHECK(passwd_text(1001, 1002).starts_with("agent:x:1001:1002:agent:/home/agent:/bin/sh\n"));
  CHECK(group_text(1002).starts_with("agent:x:1002:\n"));
}
