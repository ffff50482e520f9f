// edge: see audit_head.h.
#include "provision/audit_head.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/handle.h"

namespace agentbox::provision {

Result<AuditHead> read_audit_head(const std::string& state_folder) {
  constexpr std::size_t kMaxHeadBytes = 256;
  const std::string path = state_folder + "/audit_head";
  // The folder is the door's user's: what lies there may be anything.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) {
    return errno_error(path);
  }
  if (!S_ISREG(info.st_mode)) {
    return Error{Code::kInvalid, path + ": not a regular file"};
  }
  AB_TRY(text, read_fd_capped(fd.get(), kMaxHeadBytes));
  if (text.empty()) {
    return AuditHead{};  // made, and nothing counted yet
  }
  auto head = parse_head(text);
  return head.ok() ? std::move(head) : std::move(head).error().in(path);
}

}  // namespace agentbox::provision
