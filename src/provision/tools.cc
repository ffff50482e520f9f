// edge: see tools.h.
#include "provision/tools.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "provision/mcp_reply.h"

namespace agentbox::provision {
namespace {

/// One page, one small command.
constexpr std::chrono::seconds kStep{60};
/// Hashing a file of many GiB on a slow disk.
constexpr std::chrono::seconds kHashTime{1800};
/// read_file hashes no longer file along with a read.
constexpr std::uint64_t kMostHashedByRead = 256ULL << 20U;
constexpr std::size_t kMaxWords = 300;
constexpr std::size_t kHexBytes = 64;

bool is_hex_sum(std::string_view text) {
  return text.size() == kHexBytes && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Error strange(const std::string& tool) {
  return Error{Code::kProtocol, tool + " gives a result that is none"};
}

}  // namespace

Result<Json> use_tool(McpClient& session, const std::string& tool, const Json& arguments,
                      std::chrono::seconds time) {
  AB_TRY(result, session.call_tool(tool, arguments, std::chrono::steady_clock::now() + time));
  if (is_error_result(result)) {
    std::string words = text_of_result(result);  // names the tool itself
    while (words.ends_with('\n')) {
      words.pop_back();
    }
    return Error{Code::kProtocol, escape_text(words, kMaxWords)};
  }
  const Json* value = find_member(result, "structuredContent");
  if (value == nullptr) {
    return Error{Code::kProtocol, tool + " gives no structured result"};
  }
  return *value;
}

Result<FilePage> read_page(McpClient& session, const std::string& path, std::uint64_t offset) {
  AB_TRY(value, use_tool(session, "read_file",
                         Json{{"path", path},
                              {"offset", offset},
                              {"limit", kPageBytes},
                              {"encoding", "base64"},
                              {"sha256", false}},
                         kStep));
  const std::string* content = find_string(value, "content");
  const std::string* modified = find_string(value, "mtime");
  const Json* size = find_member(value, "size");
  if (content == nullptr || size == nullptr || !size->is_number_unsigned()) {
    return strange("read_file");
  }
  AB_TRY(bytes, base64_decode(*content));
  return FilePage{std::move(bytes), size->get<std::uint64_t>(),
                  modified == nullptr ? std::string() : *modified};
}

Result<std::string> remote_sha256(McpClient& session, const std::string& path, std::uint64_t size) {
  if (size <= kMostHashedByRead) {
    AB_TRY(value, use_tool(session, "read_file",
                           Json{{"path", path}, {"limit", 1}, {"sha256", true}}, kHashTime));
    const std::string* sum = find_string(value, "sha256");
    return sum != nullptr && is_hex_sum(*sum) ? Result<std::string>(*sum) : strange("read_file");
  }
  auto said = run_program(session, "sha256sum", {"--", path});
  if (!said.ok()) {
    return said.error().code == Code::kProtocol ? Result<std::string>(std::string())
                                                : std::move(said).error();
  }
  // A name with strange characters makes the line begin with a backslash.
  const std::string sum = said->substr(said->starts_with('\\') ? 1 : 0, kHexBytes);
  return is_hex_sum(sum) ? Result<std::string>(sum) : strange("sha256sum");
}

Status move_file(McpClient& session, const std::string& from, const std::string& to) {
  AB_TRY(has_tool, session.has_tool("move_file", std::chrono::steady_clock::now() + kStep));
  if (has_tool) {
    AB_TRY(moved,
           use_tool(session, "move_file",
                    Json{{"source", from}, {"destination", to}, {"overwrite", true}}, kStep));
    static_cast<void>(moved);
    return {};
  }
  AB_TRY(said, run_program(session, "mv", {"-f", "-T", "--", from, to}));
  static_cast<void>(said);
  return {};
}

Status remove_file(McpClient& session, const std::string& path) {
  AB_TRY(has_tool, session.has_tool("delete_file", std::chrono::steady_clock::now() + kStep));
  if (has_tool) {
    AB_TRY(removed,
           use_tool(session, "delete_file", Json{{"path", path}, {"missing_ok", true}}, kStep));
    static_cast<void>(removed);
    return {};
  }
  AB_TRY(said, run_program(session, "rm", {"-f", "--", path}));
  static_cast<void>(said);
  return {};
}

Result<std::string> run_program(McpClient& session, const std::string& program,
                                const std::vector<std::string>& arguments) {
  AB_TRY(value, use_tool(session, "shell_exec",
                         Json{{"command", program},
                              {"args", arguments},
                              {"timeout_seconds", kHashTime.count()}},
                         kHashTime + kStep));
  const Json* code = find_member(value, "exit_code");
  const std::string* output = find_string(value, "stdout");
  const std::string* words = find_string(value, "stderr");
  if (code == nullptr || output == nullptr || words == nullptr) {
    return strange("shell_exec");
  }
  if (!code->is_number_integer() || code->get<std::int64_t>() != 0) {
    return Error{Code::kProtocol, program + ": " + escape_text(*words, kMaxWords)};
  }
  return *output;
}

}  // namespace agentbox::provision
