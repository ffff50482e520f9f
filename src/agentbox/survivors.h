// edge: looks after what answered commands left running.
#pragma once

#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "agentbox/keeper.h"
#include "agentbox/spill.h"
#include "base/handle.h"

namespace agentbox::mcp {

/// A command that has been answered and left processes running.
struct Survivor {
  Keeper keeper;
  UniqueFd output;
  UniqueFd errors;
  Spill spill;
};

/// Reads what survivors still print, so that none blocks or dies of a full or closed pipe, and
/// reaps them. Its end ends them all.
class Survivors {
 public:
  Survivors() = default;
  Survivors(const Survivors&) = delete;
  Survivors& operator=(const Survivors&) = delete;
  ~Survivors();

  void adopt(Survivor survivor);
  [[nodiscard]] std::size_t count() const;

 private:
  void run();
  void serve(std::vector<Survivor>& survivors);

  mutable std::mutex mutex_;
  std::vector<Survivor> arrived_;
  std::size_t served_ = 0;
  bool ending_ = false;
  UniqueFd wake_;
  std::thread thread_;  // started with the first survivor
};

}  // namespace agentbox::mcp
