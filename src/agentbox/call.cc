// edge: see call.h.
#include "agentbox/call.h"

#include <sys/eventfd.h>

namespace agentbox::mcp {

Result<CancelSignal> CancelSignal::create() {
  UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) {
    return errno_error("eventfd for a tool call");
  }
  return CancelSignal(std::move(event));
}

void CancelSignal::raise() {
  if (raised_.exchange(true, std::memory_order_acq_rel)) {
    return;
  }
  // Can't fail: the counter of a fresh eventfd has room, and nobody reads it.
  static_cast<void>(::eventfd_write(event_.get(), 1));
}

}  // namespace agentbox::mcp
