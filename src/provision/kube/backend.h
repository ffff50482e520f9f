// edge: boxes in a cluster: made of a Sandbox, a NetworkPolicy and a Secret each, or claimed from a
// pool of Sandboxes that wait.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ssh_client.h"
#include "provision/backend.h"
#include "provision/key_change.h"
#include "provision/kube/client.h"
#include "provision/kube/dial.h"
#include "provision/kube/kube_spec.h"
#include "provision/kube/manifests.h"
#include "provision/kube/sandbox_facts.h"
#include "provision/spec.h"
#include "provision/state.h"

namespace agentbox::provision::kube {

/// An image may have to be pulled, a volume made.
inline constexpr std::chrono::seconds kReadyTime{300};
/// A controller that fails tries again by itself; most of it has passed by then.
inline constexpr std::chrono::seconds kRecoveryTime{10};
/// The pod's own grace is 30 s.
inline constexpr std::chrono::seconds kGoneTime{120};
/// A box that can be reached from here answers in milliseconds; one that cannot is silent.
inline constexpr std::chrono::seconds kProbeTime{5};
/// One connection through the API and a gateway, or one quick answer over it.
inline constexpr std::chrono::seconds kClusterStep{20};
/// Until a Service's name leads to a new pod: the cluster's DNS remembers for some seconds that it
/// led nowhere.
inline constexpr std::chrono::seconds kNameTime{60};
/// An annotation is in the pod within a second, and in its file a second later.
inline constexpr std::chrono::seconds kKeysTime{90};
/// A door that listens says so in its log; the log reaches the API a moment later.
inline constexpr std::chrono::seconds kToldTime{30};

/// Whether the server of CONNECTED would take each of KEYS from USER, and none of REFUSED;
/// Code::kDenied where that is not so.
[[nodiscard]] Status offer_keys(SshClient& connected, const std::string& user,
                                const std::vector<NamedKey>& keys,
                                const std::vector<NamedKey>& refused, Deadline deadline);
/// Whether that ended at one of KEYS, rather than at another host key.
[[nodiscard]] bool is_refused_key(const Error& error);
/// The objects that create() would make, in its order, without the private key.
[[nodiscard]] Result<std::vector<OrderedJson>> objects_of(const BoxName& name,
                                                          const std::string& ns,
                                                          const KubeSpec& spec,
                                                          const WantedBox& wanted);

/// What the cluster says of a box, as a record.
[[nodiscard]] BoxRecord record_of(const BoxName& name, const SandboxFacts& facts);
/// The same with what this machine alone knows, from its STORED record: the private key's place,
/// and keys that are gone.
[[nodiscard]] BoxRecord record_of(const BoxName& name, const SandboxFacts& facts,
                                  const std::optional<BoxRecord>& stored);

/// TEXTS in one line.
[[nodiscard]] std::string joined(const std::vector<std::string>& texts);
/// In what the keys that are asked for are others than those that the box has; empty: in nothing.
[[nodiscard]] std::string other_keys(const WantedBox& wanted, const SandboxFacts& facts);
[[nodiscard]] Failure another_box(const BoxName& name, const std::vector<std::string>& differences);
/// True where create has nothing left to do for the box.
[[nodiscard]] bool is_finished(const std::optional<SandboxFacts>& existing,
                               const std::optional<BoxRecord>& stored);
/// True where a cluster does not have what was asked for at all: not the object, but its kind.
[[nodiscard]] bool is_unknown_kind(const Failure& failure);

class KubeBackend final : public Backend {
 public:
  /// STORE keeps what this machine knows of the boxes of this cluster and namespace: the key made
  /// here, the pin.
  KubeBackend(std::unique_ptr<Client> client, Store store, Way way)
      : client_(std::move(client)), store_(std::move(store)), way_(way) {}
  /// Finds the cluster, and the place for its boxes in STATE.
  [[nodiscard]] static Answer<std::unique_ptr<KubeBackend>> open(const AccessOptions& options,
                                                                 const Store& state);

  [[nodiscard]] Client& client() const { return *client_; }
  /// The box as the cluster shows it now, or nothing.
  [[nodiscard]] Answer<std::optional<SandboxFacts>> look(const BoxName& name) const;
  [[nodiscard]] const Store& store() const { return store_; }
  /// The claim of that name, whoever made it; nothing also where the cluster has no claims.
  [[nodiscard]] Answer<std::optional<Json>> find_claim(const BoxName& name) const;
  [[nodiscard]] Way way() const { return way_; }

