// pure: quoting for the places a path or word is pasted into.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace agentbox::provision {

/// WORD as one word of a POSIX shell.
[[nodiscard]] std::string shell_quote(std::string_view word);
/// WORDS as one command line.
[[nodiscard]] std::string shell_line(const std::vector<std::string>& words);

/// WORDS as a command line that every shell takes apart alike, be it of the Bourne family, fish or
/// csh: ssh runs a ProxyCommand with the user's own. No word holds a control character.
[[nodiscard]] std::string any_shell_line(const std::vector<std::string>& words);
/// COMMAND as the value of ssh's ProxyCommand, in which `%` begins a token.
[[nodiscard]] std::string proxy_command(const std::vector<std::string>& words);

/// PATH as the value of an OpenSSH option that takes file names: `%` doubled (else it begins a
/// token), quoted where it holds anything that ends a word. PATH has passed check_path().
[[nodiscard]] std::string ssh_quote(std::string_view path);

}  // namespace agentbox::provision
