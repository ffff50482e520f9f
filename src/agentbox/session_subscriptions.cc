// pure: the part of session.h that tells of changes to whoever asked for it.
#include <algorithm>
#include <iterator>
#include <utility>

#include "agentbox/limits.h"
#include "agentbox/resource_uri.h"
#include "agentbox/session.h"

namespace agentbox::mcp {
namespace {

// Whether a subscription to URI can be served; which files and processes there are does not matter,
// since they come and go.
bool can_watch(const std::string& uri) {
  const auto parsed = parse_resource_uri(uri);
  return parsed.ok() && is_subscribable(parsed->kind);
}

// The URIs in the list WANTED that can be watched, each once. Nothing where it is no list of texts.
std::optional<std::vector<std::string>> uris_in(const Json* wanted) {
  std::vector<std::string> uris;
  if (wanted == nullptr || wanted->is_null()) {
    return uris;
  }
  if (!wanted->is_array()) {
    return std::nullopt;
  }
  for (const Json& one : *wanted) {
    const auto* uri = one.get_ptr<const std::string*>();
    if (uri == nullptr) {
      return std::nullopt;
    }
    if (uris.size() < kMaxSubscriptions && can_watch(*uri) &&
        std::find(uris.begin(), uris.end(), *uri) == uris.end()) {
      uris.push_back(*uri);
    }
  }
  return uris;
}

bool is_true(const Json* value) { return value != nullptr && value->is_boolean() && *value; }

}  // namespace

bool Session::has_resources() const {
  return std::any_of(methods_.begin(), methods_.end(),
                     [](const Method& one) { return one.name == "resources/read"; });
}

void Session::follow(Subscriptions::Orders orders, Actions& out) {
  for (StopWatch& stop : orders.stop) {
    out.emplace_back(stop);
  }
  for (StartWatch& start : orders.start) {
    out.emplace_back(std::move(start));
  }
}

// The lists of tools and prompts never change while a session lives, so they are left out of what
// is promised. A subscription to nothing is kept open all the same: clients wait for its
// acknowledgement and take its end for a fault.
void Session::listen(const Request& request, const Context& context, Actions& out) {
  const auto refuse = [&](int code, const std::string& why) {
    reply_error(context, request.id.json, code, why, out);
  };
  if (context.batch) {
    refuse(rpc::kInvalidRequest, "Invalid Request: subscriptions/listen can't be part of a batch");
    return;
  }
  const Json* wanted = find_member(request.params, "notifications");
  if (wanted == nullptr || !wanted->is_object()) {
    refuse(rpc::kInvalidParams, "Invalid params: \"notifications\" must be an object");
    return;
  }
  auto uris = uris_in(find_member(*wanted, "resourceSubscriptions"));
  if (!uris) {
    refuse(rpc::kInvalidParams, "Invalid params: \"resourceSubscriptions\" must be a list of URIs");
    return;
  }
  if (listens_.size() >= kMaxListens) {
    refuse(rpc::kInvalidParams, "Invalid params: " + std::to_string(kMaxListens) +
                                    " subscriptions are open already; cancel one first");
    return;
  }
  Listen& listen = listens_[request.id];
  Subscriptions::Orders orders;
  if (has_resources() && !refusing_) {
    uris->resize(std::min(uris->size(), subscriptions_.room()));
    if (is_true(find_member(*wanted, "resourcesListChanged"))) {
      uris->emplace_back(kResourceList);
    }
    for (const std::string& uri : *uris) {
      subscriptions_.add(request.id.json, uri, orders);
    }
    listen.uris = *std::move(uris);
  }
  follow(std::move(orders), out);
  settle(out);
  if (refusing_) {
    auto ended = end_listens();
    std::move(ended.begin(), ended.end(), std::back_inserter(out));
  }
}

void Session::acknowledge(const RequestId& id, Listen& listen, Actions& out) const {
  OrderedJson promised = OrderedJson::object();
  OrderedJson uris = OrderedJson::array();
  for (const std::string& uri : listen.uris) {
    if (!subscriptions_.has(id.json, uri)) {
      continue;  // it could not be watched
    }
    if (uri == kResourceList) {
      promised["resourcesListChanged"] = true;
    } else {
      uris.push_back(uri);
    }
  }
  if (!uris.empty()) {
    promised["resourceSubscriptions"] = std::move(uris);
  }
  listen.acknowledged = true;
  out.emplace_back(SendLine{.line = acknowledged_line(id.json, promised)});
}

void Session::subscribe(const Request& request, const Context& context, Actions& out) {
  const std::string* uri = find_string(request.params, "uri");
  const auto refuse = [&](int code, const std::string& why) {
    reply_error(context, request.id.json, code, why, out,
                uri == nullptr ? OrderedJson() : OrderedJson{{"uri", *uri}});
  };
  if (uri == nullptr) {
    refuse(rpc::kInvalidParams, "Invalid params: \"uri\" must be a string");
    return;
  }
  if (const auto parsed = parse_resource_uri(*uri); !parsed.ok()) {
    const bool unknown = parsed.error().code == agentbox::Code::kNotFound;
    refuse(unknown ? rpc::kResourceNotFound : rpc::kInvalidParams,
           "resources/subscribe: " + parsed.error().what);
    return;
  }
  if (!can_watch(*uri)) {
    refuse(rpc::kInvalidParams, "Invalid params: nobody is told of changes of this resource");
    return;
  }
  if (refusing_) {
    refuse(rpc::kInternalError, "SHUTTING_DOWN: this session is ending");
    return;
  }
  if (!subscriptions_.has({}, *uri) && subscriptions_.room() == 0) {
    refuse(rpc::kInvalidParams, "Invalid params: " + std::to_string(kMaxSubscriptions) +
                                    " resources are subscribed to already; unsubscribe from one "
                                    "first");
    return;
  }
  Subscriptions::Orders orders;
  subscriptions_.add({}, *uri, orders);
  openings_.emplace(request.id,
                    Opening{.batch = context.batch, .version = context.version, .uri = *uri});
  follow(std::move(orders), out);
  settle(out);
}

void Session::unsubscribe(const Request& request, const Context& context, Actions& out) {
  const std::string* uri = find_string(request.params, "uri");
  if (uri == nullptr) {
    reply_error(context, request.id.json, rpc::kInvalidParams,
                "Invalid params: \"uri\" must be a string", out);
    return;
  }
  for (auto at = openings_.begin(); at != openings_.end();) {
    if (at->second.uri != *uri) {
      ++at;
      continue;
    }
    answer_opening(at->first, at->second, true, out);
    at = openings_.erase(at);
  }
  Subscriptions::Orders orders;
  if (*uri != kResourceList) {
    subscriptions_.remove({}, *uri, orders);
  }
  follow(std::move(orders), out);
  reply(context.batch, request.id.json, result_line(request.id.json, empty_result(context.version)),
        out);
}

void Session::answer_opening(const RequestId& id, const Opening& opening, bool well, Actions& out) {
  reply(opening.batch, id.json,
        well ? result_line(id.json, empty_result(opening.version))
             : error_line(id.json, rpc::kInternalError,
                          refusing_ ? "SHUTTING_DOWN: the session ended before it was subscribed"
                                    : "INTERNAL: the resource cannot be watched: it is "
                                      "not in the workspace, or the box is out of means",
                          {{"uri", opening.uri}}),
        out);
}

void Session::settle(Actions& out) {
  for (auto& [id, listen] : listens_) {
    if (!listen.acknowledged && subscriptions_.is_ready(id.json)) {
      acknowledge(id, listen, out);
    }
  }
  if (!subscriptions_.is_ready({})) {
    return;
  }
  for (const auto& [id, opening] : std::exchange(openings_, {})) {
    answer_opening(id, opening, subscriptions_.has({}, opening.uri), out);
  }
}

void Session::forget_subscriptions(Actions& out) {
  for (const auto& [id, opening] : std::exchange(openings_, {})) {
    answer_opening(id, opening, true, out);
  }
  Subscriptions::Orders orders;
  subscriptions_.remove_all({}, orders);
  follow(std::move(orders), out);
}

bool Session::cancel_subscription(const RequestId& id, Actions& out) {
  Subscriptions::Orders orders;
  if (listens_.erase(id) > 0) {
    subscriptions_.remove_all(id.json, orders);
    follow(std::move(orders), out);
    settle(out);
    return true;
  }
  const auto at = openings_.find(id);
  if (at == openings_.end()) {
    return false;
  }
  const Opening opening = std::move(at->second);
  openings_.erase(at);
  subscriptions_.remove({}, opening.uri, orders);
  follow(std::move(orders), out);
  if (opening.batch) {
    close_batch_item(*opening.batch, out);
  }
  settle(out);
  return true;
}

Actions Session::end_listens() {
  Actions out;
  for (auto& [id, listen] : std::exchange(listens_, {})) {
    if (!listen.acknowledged) {
      acknowledge(id, listen, out);
    }
    Subscriptions::Orders orders;
    subscriptions_.remove_all(id.json, orders);
    follow(std::move(orders), out);
    out.emplace_back(SendLine{.line = result_line(id.json, listen_result(id.json))});
  }
  return out;
}

Actions Session::on_watch_started(WatchKey key) {
  Actions out;
  subscriptions_.started(key);
  settle(out);
  return out;
}

Actions Session::on_watch_failed(WatchKey key) {
  Actions out;
  subscriptions_.failed(key);
  settle(out);
  return out;
}

Actions Session::updates(TimePoint now) {
  Actions out;
  for (const Subscriptions::Update& update : subscriptions_.take_due(now)) {
    const auto listen = listens_.find(RequestId{update.subscriber});
    // Nothing comes before the acknowledgement, which promises nothing of the time before it.
    if (update.subscriber.empty() || (listen != listens_.end() && listen->second.acknowledged)) {
      out.emplace_back(SendLine{.line = updated_line(update.subscriber, update.uri)});
    }
  }
  return out;
}

}  // namespace agentbox::mcp
