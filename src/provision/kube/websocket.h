// pure: WebSocket frames (RFC 6455), as a client of a cluster's port-forward needs them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace agentbox::provision::kube {

/// The other side cuts its messages to 32 KiB or less; a longer one is no port-forward's.
inline constexpr std::size_t kMaxFrameBytes = 1U << 20U;

enum class FrameKind : std::uint8_t {
  kContinuation = 0,
  kText = 1,
  kBinary = 2,
  kClose = 8,
  kPing = 9,
  kPong = 10
};

struct Frame {
  FrameKind kind = FrameKind::kBinary;
  bool last = true;
  std::string data;
};

/// FRAME as a client sends it: masked with MASK, four random bytes.
[[nodiscard]] std::string encode_frame(const Frame& frame, std::string_view mask);

/// Takes a server's bytes in any pieces.
class FrameReader {
 public:
  /// The frames that BYTES complete. After an Error (masked, too long, of an unknown kind) the
  /// connection is of no use any more.
  [[nodiscard]] Result<std::vector<Frame>> feed(std::string_view bytes);

 private:
  std::string rest_;
};

/// Whether ANSWER (status line and headers, up to the empty line) takes up a WebSocket with
/// PROTOCOL. Its proof of having read our key, a SHA-1, is not looked at: the server has proven
/// more by TLS. Code::kUnavailable where it does not, with EACCES where we have no right to it.
[[nodiscard]] Status check_upgrade(std::string_view answer, std::string_view protocol);

/// Takes a port-forward's messages apart: channel 0 is the port's data, channel 1 the words of an
/// error; the first message of each only repeats the port's number.
class PortChannels {
 public:
  explicit PortChannels(std::uint16_t port) : port_(port) {}
  /// The port's bytes in FRAME, perhaps none. An Error with the cluster's words where there are
  /// any.
  [[nodiscard]] Result<std::string> take(const Frame& frame);

 private:
  std::uint16_t port_;
  bool data_began_ = false;
  bool errors_began_ = false;
};

}  // namespace agentbox::provision::kube
