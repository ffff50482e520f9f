// edge: see account.h.
#include "provision/account.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

namespace agentbox::provision {
namespace {

std::optional<SpawnPlan::Identity> find_user(const char* name) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> buffer{};
  if (::getpwnam_r(name, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return std::nullopt;
  }
  return SpawnPlan::Identity{entry.pw_uid, entry.pw_gid};
}

struct Want {
  std::string path;
  int mode = 0;
};

// Every folder on the way to PATH, which must be entered, and PATH itself.
std::vector<Want> way_to(const std::string& path, int mode) {
  std::vector<Want> way;
  for (auto slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    way.push_back({path.substr(0, slash), X_OK});
  }
  way.push_back({path, mode});
  return way;
}

// Number of the first thing in WAY that cannot be had, or -1.
int first_closed(const std::vector<Want>& way) {
  for (std::size_t i = 0; i < way.size(); ++i) {
    if (::faccessat(AT_FDCWD, way[i].path.c_str(), way[i].mode, AT_EACCESS) != 0) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

// first_closed() as WHO: the kernel is asked, in a child that has become WHO.
Result<int> first_closed_for(const SpawnPlan::Identity& who, const std::vector<Want>& way) {
  constexpr int kAllOpen = 255;
  constexpr int kCannotBecome = 254;
  const pid_t pid = ::fork();
  if (pid < 0) {
    return errno_error("fork");
  }
  if (pid == 0) {
    const bool became = ::setgroups(0, nullptr) == 0 &&
                        ::setresgid(who.gid, who.gid, who.gid) == 0 &&
                        ::setresuid(who.uid, who.uid, who.uid) == 0;
    const int closed = became ? first_closed(way) : kCannotBecome;
    ::_exit(closed < 0 ? kAllOpen : std::min(closed, kCannotBecome));
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) == kCannotBecome) {
    return Error{Code::kSystem, "cannot become uid " + std::to_string(who.uid)};
  }
  return WEXITSTATUS(status) == kAllOpen ? -1 : WEXITSTATUS(status);
}

}  // namespace

Answer<Accounts> find_accounts() {
  if (::geteuid() != 0) {
    const SpawnPlan::Identity self{::geteuid(), ::getegid()};
    return Accounts{self, self, false};
  }
  const auto door = find_user(kDoorUser);
  const auto box = find_user(kBoxUser);
  if (!door || !box) {
    const std::string missing = door ? kBoxUser : kDoorUser;
    return Failure{Exit::kRefused,
                   "as root the two sides of a box run as the system users " +
                       std::string(kDoorUser) + " and " + kBoxUser + "; " + missing +
                       " does not exist",
                   "scripts/quickstart makes them; by hand: useradd --system --user-group "
                   "--no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin " +
                       missing};
  }
  if (door->uid == box->uid || door->uid == 0 || box->uid == 0) {
    return Failure{
        Exit::kRefused,
        std::string(kDoorUser) + " and " + kBoxUser + " must be two users, neither of them root",
        "give them uids of their own"};
  }
  return Accounts{*door, *box, true};
}

Status can_reach(const SpawnPlan::Identity& who, bool separate, const std::string& path, int mode) {
  const auto way = way_to(path, mode);
  Result<int> closed = separate ? first_closed_for(who, way) : Result<int>(first_closed(way));
  if (!closed.ok()) {
    return std::move(closed).error();
  }
  if (*closed < 0) {
    return {};
  }
  const Want& stop = way[static_cast<std::size_t>(*closed)];
  return Error{Code::kDenied, "uid " + std::to_string(who.uid) + " cannot " +
                                  (stop.mode == X_OK ? "enter " : "work in ") + stop.path};
}

}  // namespace agentbox::provision
