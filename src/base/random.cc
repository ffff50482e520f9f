// edge: see random.h.
#include "base/random.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdlib>

#include "base/text.h"

namespace agentbox {

std::string random_hex(std::size_t bytes) {
  std::string raw(bytes, '\0');
  std::size_t got = 0;
  while (got < bytes) {
    const ssize_t more = ::getrandom(raw.data() + got, bytes - got, 0);
    if (more < 0 && errno != EINTR) {
      std::abort();  // a predictable name or id would be worse than no program
    }
    got += more > 0 ? static_cast<std::size_t>(more) : 0;
  }
  return to_hex(raw);
}

}  // namespace agentbox
