// edge: see check_run.h.
#include "provision/check_run.h"

#include <utility>

#include "base/log.h"

namespace agentbox::provision {

bool CheckRun::check(CheckId id, const std::function<Outcome()>& what,
                     const std::optional<Skip>& skip) {
  if (skip) {
    done_.push_back({id, CheckOutcome::kSkipped, skip->why});
    return false;
  }
  log::info(who_, {{"check", std::string(facts_of(id).title)}});
  auto outcome = what();
  if (outcome.ok()) {
    done_.push_back({id, CheckOutcome::kPassed, std::move(*outcome)});
    return true;
  }
  const Failure& failure = outcome.error();
  done_.push_back({id, CheckOutcome::kFailed,
                   failure.message + (failure.next.empty() ? "" : " (" + failure.next + ")")});
  return false;
}

Failure check_failed(std::string why) { return Failure{Exit::kCheckFailed, std::move(why), {}}; }

}  // namespace agentbox::provision
