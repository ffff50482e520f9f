// edge: see doctor.h.
#include "provision/doctor.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>

#include "base/text.h"
#include "provision/account.h"
#include "provision/audit_log.h"
#include "provision/check_run.h"
#include "provision/host.h"
#include "provision/key_change.h"
#include "provision/places.h"
#include "provision/programs.h"
#include "provision/proof.h"
#include "provision/supervisor.h"
#include "provision/tools.h"
#include "provision/wall.h"
#include "provision/written.h"

namespace agentbox::provision {
namespace {

constexpr std::chrono::seconds kStep{15};
/// Less room than this and the next file of any size is the last.
constexpr std::uint64_t kLeastFreeBytes = 256ULL << 20U;
constexpr std::uint64_t kLeastFreeFiles = 1000;
/// What may lie between is the time the question took.
constexpr std::int64_t kMostClockSeconds = 5;
/// A side that had to be started again this often is ill, though it runs now.
constexpr std::uint64_t kManyRestarts = 5;
/// Of what is said of one file.
constexpr std::size_t kMaxHow = 400;

using Outcome = CheckRun::Outcome;

Failure failed(std::string why) { return check_failed(std::move(why)); }

class Examination {
 public:
  Examination(const LocalBackend& backend, BoxView view)
      : backend_(backend), view_(std::move(view)), paths_(backend.store().paths(record().name)) {}

  void run() {
    check(CheckId::kPrograms, [&] { return programs(); });
    check(CheckId::kUsers, [&] { return users(); });
    check(
        CheckId::kIsolation, [&] { return isolation(); }, no_isolation());
    check(CheckId::kStateModes, [&] { return state_modes(); });
    check(CheckId::kWritten, [&] { return written(); });
    check(CheckId::kDisk, [&] { return disk(); });
    const auto still = not_running();
    check(
        CheckId::kSupervisor, [&] { return both_sides(); }, suspended());
    check(
        CheckId::kDoor, [&] { return door(); }, still);
    check(CheckId::kPin, [&] { return pin(); });
    check(
        CheckId::kKeys, [&] { return keys(); }, still);
    check(
        CheckId::kGone, [&] { return gone(); }, still);
    const auto closed = still ? still : no_private_key();
    check(
        CheckId::kLogin, [&] { return login(); }, closed);
    const auto mute = closed ? closed : no_session();
    check(
        CheckId::kClock, [&] { return clock(); }, mute);
    check(
        CheckId::kWall, [&] { return wall(); }, mute ? mute : no_isolation());
    check(CheckId::kAudit, [&] { return audit(); });
  }
  [[nodiscard]] Report report() const {
    return checks_report(record().name.text(), run_.done(), "is well", "is NOT well");
  }

 private:
  [[nodiscard]] const BoxRecord& record() const { return view_.record; }

  void check(CheckId id, const std::function<Outcome()>& what,
             const std::optional<Skip>& skip = std::nullopt) {
    run_.check(id, what, skip);
  }

  [[nodiscard]] std::optional<Skip> suspended() const {
    return view_.state == State::kSuspended ? std::optional(Skip{"the box is suspended"})
                                            : std::nullopt;
  }
  [[nodiscard]] std::optional<Skip> not_running() const {
    const bool still = view_.state == State::kSuspended || view_.state == State::kStopped;
    return still ? std::optional(Skip{"the box is " + std::string(text_of(view_.state))})
                 : std::nullopt;
  }
  [[nodiscard]] std::optional<Skip> no_private_key() const {
    return record().identity_file.empty() ? std::optional(Skip{"the private key is not known here"})
                                          : std::nullopt;
  }
  [[nodiscard]] std::optional<Skip> no_session() const {
    return session_ ? std::nullopt : std::optional(Skip{"no session could be opened"});
  }
  [[nodiscard]] std::optional<Skip> no_isolation() const {
    return record().spec.isolation == Isolation::kNone
               ? std::optional(Skip{"the box was made with --no-isolation: it has no wall"})
               : std::nullopt;
  }

  // From outside.

