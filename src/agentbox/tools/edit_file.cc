// edge: edit_file: exact replacements in a file, all or none, with the difference in the answer.
#include <cstdint>
#include <string>
#include <vector>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/diff.h"
#include "agentbox/edit.h"
#include "agentbox/edit_arguments.h"
#include "agentbox/file_bytes.h"
#include "agentbox/file_writer.h"
#include "agentbox/os_error.h"
#include "agentbox/tools/tools.h"
#include "agentbox/visible.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

// The text is held several times while it is edited.
constexpr std::size_t kMaxFileBytes = kMaxEditedTextBytes;
// A model needs to see what changed, not the whole of a large change.
constexpr std::size_t kMaxDiffBytes = 32UL << 10;

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"path":{"type":"string"},"replacements":{"type":"integer"},
"diff":{"type":"string","description":"Unified diff (max 32 KiB)."},
"diff_truncated":{"type":"boolean"},
"sha256":{"type":"string","pattern":"^[0-9a-f]{64}$","description":"New hash."},
"previous_sha256":{"type":"string","pattern":"^[0-9a-f]{64}$"},
"size":{"type":"integer"},"created":{"type":"boolean"},"dry_run":{"type":"boolean"}},
"required":["path","replacements","diff","sha256","size","dry_run"]})";

Outcome<std::vector<TextEdit>> edits_of(const Arguments& arguments) {
  const bool single = arguments.has("old_string") || arguments.has("new_string");
  if (single == arguments.has("edits")) {
    return ToolError{.code = "INVALID_ARGUMENT",
                     .message = single ? "both edits and old_string are given"
                                       : "neither old_string nor edits is given",
                     .hint = "Give old_string and new_string, or a list in edits"};
  }
  std::vector<TextEdit> edits;
  if (single) {
    if (!arguments.has("old_string") || !arguments.has("new_string")) {
      return ToolError{.code = "INVALID_ARGUMENT",
                       .message = "old_string and new_string belong together",
                       .hint = "To remove text give an empty new_string"};
    }
    edits.push_back(edit_of(arguments));
  }
  for (const Arguments& one : arguments.objects("edits")) {
    edits.push_back(edit_of(one));
  }
  return edits;
}

// One call, from its arguments to its answer.
class Edition {
 public:
  Edition(const Arguments& arguments, CallContext& context)
      : arguments_(arguments), context_(context), workspace_(*context.box().workspace) {}

  Outcome<ToolResult> run() {
    AB_TRY(path, workspace_.parse(arguments_.text("path")));
    shown_ = workspace_.show(path);
    context_.facts().path = shown_;
    AB_TRY(edits, edits_of(arguments_));
    auto before = read(path);
    // An empty old text makes a file that is not there, or fills one that is empty.
    const bool makes = edits.size() == 1 && edits.front().old_text.empty();
    if (!before.ok() && before.error().code == "ENOENT" && makes) {
      created_ = true;
      before = std::string();
    }
    if (!before.ok()) {
      return std::move(before).error();
    }
    AB_CHECK(check_precondition(*before));
    EditedText after{.text = edits.front().new_text, .replacements = 1};
    if (!makes || !before->empty()) {
      AB_TRY(edited, apply_edits(*before, edits));
      after = std::move(edited);
    }
    if (!arguments_.flag("dry_run")) {
      AB_CHECK(write(path, *before, after.text));
    }
    return reply(*before, after, path.relative);
  }

 private:
  [[nodiscard]] static ToolError too_large(std::size_t size) {
    return ToolError{.code = "TOO_LARGE",
                     .message = "the file has " + std::to_string(size) + " bytes; the limit is " +
                                std::to_string(kMaxFileBytes),
                     .hint = "Use shell_exec with sed or a script"};
  }

  [[nodiscard]] Outcome<std::string> read(const BoxPath& path) const {
    AB_TRY(file, workspace_.open_file(path));
    if (static_cast<std::uint64_t>(file.info.st_size) > kMaxFileBytes) {
      return too_large(static_cast<std::size_t>(file.info.st_size));
    }
    auto content = read_at(file.fd.get(), 0, kMaxFileBytes + 1);
    if (!content.ok()) {
      return os_error(shown_, content.error());
    }
    if (content->size() > kMaxFileBytes) {
      return too_large(content->size());
    }
    if (content->find('\0') != std::string::npos) {
      return ToolError{.code = "NOT_TEXT",
                       .message = "the file holds NUL bytes, so it is no text",
                       .hint = "Use shell_exec with a program for its format"};
    }
    return std::move(content).value();
  }

