// edge: see interpreter.h.
#include "agentbox/interpreter.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace agentbox::mcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Of one descriptor in one turn, so that a flood keeps nobody from being heard: what a pipe holds.
constexpr std::size_t kTurnBytes = 64 * 1024;
// What a pipe can be made to hold: no more is read before what came after it.
constexpr std::size_t kPipeBytes = 1024 * 1024;
// SIGTERM first, for those that tidy up.
constexpr milliseconds kKillGrace{200};

}  // namespace

Interpreter::Interpreter(Keeper keeper, UniqueFd control, UniqueFd output, UniqueFd errors)
    : keeper_(std::move(keeper)),
      control_(std::move(control)),
      output_(std::move(output)),
      errors_(std::move(errors)) {}

Result<Interpreter> Interpreter::start(Keepers& keepers, const InterpreterPlan& plan,
                                       std::vector<std::string> environment, int folder) {
  AB_TRY(control, make_socketpair(SOCK_STREAM));
  AB_TRY(output, make_pipe());
  AB_TRY(errors, make_pipe());
  for (const int fd : {control.first.get(), output.first.get(), errors.first.get()}) {
    AB_CHECK(set_nonblocking(fd, true));
  }
  AB_TRY(keeper, keepers.start({.programs = {plan.program},
                                .argv = plan.argv,
                                .environment = std::move(environment),
                                .folder = folder,
                                .input = control.second.get(),
                                .output = output.second.get(),
                                .errors = errors.second.get(),
                                .terminal = false}));
  Interpreter interpreter(std::move(keeper), std::move(control.first), std::move(output.first),
                          std::move(errors.first));
  interpreter.send(plan.preamble);
  return interpreter;
}

void Interpreter::poll_into(std::vector<pollfd>& ready, bool reads_output) const {
  const auto want = [&](int fd, int events) {
    ready.push_back({.fd = fd, .events = static_cast<short>(events), .revents = 0});
  };
  want(keeper_.fd(), POLLIN);
  want(control_.get(), POLLIN | (unsent_.empty() ? 0 : POLLOUT));
  want(reads_output ? output_.get() : -1, POLLIN);
  want(reads_output ? errors_.get() : -1, POLLIN);
}

void Interpreter::take(const pollfd* ready, InterpreterSink& sink) {
  if (ready[2].revents != 0) {
    read_output(output_, false, kTurnBytes, sink);
  }
  if (ready[3].revents != 0) {
    read_output(errors_, true, kTurnBytes, sink);
  }
  if ((ready[1].revents & POLLOUT) != 0) {
    write_control();
  }
  if ((ready[1].revents & ~POLLOUT) != 0) {
    read_control(sink);
  }
  if (ready[0].revents != 0) {
    hear_keeper(sink);  // last: it may be the end of all of this
  }
}

void Interpreter::read_output(UniqueFd& pipe, bool is_error, std::size_t most,
                              InterpreterSink& sink) {
  std::vector<char> buffer(kTurnBytes);
  for (std::size_t all = 0; pipe.valid() && all < most;) {
    const ssize_t got = ::read(pipe.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got == 0) {
      pipe.reset();
    }
    if (got <= 0) {
      return;
    }
    all += static_cast<std::size_t>(got);
    sink.on_output({buffer.data(), static_cast<std::size_t>(got)}, is_error);
  }
}

void Interpreter::drain(InterpreterSink& sink) {
  read_output(output_, false, kPipeBytes, sink);
  read_output(errors_, true, kPipeBytes, sink);
}

void Interpreter::read_control(InterpreterSink& sink) {
  std::vector<char> buffer(kTurnBytes);
  const ssize_t got = ::recv(control_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  if (got <= 0) {
    control_.reset();  // the end of its process tells the rest
    return;
  }
  lines_.feed({buffer.data(), static_cast<std::size_t>(got)});
  while (const auto text = lines_.next()) {
    const auto line = text->too_long ? Result<DriverLine>(Error{Code::kLimit, "too long"})
                                     : parse_driver_line(text->text);
    if (line.ok()) {
      drain(sink);  // what was printed before the line was sent is in the pipes by now
      sink.on_line(*line);
    }
  }
}

void Interpreter::send(std::string_view bytes) {
  unsent_.append(bytes);
  write_control();
}

void Interpreter::write_control() {
  while (!unsent_.empty() && control_.valid()) {
    const ssize_t sent =
        ::send(control_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno != EAGAIN && errno != EINTR) {
        unsent_.clear();
      }
      return;
    }
    unsent_.erase(0, static_cast<std::size_t>(sent));
  }
}

void Interpreter::hear_keeper(InterpreterSink& sink) {
  const auto report = keeper_.receive();
  if (!report || report->event == KeeperEvent::kAllEnded || report->event == KeeperEvent::kFailed) {
    drain(sink);
    sink.on_all_ended();
    return;
  }
  if (report->event == KeeperEvent::kStarted) {
    pid_ = report->value;
  }
  if (report->event == KeeperEvent::kLeaderEnded) {
    pid_ = -1;
    drain(sink);
    sink.on_leader_ended(report->value);
  }
}

void Interpreter::interrupt() const {
  if (pid_ > 0) {
    (void)::kill(-pid_, SIGINT);
  }
}

void Interpreter::kill() {
  keeper_.stop(kKillGrace);
  gone_by_ = steady_clock::now() + kKillGrace + kKeeperSlack;
}

void Interpreter::give_up() { keeper_.end(milliseconds(0)); }

}  // namespace agentbox::mcp
