// edge: see own_host_key.h.
#include "sshd/own_host_key.h"

#include <sys/stat.h>

#include <cerrno>
#include <optional>
#include <string>

#include "base/handle.h"
#include "base/log.h"
#include "base/ssh_key.h"
#include "sshd/key_store.h"
#include "sshd/state_folder.h"

namespace agentbox::sshd {
namespace {

constexpr unsigned kMode = 0600;
constexpr std::size_t kMaxOwnerBytes = 1024;

std::string owner_path(const Config& config) { return config.state_dir + "/host_key_owner"; }

// Whose key lies in the state folder; nothing where nobody has put one there.
Result<std::optional<std::string>> read_owner(const std::string& path) {
  auto text = read_file_capped(path, kMaxOwnerBytes);
  if (text.ok()) {
    return std::optional<std::string>(std::move(text).value());
  }
  return text.error().os_errno == ENOENT ? Result<std::optional<std::string>>(std::nullopt)
                                         : std::move(text).error();
}

Result<bool> is_there(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0) {
    return true;
  }
  return errno == ENOENT ? Result<bool>(false) : errno_error(path);
}

}  // namespace

Status settle_own_host_key(const Config& config) {
  AB_TRY(name, read_own_name(config.keys_dir, config.keys_trust));
  const std::string own = name + "\n";
  AB_TRY(owner, read_owner(owner_path(config)));
  AB_TRY(there, is_there(config.host_key));
  if (there && owner == own) {
    return {};
  }
  AB_TRY(pair, generate_ed25519());
  // Whoever is cut short here begins anew: a key counts only once its owner's name lies beside it.
  AB_CHECK(replace_file(config.host_key, pair.private_key.reveal(), kMode));
  const bool was_anothers = owner && *owner != own;
  if (was_anothers) {
    AB_CHECK(forget_generation(config.state_dir));
  }
  AB_CHECK(replace_file(owner_path(config), own, kMode));
  const char* why = was_anothers ? "the state folder was another box's"
                    : owner      ? "the old one was gone: clients that have it pinned are refused"
                                 : "first start";
  log::info("a host key was made",
            {{"why", why}, {"box", name}, {"host_key", pair.public_key.fingerprint()}});
  return {};
}

}  // namespace agentbox::sshd
