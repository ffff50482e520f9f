// edge: see verify.h.
#include "provision/verify.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "provision/interrupt.h"
#include "provision/mcp_client.h"
#include "provision/network_trial.h"
#include "provision/proof.h"
#include "provision/tools.h"

namespace agentbox::provision {
namespace {

/// One tool call, or a session's start.
constexpr std::chrono::seconds kStep{30};
/// Spans several reads, and is quick to make.
constexpr std::uint64_t kBlobBytes = 1U << 20U;

/// Between two tries to reach a box that was just started.
constexpr int kPauseMs = 250;

Deadline soon() { return std::chrono::steady_clock::now() + kStep; }

Result<std::string> sha256_in(const Json& value) {
  const std::string* sum = find_string(value, "sha256");
  constexpr std::size_t kHexBytes = 64;
  if (sum == nullptr || sum->size() != kHexBytes) {
    return Error{Code::kProtocol, "the result has no sha256"};
  }
  return *sum;
}

Result<std::vector<std::string>> list_blobs(McpClient& session) {
  AB_TRY(value, use_tool(session, "list_blobs", Json::object(), kStep));
  const Json* names = find_member(value, "result");
  std::vector<std::string> blobs;
  if (names == nullptr || !names->is_array()) {
    return Error{Code::kProtocol, "list_blobs gives no list"};
  }
  for (const Json& name : *names) {
    if (name.is_string()) {
      blobs.push_back(name.get<std::string>());
    }
  }
  return blobs;
}

// The file NAME, fetched over SSH piece by piece; its sha256 as computed here.
Result<std::string> pull_and_hash(McpClient& session, const std::string& name) {
  Sha256 sum;
  std::uint64_t offset = 0;
  std::string etag;
  while (offset < kBlobBytes) {
    AB_TRY(page, read_page(session, name, offset, etag));
    etag = page.etag;
    if (page.bytes.empty()) {
      return Error{Code::kProtocol, "the file ends after " + std::to_string(offset) + " bytes"};
    }
    sum.update(page.bytes);
    offset += page.bytes.size();
  }
  return sum.hex_digest();
}

// Also where it cannot be told: then it is no absent box.
bool is_there(const Answer<BoxView>& view) {
  return view.ok() || view.error().exit != Exit::kNoSuchBox;
}

// The run of one verify: checks one after another; after a failure the later ones are left out.
class Loop {
 public:
  Loop(const Backend& backend, BoxName name) : backend_(backend), name_(std::move(name)) {}

  // Runs WHAT unless something failed before; what it returns is the check's detail.
  void check(CheckId id, const std::function<Answer<std::string>()>& what) {
    if (!passed_) {
      return;
    }
    if (interrupted() && !puts_back_ && id != CheckId::kResume) {
      passed_ = false;
      checks_.push_back(CheckDone{id, CheckOutcome::kFailed, "interrupted"});
      return;
    }
    log::info("verify", {{"check", std::string(facts_of(id).title)}});
    auto outcome = what();
    passed_ = outcome.ok();
    checks_.push_back(CheckDone{id, passed_ ? CheckOutcome::kPassed : CheckOutcome::kFailed,
                                passed_ ? *outcome : outcome.error().message});
  }
  // Runs WHAT in any case: it puts things back.
  void always(CheckId id, const std::function<Answer<std::string>()>& what) {
    const bool before = std::exchange(passed_, true);
    puts_back_ = true;
    check(id, what);
    puts_back_ = false;
    passed_ = passed_ && before;
  }