  [[nodiscard]] Answer<Changed> create(const BoxName& name,
                                       const CreateOptions& options) const override;
  [[nodiscard]] Answer<Report> try_create(const BoxName& name,
                                          const CreateOptions& options) const override;
  [[nodiscard]] Answer<Changed> suspend(const BoxName& name) const override;
  [[nodiscard]] Answer<Changed> resume(const BoxName& name) const override;
  [[nodiscard]] Answer<Removed> remove(const BoxName& name, bool keep_workspace) const override;
  [[nodiscard]] Answer<KeysDone> rotate(const BoxName& name,
                                        const std::vector<std::string>& key_files) const override;
  [[nodiscard]] Answer<KeysDone> revoke(const BoxName& name, const std::string& key,
                                        bool evict) const override;
  [[nodiscard]] Answer<KeysDone> change(const BoxName& name, const Change& change,
                                        bool evict) const override;
  [[nodiscard]] Answer<BoxView> view(const BoxName& name, bool probe) const override;
  [[nodiscard]] Answer<std::vector<BoxView>> views() const override;
  [[nodiscard]] Answer<Contact> contact(const BoxName& name) const override;
  /// The first hop to the box of FACTS, and behind sshpiper also its Pipe: what was seen, or what
  /// is wrong with it. FACTS' keys become those that the gateway lets in.
  [[nodiscard]] Answer<std::string> examine_gateway(const BoxName& name, SandboxFacts& facts) const;
  /// The second hop: what the door of FACTS' box answers to whoever is let in there.
  [[nodiscard]] Status examine_door(const BoxName& name, const SandboxFacts& facts) const {
    return prove_keys(name, facts, {});
  }
  [[nodiscard]] bool has_network() const override { return true; }
  [[nodiscard]] Answer<std::vector<Neighbour>> neighbours(
      const BoxName& name, const std::vector<std::string>& nameservers) const override;
  [[nodiscard]] Answer<std::vector<LogTail>> logs(const BoxName& name,
                                                  std::uint64_t lines) const override;

 private:
  [[nodiscard]] Done check_served(const Resource& resource) const;
  [[nodiscard]] Answer<std::optional<SandboxFacts>> find_same(const BoxName& name,
                                                              const KubeSpec& spec,
                                                              const WantedBox& wanted) const;
  [[nodiscard]] Answer<SandboxFacts> look_existing(const BoxName& name) const;
  [[nodiscard]] Answer<BoxView> show(const BoxName& name, const SandboxFacts& facts,
                                     bool probe) const;
  [[nodiscard]] Done pin(const BoxName& name, const SandboxFacts& facts,
                         const std::optional<BoxRecord>& stored) const;
  [[nodiscard]] Done pin_gateway(const BoxName& name, const Gateway& gateway) const;
  [[nodiscard]] bool gateway_is_pinned(const BoxName& name, const Gateway& gateway) const;
  [[nodiscard]] Answer<std::string> settle_host_key(const BoxName& name,
                                                    const std::string& known) const;
  [[nodiscard]] Answer<std::vector<NamedKey>> settle_keys(const BoxName& name,
                                                          const WantedBox& wanted,
                                                          BoxRecord& record) const;
  /// FACTS' box, reached from here.
  [[nodiscard]] Contact contact_with(BoxRecord record, const SandboxFacts& facts) const;
  /// The box of VIEW has just been started: waits until it proves its keys, and a login where the
  /// private key is known. One that cannot be reached from here is said to be one.
  [[nodiscard]] Done prove_start(const SandboxFacts& facts, BoxView& view) const;
  /// Each key of FACTS is offered on the pinned host key and taken, each of REFUSED is not.
  /// Code::kDenied where that is not so; other codes: the box cannot be reached from here.
  [[nodiscard]] Status prove_keys(const BoxName& name, const SandboxFacts& facts,
                                  const std::vector<NamedKey>& refused) const;
  /// To the door of the box itself: the way that was asked for, or the jump host that leads there.
  [[nodiscard]] Result<DoorLine> dial_box(const BoxName& name, const SandboxFacts& facts,
                                          Deadline deadline) const;
  void probe_box(const BoxName& name, const SandboxFacts& facts, BoxView& view) const;
  struct Held {
    BoxLock lock;
    SandboxFacts facts;
    BoxRecord record;
    std::vector<NamedKey> door_gone = {};  ///< what the door let in before, and no longer
    std::string note = {};  ///< how the keys got there, where it was not the usual way
  };
  [[nodiscard]] Answer<Held> hold(const BoxName& name) const;
  [[nodiscard]] Done check_eviction(const Held& held, bool evict) const;
  [[nodiscard]] Done put_keys(Held& held, const KeyChange& change) const;
  [[nodiscard]] Done prove_change(const Held& held, const std::vector<NamedKey>& refused,
                                  KeysDone& done) const;
  [[nodiscard]] Done replace_pod(Held& held) const;
  [[nodiscard]] Answer<KeysDone> finish_change(Held held, const std::vector<NamedKey>& gone,
                                               bool evict, KeysDone done) const;
  /// The box's door lets KEYS in from now on, with GENERATION; a pod that runs has them.
  [[nodiscard]] Done put_door_keys(Held& held, const std::vector<NamedKey>& keys,
                                   const std::vector<std::string>& revoked,
                                   std::uint64_t generation) const;
  // Behind a gateway: backend_gateway.cc.
  [[nodiscard]] bool is_piped(const SandboxFacts& facts) const {
    return facts.gateway.kind == GatewayKind::kSshpiper;
  }
  /// Before anything is made: whether the cluster and its other Pipes leave room for this one.
  [[nodiscard]] Done check_gateway(const BoxName& name, const KubeSpec& spec) const;
  /// The public half of the key with which the gateway logs in at the box; made where there is
  /// none.
  [[nodiscard]] Answer<NamedKey> settle_upstream(const BoxName& name, const Gateway& gateway) const;
  /// The box's Pipe with KEYS, read back; with none of them it goes.
  [[nodiscard]] Done put_pipe(const BoxName& name, const SandboxFacts& facts,
                              const std::vector<NamedKey>& keys,
                              const std::string& upstream_key) const;
  /// put_keys() behind sshpiper. Where a key goes, the gateway gets another key for the box as
  /// well: the door cannot tell the sessions that come through the gateway apart, and ends them
  /// all.
  [[nodiscard]] Done put_piped_keys(Held& held, const KeyChange& change,
                                    const std::vector<std::string>& revoked) const;
  /// The keys of HELD at the gateway, and REFUSED; false where it cannot be reached from here.
  [[nodiscard]] Answer<bool> prove_first_hop(const Held& held, const std::vector<NamedKey>& refused,
                                             std::chrono::steady_clock::time_point deadline,
                                             KeysDone& done) const;
  [[nodiscard]] Done own_upstream(const BoxName& name, const Gateway& gateway,
                                  const OrderedJson& owner) const;
  [[nodiscard]] Answer<bool> remove_piping(const BoxName& name, const Gateway& gateway) const;
  [[nodiscard]] Done look_at_pipe(const BoxName& name, SandboxFacts& facts) const;
  /// Each of KEYS is offered at the gateway itself and taken there, each of REFUSED is not.
  [[nodiscard]] Status offer_at_gateway(const BoxName& name, const SandboxFacts& facts,
                                        const std::vector<NamedKey>& keys,
                                        const std::vector<NamedKey>& refused) const;
  /// prove_start() behind a gateway: each hop by itself, then a login over both.
  [[nodiscard]] Done prove_start_behind_gateway(const SandboxFacts& facts, BoxView& view) const;
  /// What can be said of the gateway, the first hop.
  void probe_gateway(const BoxName& name, const SandboxFacts& facts, BoxView& view) const;
  [[nodiscard]] Answer<KeysDone> finish(Held held, KeysDone done) const;
  [[nodiscard]] Done try_out(const BoxName& name, const KubeSpec& spec) const;
  [[nodiscard]] Done make(const BoxName& name, const KubeSpec& spec, const WantedBox& wanted,
                          const std::optional<SandboxFacts>& existing) const;
  [[nodiscard]] Done set_mode(const SandboxFacts& facts, const char* mode) const;
  using Deadline = Client::Deadline;
  /// SANDBOX is the Sandbox's own name.
  [[nodiscard]] Done wait_running(const BoxName& name, const std::string& sandbox,
                                  Deadline deadline) const;
  [[nodiscard]] Done wait_suspended(const BoxName& name, const std::string& sandbox) const;
  [[nodiscard]] Done wait_pod(const BoxName& name, const SandboxFacts& facts,
                              const OrderedJson* wanted) const;
  [[nodiscard]] Answer<bool> remove_ours(const Resource& resource, const std::string& object,
                                         const BoxName& name) const;
  [[nodiscard]] Done wait_gone(const Resource& resource, const std::string& object,
                               Deadline deadline) const;

