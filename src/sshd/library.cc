// pure: see library.h.
#include "sshd/library.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace agentbox::sshd {
namespace {

using Version = std::array<int, 3>;

constexpr Version kNever = {99, 0, 0};

/// From the releases' own notes (libssh.org) and the changelog of Debian 12's package. A branch
/// without a release that mends it says kNever.
struct Row {
  KnownHole hole;
  Version in_010;  ///< first release of that branch without it
  Version in_011;
  Version in_012;
  int debian12;  ///< N of 0.10.6-0+deb12uN
};
constexpr std::array kRows = {
    Row{{"CVE-2023-48795", "a man in the middle can drop the first messages of a connection"},
        {0, 10, 6},
        {0, 11, 0},
        {0, 12, 0},
        1},
    Row{{"CVE-2023-6918", "an unchecked hash lets wrong keys be derived when memory is short"},
        {0, 10, 6},
        {0, 11, 0},
        {0, 12, 0},
        1},
    Row{{"CVE-2025-4877", "writes past a buffer when much data is turned into base64"},
        kNever,
        {0, 11, 2},
        {0, 12, 0},
        2},
    Row{{"CVE-2025-5351", "frees memory twice when a key is exported and memory is short"},
        kNever,
        {0, 11, 2},
        {0, 12, 0},
        2},
    Row{{"CVE-2025-5372", "a failed key derivation is taken for a good one"},
        kNever,
        {0, 11, 2},
        {0, 12, 0},
        2},
    Row{{"CVE-2025-5987", "a failed set-up of chacha20-poly1305 is taken for a good one"},
        kNever,
        {0, 11, 2},
        {0, 12, 0},
        2},
    Row{{"CVE-2025-8114", "a failed key exchange ends the process"},
        kNever,
        {0, 11, 3},
        {0, 12, 0},
        2},
    Row{{"CVE-2025-8277", "wrong guesses of a key exchange use up memory before the login"},
        kNever,
        {0, 11, 3},
        {0, 12, 0},
        2},
    Row{{"CVE-2026-0966", "writes before a buffer when an empty text is shown as hex"},
        kNever,
        {0, 11, 4},
        {0, 12, 0},
        3},
    Row{{"CVE-2026-0967", "a long pattern uses up processor time"},
        kNever,
        {0, 11, 4},
        {0, 12, 0},
        3},
    Row{{"CVE-2026-59843", "a packet size of zero makes a channel loop for ever"},
        kNever,
        kNever,
        {0, 12, 2},
        3},
    Row{{"CVE-2026-59847", "changed bytes pass under AES-GCM"}, kNever, {0, 11, 5}, {0, 12, 1}, 3},
    Row{{"CVE-2026-59850", "uses freed memory when data comes for a closed channel"},
        kNever,
        {0, 11, 5},
        {0, 12, 1},
        3},
};

std::optional<Version> parse_version(std::string_view text) {
  Version numbers{};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (int& number : numbers) {
    const auto read = std::from_chars(at, end, number);
    if (read.ec != std::errc() || number < 0) {
      return std::nullopt;
    }
    at = read.ptr < end ? read.ptr + 1 : end;
  }
  return numbers;
}

bool is_mended_in(const Row& row, const Version& version) {
  const bool is_010 = version[0] == 0 && version[1] <= 10;
  const bool is_011 = version[0] == 0 && version[1] == 11;
  return version >= (is_010 ? row.in_010 : is_011 ? row.in_011 : row.in_012);
}

// N of Debian 12's package 0.10.6-0+deb12uN; nothing for any other.
std::optional<int> debian12_update(std::string_view package) {
  constexpr std::string_view kPrefix = "0.10.6-0+deb12u";
  if (!package.starts_with(kPrefix)) {
    return std::nullopt;
  }
  int number = 0;
  const char* end = package.data() + package.size();
  const auto read = std::from_chars(package.data() + kPrefix.size(), end, number);
  return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

}  // namespace

bool library_is_too_old(std::string_view version) {
  const auto running = parse_version(version);
  return !running || *running < *parse_version(kLibraryFloor);
}

bool backports_hold(const LibraryFacts& facts) {
  const std::string running =
      facts.package.empty() ? facts.version.substr(0, facts.version.find('/')) : facts.package;
  return !running.empty() && facts.acknowledged == running;
}

std::vector<KnownHole> open_holes(const LibraryFacts& facts) {
  const auto version = parse_version(facts.version);
  std::vector<KnownHole> open;
  if (!version || backports_hold(facts)) {
    return open;
  }
  const auto update = debian12_update(facts.package);
  for (const Row& row : kRows) {
    if (!is_mended_in(row, *version) && !(update && *update >= row.debian12)) {
      open.push_back(row.hole);
    }
  }
  return open;
}

}  // namespace agentbox::sshd