  Answer<std::string> open() {
    std::optional<Deadline> until;
    for (;;) {
      AB_TRY(box, backend_.contact(name_));
      until = until.value_or(std::chrono::steady_clock::now() + box.settling);
      auto session = open_session(box, soon());
      if (session.ok()) {
        session_.emplace(std::move(session).value());
        return std::string();
      }
      const bool over = box.record.phase == Phase::kSuspended || interrupted() ||
                        std::chrono::steady_clock::now() >= *until;
      if (over || session.error().exit != Exit::kUnreachable) {
        return std::move(session).error();
      }
      ::poll(nullptr, 0, kPauseMs);  // nobody tells when a name begins to lead to a new pod
    }
  }
  Answer<std::string> close() {
    if (!session_) {
      return std::string();
    }
    McpClient session = std::move(*session_);
    session_.reset();  // whatever comes of its end, it is of no more use
    AB_TRY(ended, session.close(soon()));
    if (ended && *ended != 0) {
      return Failure{Exit::kCheckFailed, "exit code " + std::to_string(*ended), ""};
    }
    return std::string();
  }
  Answer<std::string> expect_no(const std::string& blob) {
    AB_TRY(names, list_blobs(*session_));
    if (std::find(names.begin(), names.end(), blob) != names.end()) {
      return Failure{Exit::kCheckFailed, blob + " is there", ""};
    }
    return std::string();
  }
  Answer<std::string> expect_empty() {
    AB_TRY(names, list_blobs(*session_));
    if (!names.empty()) {
      return Failure{Exit::kCheckFailed, "a new box holds " + escape_text(names.front(), 100), ""};
    }
    return std::string();
  }
  Answer<std::string> write_blob() {
    AB_TRY(value, use_tool(*session_, "write_random_blob",
                           Json{{"name", blob_}, {"size_bytes", kBlobBytes}}, kStep));
    AB_TRY(sum, sha256_in(value));
    sum_ = std::move(sum);
    return "sha256 " + sum_;
  }
  Answer<std::string> expect_sum(const Result<std::string>& sum) const {
    if (!sum.ok()) {
      return failure_of(sum.error());
    }
    if (*sum != sum_) {
      return Failure{Exit::kCheckFailed, "sha256 " + *sum + ", written was " + sum_, ""};
    }
    return "sha256 " + *sum;
  }
  Answer<std::string> read_blob() {
    AB_TRY(value, use_tool(*session_, "read_blob", Json{{"name", blob_}}, kStep));
    return expect_sum(sha256_in(value));
  }
  Answer<std::string> pull() { return expect_sum(pull_and_hash(*session_, blob_)); }
  Answer<std::string> remove_blob() {
    if (!session_) {
      AB_CHECK(open());
    }
    AB_CHECK(remove_file(*session_, blob_));
    return expect_no(blob_);
  }
  Answer<std::string> suspend() {
    AB_TRY(box, backend_.contact(name_));
    AB_TRY(done, backend_.suspend(name_));
    if (done.view.state != State::kSuspended) {
      return Failure{Exit::kCheckFailed, "it is " + std::string(text_of(done.view.state)), ""};
    }
    const auto deadline = std::chrono::steady_clock::now() + box.step;
    const bool answers =
        box.at_gateway ? open_session(box, deadline).ok() : box.dial(deadline).ok();
    if (answers) {
      return Failure{Exit::kCheckFailed, "a suspended box still answers", ""};
    }
    return std::string("nobody answers");
  }
  Answer<std::string> resume() {
    AB_TRY(before, backend_.contact(name_));
    AB_TRY(done, backend_.resume(name_));
    const BoxRecord& now = done.view.record;
    if (now.port != before.record.port || now.host_key != before.record.host_key ||
        now.generation != before.record.generation) {
      return Failure{Exit::kCheckFailed, "port, host key or keys are not what they were", ""};
    }
    return std::string("same port, host key and keys");
  }

  // All of them are tried at once, and each is told.
  void try_network() {
    if (!passed_ || !session_) {
      return;
    }
    log::info("verify", {{"check", "the network from inside"}});
    for (CheckDone& done : provision::try_network(backend_, name_, *session_)) {
      passed_ = passed_ && done.outcome != CheckOutcome::kFailed;
      checks_.push_back(std::move(done));
    }
  }

