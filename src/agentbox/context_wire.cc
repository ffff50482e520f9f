// pure: see context_wire.h.
#include "agentbox/context_wire.h"

#include <algorithm>
#include <limits>

#include "agentbox/record_fields.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

// One text of a report: the largest output of a stream, with room for its marker.
constexpr std::size_t kMaxTextBytes = 1UL << 20;
constexpr std::string_view kImagePrefix = "image-";
constexpr std::size_t kMaxImageNameBytes = 64;

constexpr std::array<std::pair<ContextRequest::Kind, std::string_view>, 6> kRequests{
    {{ContextRequest::Kind::kOpen, "open"},
     {ContextRequest::Kind::kExecute, "execute"},
     {ContextRequest::Kind::kWait, "wait"},
     {ContextRequest::Kind::kDetach, "detach"},
     {ContextRequest::Kind::kInterrupt, "interrupt"},
     {ContextRequest::Kind::kStatus, "status"}}};
constexpr std::array<std::pair<ContextReply::Kind, std::string_view>, 7> kReplies{
    {{ContextReply::Kind::kStarted, "started"},
     {ContextReply::Kind::kProgress, "progress"},
     {ContextReply::Kind::kDone, "done"},
     {ContextReply::Kind::kBusy, "busy"},
     {ContextReply::Kind::kDetached, "detached"},
     {ContextReply::Kind::kNothing, "nothing"},
     {ContextReply::Kind::kStatus, "status"}}};
constexpr std::array<std::pair<ExecutionStatus, std::string_view>, 6> kStatuses{
    {{ExecutionStatus::kOk, "ok"},
     {ExecutionStatus::kInterrupted, "interrupted"},
     {ExecutionStatus::kTimedOut, "timed_out"},
     {ExecutionStatus::kExited, "exited"},
     {ExecutionStatus::kDied, "died"},
     {ExecutionStatus::kNoStart, "no_start"}}};

template <typename Names, typename Value>
std::string_view name_of(const Names& names, Value value) {
  for (const auto& [each, name] : names) {
    if (each == value) {
      return name;
    }
  }
  return {};
}

struct Writer : FieldWriter {
  using FieldWriter::operator();

  template <typename Names, typename Value>
  void word(const char* name, const Names& names, const Value& value) {
    json[name] = name_of(names, value);
  }
  void text(const char* name, const std::string& value, std::size_t /*limit*/) {
    json[name] = base64_encode(value);  // any bytes, and none of them escaped
  }
  void number(const char* name, const std::optional<int>& value) {
    if (value) {
      json[name] = *value;
    }
  }
  void stream(const char* name, const HeadTail& value) {
    const HeadTail::Pieces pieces = value.pieces();
    Writer inner;
    inner.text("head", pieces.head, 0);
    inner.text("tail", pieces.tail, 0);
    inner("omitted", pieces.omitted);
    json[name] = std::move(inner.json);
  }
  void texts(const char* name, const std::vector<std::string>& values) {
    json[name] = OrderedJson::array();
    for (const std::string& value : values) {
      json[name].push_back(base64_encode(value));
    }
  }
  template <typename Value, typename Fields>
  void maybe(const char* name, const std::optional<Value>& value, Fields fields) {
    if (value) {
      Writer inner;
      fields(inner, *value);
      json[name] = std::move(inner.json);
    }
  }
  template <typename Value, typename Fields>
  void list(const char* name, const std::vector<Value>& values, Fields fields) {
    json[name] = OrderedJson::array();
    for (const Value& value : values) {
      Writer inner;
      fields(inner, value);
      json[name].push_back(std::move(inner.json));
    }
  }
};

struct Reader : FieldReader {
  using FieldReader::operator();

  template <typename Names, typename Value>
  void word(const char* name, const Names& names, Value& value) {
    const std::string* text = find_string(json, name);
    bool known = false;
    for (const auto& [each, word] : names) {
      if (text != nullptr && *text == word) {
        value = each;
        known = true;
      }
    }
    good = good && known;
  }
  void text(const char* name, std::string& value, std::size_t limit) {
    const std::string* encoded = find_string(json, name);
    if (encoded == nullptr) {
      good = false;
      return;
    }
    auto decoded = base64_decode(*encoded);
    good = good && decoded.ok() && decoded->size() <= limit;
    value = good ? std::move(*decoded) : std::string();
  }
  void number(const char* name, std::optional<int>& value) {
    const Json* found = find_member(json, name);
    if (found == nullptr) {
      return;
    }
    const bool fits = found->is_number_integer() && *found >= std::numeric_limits<int>::min() &&
                      *found <= std::numeric_limits<int>::max();
    good = good && fits;
    value = fits ? std::optional<int>(found->get<int>()) : std::nullopt;
  }
  void stream(const char* name, HeadTail& value) {
    const Json* found = find_member(json, name);
    if (found == nullptr) {
      good = false;
      return;
    }
    HeadTail::Pieces pieces;
    Reader inner{{*found}};
    inner.text("head", pieces.head, kMaxTextBytes);
    inner.text("tail", pieces.tail, kMaxTextBytes);
    inner("omitted", pieces.omitted);
    good = good && inner.good && (pieces.omitted > 0 || pieces.tail.empty());
    value = HeadTail::of(pieces);
  }
  void texts(const char* name, std::vector<std::string>& values) {
    const Json* found = find_member(json, name);
    good = good && found != nullptr && found->is_array() && found->size() <= kMaxContextVariables;
    for (std::size_t i = 0; good && i < found->size(); ++i) {
      auto decoded = (*found)[i].is_string()
                         ? base64_decode((*found)[i].get_ref<const std::string&>())
                         : Result<std::string>(Error{Code::kInvalid, "no text"});
      good = decoded.ok();
      values.push_back(good ? std::move(*decoded) : std::string());
    }
  }
  template <typename Value, typename Fields>
  void maybe(const char* name, std::optional<Value>& value, Fields fields) {
    if (const Json* found = find_member(json, name)) {
      Reader inner{{*found}};
      fields(inner, value.emplace());
      good = good && inner.good;
    }
  }
  template <typename Value, typename Fields>
  void list(const char* name, std::vector<Value>& values, Fields fields) {
    const Json* found = find_member(json, name);
    if (found == nullptr || !found->is_array() || found->size() > kMaxImages) {
      good = false;
      return;
    }
    for (const Json& each : *found) {
      Reader inner{{each}};
      fields(inner, values.emplace_back());
      good = good && inner.good;
    }
  }
};

