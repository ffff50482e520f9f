// edge: see port_forward.h.
#include "provision/kube/port_forward.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "provision/kube/websocket.h"

namespace agentbox::provision::kube {
namespace {

/// A message; the cluster takes them up to 32 KiB.
constexpr std::size_t kPieceBytes = 16384;

// All that happens in the relay process. Any problem ends it, and our end of the socket with it.
class Relay {
 public:
  Relay(RawConnection& connection, int local, std::uint16_t port)
      : connection_(connection), local_(local), channels_(port) {}

  Status run(const std::string& first) {
    AB_CHECK(take(first));
    for (;;) {
      AB_TRY(bytes, connection_.receive());
      if (!bytes.empty()) {
        AB_CHECK(take(bytes));
        continue;
      }
      std::array<pollfd, 2> entries{{{local_, POLLIN, 0}, {connection_.fd(), POLLIN, 0}}};
      static_cast<void>(::poll(entries.data(), entries.size(), -1));
      if (entries[0].revents != 0) {
        AB_CHECK(pass_on());
      }
    }
  }

 private:
  Status take(const std::string& bytes) {
    AB_TRY(frames, reader_.feed(bytes));
    for (const Frame& frame : frames) {
      if (frame.kind == FrameKind::kPing) {
        AB_CHECK(send({FrameKind::kPong, true, frame.data}));
      }
      AB_TRY(data, channels_.take(frame));
      AB_CHECK(write_all(local_, data));
    }
    return {};
  }

  Status pass_on() {
    std::array<char, kPieceBytes> chunk{};
    const ssize_t got = ::read(local_, chunk.data(), chunk.size());
    if (got <= 0) {
      return Error{Code::kUnavailable, "our side has ended"};
    }
    std::string data(1, '\0');  // channel 0: the port's data
    data.append(chunk.data(), static_cast<std::size_t>(got));
    return send({FrameKind::kBinary, true, std::move(data)});
  }

  Status send(const Frame& frame) {
    std::array<char, 4> mask{};
    if (::getrandom(mask.data(), mask.size(), 0) != static_cast<ssize_t>(mask.size())) {
      return errno_error("getrandom");
    }
    const std::string bytes = encode_frame(frame, std::string_view(mask.data(), mask.size()));
    for (std::string_view left = bytes; !left.empty();) {
      AB_TRY(sent, connection_.send(left));
      left.remove_prefix(sent);
      if (sent == 0) {
        pollfd entry{connection_.fd(), POLLOUT, 0};
        static_cast<void>(::poll(&entry, 1, -1));
      }
    }
    return {};
  }

  RawConnection& connection_;
  int local_;
  FrameReader reader_;
  PortChannels channels_;
};

}  // namespace

Result<PortForward> PortForward::start(RawConnection connection, std::string first,
                                       std::uint16_t port) {
  AB_TRY(pair, make_socketpair(SOCK_STREAM));
  const pid_t parent = ::getpid();
  const pid_t relay = ::fork();
  if (relay < 0) {
    return errno_error("fork");
  }
  if (relay == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    pair.first.reset();
    if (::getppid() == parent) {
      static_cast<void>(Relay(connection, pair.second.get(), port).run(first));
    }
    ::_exit(0);
  }
  return PortForward(relay, std::move(connection), std::move(pair.first));
}

PortForward::PortForward(PortForward&& other) noexcept
    : relay_(std::exchange(other.relay_, -1)),
      connection_(std::move(other.connection_)),
      socket_(std::move(other.socket_)) {}

PortForward::~PortForward() {
  if (relay_ > 0) {
    ::kill(relay_, SIGKILL);
    while (::waitpid(relay_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

}  // namespace agentbox::provision::kube
