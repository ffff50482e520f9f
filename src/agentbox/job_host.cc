// edge: see job_host.h.
#include "agentbox/job_host.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "agentbox/job_id.h"
#include "agentbox/job_process.h"
#include "agentbox/keeper.h"
#include "agentbox/memory_watch.h"
#include "agentbox/process_stat.h"
#include "base/random.h"

namespace agentbox::mcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Whether the keeper still holds its end: it lets go before it says that its job is over, and is
// reaped some time after.
bool is_held(int control) {
  char byte = 0;
  const ssize_t got = ::recv(control, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got > 0 || (got < 0 && errno == EAGAIN);  // not ECONNRESET: it left something unread
}

constexpr const char* kRevoked = "the revocation of the key that started it";
constexpr const char* kMemory = "the memory limit of the box";

}  // namespace

Result<UniqueFd> JobHost::admit(std::string session, std::string key) {
  AB_TRY(pair, make_socketpair(SOCK_SEQPACKET));
  AB_CHECK(set_nonblocking(pair.first.get(), true));
  adopt(std::move(pair.first), std::move(session), std::move(key));
  return std::move(pair.second);
}

void JobHost::adopt(UniqueFd line, std::string session, std::string key) {
  lines_.push_back(
      {.socket = std::move(line), .session = std::move(session), .key = std::move(key)});
}

void JobHost::poll_into(std::vector<pollfd>& ready) const {
  for (const Line& line : lines_) {
    ready.push_back({.fd = line.socket.get(), .events = POLLIN, .revents = 0});
  }
}

void JobHost::take(std::span<const pollfd> ready) {
  // One request a turn from each: a session that floods does not keep the others from theirs.
  for (std::size_t i = 0; i < ready.size() && i < lines_.size(); ++i) {
    if (ready[i].revents != 0) {
      read(lines_[i]);
    }
  }
  std::erase_if(lines_, [](const Line& line) { return line.gone; });
  std::move(new_lines_.begin(), new_lines_.end(), std::back_inserter(lines_));
  new_lines_.clear();
}

bool JobHost::has_callers() const {
  return std::any_of(lines_.begin(), lines_.end(), [](const Line& line) { return !line.of_job; });
}

void JobHost::read(Line& line) {
  const auto received = receive_record(line.socket.get());
  if (!received.ok() || !received->has_value()) {
    line.gone = received.ok() || received.error().code != Code::kUnavailable;
    return;
  }
  const record::Record& message = (*received)->record;
  if (const auto* wanted = std::get_if<record::JobWanted>(&message)) {
    start(line, wanted->name);
  } else if (const auto* sought = std::get_if<record::JobSought>(&message)) {
    seek(line, sought->id);
  } else if (std::holds_alternative<record::JobLineWanted>(message)) {
    give_line(line);
  } else if (const auto* doomed = std::get_if<record::JobDoomed>(&message)) {
    if (const auto job = jobs_.find(doomed->id); job != jobs_.end()) {
      ::kill(job->second.keeper, SIGKILL);  // ours and not reaped yet: nobody else's number
    }
  } else {
    line.gone = true;
  }
}

void JobHost::answer(Line& line, const record::Record& message, int fd) {
  const Status sent = fd < 0 ? send_record(line.socket.get(), message)
                             : send_record(line.socket.get(), message, {fd});
  line.gone = line.gone || !sent.ok();  // it asks and does not read
}

void JobHost::refuse(Line& line, std::string why, std::string id) {
  answer(line, record::JobRefused{.why = std::move(why), .id = std::move(id)});
}

void JobHost::start(Line& line, const std::string& name) {
  const auto same = std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& job) {
    return job.second.name == name && is_held(job.second.control.get());
  });
  if (same != jobs_.end()) {
    refuse(line, "exists", same->first);
    return;
  }
  const auto live = std::count_if(jobs_.begin(), jobs_.end(), [](const auto& job) {
    return is_held(job.second.control.get());
  });
  if (static_cast<std::size_t>(live) >= kMaxJobs) {
    refuse(line, "full");
    return;
  }
  auto control = make_socketpair(SOCK_SEQPACKET | SOCK_NONBLOCK);
  if (!(is_job_name(name) || is_hosted_name(name)) || !out_.valid() || !control.ok()) {
    refuse(line, "failed");
    return;
  }
  const std::string id = random_hex(kJobIdBytes);
  const pid_t pid = ::fork();
  if (pid == 0) {
    run_job({.id = id,
             .name = name,
             .key = line.key,
             .session = line.session,
             .control = control->second.get(),
             .out = out_.get()});
  }
  if (pid < 0) {
    refuse(line, "failed");
    return;
  }
  const auto job = jobs_.emplace(id, Job{.name = name,
                                         .key = line.key,
                                         .keeper = pid,
                                         .control = std::move(control->first),
                                         .kill_at = std::nullopt});
  seek(line, job.first->first);
}

