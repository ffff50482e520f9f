// edge: see network_child.h.
#include "support/network_child.h"

#include <fcntl.h>
#include <libssh/libssh.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <utility>
#include <variant>

#include "base/record_io.h"
#include "base/text.h"
#include "sshd/authorized_keys.h"
#include "sshd/connection.h"
#include "sshd/lockdown.h"
#include "sshd/ssh.h"

namespace agentbox::test {
namespace {

using namespace std::chrono_literals;

/// The server waits, and waits again after what may have been on its way has come.
constexpr int kQuietTurns = 2;
/// Nothing that a client sends keeps the door's code busy for this long.
constexpr auto kLongest = 20s;
constexpr unsigned kUserauthRequest = 50;

void expect(bool holds) {
  if (!holds) {
    std::abort();
  }
}

ssh_bind shared_bind() {
  static const sshd::SshBind bind = [] {
    ssh_key key = nullptr;
    expect(ssh_pki_generate(SSH_KEYTYPE_ED25519, 0, &key) == SSH_OK);
    auto made = sshd::make_bind(sshd::SshKey(key));
    expect(made.ok());
    std::signal(SIGPIPE, SIG_IGN);
    // The watchdog's: by default it ends a process without a word.
    std::signal(SIGPROF, [](int) { std::abort(); });
    return std::move(made).value();
  }();
  return bind.get();
}

sshd::KeySet keys() {
  sshd::KeySet set;
  set.entries = sshd::parse_authorized_keys("ssh-ed25519 " +
                                            base64_encode(NetworkChild::own_key().blob()) + "\n")
                    .entries;
  expect(set.entries.size() == 1);
  return set;
}

FdPair pair_of(int type) {
  auto made = make_socketpair(type);
  expect(made.ok());
  return std::move(made).value();
}

}  // namespace

const SigningKey& NetworkChild::own_key() {
  static const SigningKey key(1);
  return key;
}

NetworkChild::NetworkChild() {
  ssh_bind bind = shared_bind();
  FdPair link = pair_of(SOCK_STREAM);
  FdPair records = pair_of(SOCK_SEQPACKET);
  client_ = std::move(link.first);
  monitor_ = std::move(records.first);
  expect(set_nonblocking(client_.get(), true).ok() && set_nonblocking(monitor_.get(), true).ok());
  UniqueFd second(::dup(link.second.get()));
  auto session = sshd::accept_session(bind, std::move(link.second));
  expect(session.ok());
  thread_ = std::thread(
      [this, parts = sshd::Connection::Parts{std::move(session).value(),
                                             std::move(second),
                                             std::move(records.second),
                                             keys(),
                                             {sshd::Address::parse("192.0.2.1").value(), 4711},
                                             {}}]() mutable {
        state_ = UniqueFd(::open("/proc/thread-self/stat", O_RDONLY | O_CLOEXEC));
        started_ = true;
        sshd::Connection connection(std::move(parts));
        exit_ = connection.run();
        ended_ = true;
      });
}

NetworkChild::~NetworkChild() {
  if (thread_.joinable()) {
    static_cast<void>(finish());
  }
}

void NetworkChild::tell(const record::Record& record) {
  if (monitor_) {
    static_cast<void>(send_record(monitor_.get(), record));
  }
}

void NetworkChild::log_in(const SigningKey& signer, std::string_view user,
                          std::string_view session_id) {
  const std::string request = ssh_byte(kUserauthRequest) + ssh_string(user) +
                              ssh_string("ssh-connection") + ssh_string("publickey") + ssh_byte(1) +
                              ssh_string("ssh-ed25519") + ssh_string(signer.blob());
  may_log_in_ = may_log_in_ || (&signer == &own_key() && user == "agent" && !session_id.empty() &&
                                session_id == wire_.session_id());
  wire_.put_packet(request + ssh_string(signer.sign(ssh_string(session_id) + request)));
}

bool NetworkChild::all_taken() const {
  int bytes = 0;
  const bool client =
      pending_.empty() && (::ioctl(client_.get(), SIOCOUTQ, &bytes) != 0 || bytes == 0);
  return client && (!monitor_ || ::ioctl(monitor_.get(), SIOCOUTQ, &bytes) != 0 || bytes == 0);
}

// In poll(), and nothing is there for it: whether it waits is the kernel's to say, for on a busy
// machine no time is long enough to tell waiting from not having had its turn.
bool NetworkChild::waits() const {
  std::array<char, 512> line{};
  const ssize_t got = ::pread(state_.get(), line.data(), line.size(), 0);
  const std::string_view text(line.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::size_t bracket = text.rfind(')');
  return all_taken() && bracket != std::string_view::npos && text.substr(bracket + 2, 1) == "S";
}

bool NetworkChild::settle(const std::function<bool()>& holds) {
  for (int quiet = 0; quiet < kQuietTurns && open_ && !holds();) {
    const std::uint64_t before = moved_;
    turn(waits() ? 0 : 1);
    if (moved_ == before && ended_) {
      break;
    }
    quiet = moved_ == before && waits() ? quiet + 1 : 0;
  }
  return holds();
}

sshd::ChildExit NetworkChild::finish() {
  const auto deadline = std::chrono::steady_clock::now() + kLongest;
  bool shut = false;
  while (!ended_) {
    turn(shut ? 10 : 0);
    if (!shut && (pending_.empty() || !open_)) {
      ::shutdown(client_.get(), SHUT_WR);
      shut = true;
    }
    expect(std::chrono::steady_clock::now() < deadline);
  }
  thread_.join();
  sshd::arm_watchdog(0s);
  read_records();
  expect(exit_ == sshd::ChildExit::kDone ? closing_told_ || !monitor_
                                         : exit_ == sshd::ChildExit::kMonitorGone && !monitor_);
  return exit_;
}

void NetworkChild::turn(int milliseconds) {
  pending_ += wire_.take_output();
  std::array<pollfd, 2> entries{};
  entries[0] = {open_ ? client_.get() : -1,
                static_cast<short>(pending_.empty() ? POLLIN : POLLIN | POLLOUT), 0};
  entries[1] = {monitor_ ? monitor_.get() : -1, POLLIN, 0};
  if (::poll(entries.data(), entries.size(), milliseconds) <= 0) {
    return;
  }
  if ((entries[0].revents & POLLOUT) != 0) {
    send_some();
  }
  if ((entries[0].revents & ~POLLOUT) != 0) {
    receive_some();
  }
  if (entries[1].revents != 0) {
    read_records();
  }
}

void NetworkChild::send_some() {
  const ssize_t sent = ::send(client_.get(), pending_.data(), pending_.size(), MSG_NOSIGNAL);
  if (sent > 0) {
    pending_.erase(0, static_cast<std::size_t>(sent));
    moved_ += static_cast<std::uint64_t>(sent);
  } else if (sent < 0 && errno != EAGAIN) {
    pending_.clear();  // what it still says can be read
  }
}

void NetworkChild::receive_some() {
  std::array<char, 65536>
      buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): recv() fills it
  const ssize_t got = ::recv(client_.get(), buffer.data(), buffer.size(), 0);
  if (got > 0) {
    moved_ += static_cast<std::uint64_t>(got);
    if (!wire_.is_lost()) {
      wire_.feed({buffer.data(), static_cast<std::size_t>(got)});
    }
  } else if (got == 0 || errno != EAGAIN) {
    open_ = false;
  }
}

void NetworkChild::read_records() {
  while (monitor_) {
    auto received = receive_record(monitor_.get());
    if (!received.ok()) {
      expect(received.error().code == Code::kUnavailable);  // anything else is no record of ours
      return;
    }
    if (!received->has_value()) {
      return;
    }
    ++moved_;
    expect((*received)->fds.empty());
    take(std::move((*received)->record));
  }
}

void NetworkChild::take(record::Record record) {
  expect(!closing_told_);
  if (const auto* tried = std::get_if<record::AuthTried>(&record)) {
    expect(!tried->accepted || !tried->final || may_log_in_);
    logged_in_ = logged_in_ || (tried->accepted && tried->final);
  } else if (const auto* wanted = std::get_if<record::SessionWanted>(&record)) {
    expect(logged_in_);
    give_session(wanted->channel);
  } else {
    closing_told_ = std::holds_alternative<record::Closing>(record);
    expect(closing_told_ || std::holds_alternative<record::Requested>(record));
  }
  records_.push_back(std::move(record));
}

void NetworkChild::give_session(std::uint32_t channel) {
  if (answer_ == Answer::kDeny) {
    tell(record::SessionDenied{channel, "as the test says"});
  } else if (answer_ == Answer::kGive) {
    FdPair stdio = pair_of(SOCK_STREAM);
    FdPair log = pair_of(SOCK_STREAM);
    for (const int fd :
         {stdio.first.get(), stdio.second.get(), log.first.get(), log.second.get()}) {
      expect(set_nonblocking(fd, true).ok());
    }
    static_cast<void>(send_record(monitor_.get(), record::SessionGiven{channel, "test"},
                                  {stdio.first.get(), log.first.get()}));
    sessions_.push_back({channel, std::move(stdio.second), std::move(log.second)});
  }
}

}  // namespace agentbox::test
