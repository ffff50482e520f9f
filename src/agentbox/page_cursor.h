// pure: the cursors of paged lists.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace agentbox::mcp {

/// A cursor that tells after which KEY (bytes) of the list LIST the next page begins: so pages stay
/// right while items come and go between them. Never empty.
[[nodiscard]] std::string make_page_cursor(std::string_view list, std::string_view key);

/// The key in a cursor that make_page_cursor() gave for LIST; nothing for any other text. It holds
/// nothing that a caller could not ask for anyway: the check finds mistakes, not forgers.
[[nodiscard]] std::optional<std::string> read_page_cursor(std::string_view list,
                                                          std::string_view cursor);

}  // namespace agentbox::mcp
