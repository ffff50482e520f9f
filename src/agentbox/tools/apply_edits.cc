// edge: apply_edits: changes of several files, all of them or none.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/change_set.h"
#include "agentbox/diff.h"
#include "agentbox/edit.h"
#include "agentbox/edit_arguments.h"
#include "agentbox/leaf_file.h"
#include "agentbox/reply_builder.h"
#include "agentbox/tools/tools.h"
#include "agentbox/visible.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

constexpr std::size_t kMaxOperations = 500;
constexpr std::size_t kMaxContentBytes = 6'291'456;
// A model needs to see what changed, not the whole of a large change.
constexpr std::size_t kMaxDiffBytes = 64UL << 10;

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"applied":{"type":"boolean"},"dry_run":{"type":"boolean"},
"results":{"type":"array","items":{"type":"object","properties":{
"op":{"type":"string"},"path":{"type":"string"},"destination":{"type":"string"},
"sha256":{"type":"string","pattern":"^[0-9a-f]{64}$","description":"After this operation."},
"previous_sha256":{"type":"string","pattern":"^[0-9a-f]{64}$"},
"size":{"type":"integer"},"replacements":{"type":"integer"},"created":{"type":"boolean"},
"diff":{"type":"string"},"diff_truncated":{"type":"boolean"}},"required":["op","path"]}},
"files_changed":{"type":"integer","description":"Names that are other than before."}},
"required":["applied","dry_run","results","files_changed"]})";

// Which operations an argument is for.
struct FieldUse {
  const char* field;
  std::array<std::string_view, 3> operations;
};
constexpr std::array kUses{
    FieldUse{"content", {"write"}},
    FieldUse{"encoding", {"write"}},
    FieldUse{"mode", {"write", "mkdir", "chmod"}},
    FieldUse{"edits", {"edit"}},
    FieldUse{"destination", {"move"}},
    FieldUse{"recursive", {"delete"}},
    FieldUse{"if_sha256", {"write", "edit", "delete"}},
    FieldUse{"if_absent", {"write"}},
};
constexpr std::array<std::pair<std::string_view, const char*>, 4> kNeeds{
    {{"write", "content"}, {"edit", "edits"}, {"move", "destination"}, {"chmod", "mode"}}};

std::optional<ToolError> check_fields(const Arguments& operation) {
  const std::string& op = operation.text("op");
  for (const FieldUse& use : kUses) {
    bool used = false;
    for (const std::string_view name : use.operations) {
      used = used || name == op;
    }
    if (!used && operation.has(use.field)) {
      return ToolError{.code = "INVALID_ARGUMENT",
                       .message = std::string(use.field) + " is not for the operation " + op,
                       .hint = "Leave it out"};
    }
  }
  for (const auto& [name, field] : kNeeds) {
    if (name == op && !operation.has(field)) {
      return ToolError{.code = "INVALID_ARGUMENT",
                       .message = std::string(field) + " is missing for the operation " + op,
                       .hint = "Give it"};
    }
  }
  return std::nullopt;
}

std::optional<mode_t> mode_of(const Arguments& operation) {
  return operation.has("mode") ? std::optional(static_cast<mode_t>(
                                     std::strtoul(operation.text("mode").c_str(), nullptr, 8)))
                               : std::nullopt;
}

// One call, from its arguments to its answer.
class Application {
 public:
  Application(const Arguments& arguments, CallContext& context)
      : arguments_(arguments),
        context_(context),
        workspace_(*context.box().workspace),
        changes_(workspace_, [&context] { return context.cancelled(); }) {}

  Outcome<ToolResult> run() {
    std::size_t number = 0;
    for (const Arguments& operation : arguments_.objects("operations")) {
      ++number;
      if (auto error = think_through(operation, number)) {
        error->message =
            "operation " + std::to_string(number) + ": " + error->message + "; nothing was changed";
        return *std::move(error);
      }
    }
    if (!unmet_.empty()) {
      return unmet_conditions();
    }
    const bool dry = arguments_.flag("dry_run");
    if (auto error = apply_changes(changes_, dry, context_)) {
      return *std::move(error);
    }
    return reply(dry);
  }

 private:
  // Where a condition does not hold, the rest is still looked at, so that all are told at once.
  std::optional<ToolError> think_through(const Arguments& operation, std::size_t number) {
    if (auto error = check_fields(operation)) {
      return error;
    }
    auto path = workspace_.parse(operation.text("path"));
    if (!path.ok()) {
      return std::move(path).error();
    }
    const std::string& op = operation.text("op");
    auto id = changes_.find(*path, op == "write" || op == "edit" || op == "chmod");
    if (!id.ok()) {
      return std::move(id).error();
    }
    context_.facts().path = changes_.shown(*id);
    if (auto error = check_conditions(operation, number, *id)) {
      return error;
    }
    OrderedJson result;
    result["op"] = op;
    result["path"] = changes_.shown(*id);
    auto error = carry_out(op, operation, *id, result);
    if (error && !unmet_.empty()) {
      return std::nullopt;
    }
    results_.push_back(std::move(result));
    return error;
  }

