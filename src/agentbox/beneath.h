// edge: opens paths beneath one folder, whatever links say: what is checked is what is opened.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/handle.h"
#include "base/result.h"

namespace agentbox::mcp {

/// Kernel calls that older kernels and gVisor lack; each has a fall-back that the same tests run.
/// A build with AGENTBOX_PORTABLE_ONLY uses none of them.
struct KernelFeatures {
  bool openat2 = false;
  bool unnamed_files = false;  ///< O_TMPFILE in the probed folder, and linking it in
  bool inotify = false;        ///< the kernel's notice of changes; only ever a hint

  /// What works here and now, in the folder FOLDER.
  [[nodiscard]] static KernelFeatures probe(int folder);
};

/// A folder and the promise that nothing outside it is ever opened through it.
class Beneath {
 public:
  /// NAMES: the absolute names the folder goes by; links whose absolute target starts with one of
  /// them are followed from FOLDER.
  Beneath(UniqueFd folder, std::vector<std::string> names, bool use_openat2)
      : folder_(std::move(folder)), names_(std::move(names)), use_openat2_(use_openat2) {}

  /// Opens RELATIVE with FLAGS (O_CLOEXEC is added; O_CREAT is not for here). Links are followed as
  /// long as they stay beneath, the last one unless O_NOFOLLOW is given. Errors carry the errno;
  /// EXDEV: the path leaves the folder.
  [[nodiscard]] Result<UniqueFd> open(std::string_view relative, int flags) const;

  [[nodiscard]] int folder() const { return folder_.get(); }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  UniqueFd folder_;
  std::vector<std::string> names_;
  bool use_openat2_;
};

/// The target of the link that LINK (an O_PATH descriptor of it) is.
[[nodiscard]] Result<std::string> read_link(int link);

/// Links on one path; as in Linux.
inline constexpr int kMaxLinks = 40;

}  // namespace agentbox::mcp
