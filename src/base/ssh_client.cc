// edge: see ssh_client.h.
#include "base/ssh_client.h"

#include <libssh/libssh.h>
#include <libssh/server.h>  // ssh_execute_message_callbacks: handles packets on a client too
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>

#include "base/handle.h"
#include "base/ssh_client_state.h"
#include "base/text.h"

namespace agentbox {
namespace {

using KeyHandle = CHandle<ssh_key_struct, ssh_key_free>;
using TextHandle = CHandle<char, ssh_string_free_char>;

/// libssh reads the socket inside calls that look like questions, so that the event waited for may
/// be handled already: no wait is longer than this (ms) before the question is asked again.
constexpr int kMaxWaitMs = 100;

// The server's algorithms: what agentbox-sshd offers, and nothing weaker.
constexpr const char* kKeyExchange = "curve25519-sha256,curve25519-sha256@libssh.org";
constexpr const char* kCiphers =
    "chacha20-poly1305@openssh.com,aes256-gcm@openssh.com,aes128-gcm@openssh.com,aes256-ctr";
constexpr const char* kMacs = "hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com";
constexpr const char* kUserKeys =
    "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512,"
    "rsa-sha2-256";
constexpr const char* kRsaHostKeys = "rsa-sha2-512,rsa-sha2-256";

int wait_ms(Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<long long>(left.count() + 1, 0, kMaxWaitMs));
}

bool passed(Deadline deadline) { return std::chrono::steady_clock::now() >= deadline; }

Status finish_connect(int fd, Deadline deadline) {
  pollfd entry{.fd = fd, .events = POLLOUT, .revents = 0};
  while (::poll(&entry, 1, wait_ms(deadline)) <= 0) {
    if (passed(deadline)) {
      return Error{Code::kTimeout, "no answer to the connection request"};
    }
  }
  int number = 0;
  socklen_t size = sizeof number;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &size) != 0) {
    return errno_error("connect");
  }
  if (number != 0) {
    Error error = errno_error("connect", number);
    error.code = Code::kUnavailable;
    return error;
  }
  return {};
}

// A name or address: what else was given by mistake is not asked of the resolver.
bool is_host(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_' || c == ':' || c == '%';
  });
}