  std::optional<ToolError> check_conditions(const Arguments& operation, std::size_t number,
                                            ChangeSet::Id id) {
    const std::string& shown = changes_.shown(id);
    if (operation.flag("if_absent") && changes_.exists(id)) {
      return exists_already(shown);
    }
    if (!operation.has("if_sha256")) {
      return std::nullopt;
    }
    OrderedJson unmet = {{"operation", number}, {"path", shown}};
    if (changes_.exists(id)) {
      auto hash = changes_.sha256(id);
      if (!hash.ok()) {
        return std::move(hash).error();
      }
      if (*hash == operation.text("if_sha256")) {
        return std::nullopt;
      }
      unmet["sha256"] = *hash;
    }
    unmet_.push_back(std::move(unmet));
    return std::nullopt;
  }

  [[nodiscard]] ToolError unmet_conditions() const {
    ToolError error{.code = "PRECONDITION_FAILED",
                    .message = {},
                    .hint = "Read these files again and repeat the changes on what is there now"};
    for (const OrderedJson& unmet : unmet_) {
      error.message += error.message.empty() ? "" : "; ";
      error.message +=
          "operation " + dump_json(unmet.at("operation")) + ": " +
          unmet.at("path").get<std::string>() +
          (unmet.contains("sha256") ? " has sha256 " + unmet.at("sha256").get<std::string>()
                                    : std::string(" does not exist"));
    }
    error.message += "; nothing was changed";
    error.details["unmet"] = unmet_;
    return error;
  }

  std::optional<ToolError> carry_out(const std::string& op, const Arguments& operation,
                                     ChangeSet::Id id, OrderedJson& result) {
    if (op == "write") {
      return write(operation, id, result);
    }
    if (op == "edit") {
      return edit(operation, id, result);
    }
    if (op == "delete") {
      return changes_.remove(id, operation.flag("recursive"));
    }
    if (op == "move") {
      return move(operation, id, result);
    }
    if (op == "mkdir") {
      auto made = changes_.make_folder(id, mode_of(operation));
      if (made.ok()) {
        result["created"] = *made;
      }
      return made.ok() ? std::nullopt : std::optional(std::move(made).error());
    }
    return changes_.set_mode(id, *mode_of(operation));
  }

  std::optional<ToolError> write(const Arguments& operation, ChangeSet::Id id,
                                 OrderedJson& result) {
    std::string content = operation.text("content");
    if (operation.text("encoding") == "base64") {
      auto decoded = base64_decode(content);
      if (!decoded.ok()) {
        return ToolError{.code = "INVALID_ENCODING",
                         .message = "content is no base64: " + decoded.error().what,
                         .hint = "Use the standard alphabet with padding and without line breaks"};
      }
      content = std::move(*decoded);
    }
    const bool created = !changes_.exists(id);
    std::string before;
    if (!created) {
      auto old = changes_.content(id);
      if (!old.ok()) {
        return std::move(old).error();
      }
      before = std::move(*old);
    }
    describe(id, before, content, created, result);
    return changes_.write(id, std::move(content), mode_of(operation));
  }

  std::optional<ToolError> edit(const Arguments& operation, ChangeSet::Id id, OrderedJson& result) {
    auto before = changes_.content(id);
    if (!before.ok()) {
      return std::move(before).error();
    }
    if (before->find('\0') != std::string::npos) {
      return ToolError{.code = "NOT_TEXT",
                       .message = changes_.shown(id) + " holds NUL bytes, so it is no text",
                       .hint = "Use shell_exec with a program for its format"};
    }
    std::vector<TextEdit> edits;
    for (const Arguments& one : operation.objects("edits")) {
      edits.push_back(edit_of(one));
    }
    auto after = mcp::apply_edits(*before, edits);
    if (!after.ok()) {
      ToolError error = std::move(after).error();
      error.message = changes_.shown(id) + ": " + error.message;
      return error;
    }
    result["replacements"] = after->replacements;
    describe(id, *before, after->text, false, result);
    return changes_.write(id, std::move(after->text), std::nullopt);
  }

  std::optional<ToolError> move(const Arguments& operation, ChangeSet::Id id, OrderedJson& result) {
    auto path = workspace_.parse(operation.text("destination"));
    auto to = path.ok() ? changes_.find(*path, false) : Outcome<ChangeSet::Id>(path.error());
    if (!to.ok()) {
      return std::move(to).error();
    }
    result["destination"] = changes_.shown(*to);
    return changes_.move(id, *to);
  }

