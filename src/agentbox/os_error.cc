// pure: see os_error.h.
#include "agentbox/os_error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace agentbox::mcp {
namespace {

struct Known {
  int number;
  std::string_view name;
  std::string_view hint;
};

constexpr std::array kKnown{
    Known{ENOENT, "ENOENT", "Check the spelling, or list the parent folder with list_directory"},
    Known{EEXIST, "EEXIST", ""},
    Known{EISDIR, "EISDIR", "It is a folder: use list_directory, or name a file in it"},
    Known{ENOTDIR, "ENOTDIR", "A part of the path is no folder"},
    Known{ENOTEMPTY, "NOT_EMPTY", ""},
    Known{ELOOP, "ELOOP", "The path goes through a link that leads nowhere but round"},
    Known{EACCES, "EACCES", "The permission bits forbid it; shell_exec can show them with ls -l"},
    Known{EPERM, "EPERM", "The file or folder belongs to somebody else or is immutable"},
    Known{EROFS, "EROFS", "This part of the workspace is mounted read-only"},
    Known{ENOSPC, "ENOSPC", "The disk is full and nothing was changed: free space and try again"},
    Known{EDQUOT, "QUOTA",
          "The disk quota is used up and nothing was changed: free space and try again"},
    Known{EFBIG, "TOO_LARGE", ""},
    Known{EBUSY, "EBUSY", "Something else is using it"},
    Known{ETXTBSY, "EBUSY", "It is a running program: stop it first"},
    Known{ESTALE, "CONFLICT", "It was written meanwhile: try again when nobody writes it"},
    Known{ENAMETOOLONG, "ENAMETOOLONG", "One name may have 255 bytes, a path 4096"},
    Known{EXDEV, "ESCAPE",
          "Links out of the workspace are not followed; shell_exec reaches other files"},
    Known{EMFILE, "RATE_LIMITED",
          "Too many files are open at once: try again when other calls have ended"},
    Known{ENFILE, "RATE_LIMITED",
          "Too many files are open at once: try again when other calls have ended"},
};

const Known* find_known(int number) {
  const auto* found = std::find_if(kKnown.begin(), kKnown.end(),
                                   [number](const Known& known) { return known.number == number; });
  return found == kKnown.end() ? nullptr : found;
}

}  // namespace

std::string_view error_code_name(int number) {
  const Known* known = find_known(number);
  return known == nullptr ? "EIO" : known->name;
}

ToolError os_error(std::string_view doing, std::string_view path, int number) {
  const Known* known = find_known(number);
  std::string why =
      number == EXDEV ? "the path leaves the workspace" : std::generic_category().message(number);
  return {.code = std::string(error_code_name(number)),
          .message = std::string(doing) + " " + std::string(path) + ": " + std::move(why),
          .hint = known == nullptr ? "" : std::string(known->hint),
          .path = std::string(path)};
}

ToolError replace_error(std::string_view doing, std::string_view path, int number) {
  // A folder that is not empty may be told either way.
  ToolError error = os_error(doing, path, number == EEXIST ? ENOTEMPTY : number);
  if (number == EISDIR) {
    error.hint = "The destination is a folder: name the file in it";
  } else if (number == ENOTDIR) {
    error.hint = "The destination is a file, and a folder does not replace a file";
  } else if (number == ENOTEMPTY || number == EEXIST) {
    error.hint = "Folders are not merged: choose a name that is free";
  } else if (number == EBUSY) {
    error.hint = "Something is mounted there, or it is in use";
  }
  return error;
}

ToolError os_error(std::string_view path, const Error& error) {
  if (error.os_errno == 0) {
    return {.code = "INTERNAL", .message = error.what, .path = std::string(path)};
  }
  ToolError result = os_error("open", path, error.os_errno);
  if (error.os_errno != EXDEV) {
    result.message = std::string(path) + ": " + error.what;
  }
  return result;
}

ToolError spawn_failed(std::string_view program, int number) {
  std::string hint;
  std::string_view before;
  if (number == ENOENT && program == "sh") {
    // An image without a distribution: another shell is not there either.
    before = "there is no shell in this box: ";
    hint =
        "Give the program as command and its words as args, which needs no shell; nor do the "
        "tools for files";
  } else if (number == ENOENT || number == EACCES) {
    hint = "Check that the program is installed and executable, or use shell \"sh\"";
  } else if (number == E2BIG) {
    hint =
        "Command and environment are too long together: write a script with write_file and run it";
  } else if (number == EAGAIN || number == ENOMEM) {
    hint = "The box has too many processes or too little memory: end some and try again";
  } else if (number == ENOSPC || number == EDQUOT) {
    hint = "The disk for the output of commands is full: free space and try again";
  }
  return {.code = "SPAWN_FAILED",
          .message = std::string(before) + std::string(program) +
                     " could not be started: " + std::generic_category().message(number),
          .hint = std::move(hint)};
}

}  // namespace agentbox::mcp