// One declaration of the fields serves both directions.
template <typename A, typename Request>
void request_fields(A& a, Request& request) {
  a.word("ask", kRequests, request.kind);
  if (request.kind == ContextRequest::Kind::kExecute) {
    a.text("code", request.code, kMaxCodeBytes);
    a("timeout_ms", request.timeout_ms);
    a("output_bytes", request.output_bytes);
  }
  if (request.kind == ContextRequest::Kind::kOpen) {
    a("language", request.language);
    a("program", request.program);
    a("name", request.name);
    a("folder", request.folder);
    a("idle_seconds", request.idle_seconds);
    a.texts("variables", request.variables);
  }
}

template <typename A, typename Report>
void report_fields(A& a, Report& report) {
  a("number", report.number);
  a.word("status", kStatuses, report.status);
  a("lost_state", report.lost_state);
  a("restarted", report.restarted);
  a.stream("output", report.output);
  a.stream("errors", report.errors);
  a.maybe("result", report.result,
          [](auto& inner, auto& text) { inner.text("text", text, kMaxTextBytes); });
  a("result_bytes", report.result_bytes);
  a.maybe("error", report.error, [](auto& inner, auto& error) {
    inner.text("name", error.name, kMaxTextBytes);
    inner.text("message", error.message, kMaxTextBytes);
    inner.text("traceback", error.traceback, kMaxTextBytes);
  });
  a.number("exit_code", report.exit_code);
  a("signal", report.signal);
  a.list("images", report.images, [](auto& inner, auto& image) {
    inner("file", image.file);
    inner("mime", image.mime);
    inner("bytes", image.bytes);
  });
  a("images_left_out", report.images_left_out);
  a("log_start", report.log_start);
  a("late_bytes", report.late_bytes);
  a("unread", report.unread);
  a("duration_ms", report.duration_ms);
}

template <typename A, typename Status>
void status_fields(A& a, Status& status) {
  a("language", status.language);
  a("name", status.name);
  a("folder", status.folder);
  a("version", status.version);
  a("pid", status.pid);
  a("busy", status.busy);
  a("never_started", status.never_started);
  a("busy_ms", status.busy_ms);
  a("idle_ms", status.idle_ms);
  a("number", status.number);
}

template <typename A, typename Reply>
void reply_fields(A& a, Reply& reply) {
  using Kind = ContextReply::Kind;
  a.word("say", kReplies, reply.kind);
  switch (reply.kind) {
    case Kind::kProgress:
      a("output_bytes", reply.output_bytes);
      break;
    case Kind::kStarted:
    case Kind::kDone:
      report_fields(a, reply.report);
      break;
    default:
      status_fields(a, reply.status);
  }
}

bool is_sound(const ExecutionReport& report) {
  return std::all_of(report.images.begin(), report.images.end(), [](const CodeImage& image) {
    return is_image_file_name(image.file) && !image_suffix(image.mime).empty();
  });
}

}  // namespace

std::string_view execution_status_name(ExecutionStatus status) {
  return name_of(kStatuses, status);
}

OrderedJson write_context_request(const ContextRequest& request) {
  Writer writer;
  request_fields(writer, request);
  return std::move(writer.json);
}

Result<ContextRequest> read_context_request(const Json& json) {
  ContextRequest request;
  Reader reader{{json}};
  request_fields(reader, request);
  if (!reader.good || request.code.find('\0') != std::string::npos ||
      request.variables.size() % 2 != 0) {
    return Error{Code::kInvalid, "not a request to a code context"};
  }
  return request;
}

OrderedJson write_context_reply(const ContextReply& reply) {
  Writer writer;
  reply_fields(writer, reply);
  return std::move(writer.json);
}

Result<ContextReply> read_context_reply(const Json& json) {
  ContextReply reply;
  Reader reader{{json}};
  reply_fields(reader, reply);
  if (!reader.good || !is_sound(reply.report)) {
    return Error{Code::kInvalid, "not what a code context answers"};
  }
  return reply;
}

std::string image_file_name(std::uint64_t number, std::size_t index, std::string_view suffix) {
  return std::string(kImagePrefix) + std::to_string(number) + "-" + std::to_string(index) + "." +
         std::string(suffix);
}

bool is_image_file_name(std::string_view name) {
  return name.size() <= kMaxImageNameBytes && name.starts_with(kImagePrefix) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

}  // namespace agentbox::mcp
