// edge: a connection to a port of a pod, through the cluster's API.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/handle.h"
#include "provision/http.h"

namespace agentbox::provision::kube {

/// The WebSocket protocol of a port-forward.
inline constexpr const char* kPortForwardProtocol = "v4.channel.k8s.io";

/// A process of its own carries the bytes between a socket here and CONNECTION; it ends with
/// either, and with this object.
class PortForward {
 public:
  /// CONNECTION has taken up kPortForwardProtocol for PORT; FIRST are bytes that came with that.
  [[nodiscard]] static Result<PortForward> start(RawConnection connection, std::string first,
                                                 std::uint16_t port);
  PortForward(PortForward&& other) noexcept;
  PortForward& operator=(PortForward&&) = delete;
  PortForward(const PortForward&) = delete;
  PortForward& operator=(const PortForward&) = delete;
  ~PortForward();

  /// Our end, once.
  [[nodiscard]] UniqueFd take_socket() { return std::move(socket_); }

 private:
  PortForward(pid_t relay, RawConnection connection, UniqueFd socket)
      : relay_(relay), connection_(std::move(connection)), socket_(std::move(socket)) {}
  pid_t relay_;
  // The relay's, not to be used here; and not to be let go of while it works: that would say
  // goodbye to the other side.
  RawConnection connection_;
  UniqueFd socket_;
};

}  // namespace agentbox::provision::kube