  void describe(ChangeSet::Id id, const std::string& before, const std::string& after, bool created,
                OrderedJson& result) {
    result["sha256"] = sha256_hex(after);
    if (!created) {
      result["previous_sha256"] = sha256_hex(before);
    }
    result["size"] = after.size();
    result["created"] = created;
    context_.facts().bytes_in += after.size();
    if ((before + after).find('\0') != std::string::npos) {
      return;  // no text
    }
    const UnifiedDiff diff =
        unified_diff(before, after, quote_name(changes_.shown(id)), kMaxDiffBytes - diff_bytes_);
    diff_bytes_ += diff.text.size();
    result["diff"] = replace_invalid_utf8(diff.text);
    if (diff.truncated) {
      result["diff_truncated"] = true;
    }
  }

  [[nodiscard]] ToolResult reply(bool dry) const {
    ReplyBuilder reply;
    reply.flag("applied", !dry);
    reply.flag("dry_run", dry);
    reply.both("files_changed", changes_.changed());
    OrderedJson list = OrderedJson::array();
    std::string text;
    for (const OrderedJson& result : results_) {
      list.push_back(result);
      text += "--- " + result.at("op").get<std::string>() + " " +
              result.at("path").get<std::string>() + " ---\n";
      for (const char* const name : {"destination", "sha256"}) {
        text += result.contains(name)
                    ? std::string(name) + ": " + result.at(name).get<std::string>() + "\n"
                    : "";
      }
      text += result.contains("diff_truncated") ? "diff_truncated: true\n" : "";
      text +=
          result.contains("diff") ? make_visible(result.at("diff").get<std::string>()).text : "";
    }
    reply.data("results", std::move(list));
    ToolResult finished = reply.finish();
    finished.texts.front() += text;
    return finished;
  }

  const Arguments& arguments_;
  CallContext& context_;
  const Workspace& workspace_;
  ChangeSet changes_;
  std::vector<OrderedJson> results_;
  std::vector<OrderedJson> unmet_;
  std::size_t diff_bytes_ = 0;
};

ToolResult apply_edits_handler(const Arguments& arguments, CallContext& context) {
  auto result = Application(arguments, context).run();
  return result.ok() ? std::move(result).value() : failed(std::move(result).error());
}

std::vector<Argument> operation_fields() {
  return {
      {.name = "op",
       .required = true,
       .choices = {"write", "edit", "delete", "move", "mkdir", "chmod"}},
      {.name = "path", .required = true, .min_length = 1, .max_length = kMaxPathBytes},
      {.name = "content", .description = "write: new content.", .max_length = kMaxContentBytes},
      {.name = "encoding",
       .description = "Of content.",
       .fallback = std::string_view("utf-8"),
       .choices = {"utf-8", "base64"}},
      {.name = "mode", .description = "write/mkdir/chmod: octal bits.", .shape = Shape::kOctalMode},
      edits_argument("edit: exact replacements, as of edit_file."),
      {.name = "destination",
       .description = "move: new path, which must be free.",
       .min_length = 1,
       .max_length = kMaxPathBytes},
      {.name = "if_sha256",
       .description = "write/edit/delete: only if the current content has this hash.",
       .shape = Shape::kSha256},
      {.name = "if_absent",
       .type = ArgumentType::kBoolean,
       .description = "write: only where there is no file.",
       .fallback = false},
      {.name = "recursive",
       .type = ArgumentType::kBoolean,
       .description = "delete: folders too.",
       .fallback = false},
  };
}

}  // namespace

Tool apply_edits_tool() {
  Tool tool;
  tool.name = "apply_edits";
  tool.title = "Change several files atomically";
  tool.description =
      "Change several files all-or-nothing: write, edit, create, move, delete, chmod. Every "
      "condition (sha256, existence, exact text) is checked first; on any failure, even a kill, "
      "everything is as it was. Each operation sees what those before it did.";
  tool.arguments = {
      {.name = "operations",
       .type = ArgumentType::kObjectList,
       .description = "Applied in order.",
       .required = true,
       .min_items = 1,
       .max_items = kMaxOperations,
       .fields = operation_fields()},
      {.name = "dry_run",
       .type = ArgumentType::kBoolean,
       .description = "Check and show diffs, change nothing.",
       .fallback = false},
  };
  tool.output_schema = kOutputSchema;
  tool.tier = Tier::kCore;
  tool.hints = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false};
  tool.handler = apply_edits_handler;
  tool.may_be_task = true;
  return tool;
}

}  // namespace agentbox::mcp
