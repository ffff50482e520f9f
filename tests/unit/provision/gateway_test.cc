// pure: gateways: how they are written, whom they are pinned as, what a jump host is given.
#include "provision/gateway.h"

#include "sample.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::provision;

namespace {

constexpr const char* kEcdsa =
    "ecdsa-sha2-nistp256 "
    "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBEmKSENjQEezOmxkZMy7opKgwFB9nkt5YRrYMjNuG5"
    "N87uRgg6CLrbo5wAdT/y6v0mKV0U2w0WZ2YB/++Tpockg=";

Gateway jump(const std::string& text) { return parse_gateway("jump:" + text, "").value(); }

}  // namespace

TEST_CASE("gateway: a jump host is read and written back in one form") {
  const Gateway plain = jump("bastion.example");
  CHECK(plain.user == "agent");
  CHECK(plain.host == "bastion.example");
  CHECK(plain.port == 22);
  CHECK(gateway_text(plain) == "jump:agent@bastion.example:22");
  CHECK(gateway_address(plain).empty());
  for (const char* text : {"me@192.0.2.1:2200", "_x.y-1@h:1", "me@[2001:db8::1]:22"}) {
    CAPTURE(text);
    CHECK(gateway_text(jump(text)) == "jump:" + std::string(text));
    CHECK(jump(gateway_text(jump(text)).substr(5)) == jump(text));
  }
  CHECK(jump("2001:db8::1").host == "2001:db8::1");
}

TEST_CASE("gateway: sshpiper has a namespace and an address apart") {
  const auto gateway = parse_gateway("sshpiper:gw", "ssh.example:2222");
  REQUIRE(gateway.ok());
  CHECK(gateway->ns == "gw");
  CHECK(gateway->user.empty());
  CHECK(gateway_text(*gateway) == "sshpiper:gw");
  CHECK(gateway_address(*gateway) == "ssh.example:2222");
  CHECK_FALSE(parse_gateway("sshpiper:gw", "").ok());
  CHECK_FALSE(parse_gateway("jump:h", "h").ok());
}

TEST_CASE("gateway: what a shell, ssh or a file would give a meaning to is refused") {
  for (const char* text : {"",           "jump:",        "jump:@h",     "jump:-h",
                           "jump:h-",    "jump:-x@h",    "jump:Me@h",   "jump:a b",
                           "jump:h:0",   "jump:h:65536", "jump:h:",     "jump:h:+1",
                           "jump:h\n",   "jump:$(id)",   "jump:h;x",    "jump:[h]:22",
                           "jump:[::1",  "jump:[::1]22", "jump:[::1]:", "jump:a@b@c",
                           "jump:h..x",  "jump:h,i",     "proxy:h",     "sshpiper:",
                           "sshpiper:A", "sshpiper:-a",  "sshpiper:a/b"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_gateway(text, "").ok());
  }
  CHECK_FALSE(parse_gateway(std::string("jump:[2001:db8::\0001]:22", 23), "").ok());
  CHECK_FALSE(parse_gateway("jump:" + std::string(254, 'a'), "").ok());
  CHECK_FALSE(parse_gateway("sshpiper:" + std::string(64, 'a'), "h").ok());
}

TEST_CASE("gateway: its host key out of a key, a .pub and a known_hosts") {
  const Gateway gateway = jump("h.example:22");
  const std::string key = sample::kKey;
  CHECK(gateway_host_key(gateway, key).value() == key);
  CHECK(gateway_host_key(gateway, key + " root@h\n").value() == key);
  CHECK(gateway_host_key(gateway, "# about\n\nother,h.example " + key + "\n").value() == key);
  CHECK(gateway_host_key(gateway, "[h.example]:22 " + key).value() == key);
  const std::string both = "h.example " + std::string(kEcdsa) + "\nh.example " + key + "\n";
  CHECK(gateway_host_key(gateway, both).value() == key);
  CHECK(gateway_host_key(gateway, std::string("h.example ") + kEcdsa).value() == kEcdsa);
  CHECK(gateway_host_key(jump("h:2200"), "[h]:2200 " + key).value() == key);
}

TEST_CASE("gateway: a host key that is not plainly its own is refused") {
  const Gateway gateway = jump("h.example");
  const std::string key = sample::kKey;
  const std::string other = sample::kOtherKey;
  for (const std::string& text :
       {std::string(), "other " + key, "*.example " + key, "|1|YQ==|YQ== " + key,
        "@cert-authority h.example " + key, "@revoked * " + key, "[h.example]:2200 " + key,
        key + "\n" + other, std::string("h.example ssh-ed25519"), std::string("h.example x y"),
        std::string("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"), std::string("ssh-ed25519 !!!!"),
        "h.example ssh-rsa " + key.substr(12)}) {
    CAPTURE(text);
    CHECK_FALSE(gateway_host_key(gateway, text).ok());
  }
  CHECK_FALSE(gateway_host_key(jump("h:2200"), "h " + key).ok());
  CHECK(gateway_host_key(gateway, key + "\n" + key).ok());
}

TEST_CASE("gateway: the pin is one line under a name of its own") {
  Gateway gateway = jump("h");
  gateway.host_key = sample::kKey;
  CHECK(gateway_known_hosts("demo", gateway) ==
        "# jump:agent@h:22\nagentbox-gateway-of-demo " + std::string(sample::kKey) + "\n");
  CHECK(host_key_algorithms(sample::kKey) == "ssh-ed25519");
  CHECK(host_key_algorithms(kEcdsa) == "ecdsa-sha2-nistp256");
  CHECK(host_key_algorithms("ssh-rsa AAAA") == "rsa-sha2-512,rsa-sha2-256");
}

TEST_CASE("gateway: who stands for every box is said to do so, who only forwards is not") {
  CHECK(gateway_warnings({}).empty());
  CHECK(gateway_warnings(jump("h")).empty());
  CHECK(gateway_warnings(parse_gateway("sshpiper:gw", "h").value()).size() == 2);
}
