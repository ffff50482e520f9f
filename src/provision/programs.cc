// edge: see programs.h.
#include "provision/programs.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/handle.h"
#include "base/random.h"
#include "base/text.h"

namespace agentbox::provision {
namespace {

namespace fs = std::filesystem;

std::string own_folder() {
  std::error_code problem;
  return fs::read_symlink("/proc/self/exe", problem).parent_path().string();
}

Status copy_program(const std::string& from, const std::string& to) {
  const UniqueFd source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!source || ::fstat(source.get(), &info) != 0) {
    return errno_error(from);
  }
  const std::string temporary = to + ".new-" + random_hex(8);
  UniqueFd target(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700));
  if (!target) {
    return errno_error(temporary);
  }
  Status copied;
  for (off_t done = 0; copied.ok() && done < info.st_size;) {
    const ssize_t part = ::sendfile(target.get(), source.get(), nullptr,
                                    static_cast<std::size_t>(info.st_size - done));
    if (part <= 0 && errno != EINTR) {
      copied = part == 0 ? Status{Error{Code::kSystem, from + " became shorter"}} : errno_error(to);
    }
    done += part > 0 ? part : 0;
  }
  if (copied.ok() && ::fchmod(target.get(), 0711) != 0) {
    copied = errno_error(to);
  }
  target.reset();  // a file that is open for writing cannot be executed
  if (copied.ok() && ::rename(temporary.c_str(), to.c_str()) != 0) {
    copied = errno_error(to);
  }
  if (!copied.ok()) {
    ::unlink(temporary.c_str());
  }
  return copied;
}

}  // namespace

Answer<Programs> find_programs(const std::string& chosen) {
  std::string folder = chosen;
  if (const char* value = std::getenv("AGENTBOX_PROGRAMS"); folder.empty() && value != nullptr) {
    folder = value;
  }
  if (folder.empty()) {
    folder = own_folder();
  }
  const Programs programs{folder + "/agentbox-sshd", folder + "/agent-box"};
  for (const std::string& path : {programs.door, programs.box}) {
    if (::access(path.c_str(), R_OK | X_OK) != 0) {
      return failure_of(errno_error(path),
                        "build all programs (scripts/build), or name their folder with --programs");
    }
  }
  return programs;
}

Done install_programs(const Programs& programs, const std::string& folder) {
  const std::string next = "see whether the disk is full";
  AB_CHECK(advise(copy_program(programs.door, folder + "/agentbox-sshd"), next));
  AB_CHECK(advise(copy_program(programs.box, folder + "/agent-box"), next));
  return {};
}

}  // namespace agentbox::provision
