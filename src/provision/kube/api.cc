// pure: see api.h.
#include "provision/kube/api.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace agentbox::provision::kube {
namespace {

/// A message with many causes is long, and is shown whole; this only bounds what a server can
/// print.
constexpr std::size_t kMaxMessageBytes = 8000;

struct Meaning {
  int status;
  Exit exit;
  const char* next;
};
constexpr std::array<Meaning, 7> kMeanings = {{
    {400, Exit::kRefused,
     "the cluster does not know a field or value of it; is its version supported?"},
    {401, Exit::kNoRights, "the credential is not taken: log in to the cluster again"},
    {403, Exit::kNoRights,
     "`agentbox-provision rbac COMMAND` prints the Role that the command needs"},
    {404, Exit::kFailed, "`agentbox-provision preflight` shows what the cluster lacks"},
    {409, Exit::kRefused,
     "somebody else changed or owns it; look at it with kubectl get -o yaml --show-managed-fields"},
    {422, Exit::kRefused, "change what the message names and run the command again"},
    {429, Exit::kUnreachable, "the cluster is too busy; run the command again later"},
}};

std::chrono::milliseconds growing_pause(int attempt) {
  const auto pause = kFirstPause * (1LL << std::min(attempt - 1, 10));
  return std::min<std::chrono::milliseconds>(pause, kLongestPause);
}

}  // namespace

std::string path_of(const Resource& resource, const std::string& ns, const std::string& name) {
  const std::string group_version = resource.group_version;
  const bool core = group_version.find('/') == std::string::npos;
  return (core ? "/api/" : "/apis/") + group_version + (ns.empty() ? "" : "/namespaces/" + ns) +
         "/" + resource.plural + (name.empty() ? "" : "/" + name);
}

std::string query_escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    escaped += plain ? std::string(1, c) : "%" + to_hex(std::string_view(&c, 1));
  }
  return escaped;
}

Failure failure_of_answer(const HttpResponse& response, const std::string& doing) {
  std::string words;
  const auto json = parse_json(response.body);
  if (json.ok()) {
    const std::string* message = find_string(*json, "message");
    words = message == nullptr ? "" : *message;
  }
  if (words.empty()) {
    words = response.body.substr(0, 300);
  }
  const auto* found = std::find_if(kMeanings.begin(), kMeanings.end(), [&](const Meaning& meaning) {
    return meaning.status == response.status;
  });
  const bool known = found != kMeanings.end();
  const Exit exit = known                    ? found->exit
                    : response.status >= 500 ? Exit::kUnreachable
                                             : Exit::kFailed;
  const char* next =
      known ? found->next
      : response.status >= 300 && response.status < 400
          ? "redirects are not followed: give the kubeconfig the server's own address"
          : "run the command again later; the cluster's own logs say more";
  return Failure{exit,
                 doing + ": the cluster answers " + std::to_string(response.status) + ": " +
                     escape_text(words, kMaxMessageBytes),
                 next};
}

std::optional<std::chrono::milliseconds> pause_after(const HttpResponse& response, int attempt,
                                                     bool repeatable) {
  const bool busy = response.status == 429 || response.status >= 500;
  if (!busy || attempt >= kMostTries) {
    return std::nullopt;
  }
  const auto seconds = parse_decimal(response.header("retry-after"));
  if (seconds.ok()) {
    const auto most = static_cast<std::uint64_t>(kLongestPause.count());
    return std::chrono::seconds(std::min(*seconds, most));
  }
  return response.status == 429 || repeatable ? std::optional(growing_pause(attempt))
                                              : std::nullopt;
}

std::optional<std::chrono::milliseconds> pause_after_break(const Error& error, int attempt,
                                                           bool repeatable) {
  constexpr int kMostBreaks = 5;
  if (error.code != Code::kUnavailable || !repeatable || attempt >= kMostBreaks) {
    return std::nullopt;
  }
  return growing_pause(attempt);
}

std::vector<std::string> warnings_of(const HttpResponse& response) {
  std::vector<std::string> all;
  for (const Header& header : response.headers) {
    if (header.name != "warning" || !header.value.starts_with("299 ")) {
      continue;
    }
    const auto from = header.value.find('"');
    const auto to = header.value.rfind('"');
    if (from == std::string::npos || to <= from) {
      continue;
    }
    std::string text;
    for (std::size_t i = from + 1; i < to; ++i) {
      i += header.value[i] == '\\' && i + 1 < to ? 1U : 0U;
      text += header.value[i];
    }
    all.push_back(escape_text(text, 1000));
  }
  return all;
}

const Json* find_path(const Json& object, std::string_view path) {
  const Json* at = &object;
  while (at != nullptr && !path.empty()) {
    const auto slash = std::min(path.find('/'), path.size());
    at = find_member(*at, path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return at;
}

std::string text_at(const Json& object, std::string_view path) {
  const Json* value = find_path(object, path);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

std::string entry_of(const Json& object, std::string_view path, std::string_view name) {
  const Json* map = find_path(object, path);
  const std::string* value = map == nullptr ? nullptr : find_string(*map, name);
  return value == nullptr ? std::string() : *value;
}

std::string metadata_text(const Json& object, std::string_view name) {
  const Json* metadata = find_member(object, "metadata");
  const std::string* text = metadata == nullptr ? nullptr : find_string(*metadata, name);
  return text == nullptr ? std::string() : *text;
}

Result<WatchEvent> read_watch_event(const Json& line) {
  const std::string* type = find_string(line, "type");
  const Json* object = find_member(line, "object");
  if (type == nullptr || object == nullptr) {
    return Error{Code::kProtocol, "a watch sent something that is no event"};
  }
  WatchEvent event;
  event.version = metadata_text(*object, "resourceVersion");
  if (*type == "ADDED" || *type == "MODIFIED") {
    event.kind = WatchEvent::Kind::kPresent;
  } else if (*type == "DELETED") {
    event.kind = WatchEvent::Kind::kGone;
  } else if (*type == "BOOKMARK") {
    event.kind = WatchEvent::Kind::kBookmark;
  } else if (*type == "ERROR") {
    const Json* code = find_member(*object, "code");
    const std::string* message = find_string(*object, "message");
    const bool expired = code != nullptr && code->is_number_integer() && code->get<int>() == 410;
    event.kind = expired ? WatchEvent::Kind::kExpired : WatchEvent::Kind::kFailed;
    event.what = escape_text(message == nullptr ? "" : *message, 300);
    event.version.clear();
  } else {
    return Error{Code::kProtocol,
                 "a watch sent an event of the unknown type " + escape_text(*type, 40)};
  }
  event.object = *object;
  return event;
}

}  // namespace agentbox::provision::kube
