// edge: see resource_list.h.
#include "agentbox/resource_list.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "agentbox/box.h"
#include "agentbox/directory.h"
#include "agentbox/process_words.h"
#include "agentbox/processes.h"
#include "agentbox/resource_reader.h"
#include "agentbox/resource_uri.h"
#include "agentbox/timestamps.h"

namespace agentbox::mcp {
namespace {

// The first letter of a key: in which order the kinds come.
constexpr std::string_view kFixedKey = "1";
constexpr std::string_view kProcessKey = "2";
constexpr std::string_view kFileKey = "3";

void add_fixed(std::vector<ResourceItem>& items, Role role) {
  const auto add = [&](std::string_view uri, std::string name, std::string title,
                       std::string description, std::string mime) {
    items.push_back({.key = std::string(kFixedKey) + std::string(uri),
                     .uri = std::string(uri),
                     .name = std::move(name),
                     .title = std::move(title),
                     .description = std::move(description),
                     .mime_type = std::move(mime)});
  };
  add(kStatusUri, "status", "Status of the box",
      "Health, uptime, counts of calls and processes, versions, conformance.", "application/json");
  add(kMetadataUri, "metadata", "Sandbox metadata", "The SANDBOX_* variables.", "application/json");
  if (may_see_audit(role)) {
    add(kAuditUri, "audit", "Recent calls",
        "The last calls of this session as the audit has them: no arguments, no contents.",
        "application/json");
  }
  add(kCiContextUri, "ci-context", "CI run",
      "What is known of the failed CI run that this box was kept for; available: false elsewhere.",
      "application/json");
  add(kCiPromptUri, "ci-prompt", "How to work on a failed CI run", "A short playbook.",
      "text/markdown");
}

// The newest first, and in an order that stays while others come and go.
std::string process_key(const JobRecord& record) {
  const std::string age =
      std::to_string(std::numeric_limits<std::int64_t>::max() - record.started_ms);
  return std::string(kProcessKey) + std::string(20 - std::min<std::size_t>(20, age.size()), '0') +
         age + record.id;
}

void add_processes(std::vector<ResourceItem>& items, CallContext& context) {
  for (const JobRecord& record : Processes(context.box()).list()) {
    if (record.status != JobStatus::kRunning) {
      continue;
    }
    items.push_back({.key = process_key(record),
                     .uri = process_uri(record.id),
                     .name = record.name,
                     .title = "Process " + record.name,
                     .description = "Its state; " + output_uri(record.id) + " is its output.",
                     .mime_type = "application/json",
                     .changed = started_text(record)});
  }
}

void add_files(std::vector<ResourceItem>& items, CallContext& context) {
  const Workspace& workspace = *context.box().workspace;
  const auto folder = workspace.open_folder({});
  if (!folder.ok()) {
    return;
  }
  std::string prefix = workspace.names().workspace.front();
  prefix += prefix.ends_with('/') ? "" : "/";
  const Listing listing = list_folder(
      folder->fd, {.wanted =
                       [](const Entry& entry) {
                         return S_ISREG(entry.info.st_mode) || S_ISDIR(entry.info.st_mode);
                       },
                   .cancelled = [&context] { return context.cancelled(); }});
  for (const Entry& entry : listing.entries) {
    ResourceItem item{.key = std::string(kFileKey) + entry.path,
                      .uri = file_uri(prefix + entry.path),
                      .name = quote_name(entry.path),
                      .title = quote_name(entry.path),
                      .changed = timestamp_seconds(entry.info.st_mtim.tv_sec)};
    if (S_ISDIR(entry.info.st_mode)) {
      item.mime_type = "inode/directory";
    } else {
      item.size = static_cast<std::uint64_t>(entry.info.st_size);
    }
    items.push_back(std::move(item));
  }
}

}  // namespace

ResourcePage list_resources(Role role, std::string_view after, CallContext& context) {
  ResourcePage page;
  add_fixed(page.items, role);
  add_processes(page.items, context);
  add_files(page.items, context);
  std::erase_if(page.items, [after](const ResourceItem& item) { return item.key <= after; });
  std::sort(page.items.begin(), page.items.end(),
            [](const ResourceItem& a, const ResourceItem& b) { return a.key < b.key; });
  if (page.items.size() > kResourcePageItems) {
    page.items.resize(kResourcePageItems);
    page.next = page.items.back().key;
  }
  return page;
}

}  // namespace agentbox::mcp
