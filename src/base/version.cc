// pure: see version.h.
#include "base/version.h"

#include <gnu/libc-version.h>

#include "base/defence.h"

namespace agentbox {

std::string version_text(std::string_view program, std::string_view version,
                         std::span<const LibraryVersion> libraries) {
  std::string text = std::string(program) + ' ' + std::string(version) + '\n';
  for (const LibraryVersion& library : libraries) {
    text += library.name + ' ' + library.running;
    text += library.built == library.running ? "\n" : " (compiled with " + library.built + ")\n";
  }
  if (!left_out().empty()) {
    text += "WITHOUT " + std::string(left_out()) + ": a build for tests, not for use\n";
  }
  return text;
}

std::string_view left_out() { return kLeftOut; }

LibraryVersion c_library() {
  return {"glibc", std::to_string(__GLIBC__) + '.' + std::to_string(__GLIBC_MINOR__),
          ::gnu_get_libc_version()};
}

}  // namespace agentbox
