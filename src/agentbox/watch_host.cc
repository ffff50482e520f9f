// edge: see watch_host.h.
#include "agentbox/watch_host.h"

#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "agentbox/job_folder.h"
#include "agentbox/job_id.h"
#include "base/deadline.h"
#include "base/random.h"

namespace agentbox::mcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// A caller has this long to say what it wants, and to take the answer.
constexpr seconds kAskTime{5};
constexpr seconds kAnswerTime{2};
// Bytes of paths in one answer; the next cursor leads to the rest.
constexpr std::size_t kMaxAnswerBytes = 512UL << 10;
// Watches that an error lists.
constexpr std::size_t kShown = 16;
constexpr int kExitSystem = 71;

ToolError bad_cursor(std::string message) {
  return {.code = "BAD_CURSOR",
          .message = std::move(message),
          .hint = "Call without cursor to begin anew, then list the files to see what is there"};
}

WatchReply refusal(ToolError error) {
  WatchReply reply;
  reply.error = std::move(error);
  return reply;
}

// A path as it is shown, from the workspace's root.
std::string shown_in(const std::string& prefix, const std::string& path) {
  const std::string whole = path.empty() ? prefix : prefix + path;
  const std::string_view tidy =
      whole.ends_with('/') ? std::string_view(whole).substr(0, whole.size() - 1) : whole;
  return tidy.empty() ? "." : quote_name(tidy);
}

bool asks_the_same(const WatchRequest& a, const WatchRequest& b) {
  return a.path == b.path && a.recursive == b.recursive && a.include == b.include &&
         a.exclude == b.exclude && a.debounce_ms == b.debounce_ms;
}

}  // namespace

void WatchHost::run() {
  now_ = empty_since_ = steady_clock::now();
  while (!watches_.empty() || !callers_.empty() || now_ < empty_since_ + options_.linger) {
    turn();
  }
}

WatchHost::TimePoint WatchHost::next_deadline() const {
  TimePoint deadline = now_ + options_.linger;
  for (const auto& [id, watch] : watches_) {
    deadline = std::min(deadline, watch.used + options_.idle);
    if (watch.tree) {
      deadline = std::min(deadline, watch.tree->deadline());
    }
  }
  for (const Caller& caller : callers_) {
    deadline = std::min(deadline, caller.deadline);
  }
  return deadline;
}

void WatchHost::turn() {
  const bool has_room = callers_.size() < kMaxWatchCallers;
  std::vector<pollfd> ready{
      {.fd = has_room ? hosted_.listener.get() : -1, .events = POLLIN, .revents = 0}};
  for (const Caller& caller : callers_) {
    ready.push_back({.fd = caller.line.fd(), .events = POLLIN, .revents = 0});
  }
  for (const auto& [id, watch] : watches_) {
    ready.push_back({.fd = watch.tree ? watch.tree->fd() : -1, .events = POLLIN, .revents = 0});
  }
  (void)::poll(ready.data(), ready.size(), poll_timeout(next_deadline(), steady_clock::now()));
  now_ = steady_clock::now();
  std::size_t at = 1;
  for (Caller& caller : callers_) {
    if (ready[at++].revents != 0) {
      hear(caller);
    }
  }
  for (auto& [id, watch] : watches_) {
    // Watches that began in this turn come first or later in the order; asking once more is cheap.
    update(watch, false);
  }
  if (ready[0].revents != 0) {
    accept();
  }
  while (answer_waiting()) {
  }
  expire();
}

void WatchHost::accept() {
  while (callers_.size() < kMaxWatchCallers) {
    auto line = accept_hosted(hosted_);
    if (!line) {
      return;
    }
    callers_.push_back({.line = std::move(*line), .deadline = now_ + kAskTime});
    hear(callers_.back());
  }
}

// A caller asks once; whatever else comes from it means that it waits no more.
void WatchHost::hear(Caller& caller) {
  auto message = caller.line.receive(TimePoint{});
  if (!message.ok()) {
    caller.over = message.error().code != Code::kTimeout;
    return;
  }
  auto request = decode_watch_request(*message);
  if (!caller.watch.empty() || !request.ok()) {
    caller.over = true;
    return;
  }
  caller.request = std::move(*request);
  serve(caller);
}

