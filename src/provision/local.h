// edge: boxes on this machine: made, started, stopped, looked at and removed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "provision/answer.h"
#include "provision/backend.h"
#include "provision/command.h"
#include "provision/key_change.h"
#include "provision/report.h"
#include "provision/spec.h"
#include "provision/state.h"

namespace agentbox::provision {

class LocalBackend final : public Backend {
 public:
  /// PROGRAMS is the folder of the other programs, or empty.
  LocalBackend(Store store, std::string programs)
      : store_(std::move(store)), programs_(std::move(programs)) {}

  [[nodiscard]] const Store& store() const { return store_; }
  [[nodiscard]] const std::string& programs() const { return programs_; }

  [[nodiscard]] Answer<Changed> create(const BoxName& name,
                                       const CreateOptions& options) const override;
  [[nodiscard]] Answer<Report> try_create(const BoxName& name,
                                          const CreateOptions& options) const override;
  [[nodiscard]] Answer<Changed> suspend(const BoxName& name) const override;
  [[nodiscard]] Answer<Changed> resume(const BoxName& name) const override;

  [[nodiscard]] Answer<Removed> remove(const BoxName& name, bool keep_workspace) const override;

  /// Lets in the keys of KEY_FILES alone; without them a new ed25519 key, whose private half takes
  /// the place of the old. A running box has both until the new ones are proven; then the old are
  /// dropped, proven refused, and their sessions have ended. Cut short, it can be run again.
  [[nodiscard]] Answer<KeysDone> rotate(const BoxName& name,
                                        const std::vector<std::string>& key_files) const override;
  /// Locks out KEY (a fingerprint, or a file with its public half) for good, and ends its sessions.
  /// EVICT: also ends everything that runs in the box and makes a new host key.
  [[nodiscard]] Answer<KeysDone> revoke(const BoxName& name, const std::string& key,
                                        bool evict) const override;
  [[nodiscard]] Answer<KeysDone> change(const BoxName& name, const Change& change,
                                        bool evict) const override;

  /// PROBE: also whether it answers on its pinned host key.
  [[nodiscard]] Answer<BoxView> view(const BoxName& name, bool probe) const override;
  [[nodiscard]] Answer<std::vector<BoxView>> views() const override;
  [[nodiscard]] Answer<Contact> contact(const BoxName& name) const override;
  [[nodiscard]] bool has_network() const override { return false; }
  [[nodiscard]] Answer<std::vector<Neighbour>> neighbours(
      const BoxName& /*name*/, const std::vector<std::string>& /*nameservers*/) const override {
    return std::vector<Neighbour>();
  }
  [[nodiscard]] Answer<std::vector<LogTail>> logs(const BoxName& name,
                                                  std::uint64_t lines) const override;

 private:
  struct Held {
    std::optional<BoxLock> lock;
    BoxView view;
  };
  [[nodiscard]] Answer<Held> hold_finished(const BoxName& name) const;
  [[nodiscard]] Done put_keys(const BoxRecord& record) const;
  [[nodiscard]] Done admit_new_keys(const KeyChange& grown, const std::string& private_key) const;
  [[nodiscard]] Answer<KeysDone> finish_change(Held held, KeyChange& change, KeysDone done,
                                               bool evict) const;
  [[nodiscard]] Done replace_host_key(BoxRecord& record, bool start_again) const;
  [[nodiscard]] Done check_create(const BoxName& name, const WantedBox& wanted) const;
  [[nodiscard]] Answer<BoxRecord> begin_create(const BoxName& name, const WantedBox& wanted) const;
  [[nodiscard]] Done start(BoxRecord& record) const;
  [[nodiscard]] Answer<BoxView> look(const BoxRecord& record, bool probe) const;

  Store store_;
  std::string programs_;
};

}  // namespace agentbox::provision
