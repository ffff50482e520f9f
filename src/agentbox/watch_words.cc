// pure: see watch_words.h.
#include "agentbox/watch_words.h"

#include <algorithm>
#include <utility>

#include "agentbox/box_path.h"
#include "agentbox/visible.h"
#include "agentbox/watch_filter.h"

namespace agentbox::mcp {
namespace {

// A quoted path of kMaxPathBytes at its longest, and paths below it that no argument takes.
constexpr std::size_t kMaxShownPathBytes = 64UL << 10;
constexpr std::size_t kMaxCursorBytes = 256;
constexpr std::size_t kMaxWordsBytes = 4096;
constexpr std::int64_t kMostNumber = (1LL << 53) - 1;

Error wrong(std::string_view what) {
  return Error{Code::kInvalid, "not of a watch: " + std::string(what)};
}

// Reads members, each of its type and in its bounds; GOOD stays true while all were.
struct Members {
  const Json& json;
  bool good = true;

  void text(const char* name, std::size_t most, std::string& value) {
    const std::string* found = find_string(json, name);
    good = good && found != nullptr && found->size() <= most;
    value = good ? *found : std::string();
  }
  void number(const char* name, std::int64_t least, std::int64_t most, std::int64_t& value) {
    const Json* found = find_member(json, name);
    good = good && found != nullptr && found->is_number_integer();
    // A number beyond the signed ones reads as a negative one.
    value = good ? found->get<std::int64_t>() : 0;
    good = good && value >= least && value <= most;
  }
  void flag(const char* name, bool& value) {
    const Json* found = find_member(json, name);
    good = good && found != nullptr && found->is_boolean();
    value = good && found->get<bool>();
  }
  void list(const char* name, std::vector<std::string>& values) {
    const Json* found = find_member(json, name);
    good = good && found != nullptr && found->is_array() && found->size() <= kMaxWatchPatterns;
    for (std::size_t i = 0; good && i < found->size(); ++i) {
      good = (*found)[i].is_string();
      values.push_back(good ? (*found)[i].get<std::string>() : std::string());
      good = good && values.back().size() <= kMaxWatchPatternBytes;
    }
  }
  template <typename T, typename Read>
  void optional(const char* name, std::optional<T>& value, Read read) {
    if (find_member(json, name) != nullptr) {
      read(value.emplace());
    }
  }
};

// As quote_name() writes it, whoever wrote this.
std::string clean_name(const std::string& name) {
  if (name.starts_with('"')) {
    if (const auto bytes = unquote_name(name); bytes.ok()) {
      return quote_name(*bytes);
    }
  }
  return quote_name(name);
}

std::string clean_words(const std::string& text) {
  std::string words = make_visible(text).text;
  std::replace(words.begin(), words.end(), '\n', ' ');
  return words;
}

bool is_code(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
}

Result<ToolError> decode_error(const Json& json) {
  ToolError error;
  Members members{json};
  members.text("code", kMaxCursorBytes, error.code);
  members.text("message", kMaxWordsBytes, error.message);
  members.text("hint", kMaxWordsBytes, error.hint);
  if (!members.good || !is_code(error.code)) {
    return wrong("its error");
  }
  error.message = clean_words(error.message);
  error.hint = clean_words(error.hint);
  return error;
}

OrderedJson encode_change(const NumberedChange& numbered) {
  const FileChange& change = numbered.change;
  OrderedJson json;
  json["seq"] = numbered.seq;
  json["op"] = change_op_name(change.op);
  json["path"] = change.path;
  if (!change.old_path.empty()) {
    json["old_path"] = change.old_path;
  }
  json["type"] = change.type;
  json["at_ms"] = change.at_ms;
  return json;
}

Result<NumberedChange> decode_change(const Json& json) {
  NumberedChange numbered;
  FileChange& change = numbered.change;
  std::string op;
  std::int64_t seq = 0;
  Members members{json};
  members.number("seq", 0, kMostNumber, seq);
  members.text("op", kMaxCursorBytes, op);
  members.text("path", kMaxShownPathBytes, change.path);
  if (find_member(json, "old_path") != nullptr) {
    members.text("old_path", kMaxShownPathBytes, change.old_path);
    change.old_path = clean_name(change.old_path);
  }
  members.text("type", kMaxCursorBytes, change.type);
  members.number("at_ms", 0, kMostNumber, change.at_ms);
  const auto known = change_op_of(op);
  const bool has_old = !change.old_path.empty();
  if (!members.good || !known || has_old != (*known == ChangeOp::kMove)) {
    return wrong("a change");
  }
  numbered.seq = static_cast<std::uint64_t>(seq);
  change.op = *known;
  change.path = clean_name(change.path);
  change.type = clean_words(change.type);
  return numbered;
}

}  // namespace

OrderedJson encode_watch_request(const WatchRequest& request) {
  OrderedJson json;
  json["cursor"] = request.cursor;
  json["close"] = request.close;
  json["wait_ms"] = request.wait_ms;
  json["max_events"] = request.max_events;
  const auto put = [&json](const char* name, const auto& value) {
    if (value) {
      json[name] = *value;
    }
  };
  put("path", request.path);
  put("recursive", request.recursive);
  put("include", request.include);
  put("exclude", request.exclude);
  put("debounce_ms", request.debounce_ms);
  return json;
}

Result<WatchRequest> decode_watch_request(const Json& json) {
  WatchRequest request;
  Members members{json};
  members.text("cursor", kMaxCursorBytes, request.cursor);
  members.flag("close", request.close);
  members.number("wait_ms", 0, kMaxWatchWaitMs, request.wait_ms);
  members.number("max_events", 1, kMaxWatchEvents, request.max_events);
  members.optional("path", request.path,
                   [&](std::string& value) { members.text("path", kMaxShownPathBytes, value); });
  members.optional("recursive", request.recursive,
                   [&](bool& value) { members.flag("recursive", value); });
  members.optional("include", request.include,
                   [&](std::vector<std::string>& value) { members.list("include", value); });
  members.optional("exclude", request.exclude,
                   [&](std::vector<std::string>& value) { members.list("exclude", value); });
  members.optional("debounce_ms", request.debounce_ms, [&](std::int64_t& value) {
    members.number("debounce_ms", 0, kMaxDebounceMs, value);
  });
  const bool begins = request.cursor.empty();
  const bool is_whole = request.path && request.recursive && request.include && request.exclude &&
                        request.debounce_ms;
  if (!members.good || (begins && (!is_whole || request.close))) {
    return wrong("a request");
  }
  return request;
}

OrderedJson encode_watch_reply(const WatchReply& reply) {
  OrderedJson json;
  if (reply.error) {
    json["error"] = {{"code", reply.error->code},
                     {"message", reply.error->message},
                     {"hint", reply.error->hint}};
    return json;
  }
  json["path"] = reply.path;
  json["next_cursor"] = reply.next_cursor;
  json["overflow"] = reply.overflow;
  json["events"] = OrderedJson::array();
  for (const NumberedChange& change : reply.changes) {
    json["events"].push_back(encode_change(change));
  }
  return json;
}

Result<WatchReply> decode_watch_reply(const Json& json) {
  WatchReply reply;
  if (const Json* failed = find_member(json, "error")) {
    AB_TRY(error, decode_error(*failed));
    reply.error = std::move(error);
    return reply;
  }
  Members members{json};
  members.text("path", kMaxShownPathBytes, reply.path);
  members.text("next_cursor", kMaxCursorBytes, reply.next_cursor);
  members.flag("overflow", reply.overflow);
  const Json* events = find_member(json, "events");
  if (!members.good || !decode_cursor(reply.next_cursor).ok() || events == nullptr ||
      !events->is_array() || events->size() > static_cast<std::size_t>(kMaxWatchEvents)) {
    return wrong("an answer");
  }
  reply.path = clean_name(reply.path);
  for (const Json& event : *events) {
    AB_TRY(change, decode_change(event));
    reply.changes.push_back(std::move(change));
  }
  return reply;
}

}  // namespace agentbox::mcp
