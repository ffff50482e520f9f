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

/// PATH as the value of an OpenSSH option that takes file names: `%` doubled (else it begins a
/// token), quoted where it holds anything that ends a word. PATH has passed check_path().
[[nodiscard]] std::string ssh_quote(std::string_view path);

}  // namespace agentbox::provision