  Outcome programs() const {
    for (const char* name : {"/agentbox-sshd", "/agent-box"}) {
      if (::access((paths_.programs + name).c_str(), X_OK) != 0) {
        return failed(errno_error(paths_.programs + name).what);
      }
    }
    AB_TRY(found, find_programs(backend_.programs()));
    return found.door + ", " + found.box;
  }
  static Outcome users() {
    AB_TRY(accounts, find_accounts());
    return "door uid " + std::to_string(accounts.door.uid) + ", box uid " +
           std::to_string(accounts.box.uid);
  }
  static Outcome isolation() {
    AB_TRY(host, find_host_facts());
    AB_TRY(accounts, find_accounts());
    AB_CHECK(try_isolation(host, accounts));
    return host.bubblewrap;
  }
  Outcome state_modes() const {
    AB_TRY(accounts, find_accounts());
    const auto all = wanted_places(backend_.store(), record(), accounts);
    for (const WantedPlace& wanted : all) {
      struct stat info {};
      if (::stat(wanted.path.c_str(), &info) != 0) {
        return failed(errno_error(wanted.path).what);
      }
      if (info.st_uid != wanted.owner) {
        return failed(wanted.path + " belongs to uid " + std::to_string(info.st_uid) + ", not to " +
                      std::to_string(wanted.owner));
      }
      if ((info.st_mode & wanted.closed) != 0) {
        return failed(wanted.path + " is open to others: " + closing(wanted));
      }
      if (const std::string why = unusable(wanted, accounts); !why.empty()) {
        return failed(why + ": " + closing(wanted));
      }
    }
    return std::to_string(all.size()) + " places";
  }
  // The mode that it was made with: a closed one would lock the door out of what it has to read.
  static std::string closing(const WantedPlace& wanted) {
    std::string digits;
    for (int shift = 9; shift >= 0; shift -= 3) {
      digits += static_cast<char>('0' + (wanted.mode >> static_cast<unsigned>(shift) & 7U));
    }
    return "chmod " + digits + " " + wanted.path;
  }
  static Failure failed_by(const Altered& altered) {
    return failed(altered.path + ": " + printable_text(altered.how, kMaxHow));
  }
  Outcome written() const {
    AB_TRY(accounts, find_accounts());
    const auto keys = altered_key_files(backend_.store(), record().name);
    if (!keys.empty()) {
      return failed_by(keys.front());
    }
    const auto config = altered_config(paths_, record(), accounts);
    return config ? Outcome(failed_by(*config)) : Outcome(std::string());
  }
  Outcome disk() const {
    for (const std::string& path : {paths_.box, view_.workspace}) {
      struct statvfs volume {};
      if (::statvfs(path.c_str(), &volume) != 0) {
        return failed(errno_error(path).what);
      }
      const std::uint64_t free = static_cast<std::uint64_t>(volume.f_bavail) * volume.f_frsize;
      if (free < kLeastFreeBytes) {
        return failed(path + " has " + std::to_string(free >> 20U) + " MiB left");
      }
      // A file system that counts no files says 0 of 0.
      if (volume.f_files != 0 && volume.f_favail < kLeastFreeFiles) {
        return failed(path + " has room for " + std::to_string(volume.f_favail) + " files");
      }
    }
    return std::string();
  }
  Outcome both_sides() const {
    AB_TRY(supervisor, find_supervisor(paths_));
    if (!supervisor || !supervisor->note) {
      return failed("there is no supervisor (run `agentbox-provision resume " +
                    record().name.text() + "`)");
    }
    const SupervisorNote& note = *supervisor->note;
    if (note.door.pid == 0 || note.box.pid == 0) {
      return failed(view_.reason.empty() ? "one of them is not running" : view_.reason);
    }
    if (note.door.restarts + note.box.restarts >= kManyRestarts) {
      return failed("the door was started again " + std::to_string(note.door.restarts) +
                    " times (" + note.door.last_end + "), the box side " +
                    std::to_string(note.box.restarts) + " times (" + note.box.last_end + ")");
    }
    return std::string();
  }
  Outcome door() const {
    AB_TRY(target, target_of(record()));
    AB_TRY(client, SshClient::connect(target, std::chrono::steady_clock::now() + kProofStep));
    static_cast<void>(client);
    return target.host + " port " + std::to_string(target.port);
  }
  Outcome pin() const {
    AB_TRY(text, read_file_capped(paths_.known_hosts, 64U << 10U));
    if (text != known_hosts_text(record().name.text(), record().host_key)) {
      return failed(paths_.known_hosts + " is not what was written");
    }
    return std::string();
  }
  Outcome keys() const {
    AB_TRY(proof, prove_once(contact_here(record())));
    return proof.words;
  }
  Outcome gone() const {
    AB_CHECK(prove_refused(contact_here(record()), keys_to_refuse(record())));
    return std::to_string(keys_to_refuse(record()).size()) + " key(s)";
  }
  Outcome audit() const {
    auto verdict = check_audit(paths_);
    if (!verdict.ok()) {
      return failed(verdict.error().what);
    }
    return verdict->whole() ? Outcome(std::to_string(verdict->lines) + " lines")
                            : Outcome(failed(verdict->findings.front().text));
  }

  // From inside.

  Outcome login() {
    AB_TRY(session, open_session(contact_here(record()), std::chrono::steady_clock::now() + kStep));
    session_.emplace(std::move(session));
    AB_TRY(value, use_tool(*session_, "system_info", Json::object(), kStep));
    const std::string* version = find_string(value, "version");
    return "agent-box " + escape_text(version == nullptr ? "" : *version, 40);
  }
  Outcome clock() { return clocks_agree(*session_); }
  Outcome wall() {
    const auto places = hidden_places(backend_.store(), record());
    auto looked = seen_from_inside(*session_, places);
    if (!looked.ok()) {
      return failed("a command could not look around in the box: " + looked.error().what);
    }
    const std::vector<std::string> seen = std::move(looked).value();
    if (seen.empty()) {
      return std::to_string(places.size()) + " places, and processes";
    }
    std::string all;
    for (const std::string& place : seen) {
      all += "it sees " + place + "; ";
    }
    return failed(std::move(all));
  }

  const LocalBackend& backend_;
  BoxView view_;
  BoxPaths paths_;
  std::optional<McpClient> session_;
  CheckRun run_{"doctor"};
};

}  // namespace

Answer<std::string> clocks_agree(McpClient& session) {
  AB_TRY(text, run_program(session, "date", {"+%s"}));
  const std::string number = text.substr(0, text.find('\n'));
  const auto there = parse_decimal(number);
  const auto here = std::chrono::duration_cast<std::chrono::seconds>(
                        std::chrono::system_clock::now().time_since_epoch())
                        .count();
  if (!there.ok() || std::abs(static_cast<std::int64_t>(*there) - here) > kMostClockSeconds) {
    return failed("the box says " + escape_text(number, 40) + ", here it is " +
                  std::to_string(here));
  }
  return std::string();
}

Answer<Report> doctor(const LocalBackend& backend, const BoxName& name) {
  AB_TRY(view, backend.view(name, true));
  Examination examination(backend, std::move(view));
  examination.run();
  return examination.report();
}

}  // namespace agentbox::provision
