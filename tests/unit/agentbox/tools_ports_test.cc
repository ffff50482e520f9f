// edge: list_ports: the kernel's tables read right, and sockets of this test found in them.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "agentbox/socket_table.h"
#include "support/catch.h"
#include "unit/agentbox/tool_fixture.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::test;

namespace {

constexpr std::string_view kTcp =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n"
    "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 "
    "4711 1 0000000000000000 100 0 0 10 0\n"
    "   1: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 "
    "4712 1 0000000000000000 20 4 30 10 -1\n";
constexpr std::string_view kTcp6 =
    "   0: 00000000000000000000000001000000:08AE 00000000000000000000000000000000:0000 0A "
    "00000000:00000000 00:00000000 00000000  1001        0 4713 1 0000000000000000 100 0 0 10 0";

// A socket of this process, bound to a port that was free.
struct Bound {
  UniqueFd fd;
  std::uint16_t port = 0;
};
Bound bind_somewhere(int family, int type) {
  Bound bound{.fd = UniqueFd(::socket(family, type | SOCK_CLOEXEC, 0))};
  sockaddr_storage address{};
  address.ss_family = static_cast<sa_family_t>(family);
  socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  if (family == AF_INET) {
    reinterpret_cast<sockaddr_in&>(address).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  } else {
    reinterpret_cast<sockaddr_in6&>(address).sin6_addr = in6addr_loopback;
  }
  if (::bind(bound.fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) {
    return bound;
  }
  REQUIRE(::getsockname(bound.fd.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  bound.port = ntohs(family == AF_INET ? reinterpret_cast<sockaddr_in&>(address).sin_port
                                       : reinterpret_cast<sockaddr_in6&>(address).sin6_port);
  return bound;
}

// The entry of PORT; null where there is none.
OrderedJson entry_of(const OrderedJson& ports, std::uint16_t port) {
  const auto found = std::find_if(ports.begin(), ports.end(),
                                  [&](const OrderedJson& one) { return one["port"] == port; });
  return found != ports.end() ? *found : OrderedJson();
}

}  // namespace

TEST_CASE("of the table of TCP the listening sockets count") {
  const auto ports = parse_socket_table(kTcp, Transport::kTcp, 10);
  REQUIRE(ports.size() == 1);
  CHECK(ports[0].address == "127.0.0.1");
  CHECK(ports[0].port == 8080);
  CHECK(ports[0].uid == 1000);
  CHECK(ports[0].inode == 4711);
  const auto v6 = parse_socket_table(kTcp6, Transport::kTcp, 10);
  REQUIRE(v6.size() == 1);
  CHECK(v6[0].address == "::1");
  CHECK(v6[0].port == 2222);
  CHECK(parse_socket_table(std::string(kTcp6) + "\n" + std::string(kTcp), Transport::kTcp, 1)
            .size() == 1);
}

TEST_CASE("of the table of UDP those count that talk to nobody in particular") {
  const std::string open =
      "  0: 00000000:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000 0 0 9 2 0 0";
  const std::string connected =
      "  0: 00000000:0035 0100007F:0035 01 00000000:00000000 00:00000000 00000000 0 0 9 2 0 0";
  CHECK(parse_socket_line(open, Transport::kUdp).has_value());
  CHECK(!parse_socket_line(open, Transport::kTcp).has_value());
  CHECK(!parse_socket_line(connected, Transport::kUdp).has_value());
}

TEST_CASE("what the kernel did not write is nothing") {
  const std::string good(kTcp6);
  REQUIRE(parse_socket_line(good, Transport::kTcp).has_value());
  for (std::size_t size = 0; size < good.find("4713"); ++size) {
    CHECK(!parse_socket_line(good.substr(0, size), Transport::kTcp).has_value());
  }
  for (const auto& [from, to] :
       std::initializer_list<std::pair<const char*, const char*>>{{":08AE", ":108AE"},
                                                                  {":08AE", ":-8AE"},
                                                                  {" 4713", " -1"},
                                                                  {" 1001", " 4294967296"},
                                                                  {"01000000:", "0100000:"},
                                                                  {":08AE", ":0000"}}) {
    std::string bad = good;
    bad.replace(bad.find(from), std::string_view(from).size(), to);
    CAPTURE(bad);
    CHECK(!parse_socket_line(bad, Transport::kTcp).has_value());
  }
}

TEST_CASE("a descriptor's link tells its socket") {
  CHECK(parse_socket_link("socket:[123]") == 123U);
  for (const char* const other : {"", "pipe:[123]", "socket:[]", "socket:[12", "socket:[1x]"}) {
    CHECK(!parse_socket_link(other).has_value());
  }
}

TEST_CASE("a listening socket is listed with its process, and gone when it is") {
  ToolFixture box;
  Bound tcp = bind_somewhere(AF_INET, SOCK_STREAM);
  const Bound udp = bind_somewhere(AF_INET, SOCK_DGRAM);
  REQUIRE(tcp.port != 0);
  REQUIRE(udp.port != 0);
  CHECK(entry_of(box.structured(list_ports_tool(), "{}")["ports"], tcp.port).is_null());
  REQUIRE(::listen(tcp.fd.get(), 1) == 0);
  const auto ports = box.structured(list_ports_tool(), R"({"protocol":"all"})")["ports"];
  const auto entry = entry_of(ports, tcp.port);
  REQUIRE(!entry.is_null());
  CHECK(entry["protocol"] == "tcp");
  CHECK(entry["address"] == "127.0.0.1");
  CHECK(entry["pid"] == ::getpid());
  CHECK(entry["uid"] == ::geteuid());
  CHECK(!entry["command"].get<std::string>().empty());
  CHECK(!entry.contains("process_id"));
  CHECK(entry_of(ports, udp.port)["protocol"] == "udp");
  const std::string text = box.text(list_ports_tool(), "{}");
  CHECK(text.find("tcp\t127.0.0.1:" + std::to_string(tcp.port) + "\t" + std::to_string(::getpid()) +
                  "\t-\t") != std::string::npos);
  tcp.fd.reset();
  CHECK(entry_of(box.structured(list_ports_tool(), "{}")["ports"], tcp.port).is_null());
}

TEST_CASE("a listening socket of IPv6 is listed where the kernel has that") {
  ToolFixture box;
  const Bound tcp = bind_somewhere(AF_INET6, SOCK_STREAM);
  if (tcp.port == 0) {
    SUCCEED("no IPv6 here");
    return;
  }
  REQUIRE(::listen(tcp.fd.get(), 1) == 0);
  const auto ports = box.structured(list_ports_tool(), "{}")["ports"];
  CHECK(entry_of(ports, tcp.port)["address"] == "::1");
  CHECK(box.text(list_ports_tool(), "{}").find("tcp\t[::1]:") != std::string::npos);
}
