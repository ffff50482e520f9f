// pure: the command line of agentbox-sshd.
#pragma once

#include <span>
#include <string>
#include <variant>

namespace agentbox::sshd {

struct RunDoor {
  std::string config;
  bool own_host_key = false;  ///< made at the first start, instead of the configuration's
};
/// Only the monitor asks for it.
struct RunListener {
  std::string host_key;  ///< instead of the configuration's; empty: that one
};
struct CheckPolicy {
  std::string config;
  bool json = false;
  bool own_host_key = false;
};
struct CheckHealth {
  std::string address;  ///< HOST:PORT
};
struct SayVersion {};
/// Print TEXT and exit with CODE: help, or what is wrong with the line.
struct Say {
  std::string text;
  int code = 0;
};
using Command = std::variant<RunDoor, RunListener, CheckPolicy, CheckHealth, SayVersion, Say>;

[[nodiscard]] Command parse_command_line(std::span<char* const> arguments);

}  // namespace agentbox::sshd
