// pure: see mcp_reply.h.
#include "provision/mcp_reply.h"

#include <algorithm>

#include "base/text.h"

namespace agentbox::provision {
namespace {

/// A server's words in an error of ours.
constexpr std::size_t kMaxWords = 500;

}  // namespace

std::optional<Result<Json>> answer_to(std::uint64_t id, const Json& message) {
  const Json* reply_id = find_member(message, "id");
  if (reply_id == nullptr || !reply_id->is_number_unsigned() ||
      reply_id->get<std::uint64_t>() != id || find_member(message, "method") != nullptr) {
    return std::nullopt;
  }
  if (const Json* error = find_member(message, "error"); error != nullptr) {
    const std::string* words = find_string(*error, "message");
    return Result<Json>(
        Error{Code::kProtocol,
              "the box answers: " + escape_text(words == nullptr ? "" : *words, kMaxWords)});
  }
  const Json* result = find_member(message, "result");
  if (result == nullptr) {
    return Result<Json>(Error{Code::kProtocol, "an answer without a result"});
  }
  return Result<Json>(*result);
}

bool lists_tool(const Json& listed, const std::string& tool) {
  const Json* tools = find_member(listed, "tools");
  return tools != nullptr && tools->is_array() &&
         std::any_of(tools->begin(), tools->end(), [&](const Json& entry) {
           const std::string* name = find_string(entry, "name");
           return name != nullptr && *name == tool;
         });
}

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
