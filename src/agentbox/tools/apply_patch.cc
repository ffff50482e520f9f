// edge: apply_patch: a patch of one or many files, all of it or nothing.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/change_set.h"
#include "agentbox/leaf_file.h"
#include "agentbox/patch.h"
#include "agentbox/reply_builder.h"
#include "agentbox/tools/tools.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

constexpr std::size_t kMaxPatchBytes = 4UL << 20;
// Each is held in memory, and is one step or two of the journal.
constexpr std::size_t kMaxFiles = 500;
constexpr std::int64_t kMaxStrip = 10;
constexpr std::int64_t kMaxFuzz = 3;

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"applied":{"type":"boolean"},"dry_run":{"type":"boolean"},
"files":{"type":"array","items":{"type":"object","properties":{
"path":{"type":"string"},"action":{"type":"string","enum":["added","updated","deleted","moved"]},
"destination":{"type":"string"},"hunks":{"type":"integer"},
"offset_lines":{"type":"integer","description":"Largest shift needed."},
"sha256":{"type":"string","pattern":"^[0-9a-f]{64}$"},
"previous_sha256":{"type":"string","pattern":"^[0-9a-f]{64}$"}},
"required":["path","action","hunks"]}}},
"required":["applied","dry_run","files"]})";

PatchFormat format_of(const std::string& name) {
  return name == "codex"     ? PatchFormat::kCodex
         : name == "unified" ? PatchFormat::kUnified
                             : PatchFormat::kAuto;
}

// One call, from its arguments to its answer.
class PatchCall {
 public:
  PatchCall(const Arguments& arguments, CallContext& context)
      : arguments_(arguments),
        context_(context),
        workspace_(*context.box().workspace),
        changes_(workspace_, [&context] { return context.cancelled(); }) {}

  Outcome<ToolResult> run() {
    AB_TRY(patch, parse_patch(arguments_.text("patch"), format_of(arguments_.text("format")),
                              static_cast<int>(arguments_.integer("strip"))));
    if (patch.files.size() > kMaxFiles) {
      return ToolError{.code = "TOO_LARGE",
                       .message = "the patch changes " + std::to_string(patch.files.size()) +
                                  " files; the limit is " + std::to_string(kMaxFiles),
                       .hint = "Apply it in parts"};
    }
    AB_CHECK(check_conditions(patch));
    for (const FilePatch& file : patch.files) {
      if (auto error = think_through(file, patch.unified)) {
        error->message = quote_name(file.path) + ": " + error->message + "; nothing was changed";
        error->details["file"] = quote_name(file.path);
        return *std::move(error);
      }
    }
    const bool dry = arguments_.flag("dry_run");
    if (auto error = apply_changes(changes_, dry, context_)) {
      return *std::move(error);
    }
    return reply(dry);
  }

 private:
  Outcome<ChangeSet::Id> find(const std::string& path, bool follow) {
    const std::string& base = arguments_.text("base_dir");
    AB_TRY(folder, workspace_.parse(base.empty() ? "." : base));
    // Bytes of the patch, not an argument: a quote in it is a quote.
    AB_TRY(parsed, workspace_.parse(quoted(path)));
    const bool absolute = path.starts_with('/');
    if (!absolute && folder.relative != ".") {
      parsed.relative = folder.relative + "/" + parsed.relative;
      parsed.root = folder.root;
    }
    return changes_.find(parsed, follow);
  }

  static std::string quoted(const std::string& path) {
    const std::string name = quote_name(path);
    return name == path && path.starts_with('"') ? "./" + path : name;
  }

  Outcome<bool> check_conditions(const Patch& patch) {
    for (const auto& [path, wanted] : arguments_.map("if_sha256")) {
      bool named = false;
      for (const FilePatch& file : patch.files) {
        named = named || file.path == path;
      }
      if (!named) {
        return ToolError{
            .code = "INVALID_ARGUMENT",
            .message = "if_sha256 names " + quote_name(path) + ", which the patch does not change",
            .hint = "Write paths as the patch does, once stripped"};
      }
      AB_TRY(id, find(path, true));
      if (!changes_.exists(id)) {
        return missing_sha256(changes_.shown(id));
      }
      AB_TRY(hash, changes_.sha256(id));
      if (hash != wanted) {
        return wrong_sha256(changes_.shown(id), hash, "nothing was changed");
      }
    }
    return true;
  }

  std::optional<ToolError> think_through(const FilePatch& file, bool unified) {
    auto id = find(file.path, file.action != PatchAction::kDelete && file.destination.empty());
    if (!id.ok()) {
      return std::move(id).error();
    }
    context_.facts().path = changes_.shown(*id);
    OrderedJson result;
    result["path"] = changes_.shown(*id);
    result["action"] = file.action == PatchAction::kAdd      ? "added"
                       : file.action == PatchAction::kDelete ? "deleted"
                       : file.destination.empty()            ? "updated"
                                                             : "moved";
    result["hunks"] = file.hunks.size();
    auto error = file.action == PatchAction::kAdd      ? add(file, unified, *id, result)
                 : file.action == PatchAction::kDelete ? remove(file, unified, *id, result)
                                                       : update(file, unified, *id, result);
    results_.push_back(std::move(result));
    return error;
  }

