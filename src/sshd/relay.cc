// edge: see relay.h.
#include "sshd/relay.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/defence.h"

namespace agentbox::sshd {
namespace {

constexpr std::size_t kChunkBytes = 64U << 10U;
/// EX_TEMPFAIL of sysexits.h: nothing is wrong with the request, try again.
constexpr int kExitTryAgain = 75;

enum class ReadResult : std::uint8_t { kData, kNothingNow, kEnd };

ReadResult read_some(int fd, std::string& out, std::size_t most) {
  std::array<char, kChunkBytes>
      buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
  ssize_t got = -1;
  do {
    got = ::read(fd, buffer.data(), std::min(most, buffer.size()));
  } while (got < 0 && errno == EINTR);
  if (got > 0) {
    out.assign(buffer.data(), static_cast<std::size_t>(got));
    return ReadResult::kData;
  }
  return got < 0 && errno == EAGAIN ? ReadResult::kNothingNow : ReadResult::kEnd;
}

// How much of DATA the session took; a session that is gone takes everything, into nothing.
std::size_t write_some(int fd, std::string_view data) {
  ssize_t written = -1;
  do {
    written = ::send(fd, data.data(), data.size(), MSG_NOSIGNAL);
  } while (written < 0 && errno == EINTR);
  if (written >= 0) {
    return static_cast<std::size_t>(written);
  }
  return errno == EAGAIN ? 0 : data.size();
}

}  // namespace

void Relay::attach(UniqueFd stdio, UniqueFd log) {
  if (closed_there_) {
    return;  // the client left while the session was being made: closing the ends tells it
  }
  stdio_ = std::move(stdio);
  log_ = std::move(log);
}

void Relay::over(record::End how, int status) {
  outcome_ = Outcome{how, status};
  if (how == record::End::kLost) {
    to_client_error_ += "agentbox: the box's side of this session was restarted; connect again\n";
  }
}

void Relay::deny(std::string_view reason) {
  to_client_error_ += "agentbox: no session: ";
  to_client_error_ += reason;
  to_client_error_ += '\n';
  session_eof_ = true;
  outcome_ = Outcome{record::End::kExited, kExitTryAgain};
}

std::uint32_t Relay::on_data(std::string_view data, bool is_stderr) {
  if (is_stderr || closed_here_ || outcome_) {
    return static_cast<std::uint32_t>(data.size());  // nobody is there to read it
  }
  std::size_t taken = 0;
  if (stdio_ && to_session_.empty() && !shut_) {
    taken = write_some(stdio_.get(), data);
  }
  unread_ = data.size() - taken;
  return static_cast<std::uint32_t>(taken);
}

void Relay::on_close() {
  closed_there_ = true;
  drop_session();
}

void Relay::drop_session() {
  stdio_.reset();
  log_.reset();
  to_session_.clear();
  to_client_.clear();
  to_client_error_.clear();
  session_eof_ = true;
}

bool Relay::client_can_take() const {
  // In non-blocking mode a write queues in memory without end; only an empty socket buffer and an
  // open window together mean that the client reads.
  return ssh_channel_window_size(channel_) > 0 &&
         (ssh_get_status(session_) & SSH_WRITE_PENDING) == 0;
}

bool Relay::send(std::string& pending, bool as_stderr) {
  const auto length = static_cast<std::uint32_t>(std::min(pending.size(), kChunkBytes));
  const int sent = as_stderr ? ssh_channel_write_stderr(channel_, pending.data(), length)
                             : ssh_channel_write(channel_, pending.data(), length);
  pending.erase(0, sent > 0 ? static_cast<std::size_t>(sent) : 0);
  return sent > 0;
}

bool Relay::pump() {
  if (defended("window") && unread_ > kMaxUnreadBytes) {
    return false;
  }
  if (!closed_there_) {
    feed_session();
    feed_client();
    feed_log();
  }
  finish();
  return true;
}

// All of it at once: every read makes the library open the window again whatever is still unread,
// so reading piecemeal would let a fast client fill our memory behind a slow session.
void Relay::take_unread() {
  std::string taken(unread_, '\0');
  std::size_t have = 0;
  while (have < taken.size()) {
    const auto want = static_cast<std::uint32_t>(taken.size() - have);
    const int got = ssh_channel_read_nonblocking(channel_, taken.data() + have, want, 0);
    if (got <= 0) {
      break;
    }
    have += static_cast<std::size_t>(got);
    unread_ -= std::min(unread_, static_cast<std::size_t>(got));
  }
  taken.resize(have);
  to_session_ = std::move(taken);
  to_session_at_ = 0;
}

void Relay::feed_session() {
  for (std::size_t moved = 0; stdio_ && moved < kPassBytes;) {
    if (to_session_.empty()) {
      if (unread_ == 0) {
        break;
      }
      take_unread();
      if (to_session_.empty()) {
        break;
      }
    }
    if (!stdio_) {
      break;  // the read ran a callback that closed the channel
    }
    const std::size_t taken =
        write_some(stdio_.get(), std::string_view(to_session_).substr(to_session_at_));
    to_session_at_ += taken;
    if (to_session_at_ == to_session_.size()) {
      to_session_.clear();
    }
    moved += taken;
    if (taken == 0) {
      break;
    }
  }
  if (client_eof_ && stdio_ && !shut_ && unread_ == 0 && to_session_.empty()) {
    ::shutdown(stdio_.get(), SHUT_WR);
    shut_ = true;
  }
}

void Relay::feed_client() {
  for (std::size_t moved = 0; moved < kPassBytes && !closed_here_;) {
    if (to_client_.empty()) {
      if (!stdio_ || session_eof_ || !client_can_take()) {
        return;
      }
      const auto result = read_some(stdio_.get(), to_client_, ssh_channel_window_size(channel_));
      if (result == ReadResult::kEnd || (result == ReadResult::kNothingNow && outcome_)) {
        session_eof_ = true;  // all that the session wrote has been read
      }
      if (result != ReadResult::kData) {
        return;
      }
    }
    const std::size_t before = to_client_.size();
    if (!send(to_client_, false)) {
      return;
    }
    moved += before - to_client_.size();
  }
}

void Relay::feed_log() {
  if (to_client_error_.empty() && log_ && client_can_take()) {
    const auto result = read_some(log_.get(), to_client_error_, kChunkBytes);
    if (result == ReadResult::kEnd || (result == ReadResult::kNothingNow && outcome_)) {
      log_.reset();
    }
  }
  if (!to_client_error_.empty() && !closed_here_) {
    static_cast<void>(send(to_client_error_, true));
  }
}

// All data, then the exit status, then EOF and CLOSE: the order a client relies on.
void Relay::finish() {
  if (closed_there_ && !closed_here_) {
    closed_here_ = ssh_channel_close(channel_) == SSH_OK;
    return;
  }
  const bool drained = session_eof_ && !log_ && to_client_.empty() && to_client_error_.empty();
  if (!outcome_ || closed_here_ || !drained) {
    return;
  }
  if (!outcome_sent_) {
    if (outcome_->how == record::End::kSignalled) {
      ssh_channel_request_send_exit_signal(channel_, "KILL", 0, "the session was killed", "");
    } else {
      const int status = outcome_->how == record::End::kLost ? kExitTryAgain : outcome_->status;
      ssh_channel_request_send_exit_status(channel_, status);
    }
    outcome_sent_ = true;
    stdio_.reset();
    log_.reset();
  }
  ssh_channel_send_eof(channel_);
  closed_here_ = ssh_channel_close(channel_) == SSH_OK;
}

Relay::Interest Relay::interest() const {
  Interest interest;
  if (closed_there_ || closed_here_) {
    return interest;
  }
  const bool can_take = client_can_take();
  interest.read = stdio_ && !session_eof_ && to_client_.empty() && can_take;
  interest.write = stdio_ && (!to_session_.empty() || unread_ > 0);
  interest.stdio = interest.read || interest.write ? stdio_.get() : -1;
  interest.log = log_ && to_client_error_.empty() && can_take ? log_.get() : -1;
  return interest;
}

}  // namespace agentbox::sshd
