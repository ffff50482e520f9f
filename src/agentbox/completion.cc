// edge: see completion.h; the method itself.
#include "agentbox/completion.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "agentbox/jsonrpc.h"
#include "agentbox/limits.h"
#include "agentbox/prompts.h"
#include "agentbox/resource_uri.h"

namespace agentbox::mcp {
namespace {

// Longer beginnings complete to nothing anyway.
constexpr std::size_t kMaxBegunBytes = kMaxUriBytes;

enum class Wanted { kNothing, kPath, kPathOrProcess, kFileUri, kProcess, kRevision };

MethodReply refuse(const std::string& why) {
  return method_failure(rpc::kInvalidParams, "Invalid params: " + why);
}

Wanted wanted_for(PromptValue value) {
  switch (value) {
    case PromptValue::kWords:
      return Wanted::kNothing;
    case PromptValue::kPath:
      return Wanted::kPath;
    case PromptValue::kPathOrProcess:
      return Wanted::kPathOrProcess;
    case PromptValue::kRevision:
      return Wanted::kRevision;
  }
  return Wanted::kNothing;
}

std::optional<Wanted> argument_of_prompt(const Json& ref, std::string_view argument) {
  const std::string* name = find_string(ref, "name");
  const Prompt* prompt = name == nullptr ? nullptr : find_prompt(*name);
  if (prompt == nullptr) {
    return std::nullopt;
  }
  for (const PromptArgument& one : prompt->arguments) {
    if (one.name == argument) {
      return wanted_for(one.value);
    }
  }
  return std::nullopt;
}

std::optional<Wanted> variable_of_template(const Json& ref, std::string_view argument) {
  const std::string* uri = find_string(ref, "uri");
  if (uri == nullptr) {
    return std::nullopt;
  }
  if (*uri == kFileTemplate && argument == "path") {
    return Wanted::kFileUri;
  }
  const bool of_process = *uri == kProcessTemplate || *uri == kOutputTemplate;
  return of_process && argument == "id" ? std::optional(Wanted::kProcess) : std::nullopt;
}

std::vector<std::string> values_for(Wanted wanted, std::string_view begun, CallContext& context) {
  switch (wanted) {
    case Wanted::kNothing:
      return {};
    case Wanted::kPath:
      return complete_path(begun, context);
    case Wanted::kPathOrProcess: {
      auto values = complete_process(begun, context);
      auto paths = complete_path(begun, context);
      std::move(paths.begin(), paths.end(), std::back_inserter(values));
      return values;
    }
    case Wanted::kFileUri:
      return complete_file_uri(begun, context);
    case Wanted::kProcess:
      return complete_process(begun, context);
    case Wanted::kRevision:
      return complete_revision(begun, context);
  }
  return {};
}

MethodReply complete(const MethodCall& call, CallContext& context) {
  const Json* ref = find_member(call.params, "ref");
  const Json* argument = find_member(call.params, "argument");
  const std::string* type = ref == nullptr ? nullptr : find_string(*ref, "type");
  const std::string* name = argument == nullptr ? nullptr : find_string(*argument, "name");
  const std::string* begun = argument == nullptr ? nullptr : find_string(*argument, "value");
  if (type == nullptr || name == nullptr || begun == nullptr) {
    return refuse("\"ref\" must have a type, \"argument\" a name and a value");
  }
  std::optional<Wanted> wanted;
  if (*type == "ref/prompt") {
    wanted = argument_of_prompt(*ref, *name);
  } else if (*type == "ref/resource") {
    wanted = variable_of_template(*ref, *name);
  }
  if (!wanted) {
    return refuse(
        "no such prompt or resource template, or it has no such argument; prompts/list and "
        "resources/templates/list show which there are");
  }
  std::vector<std::string> values;
  if (begun->size() <= kMaxBegunBytes) {
    values = values_for(*wanted, *begun, context);
  }
  const std::size_t total = values.size();
  values.resize(std::min(total, kMaxCompletions));
  MethodReply reply;
  reply.result["completion"] = {
      {"values", OrderedJson::array()}, {"total", total}, {"hasMore", total > values.size()}};
  for (std::string& value : values) {
    reply.result["completion"]["values"].push_back(std::move(value));
  }
  return reply;
}

}  // namespace

std::vector<Method> completion_methods() {
  return {{.name = "completion/complete", .handler = complete}};
}

}  // namespace agentbox::mcp