Result<UniqueFd> connect_tcp(const std::string& host, std::uint16_t port, Deadline deadline) {
  if (!is_host(host)) {
    return Error{Code::kInvalid, "not a host name or address: " + escape_text(host, 80)};
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | AI_ADDRCONFIG;
  addrinfo* raw = nullptr;
  if (const int rc = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &raw);
      rc != 0) {
    return Error{Code::kUnavailable, ::gai_strerror(rc)};
  }
  const CHandle<addrinfo, freeaddrinfo> list(raw);
  Error last{Code::kUnavailable, "no address"};
  for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
    UniqueFd fd(::socket(entry->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) {
      last = errno_error("socket");
      continue;
    }
    if (::connect(fd.get(), entry->ai_addr, entry->ai_addrlen) != 0 && errno != EINPROGRESS) {
      last = errno_error("connect");
      last.code = Code::kUnavailable;
      continue;
    }
    if (auto done = finish_connect(fd.get(), deadline); !done.ok()) {
      last = std::move(done).error();
      continue;
    }
    const int on = 1;
    static_cast<void>(::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
    return fd;
  }
  return last;
}

Result<PublicKey> exported(ssh_key key) {
  char* text = nullptr;
  if (ssh_pki_export_pubkey_base64(key, &text) != SSH_OK) {
    return Error{Code::kProtocol, "the host key cannot be read"};
  }
  const TextHandle holder(text);
  AB_TRY(blob, base64_decode(text));
  return PublicKey::from_blob(blob);
}

Result<KeyHandle> imported(const PublicKey& key) {
  ssh_key raw = nullptr;
  if (ssh_pki_import_pubkey_base64(base64_encode(key.blob()).c_str(),
                                   ssh_key_type_from_name(key.type().c_str()), &raw) != SSH_OK) {
    return Error{Code::kInvalid, "the public key cannot be used"};
  }
  return KeyHandle(raw);
}

Status set_options(ssh_session session, const std::string& host, std::uint16_t port,
                   const char* host_keys) {
  const bool no = false;
  const unsigned number = port;
  const auto text = [&](ssh_options_e option, const char* value) {
    return ssh_options_set(session, option, value) == SSH_OK;
  };
  const bool good =
      ssh_options_set(session, SSH_OPTIONS_PROCESS_CONFIG, &no) == SSH_OK &&
      text(SSH_OPTIONS_HOST, host.c_str()) &&
      ssh_options_set(session, SSH_OPTIONS_PORT, &number) == SSH_OK &&
      text(SSH_OPTIONS_USER, "agent") && text(SSH_OPTIONS_KNOWNHOSTS, "/dev/null") &&
      text(SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null") &&
      text(SSH_OPTIONS_KEY_EXCHANGE, kKeyExchange) && text(SSH_OPTIONS_HOSTKEYS, host_keys) &&
      text(SSH_OPTIONS_CIPHERS_C_S, kCiphers) && text(SSH_OPTIONS_CIPHERS_S_C, kCiphers) &&
      text(SSH_OPTIONS_HMAC_C_S, kMacs) && text(SSH_OPTIONS_HMAC_S_C, kMacs) &&
      text(SSH_OPTIONS_PUBLICKEY_ACCEPTED_TYPES, kUserKeys) &&
      text(SSH_OPTIONS_COMPRESSION, "none");
  return good ? Status{} : Status{Error{Code::kInvalid, escape_text(ssh_get_error(session), 300)}};
}

int auth_step(int rc) { return rc == SSH_AUTH_AGAIN ? SSH_AGAIN : rc; }

}  // namespace

// A server's words in an error go to a terminal: escaped, and short.
Error ssh_session_error(ssh_session session, std::string_view doing) {
  constexpr std::size_t kMaxWords = 300;
  return Error{Code::kUnavailable,
               std::string(doing) + ": " + escape_text(ssh_get_error(session), kMaxWords)};
}

Result<int> drive_ssh(ssh_session session, Deadline deadline, const std::function<int()>& step) {
  for (;;) {
    if (const int rc = step(); rc != SSH_AGAIN) {
      return rc;
    }
    if (passed(deadline)) {
      return Error{Code::kTimeout, "no answer in time"};
    }
    const bool writing = (ssh_get_status(session) & SSH_WRITE_PENDING) != 0;
    pollfd entry{.fd = ssh_get_fd(session),
                 .events = static_cast<short>(writing ? POLLIN | POLLOUT : POLLIN),
                 .revents = 0};
    static_cast<void>(::poll(&entry, 1, wait_ms(deadline)));
  }
}

SshClient::SshClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
SshClient::SshClient(SshClient&&) noexcept = default;
SshClient& SshClient::operator=(SshClient&&) noexcept = default;
SshClient::~SshClient() {
  if (state_ && state_->session) {
    ssh_disconnect(state_->session.get());
  }
}

namespace {

// Key exchange over FD with HOST on the algorithms above; HOST_KEYS are the host key algorithms
// offered.
Result<SessionHandle> exchange_keys(UniqueFd fd, const std::string& host, std::uint16_t port,
                                    const char* host_keys, Deadline deadline) {
  SessionHandle session(ssh_new());
  if (!session) {
    return Error{Code::kSystem, "out of memory"};
  }
  AB_CHECK(set_options(session.get(), host, port, host_keys));
  const int number = fd.release();  // libssh closes it from here on
  if (ssh_options_set(session.get(), SSH_OPTIONS_FD, &number) != SSH_OK) {
    return ssh_session_error(session.get(), "connect");
  }
  ssh_set_blocking(session.get(), 0);
  AB_TRY(rc, drive_ssh(session.get(), deadline, [&] { return ssh_connect(session.get()); }));
  if (rc != SSH_OK) {
    return ssh_session_error(session.get(), "key exchange");
  }
  return session;
}

Result<PublicKey> shown_host_key(ssh_session session) {
  ssh_key raw = nullptr;
  if (ssh_get_server_publickey(session, &raw) != SSH_OK) {
    return ssh_session_error(session, "host key");
  }
  const KeyHandle key(raw);
  return exported(key.get());
}

}  // namespace

Result<SshClient> SshClient::connect(const Target& target, Deadline deadline) {
  AB_TRY(fd, connect_tcp(target.host, target.port, deadline));
  return connect_on(std::move(fd), target, deadline);
}

Result<SshClient> SshClient::connect_over(UniqueFd socket, const PublicKey& host_key,
                                          Deadline deadline) {
  AB_CHECK(set_nonblocking(socket.get(), true));
  return connect_on(std::move(socket), {"forwarded", 22, host_key}, deadline);
}

Result<SshClient> SshClient::connect_on(UniqueFd socket, const Target& target, Deadline deadline) {
  const bool rsa = target.host_key.type() == "ssh-rsa";
  AB_TRY(session, exchange_keys(std::move(socket), target.host, target.port,
                                rsa ? kRsaHostKeys : target.host_key.type().c_str(), deadline));
  AB_TRY(shown, shown_host_key(session.get()));
  if (shown.blob() != target.host_key.blob()) {
    ssh_disconnect(session.get());
    return Error{Code::kDenied, "the host key is " + shown.fingerprint() + ", expected was " +
                                    target.host_key.fingerprint()};
  }
  // The library chooses the signature of an RSA key before it asks for this service, and what the
  // server said of signatures may not be read yet then: it would choose SHA-1, which is refused.
  // Once this is answered all of that has come.
  AB_TRY(rc, drive_ssh(session.get(), deadline,
                       [&] { return ssh_service_request(session.get(), "ssh-userauth"); }));
  if (rc != SSH_OK) {
    return ssh_session_error(session.get(), "ask for the login service");
  }
  auto state = std::make_unique<State>();
  state->session = std::move(session);
  return SshClient(std::move(state));
}

Result<PublicKey> fetch_host_key(const std::string& host, std::uint16_t port, Deadline deadline) {
  AB_TRY(fd, connect_tcp(host, port, deadline));
  AB_TRY(session, exchange_keys(std::move(fd), host, port, "ssh-ed25519", deadline));
  auto key = shown_host_key(session.get());
  ssh_disconnect(session.get());
  return key;
}

Result<bool> SshClient::offer(const std::string& user, const PublicKey& key, Deadline deadline) {
  AB_TRY(handle, imported(key));
  ssh_session session = state_->session.get();
  AB_TRY(rc, drive_ssh(session, deadline, [&] {
           return auth_step(ssh_userauth_try_publickey(session, user.c_str(), handle.get()));
         }));
  if (rc == SSH_AUTH_ERROR) {
    return ssh_session_error(session, "offer of the key");
  }
  return rc == SSH_AUTH_SUCCESS;
}

Status SshClient::login(const std::string& user, const SecretText& private_key, Deadline deadline) {
  ssh_key raw = nullptr;
  if (ssh_pki_import_privkey_base64(private_key.reveal().c_str(), "", nullptr, nullptr, &raw) !=
      SSH_OK) {
    return Error{Code::kInvalid, "the private key cannot be used"};
  }
  const KeyHandle key(raw);
  ssh_session session = state_->session.get();
  AB_TRY(rc, drive_ssh(session, deadline, [&] {
           return auth_step(ssh_userauth_publickey(session, user.c_str(), key.get()));
         }));
  if (rc == SSH_AUTH_SUCCESS) {
    return {};
  }
  if (rc == SSH_AUTH_ERROR) {
    return ssh_session_error(session, "login");
  }
  return Error{Code::kDenied, "the server refused the key"};
}

struct SshChannel::State {
  ssh_session session = nullptr;
  ChannelHandle channel;
  std::string pending;  ///< received, not yet a whole line
  std::size_t scanned = 0;
  std::string error_text;

  // Takes what has arrived on one stream, at most up to LIMIT; the rest stays with libssh.
  void take(std::string& into, std::size_t limit, int is_stderr) {
    std::array<char, 32768> chunk{};
    while (into.size() < limit) {
      const std::size_t want = std::min(chunk.size(), limit - into.size());
      const int got = ssh_channel_read_nonblocking(channel.get(), chunk.data(),
                                                   static_cast<std::uint32_t>(want), is_stderr);
      if (got <= 0) {
        return;
      }
      into.append(chunk.data(), static_cast<std::size_t>(got));
    }
  }
  void take_all() {
    // Reading alone handles no packet after the other side's EOF, so its CLOSE would never be seen.
    static_cast<void>(ssh_execute_message_callbacks(session));
    take(error_text, kMaxSshErrorTextBytes, 1);
    take(pending, kMaxSshLineBytes, 0);
  }
  [[nodiscard]] bool ended() const {
    constexpr int kClosed = SSH_CLOSED | SSH_CLOSED_ERROR;
    return ssh_channel_is_eof(channel.get()) != 0 || ssh_channel_is_closed(channel.get()) != 0 ||
           (ssh_get_status(session) & kClosed) != 0;
  }
  // A whole line out of PENDING, or nothing.
  std::optional<std::string> cut_line() {
    const auto end = pending.find('\n', scanned);
    if (end == std::string::npos) {
      scanned = pending.size();
      return std::nullopt;
    }
    std::string line = pending.substr(0, end);
    pending.erase(0, end + 1);
    scanned = 0;
    return line;
  }
};

SshChannel::SshChannel(std::unique_ptr<State> state) : state_(std::move(state)) {}
SshChannel::SshChannel(SshChannel&&) noexcept = default;
SshChannel& SshChannel::operator=(SshChannel&&) noexcept = default;
SshChannel::~SshChannel() = default;

Result<SshChannel> SshClient::open_shell(Deadline deadline) {
  return open_session([](ssh_channel channel) { return ssh_channel_request_shell(channel); },
                      deadline);
}

Result<SshChannel> SshClient::open_exec(const std::string& command, Deadline deadline) {
  return open_session(
      [&](ssh_channel channel) { return ssh_channel_request_exec(channel, command.c_str()); },
      deadline);
}

Result<SshChannel> SshClient::open_session(const std::function<int(ssh_channel_struct*)>& start,
                                           Deadline deadline) {
  ssh_session session = state_->session.get();
  auto state = std::make_unique<SshChannel::State>();
  state->session = session;
  state->channel.reset(ssh_channel_new(session));
  ssh_channel channel = state->channel.get();
  if (channel == nullptr) {
    return Error{Code::kSystem, "out of memory"};
  }
  AB_TRY(opened, drive_ssh(session, deadline, [&] { return ssh_channel_open_session(channel); }));
  if (opened != SSH_OK) {
    return ssh_session_error(session, "open a channel");
  }
  AB_TRY(started, drive_ssh(session, deadline, [&] { return start(channel); }));
  if (started != SSH_OK) {
    return ssh_session_error(session, "start the tool server");
  }
  return SshChannel(std::move(state));
}

Status SshChannel::write_line(std::string_view text, Deadline deadline) {
  std::string line(text);
  line += '\n';
  std::size_t sent = 0;
  AB_TRY(rc, drive_ssh(state_->session, deadline, [&] {
           if (sent < line.size()) {
             const int wrote = ssh_channel_write(state_->channel.get(), line.data() + sent,
                                                 static_cast<std::uint32_t>(line.size() - sent));
             if (wrote < 0) {
               return SSH_ERROR;
             }
             sent += static_cast<std::size_t>(wrote);
           }
           state_->take_all();  // both sides writing at once must not wait for each other
           const bool queued = (ssh_get_status(state_->session) & SSH_WRITE_PENDING) != 0;
           return sent == line.size() && !queued ? SSH_OK : SSH_AGAIN;
         }));
  return rc == SSH_OK ? Status{} : Status{ssh_session_error(state_->session, "send")};
}

Result<std::string> SshChannel::read_line(Deadline deadline) {
  std::optional<std::string> line;
  AB_TRY(rc, drive_ssh(state_->session, deadline, [&] {
           const bool over = state_->ended();  // asked first: what arrived before the end counts
           state_->take_all();
           line = state_->cut_line();
           if (line) {
             return SSH_OK;
           }
           return over || state_->pending.size() >= kMaxSshLineBytes ? SSH_ERROR : SSH_AGAIN;
         }));
  if (rc == SSH_OK) {
    return std::move(*line);
  }
  if (state_->pending.size() >= kMaxSshLineBytes) {
    return Error{Code::kLimit, "the other side sent a line of more than 16 MiB"};
  }
  const std::string words = escape_text(state_->error_text, 1000);
  return Error{Code::kUnavailable,
               "the session ended" + (words.empty() ? std::string() : ": " + words)};
}

Result<std::optional<int>> SshChannel::finish(Deadline deadline) {
  ssh_channel channel = state_->channel.get();
  AB_TRY(sent, drive_ssh(state_->session, deadline, [&] { return ssh_channel_send_eof(channel); }));
  static_cast<void>(sent);  // the other side may have closed already
  AB_TRY(rc, drive_ssh(state_->session, deadline, [&] {
           state_->take_all();
           state_->pending.clear();
           state_->scanned = 0;
           constexpr int kClosed = SSH_CLOSED | SSH_CLOSED_ERROR;
           const bool over = ssh_channel_is_closed(channel) != 0 ||
                             (ssh_get_status(state_->session) & kClosed) != 0;
           return over ? SSH_OK : SSH_AGAIN;
         }));
  static_cast<void>(rc);
  const int status = ssh_channel_get_exit_status(channel);
  return status < 0 ? std::optional<int>() : std::optional<int>(status);
}

}  // namespace agentbox
