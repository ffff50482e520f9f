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
#include "base/defence.h"
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
      bytes_ += said->line.size();
      Line line{.text = std::move(said->line), .reply_to = std::move(said->reply_to)};
      if (follows_record) {
        held_.emplace_back(std::move(line));
      } else {
        add_line(std::move(line));
      }
    }
  }
}

void Outbox::add_line(Line line) {
  if (!line.reply_to.empty()) {
    replies_.insert_or_assign(line.reply_to, dropped_ + lines_.size());
  }
  lines_.push_back(std::move(line));
}

void Outbox::withdraw(const std::string& id_json) {
  Line* line = nullptr;
  if (const auto at = replies_.find(id_json); at != replies_.end()) {
    const auto index = static_cast<std::size_t>(at->second - dropped_);
    if (index == 0 && first_sent_ > 0) {
      return;
    }
    line = &lines_[index];
    replies_.erase(at);
  } else {
    // Only what the door has not heard of yet: hardly ever more than one call.
    for (Held& held : held_) {
      auto* waiting = std::get_if<Line>(&held);
      line = waiting != nullptr && waiting->reply_to == id_json ? waiting : line;
    }
  }
  if (line == nullptr) {
    return;
  }
  bytes_ -= line->text.size();
  *line = {};
  took(0);
}

void Outbox::took(std::size_t bytes) {
  bytes_ -= bytes;
  first_sent_ += bytes;
  while (!lines_.empty() && first_sent_ >= lines_.front().text.size()) {
    first_sent_ -= lines_.front().text.size();
    drop_first();
  }
}

void Outbox::drop_first() {
  const auto at = replies_.find(lines_.front().reply_to);
  if (at != replies_.end() && at->second == dropped_) {
    replies_.erase(at);
  }
  lines_.pop_front();
  ++dropped_;
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
      std::string& text = lines_[i].text;
      pieces[i] = {.iov_base = text.data() + skip, .iov_len = text.size() - skip};
    }
    msghdr message = {};
    message.msg_iov = pieces.data();
    message.msg_iovlen = count;
    sent = ::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } else {
    const std::string& line = lines_.front().text;
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
  told_ = told_ && fd >= 0;
  while (!held_.empty() && !told_) {
    if (auto* line = std::get_if<Line>(&held_.front())) {
      if (!line->text.empty()) {
        add_line(std::move(*line));
      }
    } else if (fd >= 0) {
      const auto sent =
          send_record(fd, record::Record(std::get<record::ToolCalled>(held_.front())));
      if (!sent.ok()) {
        return sent.error().code == Code::kUnavailable ? Status() : sent;
      }
      told_ = defended("audit-first");
      if (told_) {
        return {};
      }
    }
    held_.pop_front();
  }
  return {};
}

void Outbox::recorded() {
  if (std::exchange(told_, false)) {
    held_.pop_front();
  }
}

}  // namespace agentbox::mcp
