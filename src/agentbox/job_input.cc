// edge: see job_input.h.
#include "agentbox/job_input.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "agentbox/terminal.h"

namespace agentbox::mcp {
namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;

}  // namespace

bool JobInput::refill() {
  std::string piece(static_cast<std::size_t>(std::min<std::uint64_t>(left_, kPieceBytes)), '\0');
  const ssize_t got = ::read(file_.get(), piece.data(), piece.size());
  if (got <= 0) {
    return false;
  }
  piece.resize(static_cast<std::size_t>(got));
  left_ -= piece.size();
  piece_ = std::move(piece);
  return true;
}

std::optional<int> JobInput::write_to(int fd) {
  for (;;) {
    if (piece_.empty() && left_ > 0 && !refill()) {
      return EIO;
    }
    const bool at_end = piece_.empty();
    if (at_end && !end_key_) {
      return 0;
    }
    const std::string_view next = at_end ? std::string_view(&kTerminalEnd, 1) : piece_;
    const ssize_t wrote = ::write(fd, next.data(), next.size());
    if (wrote < 0 && errno == EINTR) {
      continue;
    }
    if (wrote < 0) {
      return errno == EAGAIN ? std::nullopt : std::optional<int>(errno);
    }
    if (at_end) {
      end_key_ = false;
    } else {
      piece_.erase(0, static_cast<std::size_t>(wrote));
      written_ += static_cast<std::uint64_t>(wrote);
    }
  }
}

}  // namespace agentbox::mcp
