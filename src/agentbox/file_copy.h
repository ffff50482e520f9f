// edge: a file's content into another file: shared or moved by the kernel where it can, holes kept.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>

namespace agentbox::mcp {

/// Whether the kernel is asked to copy, which old ones and gVisor cannot. A build with
/// AGENTBOX_PORTABLE_ONLY never does.
#ifdef AGENTBOX_PORTABLE_ONLY
inline constexpr bool kKernelCopies = false;
#else
inline constexpr bool kKernelCopies = true;
#endif

/// Told how many bytes more are done; false once the copy shall end.
using CopyWatch = std::function<bool(std::uint64_t)>;

/// Copies the content of the regular file FROM, as long as it is now, into TO, which is empty. With
/// KERNEL_COPIES the kernel is asked to do it, or to let both share their blocks; what it cannot is
/// read and written. 0 or an errno, ECANCELED once WATCH says false, ESTALE where FROM was written
/// meanwhile by more than appending.
[[nodiscard]] int copy_content(int from, int to, bool kernel_copies, const CopyWatch& watch);

}  // namespace agentbox::mcp
