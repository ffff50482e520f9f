// edge: see mcp_client.h.
#include "provision/mcp_client.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace agentbox::provision {
namespace {

constexpr const char* kProtocolVersion = "2025-11-25";
/// A server's words in an error of ours.
constexpr std::size_t kMaxWords = 500;

Json message(const std::string& method, const Json& params) {
  return Json{{"jsonrpc", "2.0"}, {"method", method}, {"params", params}};
}

// The answer to request ID in MESSAGE; nothing where it is something else (a notification, say).
std::optional<Result<Json>> answer_in(const Json& reply, std::uint64_t id) {
  const Json* reply_id = find_member(reply, "id");
  if (reply_id == nullptr || !reply_id->is_number_unsigned() ||
      reply_id->get<std::uint64_t>() != id || find_member(reply, "method") != nullptr) {
    return std::nullopt;
  }
  if (const Json* error = find_member(reply, "error"); error != nullptr) {
    const std::string* words = find_string(*error, "message");
    return Result<Json>(
        Error{Code::kProtocol,
              "the box answers: " + escape_text(words == nullptr ? "" : *words, kMaxWords)});
  }
  const Json* result = find_member(reply, "result");
  if (result == nullptr) {
    return Result<Json>(Error{Code::kProtocol, "an answer without a result"});
  }
  return Result<Json>(*result);
}

}  // namespace

Result<McpClient> McpClient::open(const SshClient::Target& target, const SecretText& private_key,
                                  Deadline deadline) {
  AB_TRY(connected, SshClient::connect(target, deadline));
  auto client = std::make_unique<SshClient>(std::move(connected));
  AB_CHECK(client->login(kLoginUser, private_key, deadline));
  AB_TRY(channel, client->open_shell(deadline));
  McpClient session(std::move(client), std::move(channel));
  const Json hello = {
      {"protocolVersion", kProtocolVersion},
      {"capabilities", Json::object()},
      {"clientInfo", {{"name", "agentbox-provision"}, {"version", AGENTBOX_VERSION}}}};
  AB_TRY(server, session.request("initialize", hello, deadline));
  session.server_ = std::move(server);
  AB_CHECK(session.channel_.write_line(
      dump_json(Json{{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}}), deadline));
  return session;
}

Result<Json> McpClient::request(const std::string& method, const Json& params, Deadline deadline) {
  const std::uint64_t id = next_id_++;
  Json line = message(method, params);
  line["id"] = id;
  AB_CHECK(channel_.write_line(dump_json(line), deadline));
  for (;;) {
    AB_TRY(text, channel_.read_line(deadline));
    auto reply = parse_json(text);
    if (!reply.ok()) {
      return std::move(reply).error().in("the box sent a line that is no message");
    }
    if (auto answer = answer_in(*reply, id)) {
      return std::move(*answer);
    }
  }
}

Result<Json> McpClient::call_tool(const std::string& tool, const Json& arguments,
                                  Deadline deadline) {
  return request("tools/call", Json{{"name", tool}, {"arguments", arguments}}, deadline);
}

Result<bool> McpClient::has_tool(const std::string& tool, Deadline deadline) {
  if (tools_.is_null()) {
    AB_TRY(listed, request("tools/list", Json::object(), deadline));
    tools_ = std::move(listed);
  }
  const Json* tools = find_member(tools_, "tools");
  return tools != nullptr && tools->is_array() &&
         std::any_of(tools->begin(), tools->end(), [&](const Json& entry) {
           const std::string* name = find_string(entry, "name");
           return name != nullptr && *name == tool;
         });
}

Result<std::optional<int>> McpClient::close(Deadline deadline) { return channel_.finish(deadline); }

std::string text_of_result(const Json& result) {
  std::string text;
  const Json* content = find_member(result, "content");
  if (content == nullptr || !content->is_array()) {
    return text;
  }
  for (const Json& block : *content) {
    if (const std::string* words = find_string(block, "text"); words != nullptr) {
      text += *words + (words->ends_with('\n') ? "" : "\n");
    }
  }
  return text;
}

bool is_error_result(const Json& result) {
  const Json* flag = find_member(result, "isError");
  return flag != nullptr && flag->is_boolean() && flag->get<bool>();
}

}  // namespace agentbox::provision
