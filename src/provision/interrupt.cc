// edge: see interrupt.h.
#include "provision/interrupt.h"

namespace agentbox::provision {
namespace {

constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};

// Written by a signal handler.
volatile sig_atomic_t noted = 0;

void note(int /*signal*/) { noted = 1; }

}  // namespace

Interruptible::Interruptible() {
  noted = 0;
  struct sigaction action {};
  action.sa_handler = note;
  // Neither SA_RESTART: a wait for input ends; nor a handler the second time.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals.at(i), nullptr, &before_.at(i));
    if (before_.at(i).sa_handler != SIG_IGN) {  // nohup stays what it is
      ::sigaction(kSignals.at(i), &action, nullptr);
    }
  }
}

Interruptible::~Interruptible() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals.at(i), &before_.at(i), nullptr);
  }
}

bool interrupted() { return noted != 0; }

Failure interrupted_failure() {
  return Failure{Exit::kFailed, "interrupted", "what was begun is cleared away; run it again"};
}

}  // namespace agentbox::provision
