// edge: see outbox.h.
#include "agentbox/outbox.h"

#include <limits.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "agentbox/limits.h"
#include "base/record_io.h"

namespace agentbox::mcp {
namespace {

// Lines given to the kernel in one call.
constexpr std::size_t kMaxPieces = 16;

bool is_for_later(int number) { return number == EAGAIN || number == EINTR; }

}  // namespace

void Outbox::add(Actions& actions) {
  bool follows_record = false;
  for (Action& action : actions) {
    if (auto* told = std::get_if<SendRecord>(&action)) {
      follows_record = true;
      held_.emplace_back(std::move(told->record));
    } else if (auto* said = std::get_if<SendLine>(&action)) {
      if (said->droppable && bytes_ > kOutputDropsNoticesBytes) {
        continue;
      }
      said->line += '\n';
      if (follows_record) {
        held_.emplace_back(std::move(said->line));
      } else {
        add_line(std::move(said->line));
      }
    }
  }
}

void Outbox::add_line(std::string line) {
  bytes_ += line.size();
  lines_.push_back(std::move(line));
}

void Outbox::took(std::size_t bytes) {
  bytes_ -= bytes;
  first_sent_ += bytes;
  while (!lines_.empty() && first_sent_ >= lines_.front().size()) {
    first_sent_ -= lines_.front().size();
    lines_.pop_front();
  }
}

Result<bool> Outbox::write_lines(int fd, bool socket) {
  if (lines_.empty()) {
    return false;
  }
  ssize_t sent = 0;
  if (socket) {
    std::array<iovec, kMaxPieces> pieces = {};
    const std::size_t count = std::min(lines_.size(), pieces.size());
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t skip = i == 0 ? first_sent_ : 0;
      pieces[i] = {.iov_base = lines_[i].data() + skip, .iov_len = lines_[i].size() - skip};
    }
    msghdr message = {};
    message.msg_iov = pieces.data();
    message.msg_iovlen = count;
    sent = ::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } else {
    const std::string& line = lines_.front();
    // "A write of at most PIPE_BUF bytes" does not block on a pipe that polled writable.
    sent = ::write(fd, line.data() + first_sent_,
                   std::min<std::size_t>(line.size() - first_sent_, PIPE_BUF));
  }
  if (sent < 0) {
    if (is_for_later(errno)) {
      return false;
    }
    return errno_error("write a reply");
  }
  took(static_cast<std::size_t>(sent));
  return sent > 0;
}

Status Outbox::send_records(int fd) {
  while (!held_.empty()) {
    if (auto* line = std::get_if<std::string>(&held_.front())) {
      add_line(std::move(*line));
    } else if (fd >= 0) {
      const auto sent =
          send_record(fd, record::Record(std::get<record::ToolCalled>(held_.front())));
      if (!sent.ok()) {
        return sent.error().code == Code::kUnavailable ? Status() : sent;
      }
    }
    held_.pop_front();
  }
  return {};
}

}  // namespace agentbox::mcp
