// pure: a conversation with a session, for tests: text lines in, text lines out.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "agentbox/session.h"

namespace agentbox::mcp::test {

inline ToolResult no_handler(const Arguments&, CallContext&) { return {}; }

/// One tool that changes things and one that only looks.
inline const std::vector<Tool>& two_tools() {
  static const std::vector<Tool> tools{
      Tool{.name = "poke",
           .title = "Poke",
           .description = "Pokes.",
           .arguments = {{.name = "what", .required = true}},
           .output_schema = R"({"type":"object","properties":{"ok":{"type":"boolean"}}})",
           .meta = R"({"anthropic/alwaysLoad":true})",
           .handler = no_handler},
      Tool{.name = "look",
           .title = "Look",
           .description = "Looks.",
           .hints =
               {.read_only = true, .destructive = false, .idempotent = true, .open_world = false},
           .handler = no_handler},
  };
  return tools;
}

class Talk {
 public:
  explicit Talk(Role role = Role::kAgent, std::span<const Method> methods = {})
      : session_(two_tools(), methods, role) {}

  /// Sends one line; returns the lines that come back.
  std::vector<std::string> say(std::string_view line) {
    return keep(session_.on_line(Line{.text = line}, now_));
  }
  /// The same where exactly one line is expected.
  std::string ask(std::string_view line) {
    const auto lines = say(line);
    return lines.size() == 1 ? lines.front() : "<" + std::to_string(lines.size()) + " lines>";
  }
  std::vector<std::string> say_too_long() {
    return keep(session_.on_line(Line{.text = {}, .too_long = true}, now_));
  }
  void shake_hands(std::string_view version = "2025-11-25") {
    static_cast<void>(
        say(R"({"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":")" +
            std::string(version) + R"(","capabilities":{}}})"));
  }

  std::vector<std::string> progress(CallKey key, double value, std::string_view message) {
    return keep(session_.on_progress(key, value, message, now_));
  }
  /// Ends the call with one text, as the server would.
  std::vector<std::string> finish(CallKey key, std::string text = "done",
                                  const CallFacts& facts = {}) {
    ToolResult result;
    result.texts = {std::move(text)};
    return keep(session_.on_call_done(key, render_tool_result("poke", result, version_of(key)),
                                      facts, now_));
  }
  std::vector<std::string> heartbeats() { return keep(session_.heartbeats(now_)); }
  std::vector<std::string> watch_started(WatchKey key) {
    return keep(session_.on_watch_started(key));
  }
  std::vector<std::string> watch_failed(WatchKey key) {
    return keep(session_.on_watch_failed(key));
  }
  /// The notices that are due.
  std::vector<std::string> updates() { return keep(session_.updates(now_)); }
  std::vector<std::string> end_listens() { return keep(session_.end_listens()); }
  std::vector<std::string> abandon() { return keep(session_.abandon_calls(now_)); }
  std::vector<std::string> drop() { return keep(session_.cancel_calls()); }
  void pass(std::chrono::milliseconds time) { now_ += time; }
  [[nodiscard]] TimePoint now() const { return now_; }

  Session& session() { return session_; }
  /// Everything the session ever asked for, in order.
  std::vector<StartCall>& started() { return started_; }
  std::vector<CallKey>& cancelled() { return cancelled_; }
  std::vector<StartWatch>& watches() { return watches_; }
  std::vector<WatchKey>& stopped() { return stopped_; }
  /// Ids as JSON text.
  std::vector<std::string>& withdrawn() { return withdrawn_; }
  std::vector<record::ToolCalled>& records() { return records_; }
  /// "record", "line" in the order of the last answer.
  const std::vector<std::string>& order() const { return order_; }

 private:
  Version version_of(CallKey key) const {
    for (const StartCall& call : started_) {
      if (call.key == key) {
        return call.version;
      }
    }
    return Version::k2025_11_25;
  }
  std::vector<std::string> keep(Actions actions) {
    std::vector<std::string> lines;
    order_.clear();
    for (Action& action : actions) {
      if (auto* line = std::get_if<SendLine>(&action)) {
        order_.emplace_back("line");
        lines.push_back(std::move(line->line));
      } else if (auto* told = std::get_if<SendRecord>(&action)) {
        order_.emplace_back("record");
        records_.push_back(std::move(told->record));
      } else if (auto* start = std::get_if<StartCall>(&action)) {
        started_.push_back(std::move(*start));
      } else if (const auto* cancel = std::get_if<CancelCall>(&action)) {
        cancelled_.push_back(cancel->key);
      } else if (const auto* withdraw = std::get_if<WithdrawReply>(&action)) {
        withdrawn_.push_back(withdraw->id_json);
      } else if (auto* watch = std::get_if<StartWatch>(&action)) {
        watches_.push_back(std::move(*watch));
      } else if (const auto* stop = std::get_if<StopWatch>(&action)) {
        stopped_.push_back(stop->key);
      }
    }
    return lines;
  }

  Session session_;
  TimePoint now_;
  std::vector<StartCall> started_;
  std::vector<CallKey> cancelled_;
  std::vector<StartWatch> watches_;
  std::vector<WatchKey> stopped_;
  std::vector<std::string> withdrawn_;
  std::vector<record::ToolCalled> records_;
  std::vector<std::string> order_;
};

/// A modern request; PARAMS is the inside of an object, "" or "...,".
inline std::string modern(std::string_view id, std::string_view method,
                          std::string_view params = "", std::string_view envelope = "") {
  return R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"method":")" + std::string(method) +
         R"(","params":{)" + std::string(params) +
         R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
         R"("io.modelcontextprotocol/clientCapabilities":{})" +
         std::string(envelope) + "}}}";
}

/// A request of the era with handshakes; PARAMS is an object.
inline std::string legacy(std::string_view id, std::string_view method,
                          std::string_view params = "{}") {
  return R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"method":")" + std::string(method) +
         R"(","params":)" + std::string(params) + "}";
}

inline std::string call_poke(std::string_view id, std::string_view meta = "") {
  return legacy(id, "tools/call",
                R"({"name":"poke","arguments":{"what":"x"})" + std::string(meta) + "}");
}

inline std::string cancel(std::string_view id) {
  return R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" +
         std::string(id) + "}}";
}

/// The error code of a reply line, 0 where it is no error.
inline int error_code(const std::string& line) {
  const auto value = parse_json(line);
  const Json* error = value.ok() ? find_member(value.value(), "error") : nullptr;
  return error == nullptr ? 0 : error->at("code").get<int>();
}

}  // namespace agentbox::mcp::test
