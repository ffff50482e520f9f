// pure: what a program says of itself: its version, and the libraries that it runs with.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace agentbox {

/// What the door of a library tells of it.
struct LibraryVersion {
  std::string name;
  std::string built;    ///< of the headers that the program was compiled with
  std::string running;  ///< of the code that runs: a fix of the distribution's arrives here
};

/// The first line is `PROGRAM VERSION`. Then one line for each library, `NAME RUNNING`, with what
/// it was compiled with where that differs, and a last one where a defence is left out.
[[nodiscard]] std::string version_text(std::string_view program, std::string_view version,
                                       std::span<const LibraryVersion> libraries);

/// The defence of base/defence.h that this build leaves out; empty in every build that is used.
[[nodiscard]] std::string_view left_out();

/// The C library's; a static program has it within.
[[nodiscard]] LibraryVersion c_library();
/// Told by the doors of the two, text.cc and ssh_key.cc; a program asks only for what it links.
[[nodiscard]] LibraryVersion crypto_library();
[[nodiscard]] LibraryVersion ssh_library();

}  // namespace agentbox
