// edge: see file_kind.h.
#include "agentbox/file_kind.h"

#include <sys/stat.h>

#include <array>
#include <cstdio>

namespace agentbox::mcp {

FileKind kind_of_file(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return {"file", 'f'};
    case S_IFDIR:
      return {"directory", 'd'};
    case S_IFLNK:
      return {"symlink", 'l'};
    case S_IFIFO:
      return {"fifo", 'p'};
    case S_IFSOCK:
      return {"socket", 's'};
    case S_IFBLK:
      return {"block", 'b'};
    case S_IFCHR:
      return {"char", 'c'};
    default:
      return {"unknown", '?'};
  }
}

std::string octal_mode(mode_t mode) {
  std::array<char, 16> text{};
  (void)std::snprintf(text.data(), text.size(), "%04o", static_cast<unsigned>(mode & 07777U));
  return text.data();
}

}  // namespace agentbox::mcp
