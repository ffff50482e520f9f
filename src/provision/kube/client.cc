// edge: see client.h.
#include "provision/kube/client.h"

#include <poll.h>

#include <algorithm>
#include <random>
#include <utility>

#include "base/deadline.h"
#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "provision/kube/json_lines.h"
#include "provision/kube/websocket.h"

namespace agentbox::provision::kube {
namespace {

using std::chrono::steady_clock;

/// A page of a list.
constexpr const char* kPageItems = "200";
constexpr std::size_t kMaxItems = 20'000;

Result<HttpClient> http_client(const Access& access) {
  HttpServer server;
  server.authority = access.server.authority();
  server.port = access.server.port;
  server.prefix = access.server.prefix;
  server.tls_server_name = access.tls_server_name;
  server.proxy_url = access.proxy_url;
  server.heed_no_proxy = access.heed_no_proxy;
  server.ca = access.ca;
  server.certificate = access.certificate;
  server.key = access.key;
  return HttpClient::make(std::move(server));
}

// Up to a quarter longer, so that many of us do not come back at once.
std::chrono::milliseconds with_jitter(std::chrono::milliseconds pause) {
  static std::minstd_rand random(std::random_device{}());
  return pause + std::chrono::milliseconds(static_cast<std::int64_t>(
                     random() % (static_cast<std::uint64_t>(pause.count()) / 4 + 1)));
}

// False where DEADLINE comes first.
bool sleep_for(std::chrono::milliseconds pause, steady_clock::time_point deadline) {
  const auto until = steady_clock::now() + with_jitter(pause);
  if (until >= deadline) {
    return false;
  }
  ::poll(nullptr, 0, poll_timeout(until, steady_clock::now()));
  return true;
}

std::string what(const Resource& resource, const std::string& name) {
  return std::string(resource.kind) + " " + name;
}

// A log that was cut off at MOST bytes may end within a line.
std::string whole_lines(std::string text, std::uint64_t most) {
  if (text.size() >= most && !text.ends_with('\n')) {
    const auto end = text.rfind('\n');
    text.resize(end == std::string::npos ? 0 : end + 1);
  }
  return text;
}

std::string name_of(const OrderedJson& object) {
  return object.at("metadata").at("name").get<std::string>();
}

}  // namespace

Client::Client(AccessOptions options, Chosen chosen, Access access, HttpClient http)
    : options_(std::move(options)),
      chosen_(std::move(chosen)),
      access_(std::move(access)),
      http_(std::move(http)) {}

Answer<Client> Client::open(AccessOptions options) {
  AB_TRY(chosen, find_cluster(options));
  AB_TRY(access, open_access(chosen, options));
  AB_TRY(http, http_client(access));
  return Client(std::move(options), std::move(chosen), std::move(access), std::move(http));
}

Done Client::renew() {
  AB_TRY(access, open_access(chosen_, options_));
  AB_TRY(http, http_client(access));
  access.ns = access_.ns;  // an InNamespace may be in force
  access_ = std::move(access);
  http_ = std::move(http);
  return {};
}

HttpRequest Client::request(const std::string& method, const std::string& target) const {
  HttpRequest request;
  request.method = method;
  request.target = target;
  request.headers = {{"Accept", "application/json"},
                     {"User-Agent", "agentbox-provision/" AGENTBOX_VERSION}};
  return request;
}

// Added last, to a copy: what is sent again after renew() has the new credential.
HttpRequest Client::with_identity(HttpRequest request) const {
  if (!access_.authorization.empty()) {
    request.headers.push_back({"Authorization", access_.authorization});
  }
  request.headers.insert(request.headers.end(), access_.impersonation.begin(),
                         access_.impersonation.end());
  return request;
}

void Client::show_warnings(const HttpResponse& response) {
  for (const std::string& text : warnings_of(response)) {
    if (warned_.insert(text).second) {
      log::warning("the cluster warns", {{"text", text}});
    }
  }
}

Answer<HttpResponse> Client::exchange(HttpRequest request, bool repeatable,
                                      const std::string& doing) {
  const auto deadline = steady_clock::now() + kRequestTime;
  bool renewed = false;
  for (int attempt = 1;; ++attempt) {
    auto response = http_.send(with_identity(request), deadline);
    std::optional<std::chrono::milliseconds> pause;
    if (!response.ok()) {
      pause = pause_after_break(response.error(), attempt, repeatable);
    } else if (response->status == 401 && !renewed) {
      renewed = true;
      AB_CHECK(renew());
      continue;
    } else {
      show_warnings(*response);
      pause = pause_after(*response, attempt, repeatable);
    }
    if (pause && sleep_for(*pause, deadline)) {
      continue;
    }
    if (!response.ok()) {
      return failure_of(std::move(response).error().in(doing),
                        "is the cluster up and reachable from here, and the kubeconfig its own?");
    }
    return std::move(response).value();
  }
}

Answer<Json> Client::exchange_json(HttpRequest request, bool repeatable, const std::string& doing) {
  AB_TRY(response, exchange(std::move(request), repeatable, doing));
  if (!response.good()) {
    return failure_of_answer(response, doing);
  }
  auto json = parse_json(response.body);
  if (!json.ok()) {
    return Failure{Exit::kUnreachable, doing + ": the answer is no JSON: " + json.error().what,
                   "is the kubeconfig's server really a Kubernetes API?"};
  }
  return std::move(json).value();
}

Answer<Json> Client::get(const std::string& target) {
  return exchange_json(request("GET", target), true, "get " + target);
}

Answer<std::optional<Json>> Client::find(const Resource& resource, const std::string& name) {
  const std::string doing = "get " + what(resource, name);
  AB_TRY(response, exchange(request("GET", path_of(resource, ns(), name)), true, doing));
  // A kind that the cluster does not have is answered 404 as well, but not in a Status of JSON.
  auto json = parse_json(response.body);
  if (response.status == 404 && json.ok()) {
    return std::optional<Json>();
  }
  if (!response.good() || !json.ok()) {
    return failure_of_answer(response, doing);
  }
  return std::optional<Json>(std::move(json).value());
}

Answer<std::vector<Json>> Client::list(const Resource& resource, const std::string& labels) {
  std::vector<Json> all;
  std::string more;
  do {
    std::string target = path_of(resource, ns()) + "?limit=" + kPageItems;
    target += labels.empty() ? "" : "&labelSelector=" + query_escape(labels);
    target += more.empty() ? "" : "&continue=" + query_escape(more);
    AB_TRY(page,
           exchange_json(request("GET", target), true, std::string("list ") + resource.plural));
    if (const Json* items = find_member(page, "items"); items != nullptr && items->is_array()) {
      all.insert(all.end(), items->begin(), items->end());
    }
    more = metadata_text(page, "continue");
  } while (!more.empty() && all.size() < kMaxItems);
  return all;
}

Answer<Json> Client::apply(const Resource& resource, const OrderedJson& object,
                           const std::string& manager, bool dry_run) {
  const std::string name = name_of(object);
  HttpRequest patch =
      request("PATCH", path_of(resource, ns(), name) + "?fieldManager=" + manager +
                           "&fieldValidation=Strict" + (dry_run ? "&dryRun=All" : ""));
  // JSON is YAML, and this is the only type that every cluster knows for it.
  patch.headers.push_back({"Content-Type", "application/apply-patch+yaml"});
  patch.body = dump_json(object);
  return exchange_json(std::move(patch), true, "apply " + what(resource, name));
}

Answer<bool> Client::create(const Resource& resource, const OrderedJson& object,
                            const std::string& manager, bool dry_run) {
  const std::string doing = "create " + what(resource, name_of(object));
  HttpRequest post =
      request("POST", path_of(resource, ns()) + "?fieldManager=" + manager +
                          "&fieldValidation=Strict" + (dry_run ? "&dryRun=All" : ""));
  post.headers.push_back({"Content-Type", "application/json"});
  post.body = dump_json(object);
  // Repeatable: the name is fixed, so a second one of a lost answer is told from the first.
  AB_TRY(response, exchange(std::move(post), true, doing));
  const auto json = parse_json(response.body);
  const std::string* reason = json.ok() ? find_string(*json, "reason") : nullptr;
  if (response.status == 409 && reason != nullptr && *reason == "AlreadyExists") {
    return false;
  }
  if (!response.good()) {
    return failure_of_answer(response, doing);
  }
  return true;
}

HttpRequest Client::metadata_patch(const Resource& resource, const std::string& name,
                                   const OrderedJson& patch, const std::string& manager) const {
  HttpRequest merge = request("PATCH", path_of(resource, ns(), name) + "?fieldManager=" + manager +
                                           "&fieldValidation=Strict");
  merge.headers.front().value = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
  merge.headers.push_back({"Content-Type", "application/merge-patch+json"});
  merge.body = dump_json(patch);
  return merge;
}

Answer<Json> Client::patch_metadata(const Resource& resource, const std::string& name,
                                    const OrderedJson& patch, const std::string& manager) {
  return exchange_json(metadata_patch(resource, name, patch, manager), true,
                       "patch " + what(resource, name));
}

Answer<std::optional<Json>> Client::metadata_of(const Resource& resource, const std::string& name) {
  const std::string doing = "look at " + what(resource, name);
  AB_TRY(response, exchange(metadata_patch(resource, name, OrderedJson::object(), "agentbox-look"),
                            true, doing));
  if (response.status == 404) {
    return std::optional<Json>();
  }
  auto json = parse_json(response.body);
  if (!response.good() || !json.ok()) {
    return failure_of_answer(response, doing);
  }
  return std::optional<Json>(std::move(json).value());
}

Answer<bool> Client::remove(const Resource& resource, const std::string& name,
                            const std::string& uid) {
  const std::string doing = "delete " + what(resource, name);
  OrderedJson options;
  options["kind"] = "DeleteOptions";
  options["apiVersion"] = "v1";
  options["propagationPolicy"] = "Background";
  if (!uid.empty()) {
    options["preconditions"]["uid"] = uid;
  }
  HttpRequest del = request("DELETE", path_of(resource, ns(), name));
  del.headers.push_back({"Content-Type", "application/json"});
  del.body = dump_json(options);
  AB_TRY(response, exchange(std::move(del), true, doing));
  if (response.status == 404) {
    return false;
  }
  if (!response.good()) {
    return failure_of_answer(response, doing);
  }
  return true;
}

Answer<Json> Client::ask(const Resource& resource, const OrderedJson& object) {
  HttpRequest post = request("POST", path_of(resource, ""));
  post.headers.push_back({"Content-Type", "application/json"});
  post.body = dump_json(object);
  return exchange_json(std::move(post), true, std::string("ask for a ") + resource.kind);
}

Answer<std::string> Client::pod_log(const std::string& pod, const LogQuery& query) {
  const std::string doing = "read the log of container " + query.container + " of Pod " + pod;
  const std::string all =
      path_of(kPods, ns(), pod) + "/log?container=" + query_escape(query.container) +
      "&limitBytes=" + std::to_string(query.max_bytes) + (query.previous ? "&previous=true" : "");
  HttpResponse response;
  for (std::uint64_t lines = query.tail_lines;; lines /= 2) {
    HttpRequest ask =
        request("GET", all + (lines == 0 ? "" : "&tailLines=" + std::to_string(lines)));
    ask.headers.front().value = "application/json, */*";  // the log itself is text
    AB_TRY(answer, exchange(std::move(ask), true, doing));
    response = std::move(answer);
    // Cut off at that many bytes it is the newest lines that are missing.
    if (!response.good() || response.body.size() < query.max_bytes || lines < 2) {
      break;
    }
  }
  if (response.good()) {
    return whole_lines(std::move(response.body), query.max_bytes);
  }
  Failure failure = failure_of_answer(response, doing);
  // 400: no container of that name runs, or has run, in it; 404: there is no such pod.
  if (response.status == 400 || response.status == 404) {
    failure.exit = Exit::kUnreachable;
    failure.next = "is the box suspended, or its pod not started yet?";
  }
  return failure;
}

namespace {

// Sends HEAD and reads the answer's head; what came behind it goes to REST.
Result<std::string> exchange_heads(RawConnection& connection, std::string_view head,
                                   std::string& rest, steady_clock::time_point deadline) {
  constexpr std::size_t kMaxHeadBytes = 64U << 10U;
  constexpr std::string_view kEnd = "\r\n\r\n";
  while (!head.empty()) {
    AB_TRY(sent, connection.send(head));
    head.remove_prefix(sent);
  }
  std::string answer;
  for (;;) {
    AB_TRY(bytes, connection.receive());
    answer += bytes;
    if (const auto end = answer.find(kEnd); end != std::string::npos) {
      rest = answer.substr(end + kEnd.size());
      return answer.substr(0, end + kEnd.size());
    }
    if (answer.size() > kMaxHeadBytes ||
        (bytes.empty() && !wait_readable(connection.fd(), deadline))) {
      return Error{Code::kTimeout, "no answer to a WebSocket"};
    }
  }
}

}  // namespace

Answer<PortForward> Client::forward(const std::string& pod, std::uint16_t port) {
  const std::string next = "see `agentbox-provision rbac port-forward`";
  const auto deadline = steady_clock::now() + kRequestTime;
  AB_TRY(connection, advise(http_.connect_raw(deadline), next));
  const std::string target = access_.server.prefix + path_of(kPods, ns(), pod) +
                             "/portforward?ports=" + std::to_string(port);
  HttpRequest request = with_identity(this->request("GET", target));
  request.headers.push_back({"Host", access_.server.authority()});
  request.headers.push_back({"Connection", "Upgrade"});
  request.headers.push_back({"Upgrade", "websocket"});
  request.headers.push_back({"Sec-WebSocket-Version", "13"});
  request.headers.push_back({"Sec-WebSocket-Key", base64_encode(random_hex(8))});
  request.headers.push_back({"Sec-WebSocket-Protocol", kPortForwardProtocol});
  std::string head = "GET " + target + " HTTP/1.1\r\n";
  for (const Header& header : request.headers) {
    head += header.name + ": " + header.value + "\r\n";
  }
  std::string rest;
  AB_TRY(answer, advise(exchange_heads(connection, head + "\r\n", rest, deadline), next));
  AB_CHECK(advise(check_upgrade(answer, kPortForwardProtocol), next));
  return advise(PortForward::start(std::move(connection), std::move(rest), port), next);
}

// One wait(): lists, then watches from there, as often as it takes.
class Client::Waiter {
 public:
  Waiter(Client& client, const Resource& resource, const std::string& name, const Judge& judge,
         Deadline deadline)
      : client_(client),
        where_(path_of(resource, client.ns()) +
               "?fieldSelector=" + query_escape("metadata.name=" + name)),
        what_(what(resource, name)),
        judge_(judge),
        all_time_(deadline),
        deadline_(deadline) {}

