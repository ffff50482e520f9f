// edge: a running server with tools of its own and a client's end to talk to it.
#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "agentbox/server.h"
#include "base/record_io.h"
#include "support/catch.h"

namespace agentbox::mcp {

/// Stands in for the services of a real box: what the test's tools share with the test.
struct Box {
  UniqueFd gate{::eventfd(0, EFD_CLOEXEC)};  ///< readable once the waiting tools may go on
  std::atomic<int> running{0};
  std::atomic<int> cancelled{0};

  void open_gate() const { REQUIRE(::eventfd_write(gate.get(), 1) == 0); }
};

namespace test {

/// Long enough for any machine; nothing waits this long unless it is broken.
inline constexpr std::chrono::seconds kPatience{60};

/// Waits for the gate or the call's end.
inline bool wait_at_gate(CallContext& context) {
  std::array<pollfd, 2> polled{pollfd{context.box().gate.get(), POLLIN, 0},
                               pollfd{context.cancel_fd(), POLLIN, 0}};
  static_cast<void>(::poll(polled.data(), polled.size(), -1));
  return polled[0].revents != 0;
}

inline ToolResult with_text(std::string text) {
  ToolResult result;
  result.texts.push_back(std::move(text));
  return result;
}

inline ToolResult wait_handler(const Arguments&, CallContext& context) {
  ++context.box().running;
  const bool passed = wait_at_gate(context);
  --context.box().running;
  if (!passed) {
    ++context.box().cancelled;
  }
  return with_text(passed ? "passed" : "cancelled");
}

/// Ignores being cancelled until the gate opens.
inline ToolResult stubborn_handler(const Arguments&, CallContext& context) {
  ++context.box().running;
  pollfd gate{context.box().gate.get(), POLLIN, 0};
  static_cast<void>(::poll(&gate, 1, -1));
  --context.box().running;
  return with_text("late");
}

inline ToolResult big_handler(const Arguments& arguments, CallContext& context) {
  for (int i = 1; i <= 1000; ++i) {
    context.progress(i, "working");
  }
  context.facts().exit_code = 0;
  return with_text(std::string(static_cast<std::size_t>(arguments.integer("bytes")), 'b'));
}

inline ToolResult measure_handler(const Arguments& arguments, CallContext&) {
  return with_text(std::to_string(arguments.text("text").size()));
}

inline ToolResult binary_handler(const Arguments&, CallContext&) {
  return with_text("\377\376\300\200");
}

inline ToolResult throw_handler(const Arguments&, CallContext&) { throw std::bad_alloc(); }

inline const std::vector<Tool>& test_tools() {
  static const std::string long_text(2000, 'd');  // makes a list of tools worth sending
  static const std::vector<Tool> tools{
      {.name = "wait", .title = "t", .description = long_text, .handler = wait_handler},
      {.name = "stubborn", .title = "t", .description = long_text, .handler = stubborn_handler},
      {.name = "big",
       .title = "t",
       .description = "d",
       .arguments = {{.name = "bytes", .type = ArgumentType::kInteger}},
       .handler = big_handler},
      {.name = "measure",
       .title = "t",
       .description = "d",
       .arguments = {{.name = "text"}},
       .handler = measure_handler},
      {.name = "binary", .title = "t", .description = long_text, .handler = binary_handler},
      {.name = "throw", .title = "t", .description = "d", .handler = throw_handler},
  };
  return tools;
}

/// The client's side. Reads lines against one deadline, so a broken server fails a test instead of
/// hanging it.
class Client {
 public:
  Client(UniqueFd to, UniqueFd from) : to_(std::move(to)), from_(std::move(from)) {}

  /// For other threads: the test library's checks are for the main one.
  [[nodiscard]] bool try_send(std::string_view text) const {
    return write_all(to_.get(), text).ok();
  }
  void send(std::string_view text) const { REQUIRE(try_send(text)); }
  void say(std::string_view line) const { send(std::string(line) + "\n"); }
  /// The next line, or "" where the server has closed its end.
  std::string read_line() {
    std::size_t end = buffer_.find('\n');
    std::array<char, 65536>
        piece;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by read
    while (end == std::string::npos) {
      REQUIRE(wait_readable(from(), std::chrono::steady_clock::now() + kPatience));
      const ssize_t got = ::read(from(), piece.data(), piece.size());
      if (got <= 0) {
        return "";
      }
      const std::size_t before = buffer_.size();
      buffer_.append(piece.data(), static_cast<std::size_t>(got));
      end = buffer_.find('\n', before);
    }
    std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    return line;
  }
  /// Whether read_line() has something to work on at once.
  [[nodiscard]] bool has_input() const {
    return buffer_.find('\n') != std::string::npos ||
           wait_readable(from(), std::chrono::steady_clock::now());
  }
  void shake_hands() {
    say(R"({"jsonrpc":"2.0","id":"hello","method":"initialize",)"
        R"("params":{"protocolVersion":"2025-11-25"}})");
    REQUIRE(read_line().find("serverInfo") != std::string::npos);
  }
  void end_input() {
    static_cast<void>(::shutdown(to_.get(), SHUT_WR));
    if (from_.valid()) {
      to_.reset();
    }
  }
  void close() {
    to_.reset();
    from_.reset();
  }
  [[nodiscard]] int to() const { return to_.get(); }
  [[nodiscard]] int from() const { return from_.valid() ? from_.get() : to_.get(); }

