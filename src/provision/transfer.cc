// edge: see transfer.h.
#include "provision/transfer.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "provision/interrupt.h"
#include "provision/local_file.h"
#include "provision/proof.h"
#include "provision/tools.h"

namespace agentbox::provision {
namespace {

constexpr std::chrono::seconds kStep{60};
/// Sent in one call: the tool takes 4 MiB.
constexpr std::size_t kSendBytes = 3U << 20U;
/// Between two lines of progress.
constexpr std::chrono::seconds kProgressEvery{2};

// Says now and then how far it has come.
class Progress {
 public:
  explicit Progress(std::string verb) : verb_(std::move(verb)) {}
  void at(std::uint64_t bytes, std::uint64_t of) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) {
      return;
    }
    next_ = now + kProgressEvery;
    log::info(verb_,
              {{"bytes", std::to_string(bytes)}, {"of", of == 0 ? "?" : std::to_string(of)}});
  }

 private:
  std::string verb_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + kProgressEvery;
};

Answer<McpClient> session_of(const Store& store, const BoxName& name) {
  AB_TRY(record, store.load_existing(name));
  return open_session(record, std::chrono::steady_clock::now() + kProofStep);
}

Report transfer_report(const BoxName& name, const char* verb, const std::string& remote,
                       std::uint64_t bytes, const std::string& sum, bool checked) {
  Report report;
  report.json["name"] = name.text();
  report.json["path"] = remote;
  report.json["bytes"] = bytes;
  report.json["sha256"] = sum;
  report.json["verified"] = checked;
  report.text =
      std::string(verb) + " " + std::to_string(bytes) + " bytes\nsha256 " + sum +
      (checked ? " (the same in the box)\n" : " (the box has no sha256sum to compare with)\n");
  return report;
}

Failure differs(const std::string& remote, const std::string& next) {
  return Failure{
      Exit::kCheckFailed,
      remote + " in the box and here do not have the same sha256: it was changed meanwhile", next};
}

struct Received {
  std::uint64_t bytes = 0;
  std::string sum;
};

// Every page of REMOTE, in order, into TARGET.
Answer<Received> receive(McpClient& session, const std::string& remote, const LocalTarget& target) {
  Progress progress("pull");
  Sha256 sum;
  std::uint64_t offset = 0;
  std::string modified;
  for (;;) {
    AB_TRY(page, read_page(session, remote, offset));
    if (offset == 0) {
      modified = page.modified;
    }
    const bool changed = page.modified != modified;
    const bool cut = page.bytes.empty() && offset < page.size;
    if (changed || cut) {
      return Failure{Exit::kFailed, remote + " was changed while it was read",
                     "run the command again when nobody writes it"};
    }
    sum.update(page.bytes);
    AB_CHECK(target.write(page.bytes));
    offset += page.bytes.size();
    if (offset >= page.size) {
      return Received{offset, sum.hex_digest()};
    }
    if (interrupted()) {
      return interrupted_failure();
    }
    progress.at(offset, page.size);
  }
}

// The name beside REMOTE under which it is written.
std::string name_beside(const std::string& remote) {
  const auto slash = remote.rfind('/');
  return (slash == std::string::npos ? "" : remote.substr(0, slash + 1)) + ".agentbox-push-" +
         random_hex(8);
}

// A push under way: what is in the box under the other name goes again unless it took its place.
class Upload {
 public:
  Upload(McpClient& session, std::string remote)
      : session_(session), remote_(std::move(remote)), beside_(name_beside(remote_)) {}
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;
  ~Upload() {
    if (begun_) {
      static_cast<void>(remove_file(session_, beside_));
    }
  }

  Status send(std::string_view bytes, unsigned mode, bool last) {
    Json arguments = {{"path", beside_},
                      {"content", base64_encode(bytes)},
                      {"encoding", "base64"},
                      {"fsync", last},
                      {begun_ ? "append" : "if_absent", true}};
    if (!begun_ && mode != 0) {
      std::array<char, 16> text{};  // holds any number, which the compiler looks for
      static_cast<void>(std::snprintf(text.data(), text.size(), "%04o", mode));
      arguments["mode"] = text.data();
    }
    begun_ = true;
    AB_TRY(value, use_tool(session_, "write_file", arguments, kStep));
    static_cast<void>(value);
    return {};
  }

  /// What was sent is on the disk and has SUM; then it takes its place.
  Answer<bool> finish(const std::string& sum, std::uint64_t size) {
    AB_TRY(remote_sum, remote_sha256(session_, beside_, size));
    if (!remote_sum.empty() && remote_sum != sum) {
      return differs(beside_, "run the command again");
    }
    AB_CHECK(advise(move_file(session_, beside_, remote_), "name a file, not a folder"));
    begun_ = false;
    return !remote_sum.empty();
  }

 private:
  McpClient& session_;
  std::string remote_;
  std::string beside_;
  bool begun_ = false;
};

// A quoted name would have to be taken apart for the programs of the box, which know no such names.
Done check_remote(const std::string& remote) {
  if (remote.empty() || remote.back() == '/' || remote.front() == '"') {
    return Failure{Exit::kUsage,
                   "'" + escape_text(remote, 200) + "' is no name of a file in the box",
                   "name a file below the workspace, without a slash at its end"};
  }
  return {};
}

}  // namespace

Answer<Report> pull(const Store& store, const Pull& wanted) {
  const Interruptible guard;
  AB_CHECK(check_remote(wanted.remote));
  AB_TRY(session, session_of(store, wanted.name));
  AB_TRY(target, LocalTarget::open(wanted.local));
  AB_TRY(received, receive(session, wanted.remote, target));
  AB_TRY(sum, remote_sha256(session, wanted.remote, received.bytes));
  if (!sum.empty() && sum != received.sum) {
    return differs(wanted.remote, "run the command again when nobody writes it");
  }
  AB_CHECK(target.finish());
  Report report = transfer_report(wanted.name, "pulled", wanted.remote, received.bytes,
                                  received.sum, !sum.empty());
  report.printed = target.is_stream();
  return report;
}

Answer<Report> push(const Store& store, const Push& wanted) {
  const Interruptible guard;
  AB_CHECK(check_remote(wanted.remote));
  AB_TRY(source, LocalSource::open(wanted.local));
  AB_TRY(session, session_of(store, wanted.name));
  Upload upload(session, wanted.remote);
  Progress progress("push");
  Sha256 sum;
  std::uint64_t sent = 0;
  AB_TRY(bytes, source.read(kSendBytes));
  for (bool last = false; !last;) {
    auto more = source.read(kSendBytes);
    if (interrupted()) {
      return interrupted_failure();
    }
    AB_TRY(following, std::move(more));
    last = following.empty();
    AB_CHECK(upload.send(bytes, source.mode(), last));
    sum.update(bytes);
    sent += bytes.size();
    bytes = std::move(following);
    progress.at(sent, source.size());
  }
  const std::string hash = sum.hex_digest();
  AB_TRY(checked, upload.finish(hash, sent));
  return transfer_report(wanted.name, "pushed", wanted.remote, sent, hash, checked);
}

}  // namespace agentbox::provision
