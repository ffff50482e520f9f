// pure: which version of a package a dpkg status file says is installed.
#pragma once

#include <string>
#include <string_view>

namespace agentbox::sshd {

/// A machine with thousands of packages has a few MiB.
inline constexpr std::size_t kMaxPackagesBytes = 64U << 20U;

/// Version of the installed PACKAGE in STATUS, the text of /var/lib/dpkg/status (deb822 stanzas,
/// dpkg(1)); empty where it is not installed. A version with anything but the characters of
/// deb-version(7) counts for none.
[[nodiscard]] std::string installed_version(std::string_view status, std::string_view package);

}  // namespace agentbox::sshd
