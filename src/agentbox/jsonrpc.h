// pure: bytes to capped lines, lines to JSON-RPC messages, and replies to lines.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/json.h"

namespace agentbox::mcp {

/// One line of input without its end ("\n" or "\r\n").
struct Line {
  std::string_view text;  ///< valid until the splitter is touched again
  bool too_long = false;  ///< the text is gone; reported once, when the cap is passed
};

/// Cuts a byte stream into lines in linear time, whatever the sizes of the pieces.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// Takes the next piece; BYTES must stay valid until next() has returned nothing.
  void feed(std::string_view bytes);
  /// The next line, or nothing until more is fed. Lines of nothing but white space are left out.
  [[nodiscard]] std::optional<Line> next();
  /// After the last piece: what stands there without a line end, if anything.
  [[nodiscard]] std::optional<Line> finish();

  /// The unfinished line so far.
  [[nodiscard]] std::string_view pending() const { return pending_; }
  /// Memory kept for unfinished lines.
  [[nodiscard]] std::size_t capacity() const { return pending_.capacity(); }

 private:
  [[nodiscard]] std::optional<Line> complete(std::string_view tail);
  void drop_pending();

  std::size_t max_bytes_;
  std::string_view piece_;   // not yet looked at
  std::string pending_;      // an unfinished line
  bool hand_out_ = false;    // pending_ was handed out and is dropped at the next touch
  bool discarding_ = false;  // inside a line that was reported as too long
};

namespace rpc {
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
inline constexpr int kMissingCapability = -32021;
inline constexpr int kUnsupportedVersion = -32022;
}  // namespace rpc

/// A request's id as JSON text, so that type and value are echoed exactly: 1 and "1" differ.
struct RequestId {
  std::string json;
  friend bool operator<(const RequestId& left, const RequestId& right) {
    return left.json < right.json;
  }
};

/// The id in VALUE, or nothing where it is neither a string (of at most kMaxIdBytes) nor an integer
/// of 64 bits.
[[nodiscard]] std::optional<RequestId> read_id(const Json& value);

struct Request {
  RequestId id;
  std::string method;
  Json params;  ///< always an object
};
struct Notification {
  std::string method;
  Json params;  ///< always an object
};
/// Nothing to answer and nothing to do: a response, or a malformed notification.
struct Ignored {};
/// Answered with an error at once.
struct BadMessage {
  std::string id_json;  ///< "null" where the id can't be read
  int code = rpc::kInvalidRequest;
  std::string why;
};
using Message = std::variant<Request, Notification, Ignored, BadMessage>;

/// What one JSON value is as a message. Never a batch: an array is a BadMessage here.
[[nodiscard]] Message read_message(Json value);

/// The request's `_meta`, or null where it has none that is an object.
[[nodiscard]] const Json* find_envelope(const Json& params);

/// At most LIMIT bytes of TEXT, never ending inside a character.
[[nodiscard]] std::string cut_text(std::string_view text, std::size_t limit);

/// Reply lines without the line end. RESULT_JSON and ID_JSON are JSON texts.
[[nodiscard]] std::string result_line(std::string_view id_json, std::string_view result_json);
[[nodiscard]] std::string error_line(std::string_view id_json, int code, std::string_view message,
                                     const OrderedJson& data = {});
[[nodiscard]] std::string notification_line(std::string_view method, const OrderedJson& params);

}  // namespace agentbox::mcp
