// pure: pauses between the lives of a child.
#include "provision/child_watch.h"

#include "support/catch.h"

using namespace agentbox::provision;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("a child that keeps ending is started less and less often, up to every five seconds") {
  Backoff backoff;
  Moment now{};
  std::vector<milliseconds> pauses;
  for (int i = 0; i < 8; ++i) {
    backoff.started(now);
    const Moment next = backoff.ended(now);
    pauses.push_back(std::chrono::duration_cast<milliseconds>(next - now));
    now = next;
  }
  using M = milliseconds;
  CHECK(pauses == std::vector<milliseconds>{M{100}, M{200}, M{400}, M{800}, M{1600}, M{3200},
                                            M{5000}, M{5000}});
}

TEST_CASE("a child that ran well for a while begins anew") {
  Backoff backoff;
  Moment now{};
  for (int i = 0; i < 5; ++i) {
    backoff.started(now);
    now = backoff.ended(now);
  }
  backoff.started(now);
  now += seconds{10};
  CHECK(backoff.ended(now) - now == milliseconds{100});
}
