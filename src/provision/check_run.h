// edge: checks that are made one after another, told on the way, and none kept from being made by
// one that failed before.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "provision/answer.h"
#include "provision/checks.h"

namespace agentbox::provision {

/// A check that cannot be made here, and why.
struct Skip {
  std::string why;
};

class CheckRun {
 public:
  using Outcome = Answer<std::string>;

  /// WHO is told on the way.
  explicit CheckRun(std::string_view who) : who_(who) {}

  /// Makes the check, unless there is a reason to SKIP it; what WHAT returns is its detail. True
  /// where it passed.
  bool check(CheckId id, const std::function<Outcome()>& what,
             const std::optional<Skip>& skip = std::nullopt);
  void add(CheckDone done) { done_.push_back(std::move(done)); }
  [[nodiscard]] const std::vector<CheckDone>& done() const { return done_; }

 private:
  std::string who_;
  std::vector<CheckDone> done_;
};

/// The Failure of a check that was made and found something.
[[nodiscard]] Failure check_failed(std::string why);

}  // namespace agentbox::provision