  [[nodiscard]] Outcome<bool> check_precondition(const std::string& before) const {
    if (arguments_.has("if_sha256") &&
        (created_ || sha256_hex(before) != arguments_.text("if_sha256"))) {
      return ToolError{.code = "PRECONDITION_FAILED",
                       .message = created_ ? "there is no such file"
                                           : "the file's sha256 is " + sha256_hex(before) +
                                                 ", not the one in if_sha256",
                       .hint = "Read the file again"};
    }
    return true;
  }

  // Only where the file still is what was read.
  [[nodiscard]] Outcome<bool> write(const BoxPath& path, const std::string& before,
                                    const std::string& after) const {
    WriteRequest request;
    request.data = after;
    request.if_absent = created_;
    if (!created_) {
      request.if_sha256 = sha256_hex(before);
    }
    request.cancelled = [this] { return context_.cancelled(); };
    AB_TRY(outcome, write_file(workspace_, path, request, context_.box().keep_folder));
    context_.facts().bytes_in = outcome.size;
    return true;
  }

  [[nodiscard]] ToolResult reply(const std::string& before, const EditedText& after,
                                 const std::string& name) const {
    const UnifiedDiff diff = unified_diff(before, after.text, quote_name(name), kMaxDiffBytes);
    const bool dry = arguments_.flag("dry_run");
    const std::string hash = sha256_hex(after.text);
    OrderedJson json;
    json["path"] = shown_;
    json["replacements"] = after.replacements;
    json["diff"] = replace_invalid_utf8(diff.text);
    if (diff.truncated) {
      json["diff_truncated"] = true;
    }
    json["sha256"] = hash;
    if (!created_) {
      json["previous_sha256"] = sha256_hex(before);
    }
    json["size"] = after.text.size();
    json["created"] = created_ && !dry;
    json["dry_run"] = dry;
    std::string text = "path: " + shown_ + "\nreplacements: " + std::to_string(after.replacements) +
                       "\nsha256: " + hash + "\nsize: " + std::to_string(after.text.size()) + "\n";
    text += dry ? "dry_run: true (nothing was written)\n" : "";
    text += diff.truncated ? "diff_truncated: true\n" : "";
    text += "--- diff ---\n" + make_visible(diff.text).text;
    return {.texts = {std::move(text)}, .structured = std::move(json), .error = {}};
  }

  const Arguments& arguments_;
  CallContext& context_;
  const Workspace& workspace_;
  std::string shown_;
  bool created_ = false;
};

ToolResult edit_file_handler(const Arguments& arguments, CallContext& context) {
  auto result = Edition(arguments, context).run();
  return result.ok() ? std::move(result).value() : failed(std::move(result).error());
}

}  // namespace

Tool edit_file_tool() {
  Tool tool;
  tool.name = "edit_file";
  tool.title = "Edit a file";
  tool.description =
      "Change parts of one file by exact text: old_string becomes new_string. It must occur "
      "exactly once unless replace_all or expected_count is given; empty, it creates a missing "
      "file. Several edits apply together or not at all. Line ends of the file are kept. Returns "
      "a unified diff.";
  tool.arguments = {file_path_argument()};
  for (Argument& field : edit_fields(false)) {
    tool.arguments.push_back(std::move(field));
  }
  tool.arguments.push_back(
      edits_argument("Several edits, applied in order. Instead of old_string/new_string."));
  tool.arguments.back().min_items = 1;
  tool.arguments.push_back({.name = "if_sha256",
                            .description = "Only if the current content has this hash.",
                            .shape = Shape::kSha256});
  tool.arguments.push_back({.name = "dry_run",
                            .type = ArgumentType::kBoolean,
                            .description = "Show the diff only.",
                            .fallback = false});
  tool.output_schema = kOutputSchema;
  tool.tier = Tier::kCore;
  tool.hints = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false};
  tool.meta = R"({"anthropic/alwaysLoad":true})";
  tool.handler = edit_file_handler;
  return tool;
}

}  // namespace agentbox::mcp
