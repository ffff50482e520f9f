// edge: see survivors.h.
#include "agentbox/survivors.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <string>
#include <string_view>
#include <utility>

#include "agentbox/file_bytes.h"

namespace agentbox::mcp {
namespace {

// What a pipe holds.
constexpr std::size_t kReadBytes = 64 * 1024;

// Ends the survivor and keeps what its pipes held: no more than fits them, whoever still writes.
void keep_last_words(Survivor& survivor) {
  std::string buffer(kReadBytes, '\0');
  const auto read = [&](UniqueFd& fd) {
    std::size_t got = 0;
    if (fd.valid() && read_once(fd.get(), buffer, got)) {
      survivor.spill.add(std::string_view(buffer).substr(0, got));
    }
  };
  read(survivor.output);  // before the end too: a full pipe may be all that keeps it from ending
  read(survivor.errors);
  survivor.keeper.end(kOrphanGrace);
  read(survivor.output);
  read(survivor.errors);
}

}  // namespace

Survivors::~Survivors() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    if (wake_.valid()) {
      (void)::eventfd_write(wake_.get(), 1);
    }
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Survivors::adopt(Survivor survivor) {
  const std::lock_guard lock(mutex_);
  arrived_.push_back(std::move(survivor));
  if (!wake_.valid()) {
    wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    thread_ = std::thread([this] { run(); });
  }
  (void)::eventfd_write(wake_.get(), 1);
}

std::size_t Survivors::count() const {
  const std::lock_guard lock(mutex_);
  return served_ + arrived_.size();
}

void Survivors::run() {
  std::vector<Survivor> survivors;
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      for (Survivor& survivor : arrived_) {
        survivors.push_back(std::move(survivor));
      }
      arrived_.clear();
      served_ = survivors.size();
      if (ending_) {
        break;
      }
    }
    serve(survivors);
  }
  for (Survivor& survivor : survivors) {
    survivor.keeper.stop(kOrphanGrace);  // all at once, so that they end side by side
  }
  for (Survivor& survivor : survivors) {
    keep_last_words(survivor);
  }
}

// Waits until something happens and handles it once.
void Survivors::serve(std::vector<Survivor>& survivors) {
  std::vector<pollfd> ready = {{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
  for (const Survivor& survivor : survivors) {
    for (const int fd : {survivor.keeper.fd(), survivor.output.get(), survivor.errors.get()}) {
      ready.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    }
  }
  (void)::poll(ready.data(), ready.size(), -1);
  if (ready[0].revents != 0) {
    eventfd_t ignored = 0;
    (void)::eventfd_read(wake_.get(), &ignored);
  }
  std::string buffer(kReadBytes, '\0');
  std::vector<Survivor> kept;
  kept.reserve(survivors.size());
  for (std::size_t i = 0; i < survivors.size(); ++i) {
    Survivor& survivor = survivors[i];
    std::size_t got = 0;
    for (const std::size_t stream : {std::size_t{0}, std::size_t{1}}) {
      UniqueFd& fd = stream == 0 ? survivor.output : survivor.errors;
      if (ready[2 + 3 * i + stream].revents == 0 || !fd.valid()) {
        continue;
      }
      if (!read_once(fd.get(), buffer, got)) {
        fd.reset();
      }
      survivor.spill.add(std::string_view(buffer).substr(0, got));
    }
    bool over = false;
    if (ready[1 + 3 * i].revents != 0) {
      const auto report = survivor.keeper.receive();
      over = !report || report->event == KeeperEvent::kAllEnded;
    }
    if (over) {
      keep_last_words(survivor);
    } else {
      kept.push_back(std::move(survivor));
    }
  }
  survivors = std::move(kept);
}

}  // namespace agentbox::mcp
