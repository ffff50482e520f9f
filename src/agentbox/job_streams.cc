// edge: see job_streams.h.
#include "agentbox/job_streams.h"

#include <cerrno>
#include <string_view>
#include <utility>

#include "agentbox/file_bytes.h"
#include "agentbox/terminal.h"

namespace agentbox::mcp {
namespace {

// What a pipe holds.
constexpr std::size_t kReadBytes = 64 * 1024;
// Columns or rows; more than any screen has.
constexpr std::uint32_t kMostSize = 1000;

}  // namespace

int JobStreams::open(const JobPlan& plan, Theirs& theirs) {
  buffer_.resize(kReadBytes);
  terminal_ = plan.terminal;
  if (terminal_) {
    auto terminal = make_terminal(plan.columns, plan.rows);
    if (!terminal.ok()) {
      return terminal.error().os_errno;
    }
    output_ = std::move(terminal->first);
    theirs.output = std::move(terminal->second);
    return 0;
  }
  auto out = make_pipe();
  auto in = make_pipe();
  if (!out.ok() || !in.ok() || !set_nonblocking(out->first.get(), true).ok() ||
      !set_nonblocking(in->second.get(), true).ok()) {
    return EMFILE;
  }
  output_ = std::move(out->first);
  theirs.output = std::move(out->second);
  theirs.input = std::move(in->first);
  input_ = plan.has_input ? std::move(in->second) : UniqueFd();
  return 0;
}

void JobStreams::close() {
  input_.reset();
  output_.reset();
}

void JobStreams::read_into(LogWriter& log, std::size_t limit) {
  for (std::size_t done = 0; output_.valid() && done < limit;) {
    std::size_t got = 0;
    if (!read_once(output_.get(), buffer_, got)) {
      output_.reset();
      return;
    }
    log.add(std::string_view(buffer_).substr(0, got));
    done += got;
    if (got == 0) {
      return;
    }
  }
}

std::optional<InputDone> JobStreams::take(const record::JobInput& wanted,
                                          std::vector<UniqueFd> fds) {
  if (pending_) {
    return InputDone{.error = EBUSY};
  }
  if (terminal_ ? !output_.valid() : !input_.valid()) {
    return InputDone{.error = EPIPE};
  }
  if (wanted.bytes > 0 && fds.size() != 1) {
    return InputDone{.error = EPROTO};
  }
  pending_.emplace(wanted.bytes > 0 ? std::move(fds[0]) : UniqueFd(), wanted.bytes,
                   wanted.close && terminal_);
  pending_->closes = wanted.close && !terminal_;
  return go_on();
}

std::optional<InputDone> JobStreams::go_on() {
  const auto written = pending_->write_to(inlet_fd());
  if (!written) {
    return std::nullopt;
  }
  if (*written == EPIPE || (*written == 0 && pending_->closes)) {
    input_.reset();
  }
  return InputDone{.error = *written, .count = std::exchange(pending_, {})->written()};
}

InputDone JobStreams::give_up() {
  return {.error = EAGAIN, .count = std::exchange(pending_, {})->written()};
}

int JobStreams::resize(std::uint32_t columns, std::uint32_t rows) const {
  if (!terminal_) {
    return ENOTTY;
  }
  if (columns > kMostSize || rows > kMostSize || !output_.valid()) {
    return EINVAL;
  }
  return resize_terminal(output_.get(), columns, rows).ok() ? 0 : EIO;
}

}  // namespace agentbox::mcp