  Done run() {
    for (int broken = 0; !over_;) {
      if (version_.empty()) {
        AB_CHECK(list());
      }
      if (over_ || failure_) {
        break;
      }
      const bool went_well = watch();
      broken = went_well ? 0 : broken + 1;
      const bool time_left = broken == 0
                                 ? steady_clock::now() < deadline_
                                 : sleep_for(kFirstPause * (1 << std::min(broken, 6)), deadline_);
      if (!time_left && !over_ && !failure_) {
        return Failure{Exit::kUnreachable, what_ + ": no " + waiting_for_ + " in time",
                       "look at it with kubectl describe, then run the command again"};
      }
    }
    return failure_ ? Done(*failure_) : Done();
  }

 private:
  void judge(const Json* object) {
    auto verdict = judge_(object);
    if (!verdict.ok()) {
      failure_ = verdict.error();
      over_ = true;
      return;
    }
    over_ = verdict->done;
    const Deadline now_until = std::min(all_time_, verdict->no_later_than.value_or(all_time_));
    hurried_ = now_until < deadline_;
    deadline_ = now_until;
    waiting_for_ = escape_text(verdict->waiting_for, 500);
  }

  Done list() {
    AB_TRY(page, client_.exchange_json(client_.request("GET", where_), true, "list " + what_));
    version_ = metadata_text(page, "resourceVersion");
    const Json* items = find_member(page, "items");
    const bool there = items != nullptr && items->is_array() && !items->empty();
    judge(there ? &items->front() : nullptr);
    return {};
  }

