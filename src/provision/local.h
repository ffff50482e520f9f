// edge: boxes on this machine: made, started, stopped, looked at and removed.
#pragma once

#include <string>
#include <vector>

#include "provision/answer.h"
#include "provision/command.h"
#include "provision/report.h"
#include "provision/spec.h"
#include "provision/state.h"

namespace agentbox::provision {

class LocalBackend {
 public:
  /// PROGRAMS is the folder of the other programs, or empty.
  LocalBackend(Store store, std::string programs)
      : store_(std::move(store)), programs_(std::move(programs)) {}

  [[nodiscard]] const Store& store() const { return store_; }

  /// Each is safe to repeat, and says whether it changed anything.
  struct Changed {
    BoxView view;
    bool changed = false;
  };
  [[nodiscard]] Answer<Changed> create(const BoxName& name, const CreateOptions& options) const;
  [[nodiscard]] Answer<Changed> suspend(const BoxName& name) const;
  [[nodiscard]] Answer<Changed> resume(const BoxName& name) const;

  struct Removed {
    bool changed = false;
    std::string kept_workspace;  ///< where it lies, where it was to be kept
  };
  [[nodiscard]] Answer<Removed> remove(const BoxName& name, bool keep_workspace) const;

  /// PROBE: also whether it answers on its pinned host key.
  [[nodiscard]] Answer<BoxView> view(const BoxName& name, bool probe) const;
  [[nodiscard]] Answer<std::vector<BoxView>> views() const;

 private:
  [[nodiscard]] Done check_create(const BoxName& name, const WantedBox& wanted) const;
  [[nodiscard]] Answer<BoxRecord> begin_create(const BoxName& name, const WantedBox& wanted) const;
  [[nodiscard]] Done start(BoxRecord& record) const;
  [[nodiscard]] Answer<BoxView> look(const BoxRecord& record, bool probe) const;

  Store store_;
  std::string programs_;
};

}  // namespace agentbox::provision
