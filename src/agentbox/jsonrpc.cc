// pure: see jsonrpc.h.
#include "agentbox/jsonrpc.h"

#include <utility>

#include "agentbox/limits.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

// A line buffer that once held something large is given back rather than kept for the session.
constexpr std::size_t kKeepBufferBytes = 64 * std::size_t{1024};

std::string_view without_carriage_return(std::string_view line) {
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

BadMessage bad(std::string id_json, int code, std::string why) {
  return BadMessage{.id_json = std::move(id_json), .code = code, .why = std::move(why)};
}

}  // namespace

void LineSplitter::feed(std::string_view bytes) { piece_ = bytes; }

std::optional<Line> LineSplitter::next() {
  if (hand_out_) {
    hand_out_ = false;
    drop_pending();
  }
  while (!piece_.empty()) {
    const std::size_t end = piece_.find('\n');
    const std::string_view part = piece_.substr(0, end);
    const bool ended = end != std::string_view::npos;
    piece_.remove_prefix(ended ? end + 1 : piece_.size());
    if (discarding_) {
      discarding_ = !ended;
      continue;
    }
    if (pending_.size() + part.size() > max_bytes_) {
      discarding_ = !ended;
      drop_pending();
      return Line{.text = {}, .too_long = true};
    }
    if (!ended) {
      pending_.append(part);
      continue;
    }
    if (auto line = complete(part)) {
      return line;
    }
  }
  return std::nullopt;
}

void LineSplitter::drop_pending() {
  pending_.clear();
  if (pending_.capacity() > kKeepBufferBytes) {
    pending_.shrink_to_fit();
  }
}

std::optional<Line> LineSplitter::complete(std::string_view tail) {
  std::string_view line = tail;
  if (!pending_.empty()) {
    pending_.append(tail);
    line = pending_;
  }
  line = without_carriage_return(line);
  if (is_blank(line)) {
    drop_pending();
    return std::nullopt;
  }
  hand_out_ = !pending_.empty();
  return Line{.text = line};
}

std::optional<Line> LineSplitter::finish() {
  if (auto line = next()) {
    return line;
  }
  if (pending_.empty()) {
    return std::nullopt;
  }
  return complete({});
}

std::optional<RequestId> read_id(const Json& value) {
  if (!value.is_string() && !value.is_number_integer()) {
    return std::nullopt;
  }
  RequestId id{dump_json(value)};
  return id.json.size() <= kMaxIdBytes ? std::optional(std::move(id)) : std::nullopt;
}

Message read_message(Json value) {
  if (!value.is_object()) {
    return bad("null", rpc::kInvalidRequest,
               "Invalid Request: one message is one JSON object on one line");
  }
  const Json* id_value = find_member(value, "id");
  std::optional<RequestId> id;
  if (id_value != nullptr) {
    id = read_id(*id_value);
  }
  const std::string id_json = id ? id->json : "null";
  const std::string* version = find_string(value, "jsonrpc");
  if (version == nullptr || *version != "2.0") {
    return bad(id_json, rpc::kInvalidRequest, "Invalid Request: \"jsonrpc\" must be \"2.0\"");
  }
  const Json* method_value = find_member(value, "method");
  if (method_value == nullptr && (value.contains("result") || value.contains("error"))) {
    return Ignored{};
  }
  if (id_value != nullptr && !id) {
    return bad("null", rpc::kInvalidRequest,
               "Invalid Request: \"id\" must be an integer of 64 bits or a string of at most " +
                   std::to_string(kMaxIdBytes) + " bytes");
  }
  if (method_value == nullptr || !method_value->is_string()) {
    return bad(id_json, rpc::kInvalidRequest, "Invalid Request: \"method\" must be a string");
  }
  Json params = Json::object();
  if (const auto at = value.find("params"); at != value.end()) {
    if (!at->is_object()) {
      if (!id) {
        return Ignored{};
      }
      return bad(id_json, rpc::kInvalidParams, "Invalid params: \"params\" must be an object");
    }
    params = std::move(*at);
  }
  auto method = method_value->get<std::string>();
  if (!id) {
    return Notification{.method = std::move(method), .params = std::move(params)};
  }
  return Request{.id = std::move(*id), .method = std::move(method), .params = std::move(params)};
}

const Json* find_envelope(const Json& params) {
  const Json* envelope = find_member(params, "_meta");
  return envelope != nullptr && envelope->is_object() ? envelope : nullptr;
}

std::string cut_text(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) {
    return std::string(text);
  }
  const std::string_view head = text.substr(0, limit);
  // At most 3 bytes of a cut character; text that is invalid earlier on is repaired by the dump.
  const std::size_t whole = valid_utf8_prefix(head);
  return std::string(limit - whole < 4 ? head.substr(0, whole) : head);
}

std::string result_line(std::string_view id_json, std::string_view result_json) {
  std::string line;
  line.reserve(id_json.size() + result_json.size() + 40);
  line.append(R"({"jsonrpc":"2.0","id":)").append(id_json);
  line.append(R"(,"result":)").append(result_json).append("}");
  return line;
}

std::string error_line(std::string_view id_json, int code, std::string_view message,
                       const OrderedJson& data) {
  OrderedJson error = {{"code", code}, {"message", message}};
  if (!data.is_null()) {
    error["data"] = data;
  }
  std::string line;
  line.append(R"({"jsonrpc":"2.0","id":)").append(id_json);
  line.append(R"(,"error":)").append(dump_json(error)).append("}");
  return line;
}

std::string notification_line(std::string_view method, const OrderedJson& params) {
  return dump_json(OrderedJson{{"jsonrpc", "2.0"}, {"method", method}, {"params", params}});
}

}  // namespace agentbox::mcp
