// edge: see terminal.h.
#include "agentbox/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace agentbox::mcp {

Result<FdPair> make_terminal(std::uint32_t columns, std::uint32_t rows) {
  UniqueFd ours(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!ours.valid() || ::grantpt(ours.get()) != 0 || ::unlockpt(ours.get()) != 0) {
    return errno_error("make a terminal");
  }
  // Not by its name, which another mount of /dev/pts may give to another terminal.
  UniqueFd theirs(::ioctl(ours.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!theirs.valid()) {  // older kernels and gVisor know the name alone
    std::array<char, 64> name{};
    if (::ptsname_r(ours.get(), name.data(), name.size()) == 0) {
      theirs.reset(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
    }
  }
  if (!theirs.valid()) {
    return errno_error("open the terminal");
  }
  AB_CHECK(resize_terminal(ours.get(), columns, rows));
  AB_CHECK(set_nonblocking(ours.get(), true));
  return FdPair{std::move(ours), std::move(theirs)};
}

Status resize_terminal(int terminal, std::uint32_t columns, std::uint32_t rows) {
  winsize size{};
  size.ws_col = static_cast<unsigned short>(columns);
  size.ws_row = static_cast<unsigned short>(rows);
  return ::ioctl(terminal, TIOCSWINSZ, &size) == 0 ? Status() : errno_error("resize");
}

}  // namespace agentbox::mcp