void WatchHost::serve(Caller& caller) {
  caller.deadline = now_ + milliseconds(caller.request.wait_ms);
  if (caller.request.cursor.empty()) {
    begin(caller);
  } else {
    go_on(caller);
  }
}

void WatchHost::begin(Caller& caller) {
  auto id = open(caller.request);
  if (!id.ok()) {
    finish(caller, refusal(std::move(id).error()));
    return;
  }
  Watch& watch = watches_.at(*id);
  now_ = steady_clock::now();  // looking at a large tree takes time
  caller.deadline = now_ + milliseconds(caller.request.wait_ms);
  caller.watch = *id;
  caller.after = watch.ring.last();
  watch.used = now_;
}

// The watch that REQUEST asks for: one that is there, or a new one.
Outcome<std::string> WatchHost::open(const WatchRequest& request) {
  for (auto& [id, watch] : watches_) {
    if (watch.tree && asks_the_same(watch.asked, request)) {
      update(watch, true);  // what changed before is not of this caller's beginning
      if (watch.tree) {
        return id;
      }
    }
  }
  std::erase_if(watches_,
                [](const auto& each) { return each.second.failed && each.second.waiting == 0; });
  if (watches_.size() >= kMaxWatches) {
    return too_many();
  }
  const Workspace& workspace = *hosted_.box->workspace;
  AB_TRY(path, workspace.parse(*request.path));
  AB_TRY(filter, WatchFilter::compile(*request.include, *request.exclude));
  TreeWatch::Options options;
  options.recursive = *request.recursive;
  options.filter = std::move(filter);
  options.debounce = milliseconds(*request.debounce_ms);
  options.max_folders = options_.max_folders;
  AB_TRY(tree, TreeWatch::open(workspace, path, std::move(options)));
  const std::string id = random_hex(kJobIdBytes);
  Watch& watch = watches_[id];
  watch.asked = request;
  watch.prefix = folder_prefix(workspace, tree->top());
  watch.tree = std::move(tree);
  watch.ring = EventRing(options_.ring_events);
  return id;
}

ToolError WatchHost::too_many() const {
  std::string paths;
  std::size_t shown = 0;
  for (const auto& [id, watch] : watches_) {
    if (++shown <= kShown) {
      paths += (paths.empty() ? "" : ", ") + *watch.asked.path;
    }
  }
  return {.code = "WATCH_LIMIT",
          .message = "there are " + std::to_string(kMaxWatches) + " watches already",
          .hint = "End one with its cursor and close; one that nobody asks ends after " +
                  std::to_string(kWatchIdleTime.count()) + " minutes. Watched: " + paths};
}

std::optional<ToolError> WatchHost::refuse(const Watch& watch, const WatchRequest& request,
                                           std::uint64_t seq) const {
  const auto differs = [](const auto& given, const auto& begun) {
    return given && *given != *begun;
  };
  if (seq > watch.ring.last()) {
    return bad_cursor("the cursor is ahead of its watch");
  }
  if (differs(request.path, watch.asked.path)) {
    return bad_cursor("the cursor is of a watch of " + *watch.asked.path);
  }
  if (differs(request.recursive, watch.asked.recursive) ||
      differs(request.include, watch.asked.include) ||
      differs(request.exclude, watch.asked.exclude) ||
      differs(request.debounce_ms, watch.asked.debounce_ms)) {
    return bad_cursor(
        "the cursor is of a watch with other options; next to it they can be left out");
  }
  return std::nullopt;
}

void WatchHost::go_on(Caller& caller) {
  const auto cursor = decode_cursor(caller.request.cursor);
  const auto found = cursor.ok() ? watches_.find(cursor->watch) : watches_.end();
  if (found == watches_.end()) {
    finish(caller, refusal(bad_cursor(cursor.ok() ? "the watch of the cursor has ended"
                                                  : "the cursor is not one of watch_files")));
    return;
  }
  Watch& watch = found->second;
  if (auto error = refuse(watch, caller.request, cursor->seq)) {
    finish(caller, refusal(*std::move(error)));
    return;
  }
  update(watch, true);  // what changed before the call is in its answer, whatever window is open
  watch.used = now_;
  caller.after = cursor->seq;
  caller.watch = found->first;
  if (caller.request.close) {
    caller.deadline = now_;
  }
}

