// edge: a cluster's API, as one operator's credential sees it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "provision/answer.h"
#include "provision/http.h"
#include "provision/kube/access.h"
#include "provision/kube/api.h"
#include "provision/kube/port_forward.h"

namespace agentbox::provision::kube {

/// One request with all its further tries.
inline constexpr std::chrono::seconds kRequestTime{60};
/// The server ends a watch after this long; a new one goes on where it ended.
inline constexpr std::chrono::seconds kWatchTime{300};

/// Which lines of a container's log.
struct LogQuery {
  std::string container;
  std::uint64_t tail_lines = 0;  ///< the newest so many; 0: from the beginning
  std::uint64_t max_bytes = kMaxAnswerBytes / 2;
  bool previous = false;  ///< of the container that ran before this one started again
};

class Client {
 public:
  using Deadline = HttpClient::Deadline;

  /// Finds the cluster and reads the credential; nothing is sent yet.
  [[nodiscard]] static Answer<Client> open(AccessOptions options);

  [[nodiscard]] const std::string& ns() const { return access_.ns; }
  /// The server's host as the kubeconfig has it, and its port.
  [[nodiscard]] const ServerUrl& address() const { return access_.server; }

  /// While it lives, what is asked is about the objects of another namespace.
  class InNamespace {
   public:
    InNamespace(Client& client, const std::string& ns)
        : client_(client), before_(std::exchange(client.access_.ns, ns)) {}
    InNamespace(const InNamespace&) = delete;
    InNamespace& operator=(const InNamespace&) = delete;
    ~InNamespace() { client_.access_.ns = std::move(before_); }

   private:
    Client& client_;
    std::string before_;
  };
  [[nodiscard]] const std::string& context() const { return access_.context; }
  [[nodiscard]] std::string server() const {
    return access_.server.authority() + access_.server.prefix;
  }

  /// The JSON at TARGET (path and query).
  [[nodiscard]] Answer<Json> get(const std::string& target);
  /// The object of this namespace, or nothing.
  [[nodiscard]] Answer<std::optional<Json>> find(const Resource& resource, const std::string& name);
  /// All objects of this namespace that LABELS (a selector) fits, page by page.
  [[nodiscard]] Answer<std::vector<Json>> list(const Resource& resource, const std::string& labels);

  /// Server-side apply of OBJECT as MANAGER, strict and never forced: what another manager owns, or
  /// a field the cluster does not know, is refused. With DRY_RUN nothing changes.
  [[nodiscard]] Answer<Json> apply(const Resource& resource, const OrderedJson& object,
                                   const std::string& manager, bool dry_run = false);
  /// Makes OBJECT; false where one of its name exists, which is left as it is.
  [[nodiscard]] Answer<bool> create(const Resource& resource, const OrderedJson& object,
                                    const std::string& manager, bool dry_run = false);
  /// Changes some fields. The answer is the object's metadata alone: a Secret's data stay away.
  [[nodiscard]] Answer<Json> patch_metadata(const Resource& resource, const std::string& name,
                                            const OrderedJson& patch, const std::string& manager);
  /// The metadata alone of an object, or nothing where there is none. It takes the right to patch,
  /// not the right to get: whoever may make Secrets need not be able to read them.
  [[nodiscard]] Answer<std::optional<Json>> metadata_of(const Resource& resource,
                                                        const std::string& name);
  /// Deletes the object that has UID (empty: whatever has the name); false where it is gone
  /// already.
  [[nodiscard]] Answer<bool> remove(const Resource& resource, const std::string& name,
                                    const std::string& uid);
  /// Sends OBJECT to a kind whose answers are not kept (access reviews): the answer.
  [[nodiscard]] Answer<Json> ask(const Resource& resource, const OrderedJson& object);

  /// What a container wrote, whole lines, the newest last: fewer than asked for where they would
  /// not fit. It is hostile input: shown to nobody
  /// before it is escaped. Exit::kUnreachable: there is no such pod, or the container has not
  /// started yet.
  [[nodiscard]] Answer<std::string> pod_log(const std::string& pod, const LogQuery& query);

  /// A connection to PORT of POD. Needs the right to portforward; some sandboxed runtimes refuse
  /// it.
  [[nodiscard]] Answer<PortForward> forward(const std::string& pod, std::uint16_t port);

  /// What wait() makes of a state: DONE, or in words what is still to come.
  struct Verdict {
    bool done = false;
    std::string waiting_for;
    std::optional<Deadline> no_later_than;  ///< this state is not waited on for longer than that
  };
  /// Gets the object, null where there is none; a Failure ends the waiting.
  using Judge = std::function<Answer<Verdict>(const Json* object)>;
  /// Shows JUDGE the object now and after each change, until it is done or DEADLINE passes (then
  /// the Failure says what was waited for). Survives watches that end, expire or break.
  [[nodiscard]] Done wait(const Resource& resource, const std::string& name, const Judge& judge,
                          Deadline deadline);

 private:
  Client(AccessOptions options, Chosen chosen, Access access, HttpClient http);
  [[nodiscard]] HttpRequest metadata_patch(const Resource& resource, const std::string& name,
                                           const OrderedJson& patch,
                                           const std::string& manager) const;
  [[nodiscard]] HttpRequest request(const std::string& method, const std::string& target) const;
  [[nodiscard]] HttpRequest with_identity(HttpRequest request) const;
  [[nodiscard]] Answer<HttpResponse> exchange(HttpRequest request, bool repeatable,
                                              const std::string& doing);
  [[nodiscard]] Answer<Json> exchange_json(HttpRequest request, bool repeatable,
                                           const std::string& doing);
  [[nodiscard]] Done renew();
  void show_warnings(const HttpResponse& response);
  class Waiter;

  AccessOptions options_;
  Chosen chosen_;
  Access access_;
  HttpClient http_;
  std::set<std::string> warned_;
};

}  // namespace agentbox::provision::kube
