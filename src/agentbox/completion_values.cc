// edge: the part of completion.h that looks into the box.
#include <algorithm>
#include <iterator>
#include <utility>

#include "agentbox/box.h"
#include "agentbox/completion.h"
#include "agentbox/directory.h"
#include "agentbox/git_names.h"
#include "agentbox/processes.h"
#include "agentbox/resource_uri.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

// Deeper than anybody nests branches.
constexpr std::size_t kRefDepth = 8;
constexpr std::size_t kMaxPackedRefsBytes = 4UL << 20;

// What is in FOLDER and begins with BEGUN, folders with a slash at the end; dotfiles only where
// that is begun.
std::vector<std::string> names_in(const BoxPath& folder, std::string_view begun,
                                  CallContext& context) {
  const auto opened = context.box().workspace->open_folder(folder);
  if (!opened.ok()) {
    return {};
  }
  const Listing listing = list_folder(
      opened->fd,
      {.include_hidden = begun.starts_with('.'),
       .want_info = false,
       .wanted =
           [begun](const Entry& entry) { return std::string_view(entry.path).starts_with(begun); },
       .cancelled = [&context] { return context.cancelled(); }});
  std::vector<std::string> names;
  for (const Entry& entry : listing.entries) {
    names.push_back(entry.path + (entry.is_folder ? "/" : ""));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// "a/b/c" as "a/b/" and "c".
std::pair<std::string_view, std::string_view> split_begun(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos
             ? std::pair<std::string_view, std::string_view>("", path)
             : std::pair(path.substr(0, slash + 1), path.substr(slash + 1));
}

std::vector<std::string> with_prefix(std::string_view prefix, std::vector<std::string> names) {
  for (std::string& name : names) {
    name.insert(0, prefix);
  }
  return names;
}

void sort_unique(std::vector<std::string>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

std::vector<std::string> loose_refs(CallContext& context) {
  std::vector<std::string> names;
  for (const char* const root : {"refs/heads", "refs/tags", "refs/remotes"}) {
    const auto folder =
        context.box().workspace->open_folder({.relative = ".git/" + std::string(root)});
    if (!folder.ok()) {
      continue;
    }
    const Listing listing =
        list_folder(folder->fd, {.depth = kRefDepth,
                                 .max_visited = kMaxGitNames,
                                 .wanted = [](const Entry& entry) { return !entry.is_folder; },
                                 .cancelled = [&context] { return context.cancelled(); }});
    for (const Entry& entry : listing.entries) {
      names.push_back(std::string(root) + "/" + entry.path);
    }
  }
  return names;
}

std::vector<std::string> packed_refs(CallContext& context) {
  const auto file = context.box().workspace->open_file({.relative = ".git/packed-refs"});
  const auto text = file.ok() ? read_fd_capped(file->fd.get(), kMaxPackedRefsBytes)
                              : Result<std::string>(Error{Code::kNotFound, ""});
  return text.ok() ? read_packed_refs(*text) : std::vector<std::string>();
}

}  // namespace

std::vector<std::string> complete_path(std::string_view begun, CallContext& context) {
  const auto [folder, last] = split_begun(begun);
  const auto path = context.box().workspace->parse(folder.empty() ? "." : folder);
  if (!path.ok()) {
    return {};
  }
  auto names = names_in(*path, last, context);
  // What would have to be quoted is left out: nobody completes it by typing.
  std::erase_if(names, [](const std::string& name) { return quote_name(name) != name; });
  return with_prefix(folder, std::move(names));
}

std::vector<std::string> complete_file_uri(std::string_view begun, CallContext& context) {
  const Workspace& workspace = *context.box().workspace;
  const auto bytes = decode_percent(begun);
  if (!bytes.ok() || bytes->starts_with('/')) {
    return {};
  }
  const std::string path = "/" + *bytes;
  std::string root = workspace.names().workspace.front();
  root += root.ends_with('/') ? "" : "/";
  if (root.size() > path.size() && root.starts_with(path)) {
    return {encode_percent(root.substr(1))};
  }
  const auto [folder, last] = split_begun(path);
  // The name of the folder must be a URI's, with nothing that leads elsewhere.
  const auto uri = parse_resource_uri(file_uri(folder));
  const auto parsed = uri.ok() ? workspace.parse(uri->path)
                               : Outcome<BoxPath>(ToolError{.code = "ESCAPE", .message = ""});
  if (!parsed.ok()) {
    return {};
  }
  auto values = with_prefix(folder.substr(1), names_in(*parsed, last, context));
  for (std::string& value : values) {
    value = encode_percent(value);
  }
  return values;
}

std::vector<std::string> complete_process(std::string_view begun, CallContext& context) {
  std::vector<std::string> values;
  for (const JobRecord& record : Processes(context.box()).list()) {
    for (const std::string& name : {record.name, record.id}) {
      if (std::string_view(name).starts_with(begun)) {
        values.push_back(name);
      }
    }
  }
  sort_unique(values);
  return values;
}

std::vector<std::string> complete_revision(std::string_view begun, CallContext& context) {
  std::vector<std::string> values = {"HEAD"};
  auto refs = loose_refs(context);
  auto packed = packed_refs(context);
  std::move(packed.begin(), packed.end(), std::back_inserter(refs));
  for (const std::string& ref : refs) {
    if (std::string name = short_ref_name(ref); !name.empty()) {
      values.push_back(std::move(name));
    }
  }
  std::erase_if(values, [begun](const std::string& value) {
    return !std::string_view(value).starts_with(begun);
  });
  sort_unique(values);
  return values;
}

}  // namespace agentbox::mcp