  // A box that is a claim on a pool: see backend_claims.cc.
  [[nodiscard]] Answer<Changed> create_from_pool(const BoxName& name,
                                                 const CreateOptions& options) const;
  [[nodiscard]] Answer<std::vector<BoxView>> claimed_views() const;
  [[nodiscard]] Answer<SandboxFacts> look_at_claim(const BoxName& name, const Json& claim) const;
  [[nodiscard]] Done check_pool(const std::string& pool) const;
  /// What the claim's controller lacks to pass anything on; empty: nothing.
  [[nodiscard]] Answer<std::string> missing_for(const std::string& pool) const;
  [[nodiscard]] Done make_claim(const BoxName& name, const std::string& pool,
                                const WantedBox& wanted,
                                const std::optional<SandboxFacts>& existing,
                                Deadline deadline) const;
  [[nodiscard]] Done wait_bound(const BoxName& name, Deadline deadline) const;
  [[nodiscard]] Answer<std::string> learn_host_key(const SandboxFacts& facts) const;
  [[nodiscard]] Done check_claimed_pod(const BoxName& name, const SandboxFacts& facts) const;
  /// Until the Sandbox of FACTS has the generation of keys that its claim has, PART. Where the pool
  /// or its template is gone nobody else passes it on, and it is written to the Sandbox: NOTE then
  /// says so.
  [[nodiscard]] Done pass_keys_on(const SandboxFacts& facts, const DoorKeys& keys,
                                  std::string& note) const;

  std::unique_ptr<Client> client_;
  Store store_;
  Way way_;
};

}  // namespace agentbox::provision::kube
