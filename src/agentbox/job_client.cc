// edge: see job_client.h.
#include "agentbox/job_client.h"

#include <poll.h>

#include <array>

#include "base/deadline.h"

namespace agentbox::mcp {

using std::chrono::steady_clock;

void JobLine::send(const record::Record& message, std::initializer_list<int> fds) const {
  static_cast<void>(send_record(socket_.get(), message, fds));
}

JobNews JobLine::receive(record::Record& message, TimePoint deadline, int cancel) const {
  for (;;) {
    std::array<pollfd, 2> ready{pollfd{.fd = socket_.get(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = cancel, .events = POLLIN, .revents = 0}};
    const auto now = steady_clock::now();
    (void)::poll(ready.data(), ready.size(), poll_timeout(deadline, now));
    if (ready[0].revents != 0) {
      auto received = receive_record(socket_.get());
      if (!received.ok() || !received->has_value()) {
        return JobNews::kOver;
      }
      message = std::move((*received)->record);
      return JobNews::kRecord;
    }
    if (ready[1].revents != 0) {
      return JobNews::kCancelled;
    }
    if (now >= deadline) {
      return JobNews::kTimeout;
    }
  }
}

JobNews JobLine::receive_done(record::JobDone& done, TimePoint deadline, int cancel) const {
  for (;;) {
    record::Record message;
    const JobNews news = receive(message, deadline, cancel);
    if (news != JobNews::kRecord) {
      return news;
    }
    if (const auto* answer = std::get_if<record::JobDone>(&message)) {
      done = *answer;
      return JobNews::kRecord;
    }
    if (const auto* state = std::get_if<record::JobState>(&message);
        state != nullptr && state->over) {
      return JobNews::kOver;
    }
  }
}

Result<GivenJob> JobClient::start(const std::string& name) {
  return ask_for_job(record::JobWanted{.name = name});
}

Result<GivenJob> JobClient::connect(const std::string& id) {
  return ask_for_job(record::JobSought{.id = id});
}

void JobClient::doom(const std::string& id) {
  const std::lock_guard lock(mutex_);
  static_cast<void>(send_record(line_.get(), record::JobDoomed{.id = id}));
}

Result<GivenJob> JobClient::ask_for_job(const record::Record& request) {
  AB_TRY(given, ask(request));
  return GivenJob{.id = std::move(given.id), .line = JobLine(std::move(given.line))};
}

Result<UniqueFd> JobClient::new_line() {
  AB_TRY(given, ask(record::JobLineWanted{}));
  return std::move(given.line);
}

Result<JobClient::Given> JobClient::ask(const record::Record& request) {
  const std::lock_guard lock(mutex_);
  if (!line_.valid()) {
    return Error{Code::kUnavailable, "nothing here can host jobs"};
  }
  auto sent = send_record(line_.get(), request);
  const bool heard = sent.ok() && wait_readable(line_.get(), steady_clock::now() + kJobHostTime);
  auto received = heard ? receive_record(line_.get()) : std::optional<Received>();
  if (!received.ok() || !received->has_value()) {
    line_.reset();  // an answer that comes late would be taken for that of the next question
    return Error{Code::kUnavailable, "the host of jobs does not answer"};
  }
  Received& answer = **received;
  if (auto* given = std::get_if<record::JobGiven>(&answer.record);
      given != nullptr && answer.fds.size() == 1) {
    return Given{.id = std::move(given->id), .line = std::move(answer.fds[0])};
  }
  const auto* refused = std::get_if<record::JobRefused>(&answer.record);
  if (refused == nullptr) {
    line_.reset();
    return Error{Code::kProtocol, "the host of jobs said something else"};
  }
  if (refused->why == "exists") {
    return Error{Code::kExists, refused->id};
  }
  if (refused->why == "full") {
    return Error{Code::kLimit, "too many jobs run"};
  }
  if (refused->why == "unknown") {
    return Error{Code::kNotFound, "no such job runs"};
  }
  return Error{Code::kUnavailable, "the job's keeper could not be reached (" + refused->why + ")"};
}

}  // namespace agentbox::mcp
