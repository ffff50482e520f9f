// edge: see certificates.h.
#include "provision/certificates.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/process.h"
#include "base/random.h"
#include "base/text.h"
#include "base/utc.h"
#include "provision/duration.h"
#include "provision/key_change.h"
#include "provision/keys.h"
#include "provision/quote.h"

namespace agentbox::provision {
namespace {

/// Debian and Ubuntu have it there, and nothing of a PATH is believed where keys are concerned.
constexpr const char* kKeygen = "/usr/bin/ssh-keygen";
/// A certificate counts from this much before its making on: the box's clock may be behind.
constexpr const char* kFrom = "-60s";
constexpr std::size_t kMaxKeyIdBytes = 512;  // the door's own bound
constexpr std::size_t kSerialBytes = 7;      // stays exact in every reader of JSON's integers
/// What a certificate can hold here, many times over.
constexpr std::size_t kMaxCertificateBytes = 256U << 10U;
/// Where ssh-keygen finds the CA's private key.
constexpr int kCaDescriptor = 3;

std::string ca_folder(const Store& store) { return store.root() + "/ca"; }

std::string ca_file(const Store& store, const std::string& given) {
  return given.empty() ? ca_folder(store) + "/user_ca" : given;
}

Done make_ca_folder(const Store& store) {
  AB_CHECK(store.make_root());
  return advise(make_folder(ca_folder(store), 0700, ::geteuid(), ::getegid()),
                "choose another AGENTBOX_STATE_DIR");
}

struct Authority {
  SecretText secret;
  NamedKey key;
};

Answer<Authority> read_authority(const std::string& file) {
  const std::string next = "make one: agentbox-provision ca init";
  AB_TRY(secret, advise(read_private_key(file), next));
  auto key = public_half(secret);
  if (!key.ok()) {
    return Failure{Exit::kRefused, file + ": " + key.error().what,
                   "name the CA's private key, without a passphrase"};
  }
  return Authority{std::move(secret), named(std::move(key).value())};
}

// A folder that only we can enter, gone again with all that is in it.
class PrivateFolder {
 public:
  static Answer<PrivateFolder> make(const std::string& parent) {
    PrivateFolder folder;
    folder.path_ = parent + "/sign-XXXXXX";
    if (::mkdtemp(folder.path_.data()) == nullptr) {
      folder.path_.clear();
      return failure_of(errno_error(parent), "choose another AGENTBOX_STATE_DIR");
    }
    return folder;
  }
  PrivateFolder(PrivateFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PrivateFolder& operator=(PrivateFolder&&) = delete;
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  ~PrivateFolder() {
    if (!path_.empty()) {
      std::error_code ignored;
      std::filesystem::remove_all(path_, ignored);
    }
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  PrivateFolder() = default;
  std::string path_;
};

// What is signed: the public key's file, and the private key where it is kept here.
struct Subject {
  std::string public_file;
  std::string private_file;
  NamedKey key;
};

Answer<Subject> subject_of(const Store& store, const CaSign& command) {
  if (!command.key_file.empty()) {
    AB_TRY(keys, read_public_keys(command.key_file));
    if (keys.size() != 1 || !command.key_file.ends_with(".pub")) {
      return Failure{Exit::kRefused, command.key_file + " is no FILE.pub with one key",
                     "name the public half as ssh-keygen writes it"};
    }
    return Subject{command.key_file, "", keys.front()};
  }
  AB_CHECK(make_ca_folder(store));
  const std::string file = ca_folder(store) + "/key-" + command.box.text();
  AB_TRY(key, ensure_private_key(file, {::geteuid(), ::getegid()}, command.box.text()));
  AB_CHECK(advise(replace_file(file + ".pub", key.key.text() + " " + key.label + "\n", 0644),
                  "see whether the disk is full"));
  return Subject{file + ".pub", file, key};
}

std::uint64_t random_serial() {
  std::uint64_t serial = 0;
  for (const char digit : random_hex(kSerialBytes)) {
    const bool letter = digit >= 'a';
    serial = serial << 4U | static_cast<unsigned>(digit - (letter ? 'a' - 10 : '0'));
  }
  return serial == 0 ? 1 : serial;  // 0 is what those without a serial have
}

// The key that was checked, as a file without a name: what lies under the CA's name by now is
// nothing that ssh-keygen asks for.
Answer<UniqueFd> in_memory(const SecretText& secret) {
  UniqueFd file(::memfd_create("ca", MFD_CLOEXEC));
  if (!file || ::fchmod(file.get(), 0600) != 0) {
    return errno_error("memfd_create");
  }
  AB_CHECK(write_all(file.get(), secret.reveal()));
  return file;
}

Done run_keygen(std::vector<std::string> words, const UniqueFd& authority) {
  SpawnPlan plan;
  plan.exe = kKeygen;
  plan.argv = {"ssh-keygen", "-q", "-s", "/proc/self/fd/" + std::to_string(kCaDescriptor)};
  plan.argv.insert(plan.argv.end(), words.begin(), words.end());
  plan.descriptors = {{STDERR_FILENO, STDERR_FILENO}, {kCaDescriptor, authority.get()}};
  plan.new_session = true;  // no terminal: it must fail where it would ask for a passphrase
  AB_TRY(child, advise(spawn(plan), "install openssh-client"));
  AB_TRY(ended, wait_for(child));
  if (!ended.exited || ended.value != 0) {
    return Failure{Exit::kFailed, "ssh-keygen did not sign; its words are above",
                   "source addresses must be numbers: 10.0.0.0/8,2001:db8::1"};
  }
  return {};
}

std::string certificate_file(const Subject& subject) {
  const std::string& file = subject.public_file;
  return file.substr(0, file.size() - 4) + "-cert.pub";
}

// Signs a copy that nobody else can write, and puts the certificate beside the key itself. What is
// there under its name is replaced, never written into: root must not follow another's link.
Done sign(const Store& store, const Subject& subject, const Authority& authority,
          std::vector<std::string> words) {
  AB_CHECK(make_ca_folder(store));
  AB_TRY(folder, PrivateFolder::make(ca_folder(store)));
  const std::string copy = folder.path() + "/key";
  AB_CHECK(advise(
      replace_file(copy + ".pub", subject.key.key.text() + " " + subject.key.label + "\n", 0600),
      "see whether the disk is full"));
  AB_TRY(secret, in_memory(authority.secret));
  words.push_back(copy + ".pub");
  AB_CHECK(run_keygen(std::move(words), secret));
  AB_TRY(certificate, read_file_capped(copy + "-cert.pub", kMaxCertificateBytes));
  return advise(replace_file(certificate_file(subject), certificate, 0644),
                "the certificate is written beside its public key; copy the key to a folder that "
                "can be written");
}

Answer<std::int64_t> seconds_of(const std::string& ttl) {
  const auto seconds = parse_duration(ttl);
  if (!seconds || *seconds < 1 || *seconds > kMaxTtlSeconds) {
    return Failure{Exit::kUsage, "--ttl must be at least 1s and at most 366d",
                   "for example: --ttl 90s, --ttl 10m, --ttl 2h, --ttl 7d"};
  }
  return *seconds;
}

// A box that is not known here may be another machine's or a cluster's.
void warn_of_box(const Store& store, const BoxName& box, const NamedKey& authority) {
  const auto record = store.load(box);
  if (record.ok() && *record &&
      !holds_key((*record)->spec.authorities, authority.key.fingerprint())) {
    log::warning("the box does not take certificates of this CA; agentbox-provision ca trust",
                 {{"box", box.text()}, {"ca", authority.key.fingerprint()}});
  }
}

Report signed_report(const CaSign& command, const Subject& subject, const NamedKey& authority,
                     std::uint64_t serial, const std::string& key_id, std::int64_t until) {
  const std::string certificate = certificate_file(subject);
  const std::string time = format_time(until * 1000);
  Report report;
  report.json = {{"box", command.box.text()},
                 {"certificate", certificate},
                 {"key", subject.key.key.fingerprint()},
                 {"identity_file", nullptr},
                 {"serial", std::to_string(serial)},
                 {"key_id", key_id},
                 {"valid_until", time},
                 {"ca", authority.key.fingerprint()}};
  report.text = "certificate  " + certificate + "\nkey          " + subject.key.key.fingerprint() +
                "\nserial       " + std::to_string(serial) + "\nkey id       " + key_id +
                "\nvalid until  " + time + "\n";
  if (!subject.private_file.empty()) {
    report.json["identity_file"] = subject.private_file;
    report.text += "private      " + subject.private_file + "\n";
  }
  return report;
}

}  // namespace

Answer<std::vector<NamedKey>> authorities_of(const std::string& ca) {
  AB_TRY(store, Store::find());
  const std::string file = ca_file(store, ca);
  auto text = read_file_capped(file, kMaxKeyFileBytes);
  if (text.ok() && looks_like_private_key(*text)) {
    AB_TRY(authority, read_authority(file));
    return std::vector<NamedKey>{authority.key};
  }
  if (ca.empty() && !text.ok() && text.error().code == Code::kNotFound) {
    return Failure{Exit::kRefused, "there is no CA in the state folder yet",
                   "make one: agentbox-provision ca init; or name one with --ca"};
  }
  return read_authorities(file);
}

Answer<Report> init_ca(const Store& store, const CaInit& command) {
  if (command.ca.empty()) {
    AB_CHECK(make_ca_folder(store));
  }
  const std::string file = ca_file(store, command.ca);
  const bool existed = ::access(file.c_str(), F_OK) == 0;
  AB_TRY(key, ensure_private_key(file, {::geteuid(), ::getegid()}, "agentbox user CA"));
  AB_CHECK(advise(replace_file(file + ".pub", key.key.text() + " " + key.label + "\n", 0644),
                  "see whether the disk is full"));
  Report report;
  report.json = {{"changed", !existed},
                 {"ca", key.key.fingerprint()},
                 {"private_key", file},
                 {"public_key", file + ".pub"}};
  report.text = (existed ? "there is a CA already\n" : "a CA is made\n") +
                std::string("private  ") + file + "\npublic   " + file + ".pub\nkey      " +
                key.key.fingerprint() + "\n";
  return report;
}

Answer<Report> sign_certificate(const Store& store, const CaSign& command) {
  AB_TRY(seconds, seconds_of(command.ttl));
  const std::string ca = ca_file(store, command.ca);
  AB_TRY(authority, read_authority(ca));
  AB_TRY(subject, subject_of(store, command));
  const std::uint64_t serial = command.serial.value_or(random_serial());
  const std::string key_id = command.key_id.empty() ? command.box.text() : command.key_id;
  if (key_id.size() > kMaxKeyIdBytes || !is_printable_ascii(key_id)) {
    return Failure{Exit::kUsage, "--key-id must be printable ASCII, at most 512 bytes",
                   "for example: --key-id anna"};
  }
  std::vector<std::string> words = {"-I", key_id,
                                    "-n", command.box.text(),
                                    "-z", std::to_string(serial),
                                    "-V", kFrom + (":+" + std::to_string(seconds)) + "s"};
  // Nothing that a session could be given on top, and what limits it.
  words.insert(words.end(), {"-O", "clear"});
  if (!command.source_address.empty()) {
    words.insert(words.end(), {"-O", "source-address=" + command.source_address});
  }
  const std::int64_t until = static_cast<std::int64_t>(std::time(nullptr)) + seconds;
  AB_CHECK(sign(store, subject, authority, std::move(words)));
  warn_of_box(store, command.box, authority.key);
  return signed_report(command, subject, authority.key, serial, key_id, until);
}

}  // namespace agentbox::provision