void JobHost::seek(Line& line, const std::string& id) {
  const auto job = jobs_.find(id);
  if (job == jobs_.end()) {
    refuse(line, "unknown");
  } else if (!connect(line, id, job->second).ok()) {
    refuse(line, "busy", id);
  }
}

void JobHost::give_line(Line& line) {
  const auto given = static_cast<std::size_t>(
      std::count_if(lines_.begin(), lines_.end(), [](const Line& one) { return one.of_job; }));
  auto pair = make_socketpair(SOCK_SEQPACKET);
  if (!pair.ok() || !set_nonblocking(pair->first.get(), true).ok() ||
      given + new_lines_.size() >= kMaxJobs) {
    refuse(line, "failed");
    return;
  }
  new_lines_.push_back(
      {.socket = std::move(pair->first), .session = line.session, .key = line.key, .of_job = true});
  answer(line, record::JobGiven{}, pair->second.get());
}

// Each call of a session gets a line of its own, made here: no name in a file system leads to a
// keeper.
Status JobHost::connect(Line& line, const std::string& id, Job& job) {
  AB_TRY(pair, make_socketpair(SOCK_SEQPACKET));
  AB_CHECK(send_record(job.control.get(), record::JobCaller{}, {pair.second.get()}));
  answer(line, record::JobGiven{.id = id}, pair.first.get());
  return {};
}

void JobHost::end(Job& job, milliseconds grace, const std::string& why) {
  const auto kill_at = steady_clock::now() + grace + kKeeperSlack;
  const record::JobStop stop{.grace_ms = static_cast<std::uint32_t>(grace.count()), .why = why};
  // A keeper that takes no record has been stopped by agent code.
  const bool told = send_record(job.control.get(), stop).ok();
  job.kill_at = std::min(job.kill_at.value_or(kill_at), told ? kill_at : steady_clock::now());
}

void JobHost::end_of_key(const std::string& key) {
  for (auto& [id, job] : jobs_) {
    if (job.key == key) {
      end(job, kStopGrace, kRevoked);
    }
  }
}

void JobHost::end_all(milliseconds grace, const std::string& why) {
  for (auto& [id, job] : jobs_) {
    end(job, grace, why);
  }
}

std::optional<JobHost::TimePoint> JobHost::deadline() const {
  std::optional<TimePoint> earliest;
  for (const auto& [id, job] : jobs_) {
    if (job.kill_at && (!earliest || *job.kill_at < *earliest)) {
      earliest = job.kill_at;
    }
  }
  if (!jobs_.empty() && look_at_memory_ != TimePoint::max()) {
    earliest = std::min(earliest.value_or(look_at_memory_), look_at_memory_);
  }
  return earliest;
}

void JobHost::pass_deadlines(TimePoint now) {
  for (auto& [id, job] : jobs_) {
    if (job.kill_at && now >= *job.kill_at) {
      ::kill(job.keeper, SIGKILL);
      job.kill_at = now + kKeeperSlack;
    }
  }
  if (!jobs_.empty() && now >= look_at_memory_) {
    look_at_memory_ = now + kMemoryInterval;
    watch_memory();
  }
}

void JobHost::watch_memory() {
  const auto use = read_memory_use();
  if (!use) {
    look_at_memory_ = TimePoint::max();  // there is no limit, and none will come
    return;
  }
  std::vector<Job*> jobs;
  std::vector<std::uint64_t> sizes;
  for (auto& [id, job] : jobs_) {
    if (job.kill_at) {
      return;  // first see what the end of that one gives back
    }
    jobs.push_back(&job);
    sizes.push_back(measure_tree(job.keeper).rss_bytes);
  }
  if (const auto chosen = choose_job_to_end(*use, sizes)) {
    complain_("memory is at " + std::to_string(use->used_bytes) + " of " +
              std::to_string(use->limit_bytes) + " bytes: job " + jobs[*chosen]->name + ", with " +
              std::to_string(sizes[*chosen]) + " bytes the largest, is ended");
    end(*jobs[*chosen], milliseconds(0), kMemory);
  }
}

bool JobHost::reaped(pid_t pid) {
  return std::erase_if(jobs_, [&](const auto& job) { return job.second.keeper == pid; }) > 0;
}

void JobHost::append_keepers(std::vector<pid_t>& pids) const {
  for (const auto& [id, job] : jobs_) {
    pids.push_back(job.keeper);
  }
}

}  // namespace agentbox::mcp
