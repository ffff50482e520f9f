// edge: see keys.h.
#include "provision/keys.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/handle.h"
#include "base/random.h"
#include "base/text.h"
#include "provision/state.h"

namespace agentbox::provision {
namespace {

namespace fs = std::filesystem;

/// Ten thousand lines with long ids: more than the door reads.
constexpr std::size_t kMaxRevokedBytes = 8U << 20U;

Failure private_key_given(const std::string& file, bool with_identity) {
  return Failure{Exit::kRefused, file + " holds a private key; nothing was done with it",
                 with_identity
                     ? "give the public half with --key (FILE.pub), or the private key with "
                       "--identity if the client shall use it"
                     : "give its public half: " + file + ".pub, where ssh-keygen wrote it"};
}

// Root's keys are read by the door's user, a user's by that user alone; none of this is secret.
mode_t public_mode() { return ::geteuid() == 0 ? 0644 : 0600; }

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) {
      line.remove_suffix(1);
    }
    if (!line.empty() && line.front() != '#') {
      lines.push_back(line);
    }
  }
  return lines;
}

Result<std::string> absolute_path(const std::string& file) {
  std::error_code problem;
  const std::string path = fs::absolute(file, problem).lexically_normal().string();
  AB_CHECK(check_path(path));
  return path;
}

// Creates PATH with MODE and OWNER under its final name in one step; Code::kExists where it is
// there.
Status create_file(const std::string& path, std::string_view data, mode_t mode,
                   const SpawnPlan::Identity& owner) {
  const std::string temporary = path + ".new-" + random_hex(8);
  UniqueFd fd(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) {
    return errno_error(temporary);
  }
  Status written = write_all(fd.get(), data);
  if (written.ok() &&
      (::fchown(fd.get(), owner.uid, owner.gid) != 0 || ::fchmod(fd.get(), mode) != 0 ||
       ::fsync(fd.get()) != 0 || ::link(temporary.c_str(), path.c_str()) != 0)) {
    written = errno_error(path);
  }
  ::unlink(temporary.c_str());
  return written;
}

std::string authorized_keys_text(const std::vector<NamedKey>& keys) {
  std::string text;
  for (const NamedKey& entry : keys) {
    text += key_line(entry) + "\n";
  }
  return text;
}

std::string revoked_text(const BoxRecord& record) {
  std::string text;
  for (const NamedKey& entry : record.revoked) {
    text += entry.key.fingerprint() + "\n";
  }
  for (const std::string& print : record.revoked_prints) {
    text += print + "\n";
  }
  for (const std::uint64_t serial : record.revoked_serials) {
    text += revoked_line(serial) + "\n";
  }
  return text;
}

// Lines that somebody wrote by hand stay, `id:...` among them: what was locked out stays out, and
// the record does not know of it.
Result<std::string> with_lines_by_hand(std::string text, const std::string& file) {
  auto existing = read_file_capped(file, kMaxRevokedBytes);
  if (!existing.ok()) {
    return existing.error().code == Code::kNotFound ? Result<std::string>(std::move(text))
                                                    : Result<std::string>(existing.error());
  }
  constexpr std::string_view kBom = "\xef\xbb\xbf";  // the door skips it, but only at the start
  std::string_view by_hand = *existing;
  by_hand.remove_prefix(by_hand.starts_with(kBom) ? kBom.size() : 0);
  const auto known = lines_of(text);
  std::string kept;
  for (const std::string_view line : lines_of(by_hand)) {
    if (std::find(known.begin(), known.end(), line) == known.end()) {
      kept.append(line).append("\n");
    }
  }
  return text + kept;
}

Status link_into_data(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name;
  if (::symlink(("..data/" + name).c_str(), path.c_str()) != 0 && errno != EEXIST) {
    return errno_error(path);
  }
  return {};
}

// Removes folders of earlier generations; KEEP is the one in use.
void remove_old_data(const std::string& folder, const std::string& keep) {
  std::error_code problem;
  for (fs::directory_iterator it(folder, problem), end; !problem && it != end;
       it.increment(problem)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with("..20") && name != keep) {
      std::error_code ignored;
      fs::remove_all(it->path(), ignored);
    }
  }
}

}  // namespace

Answer<std::vector<NamedKey>> read_public_keys(const std::string& file, bool with_identity) {
  auto text = read_file_capped(file, kMaxKeyFileBytes);
  if (!text.ok()) {
    Failure failure =
        failure_of(std::move(text).error(), "name a file with a public key (FILE.pub)");
    return failure;
  }
  if (looks_like_private_key(*text)) {
    return private_key_given(file, with_identity);
  }
  std::vector<NamedKey> keys;
  for (const std::string_view line : lines_of(*text)) {
    auto entry = parse_key_line(line);
    if (!entry.ok()) {
      return Failure{
          Exit::kRefused, file + ": " + entry.error().what,
          "each line must be TYPE BASE64 [comment] with a key that may be used here; the "
          "one option that may stand before it is agentbox-role=\"...\""};
    }
    keys.push_back(std::move(entry).value());
  }
  if (keys.empty()) {
    return Failure{Exit::kRefused, file + " holds no key",
                   "name a file with a public key (FILE.pub)"};
  }
  return keys;
}