 private:
  UniqueFd to_;
  UniqueFd from_;  // none: the same socket
  std::string buffer_;
};

inline std::string call(int id, std::string_view tool, std::string_view arguments = "{}",
                        std::string_view meta = "") {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
         R"(,"method":"tools/call","params":{"name":")" + std::string(tool) + R"(","arguments":)" +
         std::string(arguments) + std::string(meta) + "}}";
}

inline std::string ping(int id) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":"ping"})";
}

inline bool is_reply_to(const std::string& line, int id) {
  return line.find(R"("id":)" + std::to_string(id) + ",") != std::string::npos;
}

/// A server on a thread of its own.
class Running {
 public:
  enum class Kind { kSocket, kPipes };

  explicit Running(const Patience& patience = {}, Kind kind = Kind::kSocket, bool audited = false)
      : client_({}, {}) {
    // As in the program: a stream whose reader is gone is an error to both sides, and no signal.
    REQUIRE(std::signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    Streams streams;
    connect(streams, kind);
    if (audited) {
      connect_records(streams);
    }
    auto signals = make_pipe();
    REQUIRE((signals.ok() && set_nonblocking(signals->first.get(), true).ok()));
    streams.signals = std::move(signals->first);
    signals_ = std::move(signals->second);
    start(std::move(streams), patience);
  }
  ~Running() {
    if (thread_.joinable()) {
      client_.close();
      thread_.join();
    }
    box_.open_gate();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  Client& client() { return client_; }
  Box& box() { return box_; }
  UniqueFd& records() { return records_; }
  void terminate() const {
    const signalfd_siginfo told = {};
    REQUIRE(::write(signals_.get(), &told, sizeof told) == sizeof told);
  }
  int exit_code() {
    thread_.join();
    return exit_code_;
  }
  [[nodiscard]] bool calls_left() const { return calls_left_; }
  /// Waits until exactly COUNT waiting tools run.
  void wait_for_running(int count) const {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (box_.running != count) {
      REQUIRE(std::chrono::steady_clock::now() < deadline);
      std::this_thread::yield();
    }
  }

 private:
  void connect(Streams& streams, Kind kind) {
    if (kind == Kind::kSocket) {
      auto pair = make_socketpair(SOCK_STREAM);
      REQUIRE(pair.ok());
      streams.in = std::move(pair->first);
      streams.out = UniqueFd(::dup(streams.in.get()));
      client_ = Client(std::move(pair->second), {});
      return;
    }
    auto there = make_pipe();
    auto back = make_pipe();
    REQUIRE((there.ok() && back.ok()));
    streams.in = std::move(there->first);
    streams.out = std::move(back->second);
    client_ = Client(std::move(there->second), std::move(back->first));
  }
  void connect_records(Streams& streams) {
    auto records = make_socketpair(SOCK_SEQPACKET | SOCK_NONBLOCK);
    REQUIRE(records.ok());
    const int small = 4096;
    REQUIRE(::setsockopt(records->first.get(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
    streams.records = std::move(records->first);
    records_ = std::move(records->second);
  }
  void start(Streams streams, const Patience& patience) {
    auto pool = CallPool::create(box_);
    REQUIRE(pool.ok());
    pool_ = std::move(pool).value();
    auto server =
        Server::open(std::move(streams), test_tools(), {}, Role::kAgent, *pool_, patience);
    REQUIRE(server.ok());
    server_.emplace(std::move(server).value());
    thread_ = std::thread([this] {
      exit_code_ = server_->run();
      calls_left_ = server_->calls_left();
      server_.reset();  // as the end of the process would close what it holds
    });
  }

  Box box_;
  UniqueFd records_;
  UniqueFd signals_;
  Client client_;
  std::unique_ptr<CallPool> pool_;
  std::optional<Server> server_;
  int exit_code_ = -1;
  bool calls_left_ = false;
  std::thread thread_;
};

}  // namespace test
}  // namespace agentbox::mcp
