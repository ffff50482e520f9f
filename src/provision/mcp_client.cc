// edge: see mcp_client.h.
#include "provision/mcp_client.h"

#include <utility>

#include "provision/mcp_reply.h"

namespace agentbox::provision {
namespace {

constexpr const char* kProtocolVersion = "2025-11-25";

Json message(const std::string& method, const Json& params) {
  return Json{{"jsonrpc", "2.0"}, {"method", method}, {"params", params}};
}

}  // namespace

Result<McpClient> McpClient::open(DoorLine connected, const SecretText& private_key,
                                  Deadline deadline) {
  auto line = std::make_unique<DoorLine>(std::move(connected));
  AB_CHECK(line->client.login(line->user, private_key, deadline));
  AB_TRY(channel, line->client.open_shell(deadline));
  McpClient session(std::move(line), std::move(channel));
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
    if (auto answer = answer_to(id, *reply)) {
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
  return lists_tool(tools_, tool);
}

Result<std::optional<int>> McpClient::close(Deadline deadline) { return channel_.finish(deadline); }

}  // namespace agentbox::provision
