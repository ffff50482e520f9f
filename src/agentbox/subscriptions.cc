// pure: see subscriptions.h.
#include "agentbox/subscriptions.h"

#include <algorithm>

namespace agentbox::mcp {
namespace {

std::size_t weight(const std::string& uri) { return uri == kResourceList ? 0 : 1; }

}  // namespace

std::size_t Subscriptions::room() const {
  return kMaxSubscriptions - std::min(kMaxSubscriptions, count_);
}

bool Subscriptions::has(const Subscriber& who, const std::string& uri) const {
  const auto at = by_uri_.find(uri);
  return at != by_uri_.end() && watches_.at(at->second).subscribers.contains(who);
}

void Subscriptions::add(const Subscriber& who, const std::string& uri, Orders& orders) {
  auto at = by_uri_.find(uri);
  if (at == by_uri_.end()) {
    const WatchKey key = ++last_key_;
    at = by_uri_.emplace(uri, key).first;
    watches_.emplace(key, Watch{.uri = uri, .subscribers = {}, .due = {}});
    orders.start.push_back({.key = key, .uri = uri});
  }
  if (watches_.at(at->second).subscribers.insert(who).second) {
    count_ += weight(uri);
  }
}

void Subscriptions::remove(const Subscriber& who, const std::string& uri, Orders& orders) {
  const auto at = by_uri_.find(uri);
  if (at == by_uri_.end()) {
    return;
  }
  const auto watch = watches_.find(at->second);
  if (watch->second.subscribers.erase(who) > 0) {
    count_ -= weight(uri);
    drop_unused(watch, orders);
  }
}

void Subscriptions::remove_all(const Subscriber& who, Orders& orders) {
  for (const std::string& uri : uris_of(who)) {
    remove(who, uri, orders);
  }
}

void Subscriptions::drop_unused(Watches::iterator at, Orders& orders) {
  if (at->second.subscribers.empty()) {
    orders.stop.push_back({.key = at->first});
    by_uri_.erase(at->second.uri);
    watches_.erase(at);
  }
}

bool Subscriptions::is_ready(const Subscriber& who) const {
  return std::none_of(watches_.begin(), watches_.end(), [&who](const auto& one) {
    return one.second.starting && one.second.subscribers.contains(who);
  });
}

std::vector<std::string> Subscriptions::uris_of(const Subscriber& who) const {
  std::vector<std::string> uris;
  for (const auto& [uri, key] : by_uri_) {
    if (watches_.at(key).subscribers.contains(who)) {
      uris.push_back(uri);
    }
  }
  return uris;
}

void Subscriptions::started(WatchKey key) {
  if (const auto at = watches_.find(key); at != watches_.end()) {
    at->second.starting = false;
  }
}

void Subscriptions::failed(WatchKey key) {
  const auto at = watches_.find(key);
  if (at != watches_.end()) {
    count_ -= weight(at->second.uri) * at->second.subscribers.size();
    by_uri_.erase(at->second.uri);
    watches_.erase(at);
  }
}

void Subscriptions::changed(WatchKey key, TimePoint now) {
  const auto at = watches_.find(key);
  if (at != watches_.end() && !at->second.due) {
    at->second.due = now + kUpdateInterval;
  }
}

std::optional<Subscriptions::TimePoint> Subscriptions::next_due() const {
  std::optional<TimePoint> next;
  for (const auto& [key, watch] : watches_) {
    if (watch.due) {
      next = next ? std::min(*next, *watch.due) : *watch.due;
    }
  }
  return next;
}

std::vector<Subscriptions::Update> Subscriptions::take_due(TimePoint now) {
  std::vector<Update> updates;
  for (auto& [key, watch] : watches_) {
    if (!watch.due || *watch.due > now) {
      continue;
    }
    watch.due.reset();
    for (const Subscriber& who : watch.subscribers) {
      updates.push_back({.subscriber = who, .uri = watch.uri});
    }
  }
  return updates;
}

}  // namespace agentbox::mcp
