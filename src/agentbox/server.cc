// edge: see server.h.
#include "agentbox/server.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/record_io.h"

namespace agentbox::mcp {
namespace {

using Clock = std::chrono::steady_clock;

Result<bool> is_socket(int fd) {
  struct stat about = {};
  if (::fstat(fd, &about) != 0) {
    return errno_error("look at the channel's descriptor");
  }
  return S_ISSOCK(about.st_mode);
}

// Rounded up, so that a deadline has passed when poll() returns.
int milliseconds_until(std::optional<TimePoint> deadline, TimePoint now) {
  if (!deadline) {
    return -1;
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - now).count();
  return static_cast<int>(std::clamp<decltype(left)>(left, 0, 3'600'000));
}

void keep_earlier(std::optional<TimePoint>& earliest, const std::optional<TimePoint>& other) {
  if (other && (!earliest || *other < *earliest)) {
    earliest = other;
  }
}

// To the log, which is stderr; a log that is gone must not end the session.
void note(std::string line) {
  line += '\n';
  static_cast<void>(write_all(STDERR_FILENO, line));
}

}  // namespace

Result<Server> Server::open(Streams streams, std::span<const Tool> tools,
                            std::span<const Method> methods, Role role, CallPool& calls,
                            const Patience& patience, ResourceWatcher* watcher) {
  AB_TRY(in_is_socket, is_socket(streams.in.get()));
  AB_TRY(out_is_socket, is_socket(streams.out.get()));
  Server server(std::move(streams), tools, methods, role, calls, patience, watcher, Clock::now());
  server.in_is_socket_ = in_is_socket;
  server.out_is_socket_ = out_is_socket;
  return server;
}

int Server::run() {
  while (!is_finished(Clock::now())) {
    auto ready = wait();
    const TimePoint now = Clock::now();
    if (!ready.ok()) {
      note("agent-box: " + ready.error().what);
      exit_code_ = kExitSystem;
      lose_link(now);
      break;
    }
    if (ready->broken) {
      lose_link(now);
    }
    if (ready->signals) {
      read_signals(now);
    }
    if (ready->answers) {
      read_answers(now);
    }
    take_call_events(now);
    take_watch_events(now);
    if (ready->in && is_reading()) {
      read_input(now);
    }
    if (outbox_.bytes() <= kOutputPausesCallsBytes) {
      calls_.dispatch();
    }
    send_output(*ready, now);
    pass_deadlines(now);
  }
  return exit_code_;
}

bool Server::is_reading() const {
  return !input_ended_ && !lost_ && outbox_.bytes() <= kOutputPausesReadingBytes;
}

bool Server::is_finished(TimePoint now) const {
  const bool unwound = calls_.size() == 0 || (unwind_ends_ && now >= *unwind_ends_);
  if (lost_) {
    const bool told = !streams_.records.valid() || !outbox_.has_records();
    return unwound && (told || (unwind_ends_ && now >= *unwind_ends_));
  }
  return ending_ && unwound && session_.calls_to_answer() == 0 && outbox_.empty();
}

std::optional<TimePoint> Server::next_deadline() const {
  std::optional<TimePoint> earliest = input_ended_ ? std::nullopt : hello_.deadline();
  keep_earlier(earliest, grace_ends_);
  keep_earlier(earliest, unwind_ends_);
  keep_earlier(earliest, flush_ends_);
  if (!lost_) {
    keep_earlier(earliest, session_.next_heartbeat());
    if (may_send_notices()) {
      keep_earlier(earliest, session_.next_update());
    }
  }
  return earliest;
}

Result<Server::Ready> Server::wait() {
  // Where in and out are one socket, its end shows on out as well, also while reading is paused.
  const auto want = [](bool wanted, short events) { return wanted ? events : short{0}; };
  std::array<pollfd, 6> polled{
      pollfd{is_reading() ? streams_.in.get() : -1, POLLIN, 0},
      pollfd{lost_ ? -1 : streams_.out.get(), want(outbox_.has_lines(), POLLOUT), 0},
      pollfd{streams_.signals.get(), POLLIN, 0},
      pollfd{calls_.fd(), POLLIN, 0},
      pollfd{streams_.records.get(),
             static_cast<short>(POLLIN | want(outbox_.wants_to_tell(), POLLOUT)), 0},
      pollfd{watcher_ == nullptr ? -1 : watcher_->fd(), POLLIN, 0},
  };
  const int timeout = milliseconds_until(next_deadline(), Clock::now());
  if (::poll(polled.data(), polled.size(), timeout) < 0 && errno != EINTR) {
    return errno_error("wait for the channel");
  }
  return Ready{.in = polled[0].revents != 0,
               .out = (polled[1].revents & POLLOUT) != 0,
               .broken = (polled[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0,
               .signals = polled[2].revents != 0,
               .answers = (polled[4].revents & ~POLLOUT) != 0};
}

void Server::read_signals(TimePoint now) {
  signalfd_siginfo told = {};
  while (::read(streams_.signals.get(), &told, sizeof told) == sizeof told) {
    // The second signal means now.
    begin_ending(ending_ ? now : now + patience_.terminate);
    session_.refuse_calls();
  }
}

void Server::read_input(TimePoint now) {
  const ssize_t got = in_is_socket_
                          ? ::recv(streams_.in.get(), read_buffer_.get(), kReadBytes, MSG_DONTWAIT)
                          : ::read(streams_.in.get(), read_buffer_.get(), kReadBytes);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  if (got <= 0) {
    if (const auto line = splitter_.finish()) {
      take_line(*line, now);
    }
    end_input(now);
    return;
  }
  splitter_.feed({read_buffer_.get(), static_cast<std::size_t>(got)});
  while (const auto line = splitter_.next()) {
    take_line(*line, now);
  }
}

void Server::take_line(const Line& line, TimePoint now) {
  if (input_ended_) {
    return;
  }
  auto actions = session_.on_line(line, now);
  hello_.on_line(line, session_.greeted());
  apply(std::move(actions));
  check_hello(now);
}

void Server::take_call_events(TimePoint now) {
  for (const CallEvent& event : calls_.take_events()) {
    if (const auto* progress = std::get_if<CallProgress>(&event)) {
      apply(session_.on_progress(progress->key, progress->value, progress->message, now));
    } else if (const auto* end = std::get_if<CallEnd>(&event)) {
      apply(session_.on_call_done(end->key, end->result, end->facts, now));
    }
  }
}

void Server::take_watch_events(TimePoint now) {
  if (watcher_ == nullptr) {
    return;
  }
  for (const WatchEvent& event : watcher_->take_events()) {
    switch (event.kind) {
      case WatchEvent::Kind::kStarted:
        apply(session_.on_watch_started(event.key));
        break;
      case WatchEvent::Kind::kFailed:
        apply(session_.on_watch_failed(event.key));
        break;
      case WatchEvent::Kind::kChanged:
        session_.on_watch_changed(event.key, now);
        break;
    }
  }
}

void Server::begin_watch(StartWatch watch) {
  if (watcher_ != nullptr) {
    watcher_->start(std::move(watch));
  } else {
    apply(session_.on_watch_failed(watch.key));
  }
}

// Notices wait in the session while the client takes nothing: there they need no memory.
bool Server::may_send_notices() const { return outbox_.bytes() <= kOutputDropsNoticesBytes; }

void Server::apply(Actions actions) {
  for (Action& action : actions) {
    if (auto* start = std::get_if<StartCall>(&action)) {
      calls_.add(std::move(*start));
    } else if (const auto* cancel = std::get_if<CancelCall>(&action)) {
      calls_.cancel(cancel->key);
    } else if (const auto* withdraw = std::get_if<WithdrawReply>(&action)) {
      outbox_.withdraw(withdraw->id_json);
    } else if (const auto* stop = std::get_if<StopWatch>(&action)) {
      if (watcher_ != nullptr) {
        watcher_->stop(*stop);
      }
    }
  }
  outbox_.add(actions);
  // Afterwards: what it leads to comes behind the lines of these actions.
  for (Action& action : actions) {
    if (auto* watch = std::get_if<StartWatch>(&action)) {
      begin_watch(std::move(*watch));
    }
  }
}

// Without its audit a reply must not leave.
void Server::lose_door(const std::string& why, TimePoint now) {
  note("agent-box: the door takes no records: " + why);
  streams_.records.reset();
  lose_link(now);
}

void Server::read_answers(TimePoint now) {
  for (;;) {
    const auto received = receive_record(streams_.records.get());
    if (!received.ok() && received.error().code == Code::kUnavailable) {
      return;
    }
    if (!received.ok() || !*received) {
      lose_door(received.ok() ? "it is gone" : received.error().what, now);
      return;
    }
    outbox_.recorded();
  }
}

void Server::send_output(const Ready& ready, TimePoint now) {
  if (auto sent = outbox_.send_records(streams_.records.get()); !sent.ok()) {
    lose_door(sent.error().what, now);
  }
  // A socket says itself when it is full; a pipe must have said before that it is not.
  if (lost_ || (!out_is_socket_ && !ready.out)) {
    return;
  }
  auto wrote = outbox_.write_lines(streams_.out.get(), out_is_socket_);
  if (!wrote.ok()) {
    lose_link(now);
  } else if (*wrote && flush_ends_) {
    flush_ends_ = now + patience_.flush;
  }
}

void Server::pass_deadlines(TimePoint now) {
  if (!input_ended_ && !lost_) {
    check_hello(now);
  }
  if (!lost_) {
    apply(session_.heartbeats(now));
    if (may_send_notices()) {
      apply(session_.updates(now));
    }
  }
  if (!ending_ || lost_) {
    return;
  }
  if (grace_ends_ && now >= *grace_ends_) {
    grace_ends_.reset();
    unwind_ends_ = now + patience_.unwind;
    session_.refuse_calls();
    apply(session_.abandon_calls(now));
  }
  if (!outbox_.has_lines()) {
    flush_ends_.reset();
  } else if (!flush_ends_) {
    flush_ends_ = now + patience_.flush;
  } else if (now >= *flush_ends_) {
    lose_link(now);
  }
}

void Server::check_hello(TimePoint now) {
  if (input_ended_) {
    return;
  }
  if (const auto verdict = hello_.verdict(splitter_.pending(), now)) {
    note(*verdict);
    exit_code_ = kExitNotMcp;
    end_input(now);
  }
}

void Server::end_input(TimePoint now) {
  input_ended_ = true;
  begin_ending(now + patience_.end_of_input);
}

void Server::begin_ending(TimePoint grace_ends) {
  ending_ = true;
  apply(session_.end_listens());
  // An earlier end stands; once it has passed there is nothing left to wait for.
  if (!unwind_ends_ && (!grace_ends_ || grace_ends < *grace_ends_)) {
    grace_ends_ = grace_ends;
  }
}

void Server::lose_link(TimePoint now) {
  if (lost_) {
    return;
  }
  lost_ = true;
  ending_ = true;
  input_ended_ = true;
  grace_ends_.reset();
  flush_ends_.reset();
  unwind_ends_ = now + patience_.unwind;
  apply(session_.cancel_calls());
}

}  // namespace agentbox::mcp