Answer<std::vector<NamedKey>> read_authorities(const std::string& file) {
  AB_TRY(keys, read_public_keys(file));
  const auto has_role = [](const NamedKey& entry) { return entry.role != Role::kAgent; };
  if (std::any_of(keys.begin(), keys.end(), has_role)) {
    return Failure{Exit::kRefused,
                   file + " gives a CA a role; the certificates that it signs are agents",
                   "list a key of another role with --key"};
  }
  return keys;
}

Answer<Identity> read_identity(const std::string& file) {
  AB_TRY(path, advise(absolute_path(file), "move the key to another path"));
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    return failure_of(errno_error(path), "name the private key that the client uses");
  }
  if (const auto text = read_file_capped(path, kMaxKeyFileBytes);
      text.ok() && PublicKey::parse(*text).ok()) {
    return Failure{Exit::kRefused, path + " holds a public key; --identity wants the private one",
                   "name the file beside it without .pub, or give this one with --key"};
  }
  if ((info.st_mode & 077U) != 0) {
    return Failure{Exit::kRefused, path + " can be read by others, so ssh will not use it",
                   "chmod 600 " + path};
  }
  AB_TRY(secret, advise(read_private_key(path), "name the private key that the client uses"));
  auto key = public_half(secret);
  if (!key.ok()) {
    return Failure{Exit::kRefused, path + ": " + key.error().what,
                   "name a private key without passphrase; nobody is there to type one"};
  }
  // The comment lives in the public file, where there is one and it is this key's.
  auto beside = read_file_capped(path + ".pub", kMaxKeyFileBytes);
  if (beside.ok()) {
    auto with_comment = PublicKey::parse(*beside);
    if (with_comment.ok() && with_comment->blob() == key->blob()) {
      return Identity{path, named(std::move(with_comment).value())};
    }
  }
  return Identity{path, named(std::move(key).value())};
}

Result<SecretText> read_private_key(const std::string& path) {
  AB_TRY(text, read_file_capped(path, kMaxKeyFileBytes));
  return SecretText(std::move(text));
}

Answer<NamedKey> ensure_private_key(const std::string& path, const SpawnPlan::Identity& owner,
                                    const std::string& comment) {
  if (::access(path.c_str(), F_OK) != 0) {
    AB_TRY(pair, generate_ed25519());
    const Status made = create_file(path, pair.private_key.reveal(), 0600, owner);
    if (!made.ok() && made.error().code != Code::kExists) {
      return made.error();
    }
  }
  auto secret = read_private_key(path);
  if (!secret.ok()) {
    return failure_of(std::move(secret).error());
  }
  auto key = public_half(*secret);
  if (!key.ok()) {
    return Failure{Exit::kFailed, path + ": " + key.error().what,
                   "it was damaged; delete the box and create it anew"};
  }
  AB_TRY(with_comment, PublicKey::parse(key->text() + " " + comment));
  return named(std::move(with_comment));
}

std::string revoked_line(std::uint64_t serial) { return "serial:" + std::to_string(serial); }

KeyFiles key_files(const BoxRecord& record) {
  return {{{"authorized_keys", authorized_keys_text(record.keys)},
           {"generation", std::to_string(record.generation) + "\n"},
           {"revoked", revoked_text(record)},
           {"user_ca", authorized_keys_text(record.spec.authorities)},
           {"box_name", record.name.text() + "\n"}}};
}

Status publish_keys(const std::string& folder, const BoxRecord& record) {
  // The name only has to be new: the volumes this imitates use the time.
  const std::string data = "..20" + random_hex(8);
  const std::string path = folder + "/" + data;
  AB_TRY(revoked, with_lines_by_hand(revoked_text(record), folder + "/revoked"));
  AB_CHECK(make_folder(path, ::geteuid() == 0 ? 0755 : 0700, ::geteuid(), ::getegid()));
  KeyFiles files = key_files(record);
  for (auto& [name, text] : files) {
    if (name == "revoked") {
      text = std::move(revoked);
    }
  }
  for (const auto& [name, text] : files) {
    AB_CHECK(replace_file(path + "/" + name, text, public_mode()));
  }
  const std::string next = folder + "/..data_tmp";
  ::unlink(next.c_str());
  if (::symlink(data.c_str(), next.c_str()) != 0 ||
      ::rename(next.c_str(), (folder + "/..data").c_str()) != 0) {
    return errno_error(folder + "/..data");
  }
  for (const auto& [name, text] : files) {
    AB_CHECK(link_into_data(folder, name));
  }
  remove_old_data(folder, data);
  return {};
}

}  // namespace agentbox::provision
