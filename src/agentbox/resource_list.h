// edge: which resources there are, page by page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentbox/call.h"
#include "agentbox/settings.h"

namespace agentbox::mcp {

/// Resources on one page: several clients read only the first.
inline constexpr std::size_t kResourcePageItems = 500;

struct ResourceItem {
  std::string key;  ///< where it stands in the list
  std::string uri;
  std::string name;
  std::string title;
  std::string description = {};
  std::string mime_type = {};               ///< empty: not known
  std::optional<std::uint64_t> size = {};   ///< in bytes
  std::optional<std::string> changed = {};  ///< RFC 3339
};

struct ResourcePage {
  std::vector<ResourceItem> items;
  std::string next;  ///< the key that the next page begins after; empty: none
};

/// What ROLE may see, behind the key AFTER: the fixed ones, those of live processes, the files and
/// folders of the workspace.
[[nodiscard]] ResourcePage list_resources(Role role, std::string_view after, CallContext& context);

}  // namespace agentbox::mcp