  [[nodiscard]] bool passed() const { return passed_; }
  [[nodiscard]] bool wrote() const { return !sum_.empty(); }
  void drop_session() { session_.reset(); }
  [[nodiscard]] Report report() const {
    return checks_report(name_.text(), checks_, "is proven", "is NOT proven");
  }

 private:
  const Backend& backend_;
  BoxName name_;
  std::string blob_ = "agentbox-verify-" + random_hex(8) + ".bin";
  std::string sum_;
  std::optional<McpClient> session_;
  std::vector<CheckDone> checks_;
  bool passed_ = true;
  bool puts_back_ = false;
};

void use_box(Loop& loop, bool new_workspace, bool suspend) {
  loop.check(CheckId::kSession1Opens, [&] { return loop.open(); });
  if (new_workspace) {
    loop.check(CheckId::kListEmpty, [&] { return loop.expect_empty(); });
  } else {
    loop.check(CheckId::kListAnswers, [&] { return loop.expect_no("agentbox-verify"); });
  }
  loop.check(CheckId::kWriteBlob, [&] { return loop.write_blob(); });
  loop.check(CheckId::kSession1Ends, [&] { return loop.close(); });
  if (suspend) {
    loop.check(CheckId::kSuspend, [&] { return loop.suspend(); });
    loop.check(CheckId::kResume, [&] { return loop.resume(); });
  }
  loop.check(CheckId::kSession2Opens, [&] { return loop.open(); });
  loop.check(CheckId::kReadBlob, [&] { return loop.read_blob(); });
  loop.check(CheckId::kPull, [&] { return loop.pull(); });
  loop.try_network();
}

Report verify_present(const Backend& backend, const Verify& wanted) {
  Loop loop(backend, wanted.name);
  loop.check(CheckId::kKeys, [&]() -> Answer<std::string> {
    AB_TRY(box, backend.contact(wanted.name));
    AB_TRY(proof, prove_once(box));
    return proof.words;
  });
  use_box(loop, false, wanted.suspend);
  if (loop.wrote()) {
    loop.always(CheckId::kBlobRemoved, [&] { return loop.remove_blob(); });
  }
  loop.check(CheckId::kSession2Ends, [&] { return loop.close(); });
  return loop.report();
}

Report verify_absent(const Backend& backend, const Verify& wanted, bool own_workspace) {
  Loop loop(backend, wanted.name);
  loop.check(CheckId::kCreate, [&]() -> Answer<std::string> {
    AB_TRY(made, backend.create(wanted.name, wanted.options));
    return "port " + std::to_string(made.view.record.port) + ", workspace " + made.view.workspace;
  });
  use_box(loop, own_workspace, true);
  if (loop.wrote() && (wanted.keep || !own_workspace)) {
    loop.always(CheckId::kBlobRemoved, [&] { return loop.remove_blob(); });
  }
  loop.check(CheckId::kSession2Ends, [&] { return loop.close(); });
  loop.drop_session();
  if (!wanted.keep) {
    loop.always(CheckId::kDelete, [&]() -> Answer<std::string> {
      AB_TRY(gone, backend.remove(wanted.name, false));
      if (!gone.changed || is_there(backend.view(wanted.name, false))) {
        return Failure{Exit::kCheckFailed, "the box is still there", ""};
      }
      return std::string();
    });
  }
  return loop.report();
}

}  // namespace

Answer<Report> verify(const Backend& backend, const Verify& wanted) {
  const Interruptible guard;
  auto view = backend.view(wanted.name, false);
  if (is_there(view)) {
    AB_TRY(seen, std::move(view));
    if (seen.state == State::kSuspended || seen.state == State::kStopped) {
      return Failure{Exit::kUnreachable,
                     "box " + wanted.name.text() + " is " + std::string(text_of(seen.state)),
                     "`agentbox-provision resume " + wanted.name.text() + "`, then verify it"};
    }
    return verify_present(backend, wanted);
  }
  const bool own_workspace = wanted.options.workspace.empty();
  return verify_absent(backend, wanted, own_workspace);
}

}  // namespace agentbox::provision
