// edge: see transfer.h.
#include "provision/transfer.h"

#include <chrono>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "provision/interrupt.h"
#include "provision/local_file.h"
#include "provision/proof.h"
#include "provision/tools.h"

namespace agentbox::provision {
namespace {

/// A link that was lost is dialled again for so long.
constexpr std::chrono::seconds kReturnTime{30};
constexpr std::chrono::milliseconds kReturnPause{500};
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

// A session with a box, and another where that was lost: what is asked of it can be asked again.
class Link {
 public:
  [[nodiscard]] static Answer<Link> open(const Backend& backend, const BoxName& name) {
    Link link(backend, name);
    AB_TRY(session, link.dial());
    link.session_.emplace(std::move(session));
    return link;
  }

  /// The result of STEP, which is taken again where the link was lost meanwhile.
  template <typename Step>
  auto use(const Step& step) -> decltype(step(std::declval<McpClient&>())) {
    for (;;) {
      auto result = step(*session_);
      if (result.ok() || !is_loss(result.error()) || !come_back(result.error())) {
        return result;
      }
    }
  }

 private:
  Link(const Backend& backend, const BoxName& name) : backend_(backend), name_(name) {}

  [[nodiscard]] static bool is_loss(const Error& error) {
    return error.code == Code::kUnavailable || error.code == Code::kTimeout;
  }
  [[nodiscard]] Answer<McpClient> dial() const {
    AB_TRY(box, backend_.get().contact(name_));
    return open_session(box, std::chrono::steady_clock::now() + box.step);
  }
  bool come_back(const Error& why) {
    log::info("the link was lost; dialling again", {{"why", why.what}});
    const auto deadline = std::chrono::steady_clock::now() + kReturnTime;
    for (;;) {
      auto session = dial();
      if (session.ok()) {
        session_.emplace(std::move(session).value());
        return true;
      }
      if (session.error().exit != Exit::kUnreachable || interrupted() ||
          std::chrono::steady_clock::now() > deadline) {
        return false;
      }
      std::this_thread::sleep_for(kReturnPause);
    }
  }

  std::reference_wrapper<const Backend> backend_;
  BoxName name_;
  std::optional<McpClient> session_;
};

Report transfer_report(const BoxName& name, const char* verb, const std::string& remote,
                       std::uint64_t bytes, const std::string& sum) {
  Report report;
  report.json["name"] = name.text();
  report.json["path"] = remote;
  report.json["bytes"] = bytes;
  report.json["sha256"] = sum;
  report.json["verified"] = true;
  report.text = std::string(verb) + " " + std::to_string(bytes) + " bytes\nsha256 " + sum +
                " (the same in the box)\n";
  return report;
}

struct Received {
  std::uint64_t bytes = 0;
  std::string sum;
  std::string etag;
};

// Every page of REMOTE, in order, into TARGET.
Answer<Received> receive(Link& link, const std::string& remote, const LocalTarget& target) {
  Progress progress("pull");
  Sha256 sum;
  Received received;
  for (;;) {
    AB_TRY(page, link.use([&](McpClient& session) {
      return read_page(session, remote, received.bytes, received.etag);
    }));
    if (page.bytes.empty() && received.bytes < page.size) {
      return Failure{Exit::kFailed, remote + " was changed while it was read",
                     "run the command again when nobody writes it"};
    }
    received.etag = page.etag;
    received.bytes += page.bytes.size();
    sum.update(page.bytes);
    AB_CHECK(target.write(page.bytes));
    if (received.bytes >= page.size) {
      received.sum = sum.hex_digest();
      return received;
    }
    if (interrupted()) {
      return interrupted_failure();
    }
    progress.at(received.bytes, page.size);
  }
}

// A push under way: what is in the box goes again unless it took its place.
class Upload {
 public:
  Upload(Link& link, std::string id) : link_(link), id_(std::move(id)) {}
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;
  ~Upload() {
    if (!complete_) {
      static_cast<void>(link_.use([&](McpClient& session) { return abort_upload(session, id_); }));
    }
  }

  Status send(std::uint64_t offset, std::string_view bytes, const std::optional<WholeFile>& whole) {
    const Status sent = link_.use(
        [&](McpClient& session) { return send_piece(session, id_, offset, bytes, whole); });
    complete_ = sent.ok() && whole;
    return sent;
  }

 private:
  Link& link_;
  std::string id_;
  bool complete_ = false;
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

Answer<Report> pull(const Backend& backend, const Pull& wanted) {
  const Interruptible guard;
  AB_CHECK(check_remote(wanted.remote));
  AB_TRY(link, Link::open(backend, wanted.name));
  AB_TRY(target, LocalTarget::open(wanted.local));
  AB_TRY(received, receive(link, wanted.remote, target));
  AB_TRY(sum, link.use([&](McpClient& session) {
    return remote_sha256(session, wanted.remote, received.etag);
  }));
  if (sum != received.sum) {
    return Failure{Exit::kCheckFailed,
                   wanted.remote + " in the box and here do not have the same sha256",
                   "run the command again when nobody writes it"};
  }
  AB_CHECK(target.finish());
  Report report =
      transfer_report(wanted.name, "pulled", wanted.remote, received.bytes, received.sum);
  report.printed = target.is_stream();
  return report;
}

Answer<Report> push(const Backend& backend, const Push& wanted) {
  const Interruptible guard;
  AB_CHECK(check_remote(wanted.remote));
  AB_TRY(source, LocalSource::open(wanted.local));
  AB_TRY(link, Link::open(backend, wanted.name));
  AB_TRY(id, advise(link.use([&](McpClient& session) {
           return begin_upload(session, wanted.remote, source.size(), source.mode());
         }),
                    "name a file, not a folder"));
  Upload upload(link, std::move(id));
  Progress progress("push");
  Sha256 sum;
  WholeFile sent;
  AB_TRY(bytes, source.read(kPieceBytes));
  for (bool last = false; !last;) {
    auto more = source.read(kPieceBytes);
    if (interrupted()) {
      return interrupted_failure();
    }
    AB_TRY(following, std::move(more));
    last = following.empty();
    sum.update(bytes);
    const std::uint64_t offset = std::exchange(sent.size, sent.size + bytes.size());
    if (last) {
      sent.sum = sum.hex_digest();
    }
    AB_CHECK(upload.send(offset, bytes, last ? std::optional(sent) : std::nullopt));
    bytes = std::move(following);
    progress.at(sent.size, source.size());
  }
  return transfer_report(wanted.name, "pushed", wanted.remote, sent.size, sent.sum);
}

}  // namespace agentbox::provision