void WatchHost::update(Watch& watch, bool all) {
  if (!watch.tree) {
    return;
  }
  std::vector<FileChange> changes;
  if (all) {
    watch.tree->take_all(steady_clock::now(), changes);
  } else {
    watch.tree->take(now_, changes);
  }
  for (FileChange& change : changes) {
    watch.ring.add(std::move(change));
  }
  if (watch.tree->ended()) {
    watch.failed = watch.tree->ended();
    watch.tree.reset();
  }
}

// True where a watch was closed, which those who waited for it have to be told.
bool WatchHost::answer_waiting() {
  bool closed = false;
  for (auto& [id, watch] : watches_) {
    watch.waiting = 0;
  }
  for (Caller& caller : callers_) {
    if (caller.over) {
      continue;
    }
    const auto found = watches_.find(caller.watch);
    const bool is_late = caller.deadline <= now_;
    if (found == watches_.end()) {
      if (!caller.watch.empty()) {
        finish(caller, refusal(bad_cursor("the watch has been closed by another call")));
      }
      caller.over = caller.over || is_late;
      continue;
    }
    answer(caller, found->first, found->second, is_late);
    found->second.waiting += caller.over ? 0 : 1;
    if (caller.request.close) {
      watches_.erase(found);
      closed = true;
    }
  }
  const auto over = [](const Caller& caller) { return caller.over; };
  if (std::erase_if(callers_, over) > 0) {
    empty_since_ = now_;
  }
  return closed;
}

void WatchHost::answer(Caller& caller, const std::string& id, Watch& watch, bool is_late) {
  auto piece = watch.ring.after(caller.after, static_cast<std::size_t>(caller.request.max_events),
                                kMaxAnswerBytes);
  if (piece.changes.empty() && !piece.lost) {
    if (watch.failed && !caller.request.close) {
      finish(caller, refusal(*watch.failed));
      return;
    }
    if (!is_late) {
      return;
    }
  }
  WatchReply reply;
  reply.path = *watch.asked.path;
  reply.next_cursor = encode_cursor({.watch = id, .seq = piece.next});
  reply.overflow = piece.lost;
  if (piece.lost) {
    piece.changes.push_back(
        {.seq = piece.next, .change = {.op = ChangeOp::kOverflow, .at_ms = now_ms()}});
  }
  for (NumberedChange& each : piece.changes) {
    FileChange& change = each.change;
    reply.overflow = reply.overflow || change.op == ChangeOp::kOverflow;
    change.path = shown_in(watch.prefix, change.path);
    if (change.op == ChangeOp::kMove) {
      change.old_path = shown_in(watch.prefix, change.old_path);
    }
    reply.changes.push_back(std::move(each));
  }
  watch.used = now_;
  finish(caller, reply);
}

void WatchHost::finish(Caller& caller, const WatchReply& reply) {
  (void)caller.line.send(encode_watch_reply(reply), steady_clock::now() + kAnswerTime);
  caller.over = true;
}

void WatchHost::expire() {
  const auto is_idle = [this](const auto& each) {
    return each.second.waiting == 0 && each.second.used + options_.idle <= now_;
  };
  if (std::erase_if(watches_, is_idle) > 0) {
    empty_since_ = now_;
  }
  for (auto& [id, watch] : watches_) {
    if (watch.waiting > 0) {
      watch.used = now_;
    }
  }
}

int run_watch_host() {
  auto hosted = open_hosted();
  if (!hosted.ok()) {
    static_cast<void>(std::fprintf(stderr, "agent-box: %s\n", hosted.error().what.c_str()));
    return kExitSystem;
  }
  WatchHost(*hosted, {}).run();
  return 0;
}

}  // namespace agentbox::mcp
