// edge: see tools.h.
#include "provision/tools.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "base/text.h"
#include "provision/mcp_reply.h"

namespace agentbox::provision {
namespace {

/// One page, one small command.
constexpr std::chrono::seconds kStep{60};
/// Hashing a file of many GiB on a slow disk.
constexpr std::chrono::seconds kHashTime{1800};
/// Most bytes of one page.
constexpr std::uint64_t kPageBytes = 2U << 20U;
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

Error not_offered(const std::string& tool) {
  return Error{Code::kDenied,
               "the box does not offer " + tool +
                   " to this key: verify, pull and push need the profile standard or "
                   "full, and a key whose role is not reader"};
}

}  // namespace

Result<Json> use_tool(McpClient& session, const std::string& tool, const Json& arguments,
                      std::chrono::seconds time) {
  const auto deadline = std::chrono::steady_clock::now() + time;
  auto answer = session.call_tool(tool, arguments, deadline);
  if (!answer.ok()) {
    const auto offered = session.has_tool(tool, deadline);
    return offered.ok() && !*offered ? not_offered(tool) : std::move(answer).error();
  }
  const Json result = std::move(answer).value();
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

Result<FilePage> read_page(McpClient& session, const std::string& path, std::uint64_t offset,
                           const std::string& etag) {
  Json arguments{{"path", path}, {"offset", offset}, {"length", kPageBytes}};
  if (!etag.empty()) {
    arguments["if_etag"] = etag;
  }
  AB_TRY(value, use_tool(session, "download_chunk", arguments, kStep));
  const std::string* data = find_string(value, "data");
  const std::string* now = find_string(value, "etag");
  const Json* size = find_member(value, "size");
  if (data == nullptr || now == nullptr || size == nullptr || !size->is_number_unsigned()) {
    return strange("download_chunk");
  }
  AB_TRY(bytes, base64_decode(*data));
  return FilePage{std::move(bytes), size->get<std::uint64_t>(), *now};
}

Result<std::string> remote_sha256(McpClient& session, const std::string& path,
                                  const std::string& etag) {
  AB_TRY(value,
         use_tool(session, "download_chunk",
                  Json{{"path", path}, {"length", 1}, {"if_etag", etag}, {"file_sha256", true}},
                  kHashTime));
  const std::string* sum = find_string(value, "sha256");
  return sum != nullptr && is_hex_sum(*sum) ? Result<std::string>(*sum) : strange("download_chunk");
}

Result<std::string> begin_upload(McpClient& session, const std::string& path, std::uint64_t size,
                                 unsigned mode) {
  Json arguments{{"path", path}};
  if (size > 0) {
    arguments["total_size"] = size;
  }
  if (mode != 0) {
    std::array<char, 16> text{};  // holds any number, which the compiler looks for
    static_cast<void>(std::snprintf(text.data(), text.size(), "%04o", mode));
    arguments["mode"] = text.data();
  }
  AB_TRY(value, use_tool(session, "upload_chunk", arguments, kStep));
  const std::string* id = find_string(value, "upload_id");
  return id != nullptr ? Result<std::string>(*id) : strange("upload_chunk");
}

Status send_piece(McpClient& session, const std::string& id, std::uint64_t offset,
                  std::string_view bytes, const std::optional<WholeFile>& whole) {
  Json arguments{{"upload_id", id},
                 {"offset", offset},
                 {"data", base64_encode(bytes)},
                 {"chunk_sha256", sha256_hex(bytes)}};
  if (whole) {
    arguments["total_size"] = whole->size;
    arguments["sha256"] = whole->sum;
  }
  AB_TRY(value, use_tool(session, "upload_chunk", arguments, whole ? kHashTime : kStep));
  const Json* complete = find_member(value, "complete");
  const bool is_complete = complete != nullptr && complete->is_boolean() && complete->get<bool>();
  return is_complete == whole.has_value() ? Status{} : Status{strange("upload_chunk")};
}

Status abort_upload(McpClient& session, const std::string& id) {
  AB_TRY(value, use_tool(session, "upload_chunk", Json{{"upload_id", id}, {"abort", true}}, kStep));
  static_cast<void>(value);
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
