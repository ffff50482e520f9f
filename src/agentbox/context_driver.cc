// pure: see context_driver.h.
#include "agentbox/context_driver.h"

#include <limits>

#include "agentbox/driver_texts.h"
#include "base/json.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

constexpr std::size_t kMaxVersionBytes = 64;
constexpr std::size_t kMaxNameBytes = 256;
// A text of a driver's: more than LIMIT allows it to send.
constexpr std::size_t kMaxTextBytes = 1UL << 20;
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kImageTypes{
    {{"image/png", "png"}, {"image/jpeg", "jpg"}, {"image/svg+xml", "svg"}}};

// node has no call that copies a descriptor, so that a shell takes the socket out of the code's
// way.
constexpr const char* kMoveControl = R"(exec 3<&0 0</dev/null; exec "$0" "$@")";

std::string quote_for_shell(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += R"('\'')";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

// One command line, so that nothing of it has run when it says that it has begun; and the next
// line, which an interrupt leaves alone.
std::string frame_for_bash(std::uint64_t number, std::string_view code) {
  const std::string id = std::to_string(number);
  return R"(builtin printf '{"id":)" + id + R"(,"begun":true}\n' >&0; builtin eval -- )" +
         quote_for_shell(code) + " </dev/null\n__agentbox_done " + id + " $?\n";
}

std::optional<std::uint64_t> find_number(const Json& json, std::string_view name) {
  const Json* value = find_member(json, name);
  if (value == nullptr || !value->is_number_unsigned()) {
    return std::nullopt;
  }
  return value->get<std::uint64_t>();
}

// A member that is a text of at most LIMIT bytes.
bool take_text(const Json& json, std::string_view name, std::size_t limit, std::string& text) {
  const std::string* found = find_string(json, name);
  if (found == nullptr || found->size() > limit) {
    return false;
  }
  text = *found;
  return true;
}

bool take_error(const Json& json, CodeError& error) {
  return take_text(json, "name", kMaxNameBytes, error.name) &&
         take_text(json, "message", kMaxTextBytes, error.message) &&
         take_text(json, "traceback", kMaxTextBytes, error.traceback);
}

bool take_image(const Json& json, DriverLine& line) {
  const std::string* data = find_string(json, "data");
  if (data == nullptr || !take_text(json, "mime", kMaxNameBytes, line.mime) ||
      image_suffix(line.mime).empty()) {
    return false;
  }
  auto decoded = base64_decode(*data);
  if (!decoded.ok() || decoded->empty() || decoded->size() > kMaxImageBytes) {
    return false;
  }
  line.image = std::move(*decoded);
  return true;
}

bool take_done(const Json& json, DriverLine& line) {
  const Json* code = find_member(json, "exit_code");
  if (code == nullptr) {
    return true;
  }
  if (!code->is_number_integer() || *code < std::numeric_limits<int>::min() ||
      *code > std::numeric_limits<int>::max()) {
    return false;
  }
  line.exit_code = code->get<int>();
  return true;
}

bool take_event(const Json& json, DriverLine& line) {
  using Kind = DriverLine::Kind;
  if (find_member(json, "begun") != nullptr) {
    line.kind = Kind::kBegun;
    return true;
  }
  if (find_member(json, "done") != nullptr) {
    line.kind = Kind::kDone;
    return take_done(json, line);
  }
  if (take_text(json, "result", kMaxTextBytes, line.text)) {
    line.kind = Kind::kResult;
    line.bytes = find_number(json, "result_bytes").value_or(line.text.size());
    return true;
  }
  if (const Json* error = find_member(json, "error"); error != nullptr) {
    line.kind = Kind::kError;
    return take_error(*error, line.error);
  }
  if (const Json* image = find_member(json, "image"); image != nullptr) {
    line.kind = Kind::kImage;
    return take_image(*image, line);
  }
  if (const auto bytes = find_number(json, "image_too_large")) {
    line.kind = Kind::kImageTooLarge;
    line.bytes = *bytes;
    return true;
  }
  return false;
}

}  // namespace

std::string_view language_name(Language language) {
  switch (language) {
    case Language::kPython:
      return "python";
    case Language::kNode:
      return "node";
    case Language::kBash:
      return "bash";
  }
  return "";
}

std::optional<Language> find_language(std::string_view name) {
  for (const Language language : kLanguages) {
    if (language_name(language) == name) {
      return language;
    }
  }
  return std::nullopt;
}

std::vector<std::string> interpreter_names(Language language) {
  switch (language) {
    case Language::kPython:
      return {"python3", "python"};
    case Language::kNode:
      return {"node", "nodejs"};
    case Language::kBash:
      return {"bash"};
  }
  return {};
}

InterpreterPlan plan_interpreter(Language language, const std::string& program) {
  switch (language) {
    case Language::kPython:
      return {.program = program,
              .argv = {"python3", "-c", std::string(kPythonDriver)},
              .variables = {{"MPLBACKEND", "Agg"}},
              .preamble = {}};
    case Language::kNode:
      return {.program = "/bin/sh",
              .argv = {"sh", "-c", kMoveControl, program, "-e", std::string(kNodeDriver)},
              .variables = {},
              .preamble = {}};
    case Language::kBash:
      return {.program = program,
              .argv = {"bash", "--norc", "--noprofile", "--noediting", "+m", "-i"},
              .variables = {{"PS1", ""}, {"PS2", ""}},
              .preamble = std::string(kBashDriver)};
  }
  return {};
}

std::string frame_code(Language language, std::uint64_t number, std::size_t limit,
                       std::string_view code) {
  if (language == Language::kBash) {
    return frame_for_bash(number, code);
  }
  std::string frame = std::to_string(number) + " " + std::to_string(limit) + "\n";
  frame.append(code).push_back('\0');
  return frame;
}

std::string_view image_suffix(std::string_view mime) {
  for (const auto& [type, suffix] : kImageTypes) {
    if (type == mime) {
      return suffix;
    }
  }
  return {};
}

Result<DriverLine> parse_driver_line(std::string_view text) {
  if (text.size() > kMaxDriverLineBytes) {
    return Error{Code::kLimit, "a line of a driver is too long"};
  }
  AB_TRY(json, parse_json(text, {.depth = 3, .values = 16, .keys = 16}));
  DriverLine line;
  if (take_text(json, "hello", kMaxVersionBytes, line.text)) {
    line.kind = DriverLine::Kind::kHello;
    return line;
  }
  const auto number = find_number(json, "id");
  line.number = number.value_or(0);
  if (!number || !take_event(json, line)) {
    return Error{Code::kInvalid, "not a line of a driver"};
  }
  return line;
}

}  // namespace agentbox::mcp