  std::optional<ToolError> add(const FilePatch& file, bool unified, ChangeSet::Id id,
                               OrderedJson& result) {
    if (changes_.exists(id)) {
      ToolError error = exists_already(changes_.shown(id));
      error.hint = "Update it instead, or delete it first";
      return error;
    }
    auto text = apply_hunks({}, file, unified, 0);
    if (!text.ok()) {
      return std::move(text).error();
    }
    return write(id, std::move(text->text), file, result);
  }

  std::optional<ToolError> remove(const FilePatch& file, bool unified, ChangeSet::Id id,
                                  OrderedJson& result) {
    if (unified) {
      auto before = changes_.content(id);
      if (!before.ok()) {
        return std::move(before).error();
      }
      result["previous_sha256"] = sha256_hex(*before);
      auto rest = apply_hunks(*before, file, true, 0);
      if (!rest.ok()) {
        return std::move(rest).error();
      }
      if (!rest->text.empty()) {
        return ToolError{.code = "HUNK_FAILED",
                         .message = "the file has more in it than the patch deletes",
                         .hint = "Make the patch anew from what is there now"};
      }
    }
    return changes_.remove(id, false);
  }

  std::optional<ToolError> update(const FilePatch& file, bool unified, ChangeSet::Id id,
                                  OrderedJson& result) {
    if (!file.hunks.empty()) {
      auto before = changes_.content(id);
      if (!before.ok()) {
        return std::move(before).error();
      }
      auto after =
          apply_hunks(*before, file, unified, static_cast<std::size_t>(arguments_.integer("fuzz")));
      if (!after.ok()) {
        return std::move(after).error();
      }
      result["previous_sha256"] = sha256_hex(*before);
      result["offset_lines"] = after->offset_lines;
      if (auto error = write(id, std::move(after->text), file, result)) {
        return error;
      }
    } else if (file.mode) {
      if (auto error = changes_.set_mode(id, *file.mode)) {
        return error;
      }
    }
    if (file.destination.empty()) {
      return std::nullopt;
    }
    auto to = find(file.destination, false);
    if (!to.ok()) {
      return std::move(to).error();
    }
    result["destination"] = changes_.shown(*to);
    return changes_.move(id, *to);
  }

  std::optional<ToolError> write(ChangeSet::Id id, std::string text, const FilePatch& file,
                                 OrderedJson& result) {
    result["sha256"] = sha256_hex(text);
    context_.facts().bytes_in += text.size();
    return changes_.write(
        id, std::move(text),
        file.mode ? std::optional(static_cast<mode_t>(*file.mode)) : std::nullopt);
  }

  [[nodiscard]] ToolResult reply(bool dry) const {
    ReplyBuilder reply;
    reply.flag("applied", !dry);
    reply.flag("dry_run", dry);
    OrderedJson list = OrderedJson::array();
    std::string text;
    for (const OrderedJson& result : results_) {
      list.push_back(result);
      text += result.at("action").get<std::string>() + ": " + result.at("path").get<std::string>();
      for (const char* const name : {"destination", "hunks", "offset_lines", "sha256"}) {
        if (result.contains(name)) {
          const OrderedJson& value = result.at(name);
          text += std::string(", ") + name + " " +
                  (value.is_string() ? value.get<std::string>() : dump_json(value));
        }
      }
      text += "\n";
    }
    reply.data("files", std::move(list));
    ToolResult finished = reply.finish();
    finished.texts.front() += text;
    return finished;
  }

  const Arguments& arguments_;
  CallContext& context_;
  const Workspace& workspace_;
  ChangeSet changes_;
  std::vector<OrderedJson> results_;
};

ToolResult apply_patch_handler(const Arguments& arguments, CallContext& context) {
  auto result = PatchCall(arguments, context).run();
  return result.ok() ? std::move(result).value() : failed(std::move(result).error());
}

}  // namespace

Tool apply_patch_tool() {
  Tool tool;
  tool.name = "apply_patch";
  tool.title = "Apply a patch";
  tool.description =
      "Apply a patch to one or many files all-or-nothing: a unified diff, or the form that "
      "begins *** Begin Patch. Lines must match exactly; a hunk may have moved, and the answer "
      "says how far. Line ends of the files are kept.";
  tool.arguments = {
      {.name = "patch",
       .description = "The patch text.",
       .required = true,
       .min_length = 1,
       .max_length = kMaxPatchBytes},
      {.name = "format",
       .fallback = std::string_view("auto"),
       .choices = {"auto", "codex", "unified"}},
      {.name = "strip",
       .type = ArgumentType::kInteger,
       .description = "Path components to take off in unified diffs; -1: a/ and b/ are found.",
       .fallback = std::int64_t{-1},
       .minimum = -1,
       .maximum = static_cast<double>(kMaxStrip)},
      {.name = "base_dir",
       .description = "Directory that patch paths are relative to.",
       .min_length = 1,
       .max_length = kMaxPathBytes},
      {.name = "fuzz",
       .type = ArgumentType::kInteger,
       .description = "Unified: context lines that may differ at the ends of a hunk.",
       .fallback = std::int64_t{0},
       .minimum = 0,
       .maximum = static_cast<double>(kMaxFuzz)},
      {.name = "if_sha256",
       .type = ArgumentType::kStringMap,
       .description = "Only if these files have these hashes: path -> sha256."},
      {.name = "dry_run",
       .type = ArgumentType::kBoolean,
       .description = "Check only.",
       .fallback = false},
  };
  tool.output_schema = kOutputSchema;
  tool.hints = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false};
  tool.handler = apply_patch_handler;
  return tool;
}

}  // namespace agentbox::mcp
