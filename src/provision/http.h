// edge: the one door to libcurl: HTTPS requests to one server.
//
// Before any header of ours goes out the server's certificate has been verified, for its name, by
// the CA given here or the system's. Nothing but https is spoken, no redirect is followed, and
// neither a .netrc nor a proxy of the environment takes part unless it is asked for here.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/version.h"
#include "provision/http_message.h"

namespace agentbox::provision {

struct HttpServer {
  std::string authority;        ///< HOST:PORT
  std::uint16_t port = 443;     ///< that of authority
  std::string prefix;           ///< before every target
  std::string tls_server_name;  ///< verified and sent instead of the host; empty: the host
  std::string proxy_url;        ///< empty: none
  bool heed_no_proxy = false;   ///< NO_PROXY of the environment may switch the proxy off
  std::string ca;               ///< PEM; empty: the system's
  std::string certificate;      ///< PEM of the client's, or empty
  std::string key;
};

/// A connection that was verified as every other, and over which its owner speaks what it likes.
class RawConnection {
 public:
  struct State;
  explicit RawConnection(std::unique_ptr<State> state);
  RawConnection(RawConnection&&) noexcept;
  RawConnection& operator=(RawConnection&&) noexcept;
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;
  ~RawConnection();

  /// For poll(); bytes may also wait in the TLS library, so receive() is asked first.
  [[nodiscard]] int fd() const;
  /// What is there, perhaps nothing. Code::kUnavailable where the other side has ended.
  [[nodiscard]] Result<std::string> receive();
  /// How many of BYTES went out, perhaps none.
  [[nodiscard]] Result<std::size_t> send(std::string_view bytes);

 private:
  std::unique_ptr<State> state_;
};

class HttpClient {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  /// Takes a piece of the body; false ends the request.
  using Sink = std::function<bool(std::string_view)>;

  [[nodiscard]] static Result<HttpClient> make(HttpServer server);

  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();

  /// One request and its whole answer, whatever its status. Code::kDenied: the server is not who it
  /// should be; kUnavailable: it could not be reached, or the connection broke; kTimeout; kLimit:
  /// the answer is too long.
  [[nodiscard]] Result<HttpResponse> send(const HttpRequest& request, Deadline deadline);
  /// As send(), but a good answer's body goes to SINK as it comes.
  [[nodiscard]] Result<HttpResponse> stream(const HttpRequest& request, const Sink& sink,
                                            Deadline deadline);
  /// A new connection on which nothing has been said yet.
  [[nodiscard]] Result<RawConnection> connect_raw(Deadline deadline) const;

 private:
  friend class RawConnection;
  struct State;
  explicit HttpClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The library that speaks HTTP.
[[nodiscard]] LibraryVersion http_library();

}  // namespace agentbox::provision
