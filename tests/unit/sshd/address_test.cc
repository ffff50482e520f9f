// pure: tests of sshd/address.
#include "sshd/address.h"

#include "support/catch.h"

using namespace agentbox::sshd;

namespace {

Address at(const char* text) { return Address::parse(text).value(); }

}  // namespace

TEST_CASE("IPv4 and its mapped IPv6 form are one address") {
  CHECK(at("192.0.2.1") == at("::ffff:192.0.2.1"));
  CHECK(at("::ffff:192.0.2.1").text() == "192.0.2.1");
  CHECK(Peer{at("2001:db8::1"), 22}.text() == "[2001:db8::1]:22");
  CHECK(Peer{at("192.0.2.1"), 22}.text() == "192.0.2.1:22");
}

TEST_CASE("loopback is 127/8 and ::1") {
  CHECK(at("127.8.9.10").is_loopback());
  CHECK(at("::1").is_loopback());
  CHECK_FALSE(at("128.0.0.1").is_loopback());
  CHECK_FALSE(at("::2").is_loopback());
}

TEST_CASE("names and half addresses are refused, never looked up") {
  for (const char* bad : {"", "localhost", "1.2.3", "1.2.3.4.5", "fe80::1%eth0", "[::1]"}) {
    CHECK_FALSE(Address::parse(bad).ok());
  }
  CHECK_FALSE(Address::parse(std::string_view("10.0.0.1\0x", 10)).ok());
}

TEST_CASE("from= matches addresses, networks and patterns, and ! wins over all of them") {
  const auto list =
      FromList::parse("10.0.0.0/8,!10.1.*,2001:db8::/32,192.0.2.7,198.51.100.?").value();
  CHECK(list.allows(at("10.2.3.4")));
  CHECK_FALSE(list.allows(at("10.1.3.4")));
  CHECK(list.allows(at("2001:db8:ffff::1")));
  CHECK_FALSE(list.allows(at("2001:db9::1")));
  CHECK(list.allows(at("192.0.2.7")));
  CHECK_FALSE(list.allows(at("192.0.2.8")));
  CHECK(list.allows(at("198.51.100.7")));
  CHECK_FALSE(list.allows(at("198.51.100.77")));
}

TEST_CASE("a list of only negations lets nobody in") {
  CHECK_FALSE(FromList::parse("!10.0.0.1").value().allows(at("10.0.0.2")));
}

TEST_CASE("a network with bits its family does not have is an error") {
  for (const char* bad :
       {"", ",", "10.0.0.0/33", "2001:db8::/129", "10.0.0.0/", "host/8", "10.0.0.1,,"}) {
    CHECK_FALSE(FromList::parse(bad).ok());
  }
}

TEST_CASE("prefixes that end inside a byte are compared bit by bit") {
  CHECK(at("10.0.0.127").shares_prefix(at("10.0.0.64"), 26));
  CHECK_FALSE(at("10.0.0.128").shares_prefix(at("10.0.0.64"), 26));
  CHECK(at("203.0.113.9").shares_prefix(at("10.0.0.0"), 0));
  CHECK_FALSE(at("::1").shares_prefix(at("10.0.0.0"), 0));
}
