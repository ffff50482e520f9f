// edge: tests of support/network_child: what the fuzzing of connections stands on reaches what it
// is to reach.
#include "support/network_child.h"

#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <variant>

#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::test;

namespace {

template <typename Kind>
std::vector<Kind> told(const NetworkChild& child) {
  std::vector<Kind> found;
  for (const record::Record& each : child.records()) {
    if (const auto* one = std::get_if<Kind>(&each)) {
      found.push_back(*one);
    }
  }
  return found;
}

bool heard(NetworkChild& child, unsigned kind) {
  const auto& all = child.wire().received();
  return child.settle([&] {
    return std::any_of(all.begin(), all.end(), [&](const std::string& payload) {
      return static_cast<unsigned char>(payload.front()) == kind;
    });
  });
}

void exchange(NetworkChild& child, bool strict) {
  const unsigned before = child.wire().exchanges();
  child.wire().begin_exchange(strict);
  REQUIRE(child.settle([&] { return child.wire().exchanges() > before; }));
}

void log_in(NetworkChild& child, bool strict) {
  child.wire().put_version();
  exchange(child, strict);
  child.wire().put_packet(ssh_byte(5) + ssh_string("ssh-userauth"));
  child.log_in(NetworkChild::own_key(), "agent", child.wire().session_id());
  REQUIRE(heard(child, 52));
}

}  // namespace

TEST_CASE(
    "network child: a session is given, carries data both ways over a change of keys, and ends") {
  for (const bool strict : {true, false}) {
    NetworkChild child;
    log_in(child, strict);
    child.wire().put_packet(ssh_byte(90) + ssh_string("session") + ssh_number(0) +
                            ssh_number(1U << 20U) + ssh_number(1U << 15U));
    REQUIRE(heard(child, 91));
    const std::string to_channel = child.wire().received().back().substr(5, 4);
    child.wire().put_packet(ssh_byte(98) + to_channel + ssh_string("exec") + ssh_byte(1) +
                            ssh_string("x"));
    REQUIRE(heard(child, 99));
    REQUIRE(child.settle([&] { return child.sessions().size() == 1; }));
    exchange(child, strict);
    child.wire().put_packet(ssh_byte(94) + to_channel + ssh_string("ping"));
    std::string got(64, '\0');
    REQUIRE(child.settle([&] {
      return ::recv(child.sessions()[0].stdio.get(), got.data(), got.size(), MSG_PEEK) == 4;
    }));
    CHECK(got.substr(0, 4) == "ping");
    REQUIRE(::send(child.sessions()[0].stdio.get(), "pong", 4, MSG_NOSIGNAL) == 4);
    REQUIRE(heard(child, 94));
    CHECK(child.wire().received().back().ends_with(ssh_string("pong")));
    child.sessions().clear();
    child.tell(record::SessionOver{1, record::End::kExited, 3});
    REQUIRE(heard(child, 97));
    CHECK(child.finish() == sshd::ChildExit::kDone);
    REQUIRE(told<record::Closing>(child).size() == 1);
    REQUIRE(told<record::SessionWanted>(child).size() == 1);
  }
}

TEST_CASE(
    "network child: a good signature of another session, of another user or of a stranger is no "
    "login") {
  const SigningKey stranger(2);
  const auto refused = [&](const SigningKey& key, const char* user, bool ours) {
    NetworkChild child;
    child.wire().put_version();
    exchange(child, true);
    child.wire().put_packet(ssh_byte(5) + ssh_string("ssh-userauth"));
    child.log_in(key, user, ours ? child.wire().session_id() : std::string(32, 'x'));
    child.wire().put_packet(ssh_byte(90) + ssh_string("session") + ssh_number(0) +
                            ssh_number(1U << 20U) + ssh_number(1U << 15U));
    CHECK_FALSE(heard(child, 52));
    child.finish();
    const auto tried = told<record::AuthTried>(child);
    CHECK(std::none_of(tried.begin(), tried.end(), [](const auto& each) { return each.accepted; }));
    CHECK(child.sessions().empty());
    return tried.size();
  };
  CHECK(refused(NetworkChild::own_key(), "root", true) == 1);
  CHECK(refused(stranger, "agent", true) == 1);
  CHECK(refused(NetworkChild::own_key(), "agent", false) == 0);  // the library never asks us
}
