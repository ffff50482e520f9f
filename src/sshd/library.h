// pure: which known holes the SSH library that runs has, and who says that one was mended.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace agentbox::sshd {

/// Older than this there is no list of holes: the door was never tried with it.
inline constexpr std::string_view kLibraryFloor = "0.10.6";

/// The library as it runs, and the package it came in.
struct LibraryFacts {
  std::string version;       ///< `0.10.6/openssl/zlib`
  std::string package;       ///< `0.10.6-0+deb12u3`; empty where it came in none, or nobody knows
  std::string acknowledged;  ///< libssh_backports_acknowledged of the configuration
};

/// One hole that a server without SFTP and GSSAPI can have, and where it was mended.
struct KnownHole {
  std::string_view cve;
  std::string_view what;
};

/// Whether VERSION (what follows a third number is left out) is older than the floor.
[[nodiscard]] bool library_is_too_old(std::string_view version);

/// Whether the operator has acknowledged the fixes of exactly what runs: the package's version, or
/// the library's own where it came in no package. An update asks again.
[[nodiscard]] bool backports_hold(const LibraryFacts& facts);

/// The holes that are open as far as versions tell: not mended in this release, nor in the
/// distribution's package as far as it is known here, nor acknowledged.
[[nodiscard]] std::vector<KnownHole> open_holes(const LibraryFacts& facts);

}  // namespace agentbox::sshd
