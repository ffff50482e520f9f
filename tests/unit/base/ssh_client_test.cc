// edge: the SSH client against servers that are none. What it does with a real one is tried end to
// end.
#include "base/ssh_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "base/handle.h"
#include "support/catch.h"

using namespace agentbox;
using std::chrono::milliseconds;

namespace {

// A socket of 127.0.0.1 that listens and does nothing.
class Listener {
 public:
  Listener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    auto* raw = reinterpret_cast<sockaddr*>(
        &address);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast): the socket API
    socklen_t size = sizeof address;
    REQUIRE(::bind(fd_.get(), raw, size) == 0);
    REQUIRE(::listen(fd_.get(), 4) == 0);
    REQUIRE(::getsockname(fd_.get(), raw, &size) == 0);
    port_ = ::ntohs(address.sin_port);
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] int fd() const { return fd_.get(); }
  void close() { fd_.reset(); }

 private:
  UniqueFd fd_;
  std::uint16_t port_ = 0;
};

Result<SshClient> connect(std::uint16_t port, milliseconds time) {
  return SshClient::connect({"127.0.0.1", port, generate_ed25519()->public_key},
                            std::chrono::steady_clock::now() + time);
}

}  // namespace

TEST_CASE("a port where nobody listens is unavailable") {
  Listener listener;
  listener.close();
  const auto client = connect(listener.port(), milliseconds{5000});
  REQUIRE_FALSE(client.ok());
  CHECK(client.error().code == Code::kUnavailable);
}

TEST_CASE("a server that says nothing is given up at the deadline") {
  const Listener listener;
  const auto start = std::chrono::steady_clock::now();
  const auto client = connect(listener.port(), milliseconds{200});
  REQUIRE_FALSE(client.ok());
  CHECK(client.error().code == Code::kTimeout);
  CHECK(std::chrono::steady_clock::now() - start >= milliseconds{200});
}

TEST_CASE("a server that speaks something else is an error with its words made safe") {
  Listener listener;
  std::thread server([&] {
    const UniqueFd peer(::accept(listener.fd(), nullptr, nullptr));
    static_cast<void>(write_all(peer.get(), "HTTP/1.1 400 \x1b[31mBad\r\n\r\n"));
  });
  const auto client = connect(listener.port(), milliseconds{5000});
  server.join();
  REQUIRE_FALSE(client.ok());
  CHECK(client.error().what.find('\x1b') == std::string::npos);
}

TEST_CASE("an address that is none is refused as such") {
  const auto client = SshClient::connect({"no such host", 22, generate_ed25519()->public_key},
                                         std::chrono::steady_clock::now() + milliseconds{1000});
  REQUIRE_FALSE(client.ok());
  CHECK(client.error().code == Code::kInvalid);
}
