// pure: the style sheet of the audit's page.
#pragma once

#include <string_view>

namespace agentbox::provision::audit {

/// Dark and light as the reader's system has it; light and without backgrounds on paper. It names
/// no font, image or other thing that would have to be fetched.
[[nodiscard]] std::string_view style_sheet();

}  // namespace agentbox::provision::audit