  // True to go on with the watch.
  bool take(const Json& line) {
    auto event = read_watch_event(line);
    if (!event.ok() || event->kind == WatchEvent::Kind::kExpired ||
        event->kind == WatchEvent::Kind::kFailed) {
      version_.clear();  // what came in between is seen by listing again
      expired_ = event.ok() && event->kind == WatchEvent::Kind::kExpired;
      return false;
    }
    version_ = event->version.empty() ? version_ : event->version;
    if (event->kind == WatchEvent::Kind::kPresent) {
      judge(&event->object);
    } else if (event->kind == WatchEvent::Kind::kGone) {
      judge(nullptr);
    }
    return !over_ && !hurried_;  // the running request has the later deadline
  }

  // False where the watch broke: then the next one waits a little.
  bool watch() {
    const auto left =
        std::chrono::duration_cast<std::chrono::seconds>(deadline_ - steady_clock::now());
    HttpRequest request = client_.request(
        "GET", where_ + "&watch=1&allowWatchBookmarks=true&resourceVersion=" +
                   query_escape(version_) + "&timeoutSeconds=" +
                   std::to_string(std::clamp<std::int64_t>(left.count(), 1, kWatchTime.count())));
    JsonLines lines;
    bool good = true;
    bool any = false;
    expired_ = false;
    hurried_ = false;
    auto response = client_.http_.stream(
        client_.with_identity(request),
        [&](std::string_view bytes) {
          auto values = lines.feed(bytes);
          good = values.ok();
          any = true;
          return good && std::all_of(values->begin(), values->end(),
                                     [&](const Json& value) { return take(value); });
        },
        deadline_);
    if (response.ok() && (response->status == 401 || response->status == 403)) {
      // Listing again and again would do, and hide that a right is missing.
      failure_ = failure_of_answer(*response, "watch " + what_);
      over_ = true;
      return false;
    }
    if (response.ok() && !response->good()) {
      version_.clear();
      return response->status == 410;
    }
    if (!good) {
      version_.clear();
    }
    return expired_ || over_ || hurried_ || (response.ok() && good && any && !version_.empty());
  }

  Client& client_;
  std::string where_;
  std::string what_;
  const Judge& judge_;
  Deadline all_time_;
  Deadline
      deadline_;  ///< earlier than all_time_ where the state seen last is hardly worth waiting on
  bool hurried_ = false;
  std::string version_;
  std::string waiting_for_ = "answer";
  std::optional<Failure> failure_;
  bool over_ = false;
  bool expired_ = false;
};

Done Client::wait(const Resource& resource, const std::string& name, const Judge& judge,
                  Deadline deadline) {
  return Waiter(*this, resource, name, judge, deadline).run();
}

}  // namespace agentbox::provision::kube
