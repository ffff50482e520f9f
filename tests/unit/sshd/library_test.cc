// pure: tests of sshd/library and sshd/package.
#include "sshd/library.h"

#include "sshd/package.h"
#include "support/catch.h"

using namespace agentbox::sshd;

TEST_CASE("versions of the library are compared by number") {
  for (const char* old : {"0.10.5", "0.9.8", "0.10", "", "x"}) {
    CHECK(library_is_too_old(old));
  }
  for (const char* good : {"0.10.6", "0.10.6/openssl/zlib", "0.11.0", "1.0.0", "0.10.10"}) {
    CHECK_FALSE(library_is_too_old(good));
  }
}

TEST_CASE("a package of Debian 12 has the fixes of its changelog") {
  CHECK(open_holes({"0.10.6/openssl", "0.10.6-0+deb12u3", ""}).empty());
  CHECK(open_holes({"0.10.6/openssl", "0.10.6-0+deb12u4", ""}).empty());
  const auto older = open_holes({"0.10.6/openssl", "0.10.6-0+deb12u2", ""});
  REQUIRE(older.size() == 5);
  CHECK(older.front().cve == "CVE-2026-0966");
  CHECK(open_holes({"0.10.6/openssl", "0.10.6-0+deb12u1", ""}).size() > older.size());
  CHECK(open_holes({"0.10.6/openssl", "0.10.6-0+deb12u3x", ""}).size() > older.size());
}

TEST_CASE("a release has the fixes of its notes, each branch its own") {
  CHECK(open_holes({"0.12.2", "", ""}).empty());
  CHECK(open_holes({"0.13.0", "", ""}).empty());
  CHECK(open_holes({"0.12.1", "", ""}).size() == 1);
  CHECK(open_holes({"0.12.0", "", ""}).size() == 3);
  CHECK(open_holes({"0.11.5", "", ""}).size() == 1);
  CHECK(open_holes({"0.11.1", "", ""}).size() > 5);
}

TEST_CASE("an acknowledgement is of exactly what runs") {
  CHECK(open_holes({"0.10.6/openssl", "0.10.6-9", "0.10.6-9"}).empty());
  CHECK_FALSE(open_holes({"0.10.6/openssl", "0.10.6-9", "0.10.6-8"}).empty());
  CHECK_FALSE(open_holes({"0.10.6/openssl", "0.10.6-9", "0.10.6"}).empty());
  CHECK(open_holes({"0.10.6/openssl", "", "0.10.6"}).empty());
  CHECK_FALSE(backports_hold({"", "", ""}));
}

TEST_CASE("dpkg's status names the version of an installed package alone") {
  const std::string status =
      "Package: libssh-4-dev\nStatus: install ok installed\nVersion: 1\n\n"
      "Package: libssh-4\nStatus: install ok installed\nPriority: optional\nVersion: "
      "0.10.6-0+deb12u3\nDescription: x\n Version: 9\n\n"
      "Package: gone\nStatus: deinstall ok config-files\nVersion: 2\n\n"
      "Package: odd\nStatus: install ok installed\nVersion: <b>\n";
  CHECK(installed_version(status, "libssh-4") == "0.10.6-0+deb12u3");
  CHECK(installed_version(status, "gone").empty());
  CHECK(installed_version(status, "odd").empty());
  CHECK(installed_version(status, "missing").empty());
  CHECK(installed_version("", "libssh-4").empty());
}
