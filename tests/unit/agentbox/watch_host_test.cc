// edge: the program that holds watches, asked as sessions ask it and as nobody should.
#include "agentbox/watch_host.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <thread>

#include "support/catch.h"
#include "unit/agentbox/temporary_folder.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::test;
using namespace std::chrono_literals;

namespace {

// Long enough for any machine; nothing waits so long unless it is broken.
constexpr std::chrono::seconds kPatience{30};

class Host {
 public:
  explicit Host(WatchHost::Options options) {
    Settings settings;
    settings.workspace = root_.path();
    settings.out = out_.path();
    auto box = open_box(settings);
    REQUIRE(box.ok());
    hosted_.box = std::move(*box);
    hosted_.listener.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const sockaddr_un address = where();
    REQUIRE(::bind(hosted_.listener.get(), reinterpret_cast<const sockaddr*>(&address),
                   sizeof address) == 0);
    REQUIRE(::listen(hosted_.listener.get(), 100) == 0);
    thread_ = std::thread([this, options] { WatchHost(hosted_, options).run(); });
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host() { join(); }

  // Waits until it has ended by itself.
  void join() {
    if (thread_.joinable()) {
      thread_.join();
    }
  }
  [[nodiscard]] HostedLine dial() const {
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = where();
    REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
            0);
    REQUIRE(set_nonblocking(socket.get(), true).ok());
    return HostedLine(std::move(socket));
  }
  [[nodiscard]] WatchReply ask(const WatchRequest& request) const {
    return ask(encode_watch_request(request));
  }
  [[nodiscard]] WatchReply ask(const OrderedJson& request) const {
    HostedLine line = dial();
    REQUIRE(line.send(request, soon()).ok());
    return take(line);
  }
  static WatchReply take(HostedLine& line) {
    auto answer = line.receive(soon());
    REQUIRE(answer.ok());
    auto reply = decode_watch_reply(*answer);
    REQUIRE(reply.ok());
    return std::move(*reply);
  }
  static std::chrono::steady_clock::time_point soon() {
    return std::chrono::steady_clock::now() + kPatience;
  }
  [[nodiscard]] std::string at(std::string_view name) const { return root_.at(name); }

 private:
  [[nodiscard]] sockaddr_un where() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, out_.at("socket").c_str(), sizeof(address.sun_path) - 1);
    return address;
  }

  TemporaryFolder root_;
  TemporaryFolder out_;
  Hosted hosted_;
  std::thread thread_;
};

WatchRequest begin(const std::string& path, std::int64_t wait_ms = 0) {
  return {.wait_ms = wait_ms,
          .max_events = 100,
          .path = path,
          .recursive = true,
          .include = std::vector<std::string>{},
          .exclude = std::vector<std::string>{},
          .debounce_ms = 0};
}
WatchRequest go_on(const std::string& cursor, std::int64_t wait_ms = 0) {
  return {.cursor = cursor, .wait_ms = wait_ms, .max_events = 100};
}

std::string code(const WatchReply& reply) { return reply.error ? reply.error->code : ""; }

}  // namespace

TEST_CASE("a host ends when nobody has asked its last watch for a while") {
  Host host({.idle = 300ms, .linger = 100ms});
  const WatchReply first = host.ask(begin("."));
  CHECK(code(first).empty());
  host.join();
}

TEST_CASE("a call that waits keeps its watch, and idle ones go") {
  Host host({.idle = 300ms, .linger = 100ms});
  put_file(host.at("a/f"), "x");
  put_file(host.at("b/f"), "x");
  const WatchReply a = host.ask(begin("a"));
  const WatchReply b = host.ask(begin("b"));
  // Longer than a watch may be idle.
  CHECK(host.ask(go_on(a.next_cursor, 1200)).changes.empty());
  CHECK(code(host.ask(go_on(b.next_cursor))) == "BAD_CURSOR");
  put_file(host.at("a/g"), "x");
  const WatchReply more = host.ask(go_on(a.next_cursor));
  REQUIRE(more.changes.size() >= 1);
  CHECK(more.changes[0].change.path == "a/g");
  host.join();
}

