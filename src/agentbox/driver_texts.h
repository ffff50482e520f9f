// pure: the programs of drivers/ as they are given to interpreters; made by the build.
#pragma once

#include <string_view>

namespace agentbox::mcp {

extern const std::string_view kPythonDriver;
extern const std::string_view kNodeDriver;
extern const std::string_view kBashDriver;

}  // namespace agentbox::mcp
