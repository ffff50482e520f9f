// pure: any lines keep the session's promises: each line out is one JSON text on one line, calls
// are ended once, and after their end nothing is in flight.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "agentbox/jsonrpc.h"
#include "agentbox/limits.h"
#include "agentbox/session.h"

namespace {

using namespace agentbox;
using namespace agentbox::mcp;

ToolResult no_handler(const Arguments&, CallContext&) { return {}; }

const std::vector<Tool>& tools() {
  static const std::vector<Tool> table{
      Tool{.name = "t",
           .title = "T",
           .description = "D.",
           .arguments = {{.name = "a"}, {.name = "n", .type = ArgumentType::kInteger}},
           .handler = no_handler},
      Tool{.name = "r",
           .title = "R",
           .description = "D.",
           .hints = {.read_only = true, .destructive = false},
           .handler = no_handler}};
  return table;
}

const std::vector<Method>& methods() {
  static const std::vector<Method> table{{.name = "resources/list", .wants_history = true},
                                         {.name = "resources/read"}};
  return table;
}

class Checker {
 public:
  void take(const Actions& actions) {
    for (const Action& action : actions) {
      if (const auto* line = std::get_if<SendLine>(&action)) {
        if (line->line.find('\n') != std::string::npos || !parse_json(line->line).ok()) {
          std::abort();
        }
      } else if (const auto* start = std::get_if<StartCall>(&action)) {
        running_.push_back(start->key);
      } else if (const auto* cancel = std::get_if<CancelCall>(&action)) {
        if (!cancelled_.insert(cancel->key).second) {
          std::abort();
        }
      } else if (const auto* watch = std::get_if<StartWatch>(&action)) {
        if (watch->key <= last_watch_) {
          std::abort();
        }
        last_watch_ = watch->key;
        watches_.insert(watch->key);
      } else if (const auto* stop = std::get_if<StopWatch>(&action)) {
        if (watches_.erase(stop->key) != 1) {
          std::abort();
        }
      } else if (const auto* told = std::get_if<SendRecord>(&action)) {
        if (!record::encode(record::Record(told->record)).ok()) {
          std::abort();
        }
      }
    }
  }
  [[nodiscard]] WatchKey last_watch() const { return last_watch_; }
  void forget_watch(WatchKey key) { watches_.erase(key); }
  /// The oldest running call, or 0.
  CallKey next() {
    if (running_.empty()) {
      return 0;
    }
    const CallKey key = running_.front();
    running_.erase(running_.begin());
    return key;
  }

 private:
  std::vector<CallKey> running_;
  std::set<CallKey> cancelled_;
  std::set<WatchKey> watches_;
  WatchKey last_watch_ = 0;
};

}  // namespace

// The first byte picks the role; a line "." ends the oldest call, "!" makes it progress, "~" lets
// the time of a heartbeat pass; "+" begins the newest watch, "-" makes it fail, "*" has it tell of
// a change.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const Role role = text.starts_with('r') ? Role::kReader : Role::kAgent;
  text.remove_prefix(text.empty() ? 0 : 1);

  Session session(tools(), methods(), role);
  Checker checker;
  TimePoint now;
  LineSplitter splitter(kMaxLineInBytes);
  splitter.feed(text);
  const auto finish = [&](CallKey key) {
    ToolResult result;
    result.texts = {"x"};
    checker.take(session.on_call_done(key, render_tool_result("t", result, Version::k2025_11_25),
                                      {.path = "p"}, now));
  };
  while (const auto line = splitter.next()) {
    now += kProgressInterval;
    if (line->text == ".") {
      finish(checker.next());
    } else if (line->text == "!") {
      checker.take(session.on_progress(1, 1, line->text, now));
    } else if (line->text == "~") {
      now += kProgressHeartbeat;
      checker.take(session.heartbeats(now));
      const auto next = session.next_heartbeat();
      if (next && *next <= now) {
        std::abort();
      }
    } else if (line->text == "+") {
      checker.take(session.on_watch_started(checker.last_watch()));
    } else if (line->text == "-") {
      checker.forget_watch(checker.last_watch());
      checker.take(session.on_watch_failed(checker.last_watch()));
    } else if (line->text == "*") {
      session.on_watch_changed(checker.last_watch(), now);
      now += kUpdateInterval;
      checker.take(session.updates(now));
    } else {
      checker.take(session.on_line(*line, now));
    }
  }
  checker.take(session.end_listens());
  session.refuse_calls();
  checker.take(session.abandon_calls(now));
  while (const CallKey key = checker.next()) {
    finish(key);
  }
  if (session.calls() != 0 || session.calls_to_answer() != 0 || session.listens() != 0) {
    std::abort();
  }
  return 0;
}