TEST_CASE("a host has so many watches, and one more is refused until one is closed") {
  Host host({.idle = 20s, .linger = 100ms});
  std::vector<std::string> cursors;
  for (std::size_t i = 0; i <= kMaxWatches; ++i) {
    put_file(host.at("d" + std::to_string(i) + "/f"), "x");
    const WatchReply reply = host.ask(begin("d" + std::to_string(i)));
    CHECK(code(reply) == (i < kMaxWatches ? "" : "WATCH_LIMIT"));
    cursors.push_back(reply.next_cursor);
  }
  CHECK(code(host.ask(begin("d3"))).empty());  // is there already
  for (std::size_t i = 0; i < kMaxWatches; ++i) {
    WatchRequest close = go_on(cursors[i]);
    close.close = true;
    CHECK(code(host.ask(close)).empty());
    CHECK(code(host.ask(close)) == "BAD_CURSOR");
  }
  host.join();
}

TEST_CASE("whoever waits for a watch that is closed is told at once") {
  Host host({.idle = 20s, .linger = 100ms});
  const WatchReply first = host.ask(begin("."));
  HostedLine waiting = host.dial();
  REQUIRE(waiting.send(encode_watch_request(go_on(first.next_cursor, 50'000)), Host::soon()).ok());
  // Asked after it, and so heard after it.
  WatchRequest close = go_on(first.next_cursor);
  close.close = true;
  CHECK(code(host.ask(close)).empty());
  CHECK(code(Host::take(waiting)) == "BAD_CURSOR");
  host.join();
}

TEST_CASE("changes past a ring are lost, and the host says so") {
  Host host({.idle = 20s, .linger = 100ms, .ring_events = 5});
  const WatchReply first = host.ask(begin("."));
  for (int i = 0; i < 8; ++i) {
    put_file(host.at("f" + std::to_string(i)), "x");
  }
  const WatchReply lost = host.ask(go_on(first.next_cursor));
  CHECK(lost.overflow);
  REQUIRE(lost.changes.size() == 1);
  CHECK(lost.changes[0].change.op == ChangeOp::kOverflow);
  CHECK(lost.changes[0].change.path == ".");
  WatchRequest close = go_on(lost.next_cursor);
  close.close = true;
  CHECK(host.ask(close).changes.empty());
  host.join();
}

TEST_CASE("a watch that has outgrown its limit says so, and can be begun anew when it fits") {
  Host host({.idle = 20s, .linger = 100ms, .max_folders = 3});
  const WatchReply first = host.ask(begin("."));
  for (const char* const name : {"a", "b", "c"}) {
    std::filesystem::create_directory(host.at(name));
  }
  std::string said;
  std::string cursor = first.next_cursor;
  for (int i = 0; i < 20 && said.empty(); ++i) {
    const WatchReply reply = host.ask(go_on(cursor));
    said = code(reply);
    cursor = reply.error ? cursor : reply.next_cursor;
  }
  CHECK(said == "WATCH_LIMIT");
  CHECK(code(host.ask(begin("."))) == "WATCH_LIMIT");
  std::filesystem::remove(host.at("c"));
  const WatchReply again = host.ask(begin("."));
  CHECK(code(again).empty());
  for (const std::string& each : {again.next_cursor, cursor}) {
    WatchRequest close = go_on(each);
    close.close = true;
    (void)host.ask(close);
  }
  host.join();
}

TEST_CASE("what is no request ends its line and disturbs nobody") {
  Host host({.idle = 20s, .linger = 100ms});
  const WatchReply first = host.ask(begin("."));
  for (const char* const text : {"{}", R"({"cursor":""})", R"({"cursor":1,"close":true})"}) {
    HostedLine line = host.dial();
    REQUIRE(line.send(OrderedJson::parse(text), Host::soon()).ok());
    const auto answer = line.receive(Host::soon());
    REQUIRE_FALSE(answer.ok());
    CHECK(answer.error().code == Code::kUnavailable);
  }
  WatchRequest garbage = go_on("garbage");
  CHECK(code(host.ask(garbage)) == "BAD_CURSOR");
  CHECK(code(host.ask(begin("../.."))) == "ESCAPE");
  std::vector<HostedLine> silent;
  for (std::size_t i = 0; i < 10; ++i) {
    silent.push_back(host.dial());
  }
  WatchRequest close = go_on(first.next_cursor);
  close.close = true;
  CHECK(code(host.ask(close)).empty());
  silent.clear();
  host.join();
}
